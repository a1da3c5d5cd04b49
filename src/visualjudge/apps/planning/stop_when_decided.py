"""`judge --until`: ask about images in random order, and check regularly whether the question is
decided.

Looks are anytime-valid (:mod:`visualjudge.analysis.statistics.eprocess`): however often one looks,
the decision is wrong with a probability of at most 5 %, provided that images are a random sample of
all possible ones. A look uses the images whose questions all have a verdict, up to the first
incomplete one.

``right decided`` compares the accuracy with the card's threshold. ``rank decided`` requires that
the judge's win rates separate every two sources, on images that show both. A wrong order has a
wrong pair among the S − 1 neighbours in the true order, so each pair is tested at 5 % / (S − 1).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeVar, get_args

import numpy as np

from visualjudge.analysis.decisions.checks import read_thresholds
from visualjudge.analysis.statistics.eprocess import signs
from visualjudge.core.errors import UsageError
from visualjudge.core.records import FloatArray, Question, Verdict
from visualjudge.core.seeding import rng_for
from visualjudge.dataset.folder import Dataset
from visualjudge.judges.base import ORDERS, Key
from visualjudge.runs.folder import RunFolder
from visualjudge.runs.job_runner import Listener, Progress, Stop

Until = Literal["right decided", "rank decided"]
ALPHA = 0.05
Result = TypeVar("Result")
Verdicts = Mapping[Key, Verdict]


@dataclass(frozen=True)
class Decision:
    """The decision in words, and the number of images it took."""

    said: str
    images: int


def in_random_order(dataset: Dataset, seed: int = 42) -> Dataset:
    """Return the pairwise questions by image, with the images in random order.

    Raises
    ------
    UsageError
        If there are no pairwise questions, or they are of several tasks.
    """
    pairwise = [one for one in dataset.questions if one.question_type == "pairwise"]
    tasks = sorted({one.task for one in pairwise})
    if len(tasks) != 1:
        named = ", ".join(tasks) or "no pairwise question"
        raise UsageError(f"--until needs pairwise questions of one task (--task), got {named}")
    if dataset.without_truth:
        raise UsageError(f"--until needs right answers, which {dataset.root} does not hold")
    names = sorted({one.image_id for one in pairwise})
    place = dict(zip(names, rng_for(seed, "until").permutation(len(names)).tolist(), strict=True))
    ordered = sorted(pairwise, key=lambda one: (place[one.image_id], one.id))
    return replace(dataset, questions=tuple(ordered))


def decide(
    questions: Sequence[Question], verdicts: Verdicts, until: Until, *, swap: bool, repeats: int
) -> Decision | None:
    """Return what the verdicts so far decide, or None; ``questions`` are in the order in which they
    are asked.
    """
    asks = [(order, k) for order in ORDERS[: 1 + swap] for k in range(repeats)]
    images: dict[str, list[Question]] = defaultdict(list)
    for one in questions:
        images[one.image_id].append(one)
    complete: list[tuple[list[Question], list[list[Verdict]]]] = []
    for own in images.values():
        told = [[verdicts.get((one.id, *ask)) for ask in asks] for one in own]
        if any(verdict is None for row in told for verdict in row):
            break
        complete.append((own, [[v for v in row if v is not None] for row in told]))
    if not complete:
        return None
    if until == "right decided":
        most = max(len(own) for own in images.values()) * len(asks)
        return _right(complete, most)
    return _rank(complete, sorted({name for one in questions for name in one.sources if name}))


_Complete = Sequence[tuple[list[Question], list[list[Verdict]]]]


def _right(complete: _Complete, most: int) -> Decision | None:
    limit = read_thresholds().checks["macro_accuracy"].value
    right = np.array(
        [
            sum(
                v.status == "ok" and v.value == one.answer
                for one, row in zip(own, told, strict=True)
                for v in row
            )
            for own, told in complete
        ],
        dtype=float,
    )
    asked = np.array([sum(map(len, told)) for _, told in complete], dtype=float)
    side = signs((right - limit * asked)[:, None], (-limit * most, (1 - limit) * most), ALPHA)[0]
    if not side:
        return None
    word = "above" if side > 0 else "below"
    share = right.sum() / asked.sum()
    seen = f"{100 * share:.0f} % of {asked.sum():.0f} verdicts"
    said = f"right decided: the share right is {word} {limit:g} ({seen})"
    return Decision(said, len(complete))


def _rank(complete: _Complete, sources: Sequence[str]) -> Decision | None:
    if len(sources) < 2:
        raise UsageError("--until 'rank decided' needs questions that name at least 2 sources")
    rates = np.array([_win_rates(own, told, sources) for own, told in complete])
    first, second = np.triu_indices(len(sources), 1)
    found = signs(rates[:, first] - rates[:, second], (-1.0, 1.0), ALPHA / (len(sources) - 1))
    if not found.all():
        return None
    wins = np.zeros(len(sources))
    np.add.at(wins, np.where(found > 0, first, second), 1)
    order = np.argsort(-wins, kind="stable")
    if len(set(wins.tolist())) < len(sources):  # a cycle is not an order
        return None
    return Decision("rank decided: " + " > ".join(sources[k] for k in order), len(complete))


def _win_rates(
    own: Sequence[Question], told: Sequence[Sequence[Verdict]], sources: Sequence[str]
) -> FloatArray:
    """Return each source's share of won comparisons on one image; NaN without comparisons."""
    place = {name: k for k, name in enumerate(sources)}
    won, met = np.zeros(len(sources)), np.zeros(len(sources))
    for one, row in zip(own, told, strict=True):
        a, b = (place.get(str(name), -1) for name in one.sources)
        if a < 0 or b < 0 or a == b:
            continue
        for verdict in row:
            if verdict.status != "ok":
                continue
            said = {"A": 1.0, "B": 0.0}.get(str(verdict.value), 0.5)
            won[[a, b]] += said, 1 - said
            met[[a, b]] += 1
    return np.asarray(np.divide(won, met, out=np.full(len(sources), np.nan), where=met > 0))


@dataclass
class Watch:
    """Checks a run after every ``every`` verdicts, and asks it to stop once the question is
    decided.
    """

    dataset: Dataset
    out: Path
    until: Until
    every: int
    swap: bool
    repeats: int
    decision: Decision | None = None
    _looked: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        if self.until not in get_args(Until):
            raise UsageError(
                f"--until must be one of {', '.join(get_args(Until))}, got {self.until}"
            )

    def around(self, calls: Callable[..., Awaitable[Result]]) -> Callable[..., Awaitable[Result]]:
        """Return ``calls(on_event=listener, stop=stop)`` with checks in between."""

        async def watched(on_event: Listener, stop: Stop) -> Result:
            def told(progress: Progress) -> None:
                on_event(progress)
                if self.decision is None and progress.done - self._looked >= self.every:
                    self._looked = progress.done
                    self.decision = self.look()
                    if self.decision is not None:
                        stop.request(self.decision.said)

            return await calls(on_event=told, stop=stop)

        return watched

    def look(self) -> Decision | None:
        """Check once."""
        verdicts = RunFolder(self.out).verdicts()
        asked = self.dataset.questions
        return decide(asked, verdicts, self.until, swap=self.swap, repeats=self.repeats)
