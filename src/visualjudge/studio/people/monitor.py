"""The state of a study: each rater's progress and checks, whom to remind, and who
agrees."""

import itertools
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from visualjudge.core.jsons import Fields, Json
from visualjudge.core.records import Question
from visualjudge.studio.people.rating_run import Rater

# Idle time after which a rater with remaining questions should be reminded.
IDLE_S = 900.0
# Scores of one question that differ by no more agree.
CLOSE = 1.0


@dataclass(frozen=True, slots=True)
class Measured:
    """A rater's value of a measure and its number of cases; None without cases."""

    value: float | None
    cases: int


@dataclass(frozen=True, slots=True)
class Progress:
    """One rater's row on the overview: the number of answers without practice, of
    questions left, and the seconds since the last answer; and what shows whether the
    rater looks.
    """

    name: str
    answered: int
    left: int
    idle_s: float | None
    known: Measured
    repeats: Measured
    cannot_tell: Measured
    seconds: Measured

    @property
    def ask_again(self) -> bool:
        """Return whether the rater has questions left and has been idle for a while."""
        return self.left > 0 and (self.idle_s is None or self.idle_s > IDLE_S)


def progress(
    rater: Rater,
    left: int,
    question: Callable[[str], Question],
    now: datetime | None = None,
) -> Progress:
    """Return the progress of one rater."""
    lines = rater.lines
    known = [line for line in lines if line["purpose"] == "known"]
    first = {line["id"]: line for line in lines if line["turn"] == 0}
    again = [
        line
        for line in lines
        if line["purpose"] == "repeat" and line["id"] in first
    ]
    counted = [line for line in lines if line["purpose"] != "practice"]
    seconds = [
        line["latency_s"] for line in counted if line["latency_s"] is not None
    ]
    last = max(
        (datetime.fromisoformat(line["answered"]) for line in lines),
        default=None,
    )
    return Progress(
        rater.name,
        rater.counted,
        left,
        None
        if last is None
        else ((now or datetime.now(UTC)) - last).total_seconds(),
        _share(
            [line["value"] == question(line["id"]).answer for line in known]
        ),
        _share(
            [_same(line["value"], first[line["id"]]["value"]) for line in again]
        ),
        _share([line["status"] == "cannot_tell" for line in counted]),
        Measured(statistics.median(seconds) if seconds else None, len(seconds)),
    )


def _share(hits: Sequence[bool]) -> Measured:
    return Measured(sum(hits) / len(hits) if hits else None, len(hits))


def _same(first: Any, other: Any) -> bool:
    """Return whether two answers agree; scores agree within 1, like the tolerance for
    the truth."""
    if isinstance(first, int | float) and isinstance(other, int | float):
        return abs(first - other) <= CLOSE
    return bool(first == other)


# The answers by question id, of each rater or judge.
Answers = Mapping[str, Fields]


def answers_of(raters: Iterable[Rater]) -> dict[str, Json]:
    """Return each rater's answers to ordinary questions."""
    return {
        rater.name: {
            line["id"]: line["value"]
            for line in rater.lines
            if line.get("purpose") == "question" and line["status"] == "ok"
        }
        for rater in raters
    }


def same_answers(
    people: Answers, judges: Answers
) -> list[tuple[str, str, int, int]]:
    """Return for two raters, or a rater and a judge, how many of the questions that
    both answered have the same answer, and their number; pairs without such a question
    are left out.
    """
    pairs = [
        *itertools.combinations(people, 2),
        *itertools.product(people, judges),
    ]
    pairs_compared = []
    for name, other in pairs:
        first = people[name]
        second = {**judges, **people}[other]
        shared = first.keys() & second.keys()
        if shared:
            same = sum(_same(first[name], second[name]) for name in shared)
            pairs_compared.append((name, other, same, len(shared)))
    return pairs_compared


def disagreements(people: Answers) -> dict[str, Json]:
    """Return the questions to which two raters gave different answers, with all of
    them."""
    by_question: dict[str, Json] = {}
    for rater, answers in people.items():
        for name, value in answers.items():
            by_question.setdefault(name, {})[rater] = value
    return {
        name: answers
        for name, answers in by_question.items()
        if not all(
            _same(a, b) for a, b in itertools.combinations(answers.values(), 2)
        )
    }
