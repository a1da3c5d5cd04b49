"""The columns of every table: the name of each figure in files, its heading in reports, and its
format.

``metrics.json`` and the CSV tables contain every column; Markdown, HTML and the terminal show those
that have a title. A new statistic needs one function that fills a field of
:mod:`visualjudge.analysis.figures`. Its column is declared in the metadata of that field or listed
here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import TypeVar

from visualjudge.analysis import figure_text as words, figures as f
from visualjudge.analysis.benchmark_pair_rules import RULES, Rule
from visualjudge.analysis.comparison_columns import ABOVE, CHECKED, LEADERBOARD
from visualjudge.analysis.figure_text import (
    number,
    p_value,
    percent,
    percents,
    plain_name,
    points,
    span,
)
from visualjudge.analysis.pairwise_figures import Accuracy, Preference, Swap, unanswered
from visualjudge.analysis.table_layout import Column, Json, Table, declared, figure, plain
from visualjudge.analysis.value_and_interval import Estimate, Share

Row = TypeVar("Row")
DOUBLING = "Doubling is worth this many more images"


def share(get: Callable[[Row], Estimate]) -> Callable[[Row], Json]:
    """Return a getter of the JSON object of a figure: value, ci95, n, images, why."""
    return lambda row: ESTIMATE.json(get(row))


ESTIMATE: Table[Estimate] = Table(
    (
        Column("value", lambda e: e.value),
        Column("ci95", lambda e: e.interval),
        Column("n", lambda e: e.n),
        Column("images", lambda e: e.images),
        Column("why", lambda e: e.why),
    )
)

ACCURACY: Table[Accuracy] = Table(
    (
        Column("n", lambda a: a.share.n, "Verdicts", lambda a: number(a.share.n)),
        Column("images", lambda a: a.share.images, "Images", lambda a: number(a.share.images)),
        *figure("accuracy", lambda a: a.share, "Accuracy", ends="ci95", shown=lambda a: a.shown),
        Column(
            "failed",
            lambda a: a.failed,
            "No answer",
            lambda a: words.part(a.failed, a.share.n),
        ),
        Column("declined", lambda a: unanswered(a.causes).declined),
        Column("cannot_tell", lambda a: unanswered(a.causes).cannot_tell),
        Column(
            "accuracy_bounds",
            lambda a: None if a.upper_bound is None else (a.share.value, a.upper_bound),
        ),
        Column(
            "accuracy_parsed",
            lambda a: a.parsed.value,
            "Accuracy of the replies read",
            lambda a: percent(a.parsed.value),
        ),
        Column("accuracy_parsed_ci95", lambda a: a.parsed.interval),
        Column("answered_a", lambda a: a.answered_a),
        Column("causes", lambda a: a.causes),
        *declared(Accuracy),
    )
)

SWAP: Table[Swap] = Table(
    (
        Column("n", lambda s: s.consistency.n),
        Column("images", lambda s: s.consistency.images),
        Column("consistency", lambda s: s.consistency.value),
        Column("consistency_parsed", lambda s: s.consistency_parsed),
        Column("right_in_both", lambda s: s.right_in_both.value),
        Column("right_in_both_ci95", lambda s: s.right_in_both.interval),
        Column("withheld", lambda s: s.withheld),
        Column("always_first", lambda s: s.always_first if s.consistency.n else None),
        Column("always_second", lambda s: s.always_second if s.consistency.n else None),
        Column("p", lambda s: s.p),
        Column("ci95", lambda s: s.consistency.interval),
        *declared(Swap),
    )
)


def _counted(rule: Rule) -> Column[Mapping[str, Share]]:
    return Column(
        rule.key, share(lambda p: p[rule.key]), rule.title, lambda p: words.with_ends(p[rule.key])
    )


PUBLISHED: Table[Mapping[str, Share]] = Table(tuple(_counted(rule) for rule in RULES))

PREFERENCE: Table[Preference] = Table(
    (
        Column("feature", lambda b: b.feature),
        Column("leans_to", lambda b: b.leans_to, "Preference for", text=True),
        Column("n", lambda b: b.estimate.n, "Verdicts", lambda b: number(b.estimate.n)),
        Column(
            "images", lambda b: b.estimate.images, "Images", lambda b: number(b.estimate.images)
        ),
        Column("chosen", lambda b: b.chosen),
        *figure("preference", lambda b: b.estimate, "Points", points, ends="ci95"),
        Column("p", lambda b: b.p),
        Column("p_holm", lambda b: b.p_holm, "p (Holm)", lambda b: p_value(b.p_holm)),
        Column("flagged", lambda b: b.flagged),
        Column("preference_crude", lambda b: b.crude),
        *declared(Preference),
    )
)


def _pairwise(judge: f.JudgeResult) -> Json:
    p = judge.pairwise
    position = next(row for row in judge.bias if row.feature == "position")
    return {
        **ACCURACY.json(p.accuracy),
        "questions": p.questions,
        "chance": p.chance,
        "constant_answer": plain(p.constant),
        "macro": ESTIMATE.json(p.macro),
        "kappa": ESTIMATE.json(p.kappa),
        "answered_tie": plain(p.ties),
        "position_p": plain(p.position_p),
        "position_preference": PREFERENCE.json(position),
        "swap_consistency": plain(p.swap.consistency.value),
        "swap": SWAP.json(p.swap),
        "published": PUBLISHED.json(p.published),
    }


RANKING: Table[f.Ranking] = Table(
    (
        Column("n", lambda r: r.exact.n),
        Column("images", lambda r: r.exact.images),
        Column("failed", lambda r: r.failed),
        Column("declined", lambda r: r.declined),
        Column("cannot_tell", lambda r: r.cannot_tell),
        *figure("kendall_tau", lambda r: r.tau, "Kendall τ-b", number, ends="ci95"),
        Column("kendall_tau_bounds", lambda r: r.tau_bounds),
        *declared(f.Ranking),
    )
)

SCORING: Table[f.Scoring] = Table(
    (
        Column("n", lambda s: s.n),
        Column("images", lambda s: s.mae.images),
        Column("failed", lambda s: s.failed),
        Column("declined", lambda s: s.declined),
        Column("cannot_tell", lambda s: s.cannot_tell),
        Column("within_image_tau", lambda s: s.within.value),
        Column("within_image_ci95", lambda s: s.within.interval),
        Column("within_image_n", lambda s: s.within.n),
        Column("within_image_images", lambda s: s.within.images),
        *figure("spearman", lambda s: s.spearman, ends="ci95"),
        Column("spearman_if_failed", lambda s: s.spearman_if_failed),
        *declared(f.Scoring),
    )
)

SENSITIVITY: Table[f.Sensitivity] = Table(
    (
        Column("scope", lambda s: s.scope),
        Column("value", lambda s: s.value, "Questions", text=True),
        Column("against", lambda s: s.against, "Distance", text=True),
        Column("n", lambda s: s.jnd.n, "Verdicts", lambda s: number(s.jnd.n)),
        Column("images", lambda s: s.jnd.images, "Images", lambda s: number(s.jnd.images)),
        Column("jnd", lambda s: s.jnd.value, "75 % point (95 %)", words.jnd_text, text=True),
        Column("ci95", lambda s: s.jnd.interval),
        Column("alpha", lambda s: s.alpha),
        Column("beta", lambda s: s.beta),
        Column("lapse", lambda s: s.lapse),
        Column("floor", lambda s: s.floor),
        Column("reason", lambda s: s.reason),
        Column("slope_p", lambda s: s.slope_p),
        Column("points", lambda s: [{"x": p.x, "share": p.share, "n": p.n} for p in s.points]),
        *declared(f.Sensitivity),
    )
)

ENCODING: Table[f.Encoding] = Table(
    (
        Column("encoding", lambda e: e.name, "Encoding", text=True),
        Column("n", lambda e: e.share.n, "Verdicts", lambda e: number(e.share.n)),
        Column("images", lambda e: e.share.images, "Images", lambda e: number(e.share.images)),
        *figure("accuracy", lambda e: e.share, "Accuracy", ends="ci95"),
        Column("tokens", lambda e: e.tokens, "Prompt tokens", lambda e: number(e.tokens, 0)),
        Column("standing", lambda e: e.standing, "Standing", text=True),
        Column("common_pairs", lambda e: e.common_pairs),
        Column("recommended", lambda e: e.recommended),
        *declared(f.Encoding),
    )
)

DUEL: Table[f.EncodingDuel] = Table(
    (
        Column("first", lambda d: d.first, "First", text=True),
        Column("second", lambda d: d.second, "Second", text=True),
        Column("pairs", lambda d: d.gap.n, "Pairs", lambda d: number(d.gap.n)),
        Column("images", lambda d: d.gap.images, "Images", lambda d: number(d.gap.images)),
        *figure("difference", lambda d: d.gap, "Points", points, ends="ci95"),
        Column("p", lambda d: d.p),
        Column("p_holm", lambda d: d.p_holm, "p (Holm)", lambda d: p_value(d.p_holm)),
        *declared(f.EncodingDuel),
    )
)

CHOICE: Table[f.EncodingChoice] = Table(
    (
        Column("task", lambda c: c.task, "Task", lambda c: plain_name(c.task), text=True),
        Column("recommended", lambda c: c.recommended, "Recommended", words.recommended, text=True),
        Column("reason", lambda c: c.reason),
        Column(
            "recommended_accuracy",
            share(lambda c: c.chosen),
            "Accuracy, on the other half of the images",
            lambda c: words.with_ends(c.chosen),
        ),
        Column("cheapest", lambda c: c.cheapest),
        Column("encodings", lambda c: [ENCODING.json(row) for row in c.encodings]),
        Column("comparisons", lambda c: [DUEL.json(row) for row in c.duels]),
    )
)


def _part(name: str, title: str) -> tuple[Column[f.Variance], ...]:
    return (
        Column(name, lambda v: getattr(v, name)),
        Column(
            f"{name}_share",
            lambda v: v.shares[name],
            title,
            lambda v: words.variance_share(v, name),
        ),
    )


VARIANCE: Table[f.Variance] = Table(
    (
        Column("task", lambda v: v.task, "Task", lambda v: plain_name(v.task), text=True),
        Column("n", lambda v: v.n, "Verdicts", lambda v: number(v.n)),
        *_part("item", "Pair"),
        *_part("encoding", "Encoding"),
        *_part("item_x_encoding", "Pair × encoding"),
        *_part("order", "Order + chance"),
        *_part("repeat", "Repeat"),
        Column("total", lambda v: v.total),
        Column("image", lambda v: v.image),
        Column("ci95", lambda v: dict(v.ends)),
        Column(
            "gains",
            lambda v: {gain.name: {"value": gain.value, "ci95": gain.interval} for gain in v.gains},
        ),
        Column(None, lambda v: v, "From the image", lambda v: words.variance_share(v, "image")),
        Column(None, lambda v: v, DOUBLING, words.gains, text=True),
        *declared(f.Variance),
    )
)


SHAPE: Table[f.Shape] = Table(
    (
        Column("cause", lambda s: s.cause, "Cause", text=True),
        Column("shape", lambda s: s.shape, "Ending", text=True),
        Column("count", lambda s: s.count, "Replies", lambda s: number(s.count)),
        Column("example", lambda s: s.example, "Example", text=True),
        Column("question", lambda s: s.question),
    )
)

UNREAD: Table[f.Unread] = Table(
    (
        Column("n", lambda u: u.n),
        Column("failed", lambda u: u.failed),
        Column("declined", lambda u: unanswered(u.causes).declined),
        Column("cannot_tell", lambda u: unanswered(u.causes).cannot_tell),
        Column("causes", lambda u: u.causes),
        Column("shapes", lambda u: [SHAPE.json(row) for row in u.shapes]),
        Column("extracted", lambda u: u.extracted),
        Column("accuracy_with_extracted", lambda u: u.accuracy_with_extracted),
        Column("no_reply", lambda u: unanswered(u.causes).no_reply),
        Column("of_probes", lambda u: u.of_probes),
        *declared(f.Unread),
    )
)


PROBE: Table[f.ProbeResult] = Table(
    (
        Column("name", lambda p: p.name, "Probe", lambda p: p.name.replace("_", " "), text=True),
        Column("design", lambda p: p.design),
        Column("n", lambda p: p.effect.n, "Verdicts", lambda p: number(p.effect.n)),
        Column("images", lambda p: p.effect.images, "Images", lambda p: number(p.effect.images)),
        *figure("effect", lambda p: p.effect, "Effect, points", points, ends="ci95"),
        Column("margin", lambda p: p.margin, "Margin", lambda p: points(p.margin)),
        Column("p_holm", lambda p: p.p_holm, "p (Holm)", lambda p: p_value(p.p_holm)),
        Column("failed", lambda p: p.failed, "No answer", lambda p: number(p.failed)),
        Column(
            "state", lambda p: p.state, "State", lambda p: words.PROBE_STATES[p.state], text=True
        ),
        Column("example", lambda p: p.example),
        *declared(f.ProbeResult),
    )
)

TRUST: Table[f.ToolTrust] = Table(
    (
        Column("probe", lambda t: t.probe),
        Column(
            "confidence",
            lambda t: t.confidence,
            "Confidence claimed by the tool",
            lambda t: number(t.confidence),
        ),
        Column(
            "wrong_tool",
            share(lambda t: t.wrong_tool),
            "Follows a wrong tool",
            lambda t: words.with_ends(t.wrong_tool),
        ),
        Column(
            "right_tool",
            share(lambda t: t.right_tool),
            "Follows a right tool",
            lambda t: words.with_ends(t.right_tool),
        ),
        *declared(f.ToolTrust),
    )
)

PHOTOGRAPH: Table[f.Photograph] = Table(
    (
        Column("task", lambda p: p.task, "Questions", lambda p: plain_name(p.task), text=True),
        Column("n", lambda p: p.first.gain.n, "Verdicts", lambda p: number(p.first.gain.n)),
        Column(
            "images", lambda p: p.first.gain.images, "Images", lambda p: number(p.first.gain.images)
        ),
        Column(
            "with",
            lambda p: p.first.seen.value,
            "With the photograph",
            lambda p: percent(p.first.seen.value),
        ),
        Column(
            "other",
            lambda p: p.other and p.other.blind.value,
            "With another",
            lambda p: percent(p.other.blind.value if p.other else None),
        ),
        Column(
            "grey",
            lambda p: p.grey and p.grey.blind.value,
            "With grey",
            lambda p: percent(p.grey.blind.value if p.grey else None),
        ),
        *figure("gain", lambda p: p.first.gain, "Gain over grey, points", points, ends="interval"),
        Column(
            "gain_over_other",
            lambda p: p.other and p.other.gain.value,
            "Over another",
            lambda p: points(p.other.gain.value if p.other else None),
        ),
        Column(
            "interval_over_other",
            lambda p: p.other and p.other.gain.interval,
            "95 %",
            lambda p: percents(p.other.gain.interval) if p.other and p.other.gain.interval else "",
        ),
        Column(
            "state",
            lambda p: p.state,
            "The photograph is",
            lambda p: words.PHOTOGRAPH_STATES[p.state],
            text=True,
        ),
        *declared(f.Photograph),
    )
)


def photograph(need: f.PhotographNeed | None) -> Json | None:
    """Return what the judge gains from the photograph, with ``by_task``; None if it was not asked
    without the photograph.
    """
    if need is None:
        return None
    return {
        **PHOTOGRAPH.json(need.all),
        "by_task": {row.task: PHOTOGRAPH.json(row) for row in need.by_task},
    }


def _cell(cell: f.Cell) -> Json:
    """Return a cell of by_task, by_encoding or by_error_type, with one object per question type."""
    out: Json = {"pairwise": {**dict(cell.keys), **ACCURACY.json(cell.accuracy)}}
    if not cell.accuracy.share.n:
        out["pairwise"] = ACCURACY.json(cell.accuracy)
    if cell.ranking is not None:
        out["ranking"] = RANKING.json(cell.ranking)
    if cell.scoring is not None:
        out["scoring"] = SCORING.json(cell.scoring)
    return out


def _flat_cells(cells: Iterable[f.Cell]) -> Json:
    return {cell.name: {**dict(cell.keys), **ACCURACY.json(cell.accuracy)} for cell in cells}


JUDGE: Table[f.JudgeResult] = Table(
    (
        Column("judge", lambda j: j.name),
        Column("simulated", lambda j: j.simulated),
        Column("run", lambda j: j.run),
        Column("verdicts", lambda j: j.verdicts),
        Column("expected", lambda j: j.expected),
        Column("missing", lambda j: j.missing),
        Column("questions", lambda j: j.questions),
        Column("asked_like", lambda j: j.asked_like),
        Column("status", lambda j: j.status),
        Column("tokens", lambda j: {"prompt": j.tokens_in, "reply": j.tokens_out}),
        Column("latency_median_s", lambda j: j.latency_s),
        Column("problems", lambda j: list(j.problems)),
        Column("warnings", lambda j: list(j.warnings)),
        Column("info", lambda j: j.info),
        Column("identity", lambda j: [asdict(row) for row in j.identity]),
        Column(
            None, lambda j: j, "Verdicts on pairs", lambda j: number(j.pairwise.accuracy.share.n)
        ),
        Column(None, lambda j: j, "Images", lambda j: number(j.pairwise.accuracy.share.images)),
        Column(
            "pairwise", _pairwise, "Accuracy", lambda j: percent(j.pairwise.accuracy.shown.value)
        ),
        Column(None, lambda j: j, "95 %", lambda j: percents(j.pairwise.accuracy.shown.interval)),
        Column(
            None,
            lambda j: j,
            "Accuracy, mean over tasks",
            lambda j: words.NONE if j.pairwise.accuracy.none else percent(j.pairwise.macro.value),
        ),
        Column(None, lambda j: j, "Cohen’s κ", lambda j: number(j.pairwise.kappa.value)),
        Column(None, lambda j: j, "95 %", lambda j: span(j.pairwise.kappa.interval)),
        Column(None, lambda j: j, "Without an answer", words.unanswered_of),
        Column(
            None,
            lambda j: j,
            "Accuracy of the replies read",
            lambda j: percent(j.pairwise.accuracy.parsed.value),
        ),
        Column(None, lambda j: j, "Best constant answer", lambda j: percent(j.pairwise.constant)),
        Column(None, lambda j: j, "Answered A", lambda j: percent(j.pairwise.accuracy.answered_a)),
        Column(None, lambda j: j, "Answered tie", lambda j: percent(j.pairwise.ties)),
        Column(
            None,
            lambda j: j,
            "Same when swapped",
            lambda j: percent(j.pairwise.swap.consistency.value),
        ),
        Column(
            None,
            lambda j: j,
            "Same of the replies read",
            lambda j: percent(j.pairwise.swap.consistency_parsed),
        ),
        Column(
            "ranking",
            lambda j: RANKING.json(j.ranking),
            "Ranking τ-b",
            lambda j: number(j.ranking.tau.value),
        ),
        Column(
            "scoring",
            lambda j: SCORING.json(j.scoring),
            "Scoring τ-b in an image",
            lambda j: number(j.scoring.within.value),
        ),
        Column(
            None,
            lambda j: j,
            "Scoring ρ over all images",
            lambda j: number(j.scoring.spearman.value),
        ),
        Column("by_task", lambda j: {cell.name: _cell(cell) for cell in j.by_task}),
        Column("by_encoding", lambda j: {cell.name: _cell(cell) for cell in j.by_encoding}),
        Column("by_error_type", lambda j: {cell.name: _cell(cell) for cell in j.by_error_type}),
        Column("by_margin", lambda j: _flat_cells(j.by_margin)),
        Column("by_task_error_type", lambda j: _flat_cells(j.by_task_error_type)),
        Column(
            "cells",
            lambda j: [{**dict(cell.keys), **ACCURACY.json(cell.accuracy)} for cell in j.cells],
        ),
        Column("bias", lambda j: [PREFERENCE.json(row) for row in j.bias]),
        Column("sensitivity", lambda j: [SENSITIVITY.json(row) for row in j.sensitivity]),
        Column("encodings", lambda j: [CHOICE.json(row) for row in j.encodings]),
        Column("variance", lambda j: [VARIANCE.json(row) for row in j.variance]),
        Column("leaderboard", lambda j: LEADERBOARD.json(j.leaderboard)),
        Column("unread", lambda j: UNREAD.json(j.unread)),
        Column("as_published", lambda j: j.as_published),
        Column(
            "as_published_of",
            lambda j: {score.name: score.lacking for score in j.own_scores if score.lacking},
        ),
        Column("probes", lambda j: [PROBE.json(row) for row in j.probes]),
        Column("tool_trust", lambda j: [TRUST.json(row) for row in j.tool_trust]),
        Column("photograph", lambda j: photograph(j.photograph)),
        Column("rater_checks", lambda j: [CHECKED.json(row) for row in j.rater_checks]),
        Column("above_baseline", lambda j: [ABOVE.json(row) for row in j.above_baseline]),
    )
)


def own_scores(judge: f.JudgeResult) -> dict[str, str]:
    """Return the run's values of the benchmark's own scores, by name, as shown in reports."""
    return _known((score.name, words.own_score(score)) for score in judge.own_scores)


def counted_as(judge: f.JudgeResult) -> dict[str, str]:
    """Return the accuracy by each rule of PUBLISHED for which the run has verdicts, by the rule's
    title.
    """
    return _known(zip(PUBLISHED.titles, PUBLISHED.cells(judge.pairwise.published), strict=True))


def _known(cells: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {title: value for title, value in cells if value != words.NONE}
