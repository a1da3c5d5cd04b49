"""A lock of scoring questions: the judge's scores, and whether they are still as close
to the truth. Pairs are in ``lock.py`` and ``check.py``.

Two figures are compared question by question, with images as the unit: the mean
absolute difference from the true scores, and the rank correlation with them. The gate
is broken if one of them is worse beyond chance (one-sided, 1.5 % for both together) by
more than half of the tolerance, and holds if a loss of the tolerance is excluded of
both (one-sided, 95 %). A tolerance of .1 is 1 point of the mean difference and .1 of
the correlation. A failed reply counts as the farthest score.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from visualjudge import __version__
from visualjudge.analysis.estimate import Spread, ratio, spread, sums, t_isf
from visualjudge.analysis.report.card import card_of
from visualjudge.analysis.results import Analysis
from visualjudge.analysis.statistics.correlation import (
    left_out,
    weighted_spearman,
)
from visualjudge.analysis.statistics.score_agreement import image_groups
from visualjudge.apps.gate.check import (
    EXCLUDED,
    LEAST_IMAGES,
    WORSE,
    Check,
    State,
    not_comparable,
    unless_calls_failed,
)
from visualjudge.apps.gate.lock import (
    NOT_A_LOCK,
    Lock,
    Locked,
    identity_of,
    questions_of,
    validated,
)
from visualjudge.core.errors import DataError
from visualjudge.core.records import FloatArray, IntArray
from visualjudge.core.yamls import read_yaml
from visualjudge.dataset.folder import Dataset
from visualjudge.runs.folder import RunFolder

FORMAT = "visualjudge gate of scores 1"
TOP = 10.0


@dataclass(frozen=True)
class ScoreLock(Locked):
    """The content of a lock of scores: ``scores`` are the means of the usable replies
    to each question, in the order of their ids; None where none was usable.
    """

    form = FORMAT
    scores: list[float | None]


def read_lock(path: Path) -> Lock | ScoreLock:
    """Read a lock file, of pairs or of scores.

    Raises
    ------
    DataError
        If the file cannot be read, is not a lock file, or is not as it was written.
    """
    content = read_yaml(path)
    stated = content.pop("format", None) if isinstance(content, dict) else None
    if stated == FORMAT:
        return validated(ScoreLock, content, path)
    if stated == Lock.form:
        return validated(Lock, content, path)
    raise DataError(f"{path}: {NOT_A_LOCK}: format must be {Lock.form!r}")


def scored(analysis: Analysis) -> pl.DataFrame:
    """Return the scoring questions of a study's first run with a true score: ``id``,
    ``image``, ``truth``, the mean ``score`` (null without a usable reply), and the
    number of replies ``asks``; sorted by id. Empty if it has none.
    """
    run = analysis.study.joined[0]
    table = run.filter(
        (pl.col("kind") == "scoring") & pl.col("truth").is_not_null()
    )
    ids = analysis.study.questions.select("question", "id")
    usable = pl.when("usable").then("number")
    return (
        table.group_by("question")
        .agg(
            pl.col("image").first().cast(pl.String),
            pl.col("truth").first().cast(pl.Float64),
            score=usable.mean(),
            asks=pl.len(),
        )
        .join(ids, on="question")
        .sort("id")
    )


def score_lock_of(
    analysis: Analysis, folder: Path, dataset: Dataset
) -> ScoreLock | None:
    """Return the lock of a finished run of scores; None if it has no scoring questions.

    Raises
    ------
    DataError
        If the run is unfinished.
    """
    table = scored(analysis)
    if table.is_empty():
        return None
    if analysis.study.runs[0].unfinished or table["asks"].n_unique() > 1:
        raise DataError(
            f"{folder}: must be a finished run; `resume` of judge goes on"
        )
    return ScoreLock(
        __version__,
        identity_of(RunFolder(folder)),
        questions_of(dataset, table["id"]),
        card_of(analysis).judges[0].models.word,
        int(table["asks"][0]),
        table["score"].round(4).to_list(),
    )


def check_scores(
    lock: ScoreLock, analysis: Analysis, dataset: Dataset, tolerance: float
) -> Check:
    """Check a finished run of all questions of the lock."""
    table = scored(analysis)
    if cause := not_comparable(lock, lock.asks, analysis, dataset, table):
        return cause
    return unless_calls_failed(
        analysis,
        compared_scores(
            table.with_columns(
                pl.Series("before", lock.scores, dtype=pl.Float64)
            ),
            tolerance,
        ),
    )


def compared_scores(table: pl.DataFrame, tolerance: float) -> Check:
    """Compare scores ``before`` and now (``score``) with the ``truth``, by
    ``image``."""
    truth, before, now = (
        table[name].to_numpy().astype(float)
        for name in ("truth", "before", "score")
    )
    groups = image_groups(
        table["image"].rank("dense").to_numpy().astype(np.int64)
    )
    images = int(groups.max()) + 1
    moved = (
        float(np.nanmean(np.abs(now - before)))
        if np.isfinite(now).any()
        else TOP
    )
    about = (
        f"scores differ by {moved:.2f} points on average on {table.height} "
        "questions"
    )
    if images >= LEAST_IMAGES and np.array_equal(before, now, equal_nan=True):
        return Check(
            "holds",
            (f"{about}: no question has another score",),
            0.0,
            0.0,
            0.0,
        )
    cost = _error(now, truth) - _error(before, truth)
    cases = sums(groups, np.ones(groups.size), images)
    nearer = ratio(sums(groups, -cost, images), cases)
    order = _order_change(before, now, truth, groups)
    reasons = [about]
    states: list[State] = []
    named = (
        ("their mean error", -1.0, nearer, tolerance * TOP),
        ("their rank correlation with the truth", 1.0, order, tolerance),
    )
    for name, sign, (value, result), allowed in named:
        change = float(value[0])
        error = float(np.sqrt(result.variance[0]))
        freedom = float(result.df[0])
        best = change + float(t_isf(WORSE / 2, freedom)) * error
        worst = change - float(t_isf(EXCLUDED, freedom)) * error
        own: State = "can't tell"
        if best < 0 and change < -allowed / 2:
            own = "broken"
        elif worst > -allowed and images >= LEAST_IMAGES:
            own = "holds"
        states.append(own)
        text = {
            "broken": "worse beyond chance",
            "holds": f"a loss of {allowed:g} is excluded",
        }.get(own, f"a loss of {allowed:g} cannot be excluded")
        changed = (
            f"changed by {round(sign * change, 2) + 0.0:+.2f}: {text}"
            if np.isfinite(change)
            else "is not known: too few scores, or all are alike"
        )
        reasons.append(f"{name} {changed}")
    state = min(states, key=("broken", "can't tell", "holds").index)
    return Check(state, tuple(reasons))


def _error(score: FloatArray, truth: FloatArray) -> FloatArray:
    """Return how far scores are from the truth; without one, the farthest."""
    return np.where(
        np.isfinite(score),
        np.abs(score - truth),
        np.maximum(truth, TOP - truth),
    )


def _order_change(
    before: FloatArray, now: FloatArray, truth: FloatArray, groups: IntArray
) -> tuple[FloatArray, Spread]:
    """Return by how much the rank correlation with the truth rose, and its spread by
    leaving out images; NaN where it is undefined.
    """
    known = np.isfinite(before) & np.isfinite(now)
    own = (
        image_groups(groups[known])
        if known.any()
        else np.zeros(0, dtype=np.int64)
    )
    if own.size < 3:
        return np.array([np.nan]), Spread(
            *(np.full(1, np.nan) for _ in range(3))
        )
    rho = [
        left_out(scores[known], truth[known], own, weighted_spearman)
        for scores in (before, now)
    ]
    value = np.array([rho[1][0] - rho[0][0]])
    return value, spread(
        (value - (rho[1][1] - rho[0][1])), np.bincount(own).astype(float)
    )
