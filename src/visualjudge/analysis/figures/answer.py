"""The answer: may I rank models with this judge? With its checks, the answer by task, and the
order of the sources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from visualjudge.analysis.decisions.card import Answer, JudgeCard, judge_card
from visualjudge.analysis.decisions.checks import CHECK, checks_table
from visualjudge.analysis.decisions.may_rank_models import KIND, System
from visualjudge.analysis.decisions.model_answer import ANSWER
from visualjudge.analysis.decisions.pairs_of_models import (
    resolution,
    separated,
    state_words,
)
from visualjudge.analysis.figure_text import group_name, listed, percent, plain_name
from visualjudge.analysis.figures.cells import TASKS_PLOT
from visualjudge.analysis.figures.figure import JudgeFigure
from visualjudge.analysis.figures.section import Section
from visualjudge.analysis.plots.canvas import percent_tick
from visualjudge.analysis.plots.forest import Scale
from visualjudge.analysis.plots.plot import LeftOut, Plot
from visualjudge.analysis.plots.series import OwnPlot, estimates_plot
from visualjudge.analysis.results import Shown
from visualjudge.analysis.separation import Ends
from visualjudge.analysis.table_layout import (
    Column,
    Layout,
    as_named,
    block,
    blocks,
    grid,
    named,
    of_row,
)
from visualjudge.analysis.value_and_interval import NO_TRUTH, Estimate
from visualjudge.core.jsons import Json
from visualjudge.core.text_tables import Table

CARD_OF_TASK = Layout[Answer](
    *as_named("state", "verdict"),
    Column("needs_images", lambda task: (task.models.needs_images or (None, None))[1]),
    blocks("checks", CHECK),
    Column("answer", "verdict"),
    Column("said", "answer"),
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
    """Return the answer of each judge for each task; without rows if there is only one task."""
    several = any(len(judge.tasks) > 1 for judge in judges)
    rows = [task for judge in judges for task in judge.tasks if several]
    note = "The answer for a task uses only its own questions, the overall answer all questions."
    return grid(TASK, rows, title="By task", notes=[note], keys=2)


def _system(ordered: System) -> Json:
    main = KIND.json(ordered.main) if ordered.main else {"kind": None, "sources": []}
    return main | {"by_kind": {kind.kind: KIND.json(kind) for kind in ordered.kinds}}


def _pairs(stored: Json) -> Mapping[str, Sequence[Json]]:
    """Return the table of pairs; there the preference of the judge has another name, because
    ``judge`` is its name.
    """
    rows = [
        {"judge_prefers_a" if key == "judge" else key: end for key, end in pair.items()}
        for pair in stored["pairs"]
    ]
    return {"pairs": rows}


PREFERRED = Scale(
    0.0,
    1.0,
    percent_tick,
    lambda share: percent(share.value, 0),
    "prefers the first",
    0.5,
)
# Number of judges, and of pairs, in the plot of pairs of models.
MOST_COMPARED = 3
MOST_PAIRS = 15


TRUTH_COLOUR = 5


def _preferred(
    value: float | None, ends: Ends | None, images: int, turned: bool
) -> Estimate:
    """Return how often the first of two models is preferred; the second, if ``turned``."""
    if turned and value is not None:
        value = 1 - value
    if turned and ends is not None:
        ends = 1 - ends[1], 1 - ends[0]
    return Estimate(value, ends, images, images)


def pairs_plot(judges: Sequence[JudgeCard]) -> Plot | LeftOut:
    """Draw each pair of models by truth and by the first judges, the clearest by truth first."""
    drawn = [judge for judge in judges if judge.models.pairs][:MOST_COMPARED]
    groups = {pair.group for judge in drawn for pair in judge.models.pairs}
    rows = dict[tuple[str, frozenset[str]], str]()
    notes = dict[str, str]()
    series = []
    truths = []
    for k, judge in enumerate(drawn):
        told = dict[str, Estimate]()
        truth = dict[str, Estimate]()
        for pair in sorted(judge.models.pairs, key=lambda pair: -(pair.truth or 0.5)):
            group = f" ({group_name(pair.group)})" if len(groups) > 1 else ""
            two = pair.group, frozenset((pair.a, pair.b))
            row = rows.setdefault(two, f"{pair.a} or {pair.b}{group}")
            turned = not row.startswith(f"{pair.a} or {pair.b}")
            truth[row] = _preferred(pair.truth, pair.truth_ci95, pair.images, turned)
            told[row] = _preferred(pair.judge, pair.judge_ci95, pair.images, turned)
            notes[row] = state_words(pair) if len(drawn) == 1 else ""
        series.append((k, judge.judge, told))
        truths.append((TRUTH_COLOUR, f"truth, {judge.judge}", truth))
    # judges that answered other questions have other truths
    if all(truth == truths[0][2] for *_, truth in truths):
        truths = [(TRUTH_COLOUR, "truth", truth) for *_, truth in truths[:1]]
    known = any(share.value is not None for *_, own in truths for share in own.values())
    said = [
        f"{judge.judge} separates {separated(judge.models)} pairs rightly"
        for judge in drawn
    ]
    return estimates_plot(
        "pairs",
        listed(said),
        "How often the first of two models is preferred, with 95 % intervals.",
        [*truths, *series] if known else [],
        missing=NO_TRUTH if drawn else "no question compares two named models",
        reading="Each row is a pair of models: how often the truth prefers the first, and how "
        "often the judge does, on the same images. An interval that touches 50 % does not separate "
        "the two; tests are adjusted by Holm over all pairs.",
        most=MOST_PAIRS,
        scale=PREFERRED,
        notes=notes,
    )


def _section(shown: Shown) -> Section:
    table = tasks_table([judge[CARDS] for judge in shown.judges])
    return Section(
        "answers",
        "What holds for a single task?",
        asked=[replace(table, title="")],
    )


def _checks(shown: Shown) -> Section:
    every = {judge.name: judge[CHECKS] for judge in shown.analysis.judges}
    return Section("checks", "Checks", asked=[checks_table(every)], detail=True)


def _orders(ordered: System) -> list[str]:
    return [kind.order for kind in ordered.kinds]


CARDS = JudgeFigure("card", judge_card)
ANSWERS = JudgeFigure(
    "answer",
    lambda judge: judge[CARDS].models,
    ANSWER,
    place=5,
    tables=_pairs,
    section=_section,
    plots=(
        OwnPlot(
            "pairs",
            lambda shown: pairs_plot([judge[CARDS] for judge in shown.drawn]),
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
    "tasks", lambda judge: judge[CARDS].tasks, TASK, place=6, tables=lambda _: {}
)
SYSTEM = JudgeFigure(
    "system",
    lambda judge: judge[CARDS].system,
    json=_system,
    place=7,
    sentences=_orders,
)
