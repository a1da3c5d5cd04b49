"""A figure, its interval, and how many cases and images it is from."""

from __future__ import annotations

from dataclasses import dataclass

Ends = tuple[float | None, float | None]
"""A 95 % interval; None = that side is open."""


@dataclass(frozen=True)
class Estimate:
    """A figure, its 95 % interval, the ``n`` cases and the different ``images`` it is from.

    ``value`` is None where nothing can be computed, ``interval`` is None where none holds what it
    promises (``why``).
    """

    value: float | None
    interval: Ends | None
    n: int
    images: int
    why: str | None = None


@dataclass(frozen=True)
class Share(Estimate):
    """An :class:`Estimate` between 0 and 1."""


NOTHING = Estimate(None, None, 0, 0, "nothing was asked")
UNANSWERED = "no answer to any"
NO_SHARE = Share(None, None, 0, 0, "nothing was asked")
