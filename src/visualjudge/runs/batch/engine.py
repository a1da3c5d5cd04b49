"""Run over batches: rounds of asking, submitting and waiting until each question has
its verdict. The providers' interfaces are in ``clients/batch``.

Each round asks the judge every question that is not waiting for a batch. Requests that
a batch has answered become verdicts; the others go into new batches. The journal
records each step before and after it is taken: where the answer to a submission was
lost, the server is asked whether the batch exists before it is submitted again, so that
nothing is paid twice. A batch that fails costs its own questions; one that cannot be
looked at ends the run, and is looked at again when it is resumed.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from visualjudge.clients.batch.batched_client import Batched, Result
from visualjudge.clients.batch.provider import (
    ENDED,
    PATIENCE,
    Look,
    Part,
    Provider,
    Unsure,
)
from visualjudge.clients.retry import retried
from visualjudge.core.errors import ApiError, ClientError, Pending, RunError
from visualjudge.judges.base import Ask
from visualjudge.runs.batch.batch_journal import BatchJournal
from visualjudge.runs.job_runner import Ask as AskOne, Outcome, Progress, Runner
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
        self, todo: Todo, ask: AskOne[Ask], control: Runner
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

    def _asking(self, ask_one: AskOne[Ask]) -> AskOne[Ask]:

        async def asked(ask: Ask) -> Outcome | None:
            self._asker = hash(ask.key)
            try:
                outcome = await ask_one(ask)
            except Pending as pending:
                self._where[self._asker] = str(pending)
                return None
            self._where[self._asker] = ""
            return outcome

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
