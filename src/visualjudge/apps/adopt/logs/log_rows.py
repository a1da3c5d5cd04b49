"""Rows of logs, in columns named as the roles of a table or as in the log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def log_row(known: Mapping[str, Any], *more: Any) -> dict[str, Any]:
    """Return a row of the ``known`` fields and the plain values of further objects, so that users
    can name one as the truth. A further field whose name is taken becomes ``metadata.NAME``.

    Examples
    --------
    >>> log_row({"item": "1", "reply": None}, {"item": "x", "human": 3, "tags": ["y"]})
    {'item': '1', 'metadata.item': 'x', 'human': 3}
    """
    row = {name: value for name, value in known.items() if value is not None}
    for fields in more:
        for name, value in fields.items() if isinstance(fields, dict) else ():
            if isinstance(value, str | int | float | bool):
                row[f"metadata.{name}" if name in known else name] = value
    return row


def texts_of(value: Any) -> list[str]:
    """Return the texts of nested lists, and of the parts of a message, in order."""
    if isinstance(value, list):
        return [text for inner in value for text in texts_of(inner)]
    if isinstance(value, dict):
        return texts_of(value.get("text", value.get("content")))
    return [value] if isinstance(value, str) else []
