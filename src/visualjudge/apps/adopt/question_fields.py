"""The fields of a published question: those that the judge dataset's document names,
and what the others are where a file does not state them.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import fields
from pathlib import PurePosixPath
from typing import Any

import orjson

from visualjudge.apps.adopt.files import Row
from visualjudge.core.jsons import Json
from visualjudge.core.records import LETTERS, UNKNOWN, Question

NAMED = ("task", "encoding", "question_type", "prompt", "images")
"""Fields that a question must have."""
_KNOWN = {field.name for field in fields(Question)}
_ORIGINAL = re.compile(r"original_(.+)\.\w+")


def completed(row: Row) -> Json:
    """Return the record of a question with all fields of
    :class:`~visualjudge.core.records.Question`.

    ``id`` is derived from the fields by which the document tells questions apart, and
    where they have no annotation ids, from prompt and images. ``image_id``, by which
    intervals are clustered, is that of the image ``original_{image_id}.png``. Scores
    follow from the answer.

    Raises
    ------
    DataError
        If the record lacks a field of :data:`NAMED`, or its options cannot be counted.
    """
    for name in NAMED:
        row.need(name)
    kind = row["question_type"]
    answer = row.get("answer")
    if kind == "scoring" and row.get("answer_score") is not None:
        answer = row["answer_score"]
    subset = row.get("subset") or []
    known: Json = {name: row[name] for name in _KNOWN & row.keys()}
    names = row.get("annotation_ids")
    identity = [row["task"], row["encoding"], kind, names]
    if not names:
        identity += [row["prompt"], row["images"]]
    digest = hashlib.sha256(orjson.dumps(identity)).hexdigest()[:16]
    count = (
        len(names) if isinstance(names, list) else _options(row, kind, answer)
    )
    usual: Json = {
        "id": digest,
        "annotation_ids": [f"{digest}-{letter}" for letter in LETTERS[:count]],
        "final_scores": _scores(kind, answer, count),
        "sources": [None] * count,
        "image_id": _image_of(row["images"], digest),
        "class_of_interest": None,
        "error_type": None,
        "answer": UNKNOWN,
    }
    stated = {name: value for name, value in known.items() if value is not None}
    stated["subset"] = [subset] if isinstance(subset, str) else subset
    if answer is not None:
        stated["answer"] = answer
    record = usual | stated
    for name in ("id", "image_id"):
        record[name] = str(record[name])
    if isinstance(names, list):
        record["annotation_ids"] = [str(item) for item in names]
    return record


def unknown_fields(row: Row) -> Json:
    """Return the fields of a question that datasets do not have."""
    return {name: value for name, value in row.items() if name not in _KNOWN}


def _options(row: Row, kind: str, answer: Any) -> int:
    if kind == "ranking":
        if not isinstance(answer, str):
            raise row.fault(
                "answer", f"must be an order of letters, got {answer!r}"
            )
        return len(answer)
    return 1 if kind == "scoring" else 2


def _scores(kind: str, answer: Any, count: int) -> list[float]:
    """Return scores from 0 to 10 that say no more than the answer does: the better
    option has more."""
    if kind == "scoring":
        return [answer if isinstance(answer, int | float) else 5.0]
    letters = LETTERS[:count]
    if not isinstance(answer, str) or not set(answer) <= set(letters):
        return [5.0] * count
    order = (
        answer if kind == "ranking" else answer + letters.replace(answer, "")
    )
    last = max(1, count - 1)
    return [10.0 * (last - order.find(letter)) / last for letter in letters]


def _image_of(images: Any, digest: str) -> str:
    first = (
        PurePosixPath(str(images[0])).name
        if isinstance(images, list) and images
        else ""
    )
    named = _ORIGINAL.fullmatch(first)
    return named[1] if named else digest
