"""The page's part about two judges: paired differences by task, and the questions whose
answers changed. The differences are computed in ``figures/comparisons.py``.
"""

from pathlib import Path

from visualjudge.analysis.figure_text import many, plain_name
from visualjudge.analysis.figures.comparisons import (
    DRAWN,
    compared,
    gap_plot,
    shown_gap,
)
from visualjudge.analysis.figures.section import Section
from visualjudge.analysis.plots.plot import LeftOut, Plot
from visualjudge.analysis.plots.series import ALL
from visualjudge.analysis.report.examples import changed
from visualjudge.analysis.results import Analysis
from visualjudge.analysis.served_model import moved_between
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


def opening_notes(analysis: Analysis, first: int, second: int) -> list[str]:
    """Say what the two runs have in common, and what moved between them if it is one
    thing."""
    judges = analysis.judges
    result = compared(analysis.study, second, first)[0]
    kind = "pairwise" if result.measure == "accuracy" else "scoring"
    asked = [
        judges[k].joined.filter(kind=kind)["id"].n_unique()
        for k in (first, second)
    ]
    common = (
        f"Compared on {many(result.questions, f'{kind} question')}, of "
        f"{asked[0]:,} and {asked[1]:,}."
    )
    two = (judges[first], judges[second])
    moved = moved_between(
        [judge.identity for judge in two], [judge.info for judge in two]
    )
    return [common, *moved]


def differences(analysis: Analysis, first: int, second: int) -> Plot | LeftOut:
    """Plot the accuracy of the second judge minus that of the first, or its rank
    correlation with the truth in a study of scores, over all common questions and by
    task.
    """
    a, b = (analysis.judges[k].name for k in (first, second))
    result = compared(analysis.study, second, first)[0]
    cells = {ALL: result.gap}
    if len(result.by_task) > 1:
        cells |= {plain_name(row.task): row.gap for row in result.by_task}
    return gap_plot(
        "compared",
        f"{b} minus {a}: {shown_gap(result)} "
        f"{DRAWN[result.measure][2].lower().rstrip(',')}",
        result.measure,
        cells,
        (b, a),
        result.gap.why or "nothing was measured",
    )


def pair(analysis: Analysis, first: int, second: int) -> Section:
    """Compare two judges at the top of the report."""
    a, b = (analysis.judges[k].name for k in (first, second))
    rows = changed(analysis.study, first, second)
    return Section(
        "pair",
        f"{a} and {b}",
        f"Below are questions on which they differ, with the answer of {b}.",
        notes=opening_notes(analysis, first, second),
        plots=[differences(analysis, first, second)],
        examples=[("Where they differ", rows)] if rows else [],
    )
