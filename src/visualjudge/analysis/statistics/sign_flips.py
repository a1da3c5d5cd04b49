"""A test that needs no degrees of freedom: are the contributions of images to a sum as often up as
down?

Under the null the images' scores have mean 0, and turning the sign of any leaves their joint
distribution as it is (Hemerik, Goeman & Finos 2020: sign-flipped score contributions, robust to
variances that differ and to dependence inside an image). The distribution of the sum over all 2ᵐ
signs is not drawn but computed: its cumulant generating function is Σ log cosh(t u), and Lugannani
and Rice's (1980) formula gives the tail, to three digits for ten images.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from visualjudge.analysis.statistics.roots import root
from visualjudge.core.records import FloatArray

TINY = 1e-12
CENTRE = 1e-3
"""Below this many standard deviations from 0 the formula is 0/0, and the normal tail serves."""


def sign_flip_p(scores: FloatArray, flipped: FloatArray | None = None) -> float:
    """Two-sided p of Σ ``scores`` (images,) over all signs of its terms; 1 where every score is 0.

    ``flipped``: the terms whose signs are turned, where the scores were fitted and are too small as
    they stand.
    """
    terms = np.abs(scores if flipped is None else flipped)
    u = terms[terms > TINY * max(1.0, float(terms.max(initial=0)))]
    seen = abs(float(scores.sum()))
    if not u.size:
        return 1.0
    least = 2.0 ** (1 - u.size)
    spread = float(np.sqrt((u**2).sum()))
    if seen >= u.sum() * (1 - 1e-9):
        return min(1.0, least)
    if seen < CENTRE * spread:
        return float(2 * special.ndtr(-seen / spread))
    return float(np.clip(2 * _tail(u / spread, seen / spread), least, 1.0))


def _tail(u: FloatArray, x: float) -> float:
    """P(Σ ±u ≥ x) by the saddlepoint t, where the slope Σ u tanh(t u) of the generating function is
    x.
    """
    high = 1.0
    while float((u * np.tanh(high * u)).sum()) < x:
        high *= 2
    t = root(lambda at: float((u * np.tanh(at * u)).sum()) - x, 0.0, high, 1e-14)
    generating = float((np.abs(t * u) + np.log1p(np.exp(-2 * np.abs(t * u))) - np.log(2)).sum())
    curvature = float((u**2 / np.cosh(np.minimum(t * u, 300)) ** 2).sum())
    w, v = np.sqrt(2 * (t * x - generating)), t * np.sqrt(curvature)
    if v <= TINY or w <= TINY:
        return float(special.ndtr(-x))
    return float(special.ndtr(-(w + np.log(v / w) / w)))
