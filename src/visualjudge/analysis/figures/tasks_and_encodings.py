"""The figures of each task, each encoding and each type of error. They are computed in
``analysis/accuracy_cells.py``; which encoding to use is in ``encodings.py``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from visualjudge.analysis.figures.figure_parts import (
    NO_ACCURACY,
    NONE,
    Cell,
    Cells,
    Json,
    JudgeFigure,
    JudgeResult,
    Section,
    Shown,
    Table,
    accuracy_cells,
    across,
    by_rows,
    cell_json,
    estimates_of_judges,
    many,
    number,
    plain_name,
    with_ends,
)
from visualjudge.analysis.ranking_and_scoring import (
    ranking_cells,
    scoring_cells,
)
from visualjudge.analysis.score_scale import scale_of
from visualjudge.analysis.study_shape import CHOOSING, shape_of
from visualjudge.core.text_tables import Styled

Found = tuple[Cell, ...]


def _rows(judge: JudgeResult, by: Sequence[str]) -> Found:
    collected = {cell.name: cell for cell in accuracy_cells(judge.pairs, by)}
    ranked = ranking_cells(judge.rankings, by)
    scored = scoring_cells(judge.scorings, by, scale_of(judge.study).step)
    out = []
    for name in sorted({*collected, *ranked, *scored}):
        keys = tuple(zip(by, name.split("/", len(by) - 1), strict=True))
        cell = collected.get(name) or Cell(keys, NO_ACCURACY)
        cell = replace(cell, ranking=ranked.get(name), scoring=scored.get(name))
        out.append(cell if "truth" in judge.has else cell.without_truth)
    return tuple(out)


def _json(cells: Found) -> Json:
    return {cell.name: cell_json(cell) for cell in cells}


def _accuracies(cells: Iterable[Cell]) -> Cells:
    asked = [cell for cell in cells if cell.accuracy.share.n]
    asked.sort(key=lambda cell: -(cell.accuracy.shown.value or 0.0))
    return {plain_name(cell.name): cell.accuracy.shown for cell in asked}


def _by_task(judge: JudgeResult) -> Cells:
    if shape_of(judge.study, judge.index) in CHOOSING:
        return {}  # the first figure has them
    return _accuracies(judge[BY_TASK])


def _tasks(view: Shown) -> Section:
    return Section(
        "tasks",
        "Tables by task",
        "",
        [across("Task", view.judges, BY_TASK, plain_name), _graded(view)],
        detail=True,
    )


def _graded(view: Shown) -> Table:
    # errors stand on the scale of the study
    cells = {
        (f"{plain_name(cell.name)} · {name}", judge.name): Styled(
            (
                scale_of(judge.study).sized(figure)
                if name.endswith("error")
                else with_ends(figure, number)
            )
            + f", {many(figure.images, 'image')}",
            link=judge.address(type=name.split(",")[0], **dict(cell.keys)),
        )
        for judge in view.judges
        for cell in judge[BY_TASK]
        for name, figure in cell.graded.items()
        if figure.value is not None
    }
    return by_rows("Rankings and scores, by task", view.judges, cells, NONE)


BY_ENCODING = JudgeFigure[Found](
    "by_encoding",
    partial(_rows, by=("task", "encoding")),
    json=_json,
    cells=True,
    place=31,
)
BY_ERROR_TYPE: JudgeFigure[Found] = JudgeFigure(
    "by_error_type",
    partial(_rows, by=("error_type",)),
    json=_json,
    cells=True,
    place=40,
    section=lambda view: Section(
        "errors",
        "Which errors does the judge see?",
        asked=[across("Error type", view.judges, BY_ERROR_TYPE, plain_name)],
    ),
    plots=(
        estimates_of_judges(
            "errors",
            "Right answers by the kind of error",
            "Share of verdicts that are right; the dashed line marks guessing. Kinds without "
            "any answer are not drawn.",
            lambda judge: _accuracies(judge[BY_ERROR_TYPE]),
            "the questions do not have several error types and known answers",
            least=2,
        ),
    ),
)
BY_TASK = JudgeFigure[Found](
    "by_task",
    partial(_rows, by=("task",)),
    json=_json,
    cells=True,
    place=130,
    section=_tasks,
)
TASKS_PLOT = estimates_of_judges(
    "tasks",
    "Right answers by task",
    "Share of verdicts that are right; the dashed line marks guessing. Tasks without any "
    "answer are not drawn.",
    _by_task,
    "the first figure has them, or no pair has a known answer",
    opening=True,
)
