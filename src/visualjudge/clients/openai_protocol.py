"""The OpenAI chat-completions protocol as bytes: a request into a body, a body into a reply. No network here."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from typing import Any

import orjson

from visualjudge.clients.base import Alternative, FinishReason, ImagePart, Part, Reply, Request, Token
from visualjudge.clients.parameters import Sampling
from visualjudge.clients.quirks import Quirks
from visualjudge.clients.schemas import IGNORED, follows, response_format
from visualjudge.errors import TransportError
from visualjudge.prompts.adapters import Media, openai_style

_FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "end_turn": "stop",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
}


def text_or_image(part: Part) -> str | ImagePart:
    """A part as prompt adapters take it."""
    return part if isinstance(part, ImagePart) else part.text


_MARK = f"picture-{os.urandom(12).hex()}"
"""Stands for a picture while the body is put together; drawn anew in each process, so that no prompt can hold it."""


def body_pieces(model: str, request: Request, sampling: Sampling, quirks: Quirks) -> list[bytes]:
    """The request body, in pieces; ``request`` is complete already.

    JSON is made around the pictures only; their base64 forms are pieces of their own, shared and never copied.
    """
    pictures: list[bytes] = []

    def url(media: Media) -> str:
        pictures.append(media.base64)
        return f"data:{media.mime};base64,{_MARK}"

    content = [text_or_image(part) for part in request.parts]
    body: dict[str, Any] = {"model": model} | _parameters(request, sampling, quirks)
    around = orjson.dumps(body | openai_style(request.system, content, url=url)).split(_MARK.encode())
    pairs = itertools.zip_longest(around, pictures)
    return [piece for pair in pairs for piece in pair if piece is not None]


def _parameters(request: Request, sampling: Sampling, quirks: Quirks) -> dict[str, Any]:
    tokens = "max_completion_tokens" if "max_completion_tokens" in quirks else "max_tokens"
    wanted: dict[str, Any] = {
        tokens: request.max_tokens,
        "temperature": None if "no_temperature" in quirks else request.temperature,
        "seed": None if "no_seed" in quirks else request.seed,
        "top_p": sampling.top_p,
    }
    if request.top_logprobs is not None and "no_logprobs" not in quirks:
        wanted |= {"logprobs": True, "top_logprobs": request.top_logprobs}
    if request.schema is not None and "no_schema" not in quirks:
        wanted |= {"response_format": response_format(request.schema)}
    return {name: value for name, value in wanted.items() if value is not None} | dict(sampling.extra)


def reply_of(body: Any, request: Request, quirks: Quirks) -> Reply:
    """The first choice of a chat completion.

    Raises
    ------
    TransportError
        If the body is no chat completion.
    """
    try:
        choice = body["choices"][0]
        message = choice["message"]
        refusal = message.get("refusal")
        text = _text(message.get("content")) or refusal or ""
        finish = "refusal" if refusal else _FINISH.get(choice.get("finish_reason") or "stop", "other")
        tokens = _tokens((choice.get("logprobs") or {}).get("content"))
        usage = _usage(body.get("usage"))
    except (KeyError, IndexError, TypeError, AttributeError, ValueError):
        raise TransportError("the server's reply is no chat completion", cause="no reply in body") from None
    return Reply(text, finish, usage, tokens, notes_of(text, request, quirks))


def notes_of(text: str, request: Request, quirks: Quirks) -> tuple[str, ...]:
    """What was asked differently, and a schema that was sent and not kept to."""
    notes = quirks.notes(request)
    if request.schema is not None and "no_schema" not in quirks and text and not follows(text, request.schema):
        notes += (IGNORED,)
    return notes


def _text(content: Any) -> str:
    """A string, or the text parts of a list of parts (some servers reply in parts)."""
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if part.get("type", "text") == "text")
    return "" if content is None else str(content)


def _usage(usage: Mapping[str, Any] | None) -> dict[str, int]:
    if not usage:
        return {}
    named = {name: usage.get(name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")}
    named["reasoning_tokens"] = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens")
    return {name: int(value) for name, value in named.items() if value is not None}


def _tokens(content: Any) -> tuple[Token, ...] | None:
    if not content:
        return None
    return tuple(
        Token(
            item["token"],
            float(item["logprob"]),
            tuple(Alternative(top["token"], float(top["logprob"])) for top in item.get("top_logprobs") or ()),
        )
        for item in content
    )
