"""Tools in every protocol: bodies, images in results, malformed calls, refusals."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clients.loopback import Loopback, refused, serving
from clients.tool_protocols import BACKENDS, REPLY, base_url, call
from folding import each
from scripted_client import ScriptedClient
from visualjudge.clients import build_client
from visualjudge.clients.base import (
    Reply,
    Request,
    TextPart,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from visualjudge.clients.cache import Cached, cache_key
from visualjudge.clients.image_parts import image_part
from visualjudge.clients.tool_calls import (
    MOST_AT_ONCE,
    NONE_LEFT,
    UNNAMED,
    Conversation,
    call_of,
    converse,
)
from visualjudge.core.errors import ClientError, TransportError

IMAGE = image_part(np.full((3, 4, 3), 200, np.uint8))
SHOWN = image_part(np.full((5, 6, 3), 100, np.uint8))
SCHEMA = {
    "type": "object",
    "properties": {"x": {"type": "integer", "minimum": 1}},
    "required": ["x"],
    "additionalProperties": False,
}
SPEC = ToolSpec("zoom", "Show a region.", SCHEMA)
TOOLS = (SPEC, ToolSpec("count", "Count.", SCHEMA))
REQUEST = Request(
    (TextPart("Which?"), IMAGE),
    system="be brief",
    max_tokens=50,
    tools=(SPEC, ToolSpec("count", "Count.", SCHEMA)),
)


async def run(called: ToolCall) -> ToolResult:
    if called.name == "count":
        return ToolResult(called, (TextPart("three"),))
    if called.name != "zoom" or not called.arguments.startswith("{"):
        return ToolResult(
            called, (TextPart("Error: no such tool"),), failed=True
        )
    return ToolResult(called, (TextPart("a region"), SHOWN))


def talk(
    backend: str, replies: Sequence[Any], *, most: int = 6, **options: Any
) -> tuple[Conversation, Loopback]:
    async def main() -> tuple[Conversation, Loopback]:
        answers = [
            reply if isinstance(reply, tuple) else (200, reply, {})
            for reply in replies
        ]
        async with serving(*answers) as server:
            client = build_client(
                backend,
                model_name="m",
                base_url=base_url(backend, server.url),
                api_key="a-secret-of-some-length",
                timeout=2.0,
                **options,
            )
            try:
                return await converse(client.ask, REQUEST, run, most), server
            finally:
                await client.aclose()

    return asyncio.run(main())


def dialogue(backend: str) -> list[dict[str, Any]]:
    say = REPLY[backend]
    both = [call("zoom", {"x": 2}, "call-2"), call("count", {"x": 3}, "call-3")]
    return [
        say("Let me look.", [call("zoom", {"x": 1})]),
        say(None, both),
        say("Hm", [call("zoom", {"x": 4}, "call-4")]),
        say("Answer: A"),
    ]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_conversation_with_tools(backend: str) -> None:
    done, server = talk(backend, dialogue(backend))
    assert (done.ending, done.reply.text, done.calls) == (
        "answered",
        "Answer: A",
        4,
    )
    assert [
        result.call.name for turn in done.turns for result in turn.results
    ] == [
        "zoom",
        "zoom",
        "count",
        "zoom",
    ]
    assert (
        done.usage
        == {"prompt_tokens": 400, "completion_tokens": 40, "total_tokens": 440}
        == done.paid
    )
    picture = base64.b64encode(SHOWN.data).decode()
    assert [body.count(picture.encode()) for body in server.raw] == [0, 1, 2, 3]
    assert all(b"be brief" in body for body in server.raw)


def test_openai_bodies() -> None:
    _, server = talk("api", dialogue("api"))
    assert server.bodies[0]["tools"][0] == {
        "type": "function",
        "function": {
            "name": "zoom",
            "description": "Show a region.",
            "parameters": SCHEMA,
        },
    }
    roles = [message["role"] for message in server.bodies[-1]["messages"]]
    assert roles == [
        "system",
        "user",
        "assistant",
        "tool",
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
        "assistant",
        "tool",
        "user",
    ]
    said, result, image = server.bodies[1]["messages"][2:]
    assert said["content"] == "Let me look."
    assert said["tool_calls"][0]["id"] == result["tool_call_id"] == "call-1"
    assert result["content"] == "a region"
    assert [part["type"] for part in image["content"]] == ["text", "image_url"]


def test_reasoning_goes_back_with_its_calls() -> None:
    replies = dialogue("api")
    replies[0]["choices"][0]["message"] |= {
        "reasoning_content": "hm",
        "refusal": None,
    }
    _, server = talk("api", replies)
    assert server.bodies[1]["messages"][2]["reasoning_content"] == "hm"
    assert "refusal" not in server.bodies[1]["messages"][2]


def test_anthropic_bodies() -> None:
    _, server = talk("anthropic", dialogue("anthropic"))
    assert server.bodies[0]["tools"][0] == {
        "name": "zoom",
        "description": "Show a region.",
        "input_schema": SCHEMA,
    }
    roles = [message["role"] for message in server.bodies[-1]["messages"]]
    assert roles == ["user", "assistant"] * 3 + ["user"]
    said, results = server.bodies[2]["messages"][3:]
    assert [block["id"] for block in said["content"]] == ["call-2", "call-3"]
    assert [block["tool_use_id"] for block in results["content"]] == [
        "call-2",
        "call-3",
    ]
    assert [part["type"] for part in results["content"][0]["content"]] == [
        "text",
        "image",
    ]


def test_gemini_bodies() -> None:
    _, server = talk("google", dialogue("google"))
    assert server.bodies[0]["tools"][0]["functionDeclarations"][0] == {
        "name": "zoom",
        "description": "Show a region.",
        "parametersJsonSchema": SCHEMA,
    }
    said, results = server.bodies[1]["contents"][1:]
    assert said["parts"][1]["thoughtSignature"] == "c2lnbmVk", (
        "a signed thought must come back unchanged"
    )
    assert results["parts"][0]["functionResponse"] == {
        "name": "zoom",
        "response": {"output": "a region"},
    }
    assert "inlineData" in results["parts"][2]
    both = server.bodies[2]["contents"][4]["parts"]
    assert [next(iter(part)) for part in both] == [
        "functionResponse",
        "functionResponse",
        "text",
        "inlineData",
    ]


def _consume(value: Any) -> None:
    """Look at every part of a validated body: pydantic validates an Iterable as it is
    read."""
    if isinstance(value, dict):
        value = value.values()
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for item in value:
            _consume(item)


def test_openai_bodies_are_valid_for_the_sdk() -> None:
    openai = pytest.importorskip("openai.types.chat.completion_create_params")
    pydantic = pytest.importorskip("pydantic")
    known = pydantic.TypeAdapter(openai.CompletionCreateParamsNonStreaming)
    for backend in ("api", "vllm"):
        for replies in (dialogue(backend), awkward(backend)):
            for body in talk(backend, replies)[1].bodies:
                _consume(known.validate_python(body))


def test_anthropic_bodies_are_valid_for_the_sdk() -> None:
    anthropic = pytest.importorskip("anthropic.types.message_create_params")
    pydantic = pytest.importorskip("pydantic")
    known = pydantic.TypeAdapter(anthropic.MessageCreateParamsNonStreaming)
    for replies in (dialogue("anthropic"), awkward("anthropic")):
        for body in talk("anthropic", replies)[1].bodies:
            _consume(known.validate_python(body))


def test_gemini_bodies_are_valid_for_the_sdk() -> None:
    types = pytest.importorskip("google.genai.types")
    for replies in (dialogue("google"), awkward("google")):
        for body in talk("google", replies)[1].bodies:
            for content in body["contents"]:
                types.Content.model_validate(content)
            for tool in body["tools"]:
                types.Tool.model_validate(tool)


def awkward(backend: str) -> list[dict[str, Any]]:
    """Calls that cannot be repeated as they came."""
    say = REPLY[backend]
    wrong: Any = "no object" if backend != "google" else {}
    return [
        say("", [call("", {"x": 1})]),
        say(
            "two",
            [call("zoom", wrong, "one"), call("no such tool!", {}, "two")],
        ),
        say("Answer: B"),
    ]


@pytest.mark.parametrize("backend", BACKENDS)
def test_calls_that_no_protocol_can_repeat_are_repeated_in_a_valid_form(
    backend: str,
) -> None:
    done, server = talk(backend, awkward(backend))
    assert (done.ending, done.reply.text) == ("answered", "Answer: B")
    calls = [result.call for turn in done.turns for result in turn.results]
    assert calls[0].name == UNNAMED
    assert all(json.loads(call.arguments) is not None for call in calls)
    assert "no such tool!" not in json.dumps(server.bodies[-1])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_server_without_tools_says_so(backend: str) -> None:
    words = "Function calling is not enabled for this model"
    done, server = talk(backend, [refused(400, words)])
    assert done.ending == "failed" and words in str(done.error)
    assert len(server.bodies) == 1


@each(
    ("name", "arguments", "problem"),
    [
        ("zoom", {"x": 1}, ""),
        ("zoom", None, ""),
        ("zoom", "no object", "must be a JSON object"),
        ("zoom", "[1]", "must be a JSON object"),
        ("zoom", '{"x": NaN}', "must be a JSON object"),
        ("zoom", '{"x": "' + 5000 * "a" + '"}', "must be a JSON object"),
        ("no such tool!", {}, "name of a tool"),
        (None, {}, "name of a tool"),
    ],
)
def test_a_call_may_hold_anything(
    name: Any, arguments: Any, problem: str
) -> None:
    made = call_of(7, 2, {"name": name, "arguments": arguments}, "arguments")
    assert problem in made.problem and bool(problem) == bool(made.problem)
    assert made.id.endswith("2") and isinstance(
        json.loads(made.arguments), dict
    )


def scripted(*lines: Any, most: int = 6) -> Conversation:
    return asyncio.run(converse(ScriptedClient(lines).ask, REQUEST, run, most))


def calling(*arguments: str) -> Reply:
    return Reply(
        "",
        calls=tuple(
            ToolCall(f"c{k}", "zoom", text) for k, text in enumerate(arguments)
        ),
    )


def words(done: Conversation) -> list[str]:
    return [
        part.text
        for turn in done.turns
        for one in turn.results
        for part in one.parts
        if isinstance(part, TextPart)
    ]


def test_calls_without_end_are_told_so_and_end() -> None:
    lines = [calling(f'{{"x": {k}}}') for k in range(20)]
    done = scripted(*lines, most=3)
    assert done.ending == "tool_limit"
    assert done.calls == 3 + 2
    assert words(done) == ["a region"] * 3 + [NONE_LEFT]


def test_an_answer_after_the_last_warning_counts() -> None:
    done = scripted(
        calling('{"x": 1}'), calling('{"x": 2}'), "Answer: B", most=1
    )
    assert (done.ending, done.reply.text) == ("answered", "Answer: B")


def test_parallel_calls_are_bounded() -> None:
    done = scripted(
        calling(*(f'{{"x": {k}}}' for k in range(500))), "A", most=4
    )
    assert len(done.turns[0].results) == MOST_AT_ONCE
    assert words(done) == ["a region"] * 4 + [NONE_LEFT] * (MOST_AT_ONCE - 4)


def test_a_failed_call_ends_the_conversation_with_what_it_cost() -> None:
    reply = Reply(
        "",
        usage={"prompt_tokens": 5},
        calls=(ToolCall("c", "zoom", '{"x": 1}'),),
    )
    error = TransportError(
        "gone", cause="connection", usage={"prompt_tokens": 2}
    )
    done = scripted(reply, error)
    assert (done.ending, done.calls, done.paid["prompt_tokens"]) == (
        "failed",
        2,
        7,
    )
    assert isinstance(done.error, ClientError)


def test_without_tools_calls_in_a_reply_are_no_calls() -> None:
    request = Request((TextPart("Which?"),))
    line = '<tool_call>{"name": "zoom"}</tool_call>'
    done = asyncio.run(converse(ScriptedClient([line]).ask, request, run, 3))
    assert (done.ending, done.reply.text, done.calls) == ("answered", line, 1)


def test_every_turn_is_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    lines = [calling('{"x": 1}'), calling('{"x": 2}'), "Answer: A"]
    asked = ScriptedClient(lines)
    first = asyncio.run(
        converse(Cached(asked, tmp_path / "cache").ask, REQUEST, run, 6)
    )
    again = asyncio.run(
        converse(Cached(asked, tmp_path / "cache").ask, REQUEST, run, 6)
    )
    assert len(asked.requests) == 3
    assert (first.calls, again.calls, again.paid) == (3, 0, {})
    assert again.turns == first.turns


def test_requests_without_tools_have_the_cache_key_that_they_had() -> None:
    key = cache_key(
        ScriptedClient(["A"]).identity,
        Request((TextPart("Which?"), IMAGE), seed=3),
    )
    assert (
        key
        == "5726436e9cfe956fe25e539d3223b0a8d2faf1ee515055171763ab744216fd73"
    )
