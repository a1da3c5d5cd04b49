"""Tokens and money: what a reply took, what a run spent over all its invocations, and
limits. A run stops before it exceeds a limit, and only between jobs. What a run *will*
cost is estimated in ``cost_estimate.py``.

A job, such as a question, takes one or more calls, and many jobs are in flight at once.
Each reserves the maximum that a job may use: known for calls, and the largest job so
far for tokens and money.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeVar

from typing_extensions import TypedDict

from visualjudge.clients.protocol_fields import whole_output
from visualjudge.core.errors import UsageError
from visualjudge.core.jsons import Fields, Json

Kind = TypeVar("Kind")
# Number of replies without token counts after which a limit on tokens or cost is
# considered useless.
SILENT = 8
# Larger counts are invalid: JSON readers and tables store integers exactly only up to
# this value.
MOST = 2**53
# Field of a verdict's line with the tokens paid for, if they differ from ``usage``.
PAID = "paid"
_PROMPT = ("prompt_tokens", "input_tokens", "prompt_token_count")
_REPLY = ("completion_tokens", "output_tokens", "candidates_token_count")
_TOTAL = ("total_tokens", "total_token_count")
_THINKING = ("reasoning_tokens",)


class StatedTotal(TypedDict, total=False):
    """What a run has spent, by its manifest: fields of :class:`Spending`."""

    tokens_in: int
    tokens_out: int
    tokens_thinking: int
    cost: float | None


class StatedCost(TypedDict, total=False):
    """The fields on cost of a manifest: of :class:`Prices` and :class:`Spending`."""

    prices: dict[str, float]
    total: StatedTotal


def token_counts(usage: Fields | None) -> tuple[int | None, int | None]:
    """Return the tokens of the prompt and all tokens billed as output, or None if
    unknown."""
    if not isinstance(usage, Mapping):
        return None, None
    prompt, reply, total = (
        _first(usage, names) for names in (_PROMPT, _REPLY, _TOTAL)
    )
    return prompt, whole_output(prompt, reply, total)


def thinking_tokens(usage: Fields | None) -> int:
    """Return the tokens of the output that are reasoning; 0 if unknown."""
    return (
        _first(usage, _THINKING) if isinstance(usage, Mapping) else None
    ) or 0


def _first(usage: Fields, names: tuple[str, ...]) -> int | None:
    for name in names:
        value = usage.get(name)
        if (
            isinstance(value, int)
            and not isinstance(value, bool)
            and 0 <= value <= MOST
        ):
            return value
    return None


def money(cost: float) -> str:
    """Format an amount with four decimals, or two significant digits below 0.001."""
    return f"{cost:.4f}" if cost >= 0.001 or not cost else f"{cost:.2g}"


def _check(name: str, value: float | None) -> None:
    if value is not None and not 0 <= value < math.inf:
        raise UsageError(
            f"`{name}` must be a finite number of at least 0, got {value}"
        )


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
    # Share of these prices that is charged, such as one half in a batch.
    share: float = 1.0

    def __post_init__(self) -> None:
        for price in (self.per_million_in, self.per_million_out, self.share):
            _check("prices", price)

    @property
    def are_stated(self) -> bool:
        """Whether any price is above 0."""
        return self.per_million_in + self.per_million_out > 0

    def of(self, prompt: int, reply: int) -> float:
        """Return the cost of these tokens."""
        return (
            (prompt * self.per_million_in + reply * self.per_million_out)
            * self.share
            / 1e6
        )

    @property
    def noted(self) -> Json:
        """The stated prices for a manifest, so that readers can compute the cost."""
        return {} if self == Prices() else {"prices": asdict(self)}


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one invocation; None means no limit. Earlier invocations of a resumed
    run do not count.

    Raises
    ------
    UsageError
        If a limit is negative or not finite.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None

    def __post_init__(self) -> None:
        for name, limit in asdict(self).items():
            _check(name, limit)


@dataclass(frozen=True, slots=True)
class Spending:
    """Tokens paid for, and their cost; None if the price of some is unknown. Thinking
    is part of the output.
    """

    tokens_in: int = 0
    tokens_out: int = 0
    tokens_thinking: int = 0
    cost: float | None = 0.0

    @property
    def tokens(self) -> int:
        """The total of prompts and output."""
        return self.tokens_in + self.tokens_out

    def plus(self, more: Spending, prices: Prices) -> Spending:
        """Return the sum with additional tokens at these prices."""
        priced = prices.are_stated or not more.tokens
        cost = self.cost
        return Spending(
            self.tokens_in + more.tokens_in,
            self.tokens_out + more.tokens_out,
            self.tokens_thinking + more.tokens_thinking,
            cost + prices.of(more.tokens_in, more.tokens_out)
            if priced and cost is not None
            else None,
        )

    def plus_call(self, usage: Fields | None, prices: Prices) -> Spending:
        """Return the sum with one call."""
        prompt, reply = token_counts(usage)
        return self.plus(
            Spending(prompt or 0, reply or 0, thinking_tokens(usage)), prices
        )

    def and_by(self, budget: Budget) -> Spending:
        """Return the sum with an invocation's spending."""
        return self.plus(budget.spent, budget.prices)

    def as_dict(self) -> Json:
        """Return the form used in ``run.json``."""
        return {
            **asdict(self),
            "cost": None if self.cost is None else round(self.cost, 6),
        }


