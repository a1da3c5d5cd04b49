"""Accuracy against the apparent size of what is wrong, in pixels as the judge is shown
it. Accuracy against the difference in *score* is in ``psychometric_curve.py``.
"""

from functools import partial

import polars as pl

from visualjudge.analysis import stated_reasons
from visualjudge.analysis.figures.figure_parts import (
    ALL,
    NONE,
    JudgeFigure,
    JudgeResult,
    Section,
    Shown,
    by_rows,
    by_task,
    guessed_among_used,
    lines_of_judges,
    number,
    plain_name,
    with_ends,
)
from visualjudge.analysis.figures.psychometric_curve import (
    COLUMNS,
    CURVE,
    MARKERS,
    Sensitivity,
    answers,
    curves_of,
    trace,
)

SIZE = "size"


def _rows(judge: JudgeResult) -> tuple[Sensitivity, ...]:
    """Return the curves of all pairs and of each task; ``jnd`` is the side of a square
    as large as the heaviest faulty place, in pixels, at which 75 % is reached.
    """
    facts = judge.analysis[stated_reasons.FAULT_FACTS]
    areas = {name: fact.area for name, fact in facts.items() if fact.area}
    pairs = judge.joined.filter(
        pl.col("right").is_not_null(), pl.col("id").is_in(list(areas))
    ).select("id", "task", "right", "usable", "cluster")
    if pairs.is_empty():
        return ()
    rows = pairs.with_columns(
        distance=pl.Series([areas[name] ** 0.5 for name in pairs["id"]])
    )
    parts = [((ALL, ALL, SIZE), rows)]
    by_name = by_task(rows)
    if len(by_name) > 1:
        parts += [(("task", task, SIZE), part) for task, part in by_name]
    return curves_of(parts, guessed_among_used(judge.pairs))


def _section(view: Shown) -> Section:
    show = partial(number, digits=0)
    cells = {
        (plain_name(row.value), judge.name): with_ends(row.jnd, show)
        for judge in view.judges
        for row in judge[FAULT_SIZE]
        if row.jnd.value is not None
    }
    return Section(
        "sensitivity",
        "How small a difference does the judge see?",
        "Sizes are the side, in pixels as shown, of a square as large as the costliest "
        "error’s box." * bool(cells),
        [by_rows("Questions", view.judges, cells, NONE)],
        answers(
            ((j.name, row) for j in view.judges for row in j[FAULT_SIZE]),
            "side of the error in pixels",
            show,
        ),
    )


FAULT_SIZE: JudgeFigure[tuple[Sensitivity, ...]] = JudgeFigure(
    "fault_size",
    _rows,
    COLUMNS,
    needs={"truth"},
    place=94,
    section=_section,
    plots=(
        lines_of_judges(
            "fault_size",
            "Right answers by the size of the costliest error",
            "Share of verdicts that are right, by the size of the error that costs the worse "
            f"option most; {MARKERS}",
            ("side", "accuracy"),
            lambda judge: trace(judge[FAULT_SIZE], SIZE),
            ("Side of the costliest error, pixels", "Right answers"),
            CURVE,
            "the dataset states no errors of the options",
        ),
    ),
)
