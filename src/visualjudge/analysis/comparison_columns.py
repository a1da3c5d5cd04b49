"""The columns of tables of two judges beside each other (see
:mod:`visualjudge.analysis.columns`).
"""

from __future__ import annotations

from visualjudge.analysis import figure_text, figures as f
from visualjudge.analysis.figure_text import number, p_value, percent, points
from visualjudge.analysis.table_layout import Column, Table, declared, figure

ABOVE: Table[f.Above] = Table(
    (
        Column("baseline", lambda r: r.baseline),
        Column("scope", lambda r: r.scope),
        Column("value", lambda r: r.value, "Questions", text=True),
        Column("n", lambda r: r.gap.n, "Verdicts", lambda r: number(r.gap.n)),
        Column("images", lambda r: r.gap.images, "Images", lambda r: number(r.gap.images)),
        *figure("difference", lambda r: r.gap, "Points above the baseline", points, ends="ci95"),
        Column("p", lambda r: r.p),
        Column("declined", lambda r: r.declined, "Declined by it", lambda r: number(r.declined)),
        Column(
            "baseline_accuracy",
            lambda r: r.baseline_right,
            "Baseline right",
            lambda r: percent(r.baseline_right),
        ),
        Column("p_holm", lambda r: r.p_holm, "p (Holm)", lambda r: p_value(r.p_holm)),
        Column("standing", lambda r: r.standing, "Standing", text=True),
        *declared(f.Above),
    )
)

TASK_GAP: Table[f.TaskGap] = Table(
    (
        Column("n", lambda row: row.gap.n),
        Column("images", lambda row: row.gap.images),
        *figure("difference", lambda row: row.gap, "Points", points, ends="ci95"),
        Column("p", lambda row: row.p),
        Column("p_holm", lambda row: row.p_holm),
    )
)
COMPARISON: Table[f.Comparison] = Table(
    (
        Column("a", lambda c: c.a, "First", text=True),
        Column("b", lambda c: c.b, "Second", text=True),
        Column("n", lambda c: c.questions, "Questions in common", lambda c: number(c.questions)),
        Column("verdicts", lambda c: c.verdicts),
        Column("images", lambda c: c.gap.images, "Images", lambda c: number(c.gap.images)),
        Column("accuracy_a", lambda c: c.accuracy_a),
        Column("accuracy_b", lambda c: c.accuracy_b),
        *figure("difference", lambda c: c.gap, "Points", points, ends="ci95"),
        Column("p", lambda c: c.p),
        Column("only_a_right", lambda c: c.only_a_right),
        Column("only_b_right", lambda c: c.only_b_right),
        Column("mcnemar_p", lambda c: c.p),
        Column("design_effect", lambda c: c.design_effect),
        Column("needed", lambda c: c.needed),
        Column("more_needed", lambda c: c.more_needed),
        Column("gap", lambda c: c.asked_gap),
        Column(
            "images_needed",
            lambda c: c.images_needed,
            "Images needed",
            figure_text.images_needed,
        ),
        Column("images_needed_range", lambda c: c.images_range),
        Column("more_images", lambda c: c.more_images),
        Column("p_holm", lambda c: c.p_holm, "p (Holm)", lambda c: p_value(c.p_holm)),
        Column("by_task", lambda c: {row.task: TASK_GAP.json(row) for row in c.by_task}),
        *declared(f.Comparison),
    )
)

CHECKED: Table[f.RaterChecks] = Table(
    (
        Column("rater", lambda r: r.rater, "Rater", text=True),
        Column("known", lambda r: r.known),
        Column(
            "known_right",
            lambda r: r.known_right,
            "Known items right",
            lambda r: figure_text.part(r.known_right, r.known),
        ),
        Column("repeats", lambda r: r.repeats),
        Column(
            "same",
            lambda r: r.same,
            "Repeats answered the same",
            lambda r: figure_text.part(r.same, r.repeats),
        ),
        Column("turned", lambda r: r.turned),
        Column(
            "same_turned",
            lambda r: r.same_turned,
            "The same, of those shown in the other order",
            lambda r: figure_text.part(r.same_turned, r.turned),
        ),
        *declared(f.RaterChecks),
    )
)

AGREEMENT: Table[f.Agreement] = Table(
    (
        Column("kind", lambda a: a.kind, "Questions", text=True),
        Column("level", lambda a: a.level, "Level", text=True),
        Column("judges", lambda a: len(a.names), "Judges"),
        Column("names", lambda a: list(a.names), "Which", lambda a: ", ".join(a.names), text=True),
        Column("units", lambda a: a.alpha.n, "Units", lambda a: number(a.alpha.n)),
        Column("images", lambda a: a.alpha.images, "Images", lambda a: number(a.alpha.images)),
        *figure("alpha", lambda a: a.alpha, "α", number, ends="ci95"),
        *declared(f.Agreement),
    )
)
