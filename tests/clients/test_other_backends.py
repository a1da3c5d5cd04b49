"""Gemini and Claude in their own protocols, registries and configurations, plain calls,
secrets."""

from __future__ import annotations

import asyncio
import base64
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clients.loopback import Loopback, completion, refused, serving
from folding import each
from visualjudge.clients import (
    CLIENT_REGISTRY,
    Reply,
    Request,
    TextPart,
    build_client,
    image_part,
    open_client,
)
from visualjudge.clients.api import ApiClient
from visualjudge.clients.base import Alternative, Client, Token
from visualjudge.clients.cache import Cached
from visualjudge.clients.concurrency import Limited
from visualjudge.clients.masked_secrets import (
    Redactor,
    environment_secrets,
    public_url,
)
from visualjudge.clients.protocol_fields import LOGPROBS_UNUSABLE
from visualjudge.clients.registry import Registry
from visualjudge.clients.retry import Retrying, RetryPolicy
from visualjudge.clients.server_errors import api_error, embedded_error
from visualjudge.clients.sync_calls import run_sync
from visualjudge.core.errors import (
    ApiError,
    TransportError,
    UnknownName,
    UsageError,
)
from visualjudge.core.records import Served
from visualjudge.judges.registry import check_backend
from visualjudge.prompts.provider_payloads import openai_style
from visualjudge.runs.budget import token_counts

KEY = "a-secret-of-some-length"
LIKE_A_KEY = "sk-abcdefghijkl0123"
IMAGE = image_part(np.full((3, 4, 3), 200, np.uint8))
SCHEMA = {
    "type": "object",
    "properties": {"winner": {"type": "string"}},
    "required": ["winner"],
}
FULL = Request(
    (TextPart("first"), IMAGE, TextPart("last")),
    system="be brief",
    temperature=0.0,
    max_tokens=9,
    schema=SCHEMA,
)


def ask(
    backend: str, answers: list[Any], request: Request = FULL, **options: Any
) -> tuple[Reply, Loopback]:
    async def main() -> tuple[Reply, Loopback]:
        async with serving(*answers) as server:
            client = build_client(
                backend,
                model_name="m",
                base_url=server.url,
                api_key=KEY,
                timeout=0.5,
                **options,
            )
            try:
                return await client.ask(request), server
            finally:
                await client.aclose()

    return asyncio.run(main())


def gemini(
    text: str | None, finish: str = "STOP", **more: Any
) -> tuple[int, Any, dict[str, str]]:
    parts = (
        []
        if text is None
        else [{"text": "thinking…", "thought": True}, {"text": text}]
    )
    candidate = {
        "content": {"role": "model", "parts": parts},
        "finishReason": finish,
        "index": 0,
    }
    usage = {
        "promptTokenCount": 5,
        "candidatesTokenCount": 2,
        "thoughtsTokenCount": 4,
        "totalTokenCount": 11,
    }
    return 200, {"candidates": [candidate | more], "usageMetadata": usage}, {}


def claude(
    text: str, stop: str = "end_turn"
) -> tuple[int, Any, dict[str, str]]:
    usage = {"input_tokens": 5, "output_tokens": 2}
    message = {
        "id": "x",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "stop_reason": stop,
        "usage": usage,
    }
    return 200, message | {"content": [{"type": "text", "text": text}]}, {}


GOOD = {
    "google": gemini('{"winner": "A"}'),
    "anthropic": claude('{"winner": "A"}'),
}
OTHERS = list(GOOD)


def test_gemini_gets_system_images_and_schema() -> None:
    reply, server = ask("google", [GOOD["google"]])
    body = server.bodies[0]
    first, image, last = body["contents"][0]["parts"]
    assert (first["text"], last["text"]) == ("first", "last")
    assert image["inlineData"] == {
        "mimeType": "image/png",
        "data": base64.b64encode(IMAGE.data).decode(),
    }
    assert body["systemInstruction"]["parts"][0]["text"] == "be brief"
    how = body["generationConfig"]
    assert how == {
        "maxOutputTokens": 9,
        "temperature": 0.0,
        "responseMimeType": "application/json",
        "responseJsonSchema": SCHEMA,
    }
    assert server.paths == ["/v1beta/models/m:generateContent"]
    assert reply == Reply(
        '{"winner": "A"}',
        usage={
            "prompt_tokens": 5,
            "completion_tokens": 6,
            "reasoning_tokens": 4,
            "total_tokens": 11,
        },
        served=Served(),
    )


