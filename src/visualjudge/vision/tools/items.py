"""What tools of types with numbered items share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from visualjudge.core.errors import DataError
from visualjudge.vision.tools.base import Shown

Item = TypeVar("Item")
MOST_LISTED = 60
"""Items that are listed; the others are counted."""


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


def measured_items(
    option: str,
    items: Sequence[Item],
    numbers: tuple[int | None, int | None],
    size: Callable[[Item], str],
    apart: Callable[[Item, Item], str],
) -> Shown:
    """All items of an option; the one of the first number; or how far two are apart.

    Raises
    ------
    DataError
        If there is no item of a number.
    """
    item, other_item = numbers
    if item is None:
        return Shown(listed(option, [size(one) for one in items]))
    first = numbered(items, item)
    if other_item is None:
        return Shown(f"{option} item {item}: {size(first)}")
    second = numbered(items, other_item, "other_item")
    return Shown(f"{option} items {item} and {other_item}: {apart(first, second)}")
