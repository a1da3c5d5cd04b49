"""The sources as the judge ranks them, beside their ranks by true score.

A question asked in both orders with different answers is a tie; a failed reply takes no part. Intervals by resampling
images; every replicate has the weak prior of :mod:`bradley_terry`, since a resample may leave a source unbeaten.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from visualjudge.analysis import correlation
from visualjudge.analysis.bootstrap import Resampling, percentile_interval
from visualjudge.analysis.bradley_terry import RIDGE, Strengths, davidson
from visualjudge.records import FloatArray

REPLICATES = 200


def duels(table: pl.DataFrame) -> pl.DataFrame:
    """One row a question (and repeat) between two named sources: a, b, and the judge's outcome for a (1, ½, 0)."""
    known = table.filter(pl.col("parsed")).with_columns(
        a=pl.col("sources").list.get(0, null_on_oob=True),
        b=pl.col("sources").list.get(1, null_on_oob=True),
    )
    told = known.filter(pl.col("a").is_not_null() & pl.col("b").is_not_null() & (pl.col("a") != pl.col("b")))
    return told.group_by("id", "repeat", maintain_order=True).agg(
        pl.col("a", "b", "cluster", "answer", "scores").first(),
        outcome=(pl.col("text") == "A").mean(),
    )


def _columns(games: pl.DataFrame, names: list[str], clusters: int) -> tuple[FloatArray, FloatArray]:
    """Clusters × S² of wins and of ties, flattened."""
    size = len(names)
    place = {name: i for i, name in enumerate(names)}
    a, b = (games[side].replace_strict(place, return_dtype=pl.Int64).to_numpy() for side in "ab")
    outcome, rows = games["outcome"].to_numpy(), games["cluster"].to_numpy()
    wins, ties = (np.zeros((clusters, size * size)) for _ in range(2))
    won, lost = outcome > 0.5, outcome < 0.5
    np.add.at(wins, (rows[won], a[won] * size + b[won]), 1)
    np.add.at(wins, (rows[lost], b[lost] * size + a[lost]), 1)
    level = ~won & ~lost
    for x, y in ((a, b), (b, a)):
        np.add.at(ties, (rows[level], x[level] * size + y[level]), 1)
    return wins, ties


def _fit(wins: FloatArray, ties: FloatArray, size: int, ridge: float | None = None) -> Strengths:
    return davidson(wins.reshape(size, size), ties.reshape(size, size), ridge=ridge)


def _true_scores(table: pl.DataFrame) -> dict[str, float]:
    """Mean score of each source over the different annotations that were asked about."""
    parts = [
        table.select(
            annotation=pl.col("annotations").list.get(side),
            task=pl.col("task"),
            source=pl.col("sources").list.get(side),
            score=pl.col("scores").list.get(side),
        )
        for side in (0, 1)
    ]
    seen = (
        pl.concat(parts)
        .filter(pl.col("source").is_not_null())
        .unique(["task", "annotation", "source"], maintain_order=True)
    )
    return dict(seen.group_by("source", maintain_order=True).agg(pl.col("score").mean()).iter_rows())


def leaderboard(table: pl.DataFrame, resampling: Resampling) -> dict[str, Any]:
    """Strengths by the judge and by the truth of every source, ranks, and the correlation of the two orders.

    ``components`` > 1: some sources were never compared, not even through others; strengths then compare only within
    a component, and no rank correlation over all is given.
    """
    games = duels(table)
    names = sorted(set(games["a"].to_list()) | set(games["b"].to_list()))
    if len(names) < 2:
        return {
            "rows": [],
            "n": games.height,
            "components": 0,
            "regularised": False,
            "ties": 0,
            "rank_correlation": None,
        }
    truth = games.with_columns(outcome=pl.when(pl.col("answer") == "A").then(1.0).otherwise(0.0))
    columns = _columns(games, names, resampling.clusters)
    judged = _fit(columns[0].sum(0), columns[1].sum(0), len(names))
    wins, ties = _columns(truth, names, resampling.clusters)
    true = _fit(wins.sum(0), ties.sum(0), len(names))
    rows = _rows(names, judged, true, _true_scores(table), _intervals(columns, names, games, resampling))
    groups = len(set(judged.component.tolist()))
    return {
        "rows": rows,
        "n": games.height,
        "components": groups,
        "regularised": judged.regularised,
        "ties": int(columns[1].sum() / 2),
        "log_tie": judged.log_tie,
        "rank_correlation": _agreement(rows) if groups == 1 else None,
    }


def _intervals(columns: Any, names: list[str], games: pl.DataFrame, resampling: Resampling) -> list[Any]:
    some = Resampling(resampling.clusters, resampling.seed, 2 * REPLICATES)
    wins, ties = (some.sums(part)[:REPLICATES] for part in columns)
    draws = np.stack([_fit(w, t, len(names), RIDGE).log_strength for w, t in zip(wins, ties, strict=True)])
    images = games["cluster"].n_unique()
    return [percentile_interval(draws[:, i], images) for i in range(len(names))]


def _rows(
    names: list[str], judged: Strengths, true: Strengths, scores: dict[str, float], intervals: list[Any]
) -> list[dict[str, Any]]:
    rows = [
        {
            "source": name,
            "component": int(judged.component[i]),
            "strength": float(judged.log_strength[i]),
            "ci95": intervals[i],
            "true_strength": float(true.log_strength[i]),
            "mean_score": scores.get(name),
        }
        for i, name in enumerate(names)
    ]
    by_judge = sorted(rows, key=lambda r: (r["component"], -r["strength"]))
    by_truth = sorted(rows, key=lambda r: (r["component"], -r["true_strength"]))
    for row in rows:
        row["rank"] = 1 + [r for r in by_judge if r["component"] == row["component"]].index(row)
        row["true_rank"] = 1 + [r for r in by_truth if r["component"] == row["component"]].index(row)
    return by_judge


def _agreement(rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    if len(rows) < 3:
        return None
    mine, true = ([row[name] for row in rows] for name in ("strength", "true_strength"))
    return {"spearman": correlation.spearman(mine, true), "kendall_tau": correlation.kendall(mine, true)}
