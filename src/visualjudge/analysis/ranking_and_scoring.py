"""Ranking and scoring questions: agreement of the judge's order and numbers with the
scores. Verdicts on pairs are in ``pairwise_verdicts.py``; the sections that show them,
in ``figures/scoring.py``.

Correlations and errors use only replies that could be read. For exact and top-1, a
failed reply is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from visualjudge.analysis.image_sums import (
    ImageSums,
    image_sums,
)
from visualjudge.analysis.statistics import correlation
from visualjudge.analysis.statistics.score_agreement import Scores, image_groups
from visualjudge.analysis.statistics.score_ranges import (
    NO_RANGES,
    ScoreRanges,
    score_ranges,
)
from visualjudge.analysis.study_table import ordered
from visualjudge.analysis.value_and_interval import NOTHING, Estimate, unknown
from visualjudge.core.records import LETTERS, FloatArray


@dataclass(frozen=True)
class Ranking:
    """Ranking questions: orders of three to five options."""

    failed: int
    tau: Estimate
    exact: Estimate
    top1: Estimate


@dataclass(frozen=True)
class Scoring:
    """Scoring questions: numbers from 0 to 10. ``within`` is the part that reflects the
    judge's own ability: the mean τ-b inside groups of one image, 0 in a group that it
    cannot tell apart. The others are those of
    :class:`~visualjudge.analysis.statistics.score_agreement.Scores`.
    """

    n: int
    failed: int
    within: Estimate
    spearman: Estimate = NOTHING
    pearson: Estimate = NOTHING
    mae: Estimate = NOTHING
    bias: Estimate = NOTHING
    exact: Estimate = NOTHING
    within_one: Estimate = NOTHING
    saturation: Estimate = NOTHING
    constant_mae: Estimate = NOTHING
    gain: Estimate = NOTHING
    ranges: ScoreRanges = NO_RANGES
    tasks: Mapping[str, Scoring] = field(default_factory=dict)

    @property
    def without_truth(self) -> Scoring:
        """The figures that need no true scores."""
        known: Any = {name: unknown(getattr(self, name)) for name in OF_TRUTH}
        return replace(self, **known, ranges=NO_RANGES)


OF_SCORES = ("spearman", "pearson", "mae", "bias", "constant_mae", "gain")
OF_TRUTH = ("within", *OF_SCORES, "exact", "within_one")


GROUP = ["image", "task", "encoding", "classes", "error_type", "repeat"]
"""Columns that are equal for scores in the same order. A reply and its repeat are not a
tie."""
MOST_AT_ONCE = 64
"""Scores of a group up to which all groups of one size are compared by the same
steps."""
RANKED = (
    "task",
    "encoding",
    "error_type",
    "cluster",
    "usable",
    "options",
    "scores",
    "text",
    "answer",
)
SCORED = (*GROUP, "cluster", "usable", "number", "truth")
"""Columns of ranking and scoring verdicts that their figures need."""
NO_RANKING = Ranking(0, NOTHING, NOTHING, NOTHING)
UNREAD = Estimate(None, None, 0, 0, "no reply could be read")
NOT_WITHIN = Estimate(None, None, 0, 0, "no image with two different scores")
NO_SCORING = Scoring(0, 0, NOTHING)


def rank_taus(table: pl.DataFrame) -> FloatArray:
    """Return τ-b of each ranking with its options' scores; NaN if the reply failed or
    all scores are equal.
    """
    out = np.full(table.height, np.nan)
    parsed = table["usable"].to_numpy()
    options = table["options"].to_numpy()
    for k in np.unique(options[parsed]):
        rows = np.flatnonzero(parsed & (options == k))
        part = table[rows]
        words, place = ordered(part["text"])
        answers = np.array(
            [[text.index(letter) for letter in LETTERS[:k]] for text in words],
            dtype=float,
        )
        out[rows] = correlation.kendall_rows(
            -answers[place], _in_rows(part["scores"], k)
        )
    return out


def _in_rows(lists: pl.Series, length: int) -> FloatArray:
    """Return lists of equal length as an array, lists × length."""
    return lists.explode().to_numpy().astype(float).reshape(-1, length)


_TAU = {"tau": pl.col("tau"), "told": pl.col("tau").is_not_null()}


def tau_means(sums: ImageSums) -> list[Estimate]:
    """Mean of correlations ``tau`` over cases ``known`` of each cell, -1..1: the
    interval of a share of (τ + 1) / 2.
    """
    known = sums.columns["told"]
    halves = replace(
        sums, columns={"top": (sums.columns["tau"] + known) / 2, "n": known}
    )
    result = halves.shares("top", "n", graded=True)
    ends = {
        name: 2 * getattr(result, name) - 1 for name in ("value", "low", "high")
    }
    return [replace(result, **ends)[k] for k in range(sums.cells)]


def ranking_cells(table: pl.DataFrame, by: Sequence[str]) -> dict[str, Ranking]:
    """Return mean τ-b over questions, share of exact orders and share with the best
    first of each cell of ``by``, named by its values with / between them; all rows are
    the cell "" of ().
    """
    if table.is_empty():
        return {}
    usable = pl.col("usable")
    answers, answer = (
        pl.col(name).cast(pl.String) for name in ("text", "answer")
    )
    values = _TAU | {
        "n": usable.is_not_null(),
        "failed": ~usable,
        "exact": usable & (answers == answer),
        "top": usable & (answers.str.slice(0, 1) == answer.str.slice(0, 1)),
    }
    taus = pl.Series("tau", rank_taus(table)).fill_nan(None)
    sums = image_sums(table.with_columns(taus), by, values)
    exact = sums.shares("exact", "n")
    top = sums.shares("top", "n")
    result = tau_means(sums)
    failed = sums.total("failed")
    return {
        "/".join(map(str, row)) if by else "": Ranking(
            int(failed[k]), result[k], exact[k], top[k]
        )
        for k, row in enumerate(sums.keys.rows())
    }


def scoring_cells(
    table: pl.DataFrame, by: Sequence[str], step: float = 1.0
) -> dict[str, Scoring]:
    """Return the correlation and error of the judge's numbers (0..10) with the scores
    in each cell of ``by``, as :func:`ranking_cells`; ``step`` is one step of the scale.
    """
    out = {}
    for name, part in _parts(table, by).items():
        read = part.filter("usable")
        failed = part.height - read.height
        if read.is_empty():
            figures: Any = dict.fromkeys((*OF_TRUTH, "saturation"), UNREAD)
            out[name] = Scoring(part.height, failed, **figures)
            continue
        groups = within_groups(read)
        within = (
            tau_means(image_sums(groups, (), _TAU))[0]
            if groups.height
            else NOT_WITHIN
        )
        known = read.drop_nulls("truth")
        own = scores_of(known, step) if known.height else None
        out[name] = Scoring(part.height, failed, within, **_of_scores(own))
    return out


def scores_of(read: pl.DataFrame, step: float) -> Scores:
    """Return usable scores whose truth is known as a judge's."""
    image = read["cluster"].to_numpy().astype(np.int64)
    group = image_groups(image)
    judged = read["number"].to_numpy().astype(float)
    true = read["truth"].to_numpy().astype(float)
    return Scores(
        judged, true, image, group, int(group.max(initial=-1)) + 1, step
    )


