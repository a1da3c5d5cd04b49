"""Where a function of one number is 0. ``scipy.optimize`` has the same, and takes longer to import
than NumPy.
"""

from __future__ import annotations

from collections.abc import Callable

MOST_STEPS = 200


def root(function: Callable[[float], float], low: float, high: float, near: float) -> float:
    """The place between ``low`` and ``high`` where ``function`` changes its sign, to ``near``.

    By the Illinois method (Dowell & Jarratt 1971), with a bisection where a step leaves more than
    half of the bracket.

    Raises
    ------
    ValueError
        If the function has the same sign at both ends.

    Examples
    --------
    >>> round(root(lambda x: x * x - 2, 0.0, 2.0, 1e-12), 9)
    1.414213562
    """
    below, above = function(low), function(high)
    if below * above > 0:
        raise ValueError(f"function must change its sign, got {below} and {above} at the ends")
    if not below or not above:
        return high if below else low
    kept = 0
    for step in range(MOST_STEPS):
        width = high - low
        middle = (low * above - high * below) / (above - below)
        if not low < middle < high or step % 3 == 2:
            middle = (low + high) / 2
        found = function(middle)
        if not found or width < near or middle in (low, high):
            return middle
        if (found > 0) == (below > 0):
            low, below = middle, found
            above, kept = (above / 2 if kept == 1 else above), 1
        else:
            high, above = middle, found
            below, kept = (below / 2 if kept == -1 else below), -1
    return (low + high) / 2
