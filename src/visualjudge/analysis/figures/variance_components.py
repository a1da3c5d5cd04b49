"""Components of the variance of verdicts: image, pair, encoding, order, repeat.
Intervals do not use them; they are in ``analysis/estimate.py``.

The variance components of a crossed random-effects model are estimated without bias
from products of two verdicts that share exactly the named factors (the method of
moments for unbalanced designs: Koch 1967). For verdicts y with mean μ: same encoding
only → μ² + encoding; same pair only → μ² + item; same pair and encoding, other order →
+ interaction; same order too, other repeat → + order; the verdict itself → + repeat.
Without repeats, chance cannot be separated from the order, and ``order`` contains both.
If no pair is shown in two encodings, ``item`` contains both the pair and its
interaction with the encoding. ``image`` is the part of ``item`` that all pairs of an
image share. Estimates can be slightly negative and are not truncated.

Intervals leave out each image in turn (jackknife).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import polars as pl

from visualjudge.analysis.estimate import mean_ends, spread, sums
from visualjudge.analysis.figures.figure_parts import (
    Column,
    Ends,
    JudgeFigure,
    JudgeResult,
    Layout,
    as_named,
    by_task,
)
from visualjudge.core.records import FloatArray, IntArray


@dataclass(frozen=True)
class Variance:
    """Components of the variance of single verdicts: item, encoding, item_x_encoding,
    order, repeat and ``image``, the part of ``item`` that all pairs of an image share;
    without those that the design cannot determine. ``order`` includes chance if nothing
    was repeated.
    """

    task: str
    n: int
    total: float
    parts: Mapping[str, float]
    ends: Mapping[str, Ends | None]


COMPONENTS = ("item", "encoding", "item_x_encoding", "order", "repeat")


def products(table: pl.DataFrame, keys: Sequence[str]) -> FloatArray:
    """Return Σ y·y′ over ordered pairs of verdicts that share ``keys``, also of a
    verdict with itself, and the number of these pairs: first of all verdicts, then
    without each image (0 to G - 1, in ``cluster``), (2, G + 1).
    """
    images = int(table["cluster"].max()) + 1  # type: ignore[arg-type]
    own = table.group_by(list(dict.fromkeys(["cluster", *keys]))).agg(
        s=pl.col("y").sum(), n=pl.len().cast(pl.Float64)
    )
    image = own["cluster"].to_numpy()
    parts = []
    for name in ("s", "n"):
        whole = pl.col(name).sum()
        every = own.select(
            own=name,
            every=whole.over(list(keys)) if keys else whole,
        )
        values, totals = (
            every[column].to_numpy() for column in ("own", "every")
        )
        whole_sum = float((values * totals).sum())
        # (Σ - s)² = Σ² + s (s - 2 Σ), summed over an image's cells
        without = whole_sum + sums(
            image, values * (values - 2 * totals), images
        )
        parts.append(np.append(whole_sum, without))
    return np.stack(parts)


def _mean(products: FloatArray) -> FloatArray:
    """Return the mean product, (G + 1,); NaN without products."""
    top, count = products
    return np.where(count > 0.5, top / np.maximum(count, 1), np.nan)


def _components(table: pl.DataFrame) -> dict[str, FloatArray]:
    """Return the components of all verdicts, then those without each image, (G + 1,);
    NaN if the design cannot determine them.
    """
    number = table["cluster"].rank("dense").cast(pl.Int64) - 1
    y = table.select(
        "pair",
        "encoding",
        "order",
        y=pl.col("right").cast(pl.Float64),
        cluster=number,
    )
    selected: tuple[list[str], ...]
    selected = (
        [],
        ["pair"],
        ["encoding"],
        ["pair", "encoding"],
        ["pair", "encoding", "order"],
    )
    (
        everything,
        item,
        encoding,
        cell,
        order,
    ) = (products(y, keys) for keys in selected)
    itself = products(y.with_row_index("row"), ["row"])
    apart = _mean(everything - item - encoding + cell)
    others = _mean(encoding - cell)
    of_pair = _mean(item - cell)
    unknown = np.full(apart.size, np.nan)
    levels = (_mean(cell - order), _mean(order - itself), _mean(itself))
    collected = {"item": of_pair - apart, "encoding": others - apart}
    if np.isnan(collected["item"][0]):
        collected |= _nested(others, ("item", "order", "repeat"), levels)
    else:
        base = others + collected["item"]
        collected |= _nested(
            base,
            ("item_x_encoding", "order", "repeat"),
            levels,
        )
    if sum(np.isfinite(values[0]) for values in collected.values()) < 2:
        return dict.fromkeys(COMPONENTS, unknown)
    out = {name: collected.get(name, unknown) for name in COMPONENTS}
    if np.isfinite(out["item"][0]):
        whole, styled = (
            products(y, ["cluster", *keys]) for keys in ([], ["encoding"])
        )
        outside = _mean(everything - whole - encoding + styled)
        out["image"] = _mean(whole - item - styled + cell) - outside
        if np.isnan(of_pair[0]):
            out["image"] = _mean(styled - cell) - _mean(encoding - styled)
    return out


def _nested(
    base: FloatArray, names: Sequence[str], levels: Sequence[FloatArray]
) -> dict[str, FloatArray]:
    """Return the differences of successive known levels. A level that the design lacks
    is merged into the next, coarser name. None is known if the ``base`` below the first
    level is not.
    """
    out: dict[str, FloatArray] = {}
    start = 0
    for place, value in enumerate(levels):
        if np.isfinite(value[0]) and np.isfinite(base[0]):
            out[names[start]] = value - base
            base = value
            start = place + 1
    return out


def _ends(values: FloatArray, n: IntArray) -> Ends | None:
    """Return the 95 % interval from the values without each image; None with too few
    images."""
    influence = values[0] - values[1:]
    if not np.isfinite(influence).all():
        return None
    dispersion = spread(influence, n.astype(float))
    low, high = mean_ends(values[:1], dispersion)
    return (float(low[0]), float(high[0])) if np.isfinite(low[0]) else None


def variance_row(table: pl.DataFrame, task: str) -> Variance:
    """Return the components with their total and their intervals (negative components
    count as 0 in the total, and the image's is a part of the pair's).
    """
    result = _components(table)
    known = {
        name: values
        for name, values in result.items()
        if np.isfinite(values[0])
    }
    parts = {name: float(values[0]) for name, values in known.items()}
    total = sum(max(0.0, parts.get(name, 0.0)) for name in COMPONENTS)
    n = np.bincount(
        table["cluster"].rank("dense").cast(pl.Int64).to_numpy() - 1
    )
    ends = {name: _ends(values, n) for name, values in known.items()}
    return Variance(task, table.height, total, parts, ends)


def _part(name: str) -> tuple[Column, Column]:
    def share(row: Variance) -> float | None:
        return (
            max(0.0, row.parts[name]) / row.total
            if name in row.parts and row.total
            else None
        )

    return (
        Column(name, lambda v: v.parts.get(name)),
        Column(f"{name}_share", share),
    )


COLUMNS = Layout[Variance](
    *as_named("task", "n"),
    *chain.from_iterable(map(_part, COMPONENTS)),
    *as_named("total"),
    Column("image", lambda v: v.parts.get("image")),
    Column("ci95", "ends"),
)


def _rows(judge: JudgeResult) -> tuple[Variance, ...]:
    names = pl.col("sources").list.eval(pl.element().cast(pl.String))
    sources = judge.study.questions.select(
        "question", names.list.sort().list.join("|")
    )
    pairs = judge.pairs.join(sources, on="question", maintain_order="left")
    needed = pairs.select(
        "task", "cluster", "pair", "encoding", "order", "right", "sources"
    )
    return tuple(variance_row(part, task) for task, part in by_task(needed))


VARIANCE = JudgeFigure(
    "variance",
    _rows,
    COLUMNS,
    needs={"truth"},
    place=150,
)
"""In files only: with few images its shares are too uncertain for a page."""
