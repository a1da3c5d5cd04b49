"""The record of a run's batches in its folder ``batches``. It suffices to continue after a kill, on
any machine.

``journal.jsonl`` records each step of each part (the requests of one batch) before and after it is
taken, and is synced before the next step. ``PART.jsonl`` holds the requests until the batch has
ended, and ``PART.results.jsonl`` one line per request after that. No file holds an API key.

The folder may be untrusted: files are opened without following links, and each line is checked.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO, Self

import orjson

from visualjudge.clients.batch.batched_client import CANCELLED, QUEUED, Result
from visualjudge.clients.batch.provider import ID, Look, Provider, Ticket
from visualjudge.clients.reply_bounds import LONGEST_LINE
from visualjudge.core import jsons
from visualjudge.core.atomic import atomic_path, writing
from visualjudge.core.errors import DataError, TransportError
from visualjudge.core.untrusted import confined_target, open_file
from visualjudge.runs.journal import Journal, read_records

_FOLDER = "batches"
_OF = "the batches of a run"
_PART = re.compile(r"[0-9a-f]{16}")
_REQUEST = re.compile(rb'"(?:custom_id|key|name)":"([0-9a-f]{40}-\d+-\d+)"')
_HEAD = b'{"name":"'
# Begins the status of a part whose batch, or one of its files, could not be had.
LOST = "lost"
_KINDS = {
    "event": str,
    "part": str,
    "requests": int,
    "learned": [str],
    "batch": str,
    "status": str,
    "at": str,
}
_ROW = {"status": int, "cause": (str, None), "retryable": bool}


@dataclass(frozen=True, slots=True)
class Part:
    """The requests of one batch. ``learned`` states what was known of the server when they were
    written.
    """

    name: str
    requests: int
    learned: frozenset[str] = frozenset()
    # Time of the first attempt to create the batch, in ISO 8601, until the server refused it.
    submitting: str | None = None
    batch: str | None = None
    # How the batch ended.
    status: str | None = None
    # Batches that turned out to hold other requests.
    foreign: frozenset[str] = frozenset()

    def after(self, record: dict[str, Any]) -> Part:
        """Return the part after one more line of the journal."""
        event = record["event"]
        if event == "submitting":
            return replace(self, submitting=self.submitting or record["at"])
        if event == "refused":
            return replace(self, submitting=None)
        if event == "submitted":
            return replace(self, batch=record["batch"], status=None)
        if event == "foreign":
            return replace(self, batch=None, foreign=self.foreign | {record["batch"]})
        return replace(self, status=record.get("status", event))


# Fields of each event besides ``part``.
_NEEDED = {
    "planned": ("requests", "learned"),
    "submitting": ("at",),
    "refused": (),
    "submitted": ("batch",),
    "foreign": ("batch",),
    "ended": ("status",),
    "closed": (),
}


def parts_of(run: str | Path) -> dict[str, Part]:
    """Return the parts of a run, in order. Needs no lock.

    Raises
    ------
    DataError
        If the file is not a journal of batches.
    """
    path, parts = confined_target(run, f"{_FOLDER}/journal.jsonl", of=_OF), dict[str, Part]()
    for number, record in enumerate(read_records(path) if path.is_file() else (), 1):
        where = f"{path}: line {number}"
        jsons.check_kinds(where, record, _KINDS)
        name, event = str(record.get("part")), str(record.get("event"))
        if event not in _NEEDED:  # version 1.0 recorded more steps
            continue
        if not set(_NEEDED[event]) <= record.keys():
            raise DataError(f"{where}: {event} must have {', '.join(_NEEDED[event])}")
        if not _PART.fullmatch(name) or (event != "planned") is not (name in parts):
            raise DataError(f"{where}: part must be 16 hexadecimal digits, planned once")
        if not ID.fullmatch(record.get("batch", "x")):
            raise DataError(f"{where}: batch must be an id of the server")
        if event == "planned":
            parts[name] = Part(name, record["requests"], frozenset(record["learned"]))
        else:
            parts[name] = parts[name].after(record)
    return parts


class BatchJournal:
    """The parts of one run, as a context manager; one process at a time.

    Parameters
    ----------
    old_failures
        Whether to repeat failures of earlier invocations.
    """

    def __init__(self, run: Path, provider: Provider, size: int | None, *, old_failures: bool):
        self._run, self._provider = run, provider
        self._most = min(size or provider.most_requests, provider.most_requests)
        # The part and the offset of each request's result.
        self._places: dict[str, tuple[str, int]] = {}
        self._used = set[str]()
        # The part of each request that has no result yet, by the request's name.
        self.waiting: dict[str, str] = {}
        self._files = ExitStack()
        self._name: str | None = None
        self._requests = self._bytes = 0
        self._unplanned: list[Part] = []
        self._old_failures = old_failures

    def __enter__(self) -> Self:
        self._journal = Journal.resume(self._own("journal.jsonl"))
        try:
            self.parts = parts_of(self._run)
            self._old = set(self.parts) if self._old_failures else set[str]()
            for part in self.parts.values():
                self._index(part)
            for path in self._journal.path.parent.glob("*.jsonl"):  # left by a kill
                if _PART.fullmatch(path.stem) and path.stem not in self.parts:
                    path.unlink()
        except BaseException:
            self._journal.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()
        self._journal.close()

    def _own(self, name: str) -> Path:
        return confined_target(self._run, f"{_FOLDER}/{name}", of=_OF)

    def requests_of(self, part: str) -> Path:
        """Return the path of a part's requests."""
        return self._own(f"{part}.jsonl")

    def _results_of(self, part: str) -> Path:
        return self._own(f"{part}.results.jsonl")

    async def write(self, event: str, name: str, **fields: Any) -> Part:
        """Record one step and sync it to the disk. Return the part after that step."""
        record = {"event": event, "part": name, "at": datetime.now(UTC).isoformat(), **fields}
        self._journal.write(record)
        await self._journal.synced()
        if event != "planned":
            self.parts[name] = self.parts[name].after(record)
        return self.parts[name]

    async def reopen(self) -> None:
        """Open the parts again whose batch could not be had, because it may be there now."""
        for part in list(self.parts.values()):
            if part.batch and str(part.status).startswith(LOST):
                part = await self.write("submitted", part.name, batch=part.batch)
                for name in [name for name, at in self._places.items() if at[0] == part.name]:
                    del self._places[name]
                self._index(part)

    def open_parts(self) -> list[Part]:
        """Return the parts without results, in order."""
        return [part for part in self.parts.values() if part.status is None]

    def ticket(self, part: Part) -> Ticket:
        """Return the fields by which the batch can be found."""
        known = {other.batch for other in self.parts.values() if other.batch}
        since = datetime.fromisoformat(part.submitting) if part.submitting else None
        return Ticket(part.name, part.requests, since, frozenset(known) | part.foreign)

    # ------------------------------------------------------------ requests

    def add(self, name: str, body: Sequence[bytes]) -> None:
        """Add a request to the part that is being written.

        Raises
        ------
        TransportError
            If it is larger than the largest allowed file.
        """
        provider, framing = self._provider, self._provider.framing
        pieces = provider.line(name, body)
        size = sum(map(len, pieces)) + len(framing.between)
        room = provider.most_bytes - len(framing.head) - len(framing.tail)
        if size > room:
            said = f"a request of {size} bytes is larger than a batch may be; lower max_image_side"
            raise TransportError(said, cause="too large", retryable=False)
        if self._name and (self._requests >= self._most or self._bytes + size > room):
            self._finish()
        if self._name is None:
            self._name, self._requests, self._bytes = secrets.token_hex(8), 0, 0
            path = self.requests_of(self._name)
            with writing(path):
                self._content = self._files.enter_context(path.open("xb"))
        with writing(self.requests_of(self._name)):
            self._content.writelines([framing.between if self._requests else framing.head, *pieces])
        self._requests, self._bytes = self._requests + 1, self._bytes + size
        self.waiting[name] = self._name

    def _finish(self) -> None:
        assert self._name is not None
        with writing(self.requests_of(self._name)):
            self._content.write(self._provider.framing.tail)
            self._content.flush()
            os.fsync(self._content.fileno())
            self._files.close()
        self._unplanned.append(Part(self._name, self._requests))
        self._name = None

    async def planned(self, learned: frozenset[str]) -> None:
        """Record the parts that were written since the last call."""
        if self._name is not None:
            self._finish()
        while self._unplanned:
            part = replace(self._unplanned.pop(0), learned=learned)
            self.parts[part.name] = part
            fields = {"requests": part.requests, "learned": sorted(learned)}
            await self.write("planned", part.name, **fields)

    # ------------------------------------------------------------ results

    def result(self, name: str) -> Result | None:
        """Return the result of a request, or None before it has arrived."""
        if name not in self._places:
            return None
        part, start = self._places[name]
        path = self._results_of(part)
        with open_file(path, "log") as file:
            file.seek(start)
            row = jsons.loads(file.readline())
        jsons.check_kinds(str(path), row, _ROW)
        first = name not in self._used
        self._used.add(name)
        body = b"" if row.get("body") is None else orjson.dumps(row["body"])
        result = Result(row["status"], body, row["cause"], row["retryable"])
        old = part in self._old and row["status"] != 200
        return replace(result, learned=self.parts[part].learned, old=old, is_first=first)

    def download(self) -> BinaryIO:
        """Return a temporary file for a download. It has no name, so a kill leaves nothing
        behind.
        """
        return TemporaryFile(dir=self._run / _FOLDER)

    def collect(self, part: Part, look: Look, sources: Iterable[BinaryIO]) -> tuple[int, int]:
        """Write one line per request of a part: its result, or why there is none. Return the number
        of replies and, if no result is of this part, of results of other requests.
        """
        left = {name for name, at in self.waiting.items() if at == part.name}
        replies, foreign, total = 0, 0, len(left)
        target = self._results_of(part.name)
        with atomic_path(target) as scratch, writing(target), scratch.open("wb") as out:
            for name, result in self._read(sources):
                foreign += name not in left
                if name in left:
                    left.discard(name)
                    replies += result.status == 200
                    out.write(_row(name, result))
            foreign = foreign if len(left) == total else 0
            absent = _absent(look, lost=replies < look.succeeded)
            out.writelines(_row(name, absent) for name in sorted(left))
        return replies, foreign

    def _read(self, sources: Iterable[BinaryIO]) -> Iterator[tuple[str, Result]]:
        for source in sources:
            source.seek(0)
            while line := source.readline(LONGEST_LINE):
                try:
                    yield self._provider.result_of(line)
                except (ValueError, KeyError, TypeError, AttributeError):
                    continue

    async def ended(self, part: Part, status: str) -> None:
        """Record that the results of a part have been collected."""
        self._index(await self.write("ended", part.name, status=status))

    def _index(self, part: Part) -> None:
        # Index where each result starts, or that it is still awaited.
        path, start = self._results_of(part.name), 0
        try:
            if part.status is None:
                requests = self.requests_of(part.name)
                path = requests if requests.is_file() else path  # results: it was reopened
                with open_file(path, "log") as file:
                    heads = (_REQUEST.search(line[:200]) for line in file)
                    names = [head[1].decode() for head in heads if head]
                self.waiting |= dict.fromkeys(names, part.name)
                return
            with open_file(path, "log") as file:
                for line in file:
                    name = line[len(_HEAD) : line.index(b'"', len(_HEAD))].decode("ascii")
                    self._places[name] = (part.name, start)
                    self.waiting.pop(name, None)
                    start += len(line)
            self.requests_of(part.name).unlink(missing_ok=True)
        except (OSError, ValueError) as error:
            raise DataError(f"{path}: must hold a batch's requests or results: {error}") from None


def _absent(look: Look, *, lost: bool) -> Result:
    status = look.status
    if lost:  # it was paid for, so it is requested again only on demand
        return Result(0, b"", "result lost", retryable=False)
    if status in ("cancelled", "canceled", "cancelling"):
        return Result(0, b"", CANCELLED, retryable=False)
    if look.limited:
        return Result(0, b"", QUEUED)
    again = status in ("expired", "not submitted", "ended", "completed", "succeeded")
    return Result(0, b"", f"batch {status}", retryable=again)


def _row(name: str, result: Result) -> bytes:
    row = {
        "name": name,
        "status": result.status,
        "cause": result.cause,
        "retryable": result.retryable,
        "body": orjson.Fragment(result.body) if result.body else None,
    }
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
