"""Asking again: 408, 409, 429, 5xx, time-outs and lost connections, with exponential back-off,
jitter and Retry-After.

Any other 4xx is the caller's mistake and is never repeated.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from visualjudge.clients.base import Client, Diagnostics, Reply, Request, Wrapping, with_failed
from visualjudge.core.errors import ApiError, ClientError, TransportError
from visualjudge.core.seeding import rng_for

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently.

    Parameters
    ----------
    attempts
        Calls in all, the first included.
    first_wait_s, longest_wait_s
        Back-off before the second call, doubled each time up to the longest; half of it is jitter
        (AWS's "equal jitter"), so that many clients that were refused together do not come back
        together.
    patience_s
        A Retry-After above this is not waited for: the failure is reported.
    """

    attempts: int = 6
    first_wait_s: float = 0.5
    longest_wait_s: float = 30.0
    patience_s: float = 300.0

    def wait_s(self, failures: int, error: ClientError, draw: float) -> float | None:
        """Seconds to wait after the ``failures``-th failure; None = give up. ``draw`` is uniform in
        [0, 1).
        """
        if not error.retryable or failures >= self.attempts:
            return None
        backoff = min(self.longest_wait_s, self.first_wait_s * 2.0 ** (failures - 1))
        wish = error.retry_after if isinstance(error, ApiError) else None
        if wish is None:
            return backoff * (0.5 + draw / 2)
        return (
            None
            if not 0 <= wish <= self.patience_s
            else wish + draw * min(backoff, self.first_wait_s)
        )


def cause_of(error: ClientError) -> str:
    """A failure in two words, as verdicts and counts name it: "HTTP 503", "timeout", "connection",
    "not JSON" …
    """
    if isinstance(error, ApiError):
        return f"HTTP {error.status}"
    return error.cause if isinstance(error, TransportError) else type(error).__name__


class Retrying(Wrapping):
    """A client that asks again.

    ``failures`` counts every failed call by cause, those that a later call made good included.
    """

    def __init__(
        self, inner: Client, policy: RetryPolicy | None = None, *, sleep: Sleep = asyncio.sleep
    ) -> None:
        super().__init__(inner)
        self.policy = policy or RetryPolicy()
        self.failures: Counter[str] = Counter()
        self._sleep = sleep
        self._asked = 0

    @property
    def diagnostics(self) -> Diagnostics:
        """Of the client that is asked, with the calls that failed here."""
        return replace(self.inner.diagnostics, failures=self.failures)

    async def ask(self, request: Request, *, attempt: int = 0) -> Reply:
        """The first reply that comes; its tokens are those of all calls that the server counted.

        Raises
        ------
        ClientError
            The last failure, when the policy gives up.
        """
        number, billed = self._asked, Counter[str]()
        self._asked += 1
        for failures in itertools.count(1):
            try:
                return with_failed(await self.inner.ask(request, attempt=attempt), billed)
            except ClientError as error:
                self.failures[cause_of(error)] += 1
                billed.update(error.usage)
                # The process is a key too: several that were refused together must not come back
                # together.
                draw = float(rng_for(os.getpid(), "back-off", number, failures).random())
                wait_s = self.policy.wait_s(failures, error, draw)
                if wait_s is None:
                    error.usage = dict(billed)
                    raise
            await self._sleep(wait_s)
        raise AssertionError("unreachable")
