"""Pairs of models by judge and by truth, as rows and columns."""

from visualjudge.analysis.figure_text import (
    NONE,
    many,
    number,
    number3,
    percent,
)
from visualjudge.analysis.separation import (
    PairOfModels,
    PairsOfModels,
    PairState,
)
from visualjudge.analysis.table_layout import (
    Column,
    Layout,
    as_named,
    grid,
    named,
    of_row,
)
from visualjudge.core.text_tables import Table

MOST_ROWS = 15
STATE_WORDS: dict[PairState, str] = {
    "right": "separated, right",
    "wrong": "separated, wrong",
    "undecided": "judge can’t tell yet",
    "close": "too close by truth",
    "unknown": "no truth",
}
TRUTH_OPEN = "truth can’t tell yet"


def state_words(pair: PairOfModels) -> str:
    """Return the state of a pair in words."""
    words = STATE_WORDS[pair.state]
    if pair.state == "close" and pair.truth_ci95 is None:
        words = "too few images"
    elif pair.state == "undecided" and not pair.truth_order:
        words = TRUTH_OPEN
    elif pair.state == "unknown" and pair.judge_order:
        words = "separated, no truth"
    return f"{words} *" if pair.adjusted_away else words


def _share(value: float | None, ends: tuple[float, float] | None) -> str:
    if ends is None:
        return f"{percent(value, 0)} ({NONE})"
    low, high = (f"{100 * end:.0f}" for end in ends)
    return f"{percent(value, 0)} ({low} to {high})"


def _more(pair: PairOfModels) -> str:
    if pair.needs_images is None:
        return ""
    low, high = pair.needs_images
    return number(low) if low == high else f"{number(low)} to {number(high)}"


def _mean(pair: PairOfModels) -> str:
    words = number3(pair.mean_difference)
    return f"{words}, opposite" if pair.conflict else words


PAIR = Layout[PairOfModels](
    named("a", "First"),
    named("b", "Second"),
    *as_named(
        "judge", "judge_ci95", "truth", "truth_ci95", "state", "needs_images"
    ),
    *as_named("images", "group", "mean_difference", "conflict"),
    *as_named("judge_order", "truth_order"),
    Column("difference", "mean_difference"),
    of_row("By the judge", lambda pair: _share(pair.judge, pair.judge_ci95)),
    of_row("By truth", lambda pair: _share(pair.truth, pair.truth_ci95)),
    of_row("Mean score", _mean),
    Column(None, state_words, "State"),
    *as_named("by"),
    of_row("More images", _more),
)


def separated(models: PairsOfModels) -> str:
    """Return how many pairs are separated, as "5 of 6"."""
    pairs = models.pairs
    return (
        f"{sum(pair.state == 'right' for pair in pairs)} of {len(pairs)}"
        if pairs
        else NONE
    )


def resolution(models: PairsOfModels) -> str:
    """Return the resolution as a win rate."""
    return NONE if models.resolution is None else percent(models.resolution, 0)


def pairs_table(models: PairsOfModels) -> Table:
    """Return each pair of models by judge and by truth."""
    notes = []
    if models.pairs:
        count = many(len(models.pairs), "pair")
        notes.append(
            "How often the first wins, over images: each image weighs the same, "
            "whatever the number of its questions. Intervals are 95 %; tests are "
            f"adjusted by Holm over {count}."
        )
    if any(pair.adjusted_away for pair in models.pairs[:MOST_ROWS]):
        notes.append(
            "*: an interval excludes 50 %, but not after that adjustment."
        )
    if models.resolution is not None:
        notes.append(_resolved(models))
    if len(models.pairs) > MOST_ROWS:
        notes.append(
            f"{number(MOST_ROWS)} of {many(len(models.pairs), 'pair')} are listed."
        )
    return grid(PAIR, models.pairs[:MOST_ROWS], notes=notes, keys=2)


def _resolved(models: PairsOfModels) -> str:
    twice = models.resolution_twice
    points = models.resolution_points
    more = (
        "" if twice is None else f", {percent(twice, 0)} with twice the images"
    )
    same = ""
    if points is not None:
        same = (
            f" It is a difference of {points:.1f} points of mean score, of 10."
        )
    return (
        f"Resolution: {percent(models.resolution, 0)} of images won{more}; the "
        "smallest win rate at which these images separate two models, rightly, with a "
        "power of 80 %." + same
    )
