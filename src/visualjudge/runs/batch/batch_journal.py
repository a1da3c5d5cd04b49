"""The batches of a run: what was submitted and what has arrived, to continue after a
kill, on any machine.

``batches/journal.sqlite`` holds the parts (the requests of one batch each) with the
steps that each has taken, and the requests, at last with their results. Each step is on
disk before the next is taken. No file holds an API key.
"""

import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from visualjudge.clients.batch.batched_client import CANCELLED, QUEUED, Result
from visualjudge.clients.batch.provider import Look, Part, Provider
from visualjudge.core.atomic import writing
from visualjudge.core.errors import RunError, TransportError, UsageError
from visualjudge.core.untrusted import confined_target

_FOLDER = "batches"
_OF = "the batches of a run"
# ``ask`` is the name of a request without the number of the try. ``body`` holds its
# line of a batch until it is settled, then its result.
_TABLES = """
CREATE TABLE IF NOT EXISTS parts (
    name TEXT PRIMARY KEY, requests INTEGER NOT NULL, since TEXT, batch TEXT, status TEXT);
CREATE TABLE IF NOT EXISTS requests (
    name TEXT PRIMARY KEY, ask TEXT NOT NULL, part TEXT,
    status INTEGER, body BLOB, cause TEXT, retryable INTEGER);
CREATE INDEX IF NOT EXISTS requests_by_part ON requests (part);
CREATE INDEX IF NOT EXISTS requests_by_ask ON requests (ask);
"""


def has_batches(run: str | Path) -> bool:
    """Return whether a run has batches whose results are not verdicts yet."""
    return _own(run, "journal.sqlite").is_file()


def _own(run: str | Path, name: str) -> Path:
    # The folder may be untrusted, so no link is followed.
    return confined_target(run, f"{_FOLDER}/{name}", of=_OF)