def paid_for(usages: Iterable[Any]) -> Spending:
    """Return the tokens of calls, without their cost."""
    paid = Spending()
    for usage in usages:
        paid = paid.plus_call(usage, Prices())
    return paid


def spent_before(paid: Spending, manifest: StatedCost) -> Spending:
    """Return what earlier invocations of a run spent.

    Parameters
    ----------
    paid
        Tokens that the lines of the run state. Those beyond the total in ``manifest``
        were spent by an invocation that was killed.
    manifest
        Contents of ``run.json``, with the prices of the last invocation.
    """
    total = _stated(Spending, manifest.get("total"))
    killed = Spending(
        max(0, paid.tokens_in - total.tokens_in),
        max(0, paid.tokens_out - total.tokens_out),
        max(0, paid.tokens_thinking - total.tokens_thinking),
    )
    return total.plus(killed, _stated(Prices, manifest.get("prices")))


def _stated(kind: type[Kind], stated: Fields | None) -> Kind:
    known = stated or {}
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: known[name] for name in names if name in known})


class Budget:
    """Count what was used, and decide whether more jobs may begin in addition to those
    in flight.

    Raises
    ------
    UsageError
        If cost is limited and no price is stated.
    """

    def __init__(
        self, limits: Limits | None = None, prices: Prices | None = None
    ) -> None:
        self.limits = limits or Limits()
        self.prices = prices or Prices()
        if self.limits.max_cost is not None and not self.prices.are_stated:
            raise UsageError("`max_cost` needs `prices`")
        self.calls = self.in_flight = 0
        self.spent = Spending()
        self._calls_each = 1
        self._most_tokens = self._silent = 0
        self._most_cost = 0.0

    @property
    def tokens(self) -> int:
        """Tokens in and out so far."""
        return self.spent.tokens

    @property
    def cost(self) -> float:
        """Money so far; 0 without prices."""
        return self.prices.of(self.spent.tokens_in, self.spent.tokens_out)

    def expect(self, calls: int) -> None:
        """Reserve this many calls per job in flight: the maximum for one job, including
        repeats.

        Raises
        ------
        UsageError
            If a single job may exceed the limit.
        """
        self._calls_each = calls
        limit = self.limits.max_calls
        if limit is not None and limit < calls:
            raise UsageError(
                f"`max_calls` must be at least {calls}, which one question or row may "
                f"take with its retries, got {limit}"
            )

    def refusal(self) -> str | None:
        """Return why no job may begin in addition to those in flight, or None if one
        may.

        With a limit on tokens or cost, one job is in flight until a reply has stated
        its tokens.
        """
        limits = self.limits
        blind = not self.tokens and (limits.max_tokens, limits.max_cost) != (
            None,
            None,
        )
        if blind and self._silent >= SILENT:
            return (
                "the replies state no tokens, so that tokens and cost cannot be "
                "limited; use `max_calls`"
            )
        if blind and self.in_flight:
            return "what a call takes is not known yet"
        return next(self._reasons(1 + self.in_flight), None)

    def excess(self) -> str | None:
        """Return the limit exceeded because jobs were larger than all before, or
        None."""
        return next(self._reasons(0), None)

    def _reasons(self, jobs: int) -> Iterator[str]:
        # Yield why no more may be used, if this many jobs are yet to be paid.
        limits = self.limits
        for form, used, each, limit in (
            ("{} calls", self.calls, self._calls_each, limits.max_calls),
            ("{} tokens", self.tokens, self._most_tokens, limits.max_tokens),
            ("cost {:.6g}", self.cost, self._most_cost, limits.max_cost),
        ):
            if limit is None:
                continue
            budget = f"the budget ({form.format(limit)})"
            spent = f"{form.format(used)} used"
            if used > limit:
                yield f"{budget} is exceeded: {spent}"
            elif used == limit and jobs:
                yield f"{budget} is used up"
            elif used + jobs * each > limit:
                more = form.format(jobs * each)
                yield (
                    f"stopped before {budget} is exceeded: {spent}, the next may add "
                    f"{more}"
                )

    def begin(self) -> None:
        """Record that a job starts."""
        self.in_flight += 1

    def settle(self, usage: Fields | None, *, calls: int = 1) -> None:
        """Record that a job has ended, with ``calls=0`` if its replies were cached and
        cost nothing, or it was cancelled.

        ``usage`` is None without a reply, and empty for a reply that states no tokens.
        """
        self.in_flight -= 1
        self.calls += calls
        if not calls:
            return
        job = Spending().plus_call(usage, self.prices)
        self.spent = self.spent.plus(job, self.prices)
        self._most_tokens = max(self._most_tokens, job.tokens)
        self._most_cost = max(self._most_cost, job.cost or 0.0)
        self._silent += usage is not None and not job.tokens
