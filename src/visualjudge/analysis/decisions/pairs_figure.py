"""Pairs of models by judge and by truth: a figure with one row a pair, and a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from visualjudge.analysis import table_layout
from visualjudge.analysis.answer import PairOfModels, PairState
from visualjudge.analysis.figure_text import (
    group_name,
    listed,
    many,
    number,
    percent,
    percents,
)
from visualjudge.analysis.plots.figure import Figure, LeftOut
from visualjudge.analysis.plots.forest import ForestRow, Scale, forest
from visualjudge.analysis.table_layout import as_named, grid, of_row
from visualjudge.analysis.value_and_interval import NO_TRUTH, Share
from visualjudge.core.text_tables import Table

if TYPE_CHECKING:
    from visualjudge.analysis.decisions.card import Answer, JudgeCard

MOST_ROWS = 15
MOST_JUDGES = 3
STATE_WORDS: dict[PairState, str] = {
    "right": "separated, right",
    "wrong": "separated, wrong",
    "undecided": "judge can’t tell yet",
    "close": "too close by truth",
}
READING = (
    "Each row is a pair of models: how often the truth prefers the first, and how often the judge "
    "does, on the same images. An interval that touches 50 % does not separate the two; tests are "
    "adjusted by Holm over all pairs."
)
COLUMNS = (
    "judge",
    "group",
    "a",
    "b",
    "judge_prefers_a",
    "judge_low",
    "judge_high",
    "truth_prefers_a",
    "truth_low",
    "truth_high",
    "state",
    "needs_images_low",
    "needs_images_high",
    "images",
    "difference",
)
SCALE = Scale(
    0.0,
    1.0,
    lambda value: f"{100 * value:.0f} %",
    lambda estimate: percent(estimate.value, 0),
    "prefers the first",
    0.5,
)


def pairs_figure(judges: Sequence[JudgeCard]) -> Figure | LeftOut:
    """Return the figure of the pairs that the first judges compare."""
    drawn = [judge for judge in judges if judge.models.pairs][:MOST_JUDGES]
    if not drawn:
        return LeftOut("pairs", "no question compares two named models")
    if all(pair.truth is None for judge in drawn for pair in judge.models.pairs):
        return LeftOut("pairs", NO_TRUTH)
    keys = [(pair.group, pair.a, pair.b) for pair in drawn[0].models.pairs]
    of_judges = [
        {(pair.group, pair.a, pair.b): pair for pair in judge.models.pairs} for judge in drawn
    ]
    # the clearest by truth first
    shown = sorted(keys, key=lambda key: -(of_judges[0][key].truth or 0.5))[:MOST_ROWS]
    groups = len({group for group, _, _ in keys}) > 1
    rows = [_row(key, [pairs.get(key) for pairs in of_judges], groups) for key in shown]
    data = [(judge.judge, *_data(pair)) for judge in judges for pair in judge.models.pairs]
    rest = f" {len(shown)} of {len(keys)} pairs are drawn." if len(shown) < len(keys) else ""
    series = ["truth", *(judge.judge for judge in drawn)]
    colours = [5, *range(len(drawn))]
    return Figure(
        "pairs",
        _finding(drawn),
        f"How often the first of two models is preferred, with 95 % intervals.{rest}",
        COLUMNS,
        tuple(data),
        lambda width: forest(rows, series, SCALE, width, colours=colours),
        READING,
    )


def _row(
    key: tuple[str, str, str], pairs: Sequence[PairOfModels | None], groups: bool
) -> ForestRow:
    group, a, b = key
    known = next(pair for pair in pairs if pair is not None)
    truth = Share(known.truth, known.truth_ci95, known.images, known.images)
    judged = [
        None if pair is None else Share(pair.judge, pair.judge_ci95, pair.images, pair.images)
        for pair in pairs
    ]
    task = f" ({group_name(group)})" if groups else ""
    note = _state(known) if len(pairs) == 1 else ""
    return ForestRow(f"{a} or {b}{task}", (truth, *judged), note=note)


def _state(pair: PairOfModels) -> str:
    few = pair.state == "close" and pair.truth_ci95 is None
    return "too few images" if few else STATE_WORDS[pair.state]


def _data(pair: PairOfModels) -> tuple[str | float | int | None, ...]:
    return (
        pair.group,
        pair.a,
        pair.b,
        pair.judge,
        *(pair.judge_ci95 or (None, None)),
        pair.truth,
        *(pair.truth_ci95 or (None, None)),
        pair.state,
        *(pair.needs_images or (None, None)),
        pair.images,
        pair.difference,
    )


def separated(found: Answer) -> str:
    """Return how many pairs are separated, as "5 of 6"."""
    pairs = found.models.pairs
    return f"{sum(pair.state == 'right' for pair in pairs)} of {len(pairs)}" if pairs else "–"


def _finding(judges: Sequence[JudgeCard]) -> str:
    said = [f"{judge.judge} separates {separated(judge)} pairs rightly" for judge in judges]
    return listed(said)


def _share(value: float | None, ends: tuple[float, float] | None) -> str:
    return f"{percent(value, 0)} ({percents(ends)})"


def _more(pair: PairOfModels) -> str:
    return "" if pair.needs_images is None else "{} to {}".format(*pair.needs_images)


PAIR: table_layout.Table[PairOfModels] = table_layout.Table(
    (
        table_layout.Column("a", "a", "First", text=True),
        table_layout.Column("b", "b", "Second", text=True),
        *as_named("judge", "judge_ci95", "truth", "truth_ci95", "state", "needs_images"),
        *as_named("images", "group", "difference", "by"),
        of_row("Judge prefers the first", lambda pair: _share(pair.judge, pair.judge_ci95)),
        of_row("Truth", lambda pair: _share(pair.truth, pair.truth_ci95)),
        table_layout.Column(None, _state, "State", text=True),
        of_row("More images", _more),
    )
)


def resolution(found: Answer) -> str:
    """Return the resolution in points of score."""
    points = found.models.resolution
    return "–" if points is None else f"{points:.1f} points"


def pairs_table(found: Answer) -> Table:
    """Return each pair of models by judge and by truth."""
    models, notes = found.models, []
    if models.resolution is not None:
        twice = models.resolution_twice
        more = "" if twice is None else f", {twice:.1f} with twice the images"
        notes.append(
            f"Resolution: {models.resolution:.1f} points{more}; the smallest difference "
            "of two models that these images separate with a power of 80 %. A point is 0.1 of the "
            "metric that the scores were computed by."
        )
    if len(models.pairs) > MOST_ROWS:
        notes.append(f"{number(MOST_ROWS)} of {many(len(models.pairs), 'pair')} are listed.")
    return grid(PAIR, models.pairs[:MOST_ROWS], notes=notes, keys=2)
