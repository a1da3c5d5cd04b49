"""Replies that a user keeps beside a benchmark whose authors publish none.

``FOLDER/replies/MODEL.jsonl``: ``{"id", "response"}``, or ``{"id", "value"}`` where only what was read is known, and,
where the responses were exchanged, ``"order": "BA"``; a reply speaks of the responses as they were shown, a value of
the question as it is stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from visualjudge.apps.published.files import records
from visualjudge.apps.published.items import PublishedReply, Replies


def kept_replies(folder: Path) -> Replies:
    """The replies of each file in ``FOLDER/replies``, by its name."""
    return {path.stem: partial(_read, path) for path in sorted((folder / "replies").glob("*.jsonl"))}


def _read(path: Path) -> Iterator[PublishedReply]:
    for row in records(path):
        order = row.get("order") or "AB"
        if order not in ("AB", "BA"):
            raise row.fault("order", f"must be AB or BA, got {order!r}")
        key, value = str(row.need("id")), row.get("value")
        text = None if value is not None else str(row.need("response"))
        yield PublishedReply(key, "BA" if order == "BA" else "AB", value, text)
