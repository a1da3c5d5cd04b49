"""The parts of a run at the server: each submitted once, its results taken whole.

Each step is in the ledger before and after it is taken. Whether a batch was made although the answer was lost is looked
up at the server before it is made again.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from visualjudge.clients.batch.provider import Look, Provider, Unsure
from visualjudge.clients.retry import RetryPolicy
from visualjudge.core.errors import ApiError, ClientError, RunError
from visualjudge.runs.batch.ledger import Ledger, Part
from visualjudge.runs.runner import Stop

_BUSY = RetryPolicy(attempts=10, first_wait_s=1.0, longest_wait_s=120.0, patience_s=3600.0)
_DOWNLOADS, _MOST_LIMITED = 5, 50
_TICK_S, _UNSURE_S = 0.25, 5.0
_GONE = frozenset({404, 410})
"""Statuses of results that the server keeps no more."""


@dataclass
class Batches:
    """What is done with the parts of a ledger.

    Parameters
    ----------
    longest_s
        Seconds between two looks, at most.
    say
        Called with lines for the user.
    """

    ledger: Ledger
    provider: Provider
    longest_s: float = 120.0
    say: Callable[[str], None] = lambda line: None
    stop: Stop = field(default_factory=Stop)
    limited: int = 0
    """Batches in a row that the server refused since too much was queued."""

    async def sleep(self, seconds: float) -> None:
        """Wait, but no longer than for a wish to stop."""
        while seconds > 0 and self.stop.reason is None:
            await asyncio.sleep(min(seconds, _TICK_S))
            seconds -= _TICK_S

    # ------------------------------------------------------------ submitting

    async def submit(self, part: Part) -> None:
        """Have the batch of a part made, once: where that may have happened, it is looked for first.

        Raises
        ------
        RunError
            If the server refuses, or does not answer.
        """
        for failures in itertools.count(1):
            if part.batch is not None or self.stop.reason is not None:
                return
            unsure = part.submitting is not None
            if unsure and await self.confirmed(part):
                return
            try:
                batch = await self._made(part)
            except (Unsure, ApiError) as error:
                await self._refused(part, error, failures, unsure=unsure)
            else:
                await self._submitted(part, batch, certain=True)
            part = self.ledger.parts[part.name]

    async def confirmed(self, part: Part) -> str | None:
        """The batch that the server made of a part without our hearing of it."""
        if part.submitting is None:
            return None
        await self.sleep(min(_UNSURE_S, self.longest_s))
        found = await self.provider.find(self.ledger.ticket(part))
        if found is not None:
            await self._submitted(part, found, certain=not self.provider.anonymous)
        return found

    async def _made(self, part: Part) -> str:
        path = self.ledger.requests_of(part.name)
        if part.file is None:
            file = await self.provider.upload(part.name, path)
            part = part if file is None else await self.ledger.say("uploaded", part, file=file)
        part = await self.ledger.say("submitting", part)
        return await self.provider.create(self.ledger.ticket(part), path)

    async def _refused(self, part: Part, error: Unsure | ApiError, failures: int, *, unsure: bool) -> None:
        """Wait before another try, or give up; only a plain refusal says that no batch was made."""
        wait_s = _BUSY.wait_s(failures, error if isinstance(error, ApiError) else ApiError(503, ""), 0.5)
        if isinstance(error, ApiError) and not unsure:
            await self.ledger.say("refused", part, reason=str(error))
        if wait_s is None:
            raise RunError(f"no batch was made: {error}; continue with --resume") from None
        await self.sleep(min(wait_s, self.longest_s))

    async def _submitted(self, part: Part, batch: str, *, certain: bool) -> None:
        await self.ledger.say("submitted", part, batch=batch, certain=certain)
        self.say(f"batch {batch}: {part.requests} requests submitted")

    async def recall(self, part: Part) -> None:
        """Go on with a part of an earlier invocation. One that was not submitted is planned anew: it may be of other
        settings.
        """
        if part.batch is not None or await self.confirmed(part):
            await self.look(self.ledger.parts[part.name])
        elif self.stop.reason is None:
            await self.drop(part)

    async def drop(self, part: Part) -> None:
        """End a part that was never submitted."""
        look = Look("cancelled", ended=True)
        self.ledger.collect(part, look, self.provider, [])
        self.ledger.arrived(await self.ledger.say("ended", part, status=look.status, replies=0))

    # ------------------------------------------------------------ results

    async def look(self, part: Part) -> bool:
        """Whether a batch has ended; then its results are taken.

        Raises
        ------
        RunError
            If the server refused its requests as a whole.
        """
        if part.batch is None:
            await self.submit(part)
            return False
        try:
            look = await self.provider.look(part.batch)
        except ClientError as error:
            if not error.retryable:
                raise
            self.say(f"batch {part.batch}: {error}; looking again")  # a day is long: servers and networks come back
            return False
        if not look.ended:
            return False
        replies = await self._take(part, look)
        if replies is None:
            await self.ledger.say("foreign", part, batch=part.batch)
            return False
        self.ledger.arrived(await self.ledger.say("ended", part, status=look.status, replies=replies))
        self.say(f"batch {part.batch}: {look.status}, {replies} of {part.requests} replies")
        self._check(part, look, replies)
        return True

    async def _take(self, part: Part, look: Look) -> int | None:
        """Its results; again where they are fewer than the server counts. None: the batch is another's."""
        for number in range(_DOWNLOADS):
            if number:
                await self.sleep(min(_UNSURE_S, self.longest_s))
            sources = self.ledger.downloads_of(part.name, len(look.files))
            try:
                await self._download(look, sources)
            except ApiError as error:
                if error.status not in _GONE:
                    raise
                sources = []
            replies, whole, foreign = self.ledger.collect(part, look, self.provider, sources)
            if foreign and not part.certain:
                return None
            if whole:
                break
        return replies

    async def _download(self, look: Look, sources: list[Path]) -> None:
        for file, path in zip(look.files, sources, strict=True):
            with path.open("wb") as into:
                await self.provider.download(file, into)

    def _check(self, part: Part, look: Look, replies: int) -> None:
        """A batch that was refused is the user's affair, unless it only came too early."""
        self.limited = 0 if replies else self.limited + look.limited
        if (look.refused and not look.limited) or self.limited > _MOST_LIMITED:
            reason = look.reason or "no reason was given"
            raise RunError(f"batch {part.batch} was refused: {reason}; --resume submits its requests again")
