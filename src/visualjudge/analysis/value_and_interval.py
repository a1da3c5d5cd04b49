"""A figure, its interval, and the number of cases and images it is based on."""

from __future__ import annotations

from dataclasses import dataclass

Ends = tuple[float | None, float | None]
"""A 95 % interval; None means that the side is open."""


@dataclass(frozen=True)
class Estimate:
    """A figure, its 95 % interval, and the ``n`` cases and distinct ``images`` it is based on.

    ``value`` is None if it cannot be computed. ``interval`` is None if no interval would have its
    nominal coverage (``why`` gives the reason).
    """

    value: float | None
    interval: Ends | None
    n: int
    images: int
    why: str | None = None


def minus(gap: Estimate) -> Estimate:
    """Negate a difference."""
    ends: Ends | None = gap.interval
    if ends is not None:
        low, high = (None if end is None else -end for end in reversed(ends))
        ends = (low, high)
    value = None if gap.value is None else -gap.value
    return Estimate(value, ends, gap.n, gap.images, gap.why)


@dataclass(frozen=True)
class Share(Estimate):
    """An :class:`Estimate` between 0 and 1."""


NOTHING = Estimate(None, None, 0, 0, "nothing was asked")
UNANSWERED = "no answer to any"
NO_TRUTH = "no truth is known"
ORDER_UNKNOWN = "the order of the options is not known"
NO_SHARE = Share(None, None, 0, 0, "nothing was asked")
