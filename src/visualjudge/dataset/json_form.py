"""``questions.json``: convert questions to and from their stored form, and read them from the file
on demand.

A file too large for memory is scanned once, to check it and to record where each question begins
and ends.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

import orjson

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
    Span,
    Spans,
)
from visualjudge.data.record_scan import spans
from visualjudge.dataset.question_storage import Located, QuestionFiles, Record

QUESTIONS = "questions.json"
FIRST, BETWEEN, LAST = b"[\n", b",\n", b"\n]\n"
"""Bytes that ``build`` writes before the first question, between questions, and after the last
one.
"""
_FIELDS = tuple(item.name for item in fields(Question))
_OPTIONAL = ("features", "spans", "ties", "probe")
TUPLES = ("subset", "annotation_ids", "final_scores", "sources", "images")
"""Fields that are an array in the file and a tuple in the record."""
LARGEST_NUMBER = 1e15
_TEXT = frozenset({str})
_NUMBER = frozenset({int, float})
_NAMES: dict[type, str] = {str: "text", int: "a number", float: "a number", type(None): "null"}
_KINDS = {
    **dict.fromkeys(("task", "encoding", "question_type", "image_id", "prompt"), _TEXT),
    "error_type": _TEXT | {type(None)},
}
_ITEM_KINDS = {
    **dict.fromkeys(("subset", "class_of_interest", "annotation_ids", "images"), _TEXT),
    "final_scores": _NUMBER,
    "sources": _TEXT | {type(None)},
}
_ANSWERS = {"pairwise": _TEXT, "ranking": _TEXT, "scoring": _NUMBER}


def question_from_wire(raw: Any, position: int = 0) -> Question:
    """Return the question from its stored form.

    Raises
    ------
    DataError
        If it is not an object, or a field is missing or has the wrong type.
    """
    if not isinstance(raw, dict):
        raise DataError(f"{QUESTIONS}: question {position + 1}: must be an object")
    name = raw.get("id", f"question {position + 1}")
    try:
        classes = raw["class_of_interest"]
        features = raw.get("features")
        question = Question(
            id=_id(raw["id"]),
            task=raw["task"],
            encoding=raw["encoding"],
            question_type=raw["question_type"],
            image_id=raw["image_id"],
            class_of_interest=None if classes is None else _items("class_of_interest", classes),
            error_type=raw["error_type"],
            prompt=raw["prompt"],
            answer=raw["answer"],
            features=None
            if features is None
            else tuple(map(_features, _items("features", features))),
            spans=_spans(raw),
            ties=_ties(raw),
            probe=_probe(raw.get("probe")),
            **{field: _items(field, raw[field]) for field in TUPLES},
        )
        _check(question)
        return question
    except KeyError as error:
        raise DataError(f"{QUESTIONS}: {name}: {error.args[0]}: the field is missing") from None
    except (TypeError, ValueError) as error:
        raise DataError(f"{QUESTIONS}: {name}: has a field of the wrong type: {error}") from None


def _features(stored: Any) -> OptionFeatures:
    """Return the features of an option, whose values are numbers or null."""
    found = OptionFeatures(**stored)
    for name in stored:
        value = getattr(found, name)
        if value is not None and type(value) not in _NUMBER:
            raise TypeError(f"features.{name} must be a number or null, got {str(value)[:40]!r}")
    return found


def _id(stored: Any) -> str:
    if type(stored) not in (str, int):
        raise TypeError(f"id must be text, got {str(stored)[:40]!r}")
    return str(stored)


def _items(name: str, value: Any) -> tuple[Any, ...]:
    """Return an array as a tuple; a text is rejected, as it would be split into letters."""
    if not isinstance(value, list | tuple):
        raise TypeError(f"{name} must be an array, got {str(value)[:40]!r}")
    return tuple(value)


def _check(question: Question) -> None:
    """Check the types of all values here, so that no command has to.

    Raises
    ------
    TypeError, ValueError
        If a value has the wrong type; the message names the field.
    """
    for name, kinds in _KINDS.items():
        value = getattr(question, name)
        if type(value) not in kinds:
            raise TypeError(f"{name} must be {_named(kinds)}, got {str(value)[:40]!r}")
    for name, kinds in _ITEM_KINDS.items():
        items = getattr(question, name) or ()
        if not kinds.issuperset(map(type, items)):
            wrong = next(item for item in items if type(item) not in kinds)
            raise TypeError(
                f"{name} must be an array of {_named(kinds)}, got an item {str(wrong)[:40]!r}"
            )
    if question.question_type not in _ANSWERS:
        raise ValueError(
            f"question_type must be one of {', '.join(_ANSWERS)}, got "
            f"{question.question_type[:40]!r}"
        )
    fits = type(question.answer) in _ANSWERS[question.question_type]
    if not fits and question.answer != UNKNOWN:
        raise TypeError(
            f"answer must be {_named(_ANSWERS[question.question_type])}, got "
            f"{str(question.answer)[:40]!r}"
        )
    answer = [] if isinstance(question.answer, str) else [question.answer]
    if not all(
        -LARGEST_NUMBER <= number <= LARGEST_NUMBER for number in (*question.final_scores, *answer)
    ):
        raise ValueError(f"final_scores and answer must be finite and at most {LARGEST_NUMBER:g}")
    if not len(question.annotation_ids) == len(question.final_scores) == len(question.sources):
        raise ValueError(
            "annotation_ids, final_scores and sources must have one item for each option"
        )


def _named(kinds: frozenset[type]) -> str:
    return " or ".join(sorted({_NAMES[kind] for kind in kinds}))


def question_to_wire(question: Question) -> dict[str, Any]:
    """Return a question in its stored form. Optional fields come last and are omitted if unset."""
    wire = {name: getattr(question, name) for name in _FIELDS}
    for name in _OPTIONAL:
        if wire[name] is None:
            del wire[name]
    return wire


def _probe(stored: Any) -> Probe | None:
    """Return the stored record of a probe, with checked field types."""
    if stored is None:
        return None
    probe = Probe(**stored)
    for name in ("name", "design", "group", "changed", "expected"):
        if not isinstance(getattr(probe, name), str):
            raise TypeError(f"probe.{name} must be a string, got {getattr(probe, name)!r}")
    if probe.cue is not None and probe.cue not in LETTERS:
        raise TypeError(f"probe.cue must be a letter of an option, got {probe.cue!r}")
    if probe.level is not None and type(probe.level) not in (int, float):
        raise TypeError(f"probe.level must be a number, got {probe.level!r}")
    return probe


def _ties(raw: Mapping[str, Any]) -> tuple[str, ...] | None:
    stored = raw.get("ties")
    if not stored:
        return None
    if not set(stored) <= set(TIES):
        raise TypeError(f"ties must only contain {', '.join(TIES)}, got {stored}")
    return tuple(stored)


def _spans(raw: Mapping[str, Any]) -> Spans | None:
    """Return the stored spans. They must be in order within the prompt, so that slicing by them
    keeps every character.
    """
    stored = raw.get("spans")
    if stored is None:
        return None
    original, final = (
        None if stored.get(name) is None else _span(stored[name]) for name in ("original", "final")
    )
    spans = Spans(tuple(map(_span, stored["options"])), original, final)
    if not spans_in_order(spans, raw["prompt"]):
        raise TypeError(f"spans must lie in the prompt in order, got {stored}")
    return spans


def spans_in_order(spans: Spans | None, prompt: str) -> bool:
    """Return whether the spans, if any, are in order within the prompt."""
    if spans is None:
        return True
    places = [*(spans.original or ()), *chain.from_iterable(spans.options), *(spans.final or ())]
    return places == sorted(places) and (
        not places or (places[0] >= 0 and places[-1] <= len(prompt))
    )


def _span(raw: Any) -> Span:
    start, end = raw
    if type(start) is not int or type(end) is not int:
        raise TypeError(f"a span must be two integers, got {raw!r}")
    return start, end


# ---------------------------------------------------------------- the file


class OtherLayout(Exception):
    """The file does not have one question per line."""


class JsonQuestions(QuestionFiles):
    """The questions of the ``questions.json`` at ``root``, at sixteen bytes of memory each once
    counted.

    Raises
    ------
    DataError
        If the file is not a JSON array of questions, or was changed since it was opened.
    """

    def __init__(self, root: Path) -> None:
        self.path = root / QUESTIONS
        self._stamp = _stamp(self.path)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the file."""
        found = file_sha256(self.path)
        self._check_unchanged()
        return found

    @cached_property
    def _places(self) -> tuple[array[int], array[int]]:
        starts, stops = array("q"), array("q")
        for start, stop, _ in self.scan():
            starts.append(start)
            stops.append(stop)
        self._check_unchanged()
        return starts, stops

    def __len__(self) -> int:
        return len(self._places[0])

    def at(self, positions: Iterable[int]) -> Iterator[Question]:
        """Return the questions at ``positions``."""
        starts, stops = self._places
        self._check_unchanged()
        with self.path.open("rb") as file:
            for k in positions:
                yield self._question(file, starts[k], stops[k], k)

    def scan(self) -> Iterator[Located]:
        """Yield every question and its bytes, in file order."""
        for position, (start, stop, raw) in enumerate(_objects(self.path)):
            yield start, stop, question_from_wire(raw, position)

    def scan_lines(self, start: int, stop: int) -> Iterator[Located]:
        """Yield the questions in the lines of the bytes ``start:stop``. Errors number the questions
        from there.

        Raises
        ------
        OtherLayout
            If they do not have one question per line.
        """
        return (
            (begin, end, question_from_wire(raw))
            for begin, end, raw in _lines(self.path, start, stop)
        )

    def read(self, start: int, stop: int) -> Question:
        """Return the question in the bytes ``start:stop``."""
        with self.path.open("rb") as file:
            return self._question(file, start, stop)

    def _question(self, file: BinaryIO, start: int, stop: int, position: int = 0) -> Question:
        file.seek(start)
        return question_from_wire(_strict(self.path, file.read(stop - start)), position)

    def whole(self) -> tuple[tuple[Question, ...], str]:
        """Return all questions and the file's SHA-256, reading the file once."""
        try:
            content = self.path.read_bytes()
        except OSError as error:
            raise DataError(f"{self.path}: cannot be read: {error.strerror}") from None
        raw = _strict(self.path, content)
        if not isinstance(raw, list):
            raise DataError(f"{self.path.parent}: {QUESTIONS} must contain an array")
        return tuple(question_from_wire(item, k) for k, item in enumerate(raw)), hashlib.sha256(
            content
        ).hexdigest()

    def records(self) -> Iterator[Record]:
        """Yield the bytes of each question, after the bytes that separate it from the previous
        one.
        """
        self._check_unchanged()
        place = 0
        with self.path.open("rb") as file:
            for start, stop in zip(*self._places, strict=True):
                yield file.read(start - place), file.read(stop - start)
                place = stop

    @property
    def ending(self) -> bytes:
        """Return the bytes after the last question."""
        with self.path.open("rb") as file:
            file.seek(self._places[1][-1] if len(self) else 0)
            return file.read()

    def _check_unchanged(self) -> None:
        if _stamp(self.path) != self._stamp:
            raise DataError(
                f"{self.path}: was changed while it was being read; load the dataset again"
            )


