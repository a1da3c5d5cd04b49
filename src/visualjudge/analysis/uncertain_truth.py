"""Judges measured against people who disagree: against their label, the estimated truth, and
another person.

The truth of an item is a probability distribution, estimated by a model from the people's answers;
for a person, from the answers of the others. For classes the model is that of Dawid and Skene, for
preferences between two options that of Bradley and Terry with a discrimination parameter per rater.
``label`` is how often the rater gives the most probable answer, ``truth`` the mean probability of
the rater's answers, and ``person`` how often a randomly drawn person gives the same answer; a tie
counts as half of each. A judge should be compared with the mean of the people, each against the
others. Without people, judges are compared with their own panel, which is weaker, because judges
that make the same errors look right. Intervals resample images.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from visualjudge.analysis.people_agreement import Panel
from visualjudge.analysis.rating_table import CHOICE
from visualjudge.analysis.statistics.disagreeing_raters import (
    dawid_skene,
    discrimination,
    rated_pairs,
)
from visualjudge.analysis.statistics.jackknife import LEAST_IMAGES, TAIL
from visualjudge.core.errors import UsageError
from visualjudge.core.records import BoolArray, FloatArray, IntArray
from visualjudge.core.seeding import rng_for

DRAWS = 100
MOST_CLASSES = 50
BOOTSTRAP_STEPS = 20
Against = Literal["people", "panel"]
Model = Literal["Dawid-Skene", "Bradley-Terry"]


@dataclass(frozen=True)
class TruthRow:
    """One rater of one dimension, 0 … 1. ``ends`` is the 95 % interval of ``truth``, None with too
    few images. ``discrimination`` (preferences only) is how well the rater tells better from worse,
    0 for guessing.
    """

    dimension: str
    rater: str
    kind: Literal["judge", "person", "ceiling"]
    against: Against
    items: int
    label: float
    truth: float
    ends: tuple[float, float] | None
    person: float | None
    model: Model = "Dawid-Skene"
    discrimination: float | None = None


@dataclass(frozen=True, eq=False)
class _Labels:
    """Answers (R, N) as classes, −1 for none. ``said`` (R, N, K) is the share of each class in an
    answer; a tie between two options is half of each.
    """

    model: Model
    codes: IntArray
    said: FloatArray

    @property
    def classes(self) -> int:
        return int(self.said.shape[2])


def _labels(panel: Panel, values: FloatArray) -> _Labels:
    flat = panel.scores.reshape(panel.scores.shape[0], -1)
    known, clean = np.isfinite(flat), np.nan_to_num(flat)
    if panel.sources == [CHOICE] and np.isin(values, (0.0, 0.5, 1.0)).all():
        codes = np.where(known & (clean != 0.5), clean, -1).astype(np.int64)
        return _Labels("Bradley-Terry", codes, np.stack([1 - clean, clean], axis=2))
    codes = np.where(known, np.searchsorted(values, clean), -1).astype(np.int64)
    said = np.stack([codes == k for k in range(values.size)], axis=2).astype(float)
    return _Labels("Dawid-Skene", codes, said)


def truth_rows(panel: Panel, seed: int = 0) -> list[TruthRow]:
    """Return every judge and person of a dimension whose ratings are classes, and the mean over
    people.

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
    labels = _labels(panel, values)
    known = np.isfinite(panel.scores).reshape(panel.scores.shape[0], -1)
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
        rows.append(_row(who, labels, int(r), others, known[r], images, seed))
    found = [row for row in rows if row is not None]
    persons = [row for row in found if row.kind == "person"]
    return [*found, *([_ceiling(persons)] if persons else [])]


_Who = tuple[str, str, Literal["judge", "person"], Against]


def _row(
    who: _Who,
    labels: _Labels,
    rater: int,
    others: IntArray,
    known: BoolArray,
    images: IntArray,
    seed: int,
) -> TruthRow | None:
    """Compare one rater with the others; None if none of them rated the same items."""
    told, own = labels.codes[others], labels.said[rater]
    shared = known & (told >= 0).any(0)
    if not shared.any():
        return None
    slope = None
    if labels.model == "Bradley-Terry":
        pairs = rated_pairs(told)
        posterior = np.stack([1 - pairs.better, pairs.better], axis=1)
        slope = discrimination(labels.codes[rater], pairs.on_grid)
        start = pairs.discrimination
    else:
        posterior = start = dawid_skene(told, labels.classes).posterior
    truth = (posterior * own).sum(1)
    place = np.arange(truth.size)
    label = own[place, posterior.argmax(1)][shared].mean()
    met = (told >= 0) & shared
    same = own[np.broadcast_to(place, told.shape)[met], told[met]].mean()
    return TruthRow(
        *who,
        int(shared.sum()),
        float(label),
        float(truth[shared].mean()),
        _ends(told, labels, own, shared, images, start, seed),
        float(same) if who[3] == "people" else None,
        labels.model,
        slope,
    )


def _ends(
    told: IntArray,
    labels: _Labels,
    own: FloatArray,
    shared: BoolArray,
    images: IntArray,
    start: FloatArray,
    seed: int,
) -> tuple[float, float] | None:
    """Return percentiles over resampled images; the model is fitted again for each draw."""
    held, place = np.unique(images, return_inverse=True)
    if np.unique(images[shared]).size < LEAST_IMAGES:
        return None
    rng, found = rng_for(seed, "uncertain truth", held.size), []
    for _ in range(DRAWS):
        drawn = np.bincount(rng.integers(0, held.size, held.size), minlength=held.size)[place]
        weights, counted = drawn.astype(float), drawn * shared
        if not counted.sum():
            continue
        if labels.model == "Bradley-Terry":
            better = rated_pairs(told, weights=weights, start=start, steps=BOOTSTRAP_STEPS).better
            posterior = np.stack([1 - better, better], axis=1)
        else:
            posterior = dawid_skene(
                told, labels.classes, weights=weights, start=start, steps=BOOTSTRAP_STEPS
            ).posterior
        found.append(float((counted * (posterior * own).sum(1)).sum() / counted.sum()))
    low, high = np.quantile(found, [TAIL, 1 - TAIL])
    return float(low), float(high)


def _ceiling(people: Sequence[TruthRow]) -> TruthRow:
    """Return the mean over people of their results against the others."""
    label, truth, person = (
        float(np.mean([getattr(row, name) for row in people]))
        for name in ("label", "truth", "person")
    )
    items = max(row.items for row in people)
    first = people[0]
    return TruthRow(
        first.dimension,
        "people, mean",
        "ceiling",
        "people",
        items,
        label,
        truth,
        None,
        person,
        first.model,
    )
