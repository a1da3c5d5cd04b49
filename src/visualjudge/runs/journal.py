"""An append-only file of JSON lines that survives ``kill -9``.

A record is written whole, in one call, and synced to the disk before anybody is told of it. Syncing is shared: while
one sync runs, further records gather, and the next sync takes them all, so that the disk's latency bounds nothing.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from visualjudge import atomic
from visualjudge.errors import DataError, RunError, UsageError

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Tail:
    """How much of a journal can be read: ``good`` bytes of it, then ``torn`` bytes that a kill left behind."""

    good: int
    torn: int
    ends_line: bool
    """Whether the good part ends with a line feed."""


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def read_records(path: str | Path) -> Iterator[dict[str, Any]]:
    """The records of a journal, in order; a torn last line is left out.

    Raises
    ------
    DataError
        If a line before the last is not a JSON object: no kill leaves that, so nothing is guessed.
    """
    for record, _ in _scan(Path(path)):
        yield record


def _scan(path: Path) -> Iterator[tuple[dict[str, Any], int]]:
    """Each record with the offset just past its line."""
    offset, bad = 0, None
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if bad is not None:
                raise DataError(
                    f"{path}: line {bad} is not a JSON object; delete that line, and --resume asks its question again"
                )
            offset += len(line)
            record = _parse(line) if line.strip() else {}
            if record is None:
                bad = number
            elif record:
                yield record, offset


def inspect_tail(path: Path) -> Tail:
    """Where the readable part of a journal ends."""
    size = path.stat().st_size
    good = 0
    for _, good in _scan(path):  # noqa: B007  the last value is the answer
        pass
    with path.open("rb") as file:
        file.seek(max(good - 1, 0))
        ends_line = good == 0 or file.read(1) == b"\n"
    return Tail(good, size - good, ends_line)


class Journal:
    """One writer's journal; open it with :meth:`create` or :meth:`resume`, use it as a context.

    A lock file beside it keeps a second writer out; the lock goes with the process, however it ends.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.torn_bytes = 0
        self._file: int | None = None
        self._lock: int | None = None
        self._written = 0
        self._synced = 0
        self._sync: asyncio.Task[None] | None = None

    @classmethod
    def create(cls, path: str | Path) -> Self:
        """A new journal.

        Raises
        ------
        UsageError
            If there is one already that holds records.
        """
        journal = cls(path)
        if journal.path.exists() and journal.path.stat().st_size:
            raise UsageError(f"{path} holds a run already: add --resume to go on with it, or choose another --out")
        journal._open()
        return journal

    @classmethod
    def resume(cls, path: str | Path) -> Self:
        """Go on with a journal, or start it; a torn last line is cut off (``torn_bytes`` says how much)."""
        journal = cls(path)
        journal._open()
        journal._mend()
        return journal

    def _open(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.path.with_name(f".{self.path.name}.lock"), os.O_CREAT | os.O_WRONLY, 0o644)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._file = os.open(self.path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
        except BlockingIOError:
            self.close()
            raise RunError(
                f"{self.path} is being written by another process; wait for it or choose another --out"
            ) from None
        except OSError as error:
            self.close()
            raise RunError(f"{self.path}: cannot be written: {error.strerror}") from None

    def _mend(self) -> None:
        tail = inspect_tail(self.path)
        assert self._file is not None
        if tail.torn:
            os.ftruncate(self._file, tail.good)
            self.torn_bytes = tail.torn
        if not tail.ends_line:
            os.write(self._file, b"\n")

    def records(self) -> Iterator[dict[str, Any]]:
        """What the journal holds so far, in order."""
        return read_records(self.path)

    def drop(self, unwanted: Any) -> int:
        """Rewrite the journal, atomically, without the records for which ``unwanted(record)`` is true; their number."""
        kept = [record for record in self.records() if not unwanted(record)]
        dropped = sum(1 for _ in self.records()) - len(kept)
        if dropped:
            atomic.write_bytes(self.path, b"".join(_line(record) for record in kept))
            assert self._file is not None
            os.close(self._file)
            self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        return dropped

    def write(self, record: Record) -> None:
        """Append one record: from now a killed process does not lose it; after :meth:`synced`, neither a dead machine.

        Raises
        ------
        RunError
            If the disk takes it no more.
        """
        assert self._file is not None, "the journal is closed"
        line = _line(record)
        try:
            done = os.write(self._file, line)
            if done != len(line):
                raise OSError(28, "no space left on the device")
        except OSError as error:
            raise RunError(f"{self.path}: cannot be written: {error.strerror}; --resume goes on from there") from None
        self._written += 1

    async def synced(self) -> None:
        """Return when all that was written before this call is on the disk."""
        wanted = self._written
        while self._synced < wanted:
            if self._sync is None or self._sync.done():
                self._sync = asyncio.create_task(self._sync_once())
            await asyncio.shield(self._sync)

    async def _sync_once(self) -> None:
        upto = self._written
        if self._file is not None:
            try:
                await asyncio.to_thread(os.fdatasync, self._file)
            except OSError as error:
                raise RunError(f"{self.path}: cannot be synced to the disk: {error.strerror}") from None
        self._synced = upto

    def close(self) -> None:
        """Sync and let go of the lock. Closing twice is no error."""
        if self._file is not None:
            os.fdatasync(self._file)
            os.close(self._file)
            self._file = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _line(record: Record) -> bytes:
    return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY)
