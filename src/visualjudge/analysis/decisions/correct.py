"""A leaderboard of sources from many judge verdicts and few labels, next to that of the judge
alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from visualjudge.analysis.decisions.judged_items import (
    NOUNS,
    RANGES,
    Items,
    items,
    require_sources,
)
from visualjudge.analysis.decisions.label_files import Placed, of_kind, place, read_labels
from visualjudge.analysis.figure_text import many, percent
from visualjudge.analysis.load import load_study
from visualjudge.analysis.statistics import (
    PooledMeans,
    pooled_means,
    rank_sets,
)
from visualjudge.analysis.study_table import NO_REMARKS, Remarks, Study, remarks_on
from visualjudge.core.errors import DataError, Problem
from visualjudge.core.records import FloatArray, IntArray

Interval = tuple[float, float]
METHOD = "prediction-powered (PPI++), clustered by image"
LEAST_LABELLED_IMAGES = 3
REACH = 1.96 + 0.84
"""Number of standard errors in a gap that is detected at 95 % in four of five studies."""


@dataclass(frozen=True)
class CorrectedRow:
    """One source: the judge's value (``naive``), the corrected value, and the possible ranks.

    ``worth`` is effective labels divided by labels; 1 means that the judge adds nothing.
    """

    source: str
    group: str
    """Tasks in which the source is compared; sources of different groups have no common order."""
    naive: float | None
    corrected: float | None
    interval: Interval | None
    rank_set: tuple[int, int] | None
    labels: int
    images: int
    worth: float | None = None
    why: str | None = None
    """Why there is no interval and no rank set."""


@dataclass(frozen=True)
class Assumption:
    """An assumption behind a figure, and how far the data can check it; ``holds`` is None if it
    cannot be checked.
    """

    assumes: str
    check: str
    holds: bool | None
    p: float | None = None


@dataclass(frozen=True)
class Leaderboard:
    """Sources by group, best first. ``lam`` is the judge's weight, 0 (labels only) to 1."""

    rows: tuple[CorrectedRow, ...]
    measure: str
    lam: float
    judge: str
    images: int
    labels: int
    assumptions: tuple[Assumption, ...]
    problems: tuple[Problem, ...] = ()
    gap: float | None = None
    labels_for_gap: int | None = None
    """Total labels at which a difference of ``gap`` would be decided; None if labels alone never
    decide it, or if unknown.
    """
    unlabelled: int = 0
    """Items that could still be labelled."""
    remarks: Remarks = NO_REMARKS

    def _repr_html_(self) -> str:
        from visualjudge.analysis.decisions.decision_tables import leaderboard_table

        return leaderboard_table(self).html()

    def __str__(self) -> str:
        from visualjudge.analysis.decisions.decision_tables import leaderboard_table

        return leaderboard_table(self).text()


def correct(
    run: str | Path,
    labels: str | Path,
    *,
    kind: str | None = None,
    dataset: str | Path | None = None,
    gap: float | None = None,
) -> Leaderboard:
    """Correct the judge's values of each source in ``run`` by the labels of people in ``labels``
    (CSV).

    ``gap`` requests the number of labels that
    decide such a difference. ``kind`` selects the labels if they answer questions of several kinds.

    Raises
    ------
    DataError
        If a run or the labels cannot be read, or no source has labels on at least 3 images.
    """
    return correct_study(load_study([run], dataset=dataset), labels, kind=kind, gap=gap)


def correct_study(
    study: Study, labels: str | Path, *, kind: str | None = None, gap: float | None = None
) -> Leaderboard:
    """Run :func:`correct` on runs in memory."""
    chosen, read = of_kind(read_labels(labels), study, kind)
    found = require_sources(items(study, chosen))
    placed = place(read, found, study, str(labels))
    problems = (*read.problems, *placed.problems)
    means = _means(found, placed, labels, problems)
    reasons = [_why_open(means, s) for s in range(len(found.names))]
    told = np.array([reason is None for reason in reasons])
    sets = rank_sets(
        np.where(told, means.values, np.nan), means.covariance, means.freedom, found.group
    )
    rows = [replace(_row(found, means, sets, s), why=reason) for s, reason in enumerate(reasons)]
    order = sorted(
        rows, key=lambda row: (row.group, row.corrected is None, -(row.corrected or 0), row.source)
    )
    labelled = found.item.filter(pl.Series(np.isfinite(placed.y))).n_unique()
    return Leaderboard(
        tuple(order),
        found.measure,
        means.lam,
        study.runs[0].name,
        found.images,
        labelled,
        _assumptions(found, placed, means),
        problems,
        gap,
        None if gap is None else _labels_for(gap, means, found.group, labelled),
        found.item.n_unique() - labelled,
        remarks_on(study.runs),
    )


