"""Format figures as text for readers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from visualjudge.analysis.figures import (
    Cell,
    EncodingChoice,
    JudgeResult,
    OwnScore,
    Photograph,
    Sensitivity,
    Variance,
)
from visualjudge.analysis.pairwise_figures import CANNOT_TELL, DECLINED, of_status
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.core.plurals import plural
from visualjudge.vision.encodings import encoding_title

Ends = Sequence[float | None] | None
NONE = "–"
DASH = f"{NONE}: not computed, usually because there are too few images or answers."
NOT_ASKED = "not asked"
APART = (
    "The judges were not all asked the same questions: only the comparisons of two judges are on "
    "the same questions."
)
PROBE_STATES = {"pass": "passes", "fail": "fails", "not_shown": "undecided"}
"""Names of the states of probes on pages."""


def percent(value: float | None, digits: int = 1) -> str:
    """Format a share in per cent: 0.8066 → 80.7 %."""
    return NONE if value is None else f"{100 * value:.{digits}f} %".replace("-", "\u2212")


def points(value: float | None) -> str:
    """Format a difference of two shares in percentage points with its sign; a rounded zero has no
    sign.
    """
    if value is None:
        return NONE
    text = f"{100 * value:+.1f}"
    return "0.0" if float(text) == 0 else text.replace("-", "\u2212")


def number(value: float | None, digits: int = 2) -> str:
    """Format 0.70 with a true minus sign, or an integer with thousands separators; – if unknown."""
    if value is None or value != value:
        return NONE
    text = f"{value:,}" if isinstance(value, int) else f"{value:.{digits}f}"
    return text.lstrip("-") if float(text.replace(",", "")) == 0 else text.replace("-", "\u2212")


OWN_SCORES = (
    "Scores as the benchmark’s authors compute and round them; their published replies are read "
    "with their rules. Scores cover the questions in this copy of the benchmark. If a run answered "
    "only a part of these, the part is stated, and the score may differ from the published one."
)
"""Note below a table of a benchmark's own scores."""

STRENGTHS = (
    "Strengths are those of a Bradley–Terry model with ties (log odds, mean 0) and Firth’s "
    "penalty; a question answered differently when swapped is a tie. The interval of a source that "
    "never lost, or never won, is open on one side. Ranks, 95 %: the ranks that each source may "
    "have by itself. "
    "Controlled: the strength if order shown, number of objects, text length and file size were "
    "equal, given if enough pairs differ in one of them."
)
"""Note below the table of sources."""


def lower_first(text: str) -> str:
    """Return the text with a small first letter, to follow a colon."""
    return text[:1].lower() + text[1:]


def plain_name(name: str) -> str:
    """Return a task or error type without underscores."""
    return name.replace("_", " ").replace("(none)", "no error type")


def group_name(group: str, most: int = 1) -> str:
    """Return the tasks of a group of sources, of which the first are named."""
    return listed([plain_name(task) for task in group.split(" + ")], most)


def many(count: int, noun: str) -> str:
    """Format a count with its noun: 1 image, 1,200 images; "image" is the study's case noun."""
    return f"{number(count)} {plural(count, noun)}"


