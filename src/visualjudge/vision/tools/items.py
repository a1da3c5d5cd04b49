"""Functions shared by tools of types with numbered items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from visualjudge.core.errors import DataError
from visualjudge.vision.tools.base import Shown

Item = TypeVar("Item")
MOST_LISTED = 60
"""Maximum number of items listed; the others are only counted."""


def numbered(items: Sequence[Item], number: int, field: str = "item") -> Item:
    """Return the item with a number, counted from 1.

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
    """List all items of an option, one per line."""
    shown = [f"{k}: {line}" for k, line in enumerate(lines[:MOST_LISTED], 1)]
    more = [f"and {len(lines) - MOST_LISTED} more"] if len(lines) > MOST_LISTED else []
    return "\n".join([f"{option}: {len(lines)} items", *shown, *more])


def measured_items(
    option: str,
    items: Sequence[Item],
    numbers: tuple[int | None, int | None],
    size: Callable[[Item], str],
    apart: Callable[[Item, Item], str],
) -> Shown:
    """Show all items of an option, the item of the first number, or the distance between two items.

    Raises
    ------
    DataError
        If a number has no item.
    """
    item, other_item = numbers
    if item is None:
        return Shown(listed(option, [size(one) for one in items]))
    first = numbered(items, item)
    if other_item is None:
        return Shown(f"{option} item {item}: {size(first)}")
    second = numbered(items, other_item, "other_item")
    return Shown(f"{option} items {item} and {other_item}: {apart(first, second)}")
