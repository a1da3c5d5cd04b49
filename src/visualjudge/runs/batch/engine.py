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
from pathlib import Path

from visualjudge.clients.batch.batched_client import Batched, Result
from visualjudge.clients.batch.provider import PATIENCE, Look, Provider, Unsure
from visualjudge.clients.retry import cause_of
from visualjudge.core.errors import ApiError, ClientError, Pending, RunError
from visualjudge.judges.base import Ask
from visualjudge.runs.batch.batch_journal import LOST, BatchJournal, Part
from visualjudge.runs.job_runner import FATAL_CAUSES, Ask as AskOne, Outcome, Progress, Runner
from visualjudge.runs.live import Todo

_TICK_S, _UNSURE_S, _FIRST_LOOK_S = 0.25, 5.0, 2.0
# How often a lost batch is looked for before it is taken not to exist.
_LISTINGS = 2
# Maximum number of failed polls in a row before a batch is given up.
_LOOKS = 60
_DOWNLOADS = 5
_CANCELLED = "cancelled"
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
    # By the hash of an ask's key: the part that it waits for; empty for an answered ask.
    _where: dict[int, str] = field(default_factory=dict)
    _missed: Counter[str] = field(default_factory=Counter)
    _taken: bool = False
    # Why no more batches are submitted.
    _problem: str | None = None

    async def __call__(self, todo: Todo, ask: AskOne[Ask], control: Runner) -> Progress:
        self._stop, settings = control.stop, self.client.settings
        self.client.requests = self
        with BatchJournal(
            self.run, self.provider, settings.size, old_failures=self.fresh
        ) as self.journal:
            self._taken = any(part.batch for part in self.journal.parts.values())
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
                if _CANCELLED in self._where.values():
                    self._stop.request("the batches were cancelled")
            finally:
                await asyncio.shield(self.provider.aclose())
        control.progress.stopped = self._stop.reason
        return control.progress

    # ------------------------------------------------------------ requests of the client

    def result(self, name: str) -> Result | None:
        return self.journal.result(name)

    def note(self, name: str, body: Sequence[bytes]) -> None:
        if name not in self.journal.waiting and not self.client.settings.cancel:
            self.journal.add(name, body)

    def _unanswered(self, todo: Todo) -> Iterator[Ask]:
        return (ask for ask in todo() if hash(ask.key) not in self._where)

    def _asking(self, ask_one: AskOne[Ask]) -> AskOne[Ask]:

        async def asked(ask: Ask) -> Outcome | None:
            try:
                outcome = await ask_one(ask)
            except Pending as pending:
                self._where[hash(ask.key)] = self.journal.waiting.get(str(pending), _CANCELLED)
                return None
            self._where[hash(ask.key)] = ""
            return outcome

        return asked

    # ------------------------------------------------------------ submitting

    async def _recall(self) -> None:
        # Continue the parts of earlier invocations. One that was not submitted is planned again,
        # because settings may differ.
        if self.fresh:
            await self.journal.reopen()
        for part in self.journal.open_parts():
            batch = part.batch or (await self._found(part) if part.submitting else None)
            if batch is None:
                await self._give_up(part, "not submitted")
            elif self.client.settings.cancel:
                await self.provider.cancel(batch)
                _log.info("batch %s: asked the server to cancel it", batch)

    async def _found(self, part: Part) -> str | None:
        # Return the batch of a part whose confirmation was lost, or None if it was not made.
        for _ in range(_LISTINGS):
            await self._sleep(min(_UNSURE_S, self.client.settings.poll_s))
            batch = await self.provider.find(self.journal.ticket(part))
            if batch is not None:
                await self.journal.write("submitted", part.name, batch=batch)
                return batch
        return None

    async def _submit_all(self) -> None:
        await self.journal.planned(self.client.inner.refused_parameters.learned)
        for part in self.journal.open_parts():
            if part.batch is None and self._stop.reason is None and self._problem is None:
                await self._submit(part)

    async def _submit(self, part: Part) -> None:
        # Submit a part once. A refused one fails alone, unless the server refuses the first or any
        # other; then the run ends once the batches that were made have ended.
        for failures in range(1, PATIENCE.attempts + 1):
            part = await self.journal.write("submitting", part.name)
            path = self.journal.requests_of(part.name)
            try:
                batch = await self.provider.create(self.journal.ticket(part), path)
            except Unsure as unsure:
                if await self._found(part) is not None:
                    return
                error: ClientError = ApiError(503, str(unsure))
            except ClientError as refusal:
                error = refusal
            else:
                await self.journal.write("submitted", part.name, batch=batch)
                self._taken = True
                _log.info("batch %s: %d requests submitted", batch, part.requests)
                return
            await self.journal.write("refused", part.name)
            wait_s = PATIENCE.wait_s(failures, error, 0.5)
            if wait_s is None:
                break
            await self._sleep(min(wait_s, self.client.settings.poll_s))
        if not self._taken or cause_of(error) in FATAL_CAUSES or error.retryable:
            self._problem = str(error)
        else:
            await self._give_up(part, f"refused: {cause_of(error)}")

    # ------------------------------------------------------------ waiting

    def _running(self) -> list[Part]:
        return [part for part in self.journal.open_parts() if part.batch or part.foreign]

    async def _wait(self) -> None:
        longest_s = self.client.settings.poll_s
        wait_s = min(_FIRST_LOOK_S, longest_s)
        while self._stop.reason is None:
            ended = {part.name for part in self._running() if await self._look(part)}
            if ended:
                self._where = {key: at for key, at in self._where.items() if at not in ended}
                return
            await self._sleep(wait_s)
            wait_s = min(longest_s, 1.5 * wait_s)

    async def _look(self, part: Part) -> bool:
        # Return whether a batch has ended or cannot be reached. Results of an ended batch are
        # downloaded.
        if part.batch is None:  # its batch turned out to be another's
            if await self._found(part) is None:
                await self._give_up(part, "not submitted")
            return self.journal.parts[part.name].status is not None
        try:
            look = await self.provider.look(part.batch)
            if not look.ended:
                return False
        except ClientError as error:
            self._missed[part.name] += 1
            if error.retryable and self._missed[part.name] < _LOOKS:
                return False
            await self._give_up(part, f"{LOST}: {cause_of(error)}")
            _log.info("batch %s: given up: %s; retry_errors looks again", part.batch, error)
            return True
        look, replies = await self._collected(part, look)
        if replies is None:
            await self.journal.write("foreign", part.name, batch=part.batch)
            return False
        await self.journal.ended(part, look.status)
        why = f": {look.reason}" if look.reason else ""
        told = f"{look.status}, {replies} of {part.requests} replies"
        _log.info("batch %s: %s%s", part.batch, told, self.provider.client.masked(why))
        if look.limited:
            await self._sleep(self.client.settings.poll_s)
        return True

    async def _collected(self, part: Part, look: Look) -> tuple[Look, int | None]:
        # Download the results, again if there are fewer than the server counts. Return how the
        # batch ended and the number of replies, or None if it holds other requests.
        for number in range(_DOWNLOADS):
            if number:
                await self._sleep(min(_UNSURE_S, self.client.settings.poll_s))
            with ExitStack() as opened:
                sources = []
                for file in look.files:
                    into = opened.enter_context(self.journal.download())
                    try:
                        await self.provider.download(file, into)
                        sources.append(into)
                    except ClientError as error:  # the replies that can be had are kept
                        look = replace(look, status=f"{LOST}: {cause_of(error)}", succeeded=0)
                replies, foreign = self.journal.collect(part, look, sources)
            if replies >= look.succeeded:
                break
        others = self.provider.anonymous and foreign >= max(1, look.succeeded)
        return look, None if others else replies

    async def _give_up(self, part: Part, status: str) -> None:
        # End a part without results.
        self.journal.collect(part, Look(status, ended=True), ())
        await self.journal.ended(part, status)
        self._where = {key: at for key, at in self._where.items() if at != part.name}

    async def _sleep(self, seconds: float) -> None:
        while seconds > 0 and self._stop.reason is None:
            await asyncio.sleep(min(seconds, _TICK_S))
            seconds -= _TICK_S
