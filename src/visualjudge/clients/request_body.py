"""Request bodies, as shared by all protocols: default parameters, and JSON in pieces
that share the images' base64 forms without copying them.
"""

import itertools
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

import orjson

from visualjudge.clients.base import Request, Turn
from visualjudge.clients.tool_calls import as_content
from visualjudge.core.jsons import Fields, Json
from visualjudge.prompts.provider_payloads import ImageContent, Text

# How hard a model thinks; a number is a number of thinking tokens.
Effort = Literal["none", "low", "medium", "high"] | int


def completed(request: Request, defaults: Fields) -> Request:
    """Return ``request`` with the parameters that it leaves open filled in."""
    open_ = {
        name: value
        for name, value in defaults.items()
        if getattr(request, name) is None
    }
    return replace(request, **open_) if open_ else request


def thinking_budget(
    effort: Effort | None, budgets: Mapping[str, int]
) -> int | None:
    """Return an effort as a number of thinking tokens, by a table of its names."""
    return budgets[effort] if isinstance(effort, str) else effort


def stated(fields: Fields) -> Json:
    """Return the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


# Stands for an image while the body is assembled. Each process generates its own, so
# that no prompt can contain it.
_MARK = f"image-{os.urandom(12).hex()}"


def conversation_body(
    request: Request,
    fixed: Fields,
    style: Callable[..., Fields],
    turn: Callable[[Turn, Text], list[Json]],
    messages: str = "messages",
) -> list[bytes]:
    """Return the JSON text of a complete ``request``, its parts, then its turns, as
    pieces.

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
    turns = [
        message
        for exchange in request.turns
        for message in turn(exchange, mark)
    ]
    body = {**fixed, **shaped, messages: shaped[messages] + turns}
    around = orjson.dumps(body).split(_MARK.encode())
    pairs = itertools.zip_longest(around, images)
    return [piece for pair in pairs for piece in pair if piece is not None]
