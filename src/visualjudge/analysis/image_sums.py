"""Sums by cell and image, from which every share in the report is computed. The
intervals are in ``estimate.py``. Tables of the answers they are summed from are in
``answers.py``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from visualjudge.analysis import estimate
from visualjudge.analysis.study_table import WORD, ordered
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.core.records import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class ImageSums:
    """Sums by cell and image, with one entry per cell and image: ``keys`` (one row per
    cell), the cell and image of each entry, and its sums by name.
    """

    keys: pl.DataFrame
    cell: IntArray
    cluster: IntArray
    columns: Mapping[str, FloatArray]

    @property
    def cells(self) -> int:
        """Number of cells."""
        return max(1, self.keys.height)

    def total(self, name: str) -> FloatArray:
        """Return the sums over images, one per cell."""
        return estimate.sums(self.cell, self.columns[name], self.cells)

    def shares(
        self,
        top: str,
        bottom: str,
        *,
        graded: bool = False,
        tail: float = estimate.TAIL,
    ) -> estimate.Shares:
        """Return each cell's share with its interval, ``tail`` beyond each end."""
        return estimate.shares(
            self.columns[top],
            self.columns[bottom],
            self.cell,
            self.cells,
            graded=graded,
            tail=tail,
        )

    def ratio(
        self, top: str, bottom: str
    ) -> tuple[FloatArray, estimate.Spread]:
        """Return each cell's Σ ``top`` / Σ ``bottom`` with its spread. The ratio may
        exceed 1."""
        selected = self.columns[bottom] > 0
        named = (self.columns[top][selected], self.columns[bottom][selected])
        return estimate.ratio(*named, self.cell[selected], self.cells)


def image_sums(
    table: pl.DataFrame,
    by: Sequence[str],
    values: Mapping[str, pl.Expr],
) -> ImageSums:
    """Sum ``values`` within each combination of ``by`` (sorted) and image. Nulls count
    as 0. If ``by`` is empty, all rows form one cell.
    """
    numbers = table.select(
        expr.cast(pl.Float64).fill_null(0.0).alias(name)
        for name, expr in values.items()
    )
    words = {name: ordered(table[name].cast(WORD)) for name in by}
    shape = (1, *(max(1, result.len()) for result, _ in words.values()))
    places = [
        np.zeros(table.height, dtype=np.int64),
        *(place for _, place in words.values()),
    ]
    codes, cell = estimate.renumbered(np.ravel_multi_index(places, shape))
    result = zip(
        words.items(),
        np.unravel_index(codes, shape)[1:],
        strict=True,
    )
    keys = {name: known[place] for (name, (known, _)), place in result}
    cluster = table["cluster"].to_numpy().astype(np.int64)
    images = int(cluster.max(initial=0)) + 1
    held, place = estimate.renumbered(cell * images + cluster)
    columns = {
        name: estimate.sums(place, numbers[name].to_numpy(), held.size)
        for name in values
    }
    return ImageSums(
        pl.DataFrame(keys or {"all": [0]}),
        held // images,
        held % images,
        columns,
    )


def gaps(
    sums: ImageSums, tail: float = estimate.TAIL
) -> list[tuple[Estimate, float | None]]:
    """Σ ``gap`` / Σ ``n`` of each cell, a difference of two shares of the same cases,
    of which ``apart`` differ, and its p; ``tail``: the probability beyond each end.
    """
    value, dispersion = sums.ratio("gap", "n")
    n = sums.total("n")
    apart = sums.total("apart")
    ends = estimate.gap_ends(value, dispersion, apart, n, tail)
    p = estimate.gap_p(value, dispersion, apart, n)
    return [
        (estimate_of(value, dispersion, ends, int(n[k]), k), known(p[k]))
        for k in range(n.size)
    ]


def estimate_of(
    value: FloatArray,
    result: estimate.Spread,
    ends: tuple[FloatArray, FloatArray],
    n: int,
    k: int = 0,
) -> Estimate:
    """Return figure ``k`` of a jackknife."""
    estimable = np.isfinite(ends[0][k]) and np.isfinite(ends[1][k])
    interval = (float(ends[0][k]), float(ends[1][k])) if estimable else None
    why = estimate.ALL_ALIKE if result.enough[k] else estimate.too_few()
    return Estimate(
        known(value[k]),
        interval,
        n,
        int(result.images[k]),
        None if estimable else why,
    )


def known(p: float) -> float | None:
    """Return a number, or None where it is not known."""
    return float(p) if np.isfinite(p) else None
