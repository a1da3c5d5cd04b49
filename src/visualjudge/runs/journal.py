"""An append-only file of JSON lines that survives ``kill -9``. What a line of a run
says is in ``verdicts.py``.

Each record is written in one call, and synced to the disk before it is reported. A sync
covers all records that were written before it.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

import orjson

from visualjudge.clients.protocol_fields import object_of
from visualjudge.core.atomic import atomic_path
from visualjudge.core.errors import DataError, RunError, UsageError
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.locks import locked
from visualjudge.core.untrusted import lines


class Line(NamedTuple):
    """One line of a journal, its number from 1 and the offset of its first byte.
    ``record`` is None if it is not a JSON object.
    """

    number: int
    start: int
    raw: bytes
    record: Json | None

    @property
    def whole(self) -> bool:
        """Whether the line ends with a line feed."""
        return self.raw.endswith(b"\n")

    @property
    def cut(self) -> bool:
        """Whether a kill left only the beginning of the line."""
        return self.record is None and not self.whole


def read_lines(path: str | Path, start: int = 0) -> Iterator[Line]:
    """Yield all lines of a journal that are not blank, readable or not, from the one
    that begins at byte ``start``; numbers count from there.

    Raises
    ------
    DataError
        If a line is longer than allowed.
    """
    for number, raw in enumerate(lines(Path(path), "record", start), 1):
        if raw.strip():
            yield Line(number, start, raw, object_of(raw))
        start += len(raw)


def read_records(path: str | Path) -> Iterator[Json]:
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
                f"{path}: line {bad} is not a JSON object; `resume` removes it and "
                "asks its question again"
            )
        if line.record is None:
            bad = line.number
        else:
            yield line.record


class Journal:
    """A journal with one writer, as a context manager. Without ``resume`` it must hold
    no record; with it, partial lines that a kill or a full disk left are removed first.

    A lock file beside it keeps a second writer out; the lock is released when the
    process ends, for any reason.

    Raises
    ------
    UsageError
        If it holds records and ``resume`` is False.
    DataError
        If it holds no JSON object, and so is not a journal.
    RunError
        If another process writes it, or it cannot be written.
    """

    def __init__(self, path: str | Path, *, resume: bool = False) -> None:
        self.path = Path(path)
        # Bytes of the partial lines that were removed.
        self.torn_bytes = 0
        self._lock = locked(self.path)
        self._file: int | None = None
        try:
            self._open()
            if resume:
                self._mend()
            elif self._end:
                raise UsageError(
                    f"{path} already contains a run: add `resume` to continue it, or "
                    "choose another `out`"
                )
        except OSError as error:
            self.close()
            raise RunError(
                f"{self.path}: cannot be written: {error.strerror}"
            ) from None
        except BaseException:
            self.close()
            raise

    def _mend(self) -> None:
        lines = [
            (line.record is None, line.whole, len(line.raw))
            for line in read_lines(self.path)
        ]
        if len(lines) > 1 and all(bad for bad, _, _ in lines):
            raise DataError(
                f"{self.path}: contains no JSON object; it is not a run's file and "
                "will not be changed"
            )
        self.torn_bytes = sum(length for bad, _, length in lines if bad)
        if not all(whole and not bad for bad, whole, _ in lines):
            self.drop(lambda _record: False)

    def _open(self) -> None:
        # Open the file without following links, because the folder may be untrusted.
        flags = (
            os.O_CREAT | os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0)
        )
        self._file = os.open(
            self.path,
            flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0),
            0o644,
        )
        status = os.fstat(self._file)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            raise OSError(
                errno.EPERM, "it must be a regular file without hard links"
            )
        self._end = status.st_size

    def drop(self, unwanted: Callable[[Fields], bool]) -> int:
        """Rewrite the journal, atomically, without unreadable lines and records for
        which ``unwanted(record)`` is true. Return the number of these records.
        """
        removed = 0
        with atomic_path(self.path) as scratch, scratch.open("wb") as file:
            for line in read_lines(self.path):
                if line.record is not None and unwanted(line.record):
                    removed += 1
                elif line.record is not None:
                    file.write(line.raw if line.whole else line.raw + b"\n")
            file.flush()
            os.fsync(file.fileno())
        assert self._file is not None
        os.close(self._file)
        self._open()
        return removed

    def write(self, record: Fields) -> None:
        """Append one record. It survives a kill of the process from now on, and a power
        failure after :meth:`synced`.

        Raises
        ------
        RunError
            If the record cannot be written; a partial record is removed.
        """
        raw = orjson.dumps(
            record,
            option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY,
        )
        assert self._file is not None, "the journal is closed"
        try:
            if os.write(self._file, raw) != len(raw):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._file, self._end)
            raise RunError(
                f"{self.path}: cannot be written: {error.strerror}; continue with "
                "`resume`"
            ) from None
        self._end += len(raw)

    async def synced(self) -> None:
        """Return once all records written before this call are on disk."""
        # Imported here: takes half as long as NumPy, and readers of a journal do not
        # need it.
        import asyncio

        assert self._file is not None, "the journal is closed"
        try:
            await asyncio.to_thread(_sync_file, self._file)
        except OSError as error:
            raise RunError(
                f"{self.path}: cannot be synced to the disk: {error.strerror}"
            ) from None

    def close(self) -> None:
        """Sync and release the lock. Closing twice is allowed."""
        file = self._file
        self._file = None
        try:
            if file is not None:
                _sync_file(file)
                os.close(file)
        finally:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _sync_file(handle: int) -> None:
    # Sync the data, without the file's times if the system allows it.
    getattr(os, "fdatasync", os.fsync)(handle)
