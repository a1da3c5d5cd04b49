"""Tails of the normal distribution, Student's and chi-squared, as ``scipy.stats`` has them.

``scipy.stats`` takes half a second to import, a third of a small report; these are the functions
that it calls itself.
"""

from __future__ import annotations

from typing import Any

from scipy import special


def norm_sf(x: Any) -> Any:
    """P(Z > x)."""
    return special.ndtr(-x)


def norm_isf(tail: Any) -> Any:
    """The x with P(Z > x) = ``tail``."""
    return -special.ndtri(tail)


def t_sf(x: Any, freedom: Any) -> Any:
    """P(T > x) with ``freedom`` degrees of freedom."""
    return special.stdtr(freedom, -x)


def t_isf(tail: Any, freedom: Any) -> Any:
    """The x with P(T > x) = ``tail``."""
    return -special.stdtrit(freedom, tail)


def chi2_isf(tail: Any, freedom: Any) -> Any:
    """The x with P(χ² > x) = ``tail``."""
    return special.chdtri(freedom, tail)
