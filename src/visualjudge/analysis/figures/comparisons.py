"""Comparisons of two judges; see :mod:`visualjudge.analysis.comparisons`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from visualjudge.analysis.comparisons import (
    Comparison,
    TaskGap,
    comparisons,
    not_compared,
)
from visualjudge.analysis.estimate import LEVEL
from visualjudge.analysis.figures.accuracy import PAIRWISE
from visualjudge.analysis.figures.vocabulary import (
    HOLM,
    NONE,
    UNADJUSTED,
    Analysis,
    Column,
    Estimate,
    JudgeResult,
    Layout,
    LeftOut,
    OwnPlot,
    Plot,
    Scale,
    Section,
    Shown,
    StudyFigure,
    Table,
    as_named,
    counts,
    estimates_plot,
    figure,
    grid,
    named,
    number,
    of_row,
    percent,
    points,
    with_ends,
)
from visualjudge.analysis.identity import moved_between
from visualjudge.runs.budget import money

NOTE = (
    "p is adjusted by Holm’s method over all comparisons; a missing answer counts "
    "as wrong."
)
MOST_PRINTED = 15
TASK_GAP = Layout[TaskGap](
    *counts("gap"),
    *figure("difference", "gap", "Points", points, ends="ci95"),
    *as_named("p", "p_holm"),
)
MEASURES = {
    "accuracy": "accuracy, in points",
    "spearman": "ρ with the truth",
    "mae": "mean error, of 10",
}


def shown_gap(row: Comparison) -> str:
    """Return the difference in the unit of its measure, with its interval."""
    return with_ends(row.gap, points if row.measure == "accuracy" else number)


COLUMNS = Layout[Comparison](
    named("a", "First"),
    named("b", "Second"),
    Column("n", "questions", "Questions in common", number),
    Column("images", "gap.images", "Images", number),
    named("measure", "Measure", MEASURES.__getitem__, text=True),
    *figure("difference", "gap", ends="ci95"),
    of_row("Difference (95 %)", shown_gap),
    *as_named("value_a", "value_b"),
    *as_named(
        "verdicts",
        "accuracy_a",
        "accuracy_b",
        "p",
        "only_a_right",
        "only_b_right",
    ),
    Column(
        "mcnemar_p", lambda row: row.p if row.measure == "accuracy" else None
    ),
    *figure("kappa", "kappa", "Agreement (κ)", number),
    HOLM,
    Column(
        "by_task", lambda c: {row.task: TASK_GAP.json(row) for row in c.by_task}
    ),
)


def _of(view: Shown) -> list[Comparison]:
    rows = view.analysis[COMPARISONS]
    return [row for row in rows if {row.a, row.b} <= view.names]


def efforts(judges: Sequence[JudgeResult]) -> Table:
    """Return right answers, tokens, cost and cut replies by effort; no rows if the
    judges do not differ in it.
    """
    named = [
        (judge, (judge.info.get("parameters") or {}).get("effort"))
        for judge in judges
    ]
    rows = [
        _effort(judge, effort)
        for judge, effort in named
        if judge.tokens[1] is not None
    ]
    columns = (
        "Judge",
        "Effort",
        "Right pairs",
        "Tokens",
        "Of them thinking",
        "Cost",
        "Cut replies",
    )
    differ = len({str(effort) for _, effort in named}) > 1
    numeric = (False, False, *[True] * (len(columns) - 2))
    return Table(
        columns, tuple(rows) if differ else (), title="Effort", numeric=numeric
    )


def _effort(judge: JudgeResult, effort: object) -> tuple[str, ...]:
    total = judge.info.get("total") or {}
    return (
        judge.name,
        "the model's own" if effort is None else str(effort),
        percent(judge[PAIRWISE].accuracy.share.value),
        number(sum(part or 0 for part in judge.tokens)),
        number(total.get("tokens_thinking")),
        NONE if not total.get("cost") else money(total["cost"]),
        percent(
            judge.status.get("truncated", 0) / judge.verdicts
            if judge.verdicts
            else None
        ),
    )


def _section(view: Shown) -> Section:
    note = not_compared(len(view.analysis.judges))
    table = grid(
        COLUMNS,
        _of(view),
        title="Pairs of judges",
        notes=[note] if note else (),
        keys=2,
        hit=lambda row: row.p_holm is not None and row.p_holm < LEVEL,
    )
    return Section(
        "compared",
        "Which judge is better?",
        "Judges are compared on the questions that both were asked. By accuracy, a "
        "missing answer counts as wrong, but questions that the local judge declined "
        "are left out; by scores, items that both scored count, and ρ is the mean over "
        "tasks. p is clustered by image and adjusted by Holm’s method over all "
        "comparisons; rows with p below 5 % are bold. Intervals are not adjusted.",
        [table, efforts(view.judges)],
    )


def _printed(analysis: Analysis) -> list[Table]:
    """Return the comparisons for the terminal."""
    known = [row for row in analysis[COMPARISONS] if row.gap.value is not None]
    if not known:
        return []
    return [grid(COLUMNS, known[:MOST_PRINTED], notes=[NOTE], keys=2)]


def _draw(view: Shown) -> Plot | LeftOut:
    """Draw the difference in accuracy between every two judges."""
    names = {judge.name for judge in view.drawn}
    every = [
        row for row in view.analysis[COMPARISONS] if {row.a, row.b} <= names
    ]
    known = [row.measure for row in every if row.gap.value is not None]
    measure = next(iter(known), "accuracy")
    rows = [row for row in every if row.measure == measure]
    differences = {f"{row.a} minus {row.b}": row.gap for row in rows}
    if measure != "accuracy":
        return estimates_plot(
            "judges",
            "Difference in rank correlation between judges",
            "ρ with the truth of the first judge minus that of the second, on the "
            "items that both scored, as the mean over tasks.",
            [(0, "difference", differences)],
            missing="",
            label="In favour of the first",
            reading=UNADJUSTED,
            scale=correlation_scale(differences.values()),
        )
    return estimates_plot(
        "judges",
        "Difference in accuracy between judges",
        "Accuracy of the first judge minus that of the second, on the questions that "
        "both were asked.",
        [(0, "difference", differences)],
        missing=_missing(every),
        label="Points in favour of the first",
        reading=UNADJUSTED,
    )


def _missing(rows: Sequence[Comparison]) -> str:
    why = {row.gap.why or "" for row in rows}
    return why.pop() if len(why) == 1 else "no two judges can be compared"


def correlation_scale(estimates: Iterable[Estimate]) -> Scale:
    """Return an axis of differences of correlations, symmetric about 0."""
    ends = [abs(end) for own in estimates for end in own.interval or () if end]
    most = max(0.1, 1.08 * max(ends, default=0.0))
    return Scale(
        -most,
        most,
        number,
        lambda own: with_ends(own, number),
        "difference in ρ",
        0.0,
    )


def _moved(analysis: Analysis) -> tuple[str, ...]:
    """Return a sentence per two runs of which only the model that answered, or its
    settings, differ."""
    twos = pairwise(analysis.judges)
    return tuple(line for two in twos for line in moved_between(*two))


MOVED = StudyFigure(
    "moved", _moved, json=list, tables=lambda _: {}, place=1, sentences=tuple
)
COMPARISONS = StudyFigure(
    "comparisons",
    lambda analysis: comparisons(analysis.study),
    COLUMNS,
    place=20,
    printed=_printed,
    section=_section,
    plots=(OwnPlot("judges", _draw),),
)
