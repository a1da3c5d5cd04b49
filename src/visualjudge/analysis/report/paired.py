"""Two judges beside each other: paired differences by task, and the questions whose answers
changed.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.comparisons import compare
from visualjudge.analysis.figure_text import many, number
from visualjudge.analysis.plots.figure import Figure, LeftOut
from visualjudge.analysis.plots.forest import ForestRow, Scale, forest
from visualjudge.analysis.report.accuracy_plots import ESTIMATE, INTERVALS, figures_of, reach
from visualjudge.analysis.report.readings import plain_name, points_tick, rough_points
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.core.errors import UsageError


def named_run(analysis: Analysis, name: str) -> int:
    """The number of the judge of this name, or of the run in a folder of this name.

    Raises
    ------
    UsageError
        If no run, or more than one, has the name.
    """
    runs = analysis.study.runs
    found = [k for k, run in enumerate(runs) if run.name == name]
    found = found or [
        k for k, run in enumerate(runs) if run.folder is not None and run.folder.name == name
    ]
    if len(found) != 1:
        known = ", ".join(sorted({run.name for run in runs}))
        raise UsageError(
            f"--compare must name two judges of these runs ({known}), or their folders, got "
            f"{name!r}"
        )
    return found[0]


def titles(analysis: Analysis, first: int, second: int) -> tuple[str, str]:
    """What the two runs are called: their judges, or their folders where the judge is the same."""
    a, b = (analysis.study.runs[k] for k in (first, second))
    folders = [run.folder.name if run.folder is not None else run.name for run in (a, b)]
    return (a.name, b.name) if a.name != b.name else (folders[0], folders[1])


def in_common(analysis: Analysis, first: int, second: int) -> str:
    """Whether the two runs are on the same pairwise questions; if not, how many of each are
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
        f"Not the same questions: only the {many(both, 'pairwise question')} of both are "
        f"compared, of {each}."
    )


def differences(analysis: Analysis, first: int, second: int) -> Figure | LeftOut:
    """The accuracy of the second judge less that of the first, over all questions in common and by
    task.
    """
    a, b = titles(analysis, first, second)
    found = gaps_by_task(analysis, first, second)
    measured = {name: gap for name, gap in found.items() if gap.value is not None}
    if not measured:
        return LeftOut("compared", found["all questions"].why or "nothing was measured")
    rows = [ForestRow(plain_name(name), (gap,)) for name, gap in measured.items()]
    end = reach(measured.values())
    scale = Scale(-end, end, points_tick, rough_points, f"Points by which {b} is better", 0.0)
    whole = found["all questions"]
    finding = (
        f"{b} less {a}: {rough_points(whole)} points"
        if whole.value is not None
        else f"{a} and {b}: {whole.why}"
    )
    data = [(a, b, name, *figures_of(gap)) for name, gap in found.items()]
    caption = (
        f"Accuracy of {b} less that of {a} on the questions, orders and repeats of both. "
        f"{INTERVALS} Unadjusted."
    )
    return Figure(
        "compared", finding, caption, ("first", "second", "task", *ESTIMATE), tuple(data),
        lambda width: forest(rows, [""], scale, width),
    )  # fmt: skip


def gaps_by_task(analysis: Analysis, first: int, second: int) -> dict[str, Estimate]:
    """The difference over all questions in common and, if there are several, in each task."""
    tables = [analysis.study.joined[k] for k in (first, second)]
    tasks = sorted(set(tables[0]["task"].unique()) & set(tables[1]["task"].unique()))
    found = {"all questions": gap_of(analysis, first, second)}
    if len(tasks) > 1:
        found |= {task: gap_of(analysis, first, second, pl.col("task") == task) for task in tasks}
    return found


def gap_of(analysis: Analysis, first: int, second: int, part: pl.Expr | None = None) -> Estimate:
    """The accuracy of the second judge less that of the first, on the verdicts of ``part``; None =
    all in common.
    """
    study = analysis.study
    kept = []
    for k in (second, first):
        table = study.joined[k]
        kept.append(replace(study.runs[k], answered=table if part is None else table.filter(part)))
    return compare(replace(study, runs=tuple(kept)), 0, 1, 0.05).gap
