"""The OpenAI protocol as it is on the wire, and what comes back from it."""

from __future__ import annotations

import asyncio
import base64
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clients.loopback import Loopback, completion, refused, serving
from folding import each
from visualjudge.clients import Reply, Request, TextPart, image_part
from visualjudge.clients.api import ApiClient, VllmClient
from visualjudge.clients.registry import build_client, open_client
from visualjudge.core.errors import ApiError, TransportError, UsageError
from visualjudge.core.records import Served
from visualjudge.replies import read_reply

KEY = "sk-a-secret-of-some-length"
SCHEMA = {
    "title": "Winner",
    "type": "object",
    "properties": {"winner": {"type": "string", "enum": ["A", "B"]}},
    "required": ["winner"],
}
HELLO = Request((TextPart("hello"),))


def ask(
    answers: list[Any], request: Request = HELLO, times: int = 1, **options: Any
) -> tuple[list[Reply], Loopback]:
    async def main() -> tuple[list[Reply], Loopback]:
        async with serving(*answers) as server:
            client = ApiClient(
                "m", base_url=f"{server.url}/v1", api_key=KEY, **options
            )
            try:
                return [await client.ask(request) for _ in range(times)], server
            finally:
                await client.aclose()

    return asyncio.run(main())


def error_of(answers: list[Any], **options: Any) -> Exception:
    with pytest.raises((ApiError, TransportError)) as caught:
        ask(answers, **options)
    return caught.value


@pytest.mark.parametrize("backend", ["api", "vllm", "anthropic"])
def test_a_url_without_a_scheme_is_refused_before_anything_is_asked(
    backend: str,
) -> None:
    with pytest.raises(
        UsageError,
        match=r"^`base_url`: must begin with http:// or https:// and be a URL",
    ):
        build_client(
            backend, model_name="m", base_url="localhost:8765/v1", api_key=KEY
        )


@pytest.mark.parametrize("name", ["temperature", "timeout", "attempts"])
def test_a_number_of_the_client_is_not_true_or_false(name: str) -> None:
    with pytest.raises(
        UsageError, match=f"`{name}` must be a number or text, got True$"
    ):
        open_client({"model_name": "m", "api_key": KEY, name: True})


def test_a_url_without_a_scheme_in_the_environment_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "joe:secret@localhost:8765/v1")
    with pytest.raises(
        UsageError,
        match=r"^OPENAI_BASE_URL: must begin with http:// or https:// and be a URL",
    ):
        ApiClient("m", api_key=KEY)


