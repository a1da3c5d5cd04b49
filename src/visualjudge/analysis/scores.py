"""Ranking and scoring questions: agreement of the judge's order and numbers with the scores.

Correlations use only replies that could be read. They are also given for failed replies replaced by
the best and by the worst possible ones. For exact and top-1, a failed reply is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from visualjudge.analysis import estimate
from visualjudge.analysis.accuracy_cells import (
    ImageSums,
    estimate_of,
    image_sums,
    means_of,
    share_of,
)
from visualjudge.analysis.figures import Ranking, Scoring
from visualjudge.analysis.pairwise_figures import CANNOT_TELL, DECLINED
from visualjudge.analysis.statistics import correlation
from visualjudge.analysis.study_table import ordered
from visualjudge.analysis.value_and_interval import NO_SHARE, NOTHING, Ends, Estimate, Share
from visualjudge.core.records import LETTERS, FloatArray

GROUP = ["image", "task", "encoding", "classes", "error_type", "repeat"]
"""Columns that are equal for scores in the same order. A reply and its repeat are not a tie."""
MOST_AT_ONCE = 64
"""Scores of a group up to which all groups of one size are compared by the same steps."""
RANKED = (
    "task",
    "encoding",
    "error_type",
    "cluster",
    "usable",
    "status",
    "options",
    "scores",
    "text",
    "answer",
)
SCORED = (*GROUP, "cluster", "usable", "status", "number", "truth")
"""Columns of ranking and scoring verdicts that their figures need."""
NO_RANKING = Ranking(0, NOTHING, None, NO_SHARE, None, NO_SHARE, None)
UNREAD = Estimate(None, None, 0, 0, "no reply could be read")
NO_SCORING = Scoring(0, 0, NOTHING, NOTHING, None, NOTHING, NOTHING, None, NOTHING, None)


def rank_taus(table: pl.DataFrame) -> FloatArray:
    """Return τ-b of each ranking with its options' scores; NaN if the reply failed or all scores
    are equal.
    """
    out = np.full(table.height, np.nan)
    parsed, options = table["usable"].to_numpy(), table["options"].to_numpy()
    for k in np.unique(options[parsed]):
        rows = np.flatnonzero(parsed & (options == k))
        part = table[rows]
        words, place = ordered(part["text"])
        said = np.array(
            [[text.index(letter) for letter in LETTERS[:k]] for text in words], dtype=float
        )
        out[rows] = correlation.kendall_rows(-said[place], _in_rows(part["scores"], k))
    return out


def _in_rows(lists: pl.Series, length: int) -> FloatArray:
    """Return lists of equal length as an array, lists × length."""
    return lists.explode().to_numpy().astype(float).reshape(-1, length)


def _ranking_columns(table: pl.DataFrame) -> pl.DataFrame:
    taus = pl.Series("tau", rank_taus(table)).fill_nan(None)
    said, answer = (pl.col(name).cast(pl.String).str.slice(0, 1) for name in ("text", "answer"))
    return table.with_columns(
        taus,
        exact=(pl.col("usable") & (pl.col("text") == pl.col("answer"))).fill_null(False),
        top=(pl.col("usable") & (said == answer)).fill_null(False),
    )


def tau_means(sums: ImageSums) -> list[Estimate]:
    """Mean of correlations ``tau`` over cases ``told`` of each cell, -1..1: the interval of a share
    of (τ + 1) / 2.
    """
    told = sums.columns["told"]
    halves = replace(sums, columns={"top": (sums.columns["tau"] + told) / 2, "n": told})
    shares = halves.shares("top", "n", graded=True)
    out = []
    for k, (n, tau) in enumerate(zip(sums.total("told"), sums.total("tau"), strict=True)):
        found = share_of(shares, k)
        low, high = (None if end is None else 2 * end - 1 for end in found.interval or (None, None))
        ends = None if found.interval is None else (low, high)
        value = None if found.value is None else float(tau / n)
        out.append(Estimate(value, ends, found.n, found.images, found.why))
    return out


_FAILED = ~pl.col("usable")
_COUNTS = {
    "n": pl.col("usable").is_not_null(),
    "failed": _FAILED,
    "declined": _FAILED & (pl.col("status") == DECLINED),
    "unsure": _FAILED & (pl.col("status") == CANNOT_TELL),
}


def ranking_figures(table: pl.DataFrame) -> Ranking:
    """Mean τ-b over questions, share of exact orders, share with the best first."""
    return ranking_cells(table, ()).get("", NO_RANKING)


def ranking_cells(table: pl.DataFrame, by: Sequence[str]) -> dict[str, Ranking]:
    """Return :func:`ranking_figures` of each cell of ``by``, named by its values with / between
    them.
    """
    if table.is_empty():
        return {}
    values = _COUNTS | {
        "tau": pl.col("tau"),
        "told": pl.col("tau").is_not_null(),
        "exact": pl.col("exact"),
        "top": pl.col("top"),
    }
    sums = image_sums(_ranking_columns(table), by, values)
    exact, top, taus = sums.shares("exact", "n"), sums.shares("top", "n"), tau_means(sums)
    total = {name: sums.total(name) for name in sums.columns}
    out = {}
    for k, name in enumerate(_names(sums, by)):
        lost, reach = int(total["failed"][k]), total["told"][k] + total["failed"][k]
        sum_of = total["tau"][k]
        bounds = (float((sum_of - lost) / reach), float((sum_of + lost) / reach)) if reach else None
        best, first = share_of(exact, k), share_of(top, k)
        out[name] = Ranking(
            lost,
            taus[k],
            bounds,
            best,
            _up_to(best, lost),
            first,
            _up_to(first, lost),
            int(total["declined"][k]),
            int(total["unsure"][k]),
        )
    return out


def _names(sums: ImageSums, by: Sequence[str]) -> list[str]:
    """Return the name of each cell: its values with / between them."""
    return ["/".join(map(str, row)) if by else "" for row in sums.keys.rows()]


def _up_to(share: Share, failed: int) -> Ends | None:
    return None if share.value is None else (share.value, share.value + failed / share.n)


def _filled(table: pl.DataFrame, failed_as: pl.Expr) -> tuple[FloatArray, FloatArray]:
    said = table.select(pl.when(pl.col("usable")).then(pl.col("number")).otherwise(failed_as))
    return said.to_series().to_numpy().astype(float), table["truth"].to_numpy().astype(float)


def _filled_spearman(table: pl.DataFrame) -> Ends | None:
    """Return Spearman's ρ with failed replies replaced by the reversed truth, and by the truth.
    These are plausible extremes, not bounds.
    """
    low, high = (
        correlation.spearman(*_filled(table, fill))
        for fill in (10 - pl.col("truth"), pl.col("truth"))
    )
    return None if low is None or high is None else (low, high)


def _if_failed(error: pl.Expr, otherwise: pl.Expr) -> pl.Expr:
    return pl.when(pl.col("usable")).then(error).otherwise(otherwise)


_ERROR, _TRUTH = pl.col("number") - pl.col("truth"), pl.col("truth")
_ERRORS = {
    "best": _if_failed(_ERROR.abs(), pl.lit(0.0)),
    "worst": _if_failed(_ERROR.abs(), pl.when(_TRUTH < 5).then(10 - _TRUTH).otherwise(_TRUTH)),
    "lowest": _if_failed(_ERROR, -_TRUTH),
    "highest": _if_failed(_ERROR, 10 - _TRUTH),
}
"""Errors if every failed reply had been the best, the worst, 0 or 10."""


def scoring_figures(table: pl.DataFrame) -> Scoring:
    """Correlation and error of the judge's numbers (0..10) with the scores."""
    return scoring_cells(table, ()).get("", NO_SCORING)


