"""Agreement tables as published, beside the correct figure, so that numbers can be compared.

``viescore``: Ku et al. 2024. A cell is the hyperbolic tangent of the *mean* of Spearman's ρ over
sources. A Fisher mean takes the tangent of the mean of arctanh ρ; without the arctanh, every
printed correlation is too small. The mean of ρ itself is given beside it, as in `agreement`:
arctanh 1 is infinite, so a single source could decide a Fisher mean. A judge's list of scores
counts as its minimum, each score truncated to an integer. Items count if the judge gave both SC and
PQ. The human score is the mean over people. O is √(SC · PQ), for people computed per person, then
averaged. A constant judge has no cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from visualjudge.analysis import table_layout
from visualjudge.analysis.figure_text import number
from visualjudge.analysis.table_layout import Column, as_named, of_row
from visualjudge.core.errors import UsageError
from visualjudge.core.records import FloatArray

LEAST_ITEMS = 3
number4 = partial(number, digits=4)


@dataclass(frozen=True)
class PublishedCell:
    """One rater in one dimension: ρ of every source, the mean as published, and the mean of ρ.

    The published mean is None if some source has no ρ (it is NaN as published), and the mean if no
    source has one.
    """

    rater: str
    dimension: str
    kind: str
    published: float | None
    mean: float | None
    by_source: Mapping[str, float | None]
    items: int


PUBLISHED: table_layout.Table[PublishedCell] = table_layout.Table(
    (
        Column("dimension", "dimension", "Dimension", text=True),
        Column("rater", "rater", "Rater", text=True),
        *as_named("kind", "items"),
        Column("published", "published", "As published", number4),
        Column("spearman", "mean", "Mean", number4),
        Column("by_source", "by_source"),
        of_row("Sources", lambda cell: str(len(cell.by_source))),
    )
)
NOTE = (
    "As published (viescore): tanh of the mean of Spearman's ρ over sources, which is too small. "
    "Mean: the mean of ρ."
)


def as_published(table: pl.DataFrame, judges: Sequence[str] = ()) -> tuple[PublishedCell, ...]:
    """Return VIEScore's cells of a long table of ratings (``item, source, rater, dimension,
    score``, optional ``kind``).

    Raises
    ------
    UsageError
        If none of the raters is a judge.
    """
    of_judge = pl.col("rater").is_in(list(judges))
    if "kind" in table.columns:
        of_judge = of_judge | (pl.col("kind") == "judge").fill_null(False)
    judged, people = table.filter(of_judge), table.filter(~of_judge)
    if judged.is_empty():
        raise UsageError("--as-published needs a judge; name one with --judge")
    human = people.group_by("item", "source", "dimension").agg(human=pl.col("score").mean())
    both = _cut(judged).join(human, on=["item", "source", "dimension"], how="inner")
    cells = [
        _cell(
            str(rater), str(dimension), "judge", part.select("source", "item", a="score", b="human")
        )
        for (rater, dimension), part in sorted(
            both.group_by(["rater", "dimension"]), key=lambda pair: str(pair[0][::-1])
        )
    ]
    asked = judged.select("dimension", "source").unique()
    return (*cells, *_persons(people.join(asked, on=["dimension", "source"], how="semi")))


def _cut(judged: pl.DataFrame) -> pl.DataFrame:
    """Return scores truncated to integers, only items with both parts, and O from the truncated
    parts.
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
    long = whole.unpivot(["SC", "PQ", "O"], index=keys, variable_name="part", value_name="score")
    return long.with_columns(dimension=pl.col("task") + "/" + pl.col("part"))


def _persons(people: pl.DataFrame) -> list[PublishedCell]:
    """Compare each person with the mean of the others, then average over people in the same way,
    one figure per source.
    """
    keys = ["item", "source", "dimension"]
    total = people.group_by(keys).agg(total=pl.col("score").sum(), raters=pl.len())
    others = people.join(total, on=keys).filter(pl.col("raters") > 1)
    held = others.with_columns(b=(pl.col("total") - pl.col("score")) / (pl.col("raters") - 1))
    cells = []
    for (dimension,), part in sorted(held.group_by(["dimension"])):
        found: dict[str, list[float]] = {}
        for (source, _), ratings in sorted(part.group_by(["source", "rater"])):
            rho = _rho(ratings["score"].to_numpy(), ratings["b"].round(9).to_numpy())
            found.setdefault(str(source), []).append(float("nan") if rho is None else rho)
        by_source = {source: _number(np.tanh(np.mean(values))) for source, values in found.items()}
        every = [value for values in found.values() for value in values]
        means = (_number(np.tanh(np.mean(every))), _mean(every))
        cells.append(
            PublishedCell(
                "people", str(dimension), "people", *means, by_source, part["item"].n_unique()
            )
        )
    return cells


def _cell(rater: str, dimension: str, kind: str, part: pl.DataFrame) -> PublishedCell:
    by_source = {
        str(source): _rho(ratings["a"].to_numpy(), ratings["b"].to_numpy())
        for (source,), ratings in sorted(
            part.sort("item").group_by(["source"], maintain_order=True)
        )
    }
    values = [float("nan") if value is None else value for value in by_source.values()]
    published = _number(np.tanh(np.mean(values))) if values else None
    return PublishedCell(
        rater, dimension, kind, published, _mean(values), by_source, part["item"].n_unique()
    )


def _rho(a: FloatArray, b: FloatArray) -> float | None:
    if a.size < LEAST_ITEMS or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    from scipy import stats  # takes half a second to import

    return float(stats.spearmanr(a, b)[0])


def _mean(values: Sequence[float]) -> float | None:
    known = [value for value in values if np.isfinite(value)]
    return float(np.mean(known)) if known else None


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
