"""The columns of every table: the name of each figure in files, its heading in reports, and its
format.

``metrics.json`` and the CSV tables contain every column; HTML and the terminal show those that have
a title. A new statistic needs one function that fills a field of
:mod:`visualjudge.analysis.figures`. Its column is declared in the metadata of that field or listed
here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from operator import attrgetter, itemgetter

from visualjudge.analysis import figure_text as words, figures as f
from visualjudge.analysis.benchmark_pair_rules import RULES
from visualjudge.analysis.figure_text import (
    number,
    p_value,
    percent,
    percents,
    plain_name,
    points,
    ranks,
    with_ends,
)
from visualjudge.analysis.pairwise_figures import Accuracy, Preference, Swap, unanswered
from visualjudge.analysis.source_figures import Control, Leaderboard, SourceRow
from visualjudge.analysis.table_layout import (
    Column,
    Json,
    Table,
    as_named,
    block,
    blocks,
    counts,
    declared,
    figure,
    of_row,
    plain,
)
from visualjudge.analysis.value_and_interval import Estimate, Share

HOLM = Column("p_holm", "p_holm", "p (Holm)", p_value)
SCOPE = Column("value", "value", "Questions", text=True)
TASK = Column("task", "task", "Task", plain_name, text=True)

ESTIMATE: Table[Estimate] = Table(
    (Column("value", "value"), Column("ci95", "interval"), *as_named("n", "images", "why"))
)

ACCURACY: Table[Accuracy] = Table(
    (
        *counts("share"),
        *figure("accuracy", "share", "Accuracy", ends="ci95", shown=attrgetter("shown")),
        Column("failed", "failed"),
        of_row("No answer", lambda a: words.part(a.failed, a.share.n)),
        Column("declined", lambda a: unanswered(a.causes).declined),
        Column("cannot_tell", lambda a: unanswered(a.causes).cannot_tell),
        Column(
            "accuracy_bounds",
            lambda a: None if a.upper_bound is None else (a.share.value, a.upper_bound),
        ),
        Column("accuracy_parsed", "parsed.value", "Accuracy of the replies read", percent),
        Column("accuracy_parsed_ci95", "parsed.interval"),
        *as_named("answered_a", "causes"),
        *declared(Accuracy),
    )
)

SWAP: Table[Swap] = Table(
    (
        Column("n", "consistency.n"),
        Column("images", "consistency.images"),
        Column("consistency", "consistency.value"),
        Column("right_in_both", "right_in_both.value"),
        Column("right_in_both_ci95", "right_in_both.interval"),
        *as_named("consistency_parsed", "withheld", "p"),
        Column("always_first", lambda s: s.always_first if s.consistency.n else None),
        Column("always_second", lambda s: s.always_second if s.consistency.n else None),
        Column("ci95", "consistency.interval"),
        *declared(Swap),
    )
)

PUBLISHED: Table[Mapping[str, Share]] = Table(
    tuple(Column(rule.key, itemgetter(rule.key), rule.title, with_ends) for rule in RULES)
)

PREFERENCE: Table[Preference] = Table(
    (
        Column("feature", "feature"),
        Column("leans_to", "leans_to", "Preference for", text=True),
        *counts("estimate"),
        *figure("preference", "estimate", "Points", points, ends="ci95"),
        HOLM,
        *as_named("chosen", "p", "flagged"),
        Column("preference_crude", "crude"),
        *declared(Preference),
    )
)

FAILED = as_named("failed", "declined", "cannot_tell")
RANKING: Table[f.Ranking] = Table(
    (
        *counts("exact"),
        *FAILED,
        *figure("kendall_tau", "tau", "Kendall τ-b", number, ends="ci95"),
        Column("kendall_tau_bounds", "tau_bounds"),
        *declared(f.Ranking),
    )
)

SCORING: Table[f.Scoring] = Table(
    (
        Column("n", "n"),
        Column("images", "mae.images"),
        *FAILED,
        Column("within_image_tau", "within.value"),
        Column("within_image_ci95", "within.interval"),
        Column("within_image_n", "within.n"),
        Column("within_image_images", "within.images"),
        *figure("spearman", "spearman", ends="ci95"),
        Column("spearman_if_failed", "spearman_if_failed"),
        *declared(f.Scoring),
    )
)

SENSITIVITY: Table[f.Sensitivity] = Table(
    (
        SCOPE,
        Column("against", "against", "Distance", text=True),
        *counts("jnd"),
        Column("jnd", "jnd.value"),
        Column("ci95", "jnd.interval"),
        *as_named("scope", "alpha", "beta", "lapse", "floor", "reason", "slope_p"),
        Column("points", lambda s: [asdict(point) for point in s.points]),
        *declared(f.Sensitivity),
    )
)

ENCODING: Table[f.Encoding] = Table(
    (
        Column("encoding", "name"),
        *counts("share"),
        *figure("accuracy", "share", ends="ci95"),
        *as_named("tokens", "standing", "common_pairs", "recommended"),
        *declared(f.Encoding),
    )
)

DUEL: Table[f.EncodingDuel] = Table(
    (
        *as_named("first", "second", "p", "p_holm"),
        Column("pairs", "gap.n"),
        Column("images", "gap.images"),
        *figure("difference", "gap", ends="ci95"),
        *declared(f.EncodingDuel),
    )
)

CHOICE: Table[f.EncodingChoice] = Table(
    (
        *as_named("task", "recommended", "reason", "cheapest"),
        blocks("encodings", "encodings", ENCODING),
        blocks("comparisons", "duels", DUEL),
    )
)


def _part(name: str, title: str) -> tuple[Column, Column, Column]:
    """Return the columns of a component of variance and its share."""
    return (
        Column(name, name),
        Column(f"{name}_share", lambda v: v.shares[name]),
        of_row(title, lambda v: words.variance_share(v, name)),
    )


VARIANCE: Table[f.Variance] = Table(
    (
        TASK,
        Column("n", "n", "Verdicts", number),
        *_part("item", "Pair"),
        *_part("encoding", "Encoding"),
        *_part("item_x_encoding", "Pair × encoding"),
        *_part("order", "Order + chance"),
        *_part("repeat", "Repeat"),
        *as_named("total", "image"),
        Column("ci95", lambda v: dict(v.ends)),
        Column(
            "gains",
            lambda v: {gain.name: {"value": gain.value, "ci95": gain.interval} for gain in v.gains},
        ),
        of_row("From the image", lambda v: words.variance_share(v, "image")),
        of_row("Doubling is worth this many more images", words.gains),
        *declared(f.Variance),
    )
)

UNREAD: Table[f.Unread] = Table(
    (
        *as_named("n", "failed", "causes", "extracted", "accuracy_with_extracted", "of_probes"),
        Column("declined", lambda u: unanswered(u.causes).declined),
        Column("cannot_tell", lambda u: unanswered(u.causes).cannot_tell),
        Column("no_reply", lambda u: unanswered(u.causes).no_reply),
        *declared(f.Unread),
    )
)

PROBE: Table[f.ProbeResult] = Table(
    (
        Column("name", "name", "Probe", plain_name, text=True),
        Column("design", "design"),
        *counts("effect"),
        *figure("effect", "effect", "Effect, points", points, ends="ci95"),
        Column("margin", "margin", "Margin", points),
        HOLM,
        Column("failed", "failed", "No answer", number),
        Column("state", "state", "State", words.PROBE_STATES.__getitem__, text=True),
        Column("example", "example"),
        *declared(f.ProbeResult),
    )
)

TRUST: Table[f.ToolTrust] = Table(
    (
        Column("probe", "probe"),
        Column("confidence", "confidence", "Confidence claimed by the tool", number),
        block("wrong_tool", "wrong_tool", ESTIMATE, "Follows a wrong tool", with_ends),
        block("right_tool", "right_tool", ESTIMATE, "Follows a right tool", with_ends),
        *declared(f.ToolTrust),
    )
)

PHOTOGRAPH: Table[f.Photograph] = Table(
    (
        Column("task", "task", "Questions", plain_name, text=True),
        *counts("first.gain"),
        Column("with", "first.seen.value", "With the photograph", percent),
        Column("other", lambda p: p.other and p.other.blind.value, "With another", percent),
        Column("grey", lambda p: p.grey and p.grey.blind.value, "With grey", percent),
        *figure("gain", "first.gain", "Gain over grey, points", points, ends="interval"),
        Column("gain_over_other", lambda p: p.other and p.other.gain.value, "Over another", points),
        Column(
            "interval_over_other", lambda p: p.other and p.other.gain.interval, "95 %", percents
        ),
        Column(
            "state", "state", "The photograph is", words.PHOTOGRAPH_STATES.__getitem__, text=True
        ),
        *declared(f.Photograph),
    )
)

ABOVE: Table[f.Above] = Table(
    (
        *as_named("baseline", "scope", "p"),
        SCOPE,
        *counts("gap"),
        *figure("difference", "gap", "Points above the baseline", points, ends="ci95"),
        Column("declined", "declined", "Declined by the baseline", number),
        Column("baseline_accuracy", "baseline_right", "Accuracy of the baseline", percent),
        HOLM,
        Column("standing", "standing", "Standing", text=True),
        *declared(f.Above),
    )
)

TASK_GAP: Table[f.TaskGap] = Table(
    (
        *counts("gap"),
        *figure("difference", "gap", "Points", points, ends="ci95"),
        *as_named("p", "p_holm"),
    )
)
COMPARISON: Table[f.Comparison] = Table(
    (
        Column("a", "a", "First", text=True),
        Column("b", "b", "Second", text=True),
        Column("n", "questions", "Questions in common", number),
        Column("images", "gap.images", "Images", number),
        *figure("difference", "gap", "Points", points, ends="ci95"),
        *as_named("verdicts", "accuracy_a", "accuracy_b", "p", "only_a_right", "only_b_right"),
        Column("mcnemar_p", "p"),
        *as_named("images_needed", "more_images"),
        Column("gap", "asked_gap"),
        Column("images_needed_range", "images_range"),
        of_row("Images needed", words.images_needed),
        HOLM,
        Column("by_task", lambda c: {row.task: TASK_GAP.json(row) for row in c.by_task}),
        *declared(f.Comparison),
    )
)

CHECKED: Table[f.RaterChecks] = Table(
    (
        Column("rater", "rater", "Rater", text=True),
        *as_named("known", "known_right", "repeats", "same", "turned", "same_turned"),
        of_row("Known questions right", lambda r: words.part(r.known_right, r.known)),
        of_row("Repeats with the same answer", lambda r: words.part(r.same, r.repeats)),
        of_row(
            "Same answer, of repeats shown in the other order",
            lambda r: words.part(r.same_turned, r.turned),
        ),
        *declared(f.RaterChecks),
    )
)

AGREEMENT: Table[f.Agreement] = Table(
    (
        Column("kind", "kind", "Questions", text=True),
        Column("level", "level", "Level", text=True),
        Column("judges", lambda a: len(a.names), "Judges"),
        Column("names", lambda a: list(a.names), "Names", ", ".join, text=True),
        Column("units", "alpha.n", "Units", number),
        Column("images", "alpha.images", "Images", number),
        *figure("alpha", "alpha", "α", number, ends="ci95"),
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
        Column("source", "source", "Source", text=True),
        *as_named("group", "component", "bound"),
        Column("images", "strength.images", "Images", number),
        *figure("strength", "strength", "Strength", number, ends="ci95", shown=_with_bound),
        *figure("controlled", "controlled", "Controlled", number),
        Column("true_strength", "true_strength", "By truth", number),
        Column("mean_score", "mean_score", "True score", number),
        Column("rank", "rank", "Rank"),
        Column("rank_set", "rank_set", "Ranks, 95 %", ranks),
        Column("rank_set_all", "rank_set_all", "All together", ranks),
        Column("true_rank", lambda r: r.true_rank or None, "Rank by truth", number),
        *declared(SourceRow),
    )
)

CONTROL: Table[Control] = Table(
    (
        *as_named("group", "name"),
        *figure("effect", "effect", ends="ci95"),
        Column("games", "effect.n"),
    )
)

LEADERBOARD: Table[Leaderboard] = Table(
    (
        blocks("rows", "rows", SOURCE),
        blocks("controls", "controls", CONTROL),
        *as_named("n", "components", "regularised", "ties"),
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

LEAK: Table[f.Leak] = Table(
    (
        Column("scope", "scope", "Questions", plain_name, text=True),
        Column("rule", "rule", "Rule", text=True),
        *counts("share", "Applies to"),
        *figure("accuracy", "share", "Accuracy", ends="ci95"),
        *as_named("p", "flagged"),
        HOLM,
        *declared(f.Leak),
    )
)

DATASET: Table[f.DatasetFacts] = Table(
    (
        *as_named("path", "questions_sha256", "version", "seed", "questions", "images"),
        *as_named("by_question_type", "asked", "images_asked", "probed"),
        Column("prompts", lambda d: list(d.prompts)),
        Column("where", lambda d: list(d.where)),
        *declared(f.DatasetFacts),
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
        "published": {key: ESTIMATE.json(share) for key, share in p.published.items()},
    }


def photograph(need: f.PhotographNeed | None) -> Json | None:
    """Return what the judge gains from the photograph, with ``by_task``; None if it was not asked
    without the photograph.
    """
    if need is None:
        return None
    by_task = {row.task: PHOTOGRAPH.json(row) for row in need.by_task}
    return {**PHOTOGRAPH.json(need.all), "by_task": by_task}


def _cell(cell: f.Cell) -> Json:
    """Return a cell of by_task, by_encoding or by_error_type, with one object per question type."""
    keys = dict(cell.keys) if cell.accuracy.share.n else {}
    out: Json = {"pairwise": {**keys, **ACCURACY.json(cell.accuracy)}}
    if cell.ranking is not None:
        out["ranking"] = RANKING.json(cell.ranking)
    if cell.scoring is not None:
        out["scoring"] = SCORING.json(cell.scoring)
    return out


def _cells(name: str) -> Column:
    return Column(name, lambda judge: {cell.name: _cell(cell) for cell in getattr(judge, name)})


def _pairs_only(cell: f.Cell) -> Json:
    return {**dict(cell.keys), **ACCURACY.json(cell.accuracy)}


def _flat_cells(name: str) -> Column:
    return Column(
        name, lambda judge: {cell.name: _pairs_only(cell) for cell in getattr(judge, name)}
    )


JUDGE: Table[f.JudgeResult] = Table(
    (
        Column("judge", "name"),
        *as_named("simulated", "run", "verdicts", "expected", "missing", "questions"),
        *as_named("asked_like", "status", "info", "as_published"),
        Column("tokens", lambda j: {"prompt": j.tokens_in, "reply": j.tokens_out}),
        Column("latency_median_s", "latency_s"),
        Column("problems", lambda j: list(j.problems)),
        Column("warnings", lambda j: list(j.warnings)),
        Column("identity", lambda j: [asdict(row) for row in j.identity]),
        Column("pairwise", _pairwise),
        Column(None, "pairwise.accuracy.share.n", "Verdicts on pairs", number),
        Column(None, "pairwise.accuracy.share.images", "Images", number),
        Column(None, "pairwise.accuracy.shown", "Accuracy (95 %)", with_ends),
        of_row(
            "Accuracy, mean over tasks",
            lambda j: percent(None if j.pairwise.accuracy.none else j.pairwise.macro.value),
        ),
        Column(None, "pairwise.kappa.value", "Cohen’s κ", number),
        of_row("Without an answer", words.unanswered_of),
        Column(None, "pairwise.accuracy.parsed.value", "Accuracy of the replies read", percent),
        Column(None, "pairwise.constant", "Best constant answer", percent),
        Column(None, "pairwise.accuracy.answered_a", "Answered A", percent),
        Column(None, "pairwise.ties", "Answered tie", percent),
        Column(None, "pairwise.swap.consistency.value", "Same when swapped", percent),
        Column(None, "pairwise.swap.consistency_parsed", "Same of the replies read", percent),
        block("ranking", "ranking", RANKING),
        Column(None, "ranking.tau.value", "Ranking τ-b", number),
        block("scoring", "scoring", SCORING),
        Column(None, "scoring.within.value", "Scoring τ-b in an image", number),
        Column(None, "scoring.spearman.value", "Scoring ρ over all images", number),
        _cells("by_task"),
        _cells("by_encoding"),
        _cells("by_error_type"),
        _flat_cells("by_margin"),
        _flat_cells("by_task_error_type"),
        Column("cells", lambda j: [_pairs_only(cell) for cell in j.cells]),
        blocks("bias", "bias", PREFERENCE),
        blocks("sensitivity", "sensitivity", SENSITIVITY),
        blocks("encodings", "encodings", CHOICE),
        blocks("variance", "variance", VARIANCE),
        block("leaderboard", "leaderboard", LEADERBOARD),
        block("unread", "unread", UNREAD),
        Column(
            "as_published_of",
            lambda j: {score.name: score.lacking for score in j.own_scores if score.lacking},
        ),
        blocks("probes", "probes", PROBE),
        blocks("tool_trust", "tool_trust", TRUST),
        Column("photograph", lambda j: photograph(j.photograph)),
        blocks("rater_checks", "rater_checks", CHECKED),
        blocks("above_baseline", "above_baseline", ABOVE),
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
