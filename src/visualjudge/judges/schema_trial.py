"""Find out with the first questions of a run whether a server follows a JSON schema, so that all
others are asked in the same way.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from visualjudge.clients.base import Reply, Request
from visualjudge.clients.json_schemas import REFUSED, follows
from visualjudge.core.errors import ApiError
from visualjudge.judges.base import Judge

Outcome = Literal["followed", "refused", "ignored"]
IGNORED = "schema ignored by the server; asked in text"
_FINAL_STATUSES = (400, 404, 422, 501)
_OF_A_PARAMETER = re.compile(
    r"unknown|unrecogni[sz]ed|unsupported|not "
    r"(?:supported|permitted|allowed|implemented)|extra|unexpected|invalid"
    r"|validation|field|parameter|argument|bad request",
    re.IGNORECASE,
)
"""Ways in which servers refuse an unknown parameter; most do not name it."""


TRIES = 4
"""Maximum number of questions asked one by one. If none is conclusive, all others are asked with a
schema too.
"""


@dataclass
class SchemaTrial:
    """The trial, whose ``outcome`` is None until a reply decides. The mode may change during the
    trial only, so that a run has one mode.
    """

    outcome: Outcome | None = None
    tries: int = TRIES
    """Number of trial questions left."""
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def wanted(self) -> bool:
        """Return whether to ask with a schema."""
        return self.outcome in (None, "followed")

    @property
    def open(self) -> bool:
        """Return whether the next question is asked on its own."""
        return self.outcome is None and self.tries > 0

    def recall(self, outcome: str | None) -> None:
        """Adopt the outcome of an earlier trial."""
        self.tries = 0
        self.outcome = next((known for known in get_args(Outcome) if known == outcome), None)

    @property
    def adjustments(self) -> tuple[str, ...]:
        """Return messages to the user about the trial."""
        notes = {"ignored": (IGNORED,), "refused": (REFUSED,)}
        return notes.get(str(self.outcome), ())

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Ask one question at a time during the trial, and all others concurrently after it."""
        if self.open:
            async with self._lock:
                if self.open:
                    yield  # an exception here, such as Pending, does not count as a try
                    self.tries -= 1
                    return
        yield

    async def reply(self, request: Request, ask: Callable[[Request], Awaitable[Reply]]) -> Reply:
        """Return the reply to ``request``, or to the same request without a schema if the server
        rejects schemas.

        Raises
        ------
        ClientError
            If the server failed with both.
        """
        try:
            return await ask(request)
        except ApiError as error:
            refused = error.status in _FINAL_STATUSES and _OF_A_PARAMETER.search(str(error))
            if self.outcome is not None or request.schema is None or not refused:
                raise
            reply = await ask(replace(request, schema=None))
            self.outcome = "refused"
            return reply

    def hear(self, request: Request, reply: Reply, *, answers: bool) -> None:
        """Learn from a reply; ``answers`` states whether an answer could be read.

        Refused and truncated replies do not show whether a schema is ignored.
        """
        if self.outcome is not None or request.schema is None:
            return
        if REFUSED in reply.notes:
            self.outcome = "refused"
        elif reply.finish_reason == "stop" and follows(reply.text, request.schema):
            self.outcome = "followed"
        elif reply.finish_reason == "stop" and answers and self.open:
            self.outcome = "ignored"


def trial_of(judge: Judge) -> SchemaTrial | None:
    """Return a judge's trial, or None."""
    found: SchemaTrial | None = getattr(judge, "trial", None)
    return found
