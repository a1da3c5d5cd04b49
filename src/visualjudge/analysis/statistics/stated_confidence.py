"""What a judge's stated confidence is worth: is it as often right as it says, and what
abstaining below a confidence gains.

Abstaining keeps the items of the highest confidence; all items of one confidence are
kept or left together. The gain is the error of all items less that of the kept ones,
with the image as the unit (the selective risk of Geifman & El-Yaniv 2017, at stated
coverages).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from visualjudge.analysis.statistics.score_agreement import Figure, mean_of
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.core.records import FloatArray, IntArray

KEPT = (0.75, 0.5, 0.25)
"""Shares of the items that are answered."""


@dataclass(frozen=True)
class Abstaining:
    """Answering only from a confidence of ``least`` on: the share that is answered, the
    mean loss of these items, and the loss of all less theirs.
    """

    least: float
    answered: float
    loss: Estimate
    gain: Estimate


def abstaining(
    confidence: FloatArray,
    loss: FloatArray,
    group: IntArray,
    images: IntArray,
    selected: Sequence[float] = KEPT,
) -> tuple[Abstaining, ...]:
    """Return the loss of (n,) items of which a share of about ``selected`` is answered,
    by falling share; shares that keep the same items are one, those that keep all are
    none.

    Parameters
    ----------
    confidence, loss
        Stated confidence of each item, and its loss: an absolute error, or 0 and 1.
    group, images
        The group of images, from 0, and the image of each item.
    """
    edges = np.unique(
        [np.quantile(confidence, 1 - share) for share in selected]
    )
    everything = _mean(loss, np.ones(loss.size, dtype=bool), group, images)
    rows = []
    for least in edges.tolist():
        own = confidence >= least
        if own.all():
            continue
        answered = _mean(loss, own, group, images)
        gain = everything - answered
        rows.append(
            Abstaining(least, float(own.mean()), _loss(answered), gain.estimate)
        )
    return tuple(rows)


def _loss(mean: Figure) -> Estimate:
    """Return a mean loss: it is never negative, nor is an end of its interval."""
    loss = mean.estimate
    ends = loss.interval and (
        max(0.0, loss.interval[0] or 0.0),
        loss.interval[1],
    )
    return replace(loss, interval=ends)


def _mean(
    loss: FloatArray, own: IntArray, group: IntArray, images: IntArray
) -> Figure:
    """Return the mean loss of the items ``own``, and what each group has in it."""
    size = int(np.unique(images[own]).size)
    return mean_of(loss[own], group[own], int(group.max()) + 1, size)
