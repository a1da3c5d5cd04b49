"""Ranking and scoring questions: agreement of the judge's order and numbers with the scores.

Correlations use only replies that could be read. They are also given for failed replies replaced by
the best and by the worst possible ones. For exact and top-1, a failed reply is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from visualjudge.analysis.accuracy_cells import (
    ImageSums,
    estimate_of,
    image_sums,
    mean_of,
    share_of,
    shares_together,
)
from visualjudge.analysis.figures import Ranking, Scoring
from visualjudge.analysis.pairwise_figures import CANNOT_TELL, DECLINED, declined_and_unsure
from visualjudge.analysis.statistics import correlation, jackknife
from visualjudge.analysis.study_table import ordered
from visualjudge.analysis.value_and_interval import NO_SHARE, NOTHING, Ends, Estimate, Share
from visualjudge.core.records import LETTERS, FloatArray

GROUP = ["image", "task", "encoding", "classes", "error_type", "repeat"]
"""Columns that are equal for scores in the same order. A reply and its repeat are not a tie."""
MOST_IN_GROUP = 64
RANKED = (
    "task",
    "encoding",
    "error_type",
    "cluster",
    "parsed",
    "status",
    "options",
    "scores",
    "text",
    "answer",
)
SCORED = (*GROUP, "cluster", "parsed", "status", "number", "truth")
"""Columns of ranking and scoring verdicts that their figures need."""
NO_RANKING = Ranking(0, NOTHING, None, NO_SHARE, None, NO_SHARE, None)
NO_SCORING = Scoring(0, 0, NOTHING, NOTHING, None, NOTHING, NOTHING, None, NOTHING, None)


def rank_taus(table: pl.DataFrame) -> FloatArray:
    """Return τ-b of each ranking with its options' scores; NaN if the reply failed or all scores
    are equal.
    """
    out = np.full(table.height, np.nan)
    parsed, options = table["parsed"].to_numpy(), table["options"].to_numpy()
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
        exact=(pl.col("parsed") & (pl.col("text") == pl.col("answer"))).fill_null(False),
        top=(pl.col("parsed") & (said == answer)).fill_null(False),
    )


def tau_means(sums: ImageSums) -> list[Estimate]:
    """Return the mean of correlations ``tau`` over cases ``told`` of each cell, -1..1. The interval
    is that of the share (τ + 1) / 2.
    """
    told, total = sums.columns["told"], sums.columns["tau"]
    half = ImageSums(sums.keys, sums.cell, sums.cluster, {"top": (total + told) / 2, "n": told})
    shares, out = half.shares("top", "n", whole=False), []
    for k, (n, tau) in enumerate(zip(sums.total("told"), sums.total("tau"), strict=True)):
        found = share_of(shares, k)
        low, high = (None if end is None else 2 * end - 1 for end in found.interval or (None, None))
        ends = None if found.interval is None else (low, high)
        value = None if found.value is None else float(tau / n)
        out.append(Estimate(value, ends, found.n, found.images, found.why))
    return out


def ranking_figures(table: pl.DataFrame) -> Ranking:
    """Return mean τ-b over questions, the share of exact orders, and the share with the best option
    first.
    """
    return ranking_cells(table, []).get("", NO_RANKING)


def ranking_cells(table: pl.DataFrame, by: Sequence[str]) -> dict[str, Ranking]:
    """Return :func:`ranking_figures` of each cell of ``by``, keyed by its values joined with /."""
    if table.is_empty():
        return {}
    failed = ~pl.col("parsed")
    values = {
        "n": pl.col("parsed").is_not_null(),
        "tau": pl.col("tau"),
        "told": pl.col("tau").is_not_null(),
        "exact": pl.col("exact"),
        "top": pl.col("top"),
        "failed": failed,
        "declined": failed & (pl.col("status") == DECLINED),
        "unsure": failed & (pl.col("status") == CANNOT_TELL),
    }
    sums = image_sums(_ranking_columns(table), by, values)
    total = {name: sums.total(name) for name in values}
    exact, top = shares_together([(sums, name, "n") for name in ("exact", "top")])
    out = {}
    for k, tau in enumerate(tau_means(sums)):
        lost, reach = int(total["failed"][k]), total["told"][k] + total["failed"][k]
        sum_of = total["tau"][k]
        bounds = (float((sum_of - lost) / reach), float((sum_of + lost) / reach)) if reach else None
        best, first = share_of(exact, k), share_of(top, k)
        name = "/".join(map(str, sums.keys.row(k))) if by else ""
        out[name] = Ranking(
            lost,
            tau,
            bounds,
            best,
            _up_to(best, lost),
            first,
            _up_to(first, lost),
            int(total["declined"][k]),
            int(total["unsure"][k]),
        )
    return out


def _up_to(share: Share, failed: int) -> Ends | None:
    return None if share.value is None else (share.value, share.value + failed / share.n)


def _filled(table: pl.DataFrame, failed_as: pl.Expr) -> tuple[FloatArray, FloatArray]:
    said = table.select(pl.when(pl.col("parsed")).then(pl.col("number")).otherwise(failed_as))
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


def _error_bounds(table: pl.DataFrame) -> tuple[Ends, Ends]:
    """Return mean absolute error and bias if every failed reply had been the best, or the worst,
    possible value in 0..10.
    """
    truth = pl.col("truth")
    far = pl.when(truth < 5).then(10.0).otherwise(0.0)

    def mean(fill: pl.Expr, absolute: bool) -> float:
        said, y = _filled(table, fill)
        return float((np.abs(said - y) if absolute else said - y).mean())

    return (mean(truth, True), mean(far, True)), (
        mean(pl.lit(0.0), False),
        mean(pl.lit(10.0), False),
    )


def scoring_figures(table: pl.DataFrame) -> Scoring:
    """Return correlation and error of the judge's numbers (0..10) against the scores."""
    if table.is_empty():
        return NO_SCORING
    parsed = table.filter(pl.col("parsed"))
    mae_bounds, bias_bounds = _error_bounds(table)
    n, failed = table.height, table.height - parsed.height
    if parsed.is_empty():
        none = Estimate(None, None, 0, 0, "no reply could be read")
        return Scoring(
            n,
            failed,
            none,
            none,
            None,
            none,
            none,
            mae_bounds,
            none,
            bias_bounds,
            *declined_and_unsure(table),
        )
    error = pl.col("number") - pl.col("truth")
    sums = image_sums(parsed, [], {"n": pl.col("parsed"), "mae": error.abs(), "bias": error})
    (mae, _), (bias, _) = (mean_of(sums, name, "n") for name in ("mae", "bias"))
    scores = correlation.cases(parsed["number"], parsed["truth"])
    spearman = _pooled(parsed, scores, correlation.weighted_spearman)
    pearson = _pooled(parsed, scores, correlation.weighted_pearson)
    filled: Ends | None = None if spearman.value is None else (spearman.value, spearman.value)
    if failed:
        filled = _filled_spearman(table)
    correlations = within_image(parsed), spearman, filled, pearson
    return Scoring(
        n, failed, *correlations, mae, mae_bounds, bias, bias_bounds, *declined_and_unsure(table)
    )


