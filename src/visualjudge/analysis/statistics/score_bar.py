"""May the scores of a judge be used? Two requirements on the scores of one task, each
met, missed or open by its whole interval. The figures that are compared with it are in
``score_agreement.py``.

*Order*: Spearman's correlation with the truth is at least ``Bar.spearman``. *Error*:
the mean absolute error is at most ``Bar.error`` times that of the best constant, so a
judge that knows nothing, or the mean of the task, misses it. ``yes``: both are met.
``no``: one is missed and none is met. ``in_part``: one is met and one is missed.
``too_few``: anything else. Of judges on both bars, at most 5 % are a ``no`` in seven
simulated designs of 12 to 40 images, and 7.5 % on 20 single items with skewed scores:
a log scale of the error mends this one and is worse where errors are skewed.

Several tasks share the level by Bonferroni's method: else one of ten tasks would often
be decided wrongly. Those on too few images take no part.

Several tasks: ``yes`` if every task that is decided is, ``no`` likewise, else
``in_part``; ``too_few`` if none is decided.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
from scipy import special

from visualjudge.analysis.estimate import POWER, TAIL, norm_isf
from visualjudge.analysis.statistics.score_agreement import Figure, Scores
from visualjudge.analysis.value_and_interval import Ends, Estimate
from visualjudge.core.errors import UsageError, one_of
from visualjudge.core.records import FloatArray

Level = Literal["met", "missed", "open"]
ScoreState = Literal["yes", "in_part", "no", "too_few"]
BEGINS: dict[ScoreState, str] = {
    "yes": "Yes",
    "no": "No",
    "in_part": "In part",
    "too_few": "Not decided yet",
}
LEAST_IMAGES = 10
"""Nothing is met or missed on fewer images."""
TIMES = np.geomspace(1.02, 20, 200)
"""Times the images that are tried for an answer."""


@dataclass(frozen=True)
class Bar:
    """What a judge must reach: scores, a rank correlation and a share of the best
    constant's error; choices, an accuracy.

    The defaults: people who rate generated images agree with one another with a rank
    correlation of .45 (Ku et al. 2024); an error that is not a tenth smaller than a
    constant's is of no use; three of four choices, as the card requires of pairs of
    models.
    """

    spearman: float = 0.45
    error: float = 0.9
    accuracy: float = 0.75


def bar_of(stated: Iterable[str]) -> Bar:
    """Return the bar with the values stated as ``NAME=VALUE``.

    Raises
    ------
    UsageError
        If a name is unknown or a value is no number from 0 to 1.
    """
    values: dict[str, float] = {}
    known = [field.name for field in fields(Bar)]
    for text in stated:
        name, _, value = text.partition("=")
        if name not in known:
            raise UsageError(
                f"`bar` must be {one_of(name, known)}, got {text!r}"
            )
        try:
            values[name] = float(value)
            if not 0 <= values[name] <= 1:
                raise ValueError
        except ValueError:
            raise UsageError(
                f"`bar` {name} must be a number from 0 to 1, got {value!r}"
            ) from None
    return Bar(**values)


def order_level(scores: Scores, bar: Bar, tail: float = TAIL) -> Level:
    """Return whether the scores order the items; scores that are all alike order
    nothing."""
    if scores.images < LEAST_IMAGES or np.ptp(scores.true) == 0:
        return "open"
    if np.ptp(scores.judged) == 0:
        return "missed"
    return level(scores.spearman.at_tail(tail).interval, bar.spearman)


def margin(scores: Scores, bar: Bar) -> Figure:
    """Return by how much the error lies below the bar's."""
    constant = np.abs(scores.true - scores.constant)
    return scores.mean(bar.error * constant - np.abs(scores.error))


def error_level(scores: Scores, bar: Bar, tail: float = TAIL) -> Level:
    """Return whether the error is smaller than the best constant's by as much as
    required."""
    if scores.images < LEAST_IMAGES or np.ptp(scores.true) == 0:
        return "open"
    return level(margin(scores, bar).at_tail(tail).interval, 0.0)


def level(ends: Ends | None, least: float) -> Level:
    """Return whether a whole interval is at least ``least``, or all below it."""
    low, high = ends or (None, None)
    if low is None or high is None:
        return "open"
    if low >= least:
        return "met"
    return "missed" if high < least else "open"


def images_needed(
    images: int,
    levels: Collection[Level],
    figures: Iterable[tuple[Estimate, float]],
    tail: float = TAIL,
) -> int | None:
    """Return the images on which ``figures`` are all decided, each against its bar,
    with a probability of 80 %; None if one is missed already, or no number can be
    promised. Intervals of ``figures`` have ``tail`` beyond each end.
    """
    if "missed" in levels:
        return None
    chances = [_decided(*figure, tail) for figure in figures]
    enough = TIMES[np.prod(chances, axis=0) >= POWER]
    return (
        max(LEAST_IMAGES, int(np.ceil(enough[0] * images)))
        if enough.size
        else None
    )


def _decided(figure: Estimate, least: float, tail: float) -> FloatArray:
    """Return how probably a figure is told from ``least``, as it is now, on
    :data:`TIMES` as many images; 0 if it has no interval.

    The probability is that which the images so far predict (Spiegelhalter, Freedman &
    Blackburn 1986). With the figure taken as true, the numbers promised decided 67 % of studies
    of random judges; they decide 81 %.
    """
    low, high = figure.interval or (None, None)
    if figure.value is None or low is None or high is None:
        return np.zeros(TIMES.size)
    gap = figure.value - least
    reach = figure.value - low if gap > 0 else high - figure.value
    end = float(norm_isf(tail))
    later = end * abs(gap) / reach - end / np.sqrt(TIMES)
    return np.asarray(special.ndtr(later / np.sqrt(1 - 1 / TIMES)))


def state(order: Level, error: Level) -> ScoreState:
    """Return the state of one task."""
    levels = {order, error}
    if levels == {"met"}:
        return "yes"
    if levels == {"met", "missed"}:
        return "in_part"
    return "no" if "missed" in levels else "too_few"


def tail_of(images: Iterable[int] = ()) -> float:
    """Return the probability beyond each end of the intervals that decide tasks with so
    many ``images`` each; by default, those of one task."""
    return TAIL / max(1, sum(count >= LEAST_IMAGES for count in images))


def over_tasks(states: Iterable[ScoreState]) -> ScoreState:
    """Return the state over tasks."""
    decided = {own for own in states if own != "too_few"}
    if not decided:
        return "too_few"
    return decided.pop() if len(decided) == 1 else "in_part"
