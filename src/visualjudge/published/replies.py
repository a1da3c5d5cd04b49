"""Replies that a user keeps beside a benchmark whose authors publish none.

``FOLDER/replies/MODEL.jsonl``: ``{"id", "response"}`` and, where the responses were exchanged, ``"order": "BA"``; the
reply speaks of the responses as they were shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from visualjudge.errors import DataError
from visualjudge.published.files import field, records
from visualjudge.published.items import PublishedReply


def kept_replies(folder: Path) -> dict[str, Callable[[], Iterator[PublishedReply]]]:
    """The replies of each file in ``FOLDER/replies``, by its name."""
    return {path.stem: partial(_read, path) for path in sorted((folder / "replies").glob("*.jsonl"))}


def _read(path: Path) -> Iterator[PublishedReply]:
    for number, row in enumerate(records(path), 1):
        order = row.get("order") or "AB"
        if order not in ("AB", "BA"):
            raise DataError(f"{path}: record {number}: order: must be AB or BA, got {order!r}")
        key, text = str(field(row, "id", path, number)), str(field(row, "response", path, number))
        yield PublishedReply(key, "BA" if order == "BA" else "AB", None, text)
