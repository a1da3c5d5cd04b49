"""Preferences of a judge that do not depend on the truth: for an option's position, and for
features that a shallow reader could use. The statistic is in ``statistics/bias_within_strata.py``.

A *preference* is half the difference between the judge's accuracy on questions where the option
with more of the feature is better and its accuracy where that option is worse. It is 0 for a judge
that ignores the feature and +½ for one that looks at nothing else, whichever answer is more common.
The two accuracies are compared **at equal difficulty**: within a task and a stratum of the margin
between the scores, with a linear correction for the margin inside the stratum. Without this, a fair
judge that is better at wide margins would seem to prefer any feature that goes with wide margins.
All features except the position itself are also compared at the same position, so that a preference
for a position is not mistaken for a preference for features that are often shown there. If the
order shown is not known, only the features are compared, at any position.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy import special

from visualjudge.analysis.accuracy_cells import (
    NOTHING_ASKED,
    Asked,
    ImageSums,
    asked_of,
    image_sums,
    mean_of,
    shares_asked,
    shares_together,
)
from visualjudge.analysis.estimate import TAIL, holm, renumbered, sums, too_few
from visualjudge.analysis.pairwise_figures import Pairwise, Preference, Swap, withheld
from visualjudge.analysis.statistics.bias_within_strata import Cases, lean
from visualjudge.analysis.study_table import more
from visualjudge.analysis.value_and_interval import NO_SHARE, Estimate, Share
from visualjudge.core.records import FloatArray, IntArray

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
    """Return the exact two-sided p-value of ``hits`` of ``n`` against ½."""
    return min(1.0, 2 * float(special.bdtr(min(hits, n - hits), n, 0.5))) if n else None


def _sides(table: pl.DataFrame, feature: str) -> pl.DataFrame:
    """Return the usable replies on questions whose options differ in the feature: whether the
    option with more of it is right, and whether the answer was right.
    """
    kept = table.select(
        "cluster", "pair", "task", "margin", "right", "first_right", more=_more(feature)
    )
    return kept.drop_nulls("more")


def _more(feature: str) -> str:
    return "first_right" if feature == "position" else more(feature)


def _cases(sides: pl.DataFrame, apart: bool) -> Cases:
    """Count the replies by pair and stratum. Strata split a task's margins into up to 5 parts."""
    held, pair = renumbered(sides["pair"].to_numpy())
    first = np.zeros(held.size, dtype=np.int64)
    first[pair[::-1]] = np.arange(pair.size)[::-1]
    pairs = sides[first].select(
        "cluster", "margin", task=pl.col("task").rank("dense").cast(pl.Int64)
    )
    margin, task = pairs["margin"].to_numpy(), pairs["task"].to_numpy()
    stratum = _strata(task, margin)
    kind = (
        4 * pair + 2 * sides["more"].to_numpy() + (sides["first_right"].to_numpy() if apart else 0)
    )
    n, right = (
        sums(kind, values, 4 * first.size)
        for values in (np.ones(kind.size), sides["right"].to_numpy())
    )
    known = np.flatnonzero(n)
    of, more = known // 4, known % 4 >= 2
    place = known % 2 == 1 if apart else None
    return Cases(
        stratum[of],
        pairs["cluster"].to_numpy()[of],
        of,
        more,
        margin[of],
        n[known],
        right[known],
        place,
    )


