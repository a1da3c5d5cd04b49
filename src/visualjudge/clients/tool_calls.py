"""Tool calls in every protocol: reading them, and writing calls and results as text.

A call with a malformed name or arguments, or one found in a reply's text, is sent back as text, so
that servers do not reject the conversation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson

from visualjudge.clients.base import ImagePart, Part, Request, TextPart, ToolCall, ToolResult, Turn
from visualjudge.clients.reply_fields import writable
from visualjudge.core import jsons

MADE = "visualjudge_call_"
"""Prefix of generated call ids, used if the server sent none."""
LONGEST_ARGUMENTS = 4000
"""Maximum length of a call's arguments in characters; the rest is dropped."""
LONGEST_TEXT = 20_000
"""Maximum length of a reply with calls in characters; the rest is dropped."""
LONGEST_ECHO = 1_000_000
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ID = re.compile(r"[\x21-\x7e]{1,256}")
_TAGGED = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
HOW = """You may call these tools before you answer:

{tools}

To call one, write a line with the name of the tool and its arguments as JSON, and end your reply:

<tool_call>{{"name": "...", "arguments": {{...}}}}</tool_call>"""


def call_of(given_id: Any, place: int, name: Any, arguments: Any) -> ToolCall:
    """Return a call from a protocol's fields, which may contain anything.

    Parameters
    ----------
    place
        Number of the call in its reply, used to create an id if the server sent none.
    arguments
        Arguments as an object or as its JSON text.
    """
    text = arguments if isinstance(arguments, str) else _dumped(arguments)
    text = writable(text).strip()[: LONGEST_ARGUMENTS + 1] or "{}"
    named = writable(name)[:64] if isinstance(name, str) else ""
    whole = len(text) <= LONGEST_ARGUMENTS and object_of(text) is not None
    if not (isinstance(name, str) and _NAME.fullmatch(name) and whole):
        return ToolCall("", named, text)
    known = isinstance(given_id, str) and _ID.fullmatch(given_id) is not None
    return ToolCall(given_id if known else f"{MADE}{place}", named, text)


def _dumped(value: Any) -> str:
    return "" if value is None else orjson.dumps(value).decode()


def object_of(text: str) -> dict[str, Any] | None:
    """Return the JSON object in a text, or None."""
    try:
        value = jsons.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def echo_of(content: Any) -> str | None:
    """Return a reply in the server's own JSON form, or None if it is too long to send back."""
    text = orjson.dumps(content).decode()
    return text if len(text) <= LONGEST_ECHO else None


def calls_in(text: str) -> tuple[ToolCall, ...]:
    """Return the calls in ``<tool_call>…</tool_call>`` of a reply, as Qwen and Hermes models write
    them.
    """
    return tuple(_written(found[1]) for found in _TAGGED.finditer(text))


def _written(text: str) -> ToolCall:
    told = object_of(text) or {}
    call = call_of(None, 0, told.get("name"), told.get("arguments", {}) if told else text)
    return replace(call, id="")


# ---------------------------------------------------------------- calls and results as text


def in_text(request: Request) -> Request:
    """Return a request whose text, not the protocol, contains the tools, calls and results."""
    if not request.tools:
        return request
    parts: list[Part] = [*request.parts, TextPart(described(request))]
    for turn in request.turns:
        plain = replace(
            turn, results=tuple(replace(one, call=replace(one.call, id="")) for one in turn.results)
        )
        parts.append(TextPart(f"Your reply:\n{told_reply(plain)}"))
        parts += [TextPart(part) if isinstance(part, str) else part for part in told_results(plain)]
    return replace(request, parts=tuple(parts), tools=(), turns=())


def described(request: Request) -> str:
    """Describe a request's tools, and how to call them, for a model without function calling."""
    lines = [
        orjson.dumps(
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        ).decode()
        for tool in request.tools
    ]
    return HOW.format(tools="\n".join(lines))


def told_reply(turn: Turn) -> str:
    """Return a reply and its calls as text, never empty."""
    beside = _TAGGED.sub("", turn.text).strip()
    calls = [
        f'<tool_call>{{"name": {_dumped(result.call.name)}, "arguments": '
        f"{result.call.arguments}}}</tool_call>"
        for result in turn.results
    ]
    return "\n".join(filter(None, (beside, *calls)))


def told_results(turn: Turn) -> list[str | ImagePart]:
    """Return the results of all calls of a reply: the text of each, then its images."""
    told: list[str | ImagePart] = []
    for result in turn.results:
        told += [f"Result of {result.call.name or 'the call'}: {told_result(result)}"]
        told += [part for part in result.parts if isinstance(part, ImagePart)]
    return told


def told_result(result: ToolResult) -> str:
    """Return the text of a result."""
    return "\n".join(part.text for part in result.parts if isinstance(part, TextPart))


def result_images(result: ToolResult) -> list[str | ImagePart]:
    """Return a result's images after a line that names the call; empty without images."""
    images = [part for part in result.parts if isinstance(part, ImagePart)]
    return [f"Image of {result.call.name}: {told_result(result)}", *images] if images else []


def as_content(parts: Sequence[Part]) -> list[str | ImagePart]:
    """Return the parts in the form that prompt adapters accept."""
    return [part if isinstance(part, ImagePart) else part.text for part in parts]