def _of_scores(own: Scores | None) -> dict[str, Any]:
    if own is None:
        return {}
    figures: dict[str, Any] = {
        name: getattr(own, name).estimate for name in OF_SCORES
    }
    figures |= {
        name: getattr(own, name)
        for name in ("exact", "within_one", "saturation")
    }
    return figures | {"ranges": score_ranges(own.judged, own.true, own.image)}


def _parts(
    table: pl.DataFrame, by: Sequence[str]
) -> Mapping[str, pl.DataFrame]:
    """Return the rows of each cell of ``by`` that has any."""
    if not by:
        return {"": table} if table.height else {}
    parts = table.partition_by(by, as_dict=True)
    return {"/".join(map(str, words)): part for words, part in parts.items()}


def within_groups(parsed: pl.DataFrame) -> pl.DataFrame:
    """τ-b of each group of one image that holds two different scores or more: cluster,
    tau."""
    groups = (
        parsed.group_by(GROUP, maintain_order=True)
        .agg(
            pl.col("cluster").first(),
            pl.col("number"),
            pl.col("truth"),
            k=pl.len(),
        )
        .filter((pl.col("k") > 1) & (pl.col("truth").list.n_unique() > 1))
    )
    parts = [
        groups.clear().select("cluster", tau=pl.lit(None, dtype=pl.Float64))
    ]
    for (k,), part in groups.partition_by(
        "k", maintain_order=True, as_dict=True
    ).items():
        answers, true = (
            _in_rows(part[name], int(k)) for name in ("number", "truth")
        )
        if k <= MOST_AT_ONCE:
            tau = correlation.kendall_rows(answers, true)
        else:
            from scipy import (
                stats,
            )  # takes half a second to import, but needs no table of pairs

            tau = np.array(
                [
                    stats.kendalltau(*row)[0]
                    for row in zip(answers, true, strict=True)
                ]
            )
        parts.append(part.select("cluster", tau=pl.Series(np.nan_to_num(tau))))
    return pl.concat(parts)