@pytest.mark.parametrize(
    ("backend", "each"), [("google", 11), ("api", 9), ("anthropic", 7)]
)
@pytest.mark.parametrize("good", [True, False])
def test_calls_that_brought_no_reply_and_were_billed_are_counted(
    backend: str, each: int, good: bool
) -> None:
    status, body, headers = GOOD.get(backend, (200, completion("A"), {}))
    said = body.keys() & {"candidates", "choices", "content"}
    nothing = (
        status,
        {name: value for name, value in body.items() if name not in said},
        headers,
    )

    async def main() -> Any:
        async with serving(
            nothing, nothing, (status, body, headers) if good else nothing
        ) as server:
            client = build_client(
                backend, model_name="m", base_url=server.url, api_key=KEY
            )
            try:
                return await Retrying(
                    client, RetryPolicy(attempts=3, first_wait_s=0.001)
                ).ask(FULL)
            except TransportError as error:
                return error
            finally:
                await client.aclose()

    found = asyncio.run(main())
    assert isinstance(found, Reply if good else TransportError)
    assert sum(count or 0 for count in token_counts(found.usage)) == 3 * each


@each(
    ("backend", "end", "hint"),
    [
        ("api", "", "may have to end in /v1"),
        ("vllm", "/x", "may have to end in /v1"),
        ("api", "/v2", "may have to end in /v1"),
        ("api", "/v1beta/openai", None),
        ("api", "/v1", None),
        ("google", "", None),
        ("google", "/v1beta", "must not end in a version"),
        ("anthropic", "/v1/", "must not end in a version"),
    ],
)
def test_a_404_names_the_version_that_the_address_lacks_or_has(
    backend: str, end: str, hint: str | None
) -> None:
    async def main() -> str:
        async with serving(refused(404, "Not Found")) as server:
            client = build_client(
                backend, model_name="m", base_url=server.url + end, api_key=KEY
            )
            with pytest.raises(ApiError) as failure:
                await client.ask(FULL)
            await client.aclose()
            return str(failure.value)

    said = asyncio.run(main())
    assert (
        said == "HTTP 404: Not Found"
        if hint is None
        else f"; `base_url` {hint}" in said
    )


@each(
    ("message", "textual"),
    [
        ("messages[0]: unknown variant `image_url`, expected `text`", True),
        ("Unsupported image size, at most 20 MB", False),
    ],
)
def test_a_model_that_refuses_images_is_asked_about(
    message: str, textual: bool
) -> None:
    said = str(api_error(400, f'{{"message": "{message}"}}'.encode(), {}))
    assert said.endswith("does the model read images?") == textual


@each(
    ("backend", "usage", "expected"),
    [
        # https://ai.google.dev/api/generate-content: candidates, thoughts, prompt and
        # tool use stand side by side
        (
            "google",
            {
                "promptTokenCount": 258,
                "candidatesTokenCount": 12,
                "thoughtsTokenCount": 88,
                "totalTokenCount": 358,
            },
            (258, 100, 358),
        ),
        (
            "google",
            {
                "promptTokenCount": 21,
                "thoughtsTokenCount": 60,
                "totalTokenCount": 81,
            },
            (21, 60, 81),
        ),
        (
            "google",
            {
                "promptTokenCount": 9,
                "toolUsePromptTokenCount": 30,
                "candidatesTokenCount": 2,
                "totalTokenCount": 41,
            },
            (39, 2, 41),
        ),
        (
            "google",
            {
                "promptTokenCount": 90,
                "cachedContentTokenCount": 80,
                "candidatesTokenCount": 2,
                "totalTokenCount": 92,
            },
            (90, 2, 92),
        ),
        # https://platform.openai.com/docs/api-reference/chat/object: reasoning and
        # cached tokens are parts
        (
            "api",
            {
                "prompt_tokens": 100,
                "prompt_tokens_details": {"cached_tokens": 64},
                "completion_tokens": 50,
                "completion_tokens_details": {"reasoning_tokens": 40},
                "total_tokens": 150,
            },
            (100, 50, 150),
        ),
        (  # https://docs.x.ai/docs/guides/reasoning: reasoning is in the total alone
            "api",
            {
                "prompt_tokens": 32,
                "completion_tokens": 9,
                "completion_tokens_details": {"reasoning_tokens": 94},
                "total_tokens": 135,
            },
            (32, 103, 135),
        ),
        (
            "api",
            {
                "prompt_tokens": 258,
                "completion_tokens": 12,
                "total_tokens": 358,
            },
            (258, 100, 358),
        ),
        ("api", {"prompt_tokens": 7, "completion_tokens": 2}, (7, 2, None)),
        (
            "vllm",
            {"prompt_tokens": 7, "completion_tokens": 30, "total_tokens": 37},
            (7, 30, 37),
        ),
        # https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching: cached
        # input stands beside the rest
        (
            "anthropic",
            {
                "input_tokens": 3,
                "cache_creation_input_tokens": 200,
                "cache_read_input_tokens": 1000,
                "output_tokens": 50,
            },
            (1203, 50, 1253),
        ),
    ],
)
def test_tokens_are_all_that_is_billed(
    backend: str, usage: Any, expected: tuple[int | None, ...]
) -> None:
    status, body, headers = GOOD.get(backend, (200, completion("A"), {}))
    counts = {
        name: usage for name in ("usage", "usageMetadata") if name in body
    }
    reply, _ = ask(
        backend, [(status, body | counts, headers)], Request((TextPart("x"),))
    )
    assert (
        tuple(
            map(
                reply.usage.get,
                ("prompt_tokens", "completion_tokens", "total_tokens"),
            )
        )
        == expected
    )
    assert token_counts(reply.usage) == expected[:2]


