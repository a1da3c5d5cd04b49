"""The report in the terminal: whether models can be ranked with the judge, then the headline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from visualjudge.analysis import figure_text as words
from visualjudge.analysis.columns import JUDGE
from visualjudge.analysis.estimate import LEAST_IMAGES
from visualjudge.analysis.figure_text import NONE, many, number, p_value, percents, points
from visualjudge.analysis.figures import JudgeResult, Results
from visualjudge.analysis.value_and_interval import NO_SHARE, Estimate
from visualjudge.core.text_tables import Table, folded, screen_width

BAR = 25
"""Width of an interval bar in characters, from 0 to 100 %."""
LEAST_WIDTH = 80
TITLE = "How far can the judge be trusted?"


def text(results: Results, answers: Sequence[str]) -> str:
    """Return the answers, one row for each judge, its biases, and the comparisons."""
    apart = [folded(words.APART)] if len(results.groups) > 1 else []
    tables = [_headline(group).text() for group in results.groups]
    bars = _bars(results) if screen_width() >= LEAST_WIDTH else []
    notes, apart_by = map(folded, _notes(results)), _differences(results)
    return "\n".join([*map(folded, answers), TITLE, *apart, *tables, *bars, *notes, *apart_by])


def bar(estimate: Estimate, mark: float, low_end: float = 0.0, high_end: float = 1.0) -> str:
    """Draw an interval in characters, with │ at ``mark``: ``······│···──●──····``; ○ means fewer
    than five images.

    Values beyond the ends of the axis are drawn at its ends.
    """

    def place(value: float) -> int:
        share = (value - low_end) / (high_end - low_end)
        return min(BAR - 1, max(0, round(share * (BAR - 1))))

    value, (low, high) = estimate.value, estimate.interval or (None, None)
    if value is None:
        return ""
    cells = ["·"] * BAR
    cells[place(mark)] = "│"
    if low is not None and high is not None:
        for k in range(place(low), place(high) + 1):
            cells[k] = "─"
    cells[place(value)] = "●" if estimate.images >= LEAST_IMAGES else "○"
    return "".join(cells)


def _bars(results: Results) -> list[str]:
    """Return a row for each task and a bar for each judge; bars that do not fit follow below.

    │ marks chance.
    """
    judges = [results.judges[i] for i in results.shown][:MOST_BARS]
    names = list(
        dict.fromkeys(
            cell.name for judge in judges for cell in judge.by_task if cell.accuracy.share.n
        )
    )
    if len(names) < 2:
        return []
    found = [{cell.name: cell.accuracy.shown for cell in judge.by_task} for judge in judges]
    rows = tuple(
        (
            name,
            *(
                bar(own.get(name, NO_SHARE), j.pairwise.chance)
                for j, own in zip(judges, found, strict=True)
            ),
        )
        for name in names
    )
    return [
        Table(("Right answers, 0 to 100 %", *(judge.name for judge in judges)), rows).text(),
        "│ is chance.",
    ]


MOST_BARS = 6


def _differences(results: Results) -> list[str]:
    """Return a row and a bar for every two judges, instead of a sentence each."""
    known = [row for row in results.comparisons if row.gap.value is not None]
    rows = tuple(
        (
            f"{row.a} minus {row.b}",
            bar(row.gap, 0.0, -0.5, 0.5),
            points(row.gap.value),
            percents(row.gap.interval),
            p_value(row.p_holm),
            number(row.questions),
        )
        for row in known[:MOST_PAIRS]
    )
    if not rows:
        return []
    more = len(known) - len(rows)
    notes = (
        "p is adjusted by Holm’s method over all comparisons; a missing answer counts as wrong."
        + (f" {many(more, 'more comparison')} in the report." if more else ""),
    )
    columns = ("Difference", "−50 to +50 points", "Points", "95 %", "p", "Questions")
    table = Table(columns, rows, notes)
    if screen_width() < LEAST_WIDTH:
        table = replace(
            table,
            columns=(columns[0], *columns[2:]),
            rows=tuple((row[0], *row[2:]) for row in rows),
        )
    return [table.text()]


MOST_PAIRS = 15


def _headline(judges: Sequence[JudgeResult]) -> Table:
    rows = [
        (judge.name + (" (simulated)" if judge.simulated else ""), *JUDGE.cells(judge))
        for judge in judges
    ]
    titles = ("Judge", *JUDGE.titles)
    kept = [k for k in range(len(titles)) if any(row[k] != NONE for row in rows)]
    cells = tuple(tuple(row[k] for k in kept) for row in rows)
    return Table(tuple(titles[k] for k in kept), cells)


def _notes(results: Results) -> Iterator[str]:
    for judge in results.judges:
        for sentence in filter(
            None,
            [
                words.above(judge),
                words.failures(judge),
                *words.leanings(judge),
                words.probes(judge),
                words.photograph(judge),
            ],
        ):
            yield f"{judge.name}: {sentence}"
