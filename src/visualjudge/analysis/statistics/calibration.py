"""Calibration of stated probabilities: reliability diagram, Brier score, expected
calibration error. The section that shows it is ``figures/calibration.py``.

Sources: Brier 1950; Murphy & Winkler 1977; Naeini et al. 2015 and Guo et al. 2017
(ECE); Roelofs et al. 2022 (bins of equal mass). The Brier score has the interval of a
share. With few items the ECE is biased upwards, more so near 0 (Kumar et al. 2019), so
its interval comes from resampled clusters, with a separate bound on each side.
Downwards it extends by the sum of the errors of the bins' gaps, which bounds their
joint error; upwards, the signs of the gaps are kept. It is wide: it holds the true error
in 97 to 100 % of simulated studies.

The corrected ECE is the ECE times the square root of the share of the bins' mean
squared gap that their standard errors do not explain (the debiased calibration error of
Kumar et al. 2019, clustered): 0 if the gaps are no larger than by chance.

What a confidence is worth is also what abstaining below it gains: the items of the
highest confidence stay, all of one confidence together, and the gain is the error of
all items less that of these, with the image as the unit (the selective risk of Geifman &
El-Yaniv 2017, at stated coverages).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from visualjudge.analysis.estimate import (
    LEAST_IMAGES,
    NORMAL,
    TAIL,
    TINY,
    positive_ends,
    renumbered,
    shares,
    sums,
    t_isf,
)
from visualjudge.analysis.statistics.score_agreement import Figure, mean_of
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.core.records import FloatArray, IntArray
from visualjudge.core.seeding import rng_for

DRAWS = 1000
BINS = 10


@dataclass(frozen=True)
class Bin:
    """Items with a stated probability near ``stated``, and the share of them that came
    true."""

    stated: float
    observed: float
    n: int


@dataclass(frozen=True)
class Calibration:
    """Calibration: ``brier`` (0 is perfect, 0.25 is "always one half"), ``ece`` (0 is
    calibrated) and the ``bins`` of the diagram.

    ``ece`` follows the published definition and is too high with few items;
    ``ece_corrected`` removes that bias and has the same interval.
    """

    brier: Estimate
    ece: Estimate
    ece_corrected: Estimate
    bins: tuple[Bin, ...]
    n: int
    images: int


def calibration(
    stated: FloatArray, truth: FloatArray, clusters: IntArray, seed: int = 0
) -> Calibration:
    """Return the calibration of (n,) stated probabilities, 0..1, given (n,) outcomes, 0
    or 1; ``clusters`` (n,) has the image of each.
    """
    codes = renumbered(clusters)[1]
    # The bin of each item; equal probabilities share a bin.
    edges = np.unique(np.quantile(stated, np.linspace(0, 1, BINS + 1)[1:-1]))
    which = np.unique(
        np.searchsorted(edges, stated, side="left"), return_inverse=True
    )[1]
    images = int(codes.max()) + 1
    counts = np.bincount(codes).astype(float)
    brier = shares(
        sums(codes, (stated - truth) ** 2, images), counts, graded=True
    )[0]
    gaps = (which[:, None] == np.arange(which.max() + 1)) * (stated - truth)[
        :, None
    ]
    value, ends = _expected_error(gaps, codes, seed)
    ece = Estimate(value, ends, stated.size, images)
    corrected = replace(
        ece, value=_corrected(gaps, codes, value, ends[0] if ends else 0.0)
    )
    bins = tuple(
        Bin(float(stated[g].mean()), float(truth[g].mean()), int(g.sum()))
        for g in (which == name for name in np.unique(which))
    )
    return Calibration(brier, ece, corrected, bins, stated.size, images)


def _expected_error(
    gaps: FloatArray, codes: IntArray, seed: int
) -> tuple[float, tuple[float, float] | None]:
    """Return the ECE from items' ``gaps``, stated less true in their bin's column (n,
    bins)."""
    images = int(codes.max()) + 1
    mean = gaps.mean(0)
    value = float(np.abs(mean).sum())
    if images < LEAST_IMAGES:
        return value, None
    drawn = rng_for(seed, "calibration", images).multinomial(
        images, np.full(images, 1 / images), size=DRAWS
    )
    weights = drawn[:, codes].astype(float)
    errors = (weights @ gaps) / weights.sum(1, keepdims=True) - mean
    wider = (
        float(t_isf(TAIL, images - 1)) / NORMAL * np.sqrt(images / (images - 1))
    )
    reaches = np.abs(errors).sum(1), errors @ np.where(mean < 0, 1.0, -1.0)
    # where no image differs, one that was not asked may
    least = 0.0 if np.abs(errors).max() > TINY else 1 - TAIL ** (1 / images)
    down, up = (
        max(least, wider * float(np.quantile(reach, 1 - TAIL)))
        for reach in reaches
    )
    return value, (max(0.0, value - down), min(1.0, value + up))


def _corrected(
    gaps: FloatArray, codes: IntArray, ece: float, least: float
) -> float:
    """Return the ECE from items' ``gaps`` (n, bins) corrected for few items: at least
    ``least``, and at most the published ``ece``.
    """
    images = int(codes.max()) + 1
    if images < 2:
        return ece
    gap = gaps.mean(0)
    each = np.stack(
        [sums(codes, column, images) for column in gaps.T], axis=1
    ) / len(gaps)
    luck = images / (images - 1) * ((each - gap / images) ** 2).sum(0)
    held = np.maximum((gaps != 0).mean(0), 1 / len(gaps))
    seen = float((gap**2 / held).sum())
    part = 1 - float((luck / held).sum()) / seen if seen > 0 else 0.0
    return float(np.clip(ece * np.sqrt(max(0.0, part)), min(least, ece), ece))


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
    *,
    choices: bool = False,
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
    choices
        Whether a loss is 0 or 1, so that its mean is a share.
    """
    image = renumbered(images)[1]
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
        wrong = sums(image, loss * own, image.size)
        asked = sums(image, own, image.size)
        rows.append(
            Abstaining(
                least,
                float(own.mean()),
                shares(wrong, asked)[0]
                if choices
                else replace(answered, of=positive_ends).estimate,
                (everything - answered).estimate,
            )
        )
    return tuple(rows)


def _mean(
    loss: FloatArray, own: IntArray, group: IntArray, images: IntArray
) -> Figure:
    """Return the mean loss of the items ``own``, and what each group has in it."""
    return mean_of(
        loss[own],
        group[own],
        int(group.max()) + 1,
        int(np.unique(images[own]).size),
    )