def test_text_and_images_are_sent_in_order_with_the_system_text_in_a_message_of_its_own() -> (
    None
):
    image = image_part(np.full((4, 5, 3), 9, np.uint8))
    request = Request(
        (TextPart('say "hi"\n'), image, TextPart("ü")), system="be brief"
    )
    replies, server = ask(
        ["A"],
        request,
        max_tokens=11,
        temperature=0.5,
        seed=3,
        extra_body={"x": 1},
    )
    body = server.bodies[0]
    url = "data:image/png;base64," + base64.b64encode(image.data).decode()
    assert body["messages"] == [
        {"role": "system", "content": "be brief"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": 'say "hi"\n'},
                {"type": "image_url", "image_url": {"url": url}},
                {"type": "text", "text": "ü"},
            ],
        },
    ]
    assert {
        name: body[name]
        for name in ("model", "max_tokens", "temperature", "seed", "x")
    } == {
        "model": "m",
        "max_tokens": 11,
        "temperature": 0.5,
        "seed": 3,
        "x": 1,
    }
    assert server.paths == ["/v1/chat/completions"]
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert replies[0] == Reply(
        "A",
        "stop",
        {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
        served=Served(),
    )


def test_a_request_overrides_the_clients_defaults() -> None:
    _, server = ask(
        ["A"], Request((TextPart("x"),), max_tokens=5), max_tokens=99
    )
    assert server.bodies[0]["max_tokens"] == 5


def test_nothing_is_sent_that_nobody_set() -> None:
    _, server = ask(["A"])
    assert set(server.bodies[0]) == {"model", "messages"}


def test_bodies_above_a_mebibyte_raise_no_warning() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (700, 700, 3), np.uint8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, server = ask(["A"], Request((image_part(noise),)))
    assert len(server.raw[0]) > 2**20


@each(
    ("choice", "text", "finish"),
    [
        (completion("x", "length"), "x", "length"),
        (completion("x", "content_filter"), "x", "refusal"),
        (completion("x", "tool_calls"), "x", "other"),
        (completion(None), "", "stop"),
        (
            completion(
                "ignored", message={"content": None, "refusal": "I will not"}
            ),
            "I will not",
            "refusal",
        ),
        (
            completion(
                "",
                message={
                    "content": [
                        {"type": "text", "text": "a"},
                        {"type": "text", "text": "b"},
                    ]
                },
            ),
            "ab",
            "stop",
        ),
    ],
)
def test_finish_reasons_refusals_and_content_in_parts_are_read(
    choice: Any, text: str, finish: str
) -> None:
    replies, _ = ask([(200, choice, {})])
    assert (replies[0].text, replies[0].finish_reason) == (text, finish)


def test_log_probabilities_are_asked_for_and_read() -> None:
    content = [
        {
            "token": "A",
            "logprob": -0.1,
            "top_logprobs": [{"token": "B", "logprob": -2.0}],
        }
    ]
    replies, server = ask(
        [(200, completion("A", logprobs={"content": content}), {})],
        Request((TextPart("x"),), top_logprobs=5),
    )
    assert (server.bodies[0]["logprobs"], server.bodies[0]["top_logprobs"]) == (
        True,
        5,
    )
    assert replies[0].tokens is not None
    assert replies[0].tokens[0].top[0].token == "B"


def test_a_schema_is_sent_strictly_and_nothing_noted_when_it_is_kept() -> None:
    replies, server = ask(
        ['{"winner": "A"}'], Request((TextPart("x"),), schema=SCHEMA)
    )
    assert server.bodies[0]["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "Winner", "schema": SCHEMA, "strict": True},
    }
    assert replies[0].notes == ()


@pytest.mark.parametrize("said", ["A it is", '{"winner": "C"}', "{}", "[]"])
def test_a_schema_that_the_server_ignores_is_noted(said: str) -> None:
    replies, _ = ask([said], Request((TextPart("x"),), schema=SCHEMA))
    assert any("ignored" in note for note in replies[0].notes)


@each(
    ("message", "without", "with_"),
    [
        ("response_format is not supported", "response_format", None),
        (
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            "max_tokens",
            "max_completion_tokens",
        ),
        (
            "'temperature' does not support 0 with this model",
            "temperature",
            None,
        ),
        ("unknown field: seed", "seed", None),
        ("logprobs are not available", "logprobs", None),
    ],
)
def test_a_parameter_refused_by_name_is_asked_for_differently_once_and_for_all(
    message: str, without: str, with_: str | None
) -> None:
    request = Request(
        (TextPart("x"),),
        schema=SCHEMA,
        max_tokens=5,
        temperature=0,
        seed=1,
        top_logprobs=2,
    )
    replies, server = ask(
        [refused(400, message), '{"winner": "A"}'], request, times=2
    )
    assert [without in body for body in server.bodies] == [True, False, False]
    assert with_ is None or server.bodies[1][with_] == 5
    assert all(
        any("refused" in note for note in reply.notes) for reply in replies
    )


def test_a_400_that_names_no_parameter_is_final() -> None:
    request = Request((TextPart("x"),), schema=SCHEMA, max_tokens=5)
    with pytest.raises(ApiError) as caught:
        ask([refused(400, "the image is too large")], request)
    assert str(caught.value) == "HTTP 400: the image is too large"
    assert not caught.value.retryable


def test_an_error_status_carries_the_servers_words_and_its_wish() -> None:
    error = error_of([refused(429, "slow\n down", Retry_After="7")])
    assert isinstance(error, ApiError)
    assert (error.status, error.retry_after, error.retryable) == (
        429,
        7.0,
        True,
    )
    assert "slow down" in str(error)


@each(
    ("message", "wish"),
    [
        ("Rate limit reached. Please try again in 1.5s.", 1.5),
        ("Retry in 250 ms", 0.25),
        ("Try again in a minute", None),
    ],
)
def test_a_wait_that_only_the_message_states_is_read(
    message: str, wish: float | None
) -> None:
    error = error_of([refused(429, message)])
    assert isinstance(error, ApiError)
    assert error.retry_after == wish


def test_a_key_that_the_server_repeats_is_masked_everywhere() -> None:
    error = error_of([refused(401, f"Incorrect API key provided: {KEY}.")])
    chain, seen = error, ""
    while chain is not None:
        seen += str(chain)
        chain = chain.__cause__ or chain.__context__
    assert "Incorrect API key" in seen
    assert KEY not in seen
    replies, _ = ask([f"your key is {KEY}"])
    assert replies[0].text == "your key is ***"


def test_secret_headers_are_masked_and_others_left_readable() -> None:
    headers = {"X-Auth-Token": "hidden-token", "X-Project": "dogs-and-cats"}
    replies, server = ask(["hidden-token of dogs-and-cats"], headers=headers)
    assert replies[0].text == "*** of dogs-and-cats"
    assert server.headers[0]["X-Project"] == "dogs-and-cats"


@each(
    "extra",
    [
        {"auth_token": "hidden-token"},
        {"auth": {"token": "hidden-token"}},
        {
            "routes": [
                {"region": "eu"},
                {"secrets": {"api_key": ["hidden-token"]}},
            ]
        },
    ],
)
def test_a_key_in_extra_fields_is_masked_at_every_depth(
    extra: dict[str, Any],
) -> None:
    replies, server = ask(["hidden-token of eu"], extra_body=extra)
    assert replies[0].text == "*** of eu"
    assert server.bodies[0].items() >= extra.items()


def test_a_key_is_in_no_repr() -> None:
    client = ApiClient(
        "m",
        base_url="http://user:pass-word@host/v1",
        api_key=KEY,
        headers={"X-Token": "hidden-token"},
    )
    assert KEY not in repr(client)
    assert "pass-word" not in repr(client) + str(client.identity)


@each(
    ("answer", "cause"),
    [
        ((200, b"<html>", {}), "not JSON"),
        ((200, b"[1]", {}), "not JSON"),
        ((200, {"hello": 1}, {}), "no reply in body"),
        ((200, {"choices": []}, {}), "no reply in body"),
        ((200, {"error": "overloaded"}, {}), "no reply in body"),
        (None, "connection"),
        (5.0, "timeout"),
    ],
)
def test_what_is_no_reply_has_a_cause_and_may_be_asked_again(
    answer: Any, cause: str
) -> None:
    error = error_of([answer], timeout=0.3)
    assert isinstance(error, TransportError)
    assert (error.cause, error.retryable) == (cause, True)


def test_an_error_inside_a_200_keeps_its_code() -> None:
    error = error_of(
        [(200, {"error": {"code": 503, "message": "no capacity"}}, {})]
    )
    assert isinstance(error, ApiError)
    assert error.status == 503


def test_a_server_that_is_not_there_is_a_connection_failure() -> None:
    async def main() -> None:
        client = ApiClient("m", base_url="http://127.0.0.1:9/v1", api_key=KEY)
        try:
            await client.ask(HELLO)
        finally:
            await client.aclose()

    with pytest.raises(TransportError) as caught:
        asyncio.run(main())
    assert caught.value.cause == "connection"


def test_a_proxy_of_the_environment_carries_requests_and_its_password_is_in_no_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main() -> tuple[Loopback, Exception | None]:
        async with serving("A") as proxy:
            for name in ("http_proxy", "https_proxy"):
                monkeypatch.setenv(
                    name, proxy.url.replace("//", "//joe:tiger@")
                )
            monkeypatch.setenv("no_proxy", "")
            plain = ApiClient(
                "m", base_url="http://model.example/v1", api_key=KEY
            )
            assert (await plain.ask(HELLO)).text == "A"
            await plain.aclose()
            encrypted = ApiClient(
                "m", base_url="https://model.example/v1", api_key=KEY
            )
            with pytest.raises(
                TransportError
            ) as caught:  # this proxy answers no CONNECT
                await encrypted.ask(HELLO)
            await encrypted.aclose()
            return proxy, caught.value

    proxy, failure = asyncio.run(main())
    login = base64.b64encode(b"joe:tiger").decode()
    assert (
        proxy.headers[0]["Host"],
        proxy.headers[0]["Proxy-Authorization"],
    ) == (
        "model.example",
        f"Basic {login}",
    )
    assert "tiger" not in str(failure)
    assert "the proxy answered" in str(failure)


def test_a_login_of_netrc_is_not_in_the_way_of_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text(
        "machine 127.0.0.1 login joe password tiger"
    )
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    replies, server = ask(["A"])
    assert replies[0].text == "A"
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


def test_one_client_can_be_asked_from_several_loops() -> None:
    client = ApiClient("m", base_url="http://unused", api_key=KEY)

    async def main() -> str:
        async with serving("A") as server:
            client._url = server.url
            reply = await client.ask(Request((TextPart("x"),)))
            await client.aclose()
            return reply.text

    assert [asyncio.run(main()), asyncio.run(main())] == ["A", "A"]


def test_openai_needs_a_key_and_a_server_of_ones_own_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        ApiClient("m")
    ApiClient("m", base_url="http://localhost:1/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert ApiClient("m").base_url == "https://api.openai.com/v1"


def test_vllm_is_found_by_address_and_port_and_sends_no_key_of_openais(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere/v1")
    client = VllmClient("m", ip_address="10.0.0.5", port="8011")
    assert client.base_url == "http://10.0.0.5:8011/v1"
    assert "Authorization" not in client.headers()
    assert (
        VllmClient("m", port=1, base_url="http://h/v1").base_url
        == "http://h/v1"
    )


def test_a_base_url_may_be_the_full_endpoint() -> None:
    client = ApiClient(
        "m", base_url="http://127.0.0.1:9/v1/chat/completions", api_key="k"
    )
    assert client.base_url == "http://127.0.0.1:9/v1"


def test_a_reply_is_cut_where_no_one_reads_on_and_not_sent_back() -> None:
    called = {
        "id": "c",
        "type": "function",
        "function": {"name": "zoom", "arguments": "{}"},
    }
    body = completion("y" * 2**21)
    body["choices"][0]["message"] |= {
        "tool_calls": [called],
        "reasoning_content": "y" * 2**21,
    }
    replies, _ = ask([(200, body, {})])
    assert (len(replies[0].text), replies[0].echo, len(replies[0].calls)) == (
        2**20 + 1,
        None,
        1,
    )
    assert read_reply(replies[0].text, "pairwise").cause == "too long"


@each(
    ("field", "header", "provider"),
    [
        ({"provider": "one"}, {}, "one"),
        ({}, {"X-Provider": "two"}, "two"),
        ({"provider": "one"}, {"x-inference-provider": "two"}, "one"),
        ({}, {}, None),
    ],
)
def test_who_served_a_reply_is_in_its_body_or_its_headers(
    field: Any, header: Any, provider: str | None
) -> None:
    body = completion("A", model="m-1", system_fingerprint="fp") | field
    body |= {"model": "m-1", "system_fingerprint": "fp"}
    replies, _ = ask([(200, body, header)])
    assert replies[0].served == Served("m-1", "fp", provider)
