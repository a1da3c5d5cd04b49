"""Pairs whose options name no models: right choices by task or category. They are
computed in ``decisions/pair_answer.py``.
"""

from visualjudge.analysis.decisions.pair_answer import PairsOfTask, pair_answer
from visualjudge.analysis.figures.figure_parts import (
    Column,
    JudgeFigure,
    JudgeResult,
    Layout,
    Section,
    counts,
    figure,
    named,
    number,
    percent,
    plain_name,
    points,
)
from visualjudge.analysis.figures.scoring import ALL_TASKS, WORDS
from visualjudge.analysis.study_shape import CHOOSING, shape_of


def _rows(judge: JudgeResult) -> tuple[PairsOfTask, ...]:
    if shape_of(judge.study, judge.index) not in CHOOSING:
        return ()
    answer = pair_answer(judge.study, judge.index, judge.study.bar)
    return (*answer.tasks, *([answer.whole] if len(answer.tasks) > 1 else []))


COLUMNS = Layout[PairsOfTask](
    named(
        "task", "Task", lambda task: plain_name(task) or ALL_TASKS, text=True
    ),
    named("state", "As the truth?", lambda state: WORDS[state], text=True),
    *counts("accuracy"),
    *figure("accuracy", "accuracy", "Right", ends="ci95"),
    named("constant", "Best constant answer", percent),
    *figure("gain", "gain", "Above it, points", points),
    Column(
        "needs_images",
        lambda task: task.needs_images if task.state == "too_few" else None,
        "Images needed",
        number,
    ),
)


CHOICES = JudgeFigure(
    "choices",
    _rows,
    COLUMNS,
    needs={"truth"},
    place=72,
    tabled=lambda rows: rows if len(rows) > 1 else (),
    section=Section(
        "choices",
        "Where does the judge choose as the truth does?",
        "Pairs whose options name no models, by task or category. Best constant "
        "answer: how often the same answer to every pair would be right. Images "
        "needed: the number on which an open task is decided with a power of 80 %.",
    ),
)