def _means(
    found: Items, placed: Placed, labels: str | Path, problems: Sequence[Problem]
) -> PooledMeans:
    out = f"; {many(len(problems), 'label')} left out, the first: {problems[0]}" if problems else ""
    if not np.isfinite(placed.y).any():
        raise DataError(
            f"{labels}: must have labels of {NOUNS[found.kind]}s that the runs judged, got "
            f"none{out}"
        )
    means = pooled_means(
        found.filled(), placed.y, found.source, found.image, probability=placed.probability
    )
    if not np.isfinite(means.values).any():
        most = int(means.label_images.max())
        raise DataError(
            f"{labels}: a source needs labels on at least {LEAST_LABELLED_IMAGES} "
            f"images, got {most} at most{out}"
        )
    return means


def _why_open(means: PooledMeans, s: int) -> str | None:
    """Explain why a source has no interval; None if it has one."""
    if not np.isfinite(means.values[s]):
        return f"labels on fewer than {LEAST_LABELLED_IMAGES} images"
    return "all its labels are equal" if means.interval(s) is None else None


def _row(
    found: Items, means: PooledMeans, sets: Sequence[tuple[int, int] | None], s: int
) -> CorrectedRow:
    low, high = RANGES[found.kind]
    interval = means.interval(s)
    effective, images = float(means.effective_labels[s]), int(means.label_images[s])
    said = found.said[found.source == s]
    return CorrectedRow(
        found.names[s],
        found.groups[s],
        float(np.nanmean(said)) if np.isfinite(said).any() else None,
        float(np.clip(means.values[s], low, high)) if np.isfinite(means.values[s]) else None,
        None if interval is None else (max(low, interval[0]), min(high, interval[1])),
        sets[s],
        int(means.labels[s]),
        images,
        effective / images if images and np.isfinite(effective) else None,
    )


# ------------------------------------------------ assumptions, and the number of labels


def _assumptions(found: Items, placed: Placed, means: PooledMeans) -> tuple[Assumption, ...]:
    labelled, nouns = np.isfinite(placed.y), f"{NOUNS[found.kind]}s"
    told = bool(np.isfinite(placed.probability[labelled]).all())
    how = (
        "with the probabilities of the labels file"
        if told
        else f"at random, with equal probability for all {nouns} of a source"
    )
    drawn = Assumption(
        f"the labelled {nouns} were chosen {how}",
        f"the judge answers on the labelled {nouns} as on all",
        None if means.balance_p is None else means.balance_p >= 0.01,
        means.balance_p,
    )
    few = int(means.label_images[np.isfinite(means.values)].min())
    enough = Assumption(
        "errors are near normal",
        "each source has labels on at least 10 images",
        few >= 10,
    )
    absent = float((~np.isfinite(found.said)).mean())
    replies = Assumption(
        f"nothing about missing replies: {nouns} without a usable reply count as the mean of their "
        "source",
        f"{percent(absent)} of the {nouns} have no usable reply; the naive figure leaves them out",
        True if absent == 0 else None,
    )
    return drawn, enough, replies


def _labels_for(gap: float, means: PooledMeans, group: IntArray, labels: int) -> int | None:
    """Return the total labels at which the typical difference of two comparable sources has a
    standard error of ``gap`` / 2.8.

    None if no number of labels is enough, or no two sources of a group have a corrected mean.
    """
    known = np.flatnonzero(np.isfinite(means.values))
    first, second = (known[side] for side in np.triu_indices(known.size, 1))
    same = group[first] == group[second]
    if not same.any():
        return None
    first, second = first[same], second[same]

    def of_difference(matrix: FloatArray) -> float:
        return float(
            np.median(matrix[first, first] + matrix[second, second] - 2 * matrix[first, second])
        )

    shrinking = of_difference(means.label_covariance)
    fixed = max(0.0, of_difference(means.covariance) - shrinking)
    room = (gap / REACH) ** 2 - fixed
    return int(np.ceil(labels * shrinking / room)) if room > 0 else None
