"""What a run has left to ask: a number for each ask, eight bytes, by which its question is read when it is due."""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from visualjudge.dataset.stored import at, columns
from visualjudge.judges.asks import ORDERS, Ask, keys
from visualjudge.records import Question


@dataclass(frozen=True)
class Todo:
    """Asks in the order of their questions, read lazily; calling it begins anew.

    The number of an ask is ``position · 2 · repeats + order · repeats + repeat``, with the position of its question in
    ``questions`` and 0 or 1 for the order AB or BA.
    """

    questions: Sequence[Question]
    repeats: int
    numbers: Sequence[int]
    total: int
    """How many asks there are, the answered ones included."""

    def __call__(self) -> Iterator[Ask]:
        return self.asks(self.numbers)

    def asks(self, numbers: Iterable[int]) -> Iterator[Ask]:
        """The asks of these numbers; quickest where the numbers ascend."""
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


def left_of(questions: Sequence[Question], *, swap: bool, repeats: int, done: Container[int] = ()) -> Todo:
    """What is left of ``questions``: no question is read for it, only the columns that are needed.

    ``done`` holds the hashes of the keys that are answered.
    """
    numbers, total = array("q"), 0
    names = ("question_type", "id") if done else ("question_type",)
    for place, (kind, *name) in enumerate(columns(questions, *names)):
        wanted = list(keys(name[0] if name else "", kind, swap=swap, repeats=repeats))
        total += len(wanted)
        first = place * 2 * repeats
        numbers.extend(first + k for k, key in enumerate(wanted) if not name or hash(key) not in done)
    return Todo(questions, repeats, numbers, total)
