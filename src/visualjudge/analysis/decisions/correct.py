"""A leaderboard of sources from many judge verdicts and few labels, next to that of the
judge alone. The estimator is in ``statistics/corrected_means.py``; which items to
label, in ``items_to_label.py``.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import polars as pl

from visualjudge.analysis.decisions.judged_items import (
    MEASURES,
    NOUNS,
    Items,
    items,
    require_sources,
)
from visualjudge.analysis.decisions.label_files import (
    of_kind,
    place,
    read_labels,
)
from visualjudge.analysis.estimate import NORMAL, POWER, norm_isf
from visualjudge.analysis.figure_text import (
    GROUPS_NOTE,
    RANKS_NOTE,
    group_name,
    many,
    number,
    number3,
    percent,
    ranks,
    span3,
)
from visualjudge.analysis.statistics.corrected_means import (
    LEAST_IMAGES,
    PooledMeans,
    pooled_means,
    rank_sets,
)
from visualjudge.analysis.study_table import (
    NO_REMARKS,
    Remarks,
    Study,
    remarks_on,
)
from visualjudge.analysis.table_layout import (
    Column,
    Layout,
    as_named,
    blocks,
    grid,
    named,
)
from visualjudge.core.errors import DataError, Problem, UsageError
from visualjudge.core.records import FloatArray, IntArray
from visualjudge.core.text_tables import Table

Interval = tuple[float, float]
METHOD = "prediction-powered (PPI++), clustered by image"
REACH = NORMAL + float(norm_isf(1 - POWER))
"""Number of standard errors in a gap that is detected at 95 % in four of five
studies."""


@dataclass(frozen=True)
class CorrectedRow:
    """One source: the judge's value (``naive``), the corrected value, and the possible
    ranks.

    ``worth`` is effective labels divided by labels; 1 means that the judge adds
    nothing.
    """

    source: str
    group: str
    """Tasks in which the source is compared; sources of different groups have no common
    order."""
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
    """An assumption behind a figure, and how far the data can check it; ``holds`` is
    None if it cannot be checked.
    """

    assumes: str
    check: str
    holds: bool | None
    p: float | None = None


@dataclass(frozen=True)
class Leaderboard:
    """Sources by group, best first. ``lam`` is the judge's weight, 0 (labels only) to
    1."""

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
    """Total labels at which a difference of ``gap`` would be decided; None if labels
    alone never decide it, or if unknown.
    """
    unlabelled: int = 0
    """Items that could still be labelled."""
    remarks: Remarks = NO_REMARKS

    def _repr_html_(self) -> str:
        return self.table.html()

    def __str__(self) -> str:
        return self.table.text()

    @property
    def table(self) -> Table:
        """The sources, and notes on their figures, the assumptions, and the labels for
        a gap."""
        groups = {row.group for row in self.rows}
        compared = sum(row.labels for row in self.rows) > self.labels
        notes = [
            f"{self.measure.capitalize()} of {many(len(self.rows), 'model')} by {self.judge}, "
            "over questions (on the card, over images).",
            f"{many(self.labels, 'label')}, {many(self.images, 'image')}; λ {self.lam:.2f} is "
            "the weight of the judge’s answers, from 0 to 1.",
            *["Labels: each counts for all models that it compares."]
            * compared,
            RANKS_NOTE,
            *([GROUPS_NOTE] if len(groups) > 1 else []),
        ]
        for why in sorted({row.why for row in self.rows if row.why}):
            names = ", ".join(row.source for row in self.rows if row.why == why)
            notes.append(f"No interval and no ranks: {names} ({why}).")
        doubtful = [row for row in self.assumptions if not row.holds]
        held = [row.check for row in self.assumptions if row.holds]
        if held:
            notes.append(
                f"Assumptions that can be checked hold: {'; '.join(held)}."
            )
        for row in doubtful:
            answer = "not checked" if row.holds is None else "DOES NOT HOLD"
            p = "" if row.p is None else f", p = {row.p:.2g}"
            notes.append(
                f"assumes {row.assumes}; check: {row.check}: {answer}{p}"
            )
        if self.gap is not None:
            notes.append(f"a difference of {self.gap:g}: {_needed(self)}")
        hidden = ["group"] if len(groups) == 1 else []
        return grid(
            CORRECTED,
            self.rows,
            notes=[*notes, *self.remarks.lines],
            keys=2 - len(hidden),
            hidden=hidden,
        )


def _needed(board: Leaderboard) -> str:
    if board.labels_for_gap is not None:
        return f"{board.labels_for_gap} labels in all"
    known = [row.group for row in board.rows if row.corrected is not None]
    if len(set(known)) == len(known):
        return "not known: no two compared models have enough labels"
    return "labels alone do not decide it: more images are needed"


CORRECTED = Layout[CorrectedRow](
    named("group", "Group", group_name, text=True),
    named("source", "Model"),
    named("naive", "By the judge", number3),
    named("corrected", "Corrected", number3),
    Column("ci95", "interval", "95 %", span3),
    named("rank_set", "Ranks", ranks),
    named("labels", "Labels", number),
    Column("label_images", "images"),
    *as_named("why"),
    Column("effective_labels_per_label", "worth"),
)
LEADERBOARD = Layout[Leaderboard](
    blocks("rows", CORRECTED),
    Column("method", lambda _: METHOD),
    Column("lambda", "lam"),
    *as_named(
        "measure", "images", "labels", "unlabelled", "gap", "labels_for_gap"
    ),
    Column("judges", lambda board: [board.judge]),
    Column(
        "assumptions",
        lambda board: [asdict(assumption) for assumption in board.assumptions],
    ),
    Column(
        "problems", lambda board: [str(problem) for problem in board.problems]
    ),
    Column("runs", lambda board: asdict(board.remarks)),
)
"""The result in files."""


def correct_study(
    study: Study,
    labels: str | Path,
    *,
    kind: str | None = None,
    gap: float | None = None,
) -> Leaderboard:
    """Correct the judge's values of each source by the labels of people in ``labels``
    (CSV).

    ``gap`` requests the number of labels that decide such a difference. ``kind``
    selects the labels if they answer questions of several kinds.

    Raises
    ------
    UsageError
        If ``gap`` is no difference of scores.
    DataError
        If the labels cannot be read, or no source has labels on at least 3 images.
    """
    if gap is not None and not 0.001 <= gap <= 10:
        raise UsageError(f"`gap` must be from 0.001 to 10, got {gap}")
    chosen, read = of_kind(read_labels(labels), study, kind)
    scores = chosen == "scoring"
    result = require_sources(items(study, chosen, or_unnamed=scores))
    placed, problems = place(read, result, study)
    means = _means(result, placed, labels, problems)
    known = [means.interval(s) is not None for s in range(len(result.names))]
    sets = rank_sets(
        np.where(known, means.values, np.nan),
        means.covariance,
        means.freedom,
        result.group,
    )
    rows = [_row(result, means, sets[s], s) for s in range(len(result.names))]
    order = sorted(
        rows,
        key=lambda row: (
            row.group,
            row.corrected is None,
            -(row.corrected or 0),
            row.source,
        ),
    )
    labelled = placed.filter(pl.col("y").is_not_null())["item"].n_unique()
    return Leaderboard(
        tuple(order),
        MEASURES[chosen],
        means.lam,
        study.runs[0].name,
        result.rows["image"].n_unique(),
        labelled,
        _assumptions(result, placed, means),
        problems,
        gap,
        None
        if gap is None
        else _labels_for(gap, means, result.group, labelled),
        placed["item"].n_unique() - labelled,
        remarks_on(study.runs),
    )


def _means(
    judged: Items,
    placed: pl.DataFrame,
    labels: str | Path,
    problems: Sequence[Problem],
) -> PooledMeans:
    out = (
        f"; {many(len(problems), 'label')} left out, the first: {problems[0]}"
        if problems
        else ""
    )
    if not placed["y"].count():
        raise DataError(
            f"{labels}: must have labels of {NOUNS[judged.kind]}s that the runs "
            f"judged, got none{out}"
        )
    # where there is no usable reply, the source's mean is a prediction like any other
    answers = pl.col("said").fill_nan(None)
    of_source = answers.mean().over("source")
    filled = (
        answers.fill_null(of_source).fill_null(answers.mean()).fill_null(0.0)
    )
    predictions = judged.rows.select(filled)["said"].to_numpy()
    y, probability = (
        placed[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
        for name in ("y", "probability")
    )
    means = pooled_means(
        predictions,
        y,
        judged["source"],
        judged["image"],
        probability=probability,
        shares=judged.kind != "scoring",
    )
    if not np.isfinite(means.values).any():
        most = int(means.label_images.max())
        raise DataError(
            f"{labels}: a model needs labels on at least {LEAST_IMAGES} "
            f"images, got {most} at most{out}"
        )
    return means


def _row(
    judged: Items, means: PooledMeans, rank_set: tuple[int, int] | None, s: int
) -> CorrectedRow:
    most = 10.0 if judged.kind == "scoring" else 1.0
    interval = means.interval(s)
    known = bool(np.isfinite(means.values[s]))
    few = f"labels on fewer than {LEAST_IMAGES} images"
    why = "all its labels are equal" if known else few
    effective = float(means.effective_labels[s])
    images = int(means.label_images[s])
    answers = judged["said"][judged["source"] == s]
    return CorrectedRow(
        judged.names[s],
        judged.groups[s],
        float(np.nanmean(answers)) if np.isfinite(answers).any() else None,
        float(np.clip(means.values[s], 0, most)) if known else None,
        None
        if interval is None
        else (max(0.0, interval[0]), min(most, interval[1])),
        rank_set,
        int(means.labels[s]),
        images,
        effective / images if images and np.isfinite(effective) else None,
        None if interval else why,
    )


# ------------------------------------------------ assumptions, and the number of labels


def _assumptions(
    judged: Items, placed: pl.DataFrame, means: PooledMeans
) -> tuple[Assumption, ...]:
    nouns = f"{NOUNS[judged.kind]}s"
    labelled = placed.filter(pl.col("y").is_not_null())
    bare = labelled["probability"].null_count()
    chance = f"at random, with equal probability for all {nouns} of a model"
    stated = "with the probabilities of the labels file"
    how = stated if not bare else chance
    if 0 < bare < labelled.height:
        how = f"{stated}, and the {bare} without one {chance}"
    drawn = Assumption(
        f"the labelled {nouns} were chosen {how}",
        f"the judge answers on the labelled {nouns} as on all",
        None if means.balance_p is None else means.balance_p >= 0.01,
        means.balance_p,
    )
    few = int(means.label_images[np.isfinite(means.values)].min())
    enough = Assumption(
        "errors are near normal",
        "each model has labels on at least 10 images",
        few >= 10,
    )
    absent = float(np.isnan(judged["said"]).mean())
    replies = Assumption(
        f"nothing about missing replies: {nouns} without a usable reply count as the "
        "mean of their model",
        f"{percent(absent)} of the {nouns} have no usable reply (left out of By the judge)"
        if absent
        else f"all {nouns} have a usable reply",
        True if absent == 0 else None,
    )
    return drawn, enough, replies


def _labels_for(
    gap: float, means: PooledMeans, group: IntArray, labels: int
) -> int | None:
    """Return the total labels at which the typical difference of two comparable sources
    has a standard error of ``gap`` / 2.8.

    None if no number of labels is enough, or no two sources of a group have a corrected
    mean.
    """
    known = np.isfinite(means.values)
    alike = np.outer(known, known) & (group == group[:, None])
    first, second = np.nonzero(np.triu(alike, 1))
    if not first.size:
        return None

    def of_difference(matrix: FloatArray) -> float:
        return float(
            np.median(
                matrix[first, first]
                + matrix[second, second]
                - 2 * matrix[first, second]
            )
        )

    shrinking = of_difference(means.label_covariance)
    fixed = max(0.0, of_difference(means.covariance) - shrinking)
    room = (gap / REACH) ** 2 - fixed
    return int(np.ceil(labels * shrinking / room)) if room > 0 else None
