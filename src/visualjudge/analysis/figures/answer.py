"""The answer: may I rank models with this judge? With its checks, the answer by task,
and the order of the sources. What it shows is decided in ``analysis/decisions``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from visualjudge.analysis.decisions.card import Answer, JudgeCard, judge_card
from visualjudge.analysis.decisions.checks import CHECK, checks_table
from visualjudge.analysis.decisions.judged_items import MEASURES
from visualjudge.analysis.decisions.model_answer import (
    ANSWER,
    RULE,
    pairs_table,
    resolution,
    separated,
)
from visualjudge.analysis.decisions.source_order import (
    KIND,
    SourceOrder,
    sources_table,
)
from visualjudge.analysis.figures.figure_parts import (
    Column,
    FigurePlot,
    Json,
    JudgeFigure,
    Layout,
    Section,
    Shown,
    Table,
    as_named,
    block,
    blocks,
    grid,
    named,
    of_row,
    plain_name,
)
from visualjudge.analysis.figures.opening import opening_plot
from visualjudge.analysis.figures.tasks_and_encodings import TASKS_PLOT

CARD_OF_TASK = Layout[Answer](
    *as_named("state", "verdict"),
    Column(
        "needs_images",
        lambda task: (task.models.needs_images or (None, None))[1],
    ),
    blocks("checks", CHECK),
    Column("answer", "verdict"),
    Column("said", "sentence"),
)
"""The keys of 1.0, filled from the answer."""
TASK = Layout[Answer](
    Column(None, "judge", "Judge"),
    named("task", "Task", plain_name, text=True),
    Column(None, "models.word", "Answer"),
    Column(None, "models", "Pairs separated", separated),
    Column(None, "models", "Resolution", resolution),
    of_row("Accuracy", lambda task: task.checks[0].shown),
    block("answer", ANSWER, "models"),
    blocks("checks", CHECK),
    Column("card", CARD_OF_TASK.json),
)


def tasks_table(judges: Sequence[JudgeCard]) -> Table:
    """Return the answer of each judge for each task; without rows if there is only one
    task."""
    several = any(len(judge.tasks) > 1 for judge in judges)
    rows = [task for judge in judges for task in judge.tasks if several]
    return grid(TASK, rows, title="By task", keys=2)


def _system(ordered: SourceOrder) -> Json:
    main = (
        KIND.json(ordered.main)
        if ordered.main
        else {"kind": None, "sources": []}
    )
    return main | {
        "by_kind": {kind.kind: KIND.json(kind) for kind in ordered.kinds}
    }


def _pairs(stored: Json) -> Mapping[str, Sequence[Json]]:
    """Return the table of pairs; there the preference of the judge has another name,
    because ``judge`` is its name.
    """
    rows = [
        {
            "judge_prefers_a" if key == "judge" else key: end
            for key, end in pair.items()
        }
        for pair in stored["pairs"]
    ]
    return {"pairs": rows}


def _section(view: Shown) -> Section:
    compared = [
        card for judge in view.judges if (card := judge[CARDS]).models.pairs
    ]
    by_task = replace(tasks_table(compared), title="")
    pairs = [
        replace(pairs_table(card.models), title=card.judge) for card in compared
    ]
    return Section(
        "answers",
        "What holds for each task?"
        if by_task.rows
        else "How often is it right?",
        asked=[by_task, *pairs],
        folded="Every pair of models, by judge" if pairs else "Tables",
    )


def _checks(view: Shown) -> Section:
    every = {
        judge.name: judge[CHECKS]
        if view.analysis.judges[1:]  # beside each other, all have the same rows
        else judge[CARDS].shown_checks
        for judge in view.analysis.judges
    }
    return Section(
        "checks",
        "Checks",
        RULE if any(judge[CARDS].models.pairs for judge in view.judges) else "",
        [
            checks_table(every),
            *(
                replace(
                    sources_table(main),
                    title=f"{judge.name}: models by {MEASURES[main.kind]}",
                )
                for judge in view.judges
                if (main := judge[SYSTEM].main)
            ),
        ],
        detail=True,
    )


CARDS = JudgeFigure("card", judge_card)
ANSWERS = JudgeFigure(
    "answer",
    lambda judge: judge[CARDS].models,
    ANSWER,
    place=5,
    tables=_pairs,
    section=_section,
    plots=(
        FigurePlot(
            "ranking",
            lambda displayed: opening_plot(
                [judge[CARDS] for judge in displayed.drawn]
            ),
            opening=True,
        ),
        TASKS_PLOT,
    ),
)
CHECKS = JudgeFigure(
    "checks",
    lambda judge: judge[CARDS].checks,
    CHECK,
    place=120,
    tables=lambda _: {},
    section=_checks,
)
TASKS = JudgeFigure(
    "tasks",
    lambda judge: judge[CARDS].tasks,
    TASK,
    place=6,
    tables=lambda _: {},
)
SYSTEM = JudgeFigure(
    "system",
    lambda judge: judge[CARDS].system,
    json=_system,
    place=7,
    sentences=lambda ordered: [kind.order for kind in ordered.kinds],
)
