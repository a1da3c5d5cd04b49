"""Backend ``anthropic``: Claude over Anthropic's messages API, without the SDK."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import orjson

from visualjudge.clients.base import Reply, Request, ToolCall, Turn
from visualjudge.clients.json_schemas import schema_notes
from visualjudge.clients.refused_parameters import RefusedParameters
from visualjudge.clients.remote_client import RemoteClient
from visualjudge.clients.reply_fields import counts_of, name_of, text_of
from visualjudge.clients.request_body import Sampling, conversation_body
from visualjudge.clients.tool_calls import as_content, call_of, echo_of
from visualjudge.core.errors import ApiError, TransportError, UsageError
from visualjudge.core.finish_reasons import finish_of
from visualjudge.prompts.provider_payloads import PROMPT_ADAPTERS, Content, Text, anthropic_style

VERSION = "2023-06-01"
DEFAULT_MAX_TOKENS = 16_384  # the API requires a value; thinking comes on top
# Thinking tokens of an effort.
_BUDGETS = {"none": 0, "low": 2048, "medium": 8192, "high": 16_384}
_LEAST_BUDGET = 1024
# A refusal that names the model's own maximum.
_LOWER = re.compile(r"max_tokens: \d+ > (\d+)")
NO_LOGPROBS = "this backend gives no log-probabilities"
NO_SEED = "this backend does not support a seed"
_PROMPT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class AnthropicClient(RemoteClient):
    """One Claude model. ``base_url`` excludes the version (``https://host``). ``seed`` is not
    supported.
    """

    backend: ClassVar[str] = "anthropic"
    prompt_adapter: ClassVar[str] = "anthropic_style"
    default_url: ClassVar[str] = "https://api.anthropic.com"
    key_variables: ClassVar[tuple[str, ...]] = ("ANTHROPIC_API_KEY",)
    models_path: ClassVar[str] = "/v1/models"

    def __init__(self, model_name: str, **options: Any) -> None:
        if options.get("seed") is not None:
            raise UsageError(f"backend {self.backend!r} does not support a seed")
        super().__init__(model_name, **options)
        self._most_tokens = DEFAULT_MAX_TOKENS
        budget = self.sampling.thinking_budget(_BUDGETS) or 0
        if 0 < budget < _LEAST_BUDGET:
            raise UsageError(
                f"--effort (effort): Anthropic takes at least {_LEAST_BUDGET} tokens, got {budget}"
            )

    async def _call(self, request: Request, full: Request) -> Reply:
        # Make one call; older models name their lower maximum of tokens in a refusal.
        try:
            return await super()._call(request, full)
        except ApiError as error:
            lower = _LOWER.search(str(error))
            if lower is None or full.max_tokens or int(lower[1]) >= self._most_tokens:
                raise
            self._most_tokens = int(lower[1])
            request.prepared.clear()
            return await super()._call(request, full)

    def _notes(self, full: Request) -> tuple[str, ...]:
        unknown = ((full.top_logprobs, NO_LOGPROBS), (full.seed, NO_SEED))
        left_out = tuple(note for wanted, note in unknown if wanted is not None)
        return super()._notes(full) + self.refused_parameters.left_out(left_out)

    def _pieces(self, full: Request) -> list[bytes]:
        budget = self.sampling.thinking_budget(_BUDGETS)
        most = (full.max_tokens or self._most_tokens) + (budget or 0)
        fixed = {"model": self.model, "max_tokens": most}
        if budget == 0:
            fixed["thinking"] = {"type": "disabled"}
        elif budget:
            fixed["thinking"] = {"type": "enabled", "budget_tokens": budget}
            full = replace(full, temperature=None)  # the API refuses one beside thinking
        fixed |= _parameters(full, self.sampling, self.refused_parameters) | _tools(full)
        return conversation_body(full, fixed, PROMPT_ADAPTERS.find(self.prompt_adapter), _turn)

    def _authorization(self, key: str) -> dict[str, str]:
        return {"anthropic-version": VERSION, "x-api-key": key}

    def _path(self) -> str:
        return "/v1/messages"

    def _reply(self, body: Mapping[str, Any], schema: Mapping[str, Any] | None) -> Reply:
        return reply_of(body, schema)


def reply_of(body: Mapping[str, Any], schema: Mapping[str, Any] | None) -> Reply:
    """Return the text blocks of a message.

    Raises
    ------
    TransportError
        If the body is not a message.
    """
    usage, about_usage = _usage(body.get("usage"))
    try:
        text = "".join(
            text_of(block["text"]) for block in _list(body["content"]) if block["type"] == "text"
        )
        calls, echo = _calls(body["content"])
        finish = finish_of(name_of(body.get("stop_reason")))
    except (KeyError, TypeError, AttributeError, ValueError):
        raise TransportError(
            "the server's reply is not a message", cause="no reply in body", usage=usage
        ) from None
    told = (*schema_notes(text, schema), *about_usage)
    return Reply(text, finish, usage, None, told, calls=calls, echo=echo)


def _calls(content: list[Any]) -> tuple[tuple[ToolCall, ...], str | None]:
    blocks = [block for block in content if block["type"] == "tool_use"]
    calls = tuple(
        call_of(block.get("id"), k, block.get("name"), block.get("input"))
        for k, block in enumerate(blocks)
    )
    return calls, echo_of(content, calls)


def _tools(full: Request) -> dict[str, Any]:
    told = [
        {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}
        for tool in full.tools
    ]
    return {"tools": told} if told else {}


def _turn(turn: Turn, mark: Text) -> list[dict[str, Any]]:
    # Return the messages for one turn: the model's reply, then the tool results with their images.
    # Source: https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use.

    def blocks(content: Content) -> Any:
        return anthropic_style(None, content, mark)["messages"][0]["content"]

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
            "content": blocks(as_content(result.parts)),
            **({"is_error": True} if result.failed else {}),
        }
        for result in turn.results
    ]
    said: dict[str, Any] = {
        "role": "assistant",
        "content": [*text, *made] if turn.echo is None else orjson.loads(turn.echo),
    }
    return [said, {"role": "user", "content": results}]


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("content must be a list of blocks")
    return value


def _usage(usage: Any) -> tuple[dict[str, int], tuple[str, ...]]:
    # Return token counts under OpenAI's names. ``input_tokens`` excludes tokens written to or read
    # from a prompt cache; they are added here. ``output_tokens`` includes thinking. Source:
    # https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching#tracking-cache-
    # performance, https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking.
    counts, notes = counts_of(usage, (*_PROMPT, "output_tokens"))
    named = {}
    if "input_tokens" in counts:
        named["prompt_tokens"] = sum(counts.get(name, 0) for name in _PROMPT)
    if "output_tokens" in counts:
        named["completion_tokens"] = counts["output_tokens"]
    return (named | {"total_tokens": sum(named.values())} if len(named) == 2 else named), notes


def _parameters(
    full: Request, sampling: Sampling, refused_parameters: RefusedParameters
) -> dict[str, Any]:
    wanted: dict[str, Any] = {
        "temperature": None if "no_temperature" in refused_parameters else full.temperature,
        "top_p": None if "no_top_p" in refused_parameters else sampling.top_p,
    }
    if full.schema is not None and "no_schema" not in refused_parameters:
        wanted["output_config"] = {"format": {"type": "json_schema", "schema": dict(full.schema)}}
    return {name: value for name, value in wanted.items() if value is not None} | dict(
        sampling.extra
    )
