"""What all protocols share of requests and replies. The protocols are in ``api.py``,
``anthropic.py`` and ``google.py``; prompts in their forms, in
``prompts/provider_payloads.py``.

Fields of a reply are valid, missing, or raise ``ValueError``: a server's JSON may
contain anything, such as 30-digit numbers, and lists instead of strings. Request bodies
are JSON in pieces, which share the images' base64 forms without copying them.
"""

import itertools
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import orjson

from visualjudge.clients.base import (
    Alternative,
    ImagePart,
    Part,
    Request,
    Token,
    Turn,
)
from visualjudge.core import jsons
from visualjudge.core.jsons import Fields, Json
from visualjudge.prompts.provider_payloads import ImageContent, Text

# Token counts by name, and notes on what could not be used.
Counts = tuple[dict[str, int], tuple[str, ...]]
# Token counts above this are invalid.
MOST_TOKENS = 10**12

USAGE_UNUSABLE = "token counts of the reply cannot be used; not counted"
LOGPROBS_UNUSABLE = "log-probabilities of the reply cannot be used; left out"
REFUSED = "schema refused by the server; asked without"
IGNORED = "schema ignored by the server: the reply does not follow it"
# Servers that compute in 16 bits report log-probabilities slightly above 0.
_ROUNDING = 0.01


def text_of(value: Any) -> str:
    """Return a string; ``None`` becomes an empty one.

    Raises
    ------
    ValueError
        If it is anything else.
    """
    if value is not None and not isinstance(value, str):
        raise ValueError(f"a text must be a string, got {type(value).__name__}")
    return value or ""


def counts_of(usage: Any, names: Sequence[str]) -> Counts:
    """Return the valid token counts of these names, and a note if ``usage`` or one of
    the counts is invalid.
    """
    if not isinstance(usage, Mapping):
        return {}, () if usage is None else (USAGE_UNUSABLE,)
    sent = {name: usage[name] for name in names if usage.get(name) is not None}
    usable = {
        name: int(value) for name, value in sent.items() if _is_count(value)
    }
    return usable, () if len(usable) == len(sent) else (USAGE_UNUSABLE,)


def whole_output(
    prompt: int | None, reply: int | None, total: int | None
) -> int | None:
    """Return the tokens billed as output.

    OpenAI includes reasoning in ``completion_tokens``. xAI's servers, and Gemini with
    OpenAI's protocol, include it only in ``total_tokens``, so the output is the total
    minus the prompt.
    """
    beside = -1 if prompt is None or total is None else total - prompt
    return beside if beside > (reply or -1) else reply


def member(value: Any, name: str) -> Any:
    """Return ``value[name]`` if ``value`` is an object, else None."""
    return value.get(name) if isinstance(value, Mapping) else None


def object_of(text: str | bytes) -> Json | None:
    """Return the JSON object in a text, or None."""
    try:
        value = jsons.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _is_count(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0 <= value <= MOST_TOKENS and value == int(value)


def tokens_of(
    chosen: Any, tops: Sequence[Any], fields: Fields
) -> tuple[tuple[Token, ...] | None, tuple[str, ...]]:
    """Return the tokens with log-probabilities, or no tokens and a note if one is
    malformed.

    Parameters
    ----------
    chosen
        The tokens of the reply, as objects of the server.
    tops
        The alternatives of each, as lists of such objects; further lists are empty.
    fields
        Names of the objects' two fields, with the values of missing ones.
    """
    if not chosen:
        return None, ()
    try:
        padded = [*tops, *[()] * (len(chosen) - len(tops))]
        return tuple(
            Token(
                token.token,
                token.logprob,
                tuple(_alternative(other, fields) for other in top or ()),
            )
            for token, top in zip(
                (_alternative(token, fields) for token in chosen),
                padded,
                strict=True,
            )
        ), ()
    except (AttributeError, TypeError, ValueError, OverflowError):
        return None, (LOGPROBS_UNUSABLE,)


def _alternative(stated: Any, fields: Fields) -> Alternative:
    token, logprob = (
        stated.get(name, missing) for name, missing in fields.items()
    )
    value = float(logprob)
    number = isinstance(logprob, int | float) and not isinstance(logprob, bool)
    if not (
        isinstance(token, str)
        and number
        and math.isfinite(value)
        and value <= _ROUNDING
    ):
        raise ValueError("must be a token and the logarithm of a probability")
    return Alternative(token, min(value, 0.0))


def follows(text: str, schema: Fields) -> bool:
    """Return whether ``text`` is a JSON object with the required fields of a schema,
    and with values of its enums (one level deep).
    """
    value = object_of(text)
    rules = schema.get("properties", {})
    return value is not None and all(
        name in value
        and value[name] in rules.get(name, {}).get("enum", [value[name]])
        for name in schema.get("required", ())
    )


def schema_notes(text: str, schema: Fields | None) -> tuple[str, ...]:
    """Return a note if a schema was sent and the reply does not follow it."""
    return (
        (IGNORED,)
        if schema is not None and text and not follows(text, schema)
        else ()
    )


# ---------------------------------------------------------------- requests

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


def as_content(parts: Sequence[Part]) -> list[str | ImagePart]:
    """Return the parts in the form that prompt adapters accept."""
    return [
        part if isinstance(part, ImagePart) else part.text for part in parts
    ]


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
