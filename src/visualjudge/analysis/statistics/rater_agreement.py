"""Agreement of raters beyond chance: 1 is perfect, 0 is chance. Krippendorff's α of any
number of raters, with missing ratings, and Cohen's κ of two. Tables of raters are in
``analysis/people_agreement.py``; whether a judge may replace one, in
``alternative_annotator.py``.

Sources: Cohen 1960; Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability". Both
disagreements are sums of moments over units, so α needs no table of value pairs, and
leaving out an image is a subtraction. The ordinal difference of two values, Σ n_g from
c to k less (n_c + n_k)/2, is the difference of their mid-ranks; ordinal α is interval α
of mid-ranks. Equal to the ``krippendorff`` package (tested). As 1 − κ is a disagreement
divided by the one expected, its interval is that of α.
"""

from typing import Literal

import numpy as np

from visualjudge.analysis.estimate import (
    TAIL,
    Spread,
    renumbered,
    spread,
    sums,
    t_isf,
)
from visualjudge.core.records import FloatArray, IntArray

Level = Literal["nominal", "ordinal", "interval"]
Interval = tuple[float, float]


def _midranks(values: FloatArray) -> FloatArray:
    """Return the mid-ranks of ``values``; NaN stays NaN."""
    known = np.isfinite(values)
    levels, which, counts = np.unique(
        values[known],
        return_inverse=True,
        return_counts=True,
    )
    out = np.full(values.shape, np.nan)
    out[known] = (
        (np.cumsum(counts) - counts / 2)[which] if levels.size else np.nan
    )
    return out


def _coordinates(ratings: FloatArray, level: Level) -> FloatArray:
    """Return the ratings as numbers whose squared distance is the disagreement, C ×
    raters × units; NaN for single ratings of a unit, which take no part.
    """
    selected = np.where(
        np.isfinite(ratings).sum(0) > 1,
        ratings,
        np.nan,
    )
    known = np.isfinite(selected)
    if level == "nominal":
        return np.where(
            known,
            selected == np.unique(selected[known])[:, None, None],
            np.nan,
        )
    numbers = _midranks(selected) if level == "ordinal" else selected
    # α ignores the origin, but floating-point sums of squares do not
    return (numbers - (numbers[known].mean() if known.any() else 0.0))[None]


def _columns(x: FloatArray) -> FloatArray:
    """Return per unit (units × (3 + C)): the number m of pairable values, the sum of
    squared distances over ordered pairs / (m - 1), Σ of squares, and Σ of each
    coordinate.
    """
    m = np.isfinite(x).all(0).sum(0) * (x.shape[0] > 0)
    values = np.nan_to_num(x)
    total = values.sum(1)
    squares = (values**2).sum((0, 1))
    within = 2 * (m * squares - (total**2).sum(0)) / np.maximum(m - 1, 1)
    return np.column_stack([m, within, squares, *total])


def _alphas(rows: FloatArray) -> FloatArray:
    """Return α for rows of sums of :func:`_columns`; NaN where it is undefined."""
    n, within, squares, *total = rows.T
    expected = 2 * (n * squares - sum(item**2 for item in total))
    small = (n < 2) | (expected <= 1e-9 * np.maximum(1, n))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(
            small,
            np.nan,
            1 - within * (n - 1) / expected,
        )


def alpha(
    ratings: FloatArray,
    level: Level = "nominal",
    groups: IntArray | None = None,
) -> tuple[float | None, Interval | None]:
    """Return Krippendorff's α of ``ratings`` (raters × units, NaN = not rated), and its
    95 % interval by leaving out each of ``groups`` of units in turn (one integer per
    unit; by default each unit is a group).

    None if no unit has two ratings, or if all pairable values are equal (agreement and
    chance are then indistinguishable). The interval is computed on the scale -log(1 -
    α), the log of the disagreement, by Student's t. Its standard error is at least the
    binomial error of the units that disagree. Without any disagreement, its upper bound
    is Clopper and Pearson's for 0 of the groups.
    """
    units = np.arange(ratings.shape[1]) if groups is None else groups
    labels = np.unique(units, return_inverse=True)[1]
    columns = _columns(_coordinates(ratings, level))
    count = labels.max(initial=-1) + 1
    grouped = np.stack(
        [sums(labels, item, count) for item in columns.T], axis=1
    )
    total = grouped.sum(0, keepdims=True)
    grouped = grouped[grouped[:, 0] > 0]
    value = float(_alphas(total)[0])
    if not np.isfinite(value):
        return None, None
    pairable = columns[:, 0] > 0
    weights = sums(labels, pairable.astype(float), count)
    dispersion = spread(
        np.nan_to_num(value - _alphas(total - grouped)), weights[weights > 0]
    )
    unlike = columns[:, 1] > 1e-9 * np.maximum(1, columns[:, 2])
    return value, disagreement_ends(
        value,
        dispersion,
        (
            float(pairable.sum()),
            float(unlike.sum()),
        ),
    )


