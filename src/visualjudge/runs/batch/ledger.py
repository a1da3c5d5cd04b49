"""The record of a run's batches in its folder ``batches``. It suffices to continue after a kill, on
any machine.

``journal.jsonl`` records each step of each part (the requests of one batch) before and after it is
taken, and is synced before the next step. ``PART.jsonl`` holds the requests until the server has
accepted them as a batch, ``PART.names`` their names, and ``PART.results.jsonl`` one line per
request once the batch has ended. No file holds an API key.

The folder may be untrusted: files are opened without following links, each line of the journal is
checked, and only files of parts that the journal names are removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import Any, BinaryIO, Self

import orjson

from visualjudge.clients.batch.batched_client import CANCELLED, REFUSED, UNSENT, Result
from visualjudge.clients.batch.provider import Look, Provider, Ticket, is_id, is_part
from visualjudge.clients.reply_bounds import LONGEST_LINE
from visualjudge.clients.server_errors import one_line
from visualjudge.core import jsons
from visualjudge.core.atomic import atomic_path, writing
from visualjudge.core.errors import DataError
from visualjudge.core.untrusted import confined_target
from visualjudge.runs.journal import Journal, read_records

FOLDER, JOURNAL = "batches", "journal.jsonl"
CLOSED, DROPPED = "closed", "dropped"
"""The end of a part whose batch could not be reached, and of one that the user dropped."""
OF = "the batches of a run"
"""The folder's name in messages."""
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
"""Fields of each line of the journal, besides ``part`` and ``at``."""


@dataclass(frozen=True, slots=True)
class Part:
    """The requests of one batch. ``learned`` and ``trial`` state what was known when they were
    written.
    """

    name: str
    requests: int
    learned: frozenset[str] = frozenset()
    trial: str | None = None
    settled: bool = True
    """Whether the schema trial was over."""
    file: str | None = None
    submitting: str | None = None
    """Time of the attempt to create the batch, in ISO 8601."""
    batch: str | None = None
    certain: bool = True
    """Whether the server confirmed the batch when it was created; if it was found later, it may be
    someone else's.
    """
    status: str | None = None
    """How the batch ended; ``closed`` if it could not be reached, for ``reason``."""
    reason: str | None = None
    replies: int = 0
    foreign: frozenset[str] = frozenset()
    """Batches found to belong to others."""

    @property
    def open(self) -> bool:
        """Whether the part still lacks results."""
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
    path = confined_target(run, f"{FOLDER}/{JOURNAL}", of=OF)
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


LOST = "result lost"
"""The server counts a reply but does not return it. It was paid for, so it is requested again only
on demand.
"""
MISSING = "no result in the batch"


