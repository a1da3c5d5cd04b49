"""The columns of every table: the name of each figure in files, its heading in reports, and its
format.

``metrics.json`` and the CSV tables contain every column; HTML and the terminal show those that have
a title. A new statistic needs one function that fills a field of
:mod:`visualjudge.analysis.figures`. Its column is declared in the metadata of that field or listed
here.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict

from visualjudge.analysis import figures as f
from visualjudge.analysis.figure_text import (
    NONE,
    number,
    p_value,
    percent,
    percents,
    plain_name,
    points,
    ranks,
    with_ends,
)
from visualjudge.analysis.pairwise_figures import (
    CANNOT_TELL,
    DECLINED,
    NO_REPLY,
    Accuracy,
    Preference,
    Swap,
    of_status,
)
from visualjudge.analysis.table_layout import (
    Column,
    Layout,
    as_named,
    block,
    blocks,
    counts,
    figure,
    named,
    of_row,
    plain,
)
from visualjudge.analysis.value_and_interval import Ends, Estimate
from visualjudge.core.jsons import Json

HOLM = named("p_holm", "p (Holm)", p_value)
SCOPE = named("value", "Questions")
TASK = named("task", "Task", plain_name, text=True)


def _of_status(name: str, status: str) -> Column:
    return Column(name, lambda row: of_status(row.causes, status))


DECLINED_ONES = (
    _of_status("declined", DECLINED),
    _of_status("cannot_tell", CANNOT_TELL),
)
ESTIMATE = Layout[Estimate](
    *as_named("value"), Column("ci95", "interval"), *as_named("n", "images", "why")
)

ACCURACY = Layout[Accuracy](
    *counts("share"),
    *figure("accuracy", "share", ends="ci95"),
    *as_named("failed"),
    *DECLINED_ONES,
    Column(
        "accuracy_bounds",
        lambda a: None if a.upper_bound is None else (a.share.value, a.upper_bound),
    ),
    Column("accuracy_parsed", "parsed.value"),
    Column("accuracy_parsed_ci95", "parsed.interval"),
    *as_named("answered_a", "causes"),
)

SWAP = Layout[Swap](
    Column("n", "consistency.n"),
    Column("images", "consistency.images"),
    Column("consistency", "consistency.value"),
    Column("right_in_both", "right_in_both.value"),
    Column("right_in_both_ci95", "right_in_both.interval"),
    *as_named("consistency_parsed", "withheld"),
    Column("ci95", "consistency.interval"),
)

PREFERENCE = Layout[Preference](
    *as_named("feature"),
    named("leans_to", "Preference for"),
    *counts("estimate"),
    *figure("preference", "estimate", "Points", points, ends="ci95"),
    HOLM,
    *as_named("p", "flagged"),
)

RANKING = Layout[f.Ranking](
    *counts("exact"),
    *as_named("failed"),
    *figure("kendall_tau", "tau", ends="ci95"),
    *figure("exact", "exact"),
    *figure("top1", "top1"),
)

SCORING = Layout[f.Scoring](
    *as_named("n", "failed"),
    Column("images", "mae.images"),
    Column("within_image_tau", "within.value"),
    Column("within_image_ci95", "within.interval"),
    Column("within_image_n", "within.n"),
    Column("within_image_images", "within.images"),
    *figure("spearman", "spearman", ends="ci95"),
    *figure("pearson", "pearson"),
    *figure("mae", "mae"),
    *figure("bias", "bias"),
)


def _points(row: f.Sensitivity) -> list[Json]:
    return [dict(zip(("x", "share", "n"), point, strict=True)) for point in row.points]


SENSITIVITY = Layout[f.Sensitivity](
    SCOPE,
    named("against", "Distance"),
    *counts("jnd"),
    Column("jnd", "jnd.value"),
    Column("ci95", "jnd.interval"),
    *as_named("scope", "alpha", "beta", "lapse", "floor", "slope_p"),
    Column("reason", "jnd.why"),
    Column("points", _points),
)

ENCODING = Layout[f.Encoding](
    Column("encoding", "name"),
    *counts("share"),
    *figure("accuracy", "share", ends="ci95"),
    *as_named("tokens", "standing"),
)

DUEL = Layout[f.EncodingDuel](
    *as_named("first", "second", "p", "p_holm"),
    Column("pairs", "gap.n"),
    Column("images", "gap.images"),
    *figure("difference", "gap", ends="ci95"),
)

CHOICE = Layout[f.EncodingChoice](
    *as_named("task", "recommended", "reason"),
    blocks("encodings", ENCODING),
    blocks("comparisons", DUEL, "duels"),
)


def variance_share(row: f.Variance, name: str) -> str:
    """Format the share of a component; – if the interval is wider than the whole variance."""
    value, ends = row.parts.get(name), row.ends.get(name)
    if (
        value is None
        or ends is None
        or not 0 <= (ends[1] or 0) - (ends[0] or 0) <= row.total
    ):
        return NONE
    return percent(min(1.0, max(0.0, value) / row.total), 0)


def _part(name: str, title: str) -> tuple[Column, Column, Column]:
    def share(row: f.Variance) -> float | None:
        return (
            max(0.0, row.parts[name]) / row.total
            if name in row.parts and row.total
            else None
        )

    return (
        Column(name, lambda v: v.parts.get(name)),
        Column(f"{name}_share", share),
        of_row(title, lambda v: variance_share(v, name)),
    )


VARIANCE = Layout[f.Variance](
    TASK,
    named("n", "Verdicts", number),
    *_part("item", "Pair"),
    *_part("encoding", "Encoding"),
    *_part("item_x_encoding", "Pair × encoding"),
    *_part("order", "Order + chance"),
    *_part("repeat", "Repeat"),
    *as_named("total"),
    Column("image", lambda v: v.parts.get("image")),
    Column("ci95", "ends"),
    of_row("From the image", lambda v: variance_share(v, "image")),
)

UNREAD = Layout[f.Unread](
    *as_named("n", "failed", "causes", "extracted"),
    *DECLINED_ONES,
    _of_status("no_reply", NO_REPLY),
)

PROBE_STATES = {"pass": "passes", "fail": "fails", "not_shown": "undecided"}


def _in_words(row: f.ProbeResult) -> str:
    if row.state == "not_shown" and row.effect.value is None:
        return "not measured"
    return PROBE_STATES[row.state]


PROBE = Layout[f.ProbeResult](
    named("name", "Probe", plain_name, text=True),
    *as_named("design"),
    *counts("effect"),
    *figure("effect", "effect", "Effect, points", points, ends="ci95"),
    named("margin", "Margin", points),
    HOLM,
    named("failed", "No answer", number),
    Column("state", "state", "State", shown=_in_words),
    *as_named("example"),
)

PHOTOGRAPH_STATES = {
    "needed": "needed",
    "not_needed": "not needed",
    "not_shown": "can’t tell yet",
}
PHOTOGRAPH = Layout[f.Photograph](
    named("task", "Questions", plain_name, text=True),
    *counts("first.gain"),
    Column("with", "first.seen.value", "With the photograph", percent),
    Column("other", lambda p: p.other and p.other.blind.value, "With another", percent),
    Column("grey", lambda p: p.grey and p.grey.blind.value, "With grey", percent),
    *figure("gain", "first.gain", "Gain over grey, points", points, ends="interval"),
    Column(
        "gain_over_other",
        lambda p: p.other and p.other.gain.value,
        "Over another",
        points,
    ),
    Column(
        "interval_over_other",
        lambda p: p.other and p.other.gain.interval,
        "95 %",
        percents,
    ),
    named("state", "The photograph is", PHOTOGRAPH_STATES.__getitem__, text=True),
)

TASK_GAP = Layout[f.TaskGap](
    *counts("gap"),
    *figure("difference", "gap", "Points", points, ends="ci95"),
    *as_named("p", "p_holm"),
)
COMPARISON = Layout[f.Comparison](
    named("a", "First"),
    named("b", "Second"),
    Column("n", "questions", "Questions in common", number),
    Column("images", "gap.images", "Images", number),
    *figure("difference", "gap", "Points", points, ends="ci95"),
    *as_named(
        "verdicts", "accuracy_a", "accuracy_b", "p", "only_a_right", "only_b_right"
    ),
    Column("mcnemar_p", "p"),
    *figure("kappa", "kappa", "κ of the two", number),
    HOLM,
    Column("by_task", lambda c: {row.task: TASK_GAP.json(row) for row in c.by_task}),
)


def _ends(row: f.SourceRow) -> Ends | None:
    """Return the interval as reports show it. A source without a loss, or without a win, has only
    one end of its interval.
    """
    return row.strength.interval or row.bound


SOURCE = Layout[f.SourceRow](
    named("source", "Source"),
    *as_named("group", "bound"),
    Column("images", "strength.images", "Images", number),
    *figure("strength", "strength", "Strength", number, ends="ci95", shown=_ends),
    *figure("controlled", "controlled", "Controlled", number),
    named("rank", "Rank", str),
    named("rank_set", "Ranks, 95 %", ranks),
)

LEADERBOARD = Layout[f.Leaderboard](
    blocks("rows", SOURCE), *as_named("n", "regularised")
)

LEAK = Layout[f.Leak](
    named("scope", "Questions", plain_name, text=True),
    named("rule", "Rule"),
    *counts("share", "Applies to"),
    *figure("accuracy", "share", "Accuracy", ends="ci95"),
    *as_named("p", "flagged"),
    HOLM,
)

DATASET = Layout[f.DatasetFacts](
    *as_named("path", "questions_sha256", "version", "seed", "questions", "images"),
    *as_named("by_question_type", "asked", "images_asked", "probed"),
    Column("where", lambda d: list(d.where)),
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
    }


def photograph(rows: tuple[f.Photograph, ...]) -> Json | None:
    """Return what the judge gains from the photograph, with ``by_task``; None if it was not asked
    without the photograph.
    """
    if not rows:
        return None
    return {
        **PHOTOGRAPH.json(rows[0]),
        "by_task": {row.task: PHOTOGRAPH.json(row) for row in rows[1:]},
    }


def probes_sentence(judge: f.JudgeResult) -> str:
    """Return the number of probes in each state, naming those that failed."""
    words = Counter(_in_words(row) for row in judge.probes)
    failed = ", ".join(row.name for row in judge.probes if row.state == "fail")
    return (
        f"Probes: {words['fails']} fail{failed and f' ({failed})'}, {words['passes']} pass, "
        f"{words['undecided']} undecided, {words['not measured']} not measured."
    )


def unanswered_of(judge: f.JudgeResult) -> str:
    """Count the replies without an answer: "240 of 480", with the declined ones."""
    found = judge.unread
    declined, unsure = (
        of_status(found.causes, status) for status in (DECLINED, CANNOT_TELL)
    )
    text = f"{found.failed - declined - unsure:,} of {found.n:,}"
    text += f"; {declined:,} declined" if declined else ""
    return text + (f"; {unsure:,} cannot tell" if unsure else "")


def _cell(cell: f.Cell) -> Json:
    keys = dict(cell.keys) if cell.accuracy.share.n else {}
    out: Json = {"pairwise": {**keys, **ACCURACY.json(cell.accuracy)}}
    if cell.ranking is not None:
        out["ranking"] = RANKING.json(cell.ranking)
    if cell.scoring is not None:
        out["scoring"] = SCORING.json(cell.scoring)
    return out


def _cells(name: str) -> Column:
    return Column(
        name, lambda judge: {cell.name: _cell(cell) for cell in getattr(judge, name)}
    )


JUDGE = Layout[f.JudgeResult](
    Column("judge", "name", "Judge", shown="title"),
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
    Column(
        None,
        lambda j: None if j.pairwise.accuracy.none else j.pairwise.macro.value,
        "Accuracy, mean over tasks",
        percent,
    ),
    Column(None, "pairwise.kappa.value", "Cohen’s κ", number),
    of_row("Without an answer", unanswered_of),
    Column(
        None, "pairwise.accuracy.parsed.value", "Accuracy of the replies read", percent
    ),
    Column(None, "pairwise.constant", "Best constant answer", percent),
    Column(None, "pairwise.accuracy.answered_a", "Answered A", percent),
    Column(None, "pairwise.ties", "Answered tie", percent),
    Column(None, "pairwise.swap.consistency.value", "Same when swapped", percent),
    Column(
        None, "pairwise.swap.consistency_parsed", "Same of the replies read", percent
    ),
    block("ranking", RANKING),
    Column(None, "ranking.tau.value", "Ranking τ-b", number),
    block("scoring", SCORING),
    Column(None, "scoring.within.value", "Scoring τ-b in an image", number),
    Column(None, "scoring.spearman.value", "Scoring ρ over all images", number),
    _cells("by_task"),
    _cells("by_encoding"),
    _cells("by_error_type"),
    blocks("bias", PREFERENCE),
    blocks("sensitivity", SENSITIVITY),
    blocks("encodings", CHOICE),
    blocks("variance", VARIANCE),
    block("leaderboard", LEADERBOARD),
    block("unread", UNREAD),
    Column(
        "as_published_of",
        lambda j: {
            score.name: score.lacking for score in j.own_scores if score.lacking
        },
    ),
    blocks("probes", PROBE),
    Column("photograph", lambda j: photograph(j.photograph)),
)
