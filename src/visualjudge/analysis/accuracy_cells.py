"""Sums by cell and image: what every share in the report is made of. Intervals:
``statistics/share_intervals.py``.

What a guess gets: a tie that a question allows and that is right for no question gives a guess no
chance: who never chooses it is right in half of the pairs without looking.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import polars as pl

from visualjudge.analysis.figures import Cell
from visualjudge.analysis.pairwise_figures import OF_TWO, Accuracy
from visualjudge.analysis.statistics import jackknife
from visualjudge.analysis.statistics.share_intervals import Shares, ratio, shares
from visualjudge.analysis.study_table import WORD, Study, ordered, unchanged
from visualjudge.analysis.value_and_interval import NO_SHARE, Estimate, Share
from visualjudge.core.records import FloatArray, IntArray

MARGINS = (0.5, 1.0, 2.0, 3.0, 5.0)
MARGIN_LABELS = ("0-0.5", "0.5-1", "1-2", "2-3", "3-5", "5-10")
NO_ACCURACY = Accuracy(NO_SHARE, 0, None, NO_SHARE, None, {})


@dataclass(frozen=True, eq=False)
class ImageSums:
    """One entry a cell and image: ``keys`` (one row a cell), the entry's cell and image, and its
    sums by name.
    """

    keys: pl.DataFrame
    cell: IntArray
    cluster: IntArray
    columns: Mapping[str, FloatArray]

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return max(1, self.keys.height)

    def total(self, name: str) -> FloatArray:
        """The sums over images, one a cell."""
        return jackknife.sums(self.cell, self.columns[name], self.cells)

    def shares(self, top: str, bottom: str, *, whole: bool = True) -> Shares:
        """Each cell's share with its interval."""
        return shares(self.columns[top], self.columns[bottom], self.cell, self.cells, whole=whole)

    def ratio(self, top: str, bottom: str) -> tuple[FloatArray, jackknife.Spread]:
        """Each cell's Σ ``top`` / Σ ``bottom``, which need be no share, with its spread."""
        kept = self.columns[bottom] > 0
        named = (self.columns[top][kept], self.columns[bottom][kept])
        return ratio(*named, self.cell[kept], self.cells)


def image_sums(table: pl.DataFrame, by: Sequence[str], values: Mapping[str, pl.Expr]) -> ImageSums:
    """Sum ``values`` within each combination of ``by`` (sorted) and image. Nulls add nothing."""
    numbers = table.select(
        expr.cast(pl.Float64).fill_null(0.0).alias(name) for name, expr in values.items()
    )
    return _sums(
        {name: ordered(table[name]) for name in by},
        by,
        table["cluster"].to_numpy().astype(np.int64),
        {name: numbers[name].to_numpy() for name in values},
    )


