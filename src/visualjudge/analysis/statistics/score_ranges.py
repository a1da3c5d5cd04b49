"""The range of true scores behind each score of a judge: what its 4 means. How close
its scores are to the true ones is in ``score_agreement.py``.

The ranges are by conformal prediction: the true score of a *new* image's item that the
judge gives a 4 lies between two order statistics of the true scores that it gave a 4
before (Wilks 1941; conformal prediction within a category: Vovk et al. 2005, section
4.5). With m images, ends that leave out ⌊(m + 1) α⌋ places cover 1 − α of new images,
wherever the places lie. The narrowest such range is chosen, and one place less is left
out because it is chosen on the same data, unless most scores are tied, which leaves
little to choose (see the simulation, ``benchmarks/score_studies.py``): 88 to 93 % where
true scores have no ties, 93 to 97 % where a scale has few steps, because the end of a
range takes in a whole step. Items of one image share its weight, 1/(m + 1), and the new
image's weight lies at both ends of the scale (Lee, Barber & Willett 2023).

Neighbouring scores are one category until it has enough images. ``coverage`` is
measured: ranges from four fifths of the images, counted on the rest (5-fold by image).
"""

from dataclasses import dataclass

import numpy as np

from visualjudge.analysis.estimate import (
    TINY,
    divided,
    renumbered,
    shares,
    sums,
)
from visualjudge.analysis.value_and_interval import NOTHING, Estimate
from visualjudge.core.records import FloatArray, IntArray
from visualjudge.core.seeding import rng_for

ALPHA = 0.1
LEAST = 30
FOLDS = 5
"""Minimum number of images of a category, and parts of the images for the coverage."""
Ends = tuple[float, float]


@dataclass(frozen=True)
class ScoreRange:
    """The true scores ``low`` to ``high`` behind a judge's scores ``score`` to
    ``score_high``, from ``n`` items of ``images``.
    """

    score: float
    score_high: float
    low: float
    high: float
    n: int
    images: int


@dataclass(frozen=True)
class ScoreRanges:
    """Ranges by the judge's score, rising; their mean width over items, and the share
    of items of other images that they cover.
    """

    ranges: tuple[ScoreRange, ...]
    width: float
    coverage: Estimate
    alpha: float


NO_RANGES = ScoreRanges((), float("nan"), NOTHING, ALPHA)


def score_ranges(
    judged: FloatArray,
    true: FloatArray,
    image: IntArray,
    *,
    scale: Ends = (0.0, 10.0),
    alpha: float = ALPHA,
    seed: int = 0,
) -> ScoreRanges:
    """Return the ranges behind the scores ``judged`` of (n,) items with the scores
    ``true``, on the images ``image``; ``scale`` has the ends of the scale, which bound
    every range.
    """
    place = renumbered(image)[1]
    images = int(place.max()) + 1
    ranges = _ranges(judged, true, place, scale, alpha)
    # deal the images into folds at random
    fold = rng_for(seed, "score ranges", images).permutation(images) % FOLDS
    inside = np.zeros(judged.size)
    for own in range(min(FOLDS, images)):
        test = fold[place] == own
        learnt = ranges
        if not test.all():
            selected = ~test
            learnt = _ranges(
                judged[selected],
                true[selected],
                place[selected],
                scale,
                alpha,
            )
        low, high = _ends(learnt, judged[test])
        inside[test] = (true[test] >= low - TINY) & (true[test] <= high + TINY)
    low, high = _ends(ranges, judged)
    count = np.bincount(place).astype(float)
    coverage = shares(sums(place, inside, images), count)[0]
    return ScoreRanges(
        ranges,
        float((high - low).mean()),
        coverage,
        alpha,
    )


def _ranges(
    judged: FloatArray,
    true: FloatArray,
    place: IntArray,
    scale: Ends,
    alpha: float,
) -> tuple[ScoreRange, ...]:
    """Return the range of each category of scores, rising."""
    collected = []
    for low, high in _categories(judged, place):
        own = (judged >= low) & (judged <= high)
        images = renumbered(place[own])[1]
        ends = prediction_range(true[own], images, scale, alpha)
        size = int(images.max()) + 1
        collected.append(
            ScoreRange(
                low,
                high,
                *ends,
                int(own.sum()),
                size,
            )
        )
    return tuple(collected)


def _categories(judged: FloatArray, place: IntArray) -> list[Ends]:
    """Return the lowest and highest score of each category: neighbouring scores until
    it has enough images; what is left at the top joins the last.
    """
    out: list[Ends] = []
    values = np.unique(judged)
    first = values[0]
    met = set[int]()
    for value in values.tolist():
        met |= {*place[judged == value].tolist()}
        if len(met) >= LEAST:
            out.append((float(first), value))
            later = values[values > value]
            first = later[0] if later.size else value
            met = set()
    last = float(values[-1])
    if not out:
        return [(float(values[0]), last)]
    if out[-1][1] < last:
        out[-1] = (out[-1][0], last)
    return out


def prediction_range(
    true: FloatArray, image: IntArray, scale: Ends, alpha: float
) -> Ends:
    """Return the ends between which a new image's score lies with probability ≥ 1 −
    ``alpha``, given (n,) scores on images numbered from 0.
    """
    count = np.bincount(image)
    share = divided(1.0, (count.size + 1.0) * count)[image]
    item = 1 / (count.size + 1)
    tied = 2 * np.unique(true).size < count.size
    # one place pays for the choice of the narrowest
    paid = 0 if tied else 1
    places = max(0, int(alpha / item + TINY) - paid)
    rests = [1 - below * item for below in range(places + 1)]
    highs = _reached(true, share, rests)
    lows = -_reached(-true, share, rests)[::-1]
    low = np.maximum(lows, scale[0])
    high = np.minimum(highs, scale[1])
    narrowest = int((high - low).argmin())
    return float(low[narrowest]), float(high[narrowest])


def _reached(
    values: FloatArray, share: FloatArray, levels: list[float]
) -> FloatArray:
    """Return the least of (n,) values up to which their shares reach each of
    ``levels``, or infinity.
    """
    order = np.argsort(values, kind="stable")
    sorted_values = np.append(values[order], np.inf)
    places = np.searchsorted(np.cumsum(share[order]), np.array(levels) - 1e-9)
    return np.asarray(sorted_values[places])


def _ends(
    ranges: tuple[ScoreRange, ...], judged: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the range of each of (n,) scores, by the nearest category."""
    tops = np.array([own.score_high for own in ranges])
    starts = np.array([own.score for own in ranges])
    edges = (tops[:-1] + starts[1:]) / 2
    which = np.searchsorted(edges, judged)
    low, high = (
        np.array([getattr(own, name) for own in ranges])
        for name in ("low", "high")
    )
    return low[which], high[which]
