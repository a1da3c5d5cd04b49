"""The state of a study: each rater's pace and checks, whom to remind, and agreement between
raters.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from visualjudge.core.answers import CLOSE, is_right
from visualjudge.core.records import Question, QuestionType
from visualjudge.runs.verdicts import verdict_of
from visualjudge.studio.people.plan import Measure, Measured, Plan
from visualjudge.studio.people.rating_run import Rater

if TYPE_CHECKING:
    from visualjudge.analysis.statistics.alpha import Level

IDLE_S = 900.0
"""Idle time after which a rater with remaining questions should be reminded."""
PACE_OVER = 20
"""Number of recent answers used for the pace."""


@dataclass(frozen=True, slots=True)
class Progress:
    """One rater's row on the overview.

    Attributes
    ----------
    per_hour
        Recent answers per hour.
    idle_s
        Seconds since the last answer.
    """

    name: str
    answered: int
    left: int
    measured: Mapping[Measure, Measured]
    per_hour: float | None
    idle_s: float | None

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
    measured = _measured(rater.lines, question)
    times = [time for line in rater.lines if (time := _time(line)) is not None]
    last = sorted(times)[-PACE_OVER:]
    spent = (last[-1] - last[0]).total_seconds() if len(last) > 1 else 0.0
    return Progress(
        name=rater.name,
        answered=rater.counted,
        left=left,
        measured=measured,
        per_hour=3600 * (len(last) - 1) / spent if spent > 0 else None,
        idle_s=max(0.0, ((now or datetime.now(UTC)) - last[-1]).total_seconds()) if last else None,
    )


def _measured(
    lines: Sequence[Mapping[str, Any]], question: Callable[[str], Question]
) -> dict[Measure, Measured]:
    known = [line for line in lines if line.get("purpose") == "known"]
    first = {line["id"]: line for line in lines if line.get("turn") == 0}
    again = [line for line in lines if line.get("purpose") == "repeat" and line["id"] in first]
    counted = [line for line in lines if line.get("purpose") != "practice"]
    seconds = [
        line["latency_s"] for line in counted if isinstance(line.get("latency_s"), int | float)
    ]
    right = [is_right(question(line["id"]), verdict_of(line)) for line in known]
    same = [_same(line["value"], first[line["id"]]["value"]) for line in again]
    unsure = [line["status"] == "cannot_tell" for line in counted]
    return {
        "known": _share(right),
        "repeats": _share(same),
        "cannot_tell": _share(unsure),
        "seconds": Measured(statistics.median(seconds) if seconds else None, len(seconds)),
    }


def _share(hits: Sequence[bool]) -> Measured:
    return Measured(sum(hits) / len(hits) if hits else None, len(hits))


def _same(one: Any, other: Any) -> bool:
    """Return whether two answers agree; scores agree within 1, like the tolerance for the truth."""
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) <= CLOSE
    return bool(one == other)


def _time(line: Mapping[str, Any]) -> datetime | None:
    try:
        return datetime.fromisoformat(str(line.get("answered")))
    except ValueError:
        return None


LEVELS: Mapping[QuestionType, Level] = {
    "pairwise": "nominal",
    "ranking": "ordinal",
    "scoring": "interval",
}
"""The level of α, as in ``visualjudge agreement``."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Krippendorff's α of one question type; None if no two raters share a question, or all answers
    are equal. Of a ranking, the rated unit is an option and its rating the place.

    Attributes
    ----------
    shared
        Number of questions answered by at least two raters.
    """

    kind: QuestionType
    level: Level
    alpha: float | None
    shared: int


def agreement(raters: Iterable[Rater], plan: Plan) -> list[Agreement]:
    """Compute agreement on ordinary questions of all tasks."""
    from visualjudge.analysis.statistics.alpha import alpha  # loads the analysis

    people = answers_of(raters)
    names = list(people)
    units: dict[QuestionType, dict[tuple[str, str], NDArray[np.float64]]] = {}
    for rater, answers in people.items():
        for identity, value in answers.items():
            kind = plan.by_id[identity].type
            for part, number in _ratings(kind, value):
                held = units.setdefault(kind, {})
                blank = np.full(len(names), np.nan)
                held.setdefault((identity, part), blank)[names.index(rater)] = number
    found = []
    for kind, held in units.items():
        table = np.array(list(held.values())).T
        several = np.isfinite(table).sum(0) > 1
        shared = len({name for (name, _), many in zip(held, several, strict=True) if many})
        measured = alpha(table, LEVELS[kind]) if shared else None
        found.append(Agreement(kind, LEVELS[kind], measured, shared))
    return found


def _ratings(kind: QuestionType, value: Any) -> list[tuple[str, float]]:
    """Return an answer as numbers: the code of a choice, a score, or the place of each option;
    nothing for an answer of another kind, which no study wrote.
    """
    if kind == "scoring":
        return [("", float(value))] if isinstance(value, int | float) else []
    if not value or not isinstance(value, str):
        return []
    if kind == "ranking":
        return [(letter, float(place)) for place, letter in enumerate(value)]
    return [("", float(ord(value[0])))]


@dataclass(frozen=True, slots=True)
class Same:
    """How often two raters, or a rater and a judge, gave the same answer to the same question."""

    one: str
    other: str
    same: int
    shared: int


Answers = Mapping[str, Mapping[str, Any]]
"""The answers by question id, of each rater or judge."""


def answers_of(raters: Iterable[Rater]) -> dict[str, dict[str, Any]]:
    """Return each rater's answers to ordinary questions."""
    return {
        rater.name: {
            line["id"]: line["value"]
            for line in rater.lines
            if line.get("purpose") == "question" and line["status"] == "ok"
        }
        for rater in raters
    }


def same_answers(people: Answers, judges: Answers) -> list[Same]:
    """Compare raters with each other, then with each judge; pairs without a shared question are
    left out.
    """
    pairs = [*itertools.combinations(people, 2), *itertools.product(people, judges)]
    found = []
    for one, other in pairs:
        first, second = people[one], {**judges, **people}[other]
        shared = first.keys() & second.keys()
        if shared:
            same = sum(_same(first[name], second[name]) for name in shared)
            found.append(Same(one, other, same, len(shared)))
    return found


def disagreements(people: Answers) -> dict[str, dict[str, Any]]:
    """Return the questions to which two raters gave different answers, with all of them."""
    given: dict[str, dict[str, Any]] = {}
    for rater, answers in people.items():
        for name, value in answers.items():
            given.setdefault(name, {})[rater] = value
    return {
        name: told
        for name, told in given.items()
        if not all(_same(a, b) for a, b in itertools.combinations(told.values(), 2))
    }


def answer_row(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer as a table row."""
    names = ("rater", "id", "purpose", "turn", "shown", "status", "latency_s", "answered", "note")
    said = str(line["value"]) if line["status"] == "ok" else None
    return {name: line.get(name) for name in names} | {"answer": said}


def rater_row(rater: Progress) -> dict[str, Any]:
    """Return a rater as a table row: shares with their numbers of cases."""
    row = {"rater": rater.name, "answered": rater.answered, "left": rater.left}
    for measure, found in rater.measured.items():
        row |= {measure: found.value, f"{measure}_cases": found.cases}
    return row | {"per_hour": rater.per_hour, "idle_s": rater.idle_s}
