"""The value read from a part of a reply."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Said:
    """A value with its position (characters, end exclusive) and the rule that read it; or no value,
    and the cause. ``turned`` means that an order was stated worst first; ``marked`` is the tier
    that read it.
    """

    value: str | float | None
    cause: str | None = None
    start: int = 0
    end: int = 0
    rule: str = ""
    turned: bool = False
    marked: bool = False