def _sums(
    keys: Mapping[str, tuple[pl.Series, IntArray]],
    by: Sequence[str],
    cluster: IntArray,
    values: Mapping[str, FloatArray],
) -> ImageSums:
    """``values`` of each row summed by cell and image; ``keys``: the words of each column of
    ``by``, and the place of each row's word.
    """
    cells, cell = _cells(keys, by, cluster.size)
    images = int(cluster.max(initial=0)) + 1
    held, place = jackknife.renumbered(cell * images + cluster)
    columns = {name: jackknife.sums(place, row, held.size) for name, row in values.items()}
    return ImageSums(cells, held // images, held % images, columns)


def _cells(
    keys: Mapping[str, tuple[pl.Series, IntArray]], by: Sequence[str], rows: int
) -> tuple[pl.DataFrame, IntArray]:
    """The combinations of ``by`` that occur, sorted, and the one of each row; one of all rows where
    ``by`` is empty.
    """
    if not by:
        return pl.DataFrame({"all": [0]}), np.zeros(rows, dtype=np.int64)
    code = np.zeros(rows, dtype=np.int64)
    for name in by:
        words, place = keys[name]
        code = code * words.len() + place
    held, cell = jackknife.renumbered(code)
    found = []
    for name in reversed(by):
        words, _ = keys[name]
        found.append(words[held % words.len()])
        held = held // words.len()
    return pl.DataFrame(dict(zip(by, reversed(found), strict=True))), cell


def share_of(found: Shares, k: int = 0) -> Share:
    """Share ``k`` as a figure."""
    value = float(found.value[k])
    known = value if np.isfinite(value) else None
    return Share(known, found.interval(k), int(found.cases[k]), int(found.images[k]), found.why(k))


def mean_of(sums: ImageSums, top: str, bottom: str) -> tuple[Estimate, float | None]:
    """Σ top / Σ bottom of sums without cells, for values without bounds, and the p of its being
    0.
    """
    value, found = sums.ratio(top, bottom)
    n = int(sums.total(bottom)[0])
    return estimate_of(value, found, jackknife.mean_ends(value, found), n), test_of(value, found)


def means_of(sums: ImageSums, top: str, bottom: str) -> list[Estimate]:
    """Σ top / Σ bottom of each cell, for values without bounds."""
    value, found = sums.ratio(top, bottom)
    ends = jackknife.mean_ends(value, found)
    return [estimate_of(value, found, ends, int(n), k) for k, n in enumerate(sums.total(bottom))]


def estimate_of(
    value: FloatArray,
    found: jackknife.Spread,
    ends: tuple[FloatArray, FloatArray],
    n: int,
    k: int = 0,
) -> Estimate:
    """Figure ``k`` of a jackknife."""
    known = float(value[k]) if np.isfinite(value[k]) else None
    told = np.isfinite(ends[0][k]) and np.isfinite(ends[1][k])
    interval = (float(ends[0][k]), float(ends[1][k])) if told else None
    why = None if told else jackknife.FEW if not jackknife.enough(found)[k] else jackknife.ALIKE
    return Estimate(known, interval, n, int(found.images[k]), why)


def test_of(value: FloatArray, found: jackknife.Spread, k: int = 0) -> float | None:
    """The two-sided p of figure ``k``."""
    p = float(jackknife.test(value, found)[k])
    return p if np.isfinite(p) else None


def margin_bin() -> pl.Expr:
    """The width between the options' scores as one of MARGIN_LABELS (left-open: 0-0.5 holds
    0.5).
    """
    place = pl.sum_horizontal([(pl.col("margin") > edge).cast(pl.Int8) for edge in MARGINS])
    return place.replace_strict(dict(enumerate(MARGIN_LABELS)), return_dtype=pl.String)


_COUNTS = ("n", "right", "parsed", "said_first", "placed")
CELL = ("task", "encoding", "error_type", "margin_bin")
"""What verdicts are counted by."""


@dataclass(frozen=True, eq=False)
class Counted:
    """What each verdict of a judge counts for, its image, its word of each key, and the failed
    ones: all tables of accuracies come from it.
    """

    rows: int
    keys: Mapping[str, tuple[pl.Series, IntArray]]
    cluster: IntArray
    counts: Mapping[str, FloatArray]
    failed: pl.DataFrame


def counted(table: pl.DataFrame, by: Sequence[str] = CELL) -> Counted:
    """Pairwise verdicts counted by ``by`` and image."""
    counts = table.select(
        pl.lit(1.0).alias("n"),
        *(pl.col(name).cast(pl.Float64).fill_null(0.0) for name in _COUNTS[1:4]),
        pl.col("said_first").is_not_null().cast(pl.Float64).alias("placed"),
    )
    return Counted(
        table.height,
        {name: ordered(table[name].cast(WORD)) for name in by},
        table["cluster"].to_numpy().astype(np.int64),
        {name: counts[name].to_numpy() for name in _COUNTS},
        table.filter(~pl.col("parsed")).select(*by, "cause"),
    )


def causes(failed: pl.DataFrame, by: Sequence[str]) -> dict[tuple[str, ...], dict[str, int]]:
    """Failed replies by cause, in each cell of ``by``."""
    if failed.is_empty():
        return {}
    failed = failed.group_by([*by, "cause"]).len().sort([*by, "cause"])
    out: dict[tuple[str, ...], dict[str, int]] = {}
    for row in failed.iter_rows():
        out.setdefault(tuple(map(str, row[: len(by)])), {})[str(row[-2])] = int(row[-1])
    return out


def accuracy_cells(verdicts: Counted, by: Sequence[str]) -> tuple[Cell, ...]:
    """Accuracy of each cell of ``by``: a failed verdict is wrong; and what it would be had the
    failed been right.
    """
    return accuracy_tables([verdicts], [by])[0][0]


def accuracy_tables(
    judges: Sequence[Counted], tables: Sequence[Sequence[str]]
) -> list[list[tuple[Cell, ...]]]:
    """:func:`accuracy_cells` of each judge by each of ``tables``; all intervals are found by the
    same steps.
    """
    made = [
        _sums(judge.keys, by, judge.cluster, judge.counts)
        for judge in judges
        if judge.rows
        for by in tables
    ]
    found = iter(shares_together([(sums, "right", of) for sums in made for of in ("n", "parsed")]))
    parts = iter(made)
    return [
        [
            _accuracies(next(parts), next(found), next(found), judge.failed, by)
            if judge.rows
            else ()
            for by in tables
        ]
        for judge in judges
    ]


def shares_together(
    asked: Sequence[tuple[ImageSums, str, str]], *, whole: bool = True
) -> list[Shares]:
    """:meth:`ImageSums.shares` of each of ``asked`` (sums, top, bottom), found by the same steps,
    which takes far less time than one after the other.
    """
    if not asked:
        return []
    starts = np.cumsum([0, *(sums.cells for sums, _, _ in asked)])
    found = shares(
        np.concatenate([sums.columns[top] for sums, top, _ in asked]),
        np.concatenate([sums.columns[bottom] for sums, _, bottom in asked]),
        np.concatenate(
            [sums.cell + start for (sums, _, _), start in zip(asked, starts[:-1], strict=True)]
        ),
        int(starts[-1]),
        whole=whole,
    )
    return [found.part(*ends) for ends in pairwise(starts.tolist())]


def _accuracies(
    sums: ImageSums, all_of_them: Shares, read: Shares, failed_ones: pl.DataFrame, by: Sequence[str]
) -> tuple[Cell, ...]:
    totals, failed = {name: sums.total(name) for name in _COUNTS}, causes(failed_ones, by)
    words = [sums.keys[name].cast(pl.String).to_list() for name in by]
    rows = []
    for k in range(sums.cells):
        keys = tuple((name, word[k]) for name, word in zip(by, words, strict=True))
        n, parsed, right = (totals[name][k] for name in ("n", "parsed", "right"))
        accuracy = Accuracy(
            share_of(all_of_them, k),
            int(n - parsed),
            float(right + n - parsed) / float(n),
            share_of(read, k),
            float(totals["said_first"][k] / parsed) if totals["placed"][k] else None,
            failed.get(tuple(value for _, value in keys), {}),
        )
        rows.append(Cell(keys, accuracy))
    return tuple(rows)


def accuracy(table: pl.DataFrame) -> Accuracy:
    """Accuracy of all of ``table``."""
    rows = accuracy_cells(counted(table, ()), ())
    return rows[0].accuracy if rows else NO_ACCURACY


@dataclass(frozen=True, eq=False)
class Asked:
    """A share whose interval is found together with those of others: the sums of its cases, one
    entry an image. ``why``: the reason for which it has no interval; ``n``: its cases, where their
    weights do not add up to them.
    """

    top: FloatArray
    bottom: FloatArray
    squares: FloatArray
    why: str | None = None
    n: int | None = None


_NONE = np.empty(0)
NOTHING_ASKED = Asked(_NONE, _NONE, _NONE)


def asked_of(sums: ImageSums, top: str, bottom: str) -> Asked:
    """Σ ``top`` / Σ ``bottom`` of sums without cells."""
    return Asked(sums.columns[top], sums.columns[bottom], sums.columns[bottom])


def shares_asked(every: Sequence[Asked]) -> list[Share]:
    """All of ``every``, found by the same steps."""
    sizes = [one.bottom.size for one in every]
    if not any(sizes):
        return [NO_SHARE for _ in every]
    found = shares(
        np.concatenate([one.top for one in every]),
        np.concatenate([one.bottom for one in every]),
        np.repeat(np.arange(len(every)), sizes),
        len(every),
        squares=np.concatenate([one.squares for one in every]),
    )
    out = []
    for k, one in enumerate(every):
        share = share_of(found, k) if sizes[k] else NO_SHARE
        if one.why is not None:
            share = replace(share, interval=None, n=one.n or 0, why=one.why)
        out.append(share)
    return out


def macro(table: pl.DataFrame, by: str, top: pl.Expr | None = None) -> Share:
    """Mean over ``by`` of the share right, each of its values counted once, whatever the number of
    its verdicts.

    Without an interval where a value of ``by`` has too few images: a few that agree by luck would
    make it narrow.
    """
    return shares_asked([macro_asked(table, by, top)])[0]


def macro_asked(table: pl.DataFrame, by: str, top: pl.Expr | None = None) -> Asked:
    """:func:`macro` before its interval is found.

    What an image adds is its right answers less those expected of its cells.
    """
    if table.is_empty():
        return NOTHING_ASKED
    right = pl.col("right") if top is None else top
    sums = image_sums(table, [by], {"top": right, "n": pl.col("right").is_not_null()})
    n, cell, count = sums.columns["n"], sums.cell, sums.total("n")
    value = sums.total("top") / count
    weight = (n.sum() / sums.cells / count)[cell]
    image, place = jackknife.renumbered(sums.cluster)
    bottom, squares, beyond = (
        jackknife.sums(place, values, image.size)
        for values in (weight * n, weight**2 * n, weight * (sums.columns["top"] - value[cell] * n))
    )
    asked = Asked(beyond + value.mean() * bottom, bottom, squares)
    few = np.bincount(cell, minlength=sums.cells) < jackknife.LEAST_IMAGES
    if not few.any():
        return asked
    first, more = sums.keys[by].cast(pl.String).filter(pl.Series(few))[0], int(few.sum()) - 1
    why = f"a {by} with {jackknife.FEW}: {first}" + (f" and {more} more" if more else "")
    return replace(asked, why=why, n=int(n.sum()))


def guessed(questions: pl.DataFrame) -> float:
    """The mean over pairwise ``questions`` of the share right of a guess among A, B and the ties
    that the question allows and that are right for any of the questions; ½ of none.
    """
    right = questions["answer"].unique().implode()
    return _share(questions, pl.col("ties").list.set_intersection(right).list.len())


def guessed_among_allowed(questions: pl.DataFrame) -> float:
    """As :func:`guessed`, with all ties that a question allows: where a curve of accuracy begins,
    for a judge that chooses ties of pairs that hardly differ.
    """
    return _share(questions, pl.col("ties").list.len())


def _share(questions: pl.DataFrame, ties: pl.Expr) -> float:
    found = questions.select((1 / (2 + ties.fill_null(0))).mean()).item()
    return OF_TWO if found is None else float(found)


def pairwise_asked(study: Study, run: int) -> pl.DataFrame:
    """The pairwise questions that a run answered, without those that a probe has changed: their
    task, ties and answer.
    """
    asked = pl.Series(study.asked[run]).cast(study.questions.schema["question"])
    kept = (pl.col("kind") == "pairwise") & unchanged() & pl.col("question").is_in(asked.implode())
    return study.questions.lazy().filter(kept).select("task", "ties", "answer").collect()


def guessed_by_task(asked: pl.DataFrame) -> dict[str, float]:
    """:func:`guessed` of each task."""
    return {str(task): guessed(part) for (task,), part in asked.group_by("task")}
