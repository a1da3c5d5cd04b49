"""Comparison of two judges: paired differences by task, and the questions whose answers
changed."""

from pathlib import Path

from visualjudge.analysis.figure_text import many, plain_name, points, with_ends
from visualjudge.analysis.figures.accuracy import PAIRWISE
from visualjudge.analysis.figures.comparisons import compare
from visualjudge.analysis.figures.section import Section
from visualjudge.analysis.identity import moved_between
from visualjudge.analysis.plots.plot import LeftOut, Plot
from visualjudge.analysis.plots.series import ALL, UNADJUSTED, estimates_plot
from visualjudge.analysis.report.examples import changed
from visualjudge.analysis.results import Analysis
from visualjudge.core.errors import UsageError


def named_run(analysis: Analysis, name: str) -> int:
    """Return the number of the judge with this name, or of the run in a folder with
    this name.

    Raises
    ------
    UsageError
        If no run, or more than one, has the name.
    """
    runs = analysis.study.runs
    collected = [k for k, run in enumerate(runs) if run.name == name]
    collected = collected or [
        k
        for k, run in enumerate(runs)
        if run.folder is not None
        and (
            run.folder.name == name
            or run.folder.resolve() == Path(name).resolve()
        )
    ]
    if len(collected) != 1:
        known = ", ".join(sorted({run.name for run in runs}))
        raise UsageError(
            f"`compare` must name two judges of these runs ({known}), or their "
            f"folders, got {name!r}"
        )
    return collected[0]


def titles(analysis: Analysis, first: int, second: int) -> tuple[str, str]:
    """Return the titles of the two runs: their judges, or their folders if the judge is
    the same.
    """
    a, b = (analysis.study.runs[k] for k in (first, second))
    if a.name != b.name or a.folder is None or b.folder is None:
        return a.name, b.name
    return a.folder.name, b.folder.name


def opening_notes(analysis: Analysis, first: int, second: int) -> list[str]:
    """Say what the two runs have in common, and what moved between them if it is one
    thing."""
    judges = analysis.judges
    asked = [judges[k][PAIRWISE].questions for k in (first, second)]
    both = compare(analysis.study, second, first).questions
    common = (
        f"Compared on {many(both, 'pairwise question')}, of {asked[0]:,} and "
        f"{asked[1]:,}."
    )
    two = (judges[first], judges[second])
    moved = moved_between(
        [judge.identity for judge in two], [judge.info for judge in two]
    )
    return [common, *moved]


def differences(analysis: Analysis, first: int, second: int) -> Plot | LeftOut:
    """Plot the accuracy of the second judge minus that of the first, over all common
    questions and by task.
    """
    a, b = titles(analysis, first, second)
    result = compare(analysis.study, second, first)
    cells = {ALL: result.gap}
    if len(result.by_task) > 1:
        cells |= {plain_name(row.task): row.gap for row in result.by_task}
    return estimates_plot(
        "compared",
        f"{b} minus {a}: {with_ends(result.gap, points)} points",
        f"Accuracy of {b} minus that of {a}, on the questions, orders and repeats that "
        "both have.",
        [(0, "difference", cells)],
        missing=result.gap.why or "nothing was measured",
        label=f"Points in favour of {b}",
        reading=UNADJUSTED,
    )


def pair(analysis: Analysis, first: int, second: int) -> Section:
    """Compare two judges at the top of the report."""
    a, b = titles(analysis, first, second)
    rows = changed(analysis.study, first, second)
    return Section(
        "pair",
        f"{a} and {b}",
        "Differences are paired: they use the questions asked of both judges. Below "
        "are questions that one judge answered correctly and the other did not, with "
        "the second judge’s answer, widest margins first.",
        notes=opening_notes(analysis, first, second),
        plots=[differences(analysis, first, second)],
        examples=[("What changed", rows)] if rows else [],
    )
