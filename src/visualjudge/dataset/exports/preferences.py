"""Preferences as JSON lines in the form of TRL and Hugging Face, for training judges.
Rewards from the truth are in ``apps/connectors/training_rewards.py``.

Images are not copied; their paths are relative to the folder of the JSONL file.
"""

import os
from collections.abc import Callable
from pathlib import Path

import orjson

from visualjudge.core.jsons import Json
from visualjudge.core.output_files import OutputFile
from visualjudge.core.records import IMAGE_MARK, TURNED, Question
from visualjudge.dataset.exports.media import truth_columns
from visualjudge.dataset.folder import Dataset


def export_trl(
    dataset: Dataset, out: Path, tick: Callable[[int, int], None]
) -> list[Path]:
    """Write ``out`` with one preference per pairwise or ranking question: ``prompt``,
    ``chosen``, ``rejected``, ``images``, ``image_id``, and the columns that a reward
    reads.

    The rejected answer is the other letter, or the reversed ranking. Scores and ties
    are omitted, because they have no opposite.
    """
    with (
        OutputFile(out, "`out`").scratch() as scratch,
        scratch.open("wb") as file,
    ):
        for done, question in enumerate(dataset.questions, start=1):
            line = _line(dataset, question, out.resolve().parent)
            if line is not None:
                file.write(orjson.dumps(line) + b"\n")
            tick(done, len(dataset.questions))
    return [out]


def _line(dataset: Dataset, question: Question, home: Path) -> Json | None:
    answer = question.answer
    if not isinstance(answer, str) or answer in (question.ties or ()):
        return None
    wrong = (
        TURNED[answer] if question.question_type == "pairwise" else answer[::-1]
    )
    return {
        "id": question.id,
        "prompt": [{"role": "user", "content": _parts(question.prompt)}],
        "chosen": [_reply(answer)],
        "rejected": [_reply(wrong)],
        "images": [
            Path(
                os.path.relpath(dataset.image_path(path).resolve(), home)
            ).as_posix()
            for path in question.images
        ],
        "image_id": question.image_id,
        **truth_columns(question),
    }


def _parts(prompt: str) -> list[Json]:
    parts: list[Json] = []
    for k, text in enumerate(prompt.split(IMAGE_MARK)):
        if k:
            parts.append({"type": "image", "text": None})
        if text.strip():
            parts.append(
                {"type": "text", "text": text.strip("\n") if k == 0 else text}
            )
    return parts


def _reply(answer: str) -> Json:
    return {"role": "assistant", "content": [{"type": "text", "text": answer}]}
