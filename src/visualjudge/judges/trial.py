"""Whether a server keeps to a JSON schema: tried with the first question of a run, so that the rest is asked alike."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from visualjudge.clients.base import Reply, Request
from visualjudge.clients.schemas import REFUSED, follows
from visualjudge.errors import ApiError

Outcome = Literal["followed", "refused", "ignored"]
IGNORED = "schema ignored by the server; asked in text"
_FINAL_STATUSES = (400, 404, 422, 501)
_OF_A_PARAMETER = re.compile(
    r"unknown|unrecogni[sz]ed|unsupported|not (?:supported|permitted|allowed|implemented)|extra|unexpected|invalid"
    r"|validation|field|parameter|argument|bad request",
    re.IGNORECASE,
)
"""How servers refuse a parameter that they do not have; most do not name it."""


@dataclass
class SchemaTrial:
    """``outcome`` is None until a reply tells."""

    outcome: Outcome | None = None
    _over: bool = False
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def wanted(self) -> bool:
        """Whether to ask with a schema."""
        return self.outcome in (None, "followed")

    @property
    def open(self) -> bool:
        """Whether the first question has not been answered yet."""
        return not self._over

    def recall(self, outcome: str | None) -> None:
        """Take over how an earlier trial ended."""
        self.outcome, self._over = next((known for known in get_args(Outcome) if known == outcome), None), True

    @property
    def adjustments(self) -> tuple[str, ...]:
        """What to tell the user of it."""
        return (IGNORED,) if self.outcome == "ignored" else (REFUSED,) if self.outcome == "refused" else ()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """The first question alone; all others at once when it has been answered."""
        if not self._over:
            async with self._lock:
                if not self._over:
                    yield  # what is raised here, such as Pending, leaves the trial open
                    self._over = True
                    return
        yield

    async def reply(self, request: Request, ask: Callable[[Request], Awaitable[Reply]]) -> Reply:
        """The reply to ``request``, or to the same without a schema where the server takes none.

        Raises
        ------
        ClientError
            The server failed with either.
        """
        try:
            reply = await ask(request)
        except ApiError as error:
            refused = error.status in _FINAL_STATUSES and _OF_A_PARAMETER.search(str(error))
            if self.outcome is not None or request.schema is None or not refused:
                raise
            reply = await ask(replace(request, schema=None))
            self.outcome = "refused"
            return reply
        if self.outcome is None and request.schema is not None:
            self.outcome = _told(request, reply)
        return reply


def _told(request: Request, reply: Reply) -> Outcome | None:
    if REFUSED in reply.notes:
        return "refused"
    if reply.finish_reason != "stop" or not reply.text or request.schema is None:
        return None
    return "followed" if follows(reply.text, request.schema) else "ignored"
