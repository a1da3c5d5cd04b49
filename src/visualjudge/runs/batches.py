"""Run over batches: rounds of asking, submitting and waiting until each question has
its verdict. The providers' interfaces are in ``clients/batch``. Calls one at a time are
in ``live.py``.

Each round asks the judge every question that is not waiting for a batch. Requests that
a batch has answered become verdicts; the others go into new batches. The journal
records each step before and after it is taken: where the answer to a submission was
lost, the server is asked whether the batch exists before it is submitted again, so that
nothing is paid twice. A batch that fails costs its own questions; one that cannot be
looked at ends the run, and is looked at again when it is resumed.

``batches/journal.sqlite`` of the run holds the parts (the requests of one batch each)
with the steps that each has taken, and the requests, at last with their results: a
killed run continues on any machine. No file holds an API key.
"""

import asyncio
import logging
import secrets
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Self

from visualjudge.clients.batch.batched_client import (
    CANCELLED,
    QUEUED,
    Batched,
    Result,
)
from visualjudge.clients.batch.provider import (
    ENDED,
    PATIENCE,
    Look,
    Part,
    Provider,
    Unsure,
)
from visualjudge.clients.retry import retried
from visualjudge.core.atomic import writing
from visualjudge.core.errors import (
    ApiError,
    ClientError,
    Pending,
    RunError,
    TransportError,
    UsageError,
)
from visualjudge.core.records import Verdict
from visualjudge.core.untrusted import confined_target
from visualjudge.judges.base import Ask
from visualjudge.runs.job_runner import Ask as AskOne, Progress, Runner
from visualjudge.runs.live import Todo

_TICK_S = 0.25
_UNSURE_S = 5.0
_FIRST_LOOK_S = 2.0
# How often a lost batch is looked for before it is taken not to exist.
_LISTINGS = 2
# Maximum number of failed polls of a batch, and of downloads that lack replies.
_LOOKS = 60
_DOWNLOADS = 5
_log = logging.getLogger("visualjudge.batches")
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


