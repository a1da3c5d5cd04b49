"""Ranking and scoring questions: how far the judge's order and numbers follow the scores.

Correlations are over replies that could be read; each comes with what it would be had the failed replies been as good,
or as bad, as they can be. Exact and top-1 count a failed reply as wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from visualjudge.analysis import correlation
from visualjudge.analysis.bootstrap import Resampling, fisher_interval, percentile_interval, share_interval
from visualjudge.analysis.cells import cell_sums
from visualjudge.analysis.join import LETTERS, clusters_of
from visualjudge.records import FloatArray

DRAW_CELLS = 20_000_000
GROUP = ["image", "task", "encoding", "classes", "error_type"]


def rank_taus(table: pl.DataFrame) -> FloatArray:
    """τ-b of each ranking with its options' scores; NaN where the reply failed or all scores are the same."""
    out = np.full(table.height, np.nan)
    parsed, options = table["parsed"].to_numpy(), table["options"].to_numpy()
    for k in np.unique(options[parsed]):
        rows = np.flatnonzero(parsed & (options == k))
        part = table[rows]
        scores = np.array(part["scores"].to_list(), dtype=float)
        said = np.array([[text.index(letter) for letter in LETTERS[:k]] for text in part["text"]], dtype=float)
        out[rows] = correlation.kendall_rows(-said, scores)
    return out


def _ranking_columns(table: pl.DataFrame) -> pl.DataFrame:
    taus = pl.Series("tau", rank_taus(table)).fill_nan(None)
    first = pl.col("text").str.slice(0, 1) == pl.col("answer").str.slice(0, 1)
    return table.with_columns(
        taus,
        exact=(pl.col("parsed") & (pl.col("text") == pl.col("answer"))).fill_null(False),
        top=(pl.col("parsed") & first).fill_null(False),
    )


_NO_RANKING = dict.fromkeys(
    (
        "kendall_tau",
        "ci95",
        "kendall_tau_bounds",
        "exact",
        "exact_ci95",
        "exact_bounds",
        "top1",
        "top1_ci95",
        "top1_bounds",
    )
)


def ranking_block(table: pl.DataFrame, resampling: Resampling) -> dict[str, Any]:
    """Mean τ-b over questions, share of exact orders, share with the best first; nulls where nothing was asked."""
    n, failed = table.height, int((~table["parsed"]).sum()) if table.height else 0
    if not n:
        return {"n": 0, "failed": 0, **_NO_RANKING}
    rows = _ranking_columns(table)
    values = {"n": pl.col("parsed").is_not_null(), "tau": pl.col("tau"), "told": pl.col("tau").is_not_null()}
    cells = cell_sums(rows, [], {**values, "exact": pl.col("exact"), "top": pl.col("top")}, resampling.clusters)
    told, total = cells.total("told")[0], cells.total("tau")[0]
    images = int(cells.images[0])
    out: dict[str, Any] = {"n": n, "failed": failed}
    out["kendall_tau"] = float(total / told) if told else None
    draws = resampling.ratios(cells.columns["tau"], cells.columns["told"])[:, 0]
    out["ci95"] = percentile_interval(draws, images) if told else None
    reach = told + failed
    out["kendall_tau_bounds"] = (float(total - failed) / reach, float(total + failed) / reach) if reach else None
    for name, key in (("exact", "exact"), ("top1", "top")):
        share = float(cells.total(key)[0] / n)
        spread = resampling.ratios(cells.columns[key], cells.columns["n"])[:, 0]
        out |= {
            name: share,
            f"{name}_ci95": share_interval(spread, share, images),
            f"{name}_bounds": (share, share + failed / n),
        }
    return out


