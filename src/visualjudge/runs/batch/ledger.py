"""What a run has put into batches, in its folder ``batches``: enough to go on after a kill, on any machine.

``journal.jsonl`` says of each part what is about to be done and what was done, each on the disk before the next step.
``PART.jsonl`` holds the requests until a batch was made of them, ``PART.names`` their names, ``PART.results.jsonl`` a
line for each of them when the batch has ended. No file holds a key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from visualjudge.clients.batch.asking import Result
from visualjudge.clients.batch.provider import Look, Provider, Ticket
from visualjudge.core.atomic import atomic_path
from visualjudge.core.errors import DataError
from visualjudge.runs.journal import Journal, read_records

FOLDER, JOURNAL = "batches", "journal.jsonl"
LOST = "result lost"
"""The server counts a reply and does not give it out: paid for, so not asked again unasked."""
MISSING = "no result in the batch"


@dataclass(frozen=True, slots=True)
class Part:
    """Requests that are one batch. ``learned`` and ``trial`` are what was known when they were written."""

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
    """Whether the server named the batch when it was made; else it was found, and may be another's."""
    status: str | None = None
    """How the batch ended."""
    replies: int = 0
    foreign: frozenset[str] = frozenset()
    """Batches that turned out to be others'."""

    @property
    def open(self) -> bool:
        """Whether its results are not here yet."""
        return self.status is None

    def after(self, record: Mapping[str, Any]) -> Part:
        """With one line of the journal taken in."""
        event, at = record["event"], record["at"]
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
        return replace(self, status=record["status"], replies=record["replies"])


def parts_of(run: str | Path) -> dict[str, Part]:
    """The parts of a run, in order; empty where it has none. Needs no lock."""
    path = Path(run) / FOLDER / JOURNAL
    return _replayed(read_records(path)) if path.is_file() else {}


def _replayed(records: Iterable[Mapping[str, Any]]) -> dict[str, Part]:
    parts: dict[str, Part] = {}
    for record in records:
        name = record["part"]
        if record["event"] == "planned":
            learned = frozenset(record["learned"])
            parts[name] = Part(name, record["requests"], learned, record["trial"], record["settled"])
        else:
            parts[name] = parts[name].after(record)
    return parts


