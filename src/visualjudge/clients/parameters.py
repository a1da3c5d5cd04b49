"""What a client adds to requests that leave it open, and what it is to a cache and to a record of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from visualjudge.clients.base import Client, Request


@dataclass(frozen=True, slots=True)
class Sampling:
    """A client's own defaults; ``None`` leaves the parameter to the server.

    Parameters
    ----------
    max_tokens
        Longest reply, in tokens; reasoning models count their reasoning in.
    extra
        Further fields of the request body, as the server names them (``{"reasoning_effort": "low"}``).
    """

    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    top_p: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def complete(self, request: Request) -> Request:
        """``request`` with what it leaves open filled in."""
        changes = {
            name: getattr(self, name)
            for name in ("temperature", "max_tokens", "seed")
            if getattr(request, name) is None and getattr(self, name) is not None
        }
        return replace(request, **changes) if changes else request

    def as_dict(self) -> dict[str, Any]:
        """Parameters that are set, for cache keys and records."""
        named = {name: getattr(self, name) for name in ("temperature", "max_tokens", "seed", "top_p")}
        return {name: value for name, value in named.items() if value is not None} | dict(self.extra)


@dataclass(frozen=True, slots=True)
class Identity:
    """Which model is asked, where and how: the part of a cache key that is not the payload. Holds no secret."""

    backend: str
    base_url: str | None
    model: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "backend": self.backend,
            "base_url": self.base_url,
            "model": self.model,
            "parameters": dict(self.parameters),
        }


def identity_of(client: Client) -> Identity:
    """A client's own identity; by its class and model where it states none."""
    stated = getattr(client, "identity", None)
    return stated if isinstance(stated, Identity) else Identity(type(client).__name__, None, client.model)
