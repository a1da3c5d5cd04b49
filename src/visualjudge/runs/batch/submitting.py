"""Submit each part of a run to the server once, and download complete results.

The ledger records each step before and after it is taken. If the answer to a submission was lost,
the server is asked whether the batch exists before it is submitted again.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import BinaryIO

from visualjudge.clients.batch.batched_client import UNSENT
from visualjudge.clients.batch.provider import Look, Provider, Unsure
from visualjudge.clients.retry import RetryPolicy, cause_of
from visualjudge.core.errors import ApiError, ClientError, TransportError
from visualjudge.runs.batch.ledger import CLOSED, LOST, Ledger, Part
from visualjudge.runs.job_runner import Stop

_BUSY = RetryPolicy(attempts=10, first_wait_s=1.0, longest_wait_s=120.0, patience_s=3600.0)
_DOWNLOADS = 5
_TICK_S, _UNSURE_S = 0.25, 5.0
_LOOKS = 60
"""Maximum number of failed polls in a row before a batch is closed: two hours, at one every two
minutes.
"""
_REFUSALS = 3
"""Maximum number of refused batches in a row before a run stops submitting."""
_MOST_FOREIGN = 10
"""Maximum number of other users' batches that may be mistaken for a part's before it is closed."""


@dataclass
class Batches:
    """Submits, checks and downloads the parts of a ledger.

    Parameters
    ----------
    longest_s
        Maximum number of seconds between two polls.
    say
        Called with lines for the user.
    closing
        Whether to close a batch that cannot be reached; otherwise it is only listed in ``failed``.

    Attributes
    ----------
    problem
        Why parts have no batch; the run ends with this message once all others have ended.
    """

    ledger: Ledger
    provider: Provider
    longest_s: float = 120.0
    say: Callable[[str], None] = lambda line: None
    stop: Stop = field(default_factory=Stop)
    closing: bool = True
    limited: int = 0
    """Number of batches in a row refused because too much was queued."""
    problem: str | None = None
    failed: list[str] = field(default_factory=list)
    taken: bool = False
    """Whether the server created a batch in this invocation."""
    in_a_row: int = 0
    """Number of parts in a row without a batch."""
    _refused: dict[str, ClientError] = field(default_factory=dict)
    _unseen_looks: Counter[str] = field(default_factory=Counter)

    async def sleep(self, seconds: float) -> None:
        """Wait, but no longer than until a stop is requested."""
        while seconds > 0 and self.stop.reason is None:
            await asyncio.sleep(min(seconds, _TICK_S))
            seconds -= _TICK_S

    # ------------------------------------------------------------ submitting

    async def submit(self, part: Part) -> None:
        """Submit a part once; if it may have been submitted before, look for its batch first.

        A refused part is unchanged until :meth:`settle` closes or keeps it.
        """
        for failures in itertools.count(1):
            if part.batch is not None or self.stop.reason is not None or self.in_a_row >= _REFUSALS:
                return
            unsure = part.submitting is not None
            try:
                if unsure and await self.confirmed(part):
                    return
                batch = await self._made(part)
            except (Unsure, ClientError) as error:
                if not await self._may_repeat(part, error, failures, unsure=unsure):
                    return
            else:
                await self._submitted(part, batch, certain=True)
                self.in_a_row, self.taken = 0, True
            part = self.ledger.parts[part.name]

    async def confirmed(self, part: Part) -> str | None:
        """Return the batch of a part whose confirmation was lost.

        Raises
        ------
        ClientError
            If the server does not list its batches.
        """
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

    async def _may_repeat(
        self, part: Part, error: Unsure | ClientError, failures: int, *, unsure: bool
    ) -> bool:
        """Wait before another try, or give up on the part. Only an explicit refusal means that no
        batch was created.
        """
        plain = isinstance(error, ClientError) and not unsure
        if plain:
            await self.ledger.say("refused", part, reason=str(error))
        waits = ApiError(503, "") if isinstance(error, Unsure) else error
        wait_s = None if isinstance(error, TransportError) else _BUSY.wait_s(failures, waits, 0.5)
        if wait_s is not None:
            await self.sleep(min(wait_s, self.longest_s))
            return True
        self.in_a_row += 1
        if plain and isinstance(error, ApiError):
            self._refused[part.name] = error
        else:
            self.problem = self.problem or _unmade(error)
        return False

    async def settle(self) -> set[str]:
        """Close each part that the server refused while it accepted others. Return their names.

        If it accepted none, or refused several in a row, the key, the address or the account is the
        likely cause: all parts are kept for later, and the run ends with ``problem``.
        """
        refused, self._refused = self._refused, {}
        if refused and (self.in_a_row >= _REFUSALS or not self.taken):
            self.problem = self.problem or _unmade(next(iter(refused.values())))
            return set()
        for name, error in refused.items():
            await self._close(self.ledger.parts[name], error)
        return set(refused)

    async def _submitted(self, part: Part, batch: str, *, certain: bool) -> None:
        await self.ledger.say("submitted", part, batch=batch, certain=certain)
        self.say(f"batch {batch}: {part.requests} requests submitted")

    async def recall(self, part: Part) -> None:
        """Continue a part of an earlier invocation. A part that was not submitted is planned again,
        because settings may differ.
        """
        try:
            known = part.batch is not None or await self.confirmed(part)
        except ClientError as error:
            self.problem = self.problem or _unmade(error)
            return
        if known:
            await self.look(self.ledger.parts[part.name])
        elif self.stop.reason is None:
            await self.unsent(part)

    async def unsent(self, part: Part) -> None:
        """Close a part that was never submitted."""
        look = Look(UNSENT, ended=True)
        self.ledger.collect(part, look, self.provider, [])
        self.ledger.arrived(await self.ledger.say("ended", part, status=look.status, replies=0))

    # ------------------------------------------------------------ results

    async def look(self, part: Part) -> bool:
        """Return whether a batch has ended or cannot be reached. Results of an ended batch are
        downloaded.
        """
        if part.batch is None:
            await self.submit(part)
            return False
        try:
            look = await self._looked(part.batch)
        except ClientError as error:
            return await self._unseen(part, error)
        self._unseen_looks.pop(part.name, None)
        if not look.ended:
            return False
        found = await self._take(part, look)
        if found is None:
            await self.ledger.say("foreign", part, batch=part.batch)
            return False
        if found.failure is not None:
            if self.closing:
                await self._close(part, found.failure, found.replies)
            else:
                self._tell(part, found.failure)
            return self.closing
        self.ledger.arrived(
            await self.ledger.say("ended", part, status=look.status, replies=found.replies)
        )
        again = (
            "; --retry-errors submits its requests again"
            if look.refused and not look.limited
            else ""
        )
        ended = f"{look.status}, {found.replies} of {part.requests} replies{_because(look)}{again}"
        self.say(f"batch {part.batch}: {ended}")
        self.limited = 0 if found.replies else self.limited + look.limited
        return True

    async def _looked(self, batch: str) -> Look:
        if self.closing:
            return await self.provider.look(batch)
        return await self.provider.patiently(lambda: self.provider.look(batch))

    async def _unseen(self, part: Part, error: ClientError) -> bool:
        """Poll again later after server and network errors; close the part after other errors."""
        self._unseen_looks[part.name] += 1
        if not self.closing:
            self._tell(part, error)
        elif error.retryable and self._unseen_looks[part.name] < _LOOKS:
            if self._unseen_looks[part.name] == 1:
                self.say(f"batch {part.batch}: {error}; checking again")
        else:
            await self._close(part, error)
        return self.closing and not self.ledger.parts[part.name].open

    def _tell(self, part: Part, error: ClientError) -> None:
        self.failed.append(f"batch {part.batch}: {error}")

    async def _close(self, part: Part, error: ClientError, replies: int | None = None) -> None:
        """Close a part that cannot be reached; ``replies`` counts replies collected so far."""
        if replies is None:
            failure = f"batch closed: {cause_of(error)}"
            replies = self.ledger.collect(
                part, Look(CLOSED, ended=True), self.provider, [], failure
            ).replies
        self.ledger.arrived(
            await self.ledger.say("closed", part, reason=str(error), replies=replies)
        )
        asks = "checks it again, then asks again" if part.batch else "asks again"
        self.say(
            f"batch {part.batch or part.name}: closed, because it cannot be retrieved: {error}; "
            f"--retry-errors {asks}"
        )

    async def _take(self, part: Part, look: Look) -> _Taken | None:
        """Download the results, again if there are fewer than the server counts. Return None if the
        batch belongs to other requests.
        """
        for number in range(_DOWNLOADS):
            if number:
                await self.sleep(min(_UNSURE_S, self.longest_s))
            with ExitStack() as opened:
                sources, failure = await self._downloads(look, opened)
                cause = None if failure is None else f"batch closed: {cause_of(failure)}"
                found = self.ledger.collect(part, look, self.provider, sources, cause)
            if found.foreign and not part.certain and len(part.foreign) < _MOST_FOREIGN:
                return None
            if found.whole or failure is not None:
                break
        if failure is None and not found.whole:
            said = (
                f"it has {look.succeeded} replies, of which {found.replies} can be "
                f"read{_because(look)}"
            )
            failure = TransportError(said, cause=LOST)
        return _Taken(found.replies, failure if found.missing else None)

    async def _downloads(
        self, look: Look, opened: ExitStack
    ) -> tuple[list[BinaryIO], ClientError | None]:
        """Return the downloaded result files, and why others could not be downloaded."""
        sources, failure = [], None
        for file in look.files:
            into = opened.enter_context(self.ledger.download())
            try:
                await self.provider.download(file, into)
            except ClientError as error:
                failure = error
            else:
                into.seek(0)
                sources.append(into)
        return sources, failure


@dataclass(frozen=True, slots=True)
class _Taken:
    replies: int
    failure: ClientError | None


def _unmade(error: Exception) -> str:
    return f"no batch was made: {error}; continue with --resume"


def _because(look: Look) -> str:
    """Return why a batch was refused."""
    return f", refused: {look.reason or 'no reason was given'}" if look.refused else ""
