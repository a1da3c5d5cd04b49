"""What a judge leans to beside the truth: the place of an option, and features that a shallow reader could go by.

A *preference* compares how often the judge is right where the option with more of the feature is the better one, and
where it is the worse one, and halves the difference: 0 for a judge that does not look at the feature, +½ for one that
looks at nothing else, whichever answer is the commoner. The two are compared **at equal difficulty**: within a task and
a stratum of the margin between the scores, straightened for the margin inside it. Otherwise a fair judge that is
better at wide margins would be accused of whatever feature goes with them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from scipy import stats

from visualjudge.analysis.cells import estimate_of, image_sums, mean_of, share_of, test_of
from visualjudge.analysis.figures import NO_SHARE, Estimate, Preference, Swap
from visualjudge.analysis.statistics import jackknife
from visualjudge.analysis.statistics.bias import lean
from visualjudge.analysis.statistics.jackknife import holm

LEVEL = 0.05
STRATA = 5
ITEMS_IN_STRATUM = 24
PREFERRED = {
    "position": "the option shown first",
    "text_chars": "the longer text",
    "count": "more boxes, masks or points",
    "area": "the larger marked area",
    "png_bytes": "the larger image file",
}


def binomial_p(hits: int, n: int) -> float | None:
    """Exact two-sided p of ``hits`` of ``n`` against ½."""
    return float(stats.binomtest(hits, n).pvalue) if n else None


def _sides(table: pl.DataFrame, feature: str) -> pl.DataFrame:
    """Usable replies where the feature tells the options apart: whether ``more`` of it is right, and was chosen."""
    keep = ("cluster", "item", "task", "margin", "right")
    parsed = table.lazy().filter(pl.col("parsed"))
    if feature == "position":
        return parsed.select(*keep, more=pl.col("first_right")).drop_nulls("more").collect()
    a, b = pl.col(feature).list.get(0, null_on_oob=True), pl.col(feature).list.get(1, null_on_oob=True)
    return (
        parsed.select(*keep, "answer", a=a, b=b)
        .filter((pl.col("a") != pl.col("b")) & pl.col("answer").is_in(["A", "B"]))
        .select(*keep, more=(pl.col("answer") == "A") == (pl.col("a") > pl.col("b")))
        .collect()
    )


def _strata(sides: pl.DataFrame) -> pl.DataFrame:
    """``stratum``: a task's margins in up to 5 parts of at least 24 pairs each, by the order of the margins."""
    items = sides.select("task", "item", "margin").unique(["task", "item"]).sort("task", "margin", "item")
    number = pl.int_range(pl.len()).over("task")
    size = pl.len().over("task")
    parts = (size // ITEMS_IN_STRATUM).clip(1, STRATA)
    placed = items.with_columns(part=(number * parts // size))
    coded = placed.with_columns(stratum=pl.struct("task", "part").rle_id().cast(pl.Int64))
    return sides.join(coded.select("task", "item", "stratum"), on=["task", "item"], how="left", maintain_order="left")


def preference(table: pl.DataFrame, feature: str) -> Preference:
    """How a judge leans to one feature in pairwise questions."""
    sides = _sides(table, feature)
    images = sides["cluster"].n_unique()
    if sides.is_empty() or sides["more"].n_unique() < 2:
        return Preference(feature, PREFERRED[feature], None, Estimate(None, None, sides.height, images), None)
    placed = _strata(sides).group_by("stratum", "cluster", "more", "margin", maintain_order=True)
    rows = placed.agg(n=pl.len(), right=pl.col("right").sum())
    value, found = lean(*(rows[name].to_numpy() for name in ("stratum", "cluster", "more", "margin", "n", "right")))
    chosen, more, right = ((sides.select(x).to_series()) for x in (pl.col("more") == pl.col("right"), "more", "right"))
    crude = float(right.filter(more).mean() - right.filter(~more).mean()) / 2  # type: ignore[operator,arg-type]
    ends = jackknife.mean_ends(value, found)
    ends = np.maximum(ends[0], -0.5), np.minimum(ends[1], 0.5)
    figure = replace(estimate_of(value, found, ends, sides.height), images=images)
    share = float(chosen.mean())  # type: ignore[arg-type]
    return Preference(feature, PREFERRED[feature], share, figure, test_of(value, found), crude=crude)


def preferences(table: pl.DataFrame) -> tuple[Preference, ...]:
    """Every preference of a judge, p adjusted by Holm over the features; ``flagged`` below 5 %."""
    rows = [preference(table, feature) for feature in PREFERRED]
    adjusted = holm([row.p for row in rows])
    return tuple(
        replace(row, p_holm=p, flagged=p is not None and p < LEVEL) for row, p in zip(rows, adjusted, strict=True)
    )


def both_orders(table: pl.DataFrame) -> pl.DataFrame:
    """One row a question (and repeat) asked in both orders, with what was said and whether it was right in each."""
    keep = ["id", "repeat", "cluster", "task", "parsed", "text", "right"]
    rows = table.select(*keep, "order")
    ab, ba = (rows.filter(pl.col("order") == order).drop("order") for order in ("AB", "BA"))
    joined = ab.join(ba.drop("cluster", "task"), on=["id", "repeat"], suffix="_ba", maintain_order="left")
    both = pl.col("parsed") & pl.col("parsed_ba")
    return joined.with_columns(
        usable=both,
        consistent=both & (pl.col("text") == pl.col("text_ba")),
        both_right=pl.col("right") & pl.col("right_ba"),
        always_first=both & (pl.col("text") == "A") & (pl.col("text_ba") == "B"),
        always_second=both & (pl.col("text") == "B") & (pl.col("text_ba") == "A"),
    )


def swap_figures(pairs: pl.DataFrame) -> Swap:
    """What asking in both orders shows, of rows as :func:`both_orders` makes them.

    ``p`` tests, clustered by image, whether the first place won both times as often as the second did.
    """
    if pairs.is_empty():
        return Swap(NO_SHARE, None, NO_SHARE, 0, 0, None)
    lead = pl.col("always_first").cast(pl.Int8) - pl.col("always_second").cast(pl.Int8)
    names = ("usable", "consistent", "both_right", "always_first", "always_second")
    values = {"n": pl.col("consistent").is_not_null(), "lead": lead, **{name: pl.col(name) for name in names}}
    sums = image_sums(pairs, [], values)
    usable, same, first, second = (
        int(sums.total(name)[0]) for name in ("usable", "consistent", "always_first", "always_second")
    )
    return Swap(
        share_of(sums.shares("consistent", "n")),
        same / usable if usable else None,
        share_of(sums.shares("both_right", "n")),
        first,
        second,
        mean_of(sums, "lead", "n")[1],
    )
