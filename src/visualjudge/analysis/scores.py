"""Ranking and scoring questions: agreement of the judge's order and numbers with the scores.

Correlations use only replies that could be read. They are also given for failed replies replaced by
the best and by the worst possible ones. For exact and top-1, a failed reply is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from visualjudge.analysis import estimate
from visualjudge.analysis.accuracy_cells import (
    ImageSums,
    estimate_of,
    image_sums,
    means_of,
    share_of,
    shares_together,
)
from visualjudge.analysis.estimate import Shares
from visualjudge.analysis.figures import Ranking, Scoring
from visualjudge.analysis.pairwise_figures import CANNOT_TELL, DECLINED
from visualjudge.analysis.statistics import correlation
from visualjudge.analysis.study_table import WORD, ordered
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


def tau_means(every: Sequence[ImageSums]) -> list[list[Estimate]]:
    """Mean of correlations ``tau`` over cases ``told`` of each cell, -1..1: the interval of a share
    of (τ + 1) / 2.
    """
    halves = [
        ImageSums(
            sums.keys,
            sums.cell,
            sums.cluster,
            {
                "top": (sums.columns["tau"] + sums.columns["told"]) / 2,
                "n": sums.columns["told"],
            },
        )
        for sums in every
    ]
    found = shares_together([(half, "top", "n") for half in halves], graded=True)
    return [_taus(sums, part) for sums, part in zip(every, found, strict=True)]


def _taus(sums: ImageSums, shares: Shares) -> list[Estimate]:
    out = []
    for k, (n, tau) in enumerate(zip(sums.total("told"), sums.total("tau"), strict=True)):
        found = share_of(shares, k)
        low, high = (None if end is None else 2 * end - 1 for end in found.interval or (None, None))
        ends = None if found.interval is None else (low, high)
        value = None if found.value is None else float(tau / n)
        out.append(Estimate(value, ends, found.n, found.images, found.why))
    return out


def _together(judges: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The verdicts of all judges, with the number of each in ``judge``."""
    numbered = (
        table.with_columns(pl.lit(str(k)).cast(WORD).alias("judge"))
        for k, table in enumerate(judges)
    )
    return pl.concat(numbered)


def ranking_figures(table: pl.DataFrame) -> Ranking:
    """Mean τ-b over questions, share of exact orders, share with the best first."""
    return ranking_tables([table], [()])[0][0].get("", NO_RANKING)


_FAILED = ~pl.col("usable")
_COUNTS = {
    "n": pl.col("usable").is_not_null(),
    "failed": _FAILED,
    "declined": _FAILED & (pl.col("status") == DECLINED),
    "unsure": _FAILED & (pl.col("status") == CANNOT_TELL),
}


def ranking_tables(
    judges: Sequence[pl.DataFrame], tables: Sequence[Sequence[str]]
) -> list[list[dict[str, Ranking]]]:
    """:func:`ranking_figures` of each judge in each cell of each of ``tables``, named by its values
    with / between them. All judges are counted, and all intervals found, by the same steps.
    """
    out: list[list[dict[str, Ranking]]] = [[{} for _ in tables] for _ in judges]
    verdicts = _together(judges)
    if verdicts.is_empty():
        return out
    values = _COUNTS | {
        "tau": pl.col("tau"),
        "told": pl.col("tau").is_not_null(),
        "exact": pl.col("exact"),
        "top": pl.col("top"),
    }
    verdicts = _ranking_columns(verdicts)
    made = [image_sums(verdicts, ["judge", *by], values) for by in tables]
    found = iter(shares_together([(sums, name, "n") for sums in made for name in ("exact", "top")]))
    for number, (sums, taus) in enumerate(zip(made, tau_means(made), strict=True)):
        rows = _rankings(sums, taus, next(found), next(found))
        for (judge, *words), row in zip(sums.keys.rows(), rows, strict=True):
            out[int(judge)][number]["/".join(map(str, words))] = row
    return out


