"""Comparison of two judges: paired differences by task, the questions whose answers changed, and
judging with and without tools.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.comparisons import compare
from visualjudge.analysis.figure_text import many, number, plain_name
from visualjudge.analysis.identity import moved_between
from visualjudge.analysis.plots.figure import Figure, LeftOut
from visualjudge.analysis.plots.forest import ForestRow, Scale, forest
from visualjudge.analysis.report.accuracy_plots import ESTIMATE, figures_of, reach, unadjusted
from visualjudge.analysis.report.readings import points_tick, rough_points
from visualjudge.analysis.tool_use import answer_cost, tool_use
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.core.errors import UsageError
from visualjudge.core.text_tables import Table


def named_run(analysis: Analysis, name: str) -> int:
    """Return the number of the judge with this name, or of the run in a folder with this name.

    Raises
    ------
    UsageError
        If no run, or more than one, has the name.
    """
    runs = analysis.study.runs
    found = [k for k, run in enumerate(runs) if run.name == name]
    found = found or [
        k
        for k, run in enumerate(runs)
        if run.folder is not None
        and (run.folder.name == name or run.folder.resolve() == Path(name).resolve())
    ]
    if len(found) != 1:
        known = ", ".join(sorted({run.name for run in runs}))
        raise UsageError(
            f"--compare must name two judges of these runs ({known}), or their folders, got "
            f"{name!r}"
        )
    return found[0]


def titles(analysis: Analysis, first: int, second: int) -> tuple[str, str]:
    """Return the titles of the two runs: their judges, or their folders if the judge is
    the same.
    """
    a, b = (analysis.study.runs[k] for k in (first, second))
    folders = [run.folder.name if run.folder is not None else run.name for run in (a, b)]
    return (a.name, b.name) if a.name != b.name else (folders[0], folders[1])


def opening_notes(analysis: Analysis, first: int, second: int) -> list[str]:
    """Say what the two runs have in common, and what moved between them if it is one thing."""
    judges = analysis.results.judges
    moved = moved_between(judges[first], judges[second])
    return [in_common(analysis, first, second), *moved]


def in_common(analysis: Analysis, first: int, second: int) -> str:
    """Say whether the two runs have the same pairwise questions; if not, how many of each are
    compared.
    """
    a, b = titles(analysis, first, second)
    one, other = (
        set(analysis.study.kind(k, "pairwise", ("question",))["question"]) for k in (first, second)
    )
    both = len(one & other)
    if one == other:
        return f"Both were asked the same {many(both, 'pairwise question')}."
    if not both:
        return f"{a} and {b} have no pairwise question in common: their figures cannot be compared."
    each = f"{number(len(one))} of {a} and {number(len(other))} of {b}"
    return (
        "The judges were not asked the same questions: only the "
        f"{many(both, 'pairwise question')} asked of both are compared, out of {each}."
    )


def differences(analysis: Analysis, first: int, second: int) -> Figure | LeftOut:
    """Plot the accuracy of the second judge minus that of the first, over all common questions and
    by task.
    """
    a, b = titles(analysis, first, second)
    found = gaps_by_task(analysis, first, second)
    measured = {name: gap for name, gap in found.items() if gap.value is not None}
    if not measured:
        return LeftOut("compared", found["all questions"].why or "nothing was measured")
    rows = [ForestRow(plain_name(name), (gap,)) for name, gap in measured.items()]
    end = reach(measured.values())
    scale = Scale(-end, end, points_tick, rough_points, f"Points in favour of {b}", 0.0)
    whole = found["all questions"]
    finding = (
        f"{b} minus {a}: {rough_points(whole)} points"
        if whole.value is not None
        else f"{a} and {b}: {whole.why}"
    )
    data = [(a, b, name, *figures_of(gap)) for name, gap in found.items()]
    caption = (
        f"Accuracy of {b} minus that of {a}, on the questions, orders and repeats that both have."
    )
    return Figure(
        "compared", finding, caption, ("first", "second", "task", *ESTIMATE), tuple(data),
        lambda width: forest(rows, [""], scale, width), unadjusted(),
    )  # fmt: skip


def gaps_by_task(analysis: Analysis, first: int, second: int) -> dict[str, Estimate]:
    """Return the difference over all common questions and, if there are several tasks, for each
    task.
    """
    tables = [analysis.study.joined[k] for k in (first, second)]
    tasks = sorted(set(tables[0]["task"].unique()) & set(tables[1]["task"].unique()))
    found = {"all questions": gap_of(analysis, first, second)}
    if len(tasks) > 1:
        found |= {task: gap_of(analysis, first, second, pl.col("task") == task) for task in tasks}
    return found


def gap_of(analysis: Analysis, first: int, second: int, part: pl.Expr | None = None) -> Estimate:
    """Return the accuracy of the second judge minus that of the first, on the verdicts of ``part``
    (None: all in common).
    """
    study = analysis.study
    kept = []
    for k in (second, first):
        table = study.joined[k]
        kept.append(replace(study.runs[k], answered=table if part is None else table.filter(part)))
    return compare(replace(study, runs=tuple(kept)), 0, 1, 0.05).gap


USE = "Tools: the calls of each judge."
COST = "Cost of a right answer to a pairwise question, over all turns."


def tool_tables(analysis: Analysis, runs: tuple[int, int]) -> list[Table]:
    """Return tables of two judges; none if neither called a tool."""
    study = analysis.study
    used = [(study.runs[k].name, row) for k in runs for row in tool_use(study, k)]
    if not used:
        return []
    tools = [(name, row.tool, row.calls, row.failed) for name, row in used]
    costs = [
        (cost.judge, cost.right, _figure(cost.tokens, 0), _figure(cost.seconds, 2))
        for cost in (answer_cost(study, k) for k in runs)
    ]
    return [
        _table(USE, ("Judge", "Tool", "Calls", "Failed"), tools, texts=2),
        _table(COST, ("Judge", "Right", "Tokens each", "Seconds each"), costs, texts=1),
    ]


def tool_lines(analysis: Analysis, runs: tuple[int, int]) -> list[str]:
    """Return the tool tables as lines for a terminal."""
    return [f"{table.text()}\n" for table in tool_tables(analysis, runs) if table.rows]


def _table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], *, texts: int
) -> Table:
    cells = tuple(tuple(map(str, row)) for row in rows)
    numeric = tuple(place >= texts for place in range(len(columns)))
    return Table(tuple(columns), cells, title=title, numeric=numeric)


def _figure(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
