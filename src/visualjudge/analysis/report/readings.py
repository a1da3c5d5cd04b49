"""Numbers formatted for sentences and labels of plots, with decimals that depend on the
interval.
"""

from __future__ import annotations

from visualjudge.analysis.figure_text import number, span
from visualjudge.analysis.value_and_interval import Estimate

FINE = 2.0
"""Intervals narrower than this many points get a decimal."""


def _digits(estimate: Estimate) -> int:
    low, high = estimate.interval or (None, None)
    return 1 if low is not None and high is not None and 100 * (high - low) < FINE else 0


def _ends(estimate: Estimate, digits: int) -> str:
    if estimate.interval is None:
        return ""
    ends = (None if end is None else 100 * end for end in estimate.interval)
    return f" ({span(tuple(ends), digits)})"


def rough_share(estimate: Estimate) -> str:
    """Format a share with its interval, such as 83 % (77 to 88)."""
    if estimate.value is None:
        return ""
    digits = _digits(estimate)
    return f"{100 * estimate.value:.{digits}f} %{_ends(estimate, digits)}"


def rough_points(estimate: Estimate) -> str:
    """Format a difference with its interval in points, such as +4 (1 to 7)."""
    if estimate.value is None:
        return ""
    digits = _digits(estimate)
    value = number(100 * estimate.value, digits)
    signed = (
        f"+{value}" if estimate.value > 0 and float(f"{100 * estimate.value:.{digits}f}") else value
    )
    return f"{signed}{_ends(estimate, digits)}"


def points_tick(value: float) -> str:
    """Format 0.2 as +20."""
    text = f"{100 * value:+g}" if value else "0"
    return text.replace("-", "\u2212")
