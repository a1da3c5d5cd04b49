"""Questions as JSON: ``questions.json``, and each question's JSON in ``dataset.parquet``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from itertools import chain
from pathlib import Path
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from visualjudge.core import jsons
from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import DataError
from visualjudge.core.pydantic_messages import first_problem
from visualjudge.core.records import LETTERS, TIES, UNKNOWN, Question, Spans
from visualjudge.core.untrusted import read_file

QUESTIONS = "questions.json"
FIRST, BETWEEN, LAST = b"[\n", b",\n", b"\n]\n"
"""Bytes before the first question, between questions, and after the last one."""
LARGEST_NUMBER = 1e15
_FIELDS = tuple(item.name for item in fields(Question))
_OPTIONAL = ("features", "spans", "ties", "probe")
_QUESTION = TypeAdapter(Question)


def question_to_wire(question: Question) -> dict[str, Any]:
    """Return a question in its stored form. Optional fields come last and are omitted if unset."""
    fields = ((name, getattr(question, name)) for name in _FIELDS)
    return {name: value for name, value in fields if value is not None or name not in _OPTIONAL}


def question_json(question: Question) -> bytes:
    return orjson.dumps(question_to_wire(question))


def question_from_wire(raw: Any, position: int = 0) -> Question:
    """Return the question from its stored form.

    Raises
    ------
    DataError
        If it is not an object, or a field is missing or has the wrong type.
    """
    if isinstance(raw, Mapping) and type(raw.get("id")) is int:
        raw = {**raw, "id": str(raw["id"])}  # as in some datasets of 0.1
    try:
        return question_of_json(orjson.dumps(raw))
    except ValueError as error:
        name = raw.get("id") if isinstance(raw, Mapping) else None
        name = name if isinstance(name, str) else f"question {position + 1}"
        wrong = first_problem(error) if isinstance(error, ValidationError) else ((), str(error))
        raise DataError(
            ": ".join(filter(None, (QUESTIONS, name, ".".join(wrong[0]), wrong[1])))
        ) from None


def question_of_json(content: bytes | str) -> Question:
    """Return the question from its JSON.

    Raises
    ------
    ValueError
        If it is not one; :func:`question_from_wire` says why in our words.
    """
    return _checked(_QUESTION.validate_json(content, strict=True))


def _checked(question: Question) -> Question:
    """Check what the types of the fields do not say.

    Raises
    ------
    ValueError
        If a field is wrong; the message names it.
    """
    numbers, answer = question.final_scores, question.answer
    if isinstance(answer, str) is (question.question_type == "scoring") and answer != UNKNOWN:
        kind = "a number" if question.question_type == "scoring" else "text"
        raise ValueError(f"answer: must be {kind}, got {str(answer)[:40]!r}")
    numbers = numbers if isinstance(answer, str) else (*numbers, answer)
    if not all(-LARGEST_NUMBER <= number <= LARGEST_NUMBER for number in numbers):
        raise ValueError(
            f"final_scores: must be finite and at most {LARGEST_NUMBER:g}, as must the answer"
        )
    if not len(question.annotation_ids) == len(question.final_scores) == len(question.sources):
        raise ValueError(
            "annotation_ids: must have one item for each option, as must final_scores and sources"
        )
    if not spans_in_order(question.spans, question.prompt):
        raise ValueError("spans: must lie in the prompt in order")
    if question.ties is not None and not set(question.ties) <= set(TIES):
        raise ValueError(f"ties: must only contain {', '.join(TIES)}")
    if question.probe is not None and (question.probe.cue or "A") not in LETTERS:
        raise ValueError(f"probe.cue: must be a letter of an option, got {question.probe.cue!r}")
    return question


def spans_in_order(spans: Spans | None, prompt: str) -> bool:
    """Return whether the spans, if any, are in order within the prompt."""
    if spans is None:
        return True
    places = [*(spans.original or ()), *chain.from_iterable(spans.options), *(spans.final or ())]
    return places == sorted(places) and (
        not places or (places[0] >= 0 and places[-1] <= len(prompt))
    )


def read_questions(path: Path) -> tuple[tuple[Question, ...], str]:
    """Return all questions of a ``questions.json`` and the file's SHA-256.

    Raises
    ------
    DataError
        If it cannot be read, is not a JSON array, or an item is not a question.
    """
    content = read_file(path, "json")
    try:
        raw = jsons.loads(content)
    except orjson.JSONDecodeError as error:
        raise DataError(f"{path}: must be JSON: {error}") from None
    if not isinstance(raw, list):
        raise DataError(f"{path.parent}: {QUESTIONS} must contain an array")
    questions = tuple(question_from_wire(item, k) for k, item in enumerate(raw))
    return questions, hashlib.sha256(content).hexdigest()


def write_questions(path: Path, lines: Iterable[bytes]) -> str:
    """Write the JSON of each question to ``path``. Return the file's SHA-256."""
    with path.open("wb") as file:
        file.writelines(json_file(lines))
    return file_sha256(path)


def json_file(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the parts of a ``questions.json`` with these questions."""
    before = FIRST
    for line in lines:
        yield before
        yield line
        before = BETWEEN
    yield LAST if before == BETWEEN else FIRST + LAST
