"""Figures as the sentences and labels of plots have them: decimals follow the interval."""

from __future__ import annotations

from visualjudge.analysis.figure_text import number, span
from visualjudge.analysis.value_and_interval import Estimate

FINE = 2.0
"""An interval narrower than so many points has a decimal."""


def _digits(estimate: Estimate) -> int:
    low, high = estimate.interval or (None, None)
    return 1 if low is not None and high is not None and 100 * (high - low) < FINE else 0


def _ends(estimate: Estimate, digits: int) -> str:
    if estimate.interval is None:
        return ""
    ends = (None if end is None else 100 * end for end in estimate.interval)
    return f" ({span(tuple(ends), digits)})"


def rough_share(estimate: Estimate) -> str:
    """83 % (77 to 88)."""
    if estimate.value is None:
        return ""
    digits = _digits(estimate)
    return f"{100 * estimate.value:.{digits}f} %{_ends(estimate, digits)}"


def rough_points(estimate: Estimate) -> str:
    """+4 (1 to 7), in points."""
    if estimate.value is None:
        return ""
    digits = _digits(estimate)
    value = number(100 * estimate.value, digits)
    signed = (
        f"+{value}" if estimate.value > 0 and float(f"{100 * estimate.value:.{digits}f}") else value
    )
    return f"{signed}{_ends(estimate, digits)}"


def points_tick(value: float) -> str:
    """+20 for 0.2."""
    text = f"{100 * value:+g}" if value else "0"
    return text.replace("-", "\u2212")
