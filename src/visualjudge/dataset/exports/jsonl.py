"""JSON lines for training judges: ShareGPT conversations, and preferences for TRL.

Images are not copied; their paths are relative to the folder of the JSONL file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from visualjudge.core.atomic import atomic_path
from visualjudge.core.records import IMAGE_MARK, TURNED, Question
from visualjudge.dataset.exports.media import answer_text
from visualjudge.dataset.folder import Dataset

Line = dict[str, Any]


def export_sharegpt(dataset: Dataset, out: Path, tick: Callable[[int, int], None]) -> list[Path]:
    """Write ``out`` with one conversation per question: ``conversations`` (human, gpt) and
    ``images``, in ``<image>`` order.
    """

    def line(question: Question) -> Line:
        turns = [
            {"from": "human", "value": question.prompt},
            {"from": "gpt", "value": answer_text(question.answer)},
        ]
        return {
            "id": question.id,
            "conversations": turns,
            "images": _images(dataset, question, out),
        }

    return _write(dataset, out, line, tick)


def export_trl(dataset: Dataset, out: Path, tick: Callable[[int, int], None]) -> list[Path]:
    """Write ``out`` with one preference per pairwise or ranking question: ``prompt``, ``chosen``,
    ``rejected``, ``images``.

    The rejected answer is the other letter, or the reversed ranking. Scoring questions are omitted,
    because no score is the opposite of another.
    """

    def line(question: Question) -> Line | None:
        if not isinstance(question.answer, str):
            return None
        wrong = (
            TURNED[question.answer]
            if question.question_type == "pairwise"
            else question.answer[::-1]
        )
        return {
            "id": question.id,
            "prompt": [{"role": "user", "content": parts_of(question.prompt)}],
            "chosen": [_said(question.answer)],
            "rejected": [_said(wrong)],
            "images": _images(dataset, question, out),
        }

    return _write(dataset, out, line, tick)


def parts_of(prompt: str) -> list[Line]:
    """Split ``prompt`` into content parts: an image at each mark, and the text between."""
    parts: list[Line] = []
    for k, text in enumerate(prompt.split(IMAGE_MARK)):
        if k:
            parts.append({"type": "image", "text": None})
        if text.strip():
            parts.append({"type": "text", "text": text.strip("\n") if k == 0 else text})
    return parts


def _said(answer: str) -> Line:
    return {"role": "assistant", "content": [{"type": "text", "text": answer}]}


def _images(dataset: Dataset, question: Question, out: Path) -> list[str]:
    home = out.resolve().parent
    return [
        Path(os.path.relpath(dataset.image_path(path).resolve(), home)).as_posix()
        for path in question.images
    ]


def _write(
    dataset: Dataset,
    out: Path,
    line: Callable[[Question], Line | None],
    tick: Callable[[int, int], None],
) -> list[Path]:
    with atomic_path(out) as scratch, scratch.open("wb") as file:
        for done, question in enumerate(dataset.questions, start=1):
            written = line(question)
            if written is not None:
                file.write(orjson.dumps(written) + b"\n")
            tick(done, len(dataset.questions))
    return [out]
