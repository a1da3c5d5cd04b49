"""``questions.json`` that is too large to hold: one scan notes where each question lies, and checks it."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson

from visualjudge.core import jsons
from visualjudge.core.digests import file_sha256
from visualjudge.core.errors import DataError
from visualjudge.core.records import Question
from visualjudge.data.scan import spans
from visualjudge.dataset.question_wire import question_from_wire
from visualjudge.dataset.stored import Stored

FIRST, BETWEEN, LAST = b"[\n", b",\n", b"\n]\n"
"""What ``build`` writes before the first question, between two, and after the last."""


class _OtherLayout(Exception):
    """The file does not have one question a line."""


class JsonQuestions(Stored):
    """The questions of a file; sixteen bytes of memory each.

    Raises
    ------
    DataError
        If the file is not a JSON array of questions, or (when they are read) was changed since it was opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp = _stamp(path)
        try:
            self._starts, self._stops = _noted(_lines(path))
        except _OtherLayout:
            self._starts, self._stops = _noted(_braces(path))
        self.digest = file_sha256(path)
        self._check_unchanged()

    def __len__(self) -> int:
        return len(self._starts)

    def at(self, positions: Iterable[int]) -> Iterator[Question]:
        """The questions at ``positions``."""
        self._check_unchanged()
        with self.path.open("rb") as file:
            for k in positions:
                file.seek(self._starts[k])
                content = file.read(self._stops[k] - self._starts[k])
                yield question_from_wire(_strict(self.path, content), k)

    def records(self) -> Iterator[tuple[bytes, bytes]]:
        """The bytes of each question, after the bytes between it and the one before."""
        self._check_unchanged()
        place = 0
        with self.path.open("rb") as file:
            for start, stop in zip(self._starts, self._stops, strict=True):
                yield file.read(start - place), file.read(stop - start)
                place = stop

    def ending(self) -> bytes:
        """The bytes after the last question."""
        with self.path.open("rb") as file:
            file.seek(self._stops[-1] if self._stops else 0)
            return file.read()

    def _check_unchanged(self) -> None:
        if _stamp(self.path) != self._stamp:
            raise DataError(f"{self.path}: was changed while it was being read; load the dataset again")


Located = tuple[int, int, Any]


def _noted(found: Iterable[Located]) -> tuple[array[int], array[int]]:
    starts, stops = array("q"), array("q")
    for number, (start, stop, raw) in enumerate(found):
        question_from_wire(raw, number)
        starts.append(start)
        stops.append(stop)
    return starts, stops


def _lines(path: Path) -> Iterator[Located]:
    """One question a line, as ``build`` writes: ten times faster than counting braces."""
    with path.open("rb") as file:
        if file.readline(len(FIRST) + 1) != FIRST:
            raise _OtherLayout
        place, line, more = len(FIRST), file.readline(), True
        while more:
            content = line.removesuffix(b"\n")
            more = content.endswith(b",")
            content = content.removesuffix(b",")
            yield place, place + len(content), _object(content)
            place, line = place + len(line), file.readline()
        if line != LAST[1:] or file.read(1):
            raise _OtherLayout


def _object(content: bytes) -> dict[str, Any]:
    try:
        raw = jsons.loads(content)
    except orjson.JSONDecodeError:
        raise _OtherLayout from None
    if not isinstance(raw, dict):
        raise _OtherLayout
    return raw


def _braces(path: Path) -> Iterator[Located]:
    with path.open("rb") as file:
        for span, found in spans(path):
            if isinstance(found, DataError):
                raise DataError(f"{path}: must be JSON: {found}")
            file.seek(span.start)
            yield span.start, span.stop, _strict(path, file.read(span.stop - span.start))


def _strict(path: Path, content: bytes) -> Any:
    """A value as JSON has it: no NaN, which a scan lets through."""
    try:
        return jsons.loads(content)
    except orjson.JSONDecodeError as error:
        raise DataError(f"{path}: must be JSON: {error}") from None


def _stamp(path: Path) -> tuple[int, int, int]:
    """Tells an untouched file without reading it."""
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns, stat.st_ino
