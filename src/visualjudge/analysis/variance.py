"""Where the spread of right and wrong comes from: the pair, the encoding, both together, the order, the repeat.

Variance components of a crossed random-effects model, estimated without bias from products of two verdicts that share
exactly the named things (the method of moments for unbalanced designs: Koch 1967). For verdicts y with mean μ:
same encoding only → μ² + encoding; same pair only → μ² + item; same pair and encoding, other order → + interaction;
same order too, other repeat → + order; the verdict itself → + repeat. Without repeats, chance cannot be told from the
order, and ``order`` is order and chance together. Where no pair is shown in two encodings, ``item`` is the pair and
what it does in its encoding together. Estimates can be slightly negative; they are given as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from visualjudge.analysis.figures import Variance

COMPONENTS = ("item", "encoding", "item_x_encoding", "order", "repeat")
Pairs = tuple[float, float]


def ordered_pairs(table: pl.DataFrame, same: Sequence[str]) -> Pairs:
    """Of the column ``y``: Σ y·y′ and the number of ordered pairs (a verdict with itself among them) that share ``same``."""
    keys = list(same)
    sums = (
        table.group_by(keys, maintain_order=True).agg(s=pl.col("y").sum(), n=pl.len())
        if keys
        else table.select(s=pl.col("y").sum(), n=pl.len())
    )
    squares = sums.select((pl.col("s") ** 2).sum(), (pl.col("n").cast(pl.Float64) ** 2).sum()).row(0)
    return float(squares[0] or 0), float(squares[1] or 0)


def _mean(*signed: tuple[int, Pairs]) -> float | None:
    top = sum(sign * pair[0] for sign, pair in signed)
    count = sum(sign * pair[1] for sign, pair in signed)
    return top / count if count > 0.5 else None


def _less(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a - b


def variance_components(table: pl.DataFrame) -> dict[str, float | None]:
    """Components of one judge and task; None where the design does not tell (no swap, no repeat, one encoding).

    A component that cannot be told apart stays inside the finest one that can: without repeats, ``order`` holds the
    rest; without the other order too, ``item_x_encoding`` does. All are None where nothing can be told apart.
    """
    y = table.select("pair", "encoding", "order", y=pl.col("right").cast(pl.Float64))
    everything, item = ordered_pairs(y, []), ordered_pairs(y, ["pair"])
    encoding, cell = ordered_pairs(y, ["encoding"]), ordered_pairs(y, ["pair", "encoding"])
    order = ordered_pairs(y, ["pair", "encoding", "order"])
    itself: Pairs = (float(y.select((pl.col("y") ** 2).sum()).item() or 0), float(y.height))
    apart = _mean((1, everything), (-1, item), (-1, encoding), (1, cell))
    others = _mean((1, encoding), (-1, cell))
    found = {"item": _less(_mean((1, item), (-1, cell)), apart), "encoding": _less(others, apart)}
    levels = (_mean((1, cell), (-1, order)), _mean((1, order), (-1, itself)), _mean((1, itself)))
    if found["item"] is None:
        found |= _nested(others, ("item", "order", "repeat"), levels)
    else:
        base = None if apart is None or others is None else others + found["item"]
        found |= _nested(base, ("item_x_encoding", "order", "repeat"), levels)
    told = sum(value is not None for value in found.values())
    return {name: found.get(name) if told > 1 else None for name in COMPONENTS}


def _nested(base: float | None, names: Sequence[str], levels: Sequence[float | None]) -> dict[str, float | None]:
    """Differences of successive known levels; a level that the design lacks is merged into the next, coarser name.

    All are None where the ``base`` below the first level is not known.
    """
    out: dict[str, float | None] = dict.fromkeys(names)
    if base is None:
        return out
    start = 0
    for place, value in enumerate(levels):
        if value is not None:
            out[names[start]] = value - base
            base, start = value, place + 1
    return out


def variance_row(table: pl.DataFrame, task: str) -> Variance:
    """Components with their total and the shares of it (negative components count as 0 in the shares)."""
    parts = variance_components(table)
    positive = {name: max(0.0, value) for name, value in parts.items() if value is not None}
    total = sum(positive.values())
    shares = {name: positive[name] / total if name in positive and total > 0 else None for name in COMPONENTS}
    return Variance(task=task, n=table.height, total=total, shares=shares, **parts)
