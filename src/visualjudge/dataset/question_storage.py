"""Questions stored on disk: the interface that all forms of a dataset's questions share, and
selections of questions.

:class:`~visualjudge.dataset.json_form.JsonQuestions` and
:class:`~visualjudge.dataset.parquet_form.ParquetQuestions` implement the forms;
:func:`~visualjudge.dataset.folder.open_questions` opens the form found in a folder.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import chain, islice
from typing import Any, overload

from visualjudge.core.records import Question

BATCH = 4096
Batch = tuple[Sequence[Any], ...]
Positions = Sequence[int]
"""Positions in a sequence of questions: a range, or an ``array("q")`` at eight bytes each."""
Located = tuple[int, int, Question]
"""A question after the two numbers with which :meth:`QuestionFiles.read` finds it."""
Record = tuple[bytes, bytes]
"""The bytes that precede a question in ``questions.json``, and the bytes of the question."""


class Stored(Sequence[Question], ABC):
    """An ordered sequence of questions that is iterated in constant memory."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def at(self, positions: Iterable[int]) -> Iterator[Question]:
        """Return the questions at ``positions`` (0 or more); fastest in ascending order."""

    def columns(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Yield the values of some fields, question by question."""
        return (tuple(getattr(question, name) for name in names) for question in self)

    def batches(self, *names: str) -> Iterator[Batch]:
        """Yield the values in batches, with one sequence per field."""
        return _batched(self.columns(*names))

    def distinct(self, name: str) -> Iterator[Iterable[Any]]:
        """Yield the items of an array field in parts; each part lists an item once."""
        return _distinct(self.batches(name))

    def __iter__(self) -> Iterator[Question]:
        return self.at(range(len(self)))

    @overload
    def __getitem__(self, index: int) -> Question: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Question]: ...
    def __getitem__(self, index: int | slice) -> Question | Sequence[Question]:
        places = range(len(self))[index]
        if isinstance(places, range):
            return View(self, lambda _: places)
        return next(self.at((places,)))


class QuestionFiles(Stored):
    """The questions in the files of a dataset folder. Each form is a subclass."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """SHA-256 of the ``questions.json``, or of the equivalent one."""

    @property
    @abstractmethod
    def ending(self) -> bytes:
        """Return the bytes of ``questions.json`` after the last question."""

    @abstractmethod
    def records(self) -> Iterator[Record]:
        """Yield ``questions.json`` question by question; :attr:`ending` follows the last one."""

    @abstractmethod
    def scan(self) -> Iterator[Located]:
        """Yield every question in order, without counting them first."""

    @abstractmethod
    def read(self, start: int, stop: int) -> Question:
        """Return the question with these two numbers."""


class View(Stored):
    """A lazy selection of questions, stored as positions."""

    def __init__(
        self, source: Sequence[Question], select: Callable[[Sequence[Question]], Positions]
    ) -> None:
        self._source = source
        self._select = select

    @cached_property
    def _positions(self) -> Positions:
        return self._select(self._source)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the evaluated selection."""
        return View, (self._source, partial(_made, self._positions))

    def __len__(self) -> int:
        return len(self._positions)

    def at(self, positions: Iterable[int]) -> Iterator[Question]:
        """Return the questions at ``positions`` of the selection."""
        places = self._positions
        return at(self._source, (places[k] for k in positions))

    def columns(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Yield the values of some fields, without reading the source's other columns if the
        selection is contiguous.
        """
        places = self._positions
        if isinstance(places, range) and places.step == 1:
            return islice(columns(self._source, *names), places.start, places.stop)
        return super().columns(*names)

    def batches(self, *names: str) -> Iterator[Batch]:
        """Yield the values in batches, directly from the source if everything is selected."""
        whole = self._positions == range(len(self._source))
        return batches(self._source, *names) if whole else super().batches(*names)

    def distinct(self, name: str) -> Iterator[Iterable[Any]]:
        """Yield distinct items, directly from the source if everything is selected."""
        whole = self._positions == range(len(self._source))
        return distinct(self._source, name) if whole else super().distinct(name)


def _made(positions: Positions, questions: Sequence[Question]) -> Positions:
    return positions


def at(questions: Sequence[Question], positions: Iterable[int]) -> Iterator[Question]:
    """Yield the questions at ``positions``, one by one."""
    return (
        questions.at(positions)
        if isinstance(questions, Stored)
        else (questions[k] for k in positions)
    )


def columns(questions: Sequence[Question], *names: str) -> Iterator[tuple[Any, ...]]:
    """Yield the values of some fields, question by question. Stored columns are read without the
    others.
    """
    if isinstance(questions, Stored):
        return questions.columns(*names)
    return (tuple(getattr(question, name) for name in names) for question in questions)


def batches(questions: Sequence[Question], *names: str) -> Iterator[Batch]:
    """Yield the result of :func:`columns` for many questions at a time, with one sequence per
    field.
    """
    return (
        questions.batches(*names)
        if isinstance(questions, Stored)
        else _batched(columns(questions, *names))
    )


def distinct(questions: Sequence[Question], name: str) -> Iterator[Iterable[Any]]:
    """Yield the items of an array field in parts; each part lists an item once."""
    if isinstance(questions, Stored):
        return questions.distinct(name)
    return _distinct(batches(questions, name))


def _batched(rows: Iterator[tuple[Any, ...]]) -> Iterator[Batch]:
    while some := list(islice(rows, BATCH)):
        yield tuple(zip(*some, strict=True))


def _distinct(some: Iterator[Batch]) -> Iterator[Iterable[Any]]:
    return (set(chain.from_iterable(values)) for (values,) in some)