class BatchJournal:
    """The parts and requests of one run, as a context manager. One process uses it at a
    time, because it holds the lock on the run's verdicts.

    Parameters
    ----------
    size
        Maximum number of requests of a part; None = the provider's limit.
    """

    def __init__(self, run: Path, provider: Provider, size: int | None) -> None:
        self._run = run
        self._provider = provider
        self._most = min(size or provider.most_requests, provider.most_requests)

    def __enter__(self) -> Self:
        if _own(self._run, "journal.jsonl").exists():
            raise UsageError(
                f"{self._run}: its batches were made by version 1.0; continue with "
                "that version, or choose another `out`"
            )
        self.path = _own(self._run, "journal.sqlite")
        with writing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = sqlite3.connect(self.path)
        settings = (
            "auto_vacuum = FULL",
            "trusted_schema = OFF",
            "synchronous = FULL",
        )
        for statement in (
            *(f"PRAGMA {setting}" for setting in settings),
            *_TABLES.split(";"),
        ):
            self._do(statement)
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def remove(self) -> None:
        """Remove the file, because all results are verdicts."""
        self.path.unlink()

    def _do(self, statement: str, *values: Any) -> list[Any]:
        try:
            return self._file.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise RunError(
                f"{self.path}: {error}; continue with `resume`"
            ) from None

    def parts(self) -> list[Part]:
        """Return all parts, in order."""
        return [
            Part(*row) for row in self._do("SELECT * FROM parts ORDER BY rowid")
        ]

    def open_parts(self) -> list[Part]:
        """Return the parts whose batch has not ended, in order."""
        return [part for part in self.parts() if part.status is None]

    def write(self, part: Part, **step: str | None) -> None:
        """Record one step of a part on disk."""
        fields = ", ".join(f"{name} = ?" for name in step)
        self._do(
            f"UPDATE parts SET {fields} WHERE name = ?",
            *step.values(),
            part.name,
        )
        self._file.commit()

    def forget_failures(self) -> None:
        """Ask again what failed and is in no other batch."""
        self._do(
            "DELETE FROM requests WHERE ask NOT IN (SELECT ask FROM requests WHERE "
            "status IS NULL OR status = 200)"
        )
        self._file.commit()

    def drop(self, part: Part) -> None:
        """Remove a part that was not submitted, so that its requests are asked
        again."""
        self._do("DELETE FROM requests WHERE part = ?", part.name)
        self._do("DELETE FROM parts WHERE name = ?", part.name)
        self._file.commit()

    # ------------------------------------------------------------ requests

    def is_open(self, name: str) -> bool:
        """Return whether a request waits for its result."""
        return bool(
            self._do(
                "SELECT 1 FROM requests WHERE name = ? AND status IS NULL", name
            )
        )

    def add(self, name: str, body: Sequence[bytes]) -> None:
        """Add a request to the next parts, unless it is in one.

        Raises
        ------
        TransportError
            If it is larger than the largest allowed file.
        """
        line = b"".join(self._provider.line(name, body))
        if len(line) > self._room:
            message = (
                f"a request of {len(line)} bytes exceeds that of a batch; build "
                "with max_side"
            )
            raise TransportError(message, cause="too large", retryable=False)
        row = (name, name.rpartition("-")[0], line)
        self._do(
            "INSERT OR IGNORE INTO requests (name, ask, body) VALUES (?, ?, ?)",
            *row,
        )

    @property
    def _room(self) -> int:
        return self._provider.most_bytes - sum(map(len, self._provider.framing))

    def plan(self) -> None:
        """Divide the requests that were added since the last call into parts, and
        record all on disk.
        """
        part = ""
        requests = self._most
        size = 0
        added = (
            "SELECT name, length(body) FROM requests WHERE part IS NULL ORDER BY "
            "rowid"
        )
        for name, length in self._do(added):
            requests = requests + 1
            size = size + length + len(self._provider.framing[1])
            if requests > self._most or size > self._room:
                part = secrets.token_hex(8)
                requests = 1
                size = length
                self._do(
                    "INSERT INTO parts (name, requests) VALUES (?, 0)", part
                )
            self._do("UPDATE requests SET part = ? WHERE name = ?", part, name)
        count = "SELECT count(*) FROM requests WHERE part = parts.name"
        self._do(f"UPDATE parts SET requests = ({count}) WHERE requests = 0")
        self._file.commit()

    @contextmanager
    def request_file(self, part: Part) -> Iterator[Path]:
        """Yield the path of a file with the requests of a part, as the provider takes
        them."""
        path = _own(self._run, "requests.jsonl")
        head, between, tail = self._provider.framing
        query = "SELECT body FROM requests WHERE part = ? ORDER BY rowid"
        with writing(path), path.open("wb") as file:
            for number, row in enumerate(
                self._file.execute(query, (part.name,))
            ):
                file.writelines([between if number else head, row[0]])
            file.write(tail)
        try:
            yield path
        finally:
            path.unlink()

    # ------------------------------------------------------------ results

    def result(self, name: str) -> Result | None:
        """Return the result of a request, or None before it has arrived."""
        rows = self._do(
            "SELECT status, body, cause, retryable FROM requests WHERE name = ? AND "
            "status IS NOT NULL",
            name,
        )
        return Result(*rows[0]) if rows else None

    def collect(self, part: Part, look: Look, files: Iterable[bytes]) -> int:
        """Read the results of a part, recorded by the next step unless :meth:`undo`
        comes first. Return the number of replies.
        """
        replies = 0
        for name, result in self._read(files):
            known = self._settle(
                result, "name = ? AND part = ?", name, part.name
            )
            replies += known * (result.status == 200)
        self._settle(
            _absent(look, lost=replies < look.succeeded), "part = ?", part.name
        )
        return replies

    def undo(self) -> None:
        """Forget the results that were read since the last step."""
        self._file.rollback()

    def _settle(self, result: Result, where: str, *values: str) -> int:
        # Write the result of the open requests that fit a condition, and return their
        # number.
        fields = (result.status, result.body, result.cause, result.retryable)
        return len(
            self._do(
                "UPDATE requests SET status = ?, body = ?, cause = ?, retryable = ? "
                f"WHERE {where} AND status IS NULL RETURNING name",
                *fields,
                *values,
            )
        )

    def _read(self, files: Iterable[bytes]) -> Iterator[tuple[str, Result]]:
        for file in files:
            for line in file.splitlines():
                with suppress(ValueError, KeyError, TypeError, AttributeError):
                    yield self._provider.result_of(line)


def _absent(look: Look, *, lost: bool) -> Result:
    # Return the result of a request that a batch has none for.
    if lost:  # it was paid for, so it is requested again only on demand
        return Result(0, b"", "result lost", retryable=False)
    if look.status in ("cancelled", "canceled", "cancelling"):
        return Result(0, b"", CANCELLED, retryable=False)
    if look.limited:
        return Result(0, b"", QUEUED)
    again = look.status in ("expired", "ended", "completed", "succeeded")
    return Result(0, b"", f"batch {look.status}", retryable=again)