@dataclass
class BatchEngine:
    """Runs a judge over batches.

    Parameters
    ----------
    client
        Client of the judge.
    run
        Folder of the run.
    fresh
        Whether to repeat asks that failed in earlier invocations.
    """

    client: Batched
    provider: Provider
    run: Path
    fresh: bool = False
    # By the hash of an ask's key: the request that it waits for; empty for an answered
    # ask.
    _where: dict[int, str] = field(default_factory=dict)
    # The ask that is being answered, and by whom each result was used first.
    _asker: int = 0
    _users: dict[str, int] = field(default_factory=dict)
    # Failed polls and incomplete downloads of each part.
    _vain: Counter[str] = field(default_factory=Counter)
    # Why no more batches are submitted.
    _problem: str | None = None

    async def __call__(
        self,
        todo: Todo,
        ask: AskOne[Ask, Verdict],
        control: Runner[Verdict],
    ) -> Progress:
        self._stop = control.stop
        settings = self.client.settings
        with BatchJournal(
            self.run, self.provider, settings.size
        ) as self.journal:
            self.client.result = self._result
            self.client.note = self.journal.add
            await self._recall()
            while self._stop.reason is None:
                jobs = self._unanswered(todo)
                await control.run(
                    jobs, self._asking(ask), concurrency=1, give_up=False
                )
                await self._submit_all()
                if self._running():
                    if not settings.wait:
                        self._stop.request(
                            "submitted; the batches are at the server"
                        )
                    await self._wait()
                elif self._problem is not None:
                    raise RunError(
                        f"no batch was made: {self._problem}; continue with `resume`"
                    )
                elif next(self._unanswered(todo), None) is None:
                    self.journal.remove()
                    break
        control.progress.stopped = self._stop.reason
        return control.progress

    # ------------------------------------------------------------ requests of the
    # client

    def _result(self, name: str) -> Result | None:
        result = self.journal.result(name)
        if result is None:
            return None
        user = self._users.setdefault(name, self._asker)
        return replace(result, is_counted=user != self._asker)

    def _unanswered(self, todo: Todo) -> Iterator[Ask]:
        # Yield the asks that have no verdict and do not wait for a batch.
        for ask in todo():
            name = self._where.get(hash(ask.key))
            if name is None or (name and not self.journal.is_open(name)):
                yield ask

    def _asking(self, ask_one: AskOne[Ask, Verdict]) -> AskOne[Ask, Verdict]:

        async def asked(ask: Ask) -> Verdict | None:
            self._asker = hash(ask.key)
            try:
                verdict = await ask_one(ask)
            except Pending as pending:
                self._where[self._asker] = str(pending)
                return None
            self._where[self._asker] = ""
            return verdict

        return asked

    # ------------------------------------------------------------ submitting

    async def _recall(self) -> None:
        # Continue the parts of earlier invocations. One that was not submitted is
        # planned again, because settings may differ.
        if self.fresh:
            self.journal.forget_failures()
        for part in self.journal.open_parts():
            batch = part.batch or (
                await self._found(part) if part.since else None
            )
            if batch is None:
                self.journal.drop(part)

    async def _found(self, part: Part) -> str | None:
        # Return the batch of a part whose confirmation was lost, or None if it was not
        # made.
        known = {other.batch for other in self.journal.parts() if other.batch}
        for _ in range(_LISTINGS):
            await self._sleep(_UNSURE_S)
            if batch := await self.provider.find(part, known):
                self.journal.write(part, batch=batch)
                return batch
        return None

    async def _submit_all(self) -> None:
        self.journal.plan()
        for part in self.journal.open_parts():
            if (
                part.batch is None
                and self._stop.reason is None
                and self._problem is None
            ):
                try:
                    await retried(
                        partial(self._submit, part),
                        PATIENCE,
                        failed=lambda _failures, _error: (
                            self._stop.reason is None
                        ),
                        sleep=self._sleep,
                    )
                except (
                    ClientError
                ) as error:  # the run ends once the other batches have ended
                    self._problem = str(error)

    async def _submit(self, part: Part) -> None:
        part = part._replace(since=datetime.now(UTC).isoformat())
        self.journal.write(part, since=part.since)
        try:
            with self.journal.request_file(part) as path:
                batch = await self.provider.create(part, path)
        except Unsure as unsure:
            if await self._found(part):
                return
            raise ApiError(503, str(unsure)) from None
        except ClientError:
            self.journal.write(part, since=None)
            raise
        self.journal.write(part, batch=batch)
        _log.info("batch %s: %d requests submitted", batch, part.requests)

    # ------------------------------------------------------------ waiting

    def _running(self) -> list[Part]:
        return [part for part in self.journal.open_parts() if part.batch]

    async def _wait(self) -> None:
        wait_s = _FIRST_LOOK_S
        while self._stop.reason is None:
            if any([await self._has_ended(part) for part in self._running()]):
                return
            await self._sleep(wait_s)
            wait_s *= 1.5

    async def _has_ended(self, part: Part) -> bool:
        # Return whether a batch has ended; its results are downloaded then.
        try:
            look = await self.provider.look(str(part.batch))
            if look.status not in ENDED:
                return False
            replies = await self._collected(part, look)
        except ClientError as error:
            self._vain[part.name] += 1
            if isinstance(error, ApiError) and error.status == 404:
                look = Look("lost")
                replies = self.journal.collect(part, Look("lost"), ())
            elif error.retryable and self._vain[part.name] < _LOOKS:
                return False
            else:
                raise RunError(
                    f"batch {part.batch}: {error}; continue with `resume`"
                ) from None
        if replies < look.succeeded and self._vain[part.name] < _DOWNLOADS:
            self._vain[part.name] += 1
            self.journal.undo()
            return False
        self.journal.write(part, status=look.status)
        why = f": {look.reason}" if look.reason else ""
        counts = f"{replies} of {part.requests} replies"
        _log.info("batch %s: %s, %s%s", part.batch, look.status, counts, why)
        if look.limited:
            await self._sleep(self.client.settings.poll_s)
        return True

    async def _collected(self, part: Part, look: Look) -> int:
        # Download the results and return the number of replies.
        files = []
        for file in look.files:
            try:
                files.append(await self.provider.download(file))
            except ClientError as error:  # the replies that can be had are kept
                if error.retryable:
                    raise
        return self.journal.collect(part, look, files)

    async def _sleep(self, seconds: float) -> None:
        # Sleep, at most as long as between two polls, until a stop is requested.
        seconds = min(seconds, self.client.settings.poll_s)
        while seconds > 0 and self._stop.reason is None:
            await asyncio.sleep(min(seconds, _TICK_S))
            seconds -= _TICK_S
