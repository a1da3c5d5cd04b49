"""The share of right answers by the values of one or two facets, with links to the
questions. Single questions are in ``question_views.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from visualjudge.studio.dataset_index import OUTCOMES
from visualjudge.studio.facets import Facet, Pair
from visualjudge.studio.places import RunPlace
from visualjudge.studio.selection import COPIES, Shelf, State

if TYPE_CHECKING:
    import polars as pl

MOST_ROWS = 60
MOST_COLUMNS = 12
# Number of tasks of a dataset on the home page.
WORST = 5
NOT_RIGHT = ("wrong", "mixed", "failed", "cannot tell")


@dataclass(frozen=True, slots=True)
class Cell:
    """Right verdicts of one judge on some questions.

    ``share`` is None if nothing was asked or no reply has an answer, as in the report.
    ``low`` and ``high`` are the ends of the 95 % interval, or None with too few images.

    Attributes
    ----------
    pairs, missed
        The queries of the questions that were asked, and of those not answered right.
    """

    right: int
    verdicts: int
    share: float | None
    low: float | None
    high: float | None
    pairs: tuple[Pair, ...]
    missed: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One value of the facet, with its number of questions."""

    label: str
    questions: int
    pairs: tuple[Pair, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Slices:
    """The table: a column for each judge or, of two facets, for each value of the
    second.

    Attributes
    ----------
    more
        Number of values left out: those with the fewest questions and, of two facets,
        those about which the judge was asked nothing.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    more: int


# A value of the facet, a value of the second one ("" without), and the place of a
# judge.
Key = tuple[str, str, int]


def slices(
    shelf: Shelf,
    facet: Facet,
    kind: str,
    pairs: Sequence[Pair] = (),
    *,
    order: str = "",
    across: tuple[Facet, RunPlace] | None = None,
) -> Slices:
    """Return results on the questions of type ``kind`` selected by ``pairs``, by the
    values of ``facet`` and judge or, for the judge of ``across``, by the values of two
    facets.

    ``order`` is the slug of a judge by whose share rows are sorted, lowest first; by
    default rows are sorted by number of questions. Failed verdicts count as wrong. The
    intervals are clustered by image, as in the report.
    """
    second, judge = across or (None, None)
    runs = [run for run in shelf.runs if judge is None or run[0] == judge]
    query = _query(kind, pairs, [facet, *([second] if second else [])])
    table = _summed(
        shelf, query, facet, second, [run.number for _, run in runs]
    )
    questions = _questions(table, "value")
    others = _questions(table, "other")
    measured = _measured(table, len(runs))
    ranked = facet.ranked(dict(questions.most_common(MOST_ROWS)))
    columns = [("", k) for k in range(len(runs))]
    # two facets of which one names the other, as task and encoding, have few pairs
    if second:
        asked = {key[:2] for key, entry in measured.items() if entry[1]}
        known = {other for _, other in asked}
        columns = [
            (name, 0) for name in second.ranked(others) if name in known
        ][:MOST_COLUMNS]
        ranked = [
            name
            for name in ranked
            if any((name, other) in asked for other, _ in columns)
        ]
    rows = []
    for value in ranked:
        own = _with(query, facet, value)
        cells = [
            _cell(
                measured.get((value, other, k)),
                _with(own, second, other),
                runs[k][0],
            )
            for other, k in columns
        ]
        rows.append(
            Row(facet.label(value), questions[value], own, tuple(cells))
        )
    slugs = [place.slug for place, _ in runs]
    if order in slugs and second is None:
        k = slugs.index(order)
        rows.sort(
            key=lambda row: (
                row.cells[k].share is None,
                row.cells[k].share or 0.0,
            )
        )
    names = [
        second.label(other) if second else runs[k][0].name
        for other, k in columns
    ]
    return Slices(
        facet.title,
        tuple(names),
        tuple(rows),
        len(questions)
        - len(rows)
        + (len(others) - len(columns) if second else 0),
    )


def worst_tasks(shelf: Shelf) -> list[tuple[Row, str, Cell]]:
    """Return the tasks whose pairs are answered worst, each with the name and result of
    its worst judge, for the home page; empty if no pair was judged. To answer nothing
    is worse than to be wrong everywhere.
    """
    table = shelf.remembered(
        "worst", lambda: slices(shelf, shelf.facets()[0], "pairwise")
    )
    lowest = []
    for row in table.rows:
        judged = [
            (-1.0 if cell.share is None else cell.share, name, cell)
            for name, cell in zip(table.columns, row.cells, strict=True)
            if cell.verdicts
        ]
        if judged:
            lowest.append((row, *min(judged, key=lambda entry: entry[0])))
    lowest.sort(key=lambda entry: entry[1])
    return [(row, name, cell) for row, _, name, cell in lowest[:WORST]]


def _query(
    kind: str, pairs: Sequence[Pair], facets: Sequence[Facet]
) -> tuple[Pair, ...]:
    """Return the query of the questions that are counted: with those that a probe
    changed if a facet is of probes.
    """
    query = (*(pair for pair in pairs if pair[0] != "type"), ("type", kind))
    of_probes = any(facet.name == "probe" for facet in facets)
    return (*query, COPIES) if of_probes else query


def _summed(
    shelf: Shelf,
    query: Sequence[Pair],
    facet: Facet,
    second: Facet | None,
    runs: Sequence[int],
) -> pl.DataFrame:
    """Return for each pair of values and image the number of questions, and the sums of
    right, asked and answered of each run.
    """
    import polars as pl  # takes as long to load as the studio's pages

    sums = {
        f"{name}{k}": f"ifnull(sum(o{number}.{name}), 0)"
        for k, number in enumerate(runs)
        for name in ("right", "asked", "answered")
    }
    columns = {
        "value": facet.column,
        "other": second.column if second else "0",
        "image": "q.of_image",
        "count": "count(*)",
        **sums,
    }
    rows = shelf.rows(
        State.from_query(query), ", ".join(columns.values()), group="1, 2, 3"
    )
    names = {
        "value": facet.values,
        "other": second.values if second else [("",)],
    }
    table = pl.DataFrame(rows, dict.fromkeys(columns, pl.Int64), orient="row")
    for column, values in names.items():
        known = pl.DataFrame(
            {column: range(len(values)), "name": map(list, values)},
            {column: pl.Int64, "name": pl.List(pl.String)},
        )
        table = (
            table.join(known, column, maintain_order="left")
            .explode("name")
            .with_columns(pl.col("name").alias(column))
            .drop("name")
        )
    return table.group_by("value", "other", "image", maintain_order=True).sum()


def _questions(table: pl.DataFrame, column: str) -> Counter[str]:
    """Return the number of questions with each value."""
    counts = table.select(column, "count")
    counts = counts.group_by(column, maintain_order=True).sum()
    return Counter(dict(counts.iter_rows()))


# Right verdicts, all verdicts, the share and the ends of its interval.
Measured = tuple[int, int, float | None, float | None, float | None]


def _measured(table: pl.DataFrame, runs: int) -> dict[Key, Measured]:
    from visualjudge.analysis.estimate import shares  # loads the analysis

    keys = table.select("value", "other").unique(maintain_order=True)
    place = table.join(
        keys.with_row_index(), ["value", "other"], maintain_order="left"
    )["index"]
    measured = {}
    for k in range(runs):
        right = table[f"right{k}"].cast(float).to_numpy()
        asked = table[f"asked{k}"].cast(float).to_numpy()
        estimates = shares(right, asked, place.to_numpy(), keys.height)
        total = np.bincount(place, right, keys.height)
        answered = np.bincount(place, table[f"answered{k}"], keys.height)
        for at, (value, other) in enumerate(keys.iter_rows()):
            ends = (estimates.value, estimates.low, estimates.high)
            share, low, high = (
                None
                if np.isnan(end[at]) or not answered[at]
                else float(end[at])
                for end in ends
            )
            cases = int(estimates.cases[at])
            measured[value, other, k] = (
                int(total[at]),
                cases,
                share,
                low,
                high,
            )
    return measured


def _cell(
    measured: Measured | None, pairs: tuple[Pair, ...], judge: RunPlace
) -> Cell:
    outcome = f"outcome.{judge.slug}"
    asked = (*pairs, *((outcome, name) for name in OUTCOMES[1:]))
    missed = (
        *pairs,
        *((outcome, name) for name in NOT_RIGHT),
        ("sort", "-margin"),
    )
    return Cell(*(measured or (0, 0, None, None, None)), asked, missed)


def _with(
    query: tuple[Pair, ...], facet: Facet | None, value: str
) -> tuple[Pair, ...]:
    if facet is None:
        return query
    return (
        *(pair for pair in query if pair[0] != facet.name),
        (facet.name, value),
    )


# ---------------------------------------------------------------- two judges


@dataclass(frozen=True, slots=True)
class Matrix:
    """The number of questions with each outcome of two judges, without empty rows and
    columns."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    counts: Counter[tuple[str, str]]

    @property
    def apart(self) -> int:
        """Return the number of questions on which the judges differ."""
        return sum(
            count
            for (first, other), count in self.counts.items()
            if first != other
        )


def matrix(
    shelf: Shelf, a: RunPlace, b: RunPlace, pairs: Sequence[Pair]
) -> Matrix:
    """Return the outcomes of two judges on the questions that both were asked."""
    first, second = (f"outcome.{place.slug}" for place in (a, b))
    facets = {facet.name: facet for facet in shelf.facets()}
    columns = f"{facets[first].column}, {facets[second].column}"
    grouped = shelf.rows(
        State.from_query(pairs), f"{columns}, count(*)", group=columns
    )
    counts = Counter(
        {
            (OUTCOMES[i], OUTCOMES[j]): count
            for i, j, count in grouped
            if i and j
        }
    )
    rows, across = (
        tuple(name for name in OUTCOMES if name in {pair[k] for pair in counts})
        for k in (0, 1)
    )
    return Matrix(rows, across, counts)
