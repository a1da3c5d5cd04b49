"""Backend ``anthropic``: Claude over Anthropic's messages API, without the SDK. Its
batches are in ``batch/anthropic.py``; what all servers share is in
``remote_client.py``.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import orjson

from visualjudge.clients.base import Reply, Request, Turn
from visualjudge.clients.protocol_fields import (
    Counts,
    as_content,
    conversation_body,
    counts_of,
    stated,
    text_of,
    thinking_budget,
)
from visualjudge.clients.remote_client import RemoteClient
from visualjudge.clients.tool_calls import call_of, echo_of
from visualjudge.core.finish_reasons import finish_of
from visualjudge.prompts.provider_payloads import (
    Text,
    anthropic_style,
)

VERSION = "2023-06-01"
DEFAULT_MAX_TOKENS = 16_384  # the API requires a value; thinking comes on top
# Thinking tokens of an effort.
_BUDGETS = {"none": 0, "low": 2048, "medium": 8192, "high": 16_384}
_PROMPT = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
)


class AnthropicClient(RemoteClient):
    """One Claude model. ``base_url`` excludes the version (``https://host``). ``seed``
    is not supported.
    """

    backend = "anthropic"
    prompt_adapter = staticmethod(anthropic_style)
    default_url = "https://api.anthropic.com"
    key_variables = ("ANTHROPIC_API_KEY",)
    models_path = "/v1/models"
    reply_is = "is not a message"
    unsupported: ClassVar[Mapping[str, str]] = {
        "top_logprobs": "this backend gives no log-probabilities",
        "seed": "this backend does not support a seed",
    }

    def _authorization(self, key: str) -> dict[str, str]:
        return {"anthropic-version": VERSION, "x-api-key": key}

    def _path(self) -> str:
        return "/v1/messages"

    def _pieces(self, full: Request) -> list[bytes]:
        budget = thinking_budget(self.effort, _BUDGETS)
        most = (full.max_tokens or DEFAULT_MAX_TOKENS) + (budget or 0)
        fixed = {"model": self.model, "max_tokens": most, "top_p": full.top_p}
        if budget:  # the API refuses a temperature beside thinking
            fixed["thinking"] = {"type": "enabled", "budget_tokens": budget}
        else:
            fixed["temperature"] = full.temperature
            fixed["thinking"] = None if budget is None else {"type": "disabled"}
        if full.schema is not None:
            form = {"type": "json_schema", "schema": dict(full.schema)}
            fixed["output_config"] = {"format": form}
        if full.tools:
            fixed["tools"] = [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": dict(tool.parameters),
                }
                for tool in full.tools
            ]
        fields = stated(fixed) | self.extra
        return conversation_body(full, fields, self.prompt_adapter, _turn)

    def _reply(self, body: Mapping[str, Any]) -> Reply:
        content = body["content"]
        if not isinstance(content, list):
            raise TypeError("content must be a list of blocks")
        text = "".join(
            text_of(block["text"])
            for block in content
            if block["type"] == "text"
        )
        calls = tuple(
            call_of(block.get("id"), k, block, "input")
            for k, block in enumerate(
                block for block in content if block["type"] == "tool_use"
            )
        )
        return Reply(
            text,
            finish_of(text_of(body.get("stop_reason"))),
            calls=calls,
            echo=echo_of(content, calls),
        )

    def _usage(self, body: Mapping[str, Any]) -> Counts:
        # ``input_tokens`` excludes tokens written to or read from a prompt cache; they
        # are added here. ``output_tokens`` includes thinking. Source:
        # https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching#tracking-cache-
        # performance,
        # https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking.
        counts, notes = counts_of(
            body.get("usage"), (*_PROMPT, "output_tokens")
        )
        prompt = (
            sum(counts.get(name, 0) for name in _PROMPT)
            if "input_tokens" in counts
            else None
        )
        output = counts.get("output_tokens")
        total = None if prompt is None or output is None else prompt + output
        named = {
            "prompt_tokens": prompt,
            "completion_tokens": output,
            "total_tokens": total,
        }
        return stated(named), notes


def _turn(turn: Turn, mark: Text) -> list[dict[str, Any]]:
    # Return the messages for one turn: the model's reply, then the tool results with
    # their images. Source:
    # https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use.
    made = [
        {
            "type": "tool_use",
            "id": call.id,
            "name": call.name,
            "input": orjson.loads(call.arguments),
        }
        for call in (result.call for result in turn.results)
    ]
    text = [{"type": "text", "text": turn.text}] if turn.text.strip() else []
    results = [
        {
            "type": "tool_result",
            "tool_use_id": result.call.id,
            "content": anthropic_style(None, as_content(result.parts), mark)[
                "messages"
            ][0]["content"],
            **({"is_error": True} if result.failed else {}),
        }
        for result in turn.results
    ]
    reply = [*text, *made] if turn.echo is None else orjson.loads(turn.echo)
    return [
        {"role": "assistant", "content": reply},
        {"role": "user", "content": results},
    ]
