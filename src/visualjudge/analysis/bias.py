"""What a judge leans to beside the truth: the place of an option, and features that a shallow reader could go by.

A *preference* is balanced over the truth: the mean of how often the feature is chosen where it is right and where it
is wrong, less ½. A judge that is merely accurate, or merely careless, has 0 whichever answer is the commoner; one that
always follows the feature has +½. Its test resamples images, so that one image asked in many encodings counts once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from visualjudge.analysis.bootstrap import Resampling, holm, percentile_interval, share_interval, standard_error, t_test
from visualjudge.analysis.cells import cell_sums

LEVEL = 0.03
"""A flag's level after Holm. With some forty images the bootstrap's p runs a little hot: at 0.05 a fair judge was
flagged in up to 6 % of simulations (benchmarks/coverage.py), so flags are set at 0.03."""
PREFERRED = {
    "position": "the option shown first",
    "text_chars": "the longer text",
    "count": "more boxes, masks or points",
    "area": "the larger marked area",
    "png_bytes": "the larger picture file",
}


def binomial_p(hits: int, n: int) -> float | None:
    """Exact two-sided p of ``hits`` of ``n`` against ½."""
    return float(stats.binomtest(hits, n).pvalue) if n else None


def _sides(table: pl.DataFrame, feature: str) -> pl.DataFrame:
    """Rows where the feature tells the options apart, with ``chose`` and ``right``: the side that has more of it."""
    parsed = table.filter(pl.col("parsed"))
    if feature == "position":
        return parsed.select("cluster", chose=pl.col("said_first"), right=pl.col("first_right"))
    a, b = pl.col(feature).list.get(0, null_on_oob=True), pl.col(feature).list.get(1, null_on_oob=True)
    told = parsed.with_columns(__more_a=a > b).filter(a != b)
    return told.select(
        "cluster",
        chose=(pl.col("text") == "A") == pl.col("__more_a"),
        right=(pl.col("answer") == "A") == pl.col("__more_a"),
    )


def preference(table: pl.DataFrame, feature: str, resampling: Resampling) -> dict[str, Any]:
    """How a judge leans to one feature in pairwise questions: estimate (-½..½), interval, p; None where unknown."""
    sides = _sides(table, feature)
    row: dict[str, Any] = {"feature": feature, "leans_to": PREFERRED[feature], "n": sides.height}
    empty = {"chosen": None, "preference": None, "ci95": None, "p": None}
    if sides.is_empty() or sides["right"].n_unique() < 2:
        return {**row, **empty}
    right, chose = pl.col("right"), pl.col("chose")
    values = {"n1": right, "c1": right & chose, "n0": ~right, "c0": ~right & chose}
    cells = cell_sums(sides, [], values, resampling.clusters)
    estimate = float(sum(cells.total(f"c{i}")[0] / cells.total(f"n{i}")[0] for i in (0, 1)) / 2 - 0.5)
    draws = sum(resampling.ratios(cells.columns[f"c{i}"], cells.columns[f"n{i}"])[:, 0] for i in (0, 1)) / 2 - 0.5
    images = int(cells.images[0])
    return {
        **row,
        "chosen": float(sides["chose"].mean()),  # type: ignore[arg-type]
        "preference": estimate,
        "ci95": percentile_interval(np.asarray(draws), images),
        "p": t_test(estimate, standard_error(np.asarray(draws)), images),
    }


def preferences(table: pl.DataFrame, resampling: Resampling) -> list[dict[str, Any]]:
    """Every preference of a judge, p adjusted by Holm over the features; ``flagged`` below LEVEL."""
    rows = [preference(table, feature, resampling) for feature in PREFERRED]
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = p
        row["flagged"] = p is not None and p < LEVEL
    return rows


def both_orders(table: pl.DataFrame) -> pl.DataFrame:
    """One row a question (and repeat) asked in both orders, with what was said and whether it was right in each."""
    keep = ["id", "repeat", "cluster", "parsed", "text", "right"]
    ab, ba = (table.filter(pl.col("order") == order).select(keep) for order in ("AB", "BA"))
    joined = ab.join(ba.drop("cluster"), on=["id", "repeat"], suffix="_ba")
    both = pl.col("parsed") & pl.col("parsed_ba")
    return joined.with_columns(
        usable=both,
        consistent=both & (pl.col("text") == pl.col("text_ba")),
        both_right=pl.col("right") & pl.col("right_ba"),
        always_first=both & (pl.col("text") == "A") & (pl.col("text_ba") == "B"),
        always_second=both & (pl.col("text") == "B") & (pl.col("text_ba") == "A"),
    )


def swap_figures(table: pl.DataFrame, resampling: Resampling) -> dict[str, Any]:
    """What asking in both orders shows; nulls where no question was. A failed reply in either order is not consistent.

    ``p`` is the exact sign test of questions where the first place won both times against those where the second did.
    """
    pairs = both_orders(table)
    names = ("consistency", "consistency_parsed", "right_in_both", "always_first", "always_second", "p", "ci95")
    if pairs.is_empty():
        return {"n": 0, **dict.fromkeys(names)}
    values = {"n": pl.col("consistent").is_not_null(), "consistent": pl.col("consistent")}
    cells = cell_sums(pairs, [], values, resampling.clusters)
    draws = resampling.ratios(cells.columns["consistent"], cells.columns["n"])[:, 0]
    usable, same = int(pairs["usable"].sum()), int(pairs["consistent"].sum())
    first, second = int(pairs["always_first"].sum()), int(pairs["always_second"].sum())
    return {
        "n": pairs.height,
        "consistency": same / pairs.height,
        "consistency_parsed": same / usable if usable else None,
        "right_in_both": float(pairs["both_right"].sum()) / pairs.height,
        "always_first": first,
        "always_second": second,
        "p": binomial_p(first, first + second),
        "ci95": share_interval(draws, same / pairs.height, int(cells.images[0])),
    }
