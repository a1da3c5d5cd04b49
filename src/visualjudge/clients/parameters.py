"""Default parameters that a client adds to requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from visualjudge.clients.base import Request

_IN_REQUESTS = ("temperature", "max_tokens", "seed")


@dataclass(frozen=True, slots=True)
class Sampling:
    """A client's defaults; a parameter that is None is left to the server.

    Parameters
    ----------
    max_tokens
        Longest reply, in tokens; reasoning models count their reasoning in.
    extra
        Further fields of the request body, as the server names them (``{"reasoning_effort":
        "low"}``).
    """

    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    top_p: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def complete(self, request: Request) -> Request:
        """Return ``request`` with missing parameters filled in."""
        changes = {
            name: getattr(self, name)
            for name in _IN_REQUESTS
            if getattr(request, name) is None and getattr(self, name) is not None
        }
        return replace(request, **changes) if changes else request

    def parameters(self, request: Request) -> frozenset[str]:
        """Return the names of the parameters of a complete request."""
        names = (*_IN_REQUESTS, "schema", "top_logprobs")
        asked = {name for name in names if getattr(request, name) is not None}
        asked |= {"tools"} if request.tools else set()
        return frozenset(asked | ({"top_p"} if self.top_p is not None else set()))

    def as_dict(self) -> dict[str, Any]:
        """Parameters that are set, for cache keys and records."""
        named = {name: getattr(self, name) for name in (*_IN_REQUESTS, "top_p")}
        return {name: value for name, value in named.items() if value is not None} | dict(
            self.extra
        )