def _rankings(
    sums: ImageSums, taus: list[Estimate], exact: Shares, top: Shares
) -> Iterator[Ranking]:
    total = {name: sums.total(name) for name in sums.columns}
    for k, tau in enumerate(taus):
        lost, reach = int(total["failed"][k]), total["told"][k] + total["failed"][k]
        sum_of = total["tau"][k]
        bounds = (float((sum_of - lost) / reach), float((sum_of + lost) / reach)) if reach else None
        best, first = share_of(exact, k), share_of(top, k)
        yield Ranking(
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


def scoring_figures(table: pl.DataFrame) -> Scoring:
    """Correlation and error of the judge's numbers (0..10) with the scores."""
    return scoring_tables([table], [()])[0][0].get("", NO_SCORING)


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


def scoring_tables(
    judges: Sequence[pl.DataFrame], tables: Sequence[Sequence[str]]
) -> list[list[dict[str, Scoring]]]:
    """:func:`scoring_figures` of each judge in each cell of each of ``tables``, as
    :func:`ranking_tables`.
    """
    out: list[list[dict[str, Scoring]]] = [[{} for _ in tables] for _ in judges]
    verdicts = _together(judges)
    if verdicts.is_empty():
        return out
    parsed = verdicts.filter("usable")
    groups = within_groups(parsed, ["judge", *GROUP])
    not_within = Estimate(None, None, 0, 0, "no image with two different scores")
    for number, by in enumerate(tables):
        keys = ["judge", *by]
        within = _within_image(groups, keys)
        errors = _mean_errors(parsed, keys)
        parts = verdicts.partition_by(keys, as_dict=True)
        read = {
            key: part if part["usable"].all() else part.filter("usable")
            for key, part in parts.items()
        }
        known = [key for key, part in read.items() if part.height]
        pooled = dict(zip(known, _correlations([read[key] for key in known]), strict=True))
        sums = image_sums(verdicts, keys, _COUNTS | _ERRORS)
        total = {name: sums.total(name) for name in sums.columns}
        for k, key in enumerate(sums.keys.rows()):
            n, failed, declined, unsure = (int(total[name][k]) for name in _COUNTS)
            best, worst, lowest, highest = (float(total[name][k] / n) for name in _ERRORS)
            mae, bias = errors.get(key, (UNREAD, UNREAD))
            spearman, pearson = pooled.get(key, (UNREAD, UNREAD))
            filled: Ends | None = None
            if spearman.value is not None:
                filled = (spearman.value, spearman.value)
                if failed:
                    filled = _filled_spearman(parts[key])
            out[int(key[0])][number]["/".join(map(str, key[1:]))] = Scoring(
                n,
                failed,
                within.get(key, not_within) if key in errors else UNREAD,
                spearman,
                filled,
                pearson,
                mae,
                (best, worst),
                bias,
                (lowest, highest),
                declined,
                unsure,
            )
    return out


def _mean_errors(
    parsed: pl.DataFrame, keys: Sequence[str]
) -> dict[tuple[str, ...], tuple[Estimate, Estimate]]:
    """Mean absolute error and bias of each cell."""
    if parsed.is_empty():
        return {}
    values = {"n": pl.col("usable"), "mae": _ERROR.abs(), "bias": _ERROR}
    sums = image_sums(parsed, keys, values)
    mae, bias = (means_of(sums, name, "n") for name in ("mae", "bias"))
    return dict(zip(sums.keys.rows(), zip(mae, bias, strict=True), strict=True))


def _correlations(parts: Sequence[pl.DataFrame]) -> list[tuple[Estimate, Estimate]]:
    """Spearman's and Pearson's correlation over all scores of each part, images mixed, with the
    jackknife over images on Fisher's z scale.
    """
    values, influences, sizes = list[float](), list[FloatArray](), list[FloatArray]()
    for part in parts:
        scores = correlation.cases(part["number"], part["truth"])
        groups = correlation.jackknife_groups(part["cluster"].to_numpy())
        for weighted in (correlation.weighted_spearman, correlation.weighted_pearson):
            whole = scores.value(weighted)
            values.append(np.nan if whole is None else whole)
            influences.append(np.nan_to_num(values[-1] - scores.left_out(groups, weighted)))
            sizes.append(np.bincount(groups).astype(float))
    if not values:
        return []
    value, column = np.array(values), np.repeat(np.arange(len(values)), [s.size for s in sizes])
    found = estimate.spread(np.concatenate(influences), np.concatenate(sizes), column, len(values))
    ends = estimate.correlation_ends(value, found)

    def figure(k: int) -> Estimate:
        part = parts[k // 2]
        images = part["cluster"].n_unique()
        if np.isnan(value[k]):
            return Estimate(None, None, part.height, images, "all the same")
        return replace(estimate_of(value, found, ends, part.height, k), images=images)

    return [(figure(2 * k), figure(2 * k + 1)) for k in range(len(parts))]


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


def _within_image(groups: pl.DataFrame, keys: Sequence[str]) -> dict[tuple[str, ...], Estimate]:
    """Mean τ-b inside the groups (GROUP) of one image that hold two different scores or more, of
    each cell that has any.

    A group in which the judge gave a single number counts as 0, because it distinguished nothing.
    """
    if groups.is_empty():
        return {}
    values = {"tau": pl.col("tau"), "told": pl.col("tau").is_not_null()}
    sums = image_sums(groups, keys, values)
    return dict(zip(sums.keys.rows(), tau_means([sums])[0], strict=True))
