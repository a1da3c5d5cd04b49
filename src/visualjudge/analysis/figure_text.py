"""Formats of values and intervals for readers. Columns and tables of values are in
``table_layout.py``.
"""

from collections.abc import Callable, Sequence
from functools import partial

from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.core.plurals import plural

Ends = Sequence[float | None] | None
NONE = "–"
NO_TASK = "verdicts"
"""The task of adopted rows that state none."""


def percent(value: float | None, digits: int = 1) -> str:
    """Format a share in per cent: 0.8066 → 80.7 %."""
    return (
        NONE
        if value is None
        else f"{100 * value:.{digits}f} %".replace("-", "\u2212")
    )


def points(value: float | None) -> str:
    """Format a difference of two shares in percentage points with its sign; a rounded
    zero has no sign.
    """
    if value is None:
        return NONE
    text = f"{100 * value:+.1f}"
    return "0.0" if float(text) == 0 else text.replace("-", "\u2212")


def number(value: float | None, digits: int = 2) -> str:
    """Format 0.70 with a true minus sign, or an integer with thousands separators; – if
    unknown."""
    if value is None or value != value:
        return NONE
    text = f"{value:,}" if isinstance(value, int) else f"{value:.{digits}f}"
    return (
        text.lstrip("-")
        if float(text.replace(",", "")) == 0
        else text.replace("-", "\u2212")
    )


def lower_first(text: str) -> str:
    """Return the text with a small first letter, to follow a colon."""
    return text[:1].lower() + text[1:]


def plain_name(name: str) -> str:
    """Return a task or error type without underscores."""
    if name == NO_TASK:
        return "without a task"
    return name.replace("_", " ").replace("(none)", "no error type")


def group_name(group: str, most: int = 1) -> str:
    """Return the tasks of a group of sources, of which the first are named."""
    return listed([plain_name(task) for task in group.split(" + ")], most)


def many(count: int, noun: str) -> str:
    """Format a count with its noun: 1 image, 1,200 images; "image" is the study's case
    noun."""
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
        NONE if end is None else f"{100 * end:.1f}".replace("-", "\u2212")
        for end in ends
    )


def span(ends: Ends, show: Callable[[float], str] = number) -> str:
    """Format an interval in its own unit; an open side is ∞."""
    if ends is None or all(end is None for end in ends):
        return NONE
    sides = [
        open_side if end is None else show(float(end))
        for end, open_side in zip(ends, ("\u2212∞", "∞"), strict=True)
    ]
    return " to ".join(sides)


def ranks(rank_set: tuple[int, int] | None) -> str:
    """Format a rank set: one rank, or best–worst."""
    if rank_set is None:
        return NONE
    return (
        str(rank_set[0])
        if rank_set[0] == rank_set[1]
        else f"{rank_set[0]}–{rank_set[1]}"
    )


number3 = partial(number, digits=3)
span3 = partial(span, show=number3)
RANKS_NOTE = (
    "Ranks: a 95 % range for each model alone, not for all of them at once."
)
GROUPS_NOTE = (
    "Models are compared only within a group, that is, in tasks that "
    "compare the same models."
)


def p_value(value: float | None) -> str:
    """Format p with three decimals; smaller values as "< 0.001"."""
    if value is None:
        return NONE
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def with_ends(share: Estimate, show: Callable[[float], str] = percent) -> str:
    """Format a value with its interval, or the reason why there is none: 80.7 % (75.1
    to 85.3)."""
    if share.value is None:
        return NONE
    spread = percents if show in (percent, points) else partial(span, show=show)
    behind = spread(share.interval) if share.interval else share.why
    return f"{show(share.value)} ({behind})" if behind else show(share.value)


def signed(value: float) -> str:
    """Format 0.2 as +20, for an axis."""
    return f"{100 * value:+g}".replace("-", "\u2212") if value else "0"
