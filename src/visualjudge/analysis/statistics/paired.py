"""Two judges, or two encodings, on the same cases: the difference in the share right, and what
would show it.

Sources: McNemar 1947; Yang, Sun & Hardin 2010 (clusters); Connor 1987 and Lachin 2011 (sample
sizes).
"""

from __future__ import annotations

import numpy as np

from visualjudge.analysis.statistics.jackknife import (
    LEAST_IMAGES,
    TAIL,
    TINY,
    Spread,
    enough,
    reaches,
)
from visualjudge.analysis.statistics.tails import chi2_isf, norm_isf
from visualjudge.core.records import FloatArray

LEVEL = 0.05
POWER = 0.8
MOST_IMAGES = 10_000_000
LEAST_REACH = float(norm_isf(0.05))
"""Of an interval, in standard errors of independent cases: what images that agree by luck cannot
undercut.
"""


def gap_ends(
    value: FloatArray, found: Spread, apart: FloatArray, cases: FloatArray, tail: float = TAIL
) -> tuple[FloatArray, FloatArray]:
    """95 % interval of differences of two shares, (K,); NaN where undefined. ``tail``: what it
    leaves out at each end.

    ``apart``: cases that only one of the two has right. The interval reaches at least as far as a
    90 % interval of independent cases with half a case more each way (after Agresti & Min 2005).
    Where no case is apart, the ends are Clopper and Pearson's for none in the effective images;
    where all are, the same way, such a case could be the other way, which counts two.
    """
    n = np.maximum(cases, 1)
    least = LEAST_REACH * np.sqrt(
        np.maximum((apart + 1) / (n + 1) - (value * n / (n + 1)) ** 2, 0) / n
    )
    error = np.sqrt(found.variance)
    down, up = (
        np.maximum(reach, least) for reach in reaches(found, error, np.zeros_like(error), tail)
    )
    edge = 1 - tail ** (1 / np.maximum(found.effective, 1))
    alike = np.where(apart <= 0, edge, np.where(np.abs(value) >= 1 - TINY, 2 * edge, 0))
    down, up = np.maximum(down, alike), np.maximum(up, alike)
    low, high = value - down, value + up
    told = enough(found) & np.isfinite(value)
    return np.where(told, np.maximum(low, -1), np.nan), np.where(told, np.minimum(high, 1), np.nan)


def cases_needed(first_only: float, second_only: float, effect: float = 1.0) -> int | None:
    """Paired cases that show the difference of the shares ``first_only`` and ``second_only`` (5 %,
    power 80 %).

    Connor's (z_α √(p10 + p01) + z_β √(p10 + p01 − δ²))² / δ², times the design ``effect``; None
    where δ = 0.
    """
    either, gap = first_only + second_only, first_only - second_only
    if abs(gap) < 1e-12:
        return None
    z_level, z_power = norm_isf(LEVEL / 2), norm_isf(1 - POWER)
    root = z_level * np.sqrt(either) + z_power * np.sqrt(max(0.0, either - gap**2))
    return int(np.ceil((root / gap) ** 2 * effect))


def images_needed(found: Spread, gap: float) -> tuple[int | None, tuple[float, float] | None]:
    """Images like these that show a difference of ``gap`` (5 %, power 80 %), and a 95 % range for
    their number.

    The variance of a mean falls as the number of images rises; the range is that of the variance
    seen, by χ² with the jackknife's degrees of freedom; never fewer than an interval needs. None
    where there are too few images to tell, or none differs.
    """
    variance, images, df = float(found.variance[0]), int(found.images[0]), float(found.df[0])
    if not enough(found)[0] or variance <= 0 or gap <= 0:
        return None, None
    once = images * variance * ((norm_isf(LEVEL / 2) + norm_isf(1 - POWER)) / gap) ** 2
    low, high = (once * df / chi2_isf(tail, df) for tail in (TAIL, 1 - TAIL))
    if once > MOST_IMAGES:
        return None, None
    ends = (max(float(LEAST_IMAGES), float(np.ceil(min(end, MOST_IMAGES)))) for end in (low, high))
    return max(LEAST_IMAGES, int(np.ceil(once))), (next(ends), next(ends))
