"""May the scores of a judge be used? Two requirements on the scores of one task, each met, missed or
open by its whole interval.

*Order*: Spearman's correlation with the truth is at least ``Bar.spearman``. *Error*: the mean
absolute error is at most ``Bar.error`` times that of the best constant, so a judge that knows
nothing, or the mean of the task, misses it. ``yes``: both are met. ``no``: one is missed and none
is met. ``in_part``: one is met and one is missed. ``too_few``: anything else.

Several tasks: ``yes`` if every task that is decided is, ``no`` likewise, else ``in_part``;
``too_few`` if none is decided.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from visualjudge.analysis.statistics.score_agreement import Figure, Scores

Level = Literal["met", "missed", "open"]
ScoreState = Literal["yes", "in_part", "no", "too_few"]
LEAST_IMAGES = 10
"""Nothing is met or missed on fewer images."""


@dataclass(frozen=True)
class Bar:
    """What scores must reach: a rank correlation, and a share of the best constant's error.

    The defaults: people who rate generated images agree with one another with a rank correlation of
    .45 (Ku et al. 2024), and an error that is not a tenth smaller than a constant's is no use.
    """

    spearman: float = 0.45
    error: float = 0.9


def order_level(scores: Scores, bar: Bar) -> Level:
    """Return whether the scores order the items; scores that are all alike order nothing."""
    if scores.images < LEAST_IMAGES or np.ptp(scores.true) == 0:
        return "open"
    if np.ptp(scores.judged) == 0:
        return "missed"
    return _level(scores.spearman, bar.spearman)


def margin(scores: Scores, bar: Bar) -> Figure:
    """Return by how much the error lies below the bar's."""
    constant = np.abs(scores.true - scores.constant)
    return scores.mean(bar.error * constant - np.abs(scores.error))


def error_level(scores: Scores, bar: Bar) -> Level:
    """Return whether the error is smaller than the best constant's by as much as required."""
    if scores.images < LEAST_IMAGES or np.ptp(scores.true) == 0:
        return "open"
    return _level(margin(scores, bar), 0.0)


def _level(figure: Figure, least: float) -> Level:
    ends = figure.estimate.interval
    if ends is None or ends[0] is None or ends[1] is None:
        return "open"
    return "met" if ends[0] >= least else "missed" if ends[1] < least else "open"


def state(order: Level, error: Level) -> ScoreState:
    """Return the state of one task."""
    levels = {order, error}
    if levels == {"met"}:
        return "yes"
    if levels == {"met", "missed"}:
        return "in_part"
    return "no" if "missed" in levels else "too_few"


def over_tasks(states: Iterable[ScoreState]) -> ScoreState:
    """Return the state over tasks."""
    decided = {own for own in states if own != "too_few"}
    if not decided:
        return "too_few"
    return decided.pop() if len(decided) == 1 else "in_part"
