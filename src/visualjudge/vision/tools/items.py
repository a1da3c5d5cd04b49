"""What tools of types with numbered items share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from visualjudge.core.errors import DataError
from visualjudge.vision.tools.base import ITEM, OPTION, schema

Item = TypeVar("Item")
MOST_LISTED = 60
"""Items that are listed; the others are counted."""
MEASURE = schema({"option": OPTION, "item": ITEM, "other_item": ITEM}, ("item", "other_item"))


def numbered(items: Sequence[Item], number: int, field: str = "item") -> Item:
    """The item of a number, from 1.

    Raises
    ------
    DataError
        If there is none.
    """
    if not 1 <= number <= len(items):
        raise DataError(
            f"{field}: must be from 1 to {len(items)}, got {number}"
            if items
            else "the option has no items"
        )
    return items[number - 1]


def listed(option: str, lines: Sequence[str]) -> str:
    """All items of an option, a line each."""
    shown = [f"{k}: {line}" for k, line in enumerate(lines[:MOST_LISTED], 1)]
    more = [f"and {len(lines) - MOST_LISTED} more"] if len(lines) > MOST_LISTED else []
    return "\n".join([f"{option}: {len(lines)} items", *shown, *more])