def _objects(path: Path) -> Iterator[tuple[int, int, Any]]:
    """Yield each element of the array with its bytes. From the first line that is not one element,
    braces are counted.
    """
    done = 0
    try:
        for found in _lines(path):
            yield found
            done += 1
    except OtherLayout:
        yield from islice(_braces(path), done, None)


def _lines(path: Path, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, int, Any]]:
    """Yield one question per line, as ``build`` writes them: ten times faster than counting
    braces.
    """
    with path.open("rb") as file:
        if start == 0 and file.readline(len(FIRST) + 1) != FIRST:
            raise OtherLayout
        place, more = file.seek(start or len(FIRST)), True
        while more and place != stop:
            line = file.readline()
            if start and line == LAST[1:]:  # a range that begins after the last question
                return
            content = line.removesuffix(b"\n")
            more = content.endswith(b",")
            content = content.removesuffix(b",")
            yield place, place + len(content), _object(content)
            place += len(line)
        if not more and (file.readline() != LAST[1:] or file.read(1)):
            raise OtherLayout


def _object(content: bytes) -> dict[str, Any]:
    try:
        raw = jsons.loads(content)
    except orjson.JSONDecodeError:
        raise OtherLayout from None
    if not isinstance(raw, dict):
        raise OtherLayout
    return raw


def _braces(path: Path) -> Iterator[tuple[int, int, Any]]:
    with path.open("rb") as file:
        for span, found in spans(path):
            if isinstance(found, DataError):
                raise DataError(f"{path}: must be JSON: {found}")
            file.seek(span.start)
            yield span.start, span.stop, _strict(path, file.read(span.stop - span.start))


def _strict(path: Path, content: bytes) -> Any:
    """Parse JSON strictly, without NaN, which a scan accepts."""
    try:
        return jsons.loads(content)
    except orjson.JSONDecodeError as error:
        raise DataError(f"{path}: must be JSON: {error}") from None


def _stamp(path: Path) -> tuple[int, int, int]:
    """Return a stamp that shows whether a file changed, without reading it."""
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns, stat.st_ino
