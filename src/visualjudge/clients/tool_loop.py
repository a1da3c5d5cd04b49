"""The tool-calling loop: ask the model, run its calls, and ask again until it answers.

The loop is the same for all protocols; each client writes the turns in its own format. If a model
calls too often, with invalid arguments or repeatedly in the same way, the tool result says so. The
loop never raises.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from visualjudge.clients.base import Reply, Request, TextPart, ToolCall, ToolResult, Turn
from visualjudge.clients.tool_calls import MADE
from visualjudge.core.errors import ClientError, Pending

# Maximum number of calls answered per reply; the others are dropped.
MOST_AT_ONCE = 16
# Maximum length of a reply with calls in characters; the rest is dropped.
LONGEST_TEXT = 20_000
NONE_LEFT = "No tool calls are left. Give your final answer now."
MADE_BEFORE = "You made this call before; its result is above."
Run = Callable[[ToolCall], Awaitable[ToolResult]]
Ending = Literal["answered", "tool_limit", "failed"]


@dataclass(slots=True)
class Conversation:
    """The course of one question: the last reply, the turns before it, and their total cost.

    ``calls`` counts replies that did not come from a cache, and a failed call; ``usage`` has the
    tokens of all replies, ``paid`` those of replies that did not come from a cache; ``error`` is
    that of the ending "failed"; ``notes`` are those of all replies, without duplicates.
    """

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

    def heard(self, reply: Reply) -> None:
        """Add a reply to the totals."""
        self.reply = reply
        self.usage.update(reply.usage)
        self.notes.update(dict.fromkeys(reply.notes))
        if not reply.cached:
            self.calls += 1
            self.paid.update(reply.usage)

    def broke(self, error: ClientError) -> Conversation:
        """End the conversation with a failed call."""
        self.ending, self.error = "failed", error
        self.calls += 1
        self.paid.update(error.usage)
        return self


async def converse(
    ask: Callable[[Request], Awaitable[Reply]], request: Request, run: Run, most: int
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
        Maximum number of calls. Further calls are answered once with a text; after that the
        conversation ends with "tool_limit". It takes at most ``most`` + 2 requests.
    """
    done, used, warned, made = Conversation(), 0, False, set[tuple[str, str]]()
    while True:
        try:
            reply = await ask(replace(request, turns=done.turns) if done.turns else request)
        except Pending:
            raise
        except ClientError as error:
            return done.broke(error)
        done.heard(reply)
        calls = _calls(reply, len(done.turns)) if request.tools else ()
        if not calls:
            return done
        if warned:
            done.ending = "tool_limit"
            return done
        results = []
        for call in calls[:MOST_AT_ONCE]:
            said, again = (call.name, call.arguments), (call.name, call.arguments) in made
            if used >= most:
                warned = True
                results.append(in_words(call, NONE_LEFT))
                continue
            used += 1
            made.add(said)
            results.append(in_words(call, MADE_BEFORE) if again else await run(call))
        unique = len({call.id for call in reply.calls})
        echo = reply.echo if len(results) == len(reply.calls) == unique else None
        done.turns = (*done.turns, Turn(reply.text[:LONGEST_TEXT], tuple(results), echo))


def _calls(reply: Reply, turn: int) -> tuple[ToolCall, ...]:
    # Return the calls of a reply, with ids that are unique within a conversation.
    ids = [call.id for call in reply.calls]
    repeated = len(set(ids)) < len(ids)
    return tuple(
        replace(call, id=f"{MADE}{k}_{turn}") if repeated or call.id.startswith(MADE) else call
        for k, call in enumerate(reply.calls)
    )


def in_words(call: ToolCall, said: str) -> ToolResult:
    """Return a result that tells the model what is wrong with its call."""
    return ToolResult(call, (TextPart(said),), failed=True)
