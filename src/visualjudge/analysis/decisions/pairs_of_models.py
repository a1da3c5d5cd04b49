"""Pairs of models by judge and by truth, as rows and columns."""

from __future__ import annotations

from visualjudge.analysis.answer import PairOfModels, PairsOfModels, PairState
from visualjudge.analysis.figure_text import NONE, many, number, percent, percents
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
}


def state_words(pair: PairOfModels) -> str:
    """Return the state of a pair in words."""
    few = pair.state == "close" and pair.truth_ci95 is None
    return "too few images" if few else STATE_WORDS[pair.state]


def _share(value: float | None, ends: tuple[float, float] | None) -> str:
    return f"{percent(value, 0)} ({percents(ends)})"


def _more(pair: PairOfModels) -> str:
    return "" if pair.needs_images is None else "{} to {}".format(*pair.needs_images)


PAIR = Layout[PairOfModels](
    named("a", "First"),
    named("b", "Second"),
    *as_named("judge", "judge_ci95", "truth", "truth_ci95", "state", "needs_images"),
    *as_named("images", "group", "difference", "by"),
    of_row("Judge prefers the first", lambda pair: _share(pair.judge, pair.judge_ci95)),
    of_row("Truth", lambda pair: _share(pair.truth, pair.truth_ci95)),
    Column(None, state_words, "State"),
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
    """Return the resolution in points of score."""
    points = models.resolution
    return NONE if points is None else f"{points:.1f} points"


def pairs_table(models: PairsOfModels) -> Table:
    """Return each pair of models by judge and by truth."""
    notes = []
    if models.resolution is not None:
        twice = models.resolution_twice
        more = "" if twice is None else f", {twice:.1f} with twice the images"
        notes.append(
            f"Resolution: {models.resolution:.1f} points{more}; the smallest difference "
            "of two models that these images separate with a power of 80 %. A point is 0.1 of the "
            "metric that the scores were computed by."
        )
    if len(models.pairs) > MOST_ROWS:
        notes.append(
            f"{number(MOST_ROWS)} of {many(len(models.pairs), 'pair')} are listed."
        )
    return grid(PAIR, models.pairs[:MOST_ROWS], notes=notes, keys=2)
