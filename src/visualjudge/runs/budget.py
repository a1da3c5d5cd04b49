"""What a run may spend: calls, tokens, money. It stops before the limit, between calls, never in the middle of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from visualjudge.runs.tokens import token_counts

Usage = Mapping[str, int]


def tokens_in(usage: Usage | None) -> int:
    """Tokens of the prompt, as the server counted them; 0 where it did not say."""
    return token_counts(usage)[0] or 0


def tokens_out(usage: Usage | None) -> int:
    """Tokens of the reply, as the server counted them; 0 where it did not say."""
    return token_counts(usage)[1] or 0


@dataclass(frozen=True, slots=True)
class Prices:
    """Money per million tokens, in any one currency."""

    per_million_in: float = 0.0
    per_million_out: float = 0.0

    def cost(self, usage: Usage | None) -> float:
        """Price of one call."""
        return (tokens_in(usage) * self.per_million_in + tokens_out(usage) * self.per_million_out) / 1e6

    def times(self, share: float) -> Prices:
        """A share of them, as batches have it."""
        return Prices(self.per_million_in * share, self.per_million_out * share)


@dataclass(frozen=True, slots=True)
class Limits:
    """``None`` = no limit. They hold for one invocation: what an earlier, resumed one spent is not counted."""

    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None


class Budget:
    """Keeps account. A call that has begun is booked at the mean of those before, so that what is in flight counts."""

    def __init__(self, limits: Limits | None = None, prices: Prices | None = None) -> None:
        self.limits = limits or Limits()
        self.prices = prices or Prices()
        self.calls = 0
        self.in_flight = 0
        self.tokens_in = 0
        self.tokens_out = 0
        self.cost = 0.0
        self._paid = 0

    @property
    def tokens(self) -> int:
        """Tokens in and out so far."""
        return self.tokens_in + self.tokens_out

    def refusal(self) -> str | None:
        """Why no further call may begin, or ``None``."""
        begun, paid = self.calls + self.in_flight, max(self._paid, 1)
        expected = (self.in_flight + 1) / paid
        limits = self.limits
        if limits.max_calls is not None and begun >= limits.max_calls:
            return f"budget of {limits.max_calls} calls is spent"
        if limits.max_tokens is not None and self.tokens + self.tokens * expected > limits.max_tokens:
            return f"budget of {limits.max_tokens} tokens is spent ({self.tokens} used)"
        if limits.max_cost is not None and self.cost + self.cost * expected > limits.max_cost:
            return f"budget of {limits.max_cost:g} is spent ({self.cost:.4f} used)"
        return None

    def begin(self) -> None:
        """A call starts."""
        self.in_flight += 1

    def settle(self, usage: Usage | None, *, calls: int = 1) -> None:
        """A call has ended; ``calls=0`` where the reply came out of a cache and cost nothing."""
        self.in_flight -= 1
        self.calls += calls
        if not calls:
            return
        self._paid += 1
        self.tokens_in += tokens_in(usage)
        self.tokens_out += tokens_out(usage)
        self.cost += self.prices.cost(usage)

    def abandon(self) -> None:
        """A call was cancelled before it ended."""
        self.in_flight -= 1
