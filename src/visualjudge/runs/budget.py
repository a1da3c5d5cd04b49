"""Limits on calls, tokens and money, and the token counts of a reply. A run stops before it exceeds
a limit, and only between jobs. ``runs/spending.py`` computes the cost of whole runs.

A job, such as a question, takes one or more calls, and many jobs are in flight at once. Each
reserves the maximum that a job may use: known for calls, and the largest job so far for tokens and
money.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from visualjudge.clients.reply_fields import whole_output
from visualjudge.core.errors import UsageError

Usage = Mapping[str, int]
SILENT = 8
"""Number of replies without token counts after which a limit on tokens or cost is considered
useless.
"""


def tokens_in(usage: Usage | None) -> int:
    """Return the prompt tokens as counted by the server; 0 if unknown."""
    return token_counts(usage)[0] or 0


def tokens_out(usage: Usage | None) -> int:
    """Return the reply tokens as counted by the server; 0 if unknown."""
    return token_counts(usage)[1] or 0


def money(cost: float) -> str:
    """Format an amount with four decimals, or two significant digits below 0.001."""
    return f"{cost:.4f}" if cost >= 0.001 or not cost else f"{cost:.2g}"


@dataclass(frozen=True, slots=True)
class Prices:
    """Money per million tokens, in any one currency.

    Raises
    ------
    UsageError
        If a price is negative or not finite.
    """

    per_million_in: float = 0.0
    per_million_out: float = 0.0
    share: float = 1.0
    """Share of these prices that is charged, such as one half in a batch."""

    def __post_init__(self) -> None:
        for price in (self.per_million_in, self.per_million_out, self.share):
            if not 0 <= price < math.inf:
                raise UsageError(f"a price must be a finite number of at least 0, got {price}")

    @property
    def are_stated(self) -> bool:
        """Whether any price is above 0."""
        return self.per_million_in + self.per_million_out > 0

    def cost(self, usage: Usage | None) -> float:
        """Return the cost of one call."""
        return self.of(tokens_in(usage), tokens_out(usage))

    def of(self, prompt: int, reply: int) -> float:
        """Return the cost of these tokens."""
        return (prompt * self.per_million_in + reply * self.per_million_out) * self.share / 1e6


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one invocation; None means no limit. Earlier invocations of a resumed run do not
    count.

    Raises
    ------
    UsageError
        If a limit is negative or not finite.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None

    def __post_init__(self) -> None:
        for name, limit in (
            ("calls", self.max_calls),
            ("tokens", self.max_tokens),
            ("cost", self.max_cost),
        ):
            if limit is not None and not 0 <= limit < math.inf:
                raise UsageError(
                    f"the limit of {name} must be a finite number of at least 0, got {limit}"
                )


@dataclass(frozen=True, slots=True)
class _Account:
    """One limit, the amount used, and the maximum that one job may use."""

    form: str
    used: float
    each: float
    limit: float

    def holds(self, jobs: int) -> bool:
        """Return whether this many jobs stay within the limit."""
        return self.used < self.limit and self.used + jobs * self.each <= self.limit

    def refusal(self, jobs: int) -> str:
        """Return the message for jobs that would exceed the limit."""
        if self.used >= self.limit:
            return f"{self} is used up"
        used, more = self.form.format(self.used), self.form.format(jobs * self.each)
        return f"stopped before {self} is exceeded: {used} used, the next may add {more}"

    def __str__(self) -> str:
        return f"the budget ({self.form.format(self.limit)})"


class Budget:
    """Count what was used, and decide whether more jobs may begin in addition to those in flight.

    Raises
    ------
    UsageError
        If cost is limited and no price is stated.
    """

    def __init__(self, limits: Limits | None = None, prices: Prices | None = None) -> None:
        self.limits = limits or Limits()
        self.prices = prices or Prices()
        if self.limits.max_cost is not None and not self.prices.are_stated:
            raise UsageError("--max-cost (max_cost) needs --price (prices)")
        self.calls = 0
        self.in_flight = 0
        self.tokens_in = 0
        self.tokens_out = 0
        self.cost = 0.0
        self._calls_each = 1
        self._most_tokens = 0
        self._most_cost = 0.0
        self._ended = 0
        self._silent = 0

    @property
    def tokens(self) -> int:
        """Tokens in and out so far."""
        return self.tokens_in + self.tokens_out

    def expect(self, calls: int) -> None:
        """Reserve this many calls per job in flight: the maximum for one job, including repeats.

        Raises
        ------
        UsageError
            If a single job may exceed the limit.
        """
        self.check(calls)
        self._calls_each = calls

    def check(self, calls: int) -> None:
        """Check that a single job that may take this many calls fits the limit.

        Raises
        ------
        UsageError
            If the job may exceed the limit.
        """
        limit = self.limits.max_calls
        if limit is not None and limit < calls:
            raise UsageError(
                f"--max-calls must be at least {calls}, which one question or row may take with "
                "its retries, "
                f"got {limit}"
            )

    def refusal(self, jobs: int = 1) -> str | None:
        """Return why this many jobs may not begin in addition to those in flight, or None if they
        may.

        With a limit on tokens, one job may be in flight at first, and one more for each job that
        has ended, until a reply has stated its tokens.
        """
        if self.limits == Limits():
            return None
        if self._is_blind and self._silent >= SILENT:
            return (
                "the replies state no tokens, so that tokens and cost cannot be limited; use "
                "--max-calls"
            )
        if self._is_blind and self.in_flight and self.in_flight + jobs > 1 + self._ended:
            return "what a call takes is not known yet"
        begun = self.in_flight + jobs
        short = next((account for account in self._accounts() if not account.holds(begun)), None)
        return None if short is None else self.excess() or short.refusal(jobs)

    def excess(self) -> str | None:
        """Return the limit exceeded because jobs were larger than all before, or None."""
        over = (account for account in self._accounts() if account.used > account.limit)
        return next(
            (
                f"{account} is exceeded: {account.form.format(account.used)} used"
                for account in over
            ),
            None,
        )

    @property
    def _is_blind(self) -> bool:
        """Whether tokens or cost are limited and no reply has stated its tokens yet."""
        return not self.tokens and (
            self.limits.max_tokens is not None or self.limits.max_cost is not None
        )

    def _accounts(self) -> Iterator[_Account]:
        limits = self.limits
        if limits.max_calls is not None:
            yield _Account("{} calls", self.calls, self._calls_each, limits.max_calls)
        if limits.max_tokens is not None:
            yield _Account("{} tokens", self.tokens, self._most_tokens, limits.max_tokens)
        if limits.max_cost is not None:
            yield _Account("cost {:.6g}", self.cost, self._most_cost, limits.max_cost)

    def begin(self) -> None:
        """Record that a job starts."""
        self.in_flight += 1

    def settle(self, usage: Usage | None, *, calls: int = 1) -> None:
        """Record that a job has ended, with ``calls=0`` if its replies were cached and cost
        nothing.

        ``usage`` is None without a reply, and empty for a reply that states no tokens.
        """
        self.in_flight -= 1
        self.calls += calls
        if not calls:
            return
        prompt, reply, cost = tokens_in(usage), tokens_out(usage), self.prices.cost(usage)
        self.tokens_in += prompt
        self.tokens_out += reply
        self.cost += cost
        self._most_tokens = max(self._most_tokens, prompt + reply)
        self._most_cost = max(self._most_cost, cost)
        self._ended += 1
        self._silent += usage is not None and not prompt + reply

    def abandon(self) -> None:
        """Record that a job was cancelled."""
        self.in_flight -= 1


MOST = 2**53
"""Larger counts are invalid: JSON readers and tables store integers exactly only up to this
value.
"""
PROMPT = ("prompt_tokens", "input_tokens", "prompt_token_count")
REPLY = ("completion_tokens", "output_tokens", "candidates_token_count")
TOTAL = ("total_tokens", "total_token_count")


def token_counts(usage: Mapping[str, Any] | None) -> tuple[int | None, int | None]:
    """Return the tokens of the prompt and all tokens billed as output, or None if unknown."""
    if not usage:
        return None, None
    prompt, reply, total = _first(usage, PROMPT), _first(usage, REPLY), _first(usage, TOTAL)
    return prompt, whole_output(prompt, reply, total)


def _first(usage: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    for name in names:
        value = usage.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST:
            return value
    return None
