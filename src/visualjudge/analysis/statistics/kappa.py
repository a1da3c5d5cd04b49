"""Cohen's κ (Cohen 1960): agreement of two raters beyond what their shares of each
answer give by chance. 1 is perfect, 0 is chance.

As 1 - κ is a disagreement divided by the one expected, the interval is that of α: each
image is left out in turn, on the scale -log(1 - κ).
"""

import numpy as np

from visualjudge.analysis.estimate import renumbered, spread, sums
from visualjudge.analysis.statistics.alpha import Interval, disagreement_ends
from visualjudge.core.records import FloatArray, IntArray


def kappa(
    ratings: FloatArray, groups: IntArray
) -> tuple[float | None, Interval | None]:
    """Return Cohen's κ of ``ratings`` (2 raters × units, NaN = not rated), and its 95 %
    interval by leaving out each of ``groups`` of units (one integer per unit) in turn,
    as :func:`~visualjudge.analysis.statistics.alpha.alpha`.

    None if the raters share no unit, or if both always gave the same answer.
    """
    columns = _columns(ratings)
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
    if not dispersion.enough[0]:
        return value, None
    return value, disagreement_ends(
        value, dispersion, (units, units - agreed), expected
    )


def _columns(ratings: FloatArray) -> FloatArray:
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
    """Return the agreement by chance for rows of sums of :func:`_columns`."""
    first, second = np.split(totals[:, 2:], 2, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((first * second).sum(1) / totals[:, 0] ** 2)


def _kappas(totals: FloatArray) -> FloatArray:
    """Return κ for rows of sums of :func:`_columns`; NaN where it is undefined."""
    chance = _chance(totals)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (totals[:, 1] / totals[:, 0] - chance) / (1 - chance)