def disagreement_ends(
    value: float,
    dispersion: Spread,
    units: tuple[float, float],
    expected: float = 0.5,
) -> Interval | None:
    """Return the interval of ``value``, which is 1 less a disagreement divided by the
    one ``expected``; ``units`` counts all, and those that disagree. It lies within -1
    to 1. If no unit, or every unit, disagrees, the other end is that of zero events.
    None with too few images.
    """
    if not dispersion.enough[0]:
        return None
    count, unlike = units
    unseen = TAIL ** (1 / float(dispersion.effective[0]))
    if unlike == 0:
        return max(
            -1.0,
            1 - (1 - unseen) / expected,
        ), 1.0
    floor = (1 - unlike / count) / unlike
    error = np.sqrt(
        np.maximum(
            dispersion.variance / (1 - value) ** 2,
            floor,
        )
    )
    reach = float(t_isf(TAIL, dispersion.df[0]) * error[0])
    centre = -np.log(1 - value)
    low = float(1 - np.exp(reach - centre))
    high = float(1 - np.exp(-reach - centre))
    return max(-1.0, low), high if unlike < count else max(
        high, 1 - unseen / expected
    )


def kappa(
    ratings: FloatArray, groups: IntArray
) -> tuple[float | None, Interval | None]:
    """Return Cohen's κ of ``ratings`` (2 raters × units, NaN = not rated), and its 95 %
    interval by leaving out each of ``groups`` of units (one integer per unit) in turn,
    as :func:`alpha`.

    None if the raters share no unit, or if both always gave the same answer.
    """
    columns = _answer_columns(ratings)
    shared = columns[:, 0] > 0
    columns = columns[shared]
    (codes, place) = renumbered(groups[shared])
    grouped = np.column_stack(
        [sums(place, values, codes.size) for values in columns.T]
    )
    total = grouped.sum(0, keepdims=True)
    value = float(_kappas(total)[0])
    if not np.isfinite(value):
        return None, None
    dispersion = spread(
        np.nan_to_num(value - _kappas(total - grouped)), grouped[:, 0]
    )
    units = float(total[0, 0])
    agreed = float(total[0, 1])
    expected = 1 - float(_chance(total)[0])
    return value, disagreement_ends(
        value,
        dispersion,
        (units, units - agreed),
        expected,
    )


def _answer_columns(ratings: FloatArray) -> FloatArray:
    """Return of each unit that both rated: 1, whether they agree, and which answer the
    first and the second rater gave (units × (2 + 2 answers)); 0 in other units.
    """
    both = np.isfinite(ratings).all(0)
    answers = np.unique(ratings[:, both])
    stated = (ratings[:, None, :] == answers[None, :, None]) & both
    columns = [
        both,
        both & (ratings[0] == ratings[1]),
        *stated.reshape(-1, both.size),
    ]
    return np.column_stack(columns).astype(float)


def _chance(totals: FloatArray) -> FloatArray:
    """Return the agreement by chance for rows of sums of :func:`_answer_columns`."""
    first, second = np.split(
        totals[:, 2:],
        2,
        axis=1,
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((first * second).sum(1) / totals[:, 0] ** 2)


def _kappas(totals: FloatArray) -> FloatArray:
    """Return κ for rows of sums of :func:`_answer_columns`; NaN where it is undefined."""
    chance = _chance(totals)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (totals[:, 1] / totals[:, 0] - chance) / (1 - chance)
