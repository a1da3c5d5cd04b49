"""Questions as JSON: ``questions.json``, and each question's JSON in
``dataset.parquet``. The other form is in ``parquet_form.py``.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from itertools import chain
from pathlib import Path
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError, with_config

from visualjudge.core import jsons
from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import DataError
from visualjudge.core.records import (
    LETTERS,
    TIES,
    UNKNOWN,
    OptionFeatures,
    Probe,
    Question,
    Spans,
)
from visualjudge.core.typed_records import first_problem
from visualjudge.core.untrusted import lines

QUESTIONS = "questions.json"
FIRST = b"[\n"
BETWEEN = b",\n"
LAST = b"\n]\n"
"""Bytes before the first question, between questions, and after the last one."""
LARGEST_NUMBER = 1e15
_FIELDS = tuple(item.name for item in fields(Question))
_OPTIONAL = (
    "features",
    "spans",
    "ties",
    "probe",
    "faults",
    "criteria",
    "votes",
)
for _record in (Question, OptionFeatures, Probe):
    with_config(allow_inf_nan=False)(_record)
_QUESTION = TypeAdapter(Question)


def question_to_wire(question: Question) -> dict[str, Any]:
    """Return a question in its stored form. Optional fields come last and are omitted
    if unset."""
    return {
        name: value
        for name in _FIELDS
        if (value := getattr(question, name)) is not None
        or name not in _OPTIONAL
    }


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
        wrong = (
            first_problem(error)
            if isinstance(error, ValidationError)
            else ((), str(error))
        )
        raise DataError(
            ": ".join(
                (
                    QUESTIONS,
                    name
                    if isinstance(name, str)
                    else f"question {position + 1}",
                    *filter(None, (".".join(wrong[0]), wrong[1])),
                )
            )
        ) from None


def question_of_json(content: bytes | str) -> Question:
    """Return the question from its JSON.

    Raises
    ------
    ValueError
        If it is not one; :func:`question_from_wire` says why in our words.
    """
    question = _QUESTION.validate_json(content, strict=True)
    numbers = question.final_scores
    answer = question.answer
    if (
        isinstance(answer, str) is (question.question_type == "scoring")
        and answer != UNKNOWN
    ):
        kind = "a number" if question.question_type == "scoring" else "text"
        raise ValueError(f"answer: must be {kind}, got {str(answer)[:40]!r}")
    numbers = numbers if isinstance(answer, str) else (*numbers, answer)
    if not all(
        -LARGEST_NUMBER <= number <= LARGEST_NUMBER for number in numbers
    ):
        raise ValueError(
            f"final_scores: must be finite and at most {LARGEST_NUMBER:g}, as must the "
            "answer"
        )
    if (
        not len(question.annotation_ids)
        == len(question.final_scores)
        == len(question.sources)
    ):
        raise ValueError(
            "annotation_ids: must have one item for each option, as must final_scores "
            "and sources"
        )
    if not spans_in_order(question.spans, question.prompt):
        raise ValueError("spans: must lie in the prompt in order")
    if question.ties is not None and not set(question.ties) <= set(TIES):
        raise ValueError(f"ties: must only contain {', '.join(TIES)}")
    if (
        question.probe is not None
        and (question.probe.cue or "A") not in LETTERS
    ):
        raise ValueError(
            f"probe.cue: must be a letter of an option, got {question.probe.cue!r}"
        )
    return question


def spans_in_order(spans: Spans | None, prompt: str) -> bool:
    """Return whether the spans, if any, are in order within the prompt."""
    if spans is None:
        return True
    places = [
        *(spans.original or ()),
        *chain.from_iterable(spans.options),
        *(spans.final or ()),
    ]
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
    with suppress(
        ValueError, DataError
    ):  # the form that `json_file` writes is read in half the time
        return tuple(
            q for _, q in questions_between(path, 0, sys.maxsize)
        ), file_sha256(path)
    raw = jsons.read(path, "json")
    if not isinstance(raw, list):
        raise DataError(f"{path.parent}: {QUESTIONS} must contain an array")
    return tuple(
        question_from_wire(item, k) for k, item in enumerate(raw)
    ), file_sha256(path)


def questions_between(
    path: Path, start: int, stop: int
) -> Iterator[tuple[bytes, Question]]:
    """Yield the questions whose lines in a ``questions.json`` begin at ``start`` bytes
    or later and before ``stop``, each with its JSON.

    Raises
    ------
    DataError
        If it cannot be read.
    ValueError
        If it does not have one question a line, as :func:`json_file` writes it.
    """
    count = 0
    place = max(0, start - 1)
    rest = lines(path, "json", place)
    line = next(rest, b"")
    fits = start > 0 or line == FIRST
    place += len(line)
    while fits and line != LAST[1:] and place < stop:
        line = next(rest, b"")
        place += len(line)
        if line != LAST[1:]:
            text = line.removesuffix(BETWEEN).rstrip()
            yield text, question_of_json(text)
            count += 1
            fits = line.endswith(BETWEEN)
    if not fits and (not count or [*rest] != [LAST[1:]]):
        raise ValueError("must have one question a line")


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
