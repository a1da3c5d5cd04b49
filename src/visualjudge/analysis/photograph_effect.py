"""Does a judge need the photograph? Pairs asked as they are, over uniform grey, and over another
photograph.

A question whose photograph is replaced keeps its predictions, prompt and answer, so what a judge
still gets right comes from the predictions alone. The gain is the accuracy with the photograph
minus that over grey on the same pairs, with the interval of a paired difference clustered by image
(:func:`~visualjudge.analysis.statistics.paired.gap_ends`). A reply that failed is wrong.

A judge *needs* the photograph if the 95 % interval of the gain is above 0, over grey and over
another photograph. It
*does not need* it if one of the two 90 % intervals ends below the margin of 15 points (two
one-sided tests at 5 %; Schuirmann 1987): a judge that only declines to answer over grey is found by
the other photograph.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from visualjudge.analysis.accuracy_cells import estimate_of, image_sums, share_of
from visualjudge.analysis.photograph_figures import Photograph, PhotographNeed, Without
from visualjudge.analysis.statistics import jackknife
from visualjudge.analysis.statistics.paired import gap_ends
from visualjudge.analysis.statistics.share_intervals import ratio_influence

GREY, OTHER = "grey", "other"
ONE_SIDED = 0.05


def photograph_need(answered: pl.DataFrame) -> PhotographNeed | None:
    """What a judge gains from the photograph; None where it was not asked without.

    ``answered``: one row a verdict, as :func:`visualjudge.analysis.study_table.join` makes it.
    """
    asked = answered.filter(pl.col("probe_design") == "photograph")
    if asked.is_empty():
        return None
    control = answered.filter(pl.col("probe_design") == "control")
    keys = ["probe_group", "order", "repeat"]
    pairs = asked.select(*keys, "task", "cluster", "right", name="probe_name").join(
        control.select(*keys, "right"), on=keys, suffix="_seen"
    )
    if pairs.is_empty():
        return None
    parts = pairs.partition_by("task", as_dict=True, maintain_order=True)
    return PhotographNeed(
        _need("all", pairs),
        tuple(_need(str(task), part) for (task,), part in sorted(parts.items())),
    )


def _need(task: str, pairs: pl.DataFrame) -> Photograph:
    grey, other = (_without(pairs.filter(pl.col("name") == name)) for name in (GREY, OTHER))
    return Photograph(task, grey, other)


def _without(pairs: pl.DataFrame) -> Without | None:
    if pairs.is_empty():
        return None
    seen, blind = pl.col("right_seen"), pl.col("right")
    values = {
        "n": blind.is_not_null(),
        "seen": seen,
        "blind": blind,
        "gap": seen.cast(pl.Int8) - blind.cast(pl.Int8),
        "apart": seen != blind,
    }
    sums = image_sums(pairs, [], values)
    weights, nowhere = sums.columns["n"], np.zeros(sums.cluster.size, dtype=np.int64)
    value, influence = ratio_influence(sums.columns["gap"], weights, nowhere, 1)
    found = jackknife.spread(influence, weights, nowhere, 1)
    apart, n = sums.total("apart"), sums.total("n")
    gain = estimate_of(value, found, gap_ends(value, found, apart, n), pairs.height)
    low, high = gap_ends(value, found, apart, n, tail=ONE_SIDED)
    inner = (float(low[0]), float(high[0])) if gain.interval else None
    seen_share, blind_share = (share_of(sums.shares(name, "n")) for name in ("seen", "blind"))
    return Without(seen_share, blind_share, gain, inner, pairs["probe_group"].n_unique())
