"""Sums by cell and image, from which every share in the report is computed. The
intervals are in ``statistics/estimate.py``.

A guess never picks a tie option that is the right answer to no question, so a pair
without right ties has a guessing accuracy of one half.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from visualjudge.analysis import estimate
from visualjudge.analysis.estimate import Shares, gap_ends, gap_p, ratio, shares
from visualjudge.analysis.pairwise_figures import OF_TWO, Accuracy
from visualjudge.analysis.study_table import WORD, Study, ordered, unchanged
from visualjudge.analysis.value_and_interval import NOTHING, Estimate
from visualjudge.core.records import FloatArray, IntArray

if TYPE_CHECKING:
    from visualjudge.analysis.scores import Ranking, Scoring


@dataclass(frozen=True)
class Cell:
    """One task, encoding, error type or margin, with ``keys`` in the order of its
    table's key columns.
    """

    keys: tuple[tuple[str, str], ...]
    accuracy: Accuracy
    ranking: Ranking | None = None
    scoring: Scoring | None = None

    @property
    def name(self) -> str:
        """The keys joined: ``object_detection/text_xyxy``."""
        return "/".join(value for _, value in self.keys)

    @property
    def without_truth(self) -> Cell:
        """The cell without what needs right answers."""
        scoring = self.scoring and self.scoring.without_truth
        return replace(
            self, accuracy=self.accuracy.without_truth, scoring=scoring
        )

    @property
    def graded(self) -> dict[str, Estimate]:
        """The main figures of its ranking and scoring questions, by title."""
        result = (
            {} if self.ranking is None else {"ranking, τ-b": self.ranking.tau}
        )
        if self.scoring is not None:
            result["scoring, τ-b in an image"] = self.scoring.within
            result["scoring, mean error"] = self.scoring.mae
        return result


NO_ACCURACY = Accuracy(NOTHING, 0, None, NOTHING, None, {})


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

    def shares(self, top: str, bottom: str, *, graded: bool = False) -> Shares:
        """Return each cell's share with its interval."""
        return shares(
            self.columns[top],
            self.columns[bottom],
            self.cell,
            self.cells,
            graded=graded,
        )

    def ratio(
        self, top: str, bottom: str
    ) -> tuple[FloatArray, estimate.Spread]:
        """Return each cell's Σ ``top`` / Σ ``bottom`` with its spread. The ratio may
        exceed 1."""
        selected = self.columns[bottom] > 0
        named = (self.columns[top][selected], self.columns[bottom][selected])
        return ratio(*named, self.cell[selected], self.cells)


def image_sums(
    table: pl.DataFrame, by: Sequence[str], values: Mapping[str, pl.Expr]
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
    result = zip(words.items(), np.unravel_index(codes, shape)[1:], strict=True)
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


def gaps(sums: ImageSums) -> list[tuple[Estimate, float | None]]:
    """Σ ``gap`` / Σ ``n`` of each cell, a difference of two shares of the same cases,
    of which ``apart`` differ, and its p.
    """
    value, dispersion = sums.ratio("gap", "n")
    n = sums.total("n")
    apart = sums.total("apart")
    ends = gap_ends(value, dispersion, apart, n)
    p = gap_p(value, dispersion, apart, n)
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
    why = estimate.all_alike() if result.enough[k] else estimate.too_few()
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


_COUNTS = {
    "n": pl.col("usable").is_not_null(),
    "right": pl.col("right"),
    "usable": pl.col("usable"),
    "said_first": pl.col("said_first"),
    "placed": pl.col("said_first").is_not_null(),
}


def causes(
    failed: pl.DataFrame, by: Sequence[str]
) -> dict[tuple[str, ...], dict[str, int]]:
    """Count failed replies by cause in each cell of ``by``."""
    failed = failed.group_by([*by, "cause"]).len().sort([*by, "cause"])
    out: dict[tuple[str, ...], dict[str, int]] = {}
    for row in failed.iter_rows():
        out.setdefault(tuple(map(str, row[: len(by)])), {})[str(row[-2])] = int(
            row[-1]
        )
    return out


def accuracy_cells(table: pl.DataFrame, by: Sequence[str]) -> tuple[Cell, ...]:
    """Return the accuracy of each cell of ``by``, with failed verdicts counted as
    wrong, and the accuracy if all of them had been right.
    """
    if table.is_empty():
        return ()
    sums = image_sums(table, by, _COUNTS)
    every = sums.shares("right", "n")
    read = sums.shares("right", "usable")
    totals = {name: sums.total(name) for name in _COUNTS}
    failed = causes(table.filter(~pl.col("usable")), by)
    rows = []
    for k, words in enumerate(sums.keys.rows()):
        keys = tuple(zip(by, words, strict=False))
        n, parsed, right = (
            totals[name][k] for name in ("n", "usable", "right")
        )
        accuracy = Accuracy(
            every[k],
            int(n - parsed),
            float(right + n - parsed) / float(n),
            read[k],
            float(totals["said_first"][k] / parsed)
            if totals["placed"][k]
            else None,
            failed.get(tuple(value for _, value in keys), {}),
        )
        rows.append(Cell(keys, accuracy))
    return tuple(rows)


def accuracy(table: pl.DataFrame) -> Accuracy:
    """Return the accuracy over all rows of ``table``."""
    rows = accuracy_cells(table, ())
    return rows[0].accuracy if rows else NO_ACCURACY


def guessed(questions: pl.DataFrame) -> float:
    """Return the accuracy of guessing: the mean over pairwise ``questions`` of the
    chance that a random choice among A, B and the ties is right. Ties count if the
    question allows them and they are the right answer to any of the questions. Returns
    ½ if there are no questions.
    """
    right = questions["answer"].unique().implode()
    return _share(
        questions, pl.col("ties").list.set_intersection(right).list.len()
    )


def guessed_among_allowed(questions: pl.DataFrame) -> float:
    """Like :func:`guessed`, but with all ties that a question allows. An accuracy curve
    starts at this value for a judge that answers "tie" for pairs that hardly differ.
    """
    return _share(questions, pl.col("ties").list.len())


def _share(questions: pl.DataFrame, ties: pl.Expr) -> float:
    result = questions.select((1 / (2 + ties.fill_null(0))).mean()).item()
    return OF_TWO if result is None else float(result)


def pairwise_asked(study: Study, run: int) -> pl.DataFrame:
    """Return task, allowed ties and answer of the pairwise questions that a run
    answered, without those that a probe changed.
    """
    asked = pl.Series(study.asked[run]).cast(study.questions.schema["question"])
    selected = (
        (pl.col("kind") == "pairwise")
        & unchanged()
        & pl.col("question").is_in(asked.implode())
    )
    return (
        study.questions.lazy()
        .filter(selected)
        .select("task", "ties", "answer")
        .collect()
    )


def by_task(table: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """Return the rows of each task, by its name, sorted."""
    parts = table.partition_by("task", as_dict=True)
    return sorted((str(task), part) for (task,), part in parts.items())
