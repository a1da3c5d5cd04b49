"""How hard a model thinks, in each protocol and in the key of the cache."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from folding import each
from visualjudge.clients import Request, TextPart, build_client
from visualjudge.clients.cache import cache_key
from visualjudge.core.errors import UsageError

ASKED = Request((TextPart("A or B?"),), max_tokens=100, temperature=0.0)
OFF, ON = {"enable_thinking": False}, {"enable_thinking": True}
CASES: list[tuple[str, Any, dict[str, Any]]] = [
    ("api", "low", {"reasoning_effort": "low"}),
    ("api", 2000, {"reasoning": {"max_tokens": 2000}}),
    ("vllm", "none", {"chat_template_kwargs": OFF}),
    (
        "vllm",
        "high",
        {"chat_template_kwargs": {**ON, "reasoning_effort": "high"}},
    ),
    ("vllm", "4096", {"chat_template_kwargs": {**ON, "thinking_budget": 4096}}),
    (
        "anthropic",
        "none",
        {"thinking": {"type": "disabled"}, "max_tokens": 100},
    ),
    (
        "anthropic",
        "low",
        {
            "thinking": {"type": "enabled", "budget_tokens": 2048},
            "max_tokens": 2148,
        },
    ),
]


def client(backend: str, effort: Any) -> Any:
    return build_client(
        backend,
        model_name="m",
        base_url="http://h",
        api_key="a-key-of-some-length",
        effort=effort,
    )


@each(("backend", "effort", "fields"), CASES)
def test_effort_is_sent_as_each_protocol_names_it(
    backend: str, effort: Any, fields: dict[str, Any]
) -> None:
    thinking = client(backend, effort)
    body = orjson.loads(b"".join(thinking._pieces(ASKED)))
    assert {name: body[name] for name in fields} == fields
    if body.get("thinking", {}).get("type") == "enabled":
        assert "temperature" not in body


def test_gemini_gets_a_budget_of_thinking_tokens() -> None:
    thinking = client("google", "medium")
    body = orjson.loads(b"".join(thinking._pieces(ASKED)))
    assert body["generationConfig"]["thinkingConfig"] == {
        "thinkingBudget": 8192
    }


def test_effort_is_in_the_key_of_a_reply_and_a_wrong_one_is_refused() -> None:
    keys = {
        cache_key(client("api", effort).identity, ASKED)
        for effort in (None, "low", "high")
    }
    assert len(keys) == 3
    with pytest.raises(UsageError, match="effort"):
        client("api", "much")
    with pytest.raises(UsageError, match="effort"):
        build_client(
            "api", model_name="m", api_key="a-key-of-some-length", effort=2000
        )
