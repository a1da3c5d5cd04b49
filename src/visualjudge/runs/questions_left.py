"""What a run has left to ask: one 8-byte number per ask; its question is read when it is asked."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from visualjudge.core.records import Order, Question
from visualjudge.dataset.question_storage import at, batches
from visualjudge.judges.base import ORDERS, Ask
from visualjudge.runs.answered_questions import Answered


@dataclass(frozen=True)
class Todo:
    """Asks in the order of their questions, read lazily; calling it starts again.

    The number of an ask is ``position · 2 · repeats + order · repeats + repeat``, with the position
    of its question in ``questions`` and 0 or 1 for the order AB or BA.
    """

    questions: Sequence[Question]
    repeats: int
    numbers: Sequence[int]
    total: int
    """How many asks there are, the answered ones included."""

    def __call__(self) -> Iterator[Ask]:
        return self.asks(self.numbers)

    def asks(self, numbers: Iterable[int]) -> Iterator[Ask]:
        """Yield the asks with these numbers; fastest if the numbers ascend."""
        place, known = 0, -1

        def places() -> Iterator[int]:
            while True:
                yield place

        questions = at(self.questions, places())
        for number in numbers:
            place, rest = divmod(number, 2 * self.repeats)
            if place != known:
                question, known = next(questions), place
            yield Ask(question, ORDERS[rest // self.repeats], rest % self.repeats)


def left_of(
    questions: Sequence[Question], *, swap: bool, repeats: int, done: Answered | None = None
) -> Todo:
    """Return what is left of ``questions``, reading only the columns needed and no question."""
    asked: list[tuple[Order, int]] = [
        (order, k) for order in ORDERS[: 1 + swap] for k in range(repeats)
    ]
    numbers, total, first = array("q"), 0, 0
    names = ("question_type", "id") if done else ("question_type",)
    for kinds, *ids in batches(questions, *names):
        wanted = np.ones((len(kinds), len(asked)), np.bool_)
        if swap:
            wanted[np.array(kinds) != "pairwise", repeats:] = False
        total += int(wanted.sum())
        if done:
            wanted &= ~done.holds(ids[0], asked)
        places, which = np.nonzero(wanted)
        numbers.frombytes(((first + places) * 2 * repeats + which).astype(np.int64).tobytes())
        first += len(kinds)
    return Todo(questions, repeats, numbers, total)
