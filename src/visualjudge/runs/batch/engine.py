"""Run over batches: rounds of asking, submitting and waiting until each question has its verdict.
The providers' interfaces are in ``clients/batch``.

Each round asks the judge every question that is not waiting for a batch. Requests that a batch has
answered become verdicts; the others go into new batches.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from visualjudge.clients.batch.batched_client import Batched, Result
from visualjudge.clients.batch.provider import Provider
from visualjudge.core.errors import Pending, RunError
from visualjudge.judges.base import Ask
from visualjudge.judges.schema_trial import SchemaTrial
from visualjudge.runs.batch.ledger import Ledger, Part
from visualjudge.runs.batch.request_files import Planner
from visualjudge.runs.batch.submitting import Batches
from visualjudge.runs.job_runner import Ask as AskOne, Outcome, Progress, RunControl
from visualjudge.runs.live import Todo

_FIRST_LOOK_S = 2.0
_ANSWERED = ""


@dataclass
class BatchEngine:
    """Runs a judge over batches.

    Parameters
    ----------
    client
        Client of the judge.
    run
        Folder of the run.
    trial
        The judge's schema trial, which the first question decides, or None.
    say
        Called with lines for the user.
    fresh
        Whether to repeat asks that failed in earlier invocations.
    """

    client: Batched
    provider: Provider
    run: Path
    trial: SchemaTrial | None = None
    say: Callable[[str], None] = lambda line: None
    fresh: bool = False

    async def __call__(self, todo: Todo, ask: AskOne[Ask], control: RunControl) -> Progress:
        """Answer all of ``todo``. The provider decides on the concurrency."""
        settings, stop = self.client.settings, control.stop
        with Ledger(self.run, self.fresh) as ledger:
            batches = Batches(ledger, self.provider, settings.poll_s, self.say, stop)
            waiting = _WaitingAsks(batches, self.client, self.trial)
            self.client.requests = waiting
            try:
                for part in ledger.closed_parts() if self.fresh else ():
                    await ledger.reopen(part)
                for part in ledger.open_parts():
                    await batches.recall(part)
                while stop.reason is None:
                    asks = waiting.left(todo)
                    await control.run(asks, waiting.asking(ask), concurrency=1, give_up=False)
                    if await waiting.refused():
                        continue
                    if not waiting.waits:
                        break
                    if not settings.wait:
                        stop.request("submitted; the batches are at the server")
                    await waiting.wait()
            finally:
                await asyncio.shield(self.provider.aclose())
        if batches.problem is not None:
            raise RunError(batches.problem)
        control.progress.stopped = stop.reason
        return control.progress


class _WaitingAsks:
    """Records which asks wait for which batch, and receives the requests of the client."""

    def __init__(self, batches: Batches, client: Batched, trial: SchemaTrial | None) -> None:
        self._batches, self._ledger = batches, batches.ledger
        self._refused_parameters, self._trial = client.inner.refused_parameters, trial
        if trial is not None:
            trial.tries = min(trial.tries, 1)  # a second one would wait for a second batch
        self._planner = Planner(self._ledger, batches.provider, client.settings.size)
        self._where: dict[int, str] = {}
        """By the hash of an ask's key: the part that it waits for. Answered asks wait for none."""
        for part in list(self._ledger.parts.values())[-1:]:
            self._refused_parameters.learned |= part.learned
            if trial is not None and part.settled:
                trial.recall(part.trial)

    # ------------------------------------------------------------ the requests of the client

    def result(self, name: str) -> Result | None:
        return self._ledger.result(name)

    def is_first(self, name: str) -> bool:
        return self._ledger.is_first(name)

    def note(self, name: str, body: Sequence[bytes]) -> None:
        if name not in self._ledger.waiting:
            self._ledger.waiting[name] = self._planner.add(name, body)

    # ------------------------------------------------------------ a round

    def left(self, todo: Callable[[], Iterator[Ask]]) -> Iterator[Ask]:
        """Yield asks that are neither answered nor waiting, or only the first one while it decides
        on the schema.
        """
        for ask in todo():
            if hash(ask.key) not in self._where:
                yield ask
            if self._trial is not None and self._trial.open and self._where.get(hash(ask.key)):
                return

    def asking(self, ask_one: AskOne[Ask]) -> AskOne[Ask]:
        """Ask one question; return None if it now waits for a batch."""

        async def asked(ask: Ask) -> Outcome | None:
            key = hash(ask.key)
            try:
                outcome = await ask_one(ask)
            except Pending as pending:
                self._where[key] = self._ledger.waiting[str(pending)]
                await self._submit()
                return None
            self._where[key] = _ANSWERED
            return outcome

        return asked

    async def refused(self) -> bool:
        """Submit the requests of this round. Return whether the server refused some of them, which
        then count as failed.
        """
        self._planner.finish()
        await self._submit()
        ended = await self._batches.settle()
        self._forget(ended)
        return bool(ended)

    @property
    def waits(self) -> bool:
        """Return whether any ask waits for a batch."""
        return any(part.batch is not None for part in self._ledger.open_parts())

    def _forget(self, ended: set[str]) -> None:
        """Repeat the asks that waited for these parts."""
        self._where = {key: name for key, name in self._where.items() if name not in ended}

    async def _submit(self) -> None:
        while self._planner.whole:
            name, requests = self._planner.whole.pop(0)
            outcome, settled = (
                (None, True) if self._trial is None else (self._trial.outcome, not self._trial.open)
            )
            part = Part(name, requests, self._refused_parameters.learned, outcome, settled)
            known = {"learned": sorted(part.learned), "trial": part.trial, "settled": part.settled}
            await self._batches.submit(
                await self._ledger.say("planned", part, requests=requests, **known)
            )

    async def wait(self) -> None:
        """Wait until a batch has ended and its results have been downloaded."""
        batches = self._batches
        wait_s = min(_FIRST_LOOK_S, batches.longest_s)
        while batches.stop.reason is None:
            looked = [
                part for part in self._ledger.open_parts() if part.batch is not None or part.foreign
            ]
            ended = {part.name for part in looked if await batches.look(part)}
            if ended or not self.waits:
                self._forget(ended)
                if batches.limited and not self._ledger.open_parts():
                    await batches.sleep(batches.longest_s)
                return
            await batches.sleep(wait_s)
            wait_s = min(batches.longest_s, 1.5 * wait_s)