def listed(names: Sequence[str], most: int = 4) -> str:
    """Join names: "a, b and c". A long list is cut to the first names and the number of
    the others.
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def percents(ends: Ends) -> str:
    """Format an interval in per cent, without the sign."""
    if ends is None:
        return NONE
    return " to ".join(
        NONE if end is None else f"{100 * end:.1f}".replace("-", "\u2212") for end in ends
    )


def span(ends: Ends, digits: int = 2) -> str:
    """Format an interval in its own unit; an open side is ∞."""
    if ends is None or all(end is None for end in ends):
        return NONE
    sides = (
        number(float(end), digits) if end is not None else "∞" if k else "\u2212∞"
        for k, end in enumerate(ends)
    )
    return " to ".join(sides)


def ranks(found: tuple[int, int] | None) -> str:
    """Format a rank set: one rank, or best–worst."""
    if found is None:
        return NONE
    return str(found[0]) if found[0] == found[1] else f"{found[0]}–{found[1]}"


number3, span3 = partial(number, digits=3), partial(span, digits=3)
RANKS_NOTE = "Ranks: the ranks that each source may have by itself (95 %)."
GROUPS_NOTE = (
    "Sources are compared only within a group, that is, in tasks that compare the same sources."
)


def p_value(value: float | None) -> str:
    """Format p with three decimals; smaller values as "< 0.001"."""
    if value is None:
        return NONE
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def with_ends(share: Estimate, show: Callable[[float], str] = percent) -> str:
    """Format a share with its interval, or the reason why there is none: 80.7 % (75.1 to 85.3)."""
    if share.value is None:
        return NONE
    behind = percents(share.interval) if share.interval else share.why
    return f"{show(share.value)} ({behind})" if behind else show(share.value)


def asked_apart(judges: Sequence[JudgeResult]) -> bool:
    """Return whether the judges were asked different questions."""
    return len({judge.asked_like for judge in judges}) > 1


def own_score(score: OwnScore) -> str:
    """Format a benchmark's own score, with the part that was answered: 0.5107 (3 of 5
    questions).
    """
    if score.value is None:
        return NONE
    return f"{score.value:.{score.digits}f}" + (f" ({score.lacking})" if score.lacking else "")


def graded(cell: Cell) -> dict[str, str]:
    """Return the results of a cell's ranking and scoring questions, by the name of the figure, if
    any.
    """
    out = {}
    for name, figure in (
        ("ranking, τ-b", None if cell.ranking is None else cell.ranking.tau),
        (
            "scoring, τ-b in an image",
            None if cell.scoring is None else cell.scoring.within,
        ),
        ("scoring, mean error", None if cell.scoring is None else cell.scoring.mae),
    ):
        if figure is not None and figure.value is not None:
            ends = span(figure.interval) if figure.interval else figure.why
            out[name] = f"{number(figure.value)} ({ends}), {many(figure.images, 'image')}"
    return out


def variance_share(row: Variance, name: str) -> str:
    """Format the share of a component; – if the interval is wider than the whole variance."""
    value, ends = getattr(row, name), row.ends.get(name)
    if value is None or ends is None or not 0 <= (ends[1] or 0) - (ends[0] or 0) <= row.total:
        return NONE
    return percent(min(1.0, max(0.0, value) / row.total), 0)


def probes(judge: JudgeResult) -> str | None:
    """Return the number of probes in each state, naming those that failed; None without probes."""
    if not judge.probes:
        return None
    failed = [row.name for row in judge.probes if row.state == "fail"]
    passed = sum(row.state == "pass" for row in judge.probes)
    named = f" ({', '.join(failed)})" if failed else ""
    undecided = len(judge.probes) - len(failed) - passed
    return f"Probes: {len(failed)} fail{named}, {passed} pass, {undecided} undecided."


def photograph(judge: JudgeResult) -> str | None:
    """Return whether the judge needs the photograph; None if it was not asked without it."""
    if judge.photograph is None:
        return None
    row = judge.photograph.all
    named = (("grey", row.grey), ("another photograph", row.other))
    shown = " and ".join(f"{percent(p.blind.value)} with {name}" for name, p in named if p)
    seen = percent(row.first.seen.value)
    return f"{photograph_gain(row)}; accuracy {seen} with the photograph, {shown}."


PHOTOGRAPH_STATES = {
    "needed": "needed",
    "not_needed": "not needed",
    "not_shown": "can’t tell yet",
}


def photograph_gain(row: Photograph) -> str:
    """Format the smaller gain: "Needs the photograph, +12.4 points (8.1 to 16.9) over grey"."""
    said = {
        "needed": "Needs the photograph",
        "not_needed": "Does not need the photograph",
        "not_shown": "Can’t tell yet whether the judge needs the photograph",
    }[row.state]
    over = "grey" if row.grey is not None and row.least is row.grey.gain else "another photograph"
    ends = f" ({percents(row.least.interval)})" if row.least.interval else ""
    return f"{said}, {points(row.least.value)} points{ends} over {over}"


def jnd_text(row: Sensitivity) -> str:
    """Return the 75 % point with its interval, or the reason why there is none."""
    if row.jnd.value is None:
        return str(row.jnd.why)
    return f"{number(row.jnd.value)} ({span(row.jnd.interval)})"


def unanswered_of(judge: JudgeResult) -> str:
    """Count the replies without an answer: "240 of 480", with the declined ones."""
    found = judge.unread
    declined, unsure = (of_status(found.causes, status) for status in (DECLINED, CANNOT_TELL))
    named = "".join(
        f"; {number(n)} {word}"
        for n, word in ((declined, "declined"), (unsure, "cannot tell"))
        if n
    )
    return f"{number(found.failed - declined - unsure)} of {number(found.n)}{named}"


def recommended(choice: EncodingChoice) -> str:
    """Return the recommended encoding, or the reason why there is none."""
    if choice.recommended is None:
        return f"none: {choice.reason}"
    return f"{encoding_title(choice.task, choice.recommended)} ({choice.recommended})"


def part(count: int, whole: int) -> str:
    """Format "3 of 4"; a dash if the whole is 0."""
    return f"{number(count)} of {number(whole)}" if whole else NONE


def signed(value: float) -> str:
    """Format 0.2 as +20, for an axis."""
    return f"{100 * value:+g}".replace("-", "\u2212") if value else "0"
