"""Run over batches: rounds of asking, submitting and waiting until each question has its verdict.
The providers' interfaces are in ``clients/batch``.

Each round asks the judge every question that is not waiting for a batch. Requests that a batch has
answered become verdicts; the others go into new batches. The journal records each step before and
after it is taken: where the answer to a submission was lost, the server is asked whether the batch
exists before it is submitted again, so that nothing is paid twice. A batch that fails costs its own
questions.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from visualjudge.clients.batch.batched_client import Batched, Result
from visualjudge.clients.batch.provider import PATIENCE, Look, Part, Provider, Unsure
from visualjudge.clients.retry import cause_of
from visualjudge.core.errors import ApiError, ClientError, Pending, RunError
from visualjudge.judges.base import Ask
from visualjudge.runs.batch.batch_journal import LOST, BatchJournal
from visualjudge.runs.job_runner import FATAL_CAUSES, Ask as AskOne, Outcome, Progress, Runner
from visualjudge.runs.live import Todo

_TICK_S, _UNSURE_S, _FIRST_LOOK_S = 0.25, 5.0, 2.0
# How often a lost batch is looked for before it is taken not to exist.
_LISTINGS = 2
# Maximum number of failed polls in a row before a batch is given up.
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
    # By the hash of an ask's key: the request that it waits for; empty for an answered ask.
    _where: dict[int, str] = field(default_factory=dict)
    # The ask that is being answered, and by whom each result was used first.
    _asker: int = 0
    _users: dict[str, int] = field(default_factory=dict)
    # Failed polls and downloads of each part.
    _missed: Counter[str] = field(default_factory=Counter)
    _downloads: Counter[str] = field(default_factory=Counter)
    _reopened: frozenset[str] = frozenset()
    # Whether the server has taken any batch.
    _taken: bool = False
    # Why no more batches are submitted.
    _problem: str | None = None

    async def __call__(self, todo: Todo, ask: AskOne[Ask], control: Runner) -> Progress:
        self._stop, settings = control.stop, self.client.settings
        self.client.result, self.client.note = self._result, self._note
        with BatchJournal(self.run, self.provider, settings.size) as self.journal:
            self._taken = any(part.batch for part in self.journal.parts())
            try:
                await self._recall()
                while self._stop.reason is None:
                    jobs = self._unanswered(todo)
                    await control.run(jobs, self._asking(ask), concurrency=1, give_up=False)
                    await self._submit_all()
                    if self._running():
                        if not settings.wait:
                            self._stop.request("submitted; the batches are at the server")
                        await self._wait()
                    elif self._problem is not None:
                        raise RunError(
                            f"no batch was made: {self._problem}; continue with --resume"
                        )
                    elif next(self._unanswered(todo), None) is None:
                        break
            finally:
                await asyncio.shield(self.provider.aclose())
        control.progress.stopped = self._stop.reason
        return control.progress

    # ------------------------------------------------------------ requests of the client

    def _result(self, name: str) -> Result | None:
        result = self.journal.result(name)
        if result is None:
            return None
        user = self._users.setdefault(name, self._asker)
        return replace(result, is_counted=user != self._asker)

    def _note(self, name: str, body: Sequence[bytes]) -> None:
        if not self.journal.is_open(name):
            self.journal.add(name, body)

    def _unanswered(self, todo: Todo) -> Iterator[Ask]:
        return (ask for ask in todo() if hash(ask.key) not in self._where)

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
        # Continue the parts of earlier invocations. One that was not submitted is planned again,
        # because settings may differ.
        if self.fresh:
            self._reopened = self.journal.forget_failures()
        for part in self.journal.open_parts():
            batch = part.batch or (await self._found(part) if part.since else None)
            if batch is None:
                self.journal.drop(part, "not submitted")

    async def _found(self, part: Part) -> str | None:
        # Return the batch of a part whose confirmation was lost, or None if it was not made.
        known = {other.batch for other in self.journal.parts() if other.batch}
        for _ in range(_LISTINGS):
            await self._sleep(min(_UNSURE_S, self.client.settings.poll_s))
            if batch := await self.provider.find(part, known):
                self.journal.write(part, batch=batch)
                return batch
        return None

    async def _submit_all(self) -> None:
        self.journal.plan(self.client.inner.refused_parameters.learned)
        for part in self.journal.open_parts():
            if part.batch is None and self._stop.reason is None and self._problem is None:
                await self._submit(part)

    async def _submit(self, part: Part) -> None:
        # Submit a part once. A refused one fails alone, unless the server refuses the first or any
        # other; then the run ends once the batches that were made have ended.
        for failures in range(1, PATIENCE.attempts + 1):
            part = part._replace(since=datetime.now(UTC).isoformat())
            self.journal.write(part, since=part.since)
            try:
                with self.journal.request_file(part) as path:
                    batch = await self.provider.create(part, path)
            except Unsure as unsure:
                if await self._found(part):
                    return
                error: ClientError = ApiError(503, str(unsure))
            except ClientError as refusal:
                error = refusal
            else:
                self.journal.write(part, batch=batch)
                self._taken = True
                _log.info("batch %s: %d requests submitted", batch, part.requests)
                return
            self.journal.write(part, since=None)
            wait_s = PATIENCE.wait_s(failures, error, 0.5)
            if wait_s is None:
                break
            await self._sleep(min(wait_s, self.client.settings.poll_s))
        if not self._taken or cause_of(error) in FATAL_CAUSES or error.retryable:
            self._problem = str(error)
        else:
            self._give_up(part, f"refused: {cause_of(error)}")

    # ------------------------------------------------------------ waiting

    def _running(self) -> list[Part]:
        return [part for part in self.journal.open_parts() if part.batch]

    async def _wait(self) -> None:
        longest_s = self.client.settings.poll_s
        wait_s = min(_FIRST_LOOK_S, longest_s)
        while self._stop.reason is None:
            if any([await self._look(part) for part in self._running()]):
                return
            await self._sleep(wait_s)
            wait_s = min(longest_s, 1.5 * wait_s)

    async def _look(self, part: Part) -> bool:
        # Return whether a batch has ended or cannot be reached. Results of an ended batch are
        # downloaded.
        try:
            look = await self.provider.look(str(part.batch))
        except ClientError as error:
            self._missed[part.name] += 1
            if error.retryable and self._missed[part.name] < _LOOKS:
                return False
            _log.info("batch %s: given up: %s; retry_errors looks again", part.batch, error)
            return self._give_up(part, f"{LOST}: {cause_of(error)}")
        if not look.ended:
            return False
        look, replies = await self._collected(part, look)
        self._downloads[part.name] += 1
        if replies < look.succeeded and self._downloads[part.name] < _DOWNLOADS:
            self.journal.undo()
            return False
        self.journal.write(part, status=look.status)
        why = f": {look.reason}" if look.reason else ""
        counts = f"{replies} of {part.requests} replies"
        _log.info("batch %s: %s, %s%s", part.batch, look.status, counts, why)
        if look.limited:
            await self._sleep(self.client.settings.poll_s)
        return self._ended()

    async def _collected(self, part: Part, look: Look) -> tuple[Look, int]:
        # Download the results. Return how the batch ended, and the number of replies.
        with ExitStack() as opened:
            sources = []
            for file in look.files:
                into = opened.enter_context(self.journal.download())
                try:
                    await self.provider.download(file, into)
                    sources.append(into)
                except ClientError as error:  # the replies that can be had are kept
                    look = replace(look, status=f"{LOST}: {cause_of(error)}", succeeded=0)
            return look, self.journal.collect(part, look, sources)

    def _give_up(self, part: Part, status: str) -> bool:
        # End a part without results. What was lost before is asked again, once an invocation.
        if part.name in self._reopened:
            self.journal.drop(part, status)
        else:
            self.journal.collect(part, Look(status), ())
            self.journal.write(part, status=status)
        return self._ended()

    def _ended(self) -> bool:
        # Let the judge be asked again whatever no longer waits for a batch.
        self._where = {
            key: name for key, name in self._where.items() if not name or self.journal.is_open(name)
        }
        return True

    async def _sleep(self, seconds: float) -> None:
        while seconds > 0 and self._stop.reason is None:
            await asyncio.sleep(min(seconds, _TICK_S))
            seconds -= _TICK_S
