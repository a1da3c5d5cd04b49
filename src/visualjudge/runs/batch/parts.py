"""The parts of a run, each the requests of one batch, as recorded in the ledger's journal.

The journal may come from a stranger, so each line is checked when it is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from visualjudge.clients.batch.provider import is_id, is_part
from visualjudge.core import jsons
from visualjudge.core.confined_paths import own_path
from visualjudge.core.errors import DataError
from visualjudge.runs.journal import read_records

FOLDER, JOURNAL = "batches", "journal.jsonl"
CLOSED, DROPPED = "closed", "dropped"
"""How a part ended that could not be had, and one that the user gave up."""
OF = "the batches of a run"
"""What the folder is, in messages."""
_EVENTS: dict[str, dict[str, Any]] = {
    "begun": {},
    "planned": {"requests": int, "learned": [str], "trial": (str, None), "settled": bool},
    "uploaded": {"file": str},
    "submitting": {},
    "refused": {"reason": str},
    "submitted": {"batch": str, "certain": bool},
    "foreign": {"batch": str},
    "closed": {"reason": str, "replies": int},
    "reopened": {},
    "ended": {"status": str, "replies": int},
}
"""The fields of each line of the journal, beside ``part`` and ``at``."""


@dataclass(frozen=True, slots=True)
class Part:
    """The requests of one batch. ``learned`` and ``trial`` are what was known when they were
    written.
    """

    name: str
    requests: int
    learned: frozenset[str] = frozenset()
    trial: str | None = None
    settled: bool = True
    """Whether the trial of a schema was over."""
    file: str | None = None
    submitting: str | None = None
    """When it was tried to make the batch, in ISO 8601."""
    batch: str | None = None
    certain: bool = True
    """Whether the server named the batch when it was made; else it was found, and may be
    another's.
    """
    status: str | None = None
    """How the batch ended; ``closed`` where it could not be had, for ``reason``."""
    reason: str | None = None
    replies: int = 0
    foreign: frozenset[str] = frozenset()
    """Batches that turned out to be others'."""

    @property
    def open(self) -> bool:
        """Whether its results are still missing."""
        return self.status is None

    def after(self, record: Mapping[str, Any]) -> Part:
        """Return the part after one more line of the journal."""
        event, at = record["event"], record.get("at")
        if event == "uploaded":
            return replace(self, file=record["file"])
        if event == "submitting":
            return replace(self, submitting=self.submitting or at)
        if event == "refused":
            return replace(self, submitting=None, file=None)
        if event == "submitted":
            return replace(self, batch=record["batch"], certain=record["certain"])
        if event == "foreign":
            return replace(self, batch=None, foreign=self.foreign | {record["batch"]})
        if event == "closed":
            return replace(self, status=CLOSED, replies=record["replies"], reason=record["reason"])
        if event == "reopened":
            return replace(self, status=None)
        return replace(self, status=record["status"], replies=record["replies"])


def parts_of(run: str | Path) -> dict[str, Part]:
    """Return the parts of a run, in order. Needs no lock.

    Raises
    ------
    DataError
        If the file is not a journal of batches.
    """
    path = own_path(run, f"{FOLDER}/{JOURNAL}", of=OF)
    return replayed(path, read_records(path))[0] if path.is_file() else {}


def replayed(path: Path, records: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Part], set[str]]:
    """Return the parts, and the names of all parts whose writing began."""
    parts: dict[str, Part] = {}
    begun: set[str] = set()
    for number, record in enumerate(records, 1):
        where = f"{path}: line {number}"
        name, event = _checked(where, record)
        begun.add(name)
        if event == "planned":
            learned = frozenset(record["learned"])
            parts[name] = Part(
                name, record["requests"], learned, record["trial"], record["settled"]
            )
        elif event != "begun" and name not in parts:
            raise DataError(f"{where}: part {name} must be planned before it is {event}")
        elif event != "begun":
            parts[name] = parts[name].after(record)
    return parts, begun


def _checked(where: str, record: Mapping[str, Any]) -> tuple[str, str]:
    """Return the part and the event of a line of the journal."""
    name, event = record.get("part"), record.get("event")
    if not isinstance(event, str) or event not in _EVENTS:
        raise DataError(f"{where}: event must be one of {', '.join(_EVENTS)}, got {_shown(event)}")
    if not is_part(name):
        raise DataError(f"{where}: part must be 16 hexadecimal digits, got {_shown(name)}")
    kinds = _EVENTS[event]
    missing = next((field for field in kinds if field not in record), None)
    if missing is not None:
        raise DataError(f"{where}: {missing} is missing")
    jsons.check_kinds(where, record, kinds)
    for id_ in ("file", "batch"):
        if id_ in kinds and not is_id(record[id_]):
            raise DataError(
                f"{where}: {id_} must be an id of the server, got {_shown(record[id_])}"
            )
    for count in ("requests", "replies"):
        if count in kinds and not 0 <= record[count] <= _MOST_REQUESTS:
            raise DataError(
                f"{where}: {count} must be from 0 to {_MOST_REQUESTS}, got {record[count]}"
            )
    if event == "submitting" and not _is_time(record.get("at")):
        raise DataError(
            f"{where}: at must be a time in ISO 8601 with its zone, got {_shown(record.get('at'))}"
        )
    return name, event


_MOST_REQUESTS = 10**9


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _is_time(value: Any) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False
