"""Request bodies, as shared by all protocols: default parameters, and JSON in pieces that share the
images' base64 forms without copying them.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import orjson

from visualjudge.clients.base import Request, Turn
from visualjudge.clients.tool_calls import as_content
from visualjudge.prompts.provider_payloads import ImageContent, Text

# How hard a model thinks; a number is a number of thinking tokens.
Effort = Literal["none", "low", "medium", "high"] | int
_IN_REQUESTS = ("temperature", "max_tokens", "seed", "top_p")


@dataclass(frozen=True, slots=True)
class Sampling:
    """A client's default parameters. The server chooses those that are None.

    Parameters
    ----------
    max_tokens
        Maximum length of a reply in tokens, including any reasoning.
    extra
        Additional fields of the request body.
    """

    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    top_p: float | None = None
    effort: Effort | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def complete(self, request: Request) -> Request:
        """Return ``request`` with missing parameters filled in."""
        changes = {
            name: getattr(self, name)
            for name in _IN_REQUESTS
            if getattr(request, name) is None and getattr(self, name) is not None
        }
        return replace(request, **changes) if changes else request

    def thinking_budget(self, budgets: Mapping[str, int]) -> int | None:
        """Return the effort as a number of thinking tokens, by a table of its names."""
        return budgets[self.effort] if isinstance(self.effort, str) else self.effort

    def as_dict(self) -> dict[str, Any]:
        """Return the parameters that are set, for cache keys and records."""
        named = {name: getattr(self, name) for name in (*_IN_REQUESTS, "effort")}
        return stated(named) | dict(self.extra)


def stated(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


# Stands for an image while the body is assembled. Each process generates its own, so that no prompt
# can contain it.
_MARK = f"image-{os.urandom(12).hex()}"


def conversation_body(
    request: Request,
    fixed: Mapping[str, Any],
    style: Callable[..., Mapping[str, Any]],
    turn: Callable[[Turn, Text], list[dict[str, Any]]],
    messages: str = "messages",
) -> list[bytes]:
    """Return the JSON text of a complete ``request``, its parts, then its turns, as pieces.

    Parameters
    ----------
    fixed
        Other fields of the body.
    style
        Provider's format for a system text and the user's parts
        (:mod:`visualjudge.prompts.provider_payloads`).
    turn
        Provider's format for a reply with calls and their results.
    messages
        Name of the field for the conversation.
    """
    images: list[bytes] = []

    def mark(media: ImageContent) -> str:
        images.append(media.base64)
        return _MARK

    shaped = style(request.system, as_content(request.parts), mark)
    turns = [message for one in request.turns for message in turn(one, mark)]
    body = {**fixed, **shaped, messages: shaped[messages] + turns}
    around = orjson.dumps(body).split(_MARK.encode())
    pairs = itertools.zip_longest(around, images)
    return [piece for pair in pairs for piece in pair if piece is not None]
