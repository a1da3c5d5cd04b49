"""Questions that are read on demand, and selections of questions. The files are read in
``json_form.py`` and ``parquet_form.py``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, overload

from visualjudge.core.records import Question

Positions = Sequence[int]
"""Positions in a sequence of questions: a range, or an ``array("q")`` at eight bytes
each."""


class Stored(Sequence[Question], ABC):
    """An ordered sequence of questions that is iterated in constant memory."""

    @abstractmethod
    def at(self, positions: Iterable[int]) -> Iterator[Question]:
        """Return the questions at ``positions`` (0 or more); fastest in ascending
        order."""

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


class View(Stored):
    """A lazy selection of questions, stored as positions."""

    def __init__(
        self,
        source: Sequence[Question],
        select: Callable[[Sequence[Question]], Positions],
    ) -> None:
        self._source = source
        self._select = select

    @cached_property
    def _positions(self) -> Positions:
        return self._select(self._source)

    def __len__(self) -> int:
        return len(self._positions)

    def at(self, positions: Iterable[int]) -> Iterator[Question]:
        places = self._positions
        return at(self._source, (places[k] for k in positions))


def at(
    questions: Sequence[Question], positions: Iterable[int]
) -> Iterator[Question]:
    if isinstance(questions, Stored):
        return questions.at(positions)
    return (questions[k] for k in positions)


def columns(
    questions: Sequence[Question], *names: str
) -> Iterator[tuple[Any, ...]]:
    return (
        tuple(getattr(question, name) for name in names)
        for question in questions
    )
