"""The tools of one question. They see only what the judge is shown and the predictions'
data. The tools themselves are in ``vision/tools.py``; the loop of calls, in
``clients/tool_calls.py``.

They have no access to scores, sources, error types or the ground truth: predictions are
read from ``predictions.jsonl``, which contains none of these, and images from the
dataset's media.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from functools import cached_property, lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import Any

from visualjudge.clients.base import (
    ImagePart,
    TextPart,
    ToolCall,
    ToolResult,
    ToolSpec,
    Turn,
)
from visualjudge.clients.protocol_fields import object_of
from visualjudge.clients.tool_calls import (
    LONGEST_TEXT,
    in_words,
    result_text,
)
from visualjudge.core.errors import DataError, UsageError, VisualJudgeError
from visualjudge.core.image_storage import image_at
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.records import LETTERS, Pixels, Question
from visualjudge.dataset.folder import CHANGED
from visualjudge.dataset.predictions_file import ShownPredictions
from visualjudge.judges.base import Ask
from visualjudge.prompts.spans import images_within, spans_of, swapped
from visualjudge.vision.predictions import TYPES, Prediction, type_of
from visualjudge.vision.raster.images import image_size, png_bytes, read_rgb
from visualjudge.vision.tools import GENERAL, Evidence, Tool

IMAGES_KEPT = 6
"""Number of decoded images in the cache, enough for two questions."""
MOST_SECONDS = 30
"""Time of a call."""
LONGEST_TRACE = 500
"""Maximum length of arguments and of a result's text in a verdict, in characters."""
_CONTROL = "control_"
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
}


def tool_names(stated: Sequence[str] | str) -> tuple[str, ...]:
    """Return the names of tools, also given as one text with commas, without
    duplicates; ``all`` means every tool.

    Raises
    ------
    UsageError
        If a tool does not exist; the message lists the known ones.
    """
    tools = [
        *GENERAL,
        *(tool for kind in TYPES.values() for tool in kind.tools),
    ]
    known = list(dict.fromkeys(tool.name for tool in tools))
    names = (
        [name.strip() for name in stated.split(",")]
        if isinstance(stated, str)
        else stated
    )
    if "all" in names:
        return tuple(known)
    for name in names:
        if name not in known:
            raise UsageError(
                f"`tools` must be all or some of {', '.join(known)}, got "
                f"{name!r}"
            )
    return tuple(dict.fromkeys(names))


class Tools:
    """The tools of a run, for all questions.

    Parameters
    ----------
    root
        Folder of the dataset.
    names
        Tools that may be called, as returned by :func:`tool_names`.
    most
        Maximum number of calls per question.
    """

    def __init__(
        self, root: str | Path, names: Sequence[str], most: int
    ) -> None:
        self.root = Path(root)
        self.names = tuple(names)
        self.most = most
        self._predictions = ShownPredictions(root)
        self._read = lru_cache(maxsize=IMAGES_KEPT)(self._pixels)

    def _pixels(self, name: str) -> Pixels:
        pixels = read_rgb(image_at(self.root, name))
        pixels.flags.writeable = False
        return pixels

    def box(self, ask: Ask) -> ToolBox:
        """Return the tools of one question, with its options in the order shown.

        Raises
        ------
        DataError
            If the options' images cannot be identified.
        """
        question = swapped(ask.question) if ask.order == "BA" else ask.question
        ids = (
            question.annotation_ids[::-1]
            if ask.order == "BA"
            else question.annotation_ids
        )
        kind = type_of(question.task)
        files = _images(question)
        images: dict[str, Callable[[], Pixels]] = {
            name: partial(self._read, file) for name, file in files.items()
        }
        # Data may not match images that a probe changed.
        changed = any(
            PurePosixPath(file).name.startswith(CHANGED)
            for file in question.images
        )
        known = kind.file_field is None and not changed and "original" in files
        predictions: dict[str, Callable[[], Prediction]] = {
            letter: partial(
                self._prediction, question, name, images["original"]
            )
            for letter, name in zip(LETTERS, ids if known else (), strict=False)
        }
        evidence = Evidence(images, predictions, LETTERS[: len(ids)], kind)
        tools = {tool.name: tool for tool in (*GENERAL, *kind.tools)}
        usable = [
            tools[name]
            for name in self.names
            if name in tools and tools[name].applies(evidence)
        ]
        sizes = {
            name: image_size(image_at(self.root, file))
            for name, file in files.items()
        }
        return ToolBox(evidence, usable, sizes)

    def _prediction(
        self, question: Question, name: str, image: Callable[[], Pixels]
    ) -> Prediction:
        height, width = image().shape[:2]
        prediction = self._predictions.prediction(
            question.task, name, (height, width)
        )
        classes = question.class_of_interest
        return prediction.only(classes) if classes else prediction


def _images(question: Question) -> dict[str, str]:
    """Return the files of the question's images by the names used for tools."""
    spans = spans_of(question)
    options = [
        question.images[images_within(question, span)] for span in spans.options
    ]
    first = images_within(question, spans.options[0]).start
    original = (
        slice(first)
        if spans.original is None
        else images_within(question, spans.original)
    )
    files = {
        letter: images[-1]
        for letter, images in zip(LETTERS, options, strict=False)
        if images
    }
    for name in question.images[original]:
        files[
            "control"
            if PurePosixPath(name).name.startswith(_CONTROL)
            else "original"
        ] = name
    return files


