"""Where people disagree, against what is a judge measured? Label, truth, and a fresh person.

The truth of an item is what Dawid and Skene's model says of it from the people's answers, as
probabilities; of a person, from the answers of the others. ``label``: how often the rater gives the
most probable answer; ``truth``: the mean probability of the rater's answers; ``person``: how often
a person drawn at random says the same. The mean of the people, each against the others, is what a
judge is to be compared with. Without people the judges are held against their own panel, which is
weaker: judges who err alike look right. Intervals resample images.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from visualjudge.analysis.people_agreement import Panel
from visualjudge.analysis.statistics.dawid_skene import dawid_skene
from visualjudge.analysis.statistics.jackknife import LEAST_IMAGES, TAIL
from visualjudge.core.errors import UsageError
from visualjudge.core.records import BoolArray, FloatArray, IntArray
from visualjudge.core.seeding import rng_for

DRAWS = 100
MOST_CLASSES = 50
Against = Literal["people", "panel"]


@dataclass(frozen=True)
class TruthRow:
    """One rater of one dimension, 0 … 1; ``ends``: 95 % of ``truth``, None on few images."""

    dimension: str
    rater: str
    kind: Literal["judge", "person", "ceiling"]
    against: Against
    items: int
    label: float
    truth: float
    ends: tuple[float, float] | None
    person: float | None


def truth_rows(panel: Panel, seed: int = 0) -> list[TruthRow]:
    """Every judge and person of a dimension whose ratings are classes, and the mean over people.

    Raises
    ------
    UsageError
        If there are fewer than 2 people and fewer than 3 judges, or more than 50 different answers.
    """
    values = np.unique(panel.scores[np.isfinite(panel.scores)])
    if values.size > MOST_CLASSES:
        raise UsageError(
            f"--truth must have at most {MOST_CLASSES} different answers, got {values.size}"
        )
    flat = panel.scores.reshape(panel.scores.shape[0], -1)
    codes = np.where(np.isfinite(flat), np.searchsorted(values, np.nan_to_num(flat)), -1)
    labels = np.asarray(codes, dtype=np.int64)
    images = np.repeat(panel.images, panel.scores.shape[2])
    people, judges = (np.flatnonzero(is_one) for is_one in (~panel.is_judge, panel.is_judge))
    if people.size < 2 and judges.size < 3:
        raise UsageError(
            f"{panel.dimension}: --truth needs at least 2 people, or 3 judges without people"
        )
    against: Against = "people" if people.size > 1 else "panel"
    raters = people if against == "people" else judges
    rows = []
    for r in [*judges, *people] if against == "people" else raters:
        others = raters[raters != r]
        kind: Literal["judge", "person"] = "judge" if panel.is_judge[r] else "person"
        who = (panel.dimension, panel.raters[r], kind, against)
        rows.append(_row(who, labels[r], labels[others], int(values.size), images, seed))
    found = [row for row in rows if row is not None]
    persons = [row for row in found if row.kind == "person"]
    return [*found, *([_ceiling(persons)] if persons else [])]


_Who = tuple[str, str, Literal["judge", "person"], Against]


def _row(
    who: _Who, own: IntArray, others: IntArray, classes: int, images: IntArray, seed: int
) -> TruthRow | None:
    """One rater against the others; None where none of them rated what it rated."""
    shared = (own >= 0) & (others >= 0).any(0)
    if not shared.any():
        return None
    fit = dawid_skene(others, classes)
    truth = fit.posterior[np.arange(own.size), np.maximum(own, 0)]
    told = others[:, shared] >= 0
    same = ((others[:, shared] == own[shared]) & told).sum() / told.sum()
    ends = _ends(others, classes, own, shared, images, fit.posterior, seed)
    label = (fit.posterior.argmax(1) == own)[shared].mean()
    person = float(same) if who[3] == "people" else None
    return TruthRow(
        *who, int(shared.sum()), float(label), float(truth[shared].mean()), ends, person
    )


def _ends(
    others: IntArray,
    classes: int,
    own: IntArray,
    shared: BoolArray,
    images: IntArray,
    start: FloatArray,
    seed: int,
) -> tuple[float, float] | None:
    """Percentiles over resampled images; each draw fits the model again."""
    held, place = np.unique(images, return_inverse=True)
    if np.unique(images[shared]).size < LEAST_IMAGES:
        return None
    rng, found = rng_for(seed, "uncertain truth", held.size), []
    for _ in range(DRAWS):
        weights = np.bincount(rng.integers(0, held.size, held.size), minlength=held.size)[place]
        counted = weights * shared
        if not counted.sum():
            continue
        fit = dawid_skene(others, classes, weights=weights.astype(float), start=start, steps=20)
        truth = fit.posterior[np.arange(own.size), np.maximum(own, 0)]
        found.append(float((counted * truth).sum() / counted.sum()))
    low, high = np.quantile(found, [TAIL, 1 - TAIL])
    return float(low), float(high)


def _ceiling(people: Sequence[TruthRow]) -> TruthRow:
    """The mean over people: how well each does against the others."""
    label, truth, person = (
        float(np.mean([getattr(row, name) for row in people]))
        for name in ("label", "truth", "person")
    )
    items = max(row.items for row in people)
    return TruthRow(
        people[0].dimension, "people, mean", "ceiling", "people", items, label, truth, None, person
    )