def _row_weights(resampling: Resampling, clusters: Any) -> Any:
    draws = int(min(resampling.draws, max(100, DRAW_CELLS // max(1, clusters.size))))
    return resampling.weights[:draws][:, clusters]


def _filled(table: pl.DataFrame, failed_as: pl.Expr) -> tuple[FloatArray, FloatArray]:
    said = table.select(pl.when(pl.col("parsed")).then(pl.col("number")).otherwise(failed_as))
    return said.to_series().to_numpy().astype(float), table["truth"].to_numpy().astype(float)


def _filled_spearman(table: pl.DataFrame) -> tuple[float | None, float | None]:
    """Spearman had the failed replies been the reversed truth, and the truth: not bounds, but honest extremes."""
    low, high = (correlation.spearman(*_filled(table, fill)) for fill in (10 - pl.col("truth"), pl.col("truth")))
    return low, high


def _error_bounds(table: pl.DataFrame) -> dict[str, Any]:
    """Mean absolute error and bias if every failed reply had been the best, or the worst, that 0..10 allows."""
    truth = pl.col("truth")
    far = pl.when(truth < 5).then(10.0).otherwise(0.0)

    def mean(fill: pl.Expr, absolute: bool) -> float:
        said, y = _filled(table, fill)
        return float((np.abs(said - y) if absolute else said - y).mean())

    return {
        "mae_bounds": (mean(truth, True), mean(far, True)),
        "bias_bounds": (mean(pl.lit(0.0), False), mean(pl.lit(10.0), False)),
    }


_NO_SCORING = dict.fromkeys(
    (
        "spearman",
        "ci95",
        "spearman_if_failed",
        "pearson",
        "pearson_ci95",
        "mae",
        "mae_ci95",
        "mae_bounds",
        "bias",
        "bias_ci95",
        "bias_bounds",
        "within_image_tau",
        "within_image_n",
    )
)


def scoring_block(table: pl.DataFrame, resampling: Resampling) -> dict[str, Any]:
    """Correlation and error of the judge's numbers (0..10) with the scores; nulls where nothing can be computed."""
    if table.is_empty():
        return {"n": 0, "failed": 0, **_NO_SCORING}
    parsed = table.filter(pl.col("parsed"))
    out: dict[str, Any] = {"n": table.height, "failed": table.height - parsed.height, **_NO_SCORING}
    out |= _error_bounds(table)
    if parsed.is_empty():
        return out
    x, y = parsed["number"].to_numpy().astype(float), parsed["truth"].to_numpy().astype(float)
    low, high = _filled_spearman(table)
    out["spearman_if_failed"] = (low, high) if low is not None and high is not None else None
    return out | _correlations(x, y, clusters_of(parsed), resampling) | _errors(parsed, resampling) | _within(parsed)


def _correlations(x: FloatArray, y: FloatArray, clusters: Any, resampling: Resampling) -> dict[str, Any]:
    rho, r = correlation.spearman(x, y), correlation.pearson(x, y)
    weights, images = _row_weights(resampling, clusters), int(np.unique(clusters).size)
    spread = None if rho is None else fisher_interval(rho, correlation.weighted_spearman(x, y, weights), images)
    linear = None if r is None else fisher_interval(r, correlation.weighted_pearson(x, y, weights), images)
    return {"spearman": rho, "ci95": spread, "pearson": r, "pearson_ci95": linear}


def _errors(parsed: pl.DataFrame, resampling: Resampling) -> dict[str, Any]:
    error = pl.col("number") - pl.col("truth")
    values = {"n": pl.col("parsed"), "mae": error.abs(), "bias": error}
    cells = cell_sums(parsed, [], values, resampling.clusters)
    out: dict[str, Any] = {}
    for name in ("mae", "bias"):
        draws = resampling.ratios(cells.columns[name], cells.columns["n"])[:, 0]
        out[name] = float(cells.total(name)[0] / parsed.height)
        out[f"{name}_ci95"] = percentile_interval(draws, int(cells.images[0]))
    return out


def _within(parsed: pl.DataFrame) -> dict[str, Any]:
    """Mean τ-b inside the groups of one image, task and encoding that hold two scores or more."""
    groups = (
        parsed.group_by(GROUP, maintain_order=True)
        .agg(pl.col("number"), pl.col("truth"), k=pl.len())
        .filter(pl.col("k") > 1)
    )
    taus = []
    for part in groups.partition_by("k"):
        said, true = (np.array(part[name].to_list(), dtype=float) for name in ("number", "truth"))
        taus.append(correlation.kendall_rows(said, true) if said.shape[1] <= 64 else np.full(part.height, np.nan))
    known = np.concatenate(taus) if taus else np.array([])
    known = known[np.isfinite(known)]
    return {"within_image_tau": float(known.mean()) if known.size else None, "within_image_n": int(known.size)}
