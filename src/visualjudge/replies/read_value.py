"""What is read of a reply."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Said:
    """A value with its place (characters, end exclusive) and the name of what read it; or no value,
    and the cause. ``turned``: an order stood worst first. ``marked``: the tier that read it."""

    value: str | float | None
    cause: str | None = None
    start: int = 0
    end: int = 0
    rule: str = ""
    turned: bool = False
    marked: bool = False
