"""An append-only file of JSON lines that survives ``kill -9``.

Each record is written in one call, and synced to the disk before it is reported. Syncs are shared:
while one runs, further records gather, and the next sync covers them all, so the disk's latency
does not limit throughput.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import orjson

from visualjudge.core import atomic, jsons
from visualjudge.core.errors import DataError, RunError, UsageError
from visualjudge.core.locks import FileLock

if TYPE_CHECKING:
    import polars as pl

if TYPE_CHECKING:
    import asyncio

Record = Mapping[str, Any]
_MOST_GATHERED = 1 << 16
"""Maximum number of bytes of records gathered for one write."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a journal; ``record`` is None if it is not a JSON object."""

    number: int
    start: int
    raw: bytes
    record: dict[str, Any] | None

    @property
    def whole(self) -> bool:
        """Whether the line ends with a line feed."""
        return self.raw.endswith(b"\n")


def read_lines(path: str | Path) -> Iterator[Line]:
    """Yield all lines of a journal that are not blank, readable or not.

    Raises
    ------
    DataError
        If a line is longer than allowed.
    """
    start = 0
    with Path(path).open("rb") as file:
        for number, raw in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), 1):
            check_length(Path(path), number, raw)
            if raw.strip():
                yield Line(number, start, raw, _parse(raw))
            start += len(raw)


