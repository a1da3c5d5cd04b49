"""The questions of a dataset, read one at a time: where each lies, and one of them again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from visualjudge.core import jsons
from visualjudge.core.errors import DataError
from visualjudge.core.records import Question
from visualjudge.data.scan import Span, spans
from visualjudge.dataset.folder import QUESTIONS, question_from_wire
from visualjudge.dataset.parquet_form import INDEX, ParquetQuestions

Located = tuple[int, int, Question]


def stamped(root: Path) -> Path:
    """The file of the dataset at ``root`` that is another one whenever its questions are."""
    return root / (QUESTIONS if (root / QUESTIONS).is_file() else INDEX)


class ShardedQuestions:
    """``questions/*.parquet``; a question is named by its number, twice."""

    def __init__(self, root: Path) -> None:
        self._stored = ParquetQuestions(root)

    def scan(self) -> Iterator[Located]:
        """Every question with its place.

        Raises
        ------
        DataError
            If a shard cannot be read.
        """
        return ((number, number, question) for number, question in enumerate(self._stored))

    def read(self, start: int, stop: int) -> Question:
        """The question of this number."""
        return self._stored[start]


class QuestionsFile:
    """``questions.json``, streamed; a question is named by the bytes ``start:stop`` that it takes."""

    def __init__(self, root: Path) -> None:
        self.path = root / QUESTIONS

    def scan(self) -> Iterator[Located]:
        """Every question with its place, in the order of the file.

        Raises
        ------
        DataError
            If the file is not a JSON array of questions.
        """
        for number, (start, stop, raw) in enumerate(self._raw()):
            yield start, stop, question_from_wire(raw, number)

    def scan_lines(self, start: int, stop: int) -> Iterator[Located]:
        """The questions in the lines of these bytes, where the file has one a line; errors count lines from there."""
        return ((begin, end, question_from_wire(raw)) for begin, end, raw in self._lines(start, stop))

    def _raw(self) -> Iterator[tuple[int, int, Any]]:
        """One object a line where the file is written so, which is ten times faster; any other layout by its braces."""
        if self.one_a_line():
            yield from self._lines()
        else:
            yield from ((span.start, span.stop, raw) for span, raw in spans(self.path))

    def one_a_line(self) -> bool:
        """Whether each question has a line of its own."""
        with self.path.open("rb") as file:
            opening, first = file.readline(64), file.readline(2**24)
        try:
            return opening.strip() == b"[" and isinstance(jsons.loads(first.strip().rstrip(b",")), dict)
        except orjson.JSONDecodeError:
            return False

    def _lines(self, place: int = 0, stop: int | None = None) -> Iterator[tuple[int, int, Any]]:
        with self.path.open("rb") as file:
            file.seek(place)
            for number, line in enumerate(file, 1):
                if place == stop:
                    return
                text = line.strip().strip(b",")
                if text not in (b"[", b"]", b""):
                    try:
                        yield place, place + len(line), jsons.loads(text)
                    except orjson.JSONDecodeError as error:
                        raise DataError(f"{self.path}: line {number}: not JSON: {error}") from None
                place += len(line)

    def read(self, start: int, stop: int) -> Question:
        """The question in the bytes ``start:stop``.

        Raises
        ------
        DataError
            If the file has changed and the bytes hold no question any more.
        """
        with self.path.open("rb") as file:
            file.seek(start)
            text = file.read(stop - start)
        try:
            return question_from_wire(jsons.loads(text.strip().strip(b",")))
        except orjson.JSONDecodeError:
            return question_from_wire(Span(str(self.path), start, stop).read())


Records = QuestionsFile | ShardedQuestions
"""The stored questions of a dataset; a question is named by two numbers."""


def records(root: Path) -> Records:
    """The stored questions of the dataset at ``root``, in either form."""
    return QuestionsFile(root) if stamped(root).name == QUESTIONS else ShardedQuestions(root)
