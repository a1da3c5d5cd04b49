"""What tells that a number stands for no score, and that a row or a column sums up
others. Both are said, never corrected: a right table may look so.
"""

import re
from collections.abc import Iterator, Sequence

import numpy as np

# How many other scores there are, and how much farther from them is a number that stands
# for none than these from each other.
MANY_STEPS = 6
FAR = 2.5
SUMMARY = re.compile(
    r"(grand[ _])?(mean|average|avg|mos|total|sum|overall|median|std|all)"
    r"([ _](score|rating)s?)?\W*",
    re.IGNORECASE,
)
"""Names of rows and columns of means and totals."""


def stands_for_none(scores: Sequence[float]) -> Iterator[str]:
    """Yield the least or the greatest of a rater's scores if it is frequent and far from
    all others, as 99 from 1 to 5, or the only negative one, as -1."""
    values, counts = np.unique(scores, return_counts=True)
    for end, others in ((0, values[1:]), (-1, values[:-1])):
        if (
            len(others) >= MANY_STEPS // 2
            and counts[end] > max(2, len(scores) / 25)  # frequent
            and (
                # a scale with a least score of -1 has few others
                (
                    values[end] < 0 <= others[0]
                    and len(others)
                    > (MANY_STEPS // 2 if others[0] else MANY_STEPS)
                )
                or abs(others[end] - values[end])
                > (
                    FAR * np.diff(others).max()
                    if len(others) >= MANY_STEPS
                    else MANY_STEPS * np.ptp(others)
                )
            )
        ):
            yield (
                f"{values[end]:g} in {counts[end]} of {len(scores)} rows, and "
                f"{others[0]:g} to {others[-1]:g} in the others; if it stands for no "
                "score, empty these cells"
            )