def read_records(path: str | Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a journal, in order; a partial last line is ignored.

    Raises
    ------
    DataError
        If a line before the last is not a JSON object.
    """
    bad: int | None = None
    for line in read_lines(path):
        if bad is not None:
            raise DataError(
                f"{path}: line {bad} is not a JSON object; --resume removes it and asks its "
                "question again"
            )
        if line.record is None:
            bad = line.number
        else:
            yield line.record


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        value = jsons.loads(line)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


class Journal:
    """A journal with one writer. Open it with :meth:`create` or :meth:`resume`; use it as a context
    manager.

    A lock file beside it keeps a second writer out; the lock is released when the process ends, for
    any reason.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.torn_bytes = 0
        """Bytes of partial lines that :meth:`resume` removed."""
        self._file: int | None = None
        self._lock: FileLock | None = None
        self._end = 0
        self._gathered = bytearray()
        self._writing = threading.Lock()
        self._written = 0
        self._synced = 0
        self._sync: asyncio.Task[None] | None = None

    @classmethod
    def create(cls, path: str | Path) -> Self:
        """Create a new journal.

        Raises
        ------
        UsageError
            If it exists and holds records.
        RunError
            If another process writes it, or it cannot be written.
        """
        journal = cls(path)
        journal._open()
        if journal._end:
            journal.close()
            raise UsageError(
                f"{path} already contains a run: add --resume to continue it, or choose "
                "another --out"
            )
        return journal

    @classmethod
    def resume(cls, path: str | Path) -> Self:
        """Continue a journal, or create it. Partial lines, left by a kill or a full disk, are
        removed first.

        Raises
        ------
        RunError
            If another process writes it, or it cannot be written.
        """
        journal = cls(path)
        journal._open()
        try:
            journal._mend()
        except BaseException:
            journal.close()
            raise
        return journal

    def _open(self) -> None:
        self._lock = FileLock(self.path)
        try:
            self._open_file()
        except OSError as error:
            self.close()
            raise RunError(f"{self.path}: cannot be written: {error.strerror}") from None

    def _open_file(self) -> None:
        """Open the file without following links, because the folder may be untrusted."""
        flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._file = os.open(
            self.path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o644
        )
        found = os.fstat(self._file)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            raise OSError(errno.EPERM, "it must be a regular file without hard links")
        self._end = found.st_size

    def _mend(self) -> None:
        tail = None
        for block in blocks(self.path) if self._end >= SMALL else ():
            if not block.cut and block.table(("id",)) is None:
                break
            tail = block
        else:
            if tail is not None:
                self._mend_tail(tail)
                return
        self._mend_lines()

    def _mend_tail(self, last: Block) -> None:
        """Remove a partial last line, such as one left by a kill, if all other lines are
        complete.
        """
        if last.cut and _parse(last.content) is None:
            self.torn_bytes = len(last.content)
            self._cut(last.offset)
        elif last.cut:
            self._append(b"\n")

    def _mend_lines(self) -> None:
        good, bad, last = 0, 0, b"\n"
        inside, lines = False, 0
        for lines, line in enumerate(read_lines(self.path), 1):  # noqa: B007  used after the loop
            if line.record is None:
                bad += len(line.raw)
            else:
                inside = inside or bad > 0
                good, last = line.start + len(line.raw), line.raw
        if lines > 1 and not good:
            raise DataError(
                f"{self.path}: contains no JSON object; it is not a run's file and will not be "
                "changed"
            )
        self.torn_bytes = bad if inside else self._end - good
        if inside:
            self._rewrite(line.raw for line in read_lines(self.path) if line.record is not None)
        elif self.torn_bytes:
            self._cut(good)
        if good and not last.endswith(b"\n"):
            self._append(b"\n")

    def _cut(self, end: int) -> None:
        assert self._file is not None
        os.ftruncate(self._file, end)
        self._end = end

    def _rewrite(self, lines: Iterable[bytes]) -> None:
        """Replace the file, atomically. Windows cannot replace an open file, so it is closed
        meanwhile.
        """
        content = b"".join(lines)
        assert self._file is not None
        os.close(self._file)
        try:
            atomic.write_bytes(self.path, content)
        finally:
            self._open_file()

    def records(self) -> Iterator[dict[str, Any]]:
        """Return the records so far, in order."""
        return read_records(self.path)

    def drop(self, unwanted: Callable[[Record], bool]) -> int:
        """Rewrite the journal, atomically, without records for which ``unwanted(record)`` is true.
        Return their number.
        """
        kept, dropped = [], 0
        for line in read_lines(self.path):
            if line.record is not None and unwanted(line.record):
                dropped += 1
            else:
                kept.append(line.raw)
        if dropped:
            self._rewrite(kept)
        return dropped

    def write(self, record: Record, *, at_once: bool = True) -> None:
        """Append one record. It survives a kill of the process from now on, and a power failure
        after :meth:`synced`.

        Parameters
        ----------
        at_once
            If False, the record is written with the next one or by :meth:`synced`, and is lost if
            the process is killed before.

        Raises
        ------
        RunError
            If the record cannot be written; a partial record is removed.
        """
        with self._writing:
            waiting = len(self._gathered)
            self._gathered += _line(record)
            if at_once or waiting > _MOST_GATHERED:
                try:
                    self._append_gathered()
                except RunError:
                    del self._gathered[waiting:]
                    raise
            self._written += 1

    def _flush(self) -> None:
        with self._writing:
            self._append_gathered()

    def _append_gathered(self) -> None:
        """Write the gathered records. If the disk fails, they are kept and not reported."""
        assert self._file is not None, "the journal is closed"
        try:
            if self._gathered:
                self._append(self._gathered)
        except OSError as error:
            raise RunError(
                f"{self.path}: cannot be written: {error.strerror}; continue with --resume"
            ) from None
        self._gathered.clear()

    def _append(self, content: bytes | bytearray) -> None:
        assert self._file is not None
        done = 0
        try:
            done = os.write(self._file, content)
            if done != len(content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            with suppress(OSError):
                self._cut(self._end)
            raise
        self._end += done

    async def synced(self) -> None:
        """Return once all records written before this call are on disk."""
        # Imported here: takes half as long as NumPy, and readers of a journal do not need it.
        import asyncio

        wanted = self._written
        while self._synced < wanted:
            if self._sync is None or self._sync.done():
                self._sync = asyncio.create_task(self._sync_once())
            await asyncio.shield(self._sync)

    async def _sync_once(self) -> None:
        import asyncio

        upto = self._written
        if self._file is not None:
            self._flush()
            try:
                await asyncio.to_thread(_sync_file, self._file)
            except OSError as error:
                raise RunError(
                    f"{self.path}: cannot be synced to the disk: {error.strerror}"
                ) from None
        self._synced = upto

    def close(self) -> None:
        """Sync and release the lock. Closing twice is allowed."""
        with suppress(RunError):  # pending records cost nothing to ask again
            if self._file is not None:
                self._flush()
        file, self._file = self._file, None
        lock, self._lock = self._lock, None
        try:
            if file is not None:
                _sync_file(file)
                os.close(file)
        finally:
            if lock is not None:
                lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _line(record: Record) -> bytes:
    return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY)


def _sync_file(handle: int) -> None:
    """Sync the data, without the file's times if the system allows it."""
    getattr(os, "fdatasync", os.fsync)(handle)


LONGEST_LINE = 64 << 20
"""Maximum length of a line in bytes: twice the limit on a reply's body."""
SMALL = 4_000_000
"""Smaller journals, in bytes, are parsed line by line, because importing the faster parser would
take longer.
"""


@dataclass(frozen=True, eq=False)
class Block:
    """Whole lines of a journal, the offset of the first and its number from 1; or a last line
    without a line feed.
    """

    content: bytes
    offset: int
    number: int
    cut: bool = False

    def table(self, texts: tuple[str, ...], whole: tuple[str, ...] = ()) -> pl.DataFrame | None:
        """Return these fields of its lines as strings and integers, or None if a line is not a
        plain JSON object.
        """
        import polars as pl

        schema = {**dict.fromkeys(texts, pl.String), **dict.fromkeys(whole, pl.Int64)}
        try:
            found = pl.read_ndjson(self.content, schema=schema)
        except pl.exceptions.PolarsError:
            return None
        return found if found.height == self.content.count(b"\n") + self.cut else None


def check_length(path: Path, number: int, line: bytes) -> None:
    """Raise DataError if a line, or the part read so far, is longer than allowed."""
    if len(line) > LONGEST_LINE:
        raise DataError(f"{path}: line {number}: must have at most {LONGEST_LINE >> 20} MiB")


def blocks(path: Path, size: int = 1_000_000) -> Iterator[Block]:
    """Yield blocks of about ``size`` bytes; a last line without a line feed comes last, alone.

    Raises
    ------
    DataError
        If a line is longer than allowed.
    """
    rest, offset, number = b"", 0, 1
    with path.open("rb") as journal:
        while piece := journal.read(size):
            content = rest + piece
            end = content.rfind(b"\n") + 1
            if end:
                yield Block(content[:end], offset, number)
                number += content.count(b"\n", 0, end)
            rest, offset = content[end:], offset + end
            check_length(path, number, rest)
    if rest:
        yield Block(rest, offset, number, cut=True)