def scoring_cells(table: pl.DataFrame, by: Sequence[str]) -> dict[str, Scoring]:
    """Return :func:`scoring_figures` of each cell of ``by``, as :func:`ranking_cells`."""
    if table.is_empty():
        return {}
    parsed = table.filter("usable")
    within = _by_cell(within_groups(parsed), by, tau_means, _WITHIN)
    sums = image_sums(table, by, _COUNTS | _ERRORS)
    parts = dict(_parts(table, by))
    mae, bias = (_by_cell(parsed, by, partial(means_of, top=name, bottom="n"), _READ)
                 for name in ("mae", "bias"))  # fmt: skip
    total = {name: sums.total(name) for name in sums.columns}
    not_within = Estimate(None, None, 0, 0, "no image with two different scores")
    out = {}
    for k, name in enumerate(_names(sums, by)):
        n, failed, declined, unsure = (int(total[key][k]) for key in _COUNTS)
        best, worst, lowest, highest = (float(total[key][k] / n) for key in _ERRORS)
        read = parts[name].filter("usable")
        spearman, pearson = _correlations(read) if read.height else (UNREAD, UNREAD)
        filled: Ends | None = None
        if spearman.value is not None:
            filled = _filled_spearman(parts[name]) if failed else (spearman.value, spearman.value)
        out[name] = Scoring(
            n,
            failed,
            within.get(name, not_within) if read.height else UNREAD,
            spearman,
            filled,
            pearson,
            mae.get(name, UNREAD),
            (best, worst),
            bias.get(name, UNREAD),
            (lowest, highest),
            declined,
            unsure,
        )
    return out


