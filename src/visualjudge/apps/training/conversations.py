"""A run's conversations with tools as chat messages, for training, split by image.

A verdict stores the results of tools by digest. They are recomputed from the dataset here, and a
conversation whose results differ from those that the judge saw is left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import orjson

from visualjudge.apps.training.trainer_exports import paths_of, split_by_image
from visualjudge.clients.base import ImagePart, TextPart, ToolCall, ToolResult
from visualjudge.clients.tool_loop import in_words
from visualjudge.core.atomic import atomic_path, write_bytes
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import Question, Verdict
from visualjudge.dataset.exports import Tick, check_use
from visualjudge.dataset.exports.jsonl import parts_of
from visualjudge.dataset.folder import Dataset
from visualjudge.judges.base import Ask
from visualjudge.judges.toolbox import ToolBox, Tools, digest
from visualjudge.prompts.spans import swapped
from visualjudge.runs.folder import RunFolder

Message = dict[str, Any]


def write_conversations(
    dataset: Dataset, run: str | Path, out: Path, tick: Tick
) -> tuple[list[Path], int]:
    """Write the conversations that ended with an answer; return the files, and how many were left
    out.

    Each line of ``train.jsonl`` and ``test.jsonl`` holds ``id``, ``order``, ``messages``,
    ``tools``, ``images`` (paths in the order of their parts) and ``right``, whether the answer is
    correct (null for scores). Images of results go to ``out/images``.

    Raises
    ------
    UsageError
        If the run had no tools or faulty ones, or training on the dataset is not permitted.
    """
    check_use(dataset, "--run", training=True)
    folder = RunFolder(run)
    told = folder.manifest().get("parameters")
    told = told if isinstance(told, Mapping) else {}
    if not told.get("tools") or told.get("tool_fault"):
        raise UsageError(f"--run: {run}: must be a run with --tools, and without --tool-fault")
    tools = Tools(dataset.root, told["tools"], int(told.get("max_tool_calls") or 1))
    verdicts: dict[str, list[Verdict]] = {}
    for verdict in folder.verdicts().values():
        if verdict.status == "ok":
            verdicts.setdefault(verdict.id, []).append(verdict)
    files, done, left = [], 0, 0
    for name, questions in split_by_image(
        [q for q in dataset.questions if q.id in verdicts]
    ).items():
        path = out / f"{name}.jsonl"
        with atomic_path(path) as scratch, scratch.open("wb") as file:
            for question in questions:
                for verdict in verdicts[question.id]:
                    try:
                        file.write(
                            orjson.dumps(_row(dataset, tools, question, verdict, out)) + b"\n"
                        )
                    except DataError:
                        left += 1
                done += 1
                tick(done, len(verdicts))
        files.append(path)
    return files, left


def _row(
    dataset: Dataset, tools: Tools, question: Question, verdict: Verdict, out: Path
) -> Message:
    ask = Ask(question, verdict.order)
    box, shown = tools.box(ask), swapped(question) if ask.order == "BA" else question
    images = paths_of(dataset, shown)
    prompt = [*parts_of(shown.prompt), {"type": "text", "text": box.introduction(tools.most)}]
    messages: list[Message] = [{"role": "user", "content": prompt}]
    for turn in _turns(verdict):
        results = asyncio.run(_results(box, turn))
        messages.append(
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [_called(one.call) for one in results],
            }
        )
        messages += [_told(one, images, out) for one in results]
    messages.append(
        {"role": "assistant", "content": [{"type": "text", "text": verdict.raw_response or ""}]}
    )
    specs = [
        {
            "type": "function",
            "function": {"name": s.name, "description": s.description, "parameters": s.parameters},
        }
        for s in box.specs
    ]
    right = None if question.question_type == "scoring" else verdict.value == question.answer
    known = {"id": question.id, "order": ask.order, "messages": messages, "tools": specs}
    return {**known, "images": images, "right": right}


def _turns(verdict: Verdict) -> Iterator[list[Mapping[str, Any]]]:
    trace = verdict.extra.get("tool_calls")
    for _, calls in groupby(
        trace if isinstance(trace, list) else (), key=lambda call: call["turn"]
    ):
        yield list(calls)


async def _results(box: ToolBox, turn: Sequence[Mapping[str, Any]]) -> list[ToolResult]:
    found = []
    for place, told in enumerate(turn):
        call = ToolCall(f"call_{told['turn']}_{place}", str(told["name"]), str(told["arguments"]))
        result = in_words(call, str(told["result"])) if told.get("failed") else await box.run(call)
        if digest(result.parts) != told["digest"]:
            raise DataError(f"{call.name}: the result is not the one that the judge saw")
        found.append(result)
    return found


def _called(call: ToolCall) -> Message:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }


def _told(result: ToolResult, images: list[str], out: Path) -> Message:
    content: list[Message] = []
    for part in result.parts:
        if isinstance(part, TextPart):
            content.append({"type": "text", "text": part.text})
        elif isinstance(part, ImagePart):
            path = out / "images" / f"{part.sha256[:32]}.png"
            if not path.is_file():
                write_bytes(path, part.data)
            images.append(str(path.resolve()))
            content.append({"type": "image", "text": None})
    return {
        "role": "tool",
        "tool_call_id": result.call.id,
        "name": result.call.name,
        "content": content,
    }
