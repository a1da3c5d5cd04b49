"""The share of right answers by the values of one or two facets, with links to the
questions."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from visualjudge.studio.facets import Facet, Pair, spaced
from visualjudge.studio.places import RunPlace
from visualjudge.studio.selection import COPIES, OF_PROBES, Shelf, State
from visualjudge.studio.study import MARGIN_NAMES
from visualjudge.studio.verdicts import OUTCOMES, RunVerdicts

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
    second = across[0] if across else None
    runs = [
        judge_run
        for judge_run in shelf.runs
        if across is None or judge_run[0].slug == across[1].slug
    ]
    query = _query(kind, pairs, [facet, *([second] if second else [])])
    questions = Counter[str]()
    others = Counter[str]()
    sums: dict[Key, Counter[tuple[int, int]]] = {}
    for (value, other), image, count, numbers in _summed(
        shelf, query, facet, second, runs
    ):
        questions[value] += count
        others[other] += count
        for place, number in enumerate(numbers):
            sums.setdefault((value, other, place // 3), Counter())[
                image, place % 3
            ] += number
    measured = _measured(sums)
    ranked = _ranked(facet, questions)
    columns = [("", k) for k in range(len(runs))]
    # two facets of which one names the other, as task and encoding, have few pairs
    if second:
        asked = {key[:2] for key, entry in measured.items() if entry[1]}
        known = {other for _, other in asked}
        columns = [
            (name, 0) for name in _ranked(second, others) if name in known
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
            Row(_label(facet, value), questions[value], own, tuple(cells))
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
        _label(second, other) if second else runs[k][0].name
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
    its worst judge, for the home page; empty if no pair was judged.
    """
    table = shelf.remembered(
        "worst", lambda: slices(shelf, shelf.facets()[0], "pairwise")
    )
    lowest = []
    for row in table.rows:
        named = zip(table.columns, row.cells, strict=True)
        judged = [
            (cell.share, name, cell)
            for name, cell in named
            if cell.share is not None
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
    of_probes = any(facet.name in OF_PROBES for facet in facets)
    return (*query, COPIES) if of_probes else query


def _summed(
    shelf: Shelf,
    query: Sequence[Pair],
    facet: Facet,
    second: Facet | None,
    runs: Sequence[tuple[RunPlace, RunVerdicts]],
) -> Iterable[tuple[tuple[str, str], int, int, tuple[int, ...]]]:
    """Yield for each pair of values and image the number of questions, and the sums of
    right, asked and answered of each run.
    """
    sums = [
        f"ifnull(sum(o{run.number}.{name}), 0)"
        for _, run in runs
        for name in ("right", "asked", "answered")
    ]
    grouped = f"{facet.column}, {second.column if second else 0}, q.of_image"
    selected = ", ".join([grouped, "count(*)", *sums])
    for code, other, image, count, *numbers in shelf.rows(
        State.from_query(query), selected, group="1, 2, 3"
    ):
        for value in facet.values[code]:
            for name in second.values[other] if second else ("",):
                yield (value, name), image, count, tuple(numbers)


# Right verdicts, all verdicts, the share and the ends of its interval.
Measured = tuple[int, int, float | None, float | None, float | None]


def _measured(sums: dict[Key, Counter[tuple[int, int]]]) -> dict[Key, Measured]:
    from visualjudge.analysis.estimate import shares  # loads the analysis

    if not sums:
        return {}
    entries = [
        (place, count[image, 0], count[image, 1])
        for place, count in enumerate(sums.values())
        for image in sorted({image for image, _ in count})
    ]
    place, right, asked = np.array(entries, np.int64).reshape(-1, 3).T
    estimates = shares(
        right.astype(float), asked.astype(float), place, len(sums)
    )
    total = np.bincount(place, right, len(sums))
    measured = {}
    for k, (key, count) in enumerate(sums.items()):
        answered = any(
            number for (_, part), number in count.items() if part == 2
        )
        ends = (
            (estimates.value[k], estimates.low[k], estimates.high[k])
            if answered
            else (np.nan,) * 3
        )
        share, low, high = (
            None if np.isnan(end) else float(end) for end in ends
        )
        measured[key] = (
            int(total[k]),
            int(estimates.cases[k]),
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
        ("sort", "-wrong_difference"),
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


def _ranked(facet: Facet | None, counts: Counter[str]) -> list[str]:
    """Return the most frequent values, in the facet's own order if it has one."""
    values = [value for value, _ in counts.most_common(MOST_ROWS)]
    margin = facet is not None and facet.name == "margin"
    return sorted(values, key=MARGIN_NAMES.index) if margin else values


def _label(facet: Facet, value: str) -> str:
    """Return the label of a value; an encoding includes its task, since encodings of
    different tasks share names.
    """
    task = (
        f" ({spaced(value.partition('/')[0])})"
        if facet.name == "encoding"
        else ""
    )
    return facet.label(value) + task


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
    rows = [
        name
        for name in OUTCOMES
        if any(name == outcome for outcome, _ in counts)
    ]
    across = [
        name for name in OUTCOMES if any(name == other for _, other in counts)
    ]
    return Matrix(tuple(rows), tuple(across), counts)
