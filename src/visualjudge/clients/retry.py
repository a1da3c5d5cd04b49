"""Retry after 408, 409, 429, 5xx, time-outs and lost connections, with exponential
back-off, jitter and Retry-After. How a server's error is read is in
``server_errors.py``.

Other 4xx errors are the caller's and are never retried.
"""

import asyncio
import itertools
import os
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from visualjudge.clients.base import (
    Client,
    Diagnostics,
    Reply,
    Request,
    Wrapping,
    with_failed,
)
from visualjudge.clients.masked_secrets import environment_secrets
from visualjudge.core.errors import ApiError, ClientError, TransportError
from visualjudge.core.seeding import rng_for

_jitter = rng_for(os.getpid(), "back-off")
Result = TypeVar("Result")
LONG_WAIT = "long wait"
Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How many times and how long to retry.

    Parameters
    ----------
    attempts
        Total number of calls, including the first.
    first_wait_s, longest_wait_s
        Seconds before the second call, doubled each time up to the longest, or to
        ``patience_s`` if that is less. Half of the wait is jitter (AWS's "equal
        jitter"), so that clients refused together do not retry together.
    patience_s
        If Retry-After is longer than this many seconds, the failure is reported at
        once, as :data:`LONG_WAIT`.
    absent
        Total number of calls to a server that was never reached: a wrong port is told
        at once, unless the user waits for a server that starts.
    """

    attempts: int = 6
    absent: int = 1
    first_wait_s: float = 0.5
    longest_wait_s: float = 30.0
    patience_s: float = 300.0

    def is_long(self, error: ClientError) -> bool:
        """Return whether the server asks for a wait that is too long."""
        wish = error.retry_after if isinstance(error, ApiError) else None
        return (
            error.retryable and wish is not None and not wish <= self.patience_s
        )

    def wait_s(
        self, failures: int, error: ClientError, draw: float
    ) -> float | None:
        """Return the seconds to wait after the given number of failures; None = give
        up. ``draw`` is uniform in [0, 1).
        """
        if (
            not error.retryable
            or failures >= self.attempts
            or self.is_long(error)
        ):
            return None
        backoff = min(
            self.longest_wait_s,
            self.patience_s,
            self.first_wait_s * 2.0 ** (failures - 1),
        )
        wish = error.retry_after if isinstance(error, ApiError) else None
        return (
            backoff * (0.5 + draw / 2)
            if wish is None
            else wish + draw * min(backoff, self.first_wait_s)
        )


def cause_of(error: ClientError) -> str:
    """Return a short cause of a failure for verdicts and counts: "HTTP 503", "timeout",
    "connection", "not JSON" …
    """
    if isinstance(error, ApiError):
        return f"HTTP {error.status}"
    return (
        error.cause
        if isinstance(error, TransportError)
        else type(error).__name__
    )


async def retried(
    call: Callable[[], Awaitable[Result]],
    policy: RetryPolicy,
    *,
    failed: Callable[[int, ClientError], bool] = lambda failures, error: True,
    sleep: Sleep = asyncio.sleep,
) -> Result:
    """Return the first result of a call that is safe to repeat.

    Parameters
    ----------
    failed
        Called with the number of failures and the last one; returns whether to go on.

    Raises
    ------
    ClientError
        If the policy gives up, or ``failed`` says so; the last failure.
    """
    for failures in itertools.count(1):
        try:
            return await call()
        except ClientError as error:
            error.args = (
                environment_secrets()(str(error)),
            )  # of a plug-in's client
            wait_s = policy.wait_s(failures, error, float(_jitter.random()))
            goes_on = failed(failures, error)
            if policy.is_long(error):
                raise TransportError(
                    f"{error}; it asks to wait {error.retry_after:,.0f} s, longer than "  # type: ignore[attr-defined]
                    f"`longest_wait={policy.patience_s:g}`",
                    cause=LONG_WAIT,
                    usage=error.usage,
                    retryable=False,
                ) from None
            if not goes_on or wait_s is None:
                raise
        await sleep(wait_s)
    raise AssertionError("unreachable")


class Retrying(Wrapping):
    """A client that retries failed calls.

    ``failures`` counts all failed calls by cause, including those that a retry
    recovered.
    """

    def __init__(
        self,
        inner: Client,
        policy: RetryPolicy | None = None,
        *,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        super().__init__(inner)
        self.policy = policy or RetryPolicy()
        self.failures: Counter[str] = Counter()
        self._sleep = sleep
        self._reached = False
        self._absent = self.policy.absent

    @property
    def diagnostics(self) -> Diagnostics:
        return replace(self.inner.diagnostics, failures=self.failures)

    async def ask(self, request: Request, *, attempt: int = 0) -> Reply:
        """Return the first reply. Its token counts include all calls that the server
        counted.

        Raises
        ------
        ClientError
            If the policy gives up; the last failure is raised.
        """
        billed = Counter[str]()

        def failed(failures: int, error: ClientError) -> bool:
            self._reached |= getattr(error, "reached", True)
            self.failures[cause_of(error)] += 1
            billed.update(error.usage)
            error.usage = dict(billed)
            gone = not self._reached and failures >= self._absent
            self._absent = (
                1 if gone else self._absent
            )  # one call has waited for all
            return not gone

        reply = await retried(
            lambda: self.inner.ask(request, attempt=attempt),
            self.policy,
            failed=failed,
            sleep=self._sleep,
        )
        self._reached = True
        return with_failed(reply, billed)
