"""The report as Markdown tables, for papers and pull requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from visualjudge.analysis import (
    columns,
    figure_text as words,
    repeated_rows as scopes,
    table_layout,
)
from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.columns import ACCURACY
from visualjudge.analysis.comparison_columns import (
    ABOVE,
    AGREEMENT,
    CHECKED,
    COMPARISON,
    SOURCE,
    contrasts,
)
from visualjudge.analysis.comparisons import not_compared
from visualjudge.analysis.decisions.report_opening import opening
from visualjudge.analysis.figure_text import number, percents, points
from visualjudge.analysis.figures import Cell, JudgeResult, Results
from visualjudge.analysis.plots.figure import LeftOut
from visualjudge.analysis.report.examples import changed
from visualjudge.analysis.report.methods import methods
from visualjudge.analysis.report.paired import (
    differences,
    gaps_by_task,
    in_common,
    titles,
    tool_tables,
)
from visualjudge.core.case_noun import in_cases, in_cases_of
from visualjudge.core.text_tables import Table, markdown_text as _cell

Row = TypeVar("Row")


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table, or an empty string without rows."""
    body = tuple(tuple(map(str, row)) for row in rows)
    return Table(tuple(header), body).markdown() if body else ""


def of(columns: table_layout.Table[Row], rows: Iterable[Row]) -> str:
    """Return the rows under their table's titles."""
    return table(columns.titles, [columns.cells(row) for row in rows])


def _cells(title: str, cells: Iterable[Cell]) -> str:
    """Return a row for each cell; nothing for a single cell, which would repeat the headline."""
    rows = [[cell.name, *ACCURACY.cells(cell.accuracy)] for cell in cells if cell.accuracy.share.n]
    return table([title, *ACCURACY.titles], rows if len(rows) > 1 else [])


def _judge_parts(judge: JudgeResult) -> Iterable[str]:
    left = words.unfinished(judge)
    yield (
        f"## {_cell(judge.name)}\n\n"
        + (f"**{left}**\n\n" if left else "")
        + f"{_cell(words.headline(judge))}\n"
    )
    lines = [
        *filter(None, [words.above(judge), words.failures(judge), *words.leanings(judge)]),
        *judge.problems,
    ]
    yield from (f"- {_cell(line)}" for line in [*lines, *words.other_warnings(judge)])
    own = columns.own_scores(judge)
    yield f"\n{_cell(words.OWN_SCORES)}\n\n" + table(["Score", "Value"], own.items()) if own else ""
    yield "\n" + table(
        ["Accuracy on pairs by the rules of benchmarks", "Right"], columns.counted_as(judge).items()
    )
    for cells, title in (
        (judge.by_task, "Task"),
        (judge.by_encoding, "Encoding"),
        (judge.by_error_type, "Error type"),
        (judge.by_margin, "Margin"),
    ):
        yield "\n" + _cells(title, cells)
    graded = [
        [cell.name, name, value]
        for cell in judge.by_task
        for name, value in words.graded(cell).items()
    ]
    yield "\n" + table(["Task", "Rankings and scores", "Value (95 %)"], graded)
    yield "\n" + of(ABOVE, scopes.above(judge.above_baseline))
    yield "\n" + of(columns.SENSITIVITY, scopes.sensitivity(judge.sensitivity))
    yield "\n" + of(columns.CHOICE, judge.encodings)
    if judge.leaderboard.rows:
        yield f"\n{_cell(' '.join(words.sources_notes(judge.leaderboard.rows)))}\n"
    for name, rows in judge.leaderboard.groups:
        yield f"\n{_cell(name)}:\n\n{of(SOURCE, rows)}"
        apart = [row for row in judge.leaderboard.contrasts if row.group == name]
        titles, matrix = contrasts(rows, apart)
        yield "\n" + table([_cell(title) for title in titles], matrix)
    yield "\n" + of(CHECKED, judge.rater_checks)
    yield "\n" + of(columns.PROBE, judge.probes)
    yield "\n" + of(columns.TRUST, judge.tool_trust)
    if judge.photograph is not None:
        yield f"\n{_cell(words.photograph(judge) or '')}\n\n"
        yield of(columns.PHOTOGRAPH, [judge.photograph.all, *judge.photograph.by_task])
    yield "\n" + of(columns.SHAPE, judge.unread.shapes)


def _headlines(results: Results, shown: Sequence[JudgeResult]) -> list[str]:
    """Return a table for each group of judges that were asked the same questions."""
    groups = [[judge for judge in group if judge in shown] for group in results.groups]
    tables = [_headline(group) for group in groups if group]
    return [*([words.APART + "\n"] if len(tables) > 1 else []), *tables]


def _headline(judges: Iterable[JudgeResult]) -> str:
    rows = [
        [j.name + (" (simulated)" if j.simulated else ""), *columns.JUDGE.cells(j)] for j in judges
    ]
    return table(["Judge", *columns.JUDGE.titles], rows)


PAIRED = (
    "Differences use the questions, orders and repeats common to both judges; 95 % intervals have "
    "images as the unit and are not adjusted."
)


def _pair(analysis: Analysis, compare: tuple[int, int]) -> Iterator[str]:
    """Compare two judges: differences by task, tools, and the questions whose answers changed."""
    first, second = titles(analysis, *compare)
    yield f"## {_cell(first)} and {_cell(second)}\n\n{_cell(in_common(analysis, *compare))}\n"
    found = differences(analysis, *compare)
    if isinstance(found, LeftOut):
        yield f"{_cell(found.reason[:1].upper() + found.reason[1:])}.\n"
        return
    yield f"**{_cell(found.finding)}.** {in_cases(PAIRED)}\n"
    yield table(
        ("Task", "Points", "95 %", "Verdicts", in_cases("Images")),
        [
            (name, points(gap.value), percents(gap.interval), number(gap.n), number(gap.images))
            for name, gap in gaps_by_task(analysis, *compare).items()
        ],
    )
    yield from (made.markdown() for made in tool_tables(analysis, compare) if made.rows)
    yield table(
        ("What changed", "Task", in_cases("Image"), f"{second} said", "Right is"),
        [
            (one.why, one.task, one.image, one.said, one.answer)
            for one in changed(analysis.study, *compare)
        ],
    )


@in_cases_of
def markdown(analysis: Analysis, compare: tuple[int, int] | None = None) -> str:
    """Return the whole report; ``compare`` gives the numbers of two judges to compare first."""
    results = analysis.results
    parts = [
        "# Judge report\n",
        *(() if compare is None else _pair(analysis, compare)),
        opening(analysis).markdown(),
        *(f"**{_cell(line)}**\n" for line in results.warnings),
    ]
    for judge in results.judges:
        left = words.unfinished(judge)
        parts += [f"**{_cell(judge.name)}: {left}**\n"] if left else []
    shown = [results.judges[i] for i in results.shown]
    parts += _headlines(results, shown)
    about = {judge.name for judge in shown}
    parts.append(of(COMPARISON, [row for row in results.comparisons if {row.a, row.b} <= about]))
    if left_out := not_compared(len(results.judges)):
        parts.append(f"{left_out}\n")
    parts.append(of(AGREEMENT, results.agreement))
    for judge in shown:
        parts += _judge_parts(judge)
    parts += ["## Methods\n", _cell(methods(results)) + "\n"]
    dataset = results.dataset
    parts.append(f"\nDataset `{dataset.questions_sha256}`, {dataset.extent}.\n")
    return "\n".join(part for part in parts if part.strip()) + "\n"
