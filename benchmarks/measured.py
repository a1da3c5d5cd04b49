"""What benchmarks/coverage.py measures of a table of verdicts, and how it counts what intervals
hold.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import polars as pl

from visualjudge.analysis.accuracy_cells import kappa_with_truth, macro
from visualjudge.analysis.analysing import pairwise_figures
from visualjudge.analysis.bias import preferences
from visualjudge.analysis.comparisons import paired
from visualjudge.analysis.encoding_choice import compare_encodings
from visualjudge.analysis.leaderboard import leaderboard
from visualjudge.analysis.statistics.alpha import alpha, alpha_interval
from visualjudge.analysis.value_and_interval import Estimate

Figures = dict[str, Estimate]


def pairwise(table: pl.DataFrame) -> Figures:
    """Every interval of one judge's pairwise questions."""
    p = pairwise_figures(table)
    found = {
        "accuracy": p.accuracy.share,
        "accuracy_parsed": p.accuracy.parsed,
        "swap_consistency": p.swap.consistency,
        "right_in_both": p.swap.right_in_both,
        **p.published,
    }
    return {name: figure for name, figure in {**found, **slow(table)}.items() if figure.n}


def slow(table: pl.DataFrame) -> Figures:
    """Figures that are more than a ratio of sums."""
    found: Figures = {"macro": macro(table, "task"), "kappa": kappa_with_truth(table)}
    found |= {f"{d.first} - {d.second}": d.gap for d in compare_encodings(table)[:2]}
    found |= {f"lean {row.feature}": row.estimate for row in preferences(table) if row.estimate.n}
    return found | {f"strength {row.source}": row.strength for row in leaderboard(table).rows}


def together(first: pl.DataFrame, second: pl.DataFrame) -> Figures:
    """What two judges' verdicts on the same questions show."""
    keys = ["id", "order"]
    said = [
        t.filter(pl.col("parsed")).select(
            *keys, "cluster", a=(pl.col("text") == "A").cast(pl.Float64)
        )
        for t in (first, second)
    ]
    units = said[0].join(said[1], on=keys, how="full", coalesce=True)
    ratings = units.select("a", "a_right").to_numpy().T
    clusters = units.select(pl.coalesce("cluster", "cluster_right")).to_series().to_numpy()
    ends = alpha_interval(ratings, "nominal", clusters)
    return {
        "alpha": Estimate(alpha(ratings, "nominal"), ends, ratings.shape[1], 0),
        "difference": paired(both_judges(first, second), ("a", "b"), 0.05).gap,
    }


def both_judges(first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    """The verdicts that both gave: ``right``, ``right_b`` and ``cluster``."""
    keys = ["question", "order"]
    return first.select(*keys, "right", "cluster").join(
        second.select(*keys, right_b="right"), on=keys
    )


def told_apart(first: pl.DataFrame, second: pl.DataFrame) -> bool:
    """Whether the test of two judges rejects at 5 %."""
    p = paired(both_judges(first, second), ("a", "b"), 0.05).p
    return p is not None and p < 0.05


def flagged(table: pl.DataFrame) -> set[str]:
    """The features that a judge is flagged for."""
    return {row.feature for row in preferences(table) if row.flagged}


class Tally:
    """How often intervals hold the truth, by figure."""

    def __init__(self) -> None:
        self.rows: dict[str, list[tuple[bool, float, float]]] = defaultdict(list)
        self.tried: dict[str, int] = defaultdict(int)

    def add(self, name: str, figure: Estimate, truth: float | None) -> None:
        """One interval; open sides are infinite."""
        self.tried[name] += 1
        if figure.interval is None or truth is None or figure.value is None:
            return
        low, high = figure.interval
        low, high = -np.inf if low is None else low, np.inf if high is None else high
        self.rows[name].append((bool(low <= truth <= high), high - low, figure.value - truth))

    def show(self, truth: dict[str, float]) -> None:
        """A line a figure; * where coverage lies outside 93.5..97 %, by more than its own Monte
        Carlo error.
        """
        for name, rows in self.rows.items():
            held, width, off = (np.array(column) for column in zip(*rows, strict=True))
            share, error = held.mean(), np.sqrt(0.95 * 0.05 / held.size)
            star = "*" if not 0.935 - error <= share <= 0.97 + error else " "
            print(
                f"  {name:24s} truth {truth[name]:7.4f}  covers {100 * share:5.1f} %{star} width "
                f"{np.median(width):7.4f}  off {off.mean():+.4f}  given "
                f"{len(rows)}/{self.tried[name]}",
                flush=True,
            )
