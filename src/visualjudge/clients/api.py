"""Backend ``api``: any server with OpenAI's chat completions API, over aiohttp, without the SDK.

The SDK serialises every image again for every request, which cuts throughput to a quarter. Here
each body is assembled once from the base64 cached with each image, and retries send the same bytes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, ClassVar

import orjson
from pydantic import SecretStr

from visualjudge.clients.base import Reply, Request, ToolCall, Turn
from visualjudge.clients.json_schemas import response_format, schema_notes
from visualjudge.clients.masked_secrets import NAME_KEY, key_secret
from visualjudge.clients.refused_parameters import RefusedParameters
from visualjudge.clients.remote_client import RemoteClient
from visualjudge.clients.reply_fields import (
    counts_of,
    member,
    name_of,
    text_of,
    tokens_of,
    whole_output,
)
from visualjudge.clients.request_body import Sampling, conversation_body
from visualjudge.clients.tool_calls import (
    call_of,
    echo_of,
    result_images,
    result_text,
)
from visualjudge.core.errors import TransportError, UsageError
from visualjudge.core.finish_reasons import finish_of
from visualjudge.prompts.provider_payloads import PROMPT_ADAPTERS, Text, openai_style


class ApiClient(RemoteClient):
    """One model on an OpenAI-compatible server.

    Parameters
    ----------
    base_url
        URL including the version (``http://host/v1``). Defaults to ``OPENAI_BASE_URL``, then to
        OpenAI's server.
    api_key
        Defaults to ``OPENAI_API_KEY``. Self-hosted servers usually need no key.
    effort
        Sent as ``reasoning_effort``; a number of tokens as ``reasoning.max_tokens``, as OpenRouter
        names it.
    """

    backend: ClassVar[str] = "api"
    prompt_adapter: ClassVar[str] = "openai_style"
    default_url: ClassVar[str] = "https://api.openai.com/v1"
    key_variables: ClassVar[tuple[str, ...]] = ("OPENAI_API_KEY",)
    versioned: ClassVar[bool] = True
    # Whether the server accepts vLLM's ``structured_outputs`` in addition to ``response_format``.
    structured_outputs: ClassVar[bool] = False

    def __init__(self, model_name: str, **options: Any) -> None:
        super().__init__(model_name, **options)
        self._effort()  # OpenAI's server does not take every one

    def _located(self, base_url: str | None) -> tuple[str, str]:
        url = base_url or os.environ.get("OPENAI_BASE_URL") or self.default_url
        where = "base_url, --base-url" if base_url else "OPENAI_BASE_URL"
        return url.rstrip("/").removesuffix(self._path()), where

    def _secret(self, api_key: str | None, url: str) -> SecretStr | None:
        key = api_key or self._key_of_environment()
        if not key and url.rstrip("/") == self.default_url:
            raise UsageError(
                f"OpenAI's server needs a key: set OPENAI_API_KEY, {NAME_KEY}; --base-url "
                "(base_url) names another "
                "server"
            )
        return key_secret(key) if key else None

    def _parameters(self, full: Request) -> frozenset[str]:
        named = super()._parameters(full)
        return (
            named | {"structured_outputs"}
            if self.structured_outputs and "schema" in named
            else named
        )

    def _pieces(self, full: Request) -> list[bytes]:
        known, structured = self.refused_parameters, self.structured_outputs
        own = _parameters(full, self.sampling, known, structured)
        fixed = {"model": self.model, **own, **self._effort(), **self.sampling.extra}
        return conversation_body(
            full, fixed | _tools(full), PROMPT_ADAPTERS.find(self.prompt_adapter), _turn
        )

    def _effort(self) -> dict[str, Any]:
        effort = self.sampling.effort
        if isinstance(effort, int):
            if self.base_url == self.default_url:
                raise UsageError(
                    f"--effort (effort): OpenAI takes none, low, medium or high, got {effort}"
                )
            return {"reasoning": {"max_tokens": effort}}
        return {} if effort is None else {"reasoning_effort": effort}

    def _authorization(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def _path(self) -> str:
        return "/chat/completions"

    def _reply(self, body: Mapping[str, Any], schema: Mapping[str, Any] | None) -> Reply:
        return reply_of(body, schema)


# Fields of a message with calls that are sent back unchanged: some servers reject calls without
# their reasoning.
_ECHOED = ("tool_calls", "reasoning_content", "reasoning_details")
_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


def _tools(request: Request) -> dict[str, Any]:
    told = [
        {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
        for tool in request.tools
    ]
    return {"tools": [{"type": "function", "function": tool} for tool in told]} if told else {}


def _turn(turn: Turn, mark: Text) -> list[dict[str, Any]]:
    # Return the messages for one turn: the model's reply and the tool results. Images follow in a
    # user message, because tool messages cannot contain any. Source:
    # https://platform.openai.com/docs/api-reference/chat/create (messages).
    made = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for call in (result.call for result in turn.results)
    ]
    called = {"tool_calls": made} if turn.echo is None else orjson.loads(turn.echo)
    messages: list[dict[str, Any]] = [{"role": "assistant", "content": turn.text or None, **called}]
    messages += [
        {"role": "tool", "tool_call_id": result.call.id, "content": result_text(result)}
        for result in turn.results
    ]
    images = [part for result in turn.results for part in result_images(result)]
    return messages + (openai_style(None, images, mark)["messages"] if images else [])


def _parameters(
    request: Request, sampling: Sampling, refused_parameters: RefusedParameters, structured: bool
) -> dict[str, Any]:
    tokens = (
        "max_completion_tokens" if "max_completion_tokens" in refused_parameters else "max_tokens"
    )
    wanted: dict[str, Any] = {
        tokens: request.max_tokens,
        "temperature": None if "no_temperature" in refused_parameters else request.temperature,
        "seed": None if "no_seed" in refused_parameters else request.seed,
        "top_p": None if "no_top_p" in refused_parameters else sampling.top_p,
    }
    if request.top_logprobs is not None and "no_logprobs" not in refused_parameters:
        wanted |= {"logprobs": True, "top_logprobs": request.top_logprobs}
    if request.schema is not None and "no_schema" not in refused_parameters:
        wanted |= {"response_format": response_format(request.schema)}
        if structured and "no_structured_outputs" not in refused_parameters:
            wanted |= {"structured_outputs": {"json": dict(request.schema)}}
    return {name: value for name, value in wanted.items() if value is not None}


def reply_of(body: Mapping[str, Any], schema: Mapping[str, Any] | None) -> Reply:
    """Return the first choice of a chat completion.

    Parameters
    ----------
    body
        JSON object sent by the server.
    schema
        JSON schema that the reply was asked to follow.

    Raises
    ------
    TransportError
        If the body is not a chat completion: a required field is missing or has the wrong type.
    """
    usage, about_usage = _usage(body.get("usage"))
    try:
        choice = body["choices"][0]
        message = choice["message"]
        refused = message.get("refusal")
        text = _text(message.get("content")) or (refused if isinstance(refused, str) else "")
        text, about_text = (text, ()) if text.strip() else _reasoned(message)
        reason = name_of(choice.get("finish_reason")) or "stop"
    except (KeyError, IndexError, TypeError, AttributeError, ValueError):
        raise TransportError(
            "the server's reply is not a chat completion", cause="no reply in body", usage=usage
        ) from None
    finish = "refusal" if refused else finish_of(reason)
    cause = "content filter" if reason == "content_filter" else None
    calls, echo = _calls(message)
    tokens, about_tokens = tokens_of(member(choice.get("logprobs"), "content"))
    told = (*about_text, *schema_notes(text, schema), *about_tokens, *about_usage)
    return Reply(text_of(text), finish, usage, tokens, told, cause=cause, calls=calls, echo=echo)


def _text(content: Any) -> str:
    # Return a string, or the joined text parts if it is a list, as some servers send.
    if isinstance(content, list):
        return "".join(
            text_of(part.get("text")) for part in content if part.get("type", "text") == "text"
        )
    return text_of(content)


_ANSWER_LINE = re.compile(
    r"\W*(?i:(?:(?:the|my|final) ){0,2}(?:answer|ranking|score|verdict))\W{1,6}\S.{0,40}"
    r"|\W*[A-E]{1,5}\W*|\{.{1,200}\}"
)


def _reasoned(message: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    # Return the last line of a reply that is in the reasoning only, if it states an answer.
    stated = message.get("reasoning_content") or message.get("reasoning")
    if not isinstance(stated, str) or not stated.strip():
        return "", ()
    last = stated.strip().splitlines()[-1].strip()
    if _ANSWER_LINE.fullmatch(last):
        return last, ("no content; read from the last line of reasoning_content",)
    return "", ("no content; the answer may be in reasoning_content",)


def _calls(message: Mapping[str, Any]) -> tuple[tuple[ToolCall, ...], str | None]:
    stated = message.get("tool_calls")
    functions = (
        [(member(item, "id"), member(item, "function")) for item in stated]
        if isinstance(stated, list)
        else []
    )
    calls = tuple(
        call_of(name, k, member(function, "name"), member(function, "arguments"))
        for k, (name, function) in enumerate(functions)
    )
    sent = {name: message[name] for name in _ECHOED if message.get(name) is not None}
    return calls, echo_of(sent, calls)


def _usage(usage: Any) -> tuple[dict[str, int], tuple[str, ...]]:
    reasoning = member(member(usage, "completion_tokens_details"), "reasoning_tokens")
    told = {**usage, "reasoning_tokens": reasoning} if isinstance(usage, Mapping) else usage
    counts, notes = counts_of(told, (*_COUNTS, "reasoning_tokens"))
    output = whole_output(*map(counts.get, _COUNTS))
    return counts if output is None else counts | {"completion_tokens": output}, notes
