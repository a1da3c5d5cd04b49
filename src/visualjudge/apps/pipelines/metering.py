"""A budget kept call by call: a row takes several calls, and a judge repeats some of them.

The most calls that a row may take are booked before it starts, so that a row that begins is finished. What does not fit
waits while other calls are under way, since these may cost less than was booked; it is refused when none is.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from visualjudge.clients.base import Client, Reply, Request
from visualjudge.clients.wrapping import Wrapping
from visualjudge.core.errors import ClientError, RunError
from visualjudge.runs.budget import Budget, Usage


class BudgetSpent(RunError):
    """No further call may be made; the message has what was spent."""


class Meter:
    """The account of a run."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def open(self, calls: int) -> AsyncIterator[Allowance]:
        """An allowance of ``calls`` for one row, once there is room for it; what is left of it is given back.

        Raises
        ------
        BudgetSpent
            If there is no room, and nothing is under way that could leave some.
        """
        await self.book(calls)
        allowance = Allowance(self, calls)
        try:
            yield allowance
        finally:
            allowance.close()

    async def book(self, calls: int) -> None:
        """Wait until there is room for ``calls`` more, and book them.

        Raises
        ------
        BudgetSpent
            As :meth:`open`.
        """
        while refusal := self.budget.refusal(calls):
            if not self.budget.in_flight:
                raise BudgetSpent(refusal)
            await self._changed.wait()
        for _ in range(calls):
            self.budget.begin()

    def release(self, calls: int) -> None:
        """Booked calls that are not made."""
        for _ in range(calls):
            self.budget.abandon()
        self._tell()

    def settle(self, usage: Usage | None, calls: int) -> None:
        """A booked call has ended; ``calls`` is 0 where its reply came out of a cache."""
        self.budget.settle(usage, calls=calls)
        self._tell()

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


class Allowance:
    """The calls of one row: ``calls`` and ``usage`` are what was paid."""

    def __init__(self, meter: Meter, booked: int) -> None:
        self._meter = meter
        self._booked = booked
        self.calls = 0
        self.usage: Counter[str] = Counter()

    def close(self) -> None:
        """Give back what was not needed."""
        self._meter.release(self._booked)
        self._booked = 0

    async def ask(self, client: Client, request: Request, attempt: int) -> Reply:
        """One call, on the account."""
        if self._booked:
            self._booked -= 1
        else:  # a judge that takes more than it says
            await self._meter.book(1)
        try:
            reply = await client.ask(request, attempt=attempt)
        except ClientError as error:
            self._settle(error.usage or None, 1)
            raise
        except BaseException:
            self._meter.release(1)
            raise
        self._settle(reply.usage, 0 if reply.cached else 1)
        return reply

    def _settle(self, usage: Usage | None, calls: int) -> None:
        self._meter.settle(usage, calls)
        self.calls += calls
        if calls:
            self.usage.update(usage or {})


class Metered(Wrapping):
    """A client whose calls are a row's."""

    def __init__(self, inner: Client, allowance: Allowance) -> None:
        super().__init__(inner)
        self.allowance = allowance

    async def ask(self, request: Request, *, attempt: int = 0) -> Reply:
        """As the inner client.

        Raises
        ------
        BudgetSpent
            If there is no room for the call.
        """
        return await self.allowance.ask(self.inner, request, attempt)