def _strata(task: IntArray, margin: FloatArray) -> IntArray:
    """Return a stratum number for each pair. The margins of each task are split in order into up to
    5 parts of at least 24 pairs each.
    """
    order = np.lexsort((margin, task))
    size = np.bincount(task)[task[order]]
    starts = np.cumsum(np.bincount(task)) - np.bincount(task)
    parts = np.clip(size // ITEMS_IN_STRATUM, 1, STRATA)
    out = np.empty(task.size, dtype=np.int64)
    out[order] = task[order] * STRATA + (np.arange(task.size) - starts[task[order]]) * parts // size
    return out


def preference(table: pl.DataFrame, feature: str) -> Preference:
    """Return a judge's preference for one feature, from the usable replies to pairwise
    questions.
    """
    sides = _sides(table, feature)
    images = sides["cluster"].n_unique()
    if sides.is_empty() or sides["more"].n_unique() < 2:
        return Preference(
            feature, PREFERRED[feature], None, Estimate(None, None, sides.height, images), None
        )
    placed = sides["first_right"].null_count() == 0
    found = lean(_cases(sides, apart=placed and feature != "position"))
    ends = found.ends()
    value = found.preference if np.isfinite(found.preference) else None
    if feature == "position" and ends and value:
        ends = _with_both_orders(sides, value, ends)
    figure = Estimate(value, ends, sides.height, images, None if ends else too_few())
    more, right = (sides[name].to_numpy() for name in ("more", "right"))
    crude = float(right[more].mean() - right[~more].mean()) / 2
    share = float((more == right).mean())
    return Preference(
        feature, PREFERRED[feature], share, figure, found.p() if ends else None, crude=crude
    )


def _with_both_orders(
    sides: pl.DataFrame, value: float, ends: tuple[float, float]
) -> tuple[float, float]:
    """Return ``ends`` of a position preference, with the end away from 0 moved outwards if pairs
    asked in both orders require it.

    A judge that is right except for its preference is wrong on few pairs, all on the same side.
    Sign flips then miss a larger preference in up to 10 % of cases with 20 images. On pairs
    answered in both orders, the preference is half the difference between the share in which the
    first position won both times and the share in which the second did. The interval of that
    difference is computed from those of the two shares (Donner & Zou 2012). The end towards 0 is
    unchanged, so that the interval and p agree.
    """
    turned = sides.group_by("pair", maintain_order=True).agg(
        pl.col("cluster").first(),
        lead=pl.col("right").filter("more").mean() - pl.col("right").filter(~pl.col("more")).mean(),
    )
    both = turned.drop_nulls("lead")
    if 2 * both.height < turned.height:
        return ends
    values = {
        "n": pl.lit(1.0),
        "first": pl.col("lead").clip(0, 1),
        "second": (-pl.col("lead")).clip(0, 1),
    }
    counted = image_sums(both, [], values)
    first, second = shares_together([(counted, name, "n") for name in ("first", "second")])
    leading, other = (first, second) if value > 0 else (second, first)
    reach = float(np.hypot(leading.high[0] - leading.value[0], other.value[0] - other.low[0])) / 2
    if np.isnan(reach):
        return ends
    if value > 0:
        return ends[0], min(0.5, max(ends[1], value + reach))
    return max(-0.5, min(ends[0], value - reach)), ends[1]


def with_swap(place: Preference, pairwise: Pairwise) -> Preference:
    """Return the preference for the option shown first; 0 by construction if every question has the
    same answer in both orders.

    A question whose answers differ shifts the preference by at most half its share, as does one
    that was asked or read in only one order.
    """
    swap = pairwise.swap
    if swap.consistency_parsed != 1:
        return place
    both = round((swap.consistency.value or 0.0) * swap.consistency.n)
    alone = 1 - both / max(pairwise.questions, both, 1)
    reach = min(0.5, (1 - TAIL ** (1 / both) + alone) / 2)
    found = place.estimate
    low, high = found.interval or (-reach, reach)
    ends = (max(-reach, -0.5 if low is None else low), min(reach, 0.5 if high is None else high))
    held = Estimate(found.value or 0.0, ends, found.n, swap.consistency.images)
    return replace(place, estimate=held)


def preferences(table: pl.DataFrame) -> tuple[Preference, ...]:
    """Return every preference of a judge, with p adjusted by Holm over the features; ``flagged``
    below 5 %.
    """
    told = map(_more, PREFERRED)
    usable = (
        table.lazy()
        .filter("parsed")
        .select("pair", "cluster", "task", "margin", "right", *told)
        .collect()
    )
    rows = [preference(usable, feature) for feature in PREFERRED]
    adjusted = holm([row.p for row in rows])
    return tuple(
        replace(row, p_holm=p, flagged=p is not None and p < LEVEL)
        for row, p in zip(rows, adjusted, strict=True)
    )


def both_orders(table: pl.DataFrame) -> pl.DataFrame:
    """Return one row per question (and repeat) asked in both orders, with the answer in each order
    and whether it was right.
    """
    keep = ["question", "repeat", "cluster", "task", "parsed", "text", "right"]
    rows = table.select(*keep, "order", withheld=withheld())
    ab, ba = (rows.filter(pl.col("order") == order).drop("order") for order in ("AB", "BA"))
    joined = ab.join(
        ba.drop("cluster", "task"), on=["question", "repeat"], suffix="_ba", maintain_order="left"
    )
    both = pl.col("parsed") & pl.col("parsed_ba")
    return joined.with_columns(
        usable=both,
        withheld=pl.col("withheld") & pl.col("withheld_ba"),
        consistent=both & (pl.col("text") == pl.col("text_ba")),
        both_right=pl.col("right") & pl.col("right_ba"),
        always_first=both & (pl.col("text") == "A") & (pl.col("text_ba") == "B"),
        always_second=both & (pl.col("text") == "B") & (pl.col("text_ba") == "A"),
    )


def swap_figures(pairs: pl.DataFrame) -> Swap:
    """Return results of asking in both orders, from rows as returned by :func:`both_orders`.

    ``p`` tests, clustered by image, whether the first and the second position win both times
    equally often.
    """
    found = swap_asked(pairs)
    return found.figures(shares_asked(found.asked))


@dataclass(frozen=True, eq=False)
class SwapAsked:
    """:func:`swap_figures` before its intervals are found; ``sums`` is None where nothing was asked
    in both orders.
    """

    sums: ImageSums | None
    rows: int

    @property
    def asked(self) -> list[Asked]:
        """The share consistent, and that right in both orders."""
        if self.sums is None:
            return [NOTHING_ASKED, NOTHING_ASKED]
        return [asked_of(self.sums, "consistent", "told"), asked_of(self.sums, "both_right", "n")]

    def figures(self, shares: Sequence[Share]) -> Swap:
        """All of it; ``shares``: those ``asked``."""
        if self.sums is None:
            return Swap(NO_SHARE, None, NO_SHARE, 0, 0, None)
        consistent, right = shares
        usable, same, first, second, held = (
            int(self.sums.total(name)[0])
            for name in ("usable", "consistent", "always_first", "always_second", "withheld")
        )
        return Swap(
            NO_SHARE if held == self.rows else consistent,
            same / usable if usable else None,
            right,
            first,
            second,
            mean_of(self.sums, "lead", "n")[1],
            held,
        )


def swap_asked(pairs: pl.DataFrame) -> SwapAsked:
    """:func:`swap_figures` before its intervals are found."""
    if pairs.is_empty():
        return SwapAsked(None, 0)
    lead = pl.col("always_first").cast(pl.Int8) - pl.col("always_second").cast(pl.Int8)
    names = ("usable", "consistent", "both_right", "always_first", "always_second", "withheld")
    asked = pl.col("consistent").is_not_null()
    values = {
        "n": asked,
        "told": ~pl.col("withheld"),
        "lead": lead,
        **{name: pl.col(name) for name in names},
    }
    return SwapAsked(image_sums(pairs, [], values), pairs.height)
