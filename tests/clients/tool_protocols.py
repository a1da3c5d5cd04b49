"""Replies with tool calls as the servers of each protocol write them, for tests."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

Call = tuple[Any, Any, Any]
"""Id, name and arguments: an object, or a text that need not be JSON."""
BACKENDS = ("api", "vllm", "anthropic", "google")


def call(name: Any, arguments: Any = None, call_id: Any = "call-1") -> Call:
    return call_id, name, {} if arguments is None else arguments


def openai(
    text: str | None, calls: Sequence[Call] = (), finish: str | None = None
) -> dict[str, Any]:
    made = [
        {
            "id": i,
            "type": "function",
            "function": {
                "name": n,
                "arguments": a if isinstance(a, str) else json.dumps(a),
            },
        }
        for i, n, a in calls
    ]
    message: dict[str, Any] = {"role": "assistant", "content": text}
    message |= {"tool_calls": made} if made else {}
    choice = {
        "index": 0,
        "finish_reason": finish or ("tool_calls" if made else "stop"),
        "message": message,
    }
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    }


def claude(
    text: str | None, calls: Sequence[Call] = (), finish: str | None = None
) -> dict[str, Any]:
    content: list[dict[str, Any]] = (
        [{"type": "text", "text": text}] if text else []
    )
    content += [
        {"type": "tool_use", "id": i, "name": n, "input": a}
        for i, n, a in calls
    ]
    return {
        "id": "x",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": content,
        "stop_reason": finish or ("tool_use" if calls else "end_turn"),
        "usage": {"input_tokens": 100, "output_tokens": 10},
    }


def gemini(
    text: str | None, calls: Sequence[Call] = (), finish: str | None = None
) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"text": text}] if text else []
    parts += [
        {"functionCall": {"name": n, "args": a}, "thoughtSignature": "c2lnbmVk"}
        for _, n, a in calls
    ]
    candidate = {
        "content": {"role": "model", "parts": parts},
        "finishReason": finish or "STOP",
        "index": 0,
    }
    usage = {
        "promptTokenCount": 100,
        "candidatesTokenCount": 10,
        "totalTokenCount": 110,
    }
    return {"candidates": [candidate], "usageMetadata": usage}


REPLY: dict[str, Callable[..., dict[str, Any]]] = {
    "api": openai,
    "vllm": openai,
    "anthropic": claude,
    "google": gemini,
}


def base_url(backend: str, url: str) -> str:
    return f"{url}/v1" if backend in ("api", "vllm") else url
