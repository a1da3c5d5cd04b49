"""Tool calls in every protocol: reading them, writing their results, and the loop: ask
the model, run its calls, and ask again until it answers. The tools are in
``vision/tools.py``; a question's own, in ``judges/toolbox.py``.

A malformed call becomes a valid one with a ``problem``, which is its result: servers
reject a conversation that repeats a call as a model miswrote it. If a model calls too
often or with invalid arguments, the tool result says so. The loop never raises.
"""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import orjson

from visualjudge.clients.base import (
    ImagePart,
    Reply,
    Request,
    TextPart,
    ToolCall,
    ToolResult,
    Turn,
)
from visualjudge.clients.protocol_fields import member, object_of
from visualjudge.core.errors import ClientError, Pending
from visualjudge.core.untrusted import BOUNDS

# Maximum length of a reply's text in characters. One more shows that it was cut: it is
# not read.
LONGEST_REPLY = BOUNDS["reply"].size
# Prefix of generated call ids, used if the server sent none.
MADE = "visualjudge_call_"
# Maximum length of a call's arguments in characters.
LONGEST_ARGUMENTS = 4000
UNNAMED = "unnamed"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ID = re.compile(r"[\x21-\x7e]{1,256}")
# Maximum number of calls answered per reply; the others are dropped.
MOST_AT_ONCE = 16
# Maximum length of a reply with calls, and of a result, in characters; the rest is
# dropped.
LONGEST_TEXT = 20_000
NONE_LEFT = "No tool calls are left. Give your final answer now."
Run = Callable[[ToolCall], Awaitable[ToolResult]]
Ending = Literal["answered", "tool_limit", "failed"]


def call_of(given_id: Any, place: int, function: Any, field: str) -> ToolCall:
    """Return a call from a protocol's fields, which may contain anything.

    Parameters
    ----------
    place
        Number of the call in its reply, used to create an id if the server sent none.
    function
        Object with the tool's ``name`` and, in ``field``, its arguments as an object or
        as JSON text.
    """
    name = member(function, "name")
    arguments = member(function, field)
    known = isinstance(given_id, str) and _ID.fullmatch(given_id) is not None
    id_ = given_id if known else f"{MADE}{place}"
    text = (
        arguments
        if isinstance(arguments, str)
        else orjson.dumps(arguments or {}).decode()
    )
    text = text.strip() or "{}"
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        return ToolCall(
            id_, UNNAMED, "{}", "the name of a tool is missing or malformed"
        )
    if len(text) > LONGEST_ARGUMENTS or object_of(text) is None:
        problem = (
            f"arguments: must be a JSON object of at most {LONGEST_ARGUMENTS} "
            "characters"
        )
        return ToolCall(id_, name, "{}", problem)
    return ToolCall(id_, name, text)


def echo_of(
    content: Any, calls: Sequence[ToolCall], *, ids: bool = True
) -> str | None:
    """Return a reply in the server's own JSON form, to be sent back unchanged; None if
    it is too long, or one of its calls is malformed or, with ``ids``, came without an
    id.
    """
    if not calls or any(
        call.problem or (ids and call.id.startswith(MADE)) for call in calls
    ):
        return None
    text = orjson.dumps(content).decode()
    return text if len(text) <= LONGEST_REPLY else None


def result_text(result: ToolResult) -> str:
    """Return the text of a result."""
    return "\n".join(
        part.text for part in result.parts if isinstance(part, TextPart)
    )


def result_images(result: ToolResult) -> list[str | ImagePart]:
    """Return a result's images after a line that names the call; empty without
    images."""
    images = [part for part in result.parts if isinstance(part, ImagePart)]
    return (
        [f"Image of {result.call.name}: {result_text(result)}", *images]
        if images
        else []
    )


# ---------------------------------------------------------------- the loop


@dataclass(slots=True)
class Conversation:
    """The course of one question: the last reply, the turns before it, and their total
    cost."""

    ending: Ending = "answered"
    # The last reply; empty if there was none.
    reply: Reply = field(default_factory=lambda: Reply(""))
    turns: tuple[Turn, ...] = ()
    # Replies that did not come from a cache, plus a failed call.
    calls: int = 0
    # Tokens of all replies.
    usage: Counter[str] = field(default_factory=Counter)
    # Tokens of the replies that did not come from a cache.
    paid: Counter[str] = field(default_factory=Counter)
    # The error of the ending "failed".
    error: ClientError | None = None
    # Notes of all replies, without duplicates.
    notes: dict[str, None] = field(default_factory=dict)


async def converse(
    ask: Callable[[Request], Awaitable[Reply]],
    request: Request,
    run: Run,
    most: int,
) -> Conversation:
    """Ask, and run the requested tools, until a reply requests none.

    Parameters
    ----------
    ask
        Function that returns the reply to a request or raises ``ClientError``.
    request
        Request with the available tools; without tools, the first reply is the last.
    run
        Function that runs one call and never raises.
    most
        Maximum number of calls. Further calls are answered once with a text; after that
        the conversation ends with "tool_limit". It takes at most ``most`` + 2 requests.
    """
    done = Conversation()
    used = 0
    warned = False
    while True:
        try:
            reply = await ask(
                replace(request, turns=done.turns) if done.turns else request
            )
        except Pending:
            raise
        except ClientError as error:
            done.ending = "failed"
            done.error = error
            done.calls += 1
            done.paid.update(error.usage)
            return done
        done.reply = reply
        done.usage.update(reply.usage)
        done.notes.update(dict.fromkeys(reply.notes))
        done.calls += not reply.cached
        done.paid.update({} if reply.cached else reply.usage)
        calls = reply.calls if request.tools else ()
        if not calls:
            return done
        if warned:
            done.ending = "tool_limit"
            return done
        results = []
        for call in calls[:MOST_AT_ONCE]:
            warned = used >= most
            used += 1
            results.append(
                in_words(call, NONE_LEFT) if warned else await run(call)
            )
        echo = reply.echo if len(results) == len(reply.calls) else None
        done.turns = (
            *done.turns,
            Turn(reply.text[:LONGEST_TEXT], tuple(results), echo),
        )


def in_words(call: ToolCall, text: str) -> ToolResult:
    """Return a result that tells the model what is wrong with its call."""
    return ToolResult(call, (TextPart(text),), failed=True)
