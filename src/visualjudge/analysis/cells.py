"""Sums by cell and image: what every share in the report is made of, and what its bootstrap resamples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from visualjudge.analysis.bootstrap import Interval, Resampling, share_interval
from visualjudge.records import FloatArray

MARGINS = (0.5, 1.0, 2.0, 3.0, 5.0)
MARGIN_LABELS = ("0-0.5", "0.5-1", "1-2", "2-3", "3-5", "5-10")


@dataclass(frozen=True, eq=False)
class Cells:
    """Sums by cell: ``keys`` (one row a cell), and for each value its sums as a clusters × cells sparse array."""

    keys: pl.DataFrame
    columns: Mapping[str, Any]
    images: FloatArray

    def total(self, name: str) -> FloatArray:
        """The sums over images, one a cell."""
        return np.asarray(self.columns[name].sum(0)).ravel()


def cell_sums(table: pl.DataFrame, by: Sequence[str], values: Mapping[str, pl.Expr], clusters: int) -> Cells:
    """Sum ``values`` within each combination of ``by`` (sorted) and image. Nulls add nothing."""
    named = [expr.cast(pl.Float64).sum().alias(name) for name, expr in values.items()]
    frame = table.lazy().with_columns(pl.lit(0).alias("__all"))
    keys = list(by) or ["__all"]
    sums = frame.group_by([*keys, "cluster"], maintain_order=True).agg(named).collect()
    cells = sums.select(keys).unique().sort(keys)
    placed = sums.join(cells.with_row_index("__cell"), on=keys, how="left", nulls_equal=True)
    where = (placed["cluster"].to_numpy(), placed["__cell"].to_numpy())
    shape = (clusters, max(1, cells.height))
    columns = {name: sparse.csr_array((placed[name].to_numpy(), where), shape=shape) for name in values}
    images = np.bincount(where[1], minlength=shape[1]).astype(float)
    return Cells(cells.select(list(by)) if by else cells, columns, images)


def share_rows(
    cells: Cells, top: str, bottom: str, resampling: Resampling
) -> list[tuple[float | None, Interval | None]]:
    """Each cell's share and its interval; None where the cell has nothing to divide by."""
    draws = resampling.ratios(cells.columns[top], cells.columns[bottom])
    out: list[tuple[float | None, Interval | None]] = []
    for i, (k, n, images) in enumerate(zip(cells.total(top), cells.total(bottom), cells.images, strict=True)):
        share = float(k / n) if n else None
        out.append((share, None if share is None else share_interval(draws[:, i], share, int(images))))
    return out


def margin_bin() -> pl.Expr:
    """The width between the options' scores as one of MARGIN_LABELS (left-open: 0-0.5 holds 0.5)."""
    place = pl.sum_horizontal([(pl.col("margin") > edge).cast(pl.Int8) for edge in MARGINS])
    return place.replace_strict(dict(enumerate(MARGIN_LABELS)), return_dtype=pl.String)


_PAIRWISE = {
    "n": pl.col("parsed").is_not_null(),
    "right": pl.col("right"),
    "failed": ~pl.col("parsed"),
    "parsed": pl.col("parsed"),
    "said_first": pl.col("said_first"),
    "hopeful": pl.col("right") | ~pl.col("parsed"),
}


def pairwise_cells(table: pl.DataFrame, by: Sequence[str], resampling: Resampling) -> list[dict[str, Any]]:
    """Accuracy of each cell of ``by``: a failed verdict is wrong; and what it would be had the failed been right."""
    if table.is_empty():
        return []
    cells = cell_sums(table, by, _PAIRWISE, resampling.clusters)
    shares = share_rows(cells, "right", "n", resampling)
    totals = {name: cells.total(name) for name in _PAIRWISE}
    rows = []
    for i, key in enumerate(cells.keys.to_dicts()):
        n, parsed = totals["n"][i], totals["parsed"][i]
        rows.append(
            {
                **({name: key[name] for name in by}),
                "n": int(n),
                "images": int(cells.images[i]),
                "accuracy": shares[i][0],
                "ci95": shares[i][1],
                "failed": int(totals["failed"][i]),
                "accuracy_bounds": (float(totals["right"][i] / n), float(totals["hopeful"][i] / n)),
                "accuracy_parsed": float(totals["right"][i] / parsed) if parsed else None,
                "answered_a": float(totals["said_first"][i] / parsed) if parsed else None,
            }
        )
    return rows
