"""Tool calls in every protocol: reading them, and writing their results.

A malformed call becomes a valid one with a ``problem``, which is its result: servers reject a
conversation that repeats a call as a model miswrote it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import orjson

from visualjudge.clients.base import ImagePart, Part, TextPart, ToolCall, ToolResult
from visualjudge.clients.reply_fields import member
from visualjudge.core import jsons

# Prefix of generated call ids, used if the server sent none.
MADE = "visualjudge_call_"
# Maximum length of a call's arguments in characters.
LONGEST_ARGUMENTS = 4000
LONGEST_ECHO = 1_000_000
UNNAMED = "unnamed"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ID = re.compile(r"[\x21-\x7e]{1,256}")


def call_of(given_id: Any, place: int, function: Any, field: str) -> ToolCall:
    """Return a call from a protocol's fields, which may contain anything.

    Parameters
    ----------
    place
        Number of the call in its reply, used to create an id if the server sent none.
    function
        Object with the tool's ``name`` and, in ``field``, its arguments as an object or as JSON
        text.
    """
    name, arguments = member(function, "name"), member(function, field)
    known = isinstance(given_id, str) and _ID.fullmatch(given_id) is not None
    id_ = given_id if known else f"{MADE}{place}"
    text = arguments if isinstance(arguments, str) else orjson.dumps(arguments or {}).decode()
    text = text.strip() or "{}"
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        return malformed(id_, "the name of a tool is missing or malformed")
    if len(text) > LONGEST_ARGUMENTS or object_of(text) is None:
        problem = f"arguments: must be a JSON object of at most {LONGEST_ARGUMENTS} characters"
        return malformed(id_, problem, name)
    return ToolCall(id_, name, text)


def malformed(id_: str, problem: str, name: str = UNNAMED) -> ToolCall:
    """Return a valid call in place of one that no protocol can repeat."""
    return ToolCall(id_, name, "{}", problem)


def object_of(text: str) -> dict[str, Any] | None:
    """Return the JSON object in a text, or None."""
    try:
        value = jsons.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def echo_of(content: Any, calls: Sequence[ToolCall], *, ids: bool = True) -> str | None:
    """Return a reply in the server's own JSON form, to be sent back unchanged; None if it is too
    long, or one of its calls is malformed or, with ``ids``, came without an id.
    """
    text = orjson.dumps(content).decode()
    if not calls or any(call.problem or (ids and call.id.startswith(MADE)) for call in calls):
        return None
    return text if len(text) <= LONGEST_ECHO else None


def result_text(result: ToolResult) -> str:
    """Return the text of a result."""
    return "\n".join(part.text for part in result.parts if isinstance(part, TextPart))


def result_images(result: ToolResult) -> list[str | ImagePart]:
    """Return a result's images after a line that names the call; empty without images."""
    images = [part for part in result.parts if isinstance(part, ImagePart)]
    return [f"Image of {result.call.name}: {result_text(result)}", *images] if images else []


def as_content(parts: Sequence[Part]) -> list[str | ImagePart]:
    """Return the parts in the form that prompt adapters accept."""
    return [part if isinstance(part, ImagePart) else part.text for part in parts]
