"""A figure, its interval, and the number of cases and images it is based on. How values
and intervals are computed is in ``estimate.py``.
"""

from dataclasses import dataclass, replace

ALL = "all"
"""Name of the row of all questions, beside the rows of their parts."""


Ends = tuple[float | None, float | None]
"""A 95 % interval; None means that the side is open."""


@dataclass(frozen=True)
class Estimate:
    """A figure, its 95 % interval, and the ``n`` cases and distinct ``images`` it is
    based on.

    ``value`` is None if it cannot be computed. ``interval`` is None if no interval
    would have its nominal coverage (``why`` gives the reason).
    """

    value: float | None
    interval: Ends | None
    n: int
    images: int
    why: str | None = None


def scaled(figure: Estimate, by: float, n: int | None = None) -> Estimate:
    """Return a figure in another unit, of ``n`` cases; a negative one exchanges the
    ends."""
    ends = [None if end is None else end * by for end in figure.interval or ()]
    low, high = ends[:: -1 if by < 0 else 1] or (None, None)
    return replace(
        figure,
        value=None if figure.value is None else figure.value * by,
        interval=(low, high) if ends else None,
        n=figure.n if n is None else n,
    )


NOTHING = Estimate(None, None, 0, 0, "nothing was asked")
UNANSWERED = "no answer to any"
NO_TRUTH = "no truth is known"
ORDER_UNKNOWN = "the order of the options is not known"


def unknown(figure: Estimate) -> Estimate:
    """Return a figure whose truth is not known."""
    if not figure.n:
        return figure
    return replace(figure, value=None, interval=None, why=NO_TRUTH)
