"""What bodies of requests share in all protocols: a client's default parameters, and JSON in
pieces, of which the images' base64 forms are shared and never copied.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from visualjudge.clients.base import Request, Turn
from visualjudge.clients.tool_calls import as_content
from visualjudge.prompts.provider_payloads import ImageContent, Text

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


_MARK = f"image-{os.urandom(12).hex()}"
"""Stands for an image while the body is put together; drawn anew in each process, so that no prompt
can hold it.
"""


def conversation_body(
    request: Request,
    fixed: Mapping[str, Any],
    style: Callable[..., Mapping[str, Any]],
    turn: Callable[[Turn, Text], list[dict[str, Any]]],
    messages: str = "messages",
) -> list[bytes]:
    """Return the body of a complete ``request``: its parts, then its turns.

    Parameters
    ----------
    fixed
        The other fields of the body.
    style
        The provider's form of a system text and the user's parts
        (:mod:`visualjudge.prompts.provider_payloads`).
    turn
        The provider's form of a reply with calls, and their results.
    messages
        The field that holds the conversation.
    """
    content = as_content(request.parts)

    def body(mark: Text) -> dict[str, Any]:
        shaped = style(request.system, content, mark)
        turns = [message for one in request.turns for message in turn(one, mark)]
        return {**fixed, **shaped, messages: shaped[messages] + turns}

    return body_pieces(body)


def body_pieces(shape: Callable[[Text], Mapping[str, Any]]) -> list[bytes]:
    """Return the JSON text of the result of ``shape``.

    Parameters
    ----------
    shape
        Given a function that returns the text to write in place of an image's base64 form, returns
        the body. It must write images in the order in which it asks for their texts.
    """
    images: list[bytes] = []

    def mark(media: ImageContent) -> str:
        images.append(media.base64)
        return _MARK

    around = orjson.dumps(shape(mark)).split(_MARK.encode())
    pairs = itertools.zip_longest(around, images)
    return [piece for pair in pairs for piece in pair if piece is not None]
