"""A dataset of questions that are there already: its files, once the images lie in ``media``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from visualjudge import __version__
from visualjudge.core.atomic import write_json
from visualjudge.core.digests import file_sha256
from visualjudge.core.records import Question
from visualjudge.dataset.build import counts
from visualjudge.dataset.folder import MEDIA, META, QUESTIONS, VERSION, question_to_wire
from visualjudge.dataset.shown import PREDICTIONS


def write_dataset(stage: Path, questions: Sequence[Question], meta: Mapping[str, Any]) -> None:
    """Write ``questions.json`` and ``dataset.json``, and remove images that no question shows."""
    lines = b",\n".join(orjson.dumps(question_to_wire(question)) for question in questions)
    (stage / QUESTIONS).write_bytes(b"[\n" + lines + b"\n]\n")
    used = {path for question in questions for path in question.images}
    for path in list((stage / MEDIA).rglob("*")):
        if path.is_file() and path.relative_to(stage).as_posix() not in used:
            path.unlink()
    head = {"version": VERSION, "tool": {"name": "visualjudge", "version": __version__}}
    data = {QUESTIONS, PREDICTIONS} if (stage / PREDICTIONS).exists() else {QUESTIONS}
    files = {name: file_sha256(stage / name) for name in sorted({*data, *used})}
    write_json(stage / META, {**head, **meta, "counts": counts(questions), "files": files})