class ToolBox:
    """The tools of one question. ``sizes`` are those of its images, as (height,
    width)."""

    def __init__(
        self,
        evidence: Evidence,
        tools: Sequence[Tool],
        sizes: Mapping[str, tuple[int, int]],
    ) -> None:
        self._evidence = evidence
        self._sizes = sizes
        self._tools = {tool.name: tool for tool in tools}

    @cached_property
    def specs(self) -> tuple[ToolSpec, ...]:
        """Return the tools' descriptions for the model."""
        return tuple(
            ToolSpec(tool.name, tool.about, tool.schema(self._evidence))
            for tool in self._tools.values()
        )

    def introduction(self, most: int) -> str:
        """Return the text that is added to the prompt."""
        sizes = ", ".join(
            f"{name} {width}×{height}"
            for name, (height, width) in self._sizes.items()
        )
        return (
            f"\n\nBefore you answer, you may call tools, at most {most} times. "
            "Coordinates are "
            "pixels "
            f"of the images (width×height: {sizes}), x to the right and y down from "
            "the top left."
        )

    async def run(self, call: ToolCall) -> ToolResult:
        """Return the result of a call, or an explanation if it cannot be run."""
        try:
            return await _apart(partial(self._result, call))
        except TimeoutError:
            return in_words(
                call, f"Error: the tool took more than {MOST_SECONDS} s"
            )

    def _result(self, call: ToolCall) -> ToolResult:
        try:
            tool, arguments = self._checked(call)
            output = tool.run(self._evidence, **arguments)
            images = (ImagePart(png_bytes(image)) for image in output.images)
            return ToolResult(call, (TextPart(_sendable(output.text)), *images))
        except VisualJudgeError as error:
            return in_words(
                call, _sendable(f"Error: {' '.join(str(error).split())}")
            )
        # Tools may raise anything, which must fail the call, not the run. Some
        # exceptions, such as KeyboardInterrupt, would end the event loop.
        except BaseException as error:
            return in_words(
                call, f"Error: the tool failed ({type(error).__name__})"
            )

    def _checked(self, call: ToolCall) -> tuple[Tool, Json]:
        if call.problem:
            raise DataError(call.problem)
        if call.name not in self._tools:
            raise DataError(
                f"the tool must be one of {', '.join(self._tools)}, got "
                f"{call.name[:40]!r}"
            )
        tool = self._tools[call.name]
        return tool, checked_arguments(
            object_of(call.arguments) or {}, tool.schema(self._evidence)
        )


def _sendable(text: str) -> str:
    return text[:LONGEST_TEXT].encode(errors="replace").decode()


async def _apart(call: Callable[[], ToolResult]) -> ToolResult:
    """Return what a call returns, in a thread that the end of the run does not wait
    for."""
    done: Future[ToolResult] = Future()

    def work() -> None:
        with suppress(InvalidStateError):  # after the time
            done.set_result(call())

    threading.Thread(target=work, daemon=True).start()
    return await asyncio.wait_for(asyncio.wrap_future(done), MOST_SECONDS)


def checked_arguments(arguments: Fields, schema: Fields) -> Json:
    """Return arguments that satisfy a tool's schema, without optional ones that are
    null.

    Raises
    ------
    DataError
        If one is missing, unknown or of the wrong type; the message names it.
    """
    rules = schema["properties"]
    takes = f"the tool takes {', '.join(rules) or 'none'}"
    supplied = {
        name: value for name, value in arguments.items() if value is not None
    }
    if missing := [name for name in schema["required"] if name not in supplied]:
        raise DataError(f"{missing[0]}: the argument is missing; {takes}")
    if unknown := [name for name in supplied if name not in rules]:
        raise DataError(f"{unknown[0][:40]}: unknown argument; {takes}")
    return {
        name: _checked(name, value, rules[name])
        for name, value in supplied.items()
    }


def _checked(name: str, value: Any, rule: Fields) -> Any:
    kind = str(rule["type"])
    got = repr(value)[:40]
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        value = int(value)
    number = isinstance(value, int | float)
    wrong = isinstance(value, bool) or not isinstance(value, _TYPES[kind])
    if wrong or (number and not abs(value) < 1e9):
        raise DataError(f"{name}: must be of type {kind}, got {got}")
    if "enum" in rule and value not in rule["enum"]:
        raise DataError(
            f"{name}: must be one of {', '.join(rule['enum'])}, got {got}"
        )
    if number and value < rule.get("minimum", value):
        raise DataError(f"{name}: must be from {rule['minimum']}, got {got}")
    return value


def trace_of(turns: Sequence[Turn]) -> list[Json]:
    """Return the calls of a conversation for a verdict, in order."""
    return [
        {
            "turn": number,
            "name": result.call.name,
            "arguments": result.call.arguments[:LONGEST_TRACE],
            "result": result_text(result)[:LONGEST_TRACE],
            "images": sum(isinstance(part, ImagePart) for part in result.parts),
            **({"failed": True} if result.failed else {}),
        }
        for number, turn in enumerate(turns, 1)
        for result in turn.results
    ]