def test_further_fields_for_gemini_stand_where_its_protocol_has_them() -> None:
    extra = {
        "thinkingConfig": {"thinkingBudget": 0},
        "topK": 3,
        "maxOutputTokens": 5,
        "tools": [{"a": 1}],
    }
    _, server = ask(
        "google",
        [gemini("A")],
        Request((TextPart("x"),), max_tokens=9),
        extra_body=extra,
    )
    how = {
        "maxOutputTokens": 5,
        "thinkingConfig": {"thinkingBudget": 0},
        "topK": 3,
    }
    assert server.bodies[0] == {
        "contents": [{"role": "user", "parts": [{"text": "x"}]}],
        "generationConfig": how,
        "tools": [{"a": 1}],
    }


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("models/m", "models/m"),
        ("tunedModels/m-1", "tunedModels/m-1"),
        ("a b?key=1", "models/a b?key=1"),
    ],
)
def test_a_model_of_gemini_is_one_path(model: str, path: str) -> None:
    async def main() -> str:
        async with serving(gemini("A")) as server:
            client = build_client(
                "google", model_name=model, base_url=server.url, api_key=KEY
            )
            await client.ask(Request((TextPart("x"),)))
            await client.aclose()
            return server.paths[0]

    assert asyncio.run(main()) == f"/v1beta/{path}:generateContent"


def test_log_probabilities_of_gemini_are_read_and_malformed_ones_left_out() -> (
    None
):
    one, other = (
        {"token": "A", "tokenId": 1, "logProbability": -0.1},
        {"token": "B", "logProbability": -2.5},
    )
    good = {
        "chosenCandidates": [one, other],
        "topCandidates": [{"candidates": [one, other]}],
    }
    request = Request((TextPart("x"),), top_logprobs=2)
    reply, server = ask("google", [gemini("A", logprobsResult=good)], request)
    assert server.bodies[0]["generationConfig"] == {
        "responseLogprobs": True,
        "logprobs": 2,
    }
    top = (Alternative("A", -0.1), Alternative("B", -2.5))
    assert reply.tokens == (Token("A", -0.1, top), Token("B", -2.5))
    for bad in (
        {"chosenCandidates": 5},
        {"chosenCandidates": [5]},
        good | {"topCandidates": [{"candidates": 7}]},
    ):
        reply, _ = ask("google", [gemini("A", logprobsResult=bad)], request)
        assert (reply.text, reply.tokens) == ("A", None)
        assert reply.notes == (LOGPROBS_UNUSABLE,)