@dataclass
class Ledger:
    """The parts of one run, as a context manager; one process at a time."""

    run: Path
    old_failures: bool = False
    """Whether to repeat failures of earlier invocations."""
    indexed: bool = True
    """Whether to index requests and results."""
    parts: dict[str, Part] = field(default_factory=dict, init=False)
    waiting: dict[str, str] = field(default_factory=dict, init=False)
    """The part of each request that has no result yet, by the request's name."""
    _places: dict[str, tuple[str, int]] = field(default_factory=dict, init=False)
    _used: set[str] = field(default_factory=set, init=False)
    _old: set[str] = field(default_factory=set, init=False)
    _begun: set[str] = field(default_factory=set, init=False)

    def __enter__(self) -> Self:
        self.path = self.run / FOLDER
        self._journal = Journal.resume(self._own(JOURNAL))
        try:
            self.parts, self._begun = replayed(self._journal.path, self._journal.records())
            self._old = {part.name for part in self.parts.values() if not part.open}
            self.sweep()
            for part in self.parts.values() if self.indexed else ():
                self._index(part)
        except BaseException:
            self._journal.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._journal.close()

    async def say(self, event: str, part: Part, **fields: Any) -> Part:
        """Record one step and sync it to the disk. Return the part after that step."""
        record = self._write(event, part.name, **fields)
        await self._journal.synced()
        part = part if event == "planned" else self.parts[part.name].after(record)
        self.parts[part.name] = part
        return part

    def begin(self, name: str) -> None:
        """Record that files of a part will be written, so that they belong to this run even if the
        process is killed.
        """
        self._write("begun", name)

    def _write(self, event: str, name: str, **fields: Any) -> dict[str, Any]:
        record = {"event": event, "part": name, "at": datetime.now(UTC).isoformat(), **fields}
        self._journal.write(record)
        return record

    async def reopen(self, part: Part) -> Part:
        """Reopen a closed part."""
        part = await self.say("reopened", part)
        self._places = {
            name: place for name, place in self._places.items() if place[0] != part.name
        }
        self._index(part)
        return part

    def closed_parts(self) -> list[Part]:
        """Return parts whose batch could not be reached but may exist."""
        return [
            part for part in self.parts.values() if part.status == CLOSED and part.batch is not None
        ]

    def open_parts(self) -> list[Part]:
        """Return the parts without results, in order."""
        return [part for part in self.parts.values() if part.open]

    def ticket(self, part: Part) -> Ticket:
        """Return the fields by which the batch can be found."""
        known = {
            other.batch for other in self.parts.values() if other.batch and other.name != part.name
        }
        since = None if part.submitting is None else datetime.fromisoformat(part.submitting)
        return Ticket(part.name, part.requests, part.file, since, frozenset(known) | part.foreign)

    def requests_of(self, name: str) -> Path:
        """Return the path of a part's requests."""
        return self._own(f"{name}.jsonl")

    def names_of(self, name: str) -> Path:
        """Return the path of the requests' names."""
        return self._own(f"{name}.names")

    def results_of(self, name: str) -> Path:
        """Return the path of its results."""
        return self._own(f"{name}.results.jsonl")

    def download(self) -> BinaryIO:
        """Return a temporary file for a download. It has no name, so a kill leaves nothing
        behind.
        """
        return TemporaryFile(dir=self.path)

    def _own(self, name: str) -> Path:
        """Return the path of a file of the folder.

        Raises
        ------
        DataError
            If it, or the folder, is a link.
        """
        return confined_target(self.run, f"{FOLDER}/{name}", of=OF)

    def _names(self, part: str) -> list[str]:
        """Return the names of a part's requests."""
        path = self.names_of(part)
        try:
            return path.read_text("ascii").split()
        except (OSError, ValueError):
            said = f"`visualjudge batch drop {self.run} {part}` gives up its part"
            raise DataError(f"{path}: must contain the names of requests; {said}") from None

    # ------------------------------------------------------------ results

    def result(self, name: str) -> Result | None:
        """Return the result of a request, or None before it has arrived."""
        place = self._places.get(name)
        if place is None:
            return None
        part, start = place
        path = self.results_of(part)
        try:
            with path.open("rb") as file:
                file.seek(start)
                found = _result(str(path), jsons.loads(file.readline()))
        except (OSError, ValueError) as error:
            raise DataError(f"{path}: cannot be read: {error}") from None
        old = self.old_failures and part in self._old
        return replace(found, learned=self.parts[part].learned, old=old)

    def is_first(self, name: str) -> bool:
        """Return whether this invocation uses a result for the first time."""
        first = name not in self._used
        self._used.add(name)
        return first

    def collect(
        self,
        part: Part,
        look: Look,
        provider: Provider,
        sources: Iterable[BinaryIO],
        failure: str | None = None,
    ) -> Collected:
        """Write one line per request of a part: its result, or a note that there is none.

        Parameters
        ----------
        failure
            Cause recorded for requests without a result, if the server did not return all results.
        """
        left = set(self._names(part.name))
        replies, total, others = 0, len(left), set()
        target = self.results_of(part.name)
        with atomic_path(target) as scratch, writing(target), scratch.open("wb") as out:
            for name, result in _read(provider, sources):
                if name in left:
                    left.discard(name)
                    replies += result.status == 200
                    out.write(_row(name, result))
                elif len(left) == total:
                    others.add(name)
            foreign = len(left) == total and len(others) >= max(1, look.succeeded)
            whole = replies >= look.succeeded
            for name in sorted(left):
                absent = (
                    _absent(look, whole)
                    if failure is None
                    else Result(0, b"", failure, retryable=False)
                )
                out.write(_row(name, absent))
        return Collected(replies, len(left), whole, foreign)

    def give_up(self, part: Part) -> None:
        """Write one line per request of a dropped part, or nothing if the names are lost too."""
        names = self._names(part.name) if self.names_of(part.name).is_file() else []
        target = self.results_of(part.name)
        with atomic_path(target) as scratch, writing(target), scratch.open("wb") as out:
            for name in sorted(names):
                out.write(_row(name, Result(0, b"", "batch dropped", retryable=False)))

    def arrived(self, part: Part) -> None:
        """Record that the results of a part have been downloaded."""
        self._index(part)
        self.sweep()

    def _index(self, part: Part) -> None:
        """Index where each result starts, or that it is still awaited."""
        if part.open:
            for name in self._names(part.name):
                self.waiting[name] = part.name
            return
        start, path = 0, self.results_of(part.name)
        try:
            with path.open("rb") as file:
                for line in file:
                    name = line[len(_HEAD) : line.index(b'"', len(_HEAD))].decode("ascii")
                    self._places[name] = (part.name, start)
                    self.waiting.pop(name, None)
                    start += len(line)
        except (OSError, ValueError):
            raise DataError(
                f"{path}: must contain one result per line, each starting with its name"
            ) from None

    def sweep(self) -> None:
        """Remove files that are no longer needed: requests that have results, and leftovers of
        parts whose writing was interrupted.
        """
        for name in self._begun | self.parts.keys():
            part = self.parts.get(name)
            if part is None or not part.open:
                self.requests_of(name).unlink(missing_ok=True)
                if part is None or part.status != CLOSED:
                    self.names_of(name).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Collected:
    """The downloaded results of a part: the number of replies with status 200, the number of
    requests without a result, whether there are as many replies as the server counts, and whether
    all of them belong to other requests.
    """

    replies: int
    missing: int
    whole: bool
    foreign: bool