@dataclass
class Ledger:
    """The parts of one run; one process at a time. A context."""

    run: Path
    old_failures: bool = False
    """Ask failures of earlier invocations again."""
    parts: dict[str, Part] = field(default_factory=dict, init=False)
    waiting: dict[str, str] = field(default_factory=dict, init=False)
    """The part of each request that has no result yet, by its name."""
    _places: dict[str, tuple[str, int]] = field(default_factory=dict, init=False)
    _used: set[str] = field(default_factory=set, init=False)
    _old: set[str] = field(default_factory=set, init=False)

    def __enter__(self) -> Self:
        self.path = self.run / FOLDER
        self.path.mkdir(parents=True, exist_ok=True)
        self._journal = Journal.resume(self.path / JOURNAL)
        try:
            self.parts = _replayed(self._journal.records())
            self._old = {part.name for part in self.parts.values() if not part.open}
            self._sweep()
            for part in self.parts.values():
                self._index(part)
        except BaseException:
            self._journal.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._journal.close()

    async def say(self, event: str, part: Part, **fields: Any) -> Part:
        """Note one step; it is on the disk when this returns. The part as it is then."""
        record = {"event": event, "part": part.name, "at": datetime.now(UTC).isoformat(), **fields}
        self._journal.write(record)
        await self._journal.synced()
        part = part if event == "planned" else self.parts[part.name].after(record)
        self.parts[part.name] = part
        return part

    def open_parts(self) -> list[Part]:
        """Parts whose results are not here yet, in order."""
        return [part for part in self.parts.values() if part.open]

    def ticket(self, part: Part) -> Ticket:
        """What its batch can be found by."""
        known = {other.batch for other in self.parts.values() if other.batch and other.name != part.name}
        since = None if part.submitting is None else datetime.fromisoformat(part.submitting)
        return Ticket(part.name, part.requests, part.file, since, frozenset(known) | part.foreign)

    def requests_of(self, name: str) -> Path:
        """The file of a part's requests."""
        return self.path / f"{name}.jsonl"

    def names_of(self, name: str) -> Path:
        """The file of their names."""
        return self.path / f"{name}.names"

    def results_of(self, name: str) -> Path:
        """The file of their results."""
        return self.path / f"{name}.results.jsonl"

    def downloads_of(self, name: str, count: int) -> list[Path]:
        """Files for what the provider gives out, until it is read."""
        return [self.path / f"{name}.{number}.raw" for number in range(count)]

    # ------------------------------------------------------------ results

    def result(self, name: str) -> Result | None:
        """The result of a request; None before it has arrived."""
        place = self._places.get(name)
        if place is None:
            return None
        part, start = place
        with self.results_of(part).open("rb") as file:
            file.seek(start)
            row = orjson.loads(file.readline())
        found = _result(row)
        old = self.old_failures and part in self._old
        return replace(found, learned=self.parts[part].learned, old=old)

    def is_first(self, name: str) -> bool:
        """Whether a result is used for the first time by this invocation."""
        first = name not in self._used
        self._used.add(name)
        return first

    def collect(self, part: Part, look: Look, provider: Provider, sources: Iterable[Path]) -> tuple[int, bool, bool]:
        """Write a line for each request of a part: what the sources say of it, or that they say nothing.

        Returns
        -------
        replies, whole, foreign
            Replies of status 200; whether they are as many as the server counts; whether all that it counts are of
            other requests.
        """
        left = set(self.names_of(part.name).read_text().split())
        replies, total, others = 0, len(left), set()
        with atomic_path(self.results_of(part.name)) as scratch, scratch.open("wb") as out:
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
                out.write(_row(name, _absent(look, whole)))
        return replies, whole, foreign

    def arrived(self, part: Part) -> None:
        """The results of a part are here."""
        self._index(part)
        self._sweep()

    def _index(self, part: Part) -> None:
        """Note where each result lies, or that it is waited for."""
        if part.open:
            for name in self.names_of(part.name).read_text().split():
                self.waiting[name] = part.name
            return
        start = 0
        with self.results_of(part.name).open("rb") as file:
            for line in file:
                name = line[9 : line.index(b'"', 9)].decode()
                self._places[name] = (part.name, start)
                self.waiting.pop(name, None)
                start += len(line)

    def _sweep(self) -> None:
        """Remove what is not needed: requests that have results, and what a kill left."""
        open_parts = {part.name for part in self.open_parts()}
        kept = {self.requests_of(name) for name in open_parts} | {self.names_of(name) for name in open_parts}
        kept |= {self.results_of(name) for name in self.parts} | {self.path / JOURNAL}
        for path in self.path.iterdir():
            if path not in kept and not path.name.startswith("."):
                path.unlink()


def _read(provider: Provider, sources: Iterable[Path]) -> Iterator[tuple[str, Result]]:
    """The readable results; a line that was cut short is skipped."""
    for source in sources:
        with source.open("rb") as file:
            for line in file:
                try:
                    yield provider.read(orjson.loads(line))
                except (ValueError, KeyError, TypeError, AttributeError):
                    continue


def _absent(look: Look, whole: bool) -> Result:
    """What is said of a request that the results do not mention."""
    if not whole:
        return Result(0, b"", LOST, retryable=False)
    if look.status in ("cancelled", "canceled", "cancelling"):
        return Result(0, b"", "batch cancelled")
    if look.refused:
        return Result(0, b"", "batch refused")
    return Result(0, b"", "batch expired" if look.status == "expired" else MISSING)


def _row(name: str, result: Result) -> bytes:
    body = orjson.Fragment(result.body) if result.body else None
    row = {"name": name, "status": result.status, "cause": result.cause, "retryable": result.retryable, "body": body}
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def _result(row: Mapping[str, Any]) -> Result:
    if not isinstance(row, Mapping):
        raise DataError("a line of results must hold an object")
    body = b"" if row["body"] is None else orjson.dumps(row["body"])
    return Result(row["status"], body, row["cause"], row["retryable"])
