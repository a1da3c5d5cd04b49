"""Agreement tables as published, beside the correct figure, so that numbers can be
compared.

``viescore``: Ku et al. 2024. A cell is the hyperbolic tangent of the *mean* of
Spearman's ρ over sources. A Fisher mean takes the tangent of the mean of arctanh ρ;
without the arctanh, every printed correlation is too small. The mean of ρ itself is
given beside it, as in `agreement`: arctanh 1 is infinite, so a single source could
decide a Fisher mean. A judge's list of scores counts as its minimum, each score
truncated to an integer. Items count if the judge gave both SC and PQ. The human score
is the mean over people. O is √(SC · PQ), for people computed per person, then averaged.
A constant judge has no cell.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from visualjudge.analysis.figure_text import number
from visualjudge.analysis.image_sums import known
from visualjudge.analysis.table_layout import (
    Column,
    Layout,
    as_named,
    named,
    of_row,
)
from visualjudge.core.errors import UsageError
from visualjudge.core.records import FloatArray

LEAST_ITEMS = 3
number4 = partial(number, digits=4)


@dataclass(frozen=True)
class PublishedCell:
    """One rater in one dimension: ρ of every source, the mean as published, and the
    mean of ρ.

    The published mean is None if some source has no ρ (it is NaN as published), and the
    mean if no source has one.
    """

    rater: str
    dimension: str
    kind: str
    published: float | None
    mean: float | None
    by_source: Mapping[str, float | None]
    items: int


PUBLISHED = Layout[PublishedCell](
    named("dimension", "Dimension"),
    named("rater", "Rater"),
    *as_named("kind", "items"),
    named("published", "As published", number4),
    Column("spearman", "mean", "Mean", number4),
    *as_named("by_source"),
    of_row("Sources", lambda cell: str(len(cell.by_source))),
)
NOTE = (
    "As published (viescore): tanh of the mean of Spearman's ρ over sources, which is "
    "too small. Mean: the mean of ρ."
)


def as_published(
    table: pl.DataFrame, judges: Sequence[str] = ()
) -> tuple[PublishedCell, ...]:
    """Return VIEScore's cells of a long table of ratings (``item, source, rater,
    dimension, score``, optional ``kind``).

    Raises
    ------
    UsageError
        If none of the raters is a judge.
    """
    of_judge = pl.col("rater").is_in(list(judges))
    if "kind" in table.columns:
        of_judge = of_judge | (pl.col("kind") == "judge").fill_null(False)
    judged = table.filter(of_judge)
    people = table.filter(~of_judge)
    if judged.is_empty():
        raise UsageError("--as-published needs a judge; name one with --judge")
    keys = ["item", "source", "dimension"]
    human = people.group_by(keys).agg(other=pl.col("score").mean())
    both = _cut(judged).join(human, on=keys, how="inner")
    cells = [
        _cell(str(rater), str(dimension), "judge", part)
        for (dimension, rater), part in sorted(
            both.group_by(["dimension", "rater"])
        )
    ]
    # each person beside the mean of the others
    raters = pl.len().over(keys)
    others = (pl.col("score").sum().over(keys) - pl.col("score")) / (raters - 1)
    asked = people.join(judged, on=["dimension", "source"], how="semi").filter(
        raters > 1
    )
    held = asked.with_columns(other=others.round(9))
    return (
        *cells,
        *(
            _cell("people", str(dimension), "people", part)
            for (dimension,), part in sorted(held.group_by(["dimension"]))
        ),
    )


def _cut(judged: pl.DataFrame) -> pl.DataFrame:
    """Return scores truncated to integers, only items with both parts, and O from the
    truncated parts.
    """
    split = judged.with_columns(
        task=pl.col("dimension").str.replace(r"/[^/]*$", ""),
        part=pl.col("dimension").str.extract(r"([^/]*)$"),
    )
    parts = split.filter(pl.col("part").is_in(["SC", "PQ"])).with_columns(
        pl.col("score").cast(pl.Int64).cast(pl.Float64)
    )
    if parts.is_empty():
        return judged
    keys = ["item", "source", "rater", "task"]
    wide = parts.group_by(keys).agg(
        SC=pl.col("score").filter(pl.col("part") == "SC").first(),
        PQ=pl.col("score").filter(pl.col("part") == "PQ").first(),
    )
    whole = wide.drop_nulls(["SC", "PQ"]).with_columns(
        O=(pl.col("SC") / 10 * (pl.col("PQ") / 10)).sqrt()
    )
    long = whole.unpivot(
        ["SC", "PQ", "O"], index=keys, variable_name="part", value_name="score"
    )
    return long.with_columns(dimension=pl.col("task") + "/" + pl.col("part"))


def _cell(
    rater: str, dimension: str, kind: str, part: pl.DataFrame
) -> PublishedCell:
    """Return the cell of one judge, or of all people, averaged over them in the same
    way."""
    collected = defaultdict[str, list[float]](list)
    for (source, _), ratings in sorted(
        part.sort("item").group_by(["source", "rater"])
    ):
        collected[str(source)].append(
            _rho(ratings["score"].to_numpy(), ratings["other"].to_numpy())
        )
    every = np.array([rho for rhos in collected.values() for rho in rhos])
    as_printed = np.tanh if kind == "people" else np.asarray
    by_source = {
        name: known(float(as_printed(np.mean(rhos))))
        for name, rhos in collected.items()
    }
    mean = (
        float(np.mean(every[np.isfinite(every)]))
        if np.isfinite(every).any()
        else None
    )
    items = part["item"].n_unique()
    published = known(np.tanh(np.mean(every)))
    return PublishedCell(
        rater, dimension, kind, published, mean, by_source, items
    )


def _rho(a: FloatArray, b: FloatArray) -> float:
    if a.size < LEAST_ITEMS or np.ptp(a) == 0 or np.ptp(b) == 0:
        return math.nan
    from scipy import stats  # takes half a second to import

    return float(stats.spearmanr(a, b)[0])