def _parts(table: pl.DataFrame, by: Sequence[str]) -> Iterator[tuple[str, pl.DataFrame]]:
    if not by:
        yield "", table
        return
    for words, part in table.partition_by(by, as_dict=True).items():
        yield "/".join(map(str, words)), part


_READ = {"n": pl.col("usable"), "mae": _ERROR.abs(), "bias": _ERROR}
_WITHIN = {"tau": pl.col("tau"), "told": pl.col("tau").is_not_null()}


def _by_cell(
    table: pl.DataFrame,
    by: Sequence[str],
    figures: Callable[[ImageSums], list[Estimate]],
    values: Mapping[str, pl.Expr],
) -> dict[str, Estimate]:
    """Return a figure of each cell of ``by`` that has any row."""
    if table.is_empty():
        return {}
    sums = image_sums(table, by, values)
    return dict(zip(_names(sums, by), figures(sums), strict=True))


def _correlations(part: pl.DataFrame) -> tuple[Estimate, Estimate]:
    """Return Spearman's and Pearson's correlation over all scores, images mixed, with the jackknife
    over images on Fisher's z scale.
    """
    scores = correlation.cases(part["number"], part["truth"])
    groups = correlation.jackknife_groups(part["cluster"].to_numpy())
    images = part["cluster"].n_unique()

    def figure(weighted: correlation.Weighted) -> Estimate:
        whole = scores.value(weighted)
        if whole is None:
            return Estimate(None, None, part.height, images, "all the same")
        value = np.array([whole])
        influence = np.nan_to_num(whole - scores.left_out(groups, weighted))
        found = estimate.spread(influence, np.bincount(groups).astype(float))
        ends = estimate.correlation_ends(value, found)
        return replace(estimate_of(value, found, ends, part.height), images=images)

    return figure(correlation.weighted_spearman), figure(correlation.weighted_pearson)


def within_groups(parsed: pl.DataFrame, by: Sequence[str] = GROUP) -> pl.DataFrame:
    """τ-b of each group (``by``) of one image that holds two different scores or more: cluster,
    tau.
    """
    groups = (
        parsed.group_by(by, maintain_order=True)
        .agg(pl.col("cluster").first(), pl.col("number"), pl.col("truth"), k=pl.len())
        .filter((pl.col("k") > 1) & (pl.col("truth").list.n_unique() > 1))
    )
    kept = (*by, "cluster")
    none = groups.clear().select(kept).with_columns(tau=pl.lit(None, dtype=pl.Float64))
    parts = [none]
    for (k,), part in groups.partition_by("k", maintain_order=True, as_dict=True).items():
        said, true = (_in_rows(part[name], int(k)) for name in ("number", "truth"))
        tau = (
            correlation.kendall_rows(said, true)
            if said.shape[1] <= MOST_AT_ONCE
            else np.array(
                [correlation.kendall(*row) or 0.0 for row in zip(said, true, strict=True)]
            )
        )
        parts.append(part.select(kept).with_columns(tau=np.nan_to_num(tau)))
    return pl.concat(parts)