def _pooled(
    parsed: pl.DataFrame, scores: correlation.Cases, weighted: correlation.Weighted
) -> Estimate:
    """Return a correlation over all scores of all images, with the jackknife over images on
    Fisher's z scale.
    """
    images, n = parsed["cluster"].n_unique(), parsed.height
    value = scores.value(weighted)
    if value is None:
        return Estimate(None, None, n, images, "all the same")
    groups = correlation.jackknife_groups(parsed["cluster"].to_numpy())
    influence = np.nan_to_num(value - scores.left_out(groups, weighted))
    sizes = np.bincount(groups).astype(float)
    found = jackknife.spread(influence, sizes, np.zeros(sizes.size, dtype=np.int64), 1)
    values = np.array([value])
    figure = estimate_of(values, found, jackknife.correlation_ends(values, found), n)
    return Estimate(figure.value, figure.interval, figure.n, images, figure.why)


def within_groups(parsed: pl.DataFrame) -> pl.DataFrame:
    """Return τ-b of each group (GROUP) within one image that has at least two distinct scores:
    cluster, tau.
    """
    groups = (
        parsed.group_by(GROUP, maintain_order=True)
        .agg(pl.col("cluster").first(), pl.col("number"), pl.col("truth"), k=pl.len())
        .filter(
            (pl.col("k") > 1)
            & (pl.col("k") <= MOST_IN_GROUP)
            & (pl.col("truth").list.n_unique() > 1)
        )
    )
    parts = [pl.DataFrame(schema={"cluster": groups.schema["cluster"], "tau": pl.Float64})]
    for (k,), part in groups.partition_by("k", maintain_order=True, as_dict=True).items():
        said, true = (_in_rows(part[name], int(k)) for name in ("number", "truth"))
        parts.append(
            part.select("cluster").with_columns(
                tau=np.nan_to_num(correlation.kendall_rows(said, true))
            )
        )
    return pl.concat(parts)


def within_image(parsed: pl.DataFrame) -> Estimate:
    """Return the mean τ-b inside the groups (GROUP) of one image that have at least two distinct
    scores.

    A group in which the judge gave a single number counts as 0, because it distinguished nothing.
    """
    groups = within_groups(parsed)
    if groups.is_empty():
        return Estimate(None, None, 0, 0, "no image with two different scores")
    values = {"tau": pl.col("tau"), "told": pl.col("tau").is_not_null()}
    return tau_means(image_sums(groups, [], values))[0]