def test_claude_gets_system_images_and_schema() -> None:
    reply, server = ask("anthropic", [GOOD["anthropic"]])
    body = server.bodies[0]
    image = body["messages"][0]["content"][1]
    assert base64.b64decode(image["source"]["data"]) == IMAGE.data
    assert (body["system"], body["max_tokens"], body["temperature"]) == (
        "be brief",
        9,
        0.0,
    )
    assert body["output_config"]["format"]["schema"] == SCHEMA
    assert reply == Reply(
        '{"winner": "A"}',
        usage={"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
        served=Served("m"),
    )


@each(
    ("backend", "answer", "finish"),
    [
        ("google", gemini("cut", "MAX_TOKENS"), "length"),
        ("google", gemini(None, "SAFETY"), "refusal"),
        ("google", gemini("x", "OTHER"), "other"),
        (
            "google",
            (200, {"promptFeedback": {"blockReason": "SAFETY"}}, {}),
            "refusal",
        ),
        ("anthropic", claude("cut", "max_tokens"), "length"),
        ("anthropic", claude("", "refusal"), "refusal"),
    ],
)
def test_finish_reasons_are_read(
    backend: str, answer: Any, finish: str
) -> None:
    reply, _ = ask(backend, [answer])
    assert reply.finish_reason == finish


@pytest.mark.parametrize("backend", OTHERS)
def test_an_error_keeps_status_words_and_wish_and_loses_the_key(
    backend: str,
) -> None:
    with pytest.raises(ApiError) as caught:
        ask(backend, [refused(429, f"key {KEY} is too fast", Retry_After="3")])
    assert (caught.value.status, caught.value.retry_after) == (429, 3.0)
    assert "is too fast" in str(caught.value)
    assert KEY not in str(caught.value)
    assert caught.value.__context__ is None


def test_googles_own_way_to_ask_for_patience_is_understood() -> None:
    error = {
        "code": 429,
        "message": "quota",
        "details": [{"@type": "RetryInfo", "retryDelay": "34s"}],
    }
    with pytest.raises(ApiError) as caught:
        ask("google", [(429, {"error": error}, {})])
    assert caught.value.retry_after == 34.0


@each("backend", OTHERS)
@each(
    ("answer", "cause"),
    [(5.0, "timeout"), (None, "connection"), ((200, b"<p>", {}), "not JSON")],
)
def test_a_lost_reply_has_a_cause(
    backend: str, answer: Any, cause: str
) -> None:
    with pytest.raises(TransportError) as caught:
        ask(backend, [answer])
    assert caught.value.cause in (cause, "no reply in body")


@pytest.mark.parametrize("backend", OTHERS)
def test_a_client_sends_a_failed_call_once(backend: str) -> None:
    async def main() -> int:
        async with serving(refused(503, "x")) as server:
            client = build_client(
                backend, model_name="m", base_url=server.url, api_key=KEY
            )
            with pytest.raises(ApiError):
                await client.ask(FULL)
            await client.aclose()
            return len(server.raw)

    assert asyncio.run(main()) == 1


def test_no_log_names_a_model_that_is_a_key(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        replies = [refused(400, "response_schema"), GOOD["google"]]
        async with serving(*replies) as server:
            client = build_client(
                "google",
                model_name=LIKE_A_KEY,
                base_url=server.url,
                api_key=KEY,
            )
            await client.ask(FULL)
            await client.aclose()

    asyncio.run(main())
    assert "refused" in caplog.text
    assert LIKE_A_KEY not in caplog.text


@pytest.mark.parametrize("backend", OTHERS)
def test_a_schema_that_the_server_refuses_is_left_out(backend: str) -> None:
    name = {
        "google": "response_schema is not supported",
        "anthropic": "output_config: unknown",
    }[backend]
    reply, server = ask(backend, [refused(400, name), GOOD[backend]])
    assert len(server.raw) == 2
    assert any("schema refused" in note for note in reply.notes)


def test_what_a_backend_cannot_do_is_noted_with_the_reply_and_of_the_client() -> (
    None
):
    async def main() -> None:
        async with serving(claude("A")) as server:
            client = build_client(
                "anthropic", model_name="m", base_url=server.url, api_key=KEY
            )
            reply = await client.ask(
                Request((TextPart("x"),), seed=1, top_logprobs=3)
            )
            assert reply.notes == (
                "this backend gives no log-probabilities",
                "this backend does not support a seed",
            )
            assert client.diagnostics.adjustments == reply.notes
            await client.aclose()

    asyncio.run(main())


@pytest.mark.parametrize("backend", OTHERS)
def test_a_missing_key_is_a_wrong_call(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="_API_KEY"):
        build_client(backend, model_name="m")


@pytest.mark.parametrize("backend", ["api", "vllm", *OTHERS])
def test_no_repr_shows_a_key(backend: str) -> None:
    client = build_client(
        backend, model_name="m", base_url="http://h", api_key=KEY
    )
    assert KEY not in repr(client) + str(client) + repr(vars(client))


# ---------------------------------------------------------------- registry and
# configuration


def test_an_unknown_backend_is_named_with_those_there_are() -> None:
    with pytest.raises(
        ValueError, match=r"'nope'; must be one of api, google, vllm"
    ):
        build_client("nope", model_name="m")
    with pytest.raises(UnknownName):
        open_client({"backend": "nope", "model_name": "m"})


def test_a_registry_imports_when_asked_and_takes_ones_own() -> None:
    registry = Registry("thing", {"path": "pathlib:PurePath"})
    registry.register("mine", int)
    assert registry["path"].__name__ == "PurePath"
    assert (registry.get("mine"), registry.get("other"), sorted(registry)) == (
        int,
        None,
        ["mine", "path"],
    )
    registry.remove("mine")


def test_values_may_be_text_and_null_is_left_out() -> None:
    client = build_client(
        "vllm",
        model_name="m",
        port="8011",
        timeout="15",
        max_tokens="7",
        base_url=None,
    )
    assert client.base_url == "http://127.0.0.1:8011/v1"
    assert client.defaults["max_tokens"] == 7


def test_keys_of_judges_and_of_other_backends_may_stand_in_a_configuration() -> (
    None
):
    build_client(
        "api",
        model_name="m",
        base_url="http://h",
        retries=3,
        prompt_info={},
        port=1,
        ip_address="x",
    )


@each(
    ("fields", "named"),
    [
        ({"model_name": "m", "max_tokenz": 5}, "max_tokenz"),
        ({}, "model_name"),
        ({"model_name": "m", "max_tokens": 0}, "max_tokens"),
        ({"model_name": "m", "timeout": "soon"}, "timeout"),
        ({"model_name": "m", "temperature": -1}, "temperature"),
    ],
)
def test_a_wrong_field_is_named_and_its_value_is_not_shown(
    fields: dict[str, Any], named: str
) -> None:
    with pytest.raises(UsageError, match=named) as caught:
        build_client("api", base_url="http://h", api_key=KEY, **fields)
    assert KEY not in str(caught.value)


def test_an_opened_client_retries_and_is_limited() -> None:
    config = {"model_name": "m", "base_url": "http://h", "attempts": 2}
    client = open_client(config, concurrency=5)
    assert isinstance(client, Retrying)
    assert client.policy.attempts == 2
    assert isinstance(client.inner, Limited)
    assert client.inner.ceiling == 5
    assert isinstance(client.inner.inner, CLIENT_REGISTRY["api"])


# ---------------------------------------------------------------- plain calls, secrets


def test_plain_calls_work_inside_a_running_loop_too() -> None:
    async def value() -> int:
        return 7

    async def notebook() -> int:
        return run_sync(value())

    assert run_sync(value()) == 7
    assert asyncio.run(notebook()) == 7


def test_a_plain_call_inside_its_own_loop_says_so_and_does_not_hang() -> None:
    async def inner() -> int:
        return 1

    async def outer() -> int:
        return run_sync(inner())

    with pytest.raises(RuntimeError, match="await it"):
        run_sync(outer())


def test_a_secret_is_shown_by_nothing() -> None:
    client = build_client(
        "api", model_name="m", base_url="http://h/v1", api_key=KEY
    )
    assert KEY not in f"{client} {vars(client)} {client.identity}"


def test_short_placeholders_are_not_masked() -> None:
    assert Redactor(["x", None])("example") == "example"
    assert Redactor([KEY])(f"<{KEY}>") == "<***>"


def test_a_token_is_masked_without_the_word_before_it_too() -> None:
    assert Redactor(["Bearer abcdef-99"])("no abcdef-99") == "no ***"


@each(
    ("secret", "written"),
    [
        ("sk-a/b+c", "sk-a%2Fb%2bc"),
        ("sk-a/b+c", "sk-a/b\\u002Bc"),
        ("sk-a/b+c", "sk-a\\/b\\\\u002bc"),
        ("sk-a/b+c", "sk%2da%252Fb+c"),
        ("schlüssel😀", "schl%C3%bcssel%F0%9F%98%80"),
        ("schlüssel😀", "schl%25C3%25BCssel\\ud83D\\uDE00"),
        ("schlüssel😀", "schlüssel\\\\ud83d\\\\ude00"),
    ],
)
def test_a_secret_may_have_escapes_of_any_kind(
    secret: str, written: str
) -> None:
    redactor = Redactor([secret])
    assert redactor(f"<{written}>") == "<***>"
    assert redactor.body(f"<{written}>".encode()) == b"<***>"


def test_a_secret_of_the_environment_need_not_be_utf_8(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    key = os.fsdecode(b"sk-of-some-length-\xff\xfe")
    monkeypatch.setenv("SOME_API_KEY", key)
    assert environment_secrets()(f"é <{key}>") == "é <***>"


def test_a_public_url_has_no_password_and_no_query() -> None:
    assert (
        public_url("https://me:word@host:8/v1/?key=1#x") == "https://host:8/v1"
    )
    key = "sk-of-some-length-0123"
    assert public_url(f"https://host/{key}/v1") == "https://host/***/v1"


# The statuses that Anthropic, Google and OpenAI document for their kinds of errors.
STATUS_OF_KIND = {
    "invalid_request_error": 400,
    "INVALID_ARGUMENT": 400,
    "authentication_error": 401,
    "UNAUTHENTICATED": 401,
    "billing_error": 402,
    "permission_error": 403,
    "PERMISSION_DENIED": 403,
    "not_found_error": 404,
    "NOT_FOUND": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "RESOURCE_EXHAUSTED": 429,
    "INTERNAL": 500,
    "api_error": 500,
    "UNAVAILABLE": 503,
    "timeout_error": 504,
    "DEADLINE_EXCEEDED": 504,
    "overloaded_error": 529,
    "429": 429,
    "503": 503,
}


@each(
    ("field", "kind", "status"),
    [
        (field, kind, status)
        for field in ("code", "status", "type")
        for kind, status in STATUS_OF_KIND.items()
    ],
)
def test_an_error_in_a_body_of_status_200_is_retried_by_its_kind(
    field: str, kind: str, status: int
) -> None:
    error = embedded_error({"error": {field: kind, "message": "wait"}})
    assert isinstance(error, ApiError) and error.status == status
    assert error.retryable == (status >= 429)


API = "api for OpenAI, and with `base_url` for servers with its protocol"


@each(
    ("name", "right"),
    [
        ("openai", API),
        ("Azure-OpenAI", API),
        ("ollama", API),
        ("LM Studio", API),
        ("gemini", "google for Gemini"),
        ("claude", "anthropic for Claude"),
        ("hugging_face", "transformers for local weights"),
        ("vlm", "vllm"),
        ("antropic", "anthropic"),
    ],
)
def test_another_name_of_a_backend_names_the_right_one(
    name: str, right: str
) -> None:
    known = "must be one of api, google, vllm, anthropic, transformers"
    with pytest.raises(UnknownName) as raised:
        open_client({"backend": name, "model_name": "m"})
    assert f"unknown backend {name!r}; use {right}; {known}" in str(
        raised.value
    )
    with pytest.raises(UnknownName) as raised:
        check_backend(name)
    assert f"unknown backend {name!r}; use {right}; {known}, baseline" in str(
        raised.value
    )


def test_a_name_like_no_backend_lists_them_only() -> None:
    with pytest.raises(
        UnknownName,
        match=r"^unknown backend 'nope'; must be one of api, google, vllm",
    ):
        check_backend("nope")


def test_a_backend_with_a_payload_style_of_its_own_has_its_own_replies(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def shouting(system: str | None, content: Any, data: Any) -> Any:
        return openai_style(
            system, [str(part).upper() for part in content], data
        )

    class Own(ApiClient):
        prompt_adapter = staticmethod(shouting)

    monkeypatch.setitem(CLIENT_REGISTRY._rows, "own", Own)

    async def main() -> list[Reply]:
        async with serving("A", "B", "C") as server:
            where = {"model_name": "m", "base_url": server.url, "api_key": KEY}
            cached: list[Client] = [
                open_client({"backend": name, **where}, cache_dir=tmp_path)
                for name in ("api", "own")
            ]
            cached.append(Cached(Own(**where), tmp_path))
            replies = []
            for client in (*cached, *cached):
                replies.append(await client.ask(Request((TextPart("hi"),))))
            assert [client.identity.backend for client in cached[:2]] == [
                "api",
                "own",
            ]
            for client in cached:
                await client.aclose()
            return replies

    replies = asyncio.run(main())
    assert [reply.text for reply in replies] == ["A", "B", "C"] * 2
