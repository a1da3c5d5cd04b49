"""The card as text, and as HTML for a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from visualjudge.analysis.decisions.card_by_benchmark import benchmarks_table
from visualjudge.analysis.decisions.checks import ICONS, LABELS, STATES
from visualjudge.analysis.decisions.decision_tables import number, span
from visualjudge.analysis.decisions.model_answer import short_answer
from visualjudge.analysis.decisions.pairs_figure import (
    pairs_table,
    resolution,
    separated,
)
from visualjudge.analysis.figure_text import (
    GROUPS_NOTE,
    RANKS_NOTE,
    group_name,
    many,
    own_score,
    percent,
    photograph_gain,
    plain_name,
    ranks,
)
from visualjudge.core.text_tables import Styled, Table, folded

if TYPE_CHECKING:
    from visualjudge.analysis.decisions.card import Card, JudgeCard
    from visualjudge.analysis.decisions.checks import Check
    from visualjudge.analysis.decisions.may_rank_models import KindOfSystem

TASKS_NOTE = "The answer for a task uses only its own questions, the overall answer all questions."
TASK_COLUMNS = (
    "Judge", "Task", "May I rank models?", "Pairs separated", "Resolution", "Accuracy",
)  # fmt: skip


def checks_table(judges: Sequence[JudgeCard]) -> Table:
    """Return the checks: of one judge with all figures, of several side by side."""
    first = judges[0].checks if judges else ()
    if len(judges) == 1:
        columns = ["Check", "State", "Value", "95 %", "Required", "Images", "Why"]
        rows = [
            (LABELS[c.name], _state(c), c.shown, c.ends, c.required, str(c.images), c.why)
            for c in first
        ]
        return Table(tuple(columns), tuple(rows))
    columns = ["Check", "Required", *(judge.judge for judge in judges)]
    beside = [
        (LABELS[c.name], c.required, *(_state(judge.of(c.name), True) for judge in judges))
        for c in first
    ]
    return Table(tuple(columns), tuple(beside), keys=2)


def _state(line: Check, value: bool = False) -> Styled:
    measured = f" ({line.shown})" if value and line.value is not None else ""
    return Styled(STATES[line.state] + measured, state=line.state, icon=ICONS[line.state])


def tasks_table(judges: Sequence[JudgeCard]) -> Table | None:
    """Return the answer of each judge for each task; None if there is only one task."""
    if not any(len(judge.tasks) > 1 for judge in judges):
        return None
    rows = tuple(
        (
            judge.judge,
            plain_name(task.task),
            short_answer(task),
            separated(task),
            resolution(task),
            task.of("macro_accuracy").shown,
        )
        for judge in judges
        for task in judge.tasks
    )
    return Table(TASK_COLUMNS, rows, (TASKS_NOTE,), keys=2, title="By task")


def sources_table(kind: KindOfSystem) -> Table:
    """Return each source by judge and by truth, its possible ranks in its group, and which sources
    are favoured.
    """
    found, apart = kind.found, len(set(kind.groups)) > 1
    order = sorted(range(len(kind.names)), key=lambda s: (kind.groups[s], -float(found.judged[s])))
    rows = []
    for s in order:
        favour = found.favours[s]
        above = number(favour.value)
        means = number(float(found.judged[s])), number(float(found.true[s])), ranks(found.ranks[s])
        told = "" if not favour.sure else "favoured" if favour.value > 0 else "disfavoured"
        group = (group_name(kind.groups[s]),) if apart else ()
        rows.append((*group, kind.names[s], *means, above, span(favour.interval), told))
    columns = ["Group"] if apart else []
    columns += ["Source", f"Judge's {kind.measure}", "By truth", "Ranks by judge"]
    columns += ["Above an unbiased judge", "95 %", ""]
    notes = [RANKS_NOTE, *([GROUPS_NOTE] if apart else [])]
    if kind.left_out:
        notes.append(
            f"Left out, because no usable reply compares them: {'; '.join(kind.left_out)}."
        )
    return Table(tuple(columns), tuple(rows), tuple(notes), keys=1 + apart)


def _order(kind: KindOfSystem) -> str:
    tau, order = kind.found.tau_b, kind.found.pair_order
    least = f", at least {number(tau.interval[0])}" if tau.interval else ""
    return (
        f"Order of {many(len(kind.names), 'source')} by {kind.measure}: τ-b {number(tau.value)}"
        f"{least}; {percent(order.value, 0)} of {many(kind.found.pairs, 'pair')} as by truth."
    )


def _told(judge: JudgeCard) -> list[str]:
    photograph = judge.result.photograph
    gain = [] if photograph is None else [f"{photograph_gain(photograph.all)}."]
    return [judge.answer, *gain]


def _extras(judge: JudgeCard) -> list[str]:
    out = [_order(kind) for kind in judge.system.kinds]
    stated = judge.probabilities
    if stated is not None:
        brier, ece = stated.brier, stated.ece_corrected
        out.append(
            f"Its probabilities: Brier score {number(brier.value)} ({span(brier.interval)}), "
            "expected calibration error, corrected for few answers, "
            f"{number(ece.value)} ({span(ece.interval)}), {stated.n} answers."
        )
    radius = judge.score_radius
    if radius is not None:
        within = f"the score is within {radius.value:.2f} of the truth"
        unknown = "no bound is known: too few images"
        bound = within if radius.value < float("inf") else unknown
        out.append(f"In 90 % of new images, {bound} ({many(radius.images, 'image')}).")
    own = [s for s in judge.result.own_scores if s.value is not None]
    return [*out, *(f"The benchmark's own score, {s.name}: {own_score(s)}." for s in own)]


def _tables(judge: JudgeCard) -> list[Table]:
    pairs, main = pairs_table(judge), judge.system.main
    return [
        *([pairs] if pairs else []),
        checks_table([judge]),
        *([sources_table(main)] if main else []),
    ]


def _over_all(card: Card) -> list[Table]:
    tasks = tasks_table(card.judges)
    return [
        *([benchmarks_table(card.benchmarks)] if card.benchmarks else []),
        *([tasks] if tasks else []),
    ]


def text(card: Card) -> str:
    """Return the card for a terminal."""
    parts = [table.text() + "\n" for table in _over_all(card)]
    for judge in card.judges:
        parts += [*map(folded, (*_told(judge), *judge.remarks.lines)), ""]
        parts += [table.text() + "\n" for table in _tables(judge)]
        parts += [*map(folded, _extras(judge)), ""]
    return "\n".join(parts).rstrip()


def html(card: Card) -> str:
    """Return the card for a notebook."""
    parts = [table.html() for table in _over_all(card)]
    for judge in card.judges:
        lines = (*_told(judge), *judge.remarks.lines)
        parts += [f"<p>{escape(line)}</p>" for line in lines]
        parts += [table.html() for table in _tables(judge)]
        parts += [f"<p>{escape(line)}</p>" for line in _extras(judge)]
    return "".join(parts)