def _read(provider: Provider, sources: Iterable[BinaryIO]) -> Iterator[tuple[str, Result]]:
    """Yield the readable results. Lines that are truncated or too long are skipped."""
    for source in sources:
        whole = True
        while line := source.readline(LONGEST_LINE):
            begins, whole = whole, line.endswith(b"\n") or len(line) < LONGEST_LINE
            if not (begins and whole):
                continue
            try:
                yield provider.result_of(line)
            except (ValueError, KeyError, TypeError, AttributeError):
                continue


def _absent(look: Look, whole: bool) -> Result:
    """Return the record of a request that the results do not mention."""
    if not whole:
        return Result(0, b"", LOST, retryable=False)
    if look.status in ("cancelled", "canceled", "cancelling"):
        # Whoever cancelled the batch did not want the reply.
        return Result(0, b"", CANCELLED, retryable=False)
    if look.refused:
        return Result(0, b"", REFUSED, retryable=look.limited)
    if look.status == UNSENT:
        return Result(0, b"", UNSENT)
    return Result(0, b"", "batch expired" if look.status == "expired" else MISSING)


def _row(name: str, result: Result) -> bytes:
    body = orjson.Fragment(result.body) if result.body else None
    row = {
        "name": name,
        "status": result.status,
        "cause": result.cause,
        "retryable": result.retryable,
        "body": body,
    }
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


_HEAD = b'{"name":"'
_ROW = {"status": int, "cause": (str, None), "retryable": bool}


def _result(where: str, row: Any) -> Result:
    jsons.check_kinds(where, row, _ROW)
    if not _ROW.keys() <= row.keys():
        raise DataError(f"{where}: a line must contain {', '.join(_ROW)}")
    body = b"" if row.get("body") is None else orjson.dumps(row["body"])
    cause = None if row["cause"] is None else one_line(row["cause"])
    return Result(row["status"], body, cause, row["retryable"])
