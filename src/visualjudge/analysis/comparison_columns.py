"""The columns of tables that compare two judges, the sources, or shallow rules on the dataset.
Columns about a single judge are in :mod:`visualjudge.analysis.columns`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from visualjudge.analysis import figure_text, figures as f
from visualjudge.analysis.figure_text import number, p_value, percent, points
from visualjudge.analysis.source_figures import IN_MATRIX, Contrast, Control, Leaderboard, SourceRow
from visualjudge.analysis.table_layout import Column, Table, declared, figure
from visualjudge.analysis.value_and_interval import Estimate

ABOVE: Table[f.Above] = Table(
    (
        Column("baseline", lambda r: r.baseline),
        Column("scope", lambda r: r.scope),
        Column("value", lambda r: r.value, "Questions", text=True),
        Column("n", lambda r: r.gap.n, "Verdicts", lambda r: number(r.gap.n)),
        Column("images", lambda r: r.gap.images, "Images", lambda r: number(r.gap.images)),
        *figure("difference", lambda r: r.gap, "Points above the baseline", points, ends="ci95"),
        Column("p", lambda r: r.p),
        Column(
            "declined",
            lambda r: r.declined,
            "Declined by the baseline",
            lambda r: number(r.declined),
        ),
        Column(
            "baseline_accuracy",
            lambda r: r.baseline_right,
            "Accuracy of the baseline",
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
            "Known questions right",
            lambda r: figure_text.part(r.known_right, r.known),
        ),
        Column("repeats", lambda r: r.repeats),
        Column(
            "same",
            lambda r: r.same,
            "Repeats with the same answer",
            lambda r: figure_text.part(r.same, r.repeats),
        ),
        Column("turned", lambda r: r.turned),
        Column(
            "same_turned",
            lambda r: r.same_turned,
            "Same answer, of repeats shown in the other order",
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
        Column("names", lambda a: list(a.names), "Names", lambda a: ", ".join(a.names), text=True),
        Column("units", lambda a: a.alpha.n, "Units", lambda a: number(a.alpha.n)),
        Column("images", lambda a: a.alpha.images, "Images", lambda a: number(a.alpha.images)),
        *figure("alpha", lambda a: a.alpha, "α", number, ends="ci95"),
        *declared(f.Agreement),
    )
)


def _with_bound(row: SourceRow) -> Estimate:
    """Return the strength as reports show it. A source without a loss, or without a win, has only
    one end of its interval.
    """
    return replace(row.strength, interval=row.strength.interval or row.bound)


SOURCE: Table[SourceRow] = Table(
    (
        Column("source", lambda r: r.source, "Source", text=True),
        Column("group", lambda r: r.group),
        Column("component", lambda r: r.component),
        Column(
            "images", lambda r: r.strength.images, "Images", lambda r: number(r.strength.images)
        ),
        *figure(
            "strength", lambda r: r.strength, "Strength", number, ends="ci95", shown=_with_bound
        ),
        Column("bound", lambda r: r.bound),
        *figure("controlled", lambda r: r.controlled, "Controlled", number),
        Column(
            "true_strength",
            lambda r: r.true_strength,
            "By truth",
            lambda r: number(r.true_strength),
        ),
        Column(
            "mean_score",
            lambda r: r.mean_score,
            "True score",
            lambda r: number(r.mean_score),
        ),
        Column("rank", lambda r: r.rank, "Rank"),
        Column(
            "rank_set", lambda r: r.rank_set, "Ranks, 95 %", lambda r: figure_text.ranks(r.rank_set)
        ),
        Column(
            "rank_set_all",
            lambda r: r.rank_set_all,
            "All together",
            lambda r: figure_text.ranks(r.rank_set_all),
        ),
        Column(
            "true_rank",
            lambda r: r.true_rank or None,
            "Rank by truth",
            lambda r: number(r.true_rank or None),
        ),
        *declared(SourceRow),
    )
)

CONTRAST: Table[Contrast] = Table(
    (
        Column("group", lambda c: c.group),
        Column("above", lambda c: c.above),
        Column("below", lambda c: c.below),
        *figure("difference", lambda c: c.difference, ends="ci95"),
        Column("images", lambda c: c.difference.images),
        Column("p", lambda c: c.p),
        *declared(Contrast),
    )
)

CONTROL: Table[Control] = Table(
    (
        Column("group", lambda c: c.group),
        Column("name", lambda c: c.name),
        *figure("effect", lambda c: c.effect, ends="ci95"),
        Column("games", lambda c: c.effect.n),
    )
)

LEADERBOARD: Table[Leaderboard] = Table(
    (
        Column("rows", lambda b: [SOURCE.json(row) for row in b.rows]),
        Column("contrasts", lambda b: [CONTRAST.json(row) for row in b.contrasts]),
        Column("controls", lambda b: [CONTROL.json(row) for row in b.controls]),
        Column("n", lambda b: b.n),
        Column("components", lambda b: b.components),
        Column("regularised", lambda b: b.regularised),
        Column("ties", lambda b: b.ties),
        Column("dispersion", lambda b: b.dispersion),
        Column(
            "rank_correlation",
            lambda b: (
                None
                if b.spearman is None and b.kendall_tau is None
                else {"spearman": b.spearman, "kendall_tau": b.kendall_tau}
            ),
        ),
        *declared(Leaderboard),
    )
)


def contrasts(
    rows: Sequence[SourceRow], found: Iterable[Contrast]
) -> tuple[list[str], list[list[str]]]:
    """Return the titles and rows of the matrix "row above column" of the first sources of a group:
    p and the interval in log odds.
    """
    names = [row.source for row in rows[:IN_MATRIX]]
    cells = {
        (c.above, c.below): f"{p_value(c.p)} ({figure_text.span(c.difference.interval)})"
        for c in found
    }
    table = [[name, *(cells.get((name, other), "") for other in names[1:])] for name in names[:-1]]
    return ["Above \\ below", *names[1:]], table


LEAK: Table[f.Leak] = Table(
    (
        Column(
            "scope",
            lambda r: r.scope,
            "Questions",
            lambda r: figure_text.plain_name(r.scope),
            text=True,
        ),
        Column("rule", lambda r: r.rule, "Rule", text=True),
        Column("n", lambda r: r.share.n, "Applies to", lambda r: number(r.share.n)),
        Column("images", lambda r: r.share.images, "Images", lambda r: number(r.share.images)),
        *figure("accuracy", lambda r: r.share, "Accuracy", ends="ci95"),
        Column("p", lambda r: r.p),
        Column("p_holm", lambda r: r.p_holm, "p (Holm)", lambda r: p_value(r.p_holm)),
        Column("flagged", lambda r: r.flagged),
        *declared(f.Leak),
    )
)

DATASET: Table[f.DatasetFacts] = Table(
    (
        Column("path", lambda d: d.path),
        Column("questions_sha256", lambda d: d.questions_sha256),
        Column("version", lambda d: d.version),
        Column("seed", lambda d: d.seed),
        Column("questions", lambda d: d.questions),
        Column("images", lambda d: d.images),
        Column("by_question_type", lambda d: d.by_question_type),
        Column("prompts", lambda d: list(d.prompts)),
        Column("asked", lambda d: d.asked),
        Column("images_asked", lambda d: d.images_asked),
        Column("probed", lambda d: d.probed),
        Column("where", lambda d: list(d.where)),
        *declared(f.DatasetFacts),
    )
)
