"""Rows of logs, in columns named as the roles of a table or as in the log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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


def text_of(content: Any) -> str | None:
    """Return the text of a message's content: a text, or the texts of its parts."""
    if isinstance(content, str):
        return content
    parts: Iterable[Any] = content if isinstance(content, list) else ()
    values = (part.get("text", part.get("content")) for part in parts if isinstance(part, dict))
    texts = [value for value in values if isinstance(value, str)]
    return "\n".join(texts) if texts else None


def texts_of(value: Any) -> list[str]:
    """Return the texts of nested lists, in order."""
    if isinstance(value, list):
        return [text for inner in value for text in texts_of(inner)]
    return [value] if isinstance(value, str) else []
