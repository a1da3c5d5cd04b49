"""Backends ``api`` and ``vllm``: any server with OpenAI's chat completions API, over
aiohttp, without the SDK. Its batches are in ``batch/openai.py``; what all servers share
is in ``remote_client.py``.

The SDK serialises every image again for every request, which cuts throughput to a
quarter. Here each body is assembled from the base64 cached with each image.
"""

import os
import re
from collections.abc import Mapping
from typing import Any, ClassVar

import orjson

from visualjudge.clients.base import Reply, Request, Turn
from visualjudge.clients.protocol_fields import (
    Counts,
    conversation_body,
    counts_of,
    member,
    stated,
    text_of,
    tokens_of,
    whole_output,
)
from visualjudge.clients.remote_client import CONTENT_FILTER, RemoteClient
from visualjudge.clients.server_errors import RENAMED
from visualjudge.clients.tool_calls import (
    call_of,
    echo_of,
    result_images,
    result_text,
)
from visualjudge.core.errors import UsageError
from visualjudge.core.finish_reasons import finish_of
from visualjudge.core.jsons import Fields, Json
from visualjudge.prompts.provider_payloads import (
    Text,
    openai_style,
)

# Fields of a message with calls that are sent back unchanged: some servers reject calls
# without their reasoning.
_ECHOED = ("tool_calls", "reasoning_content", "reasoning_details")
_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
_TOKEN = {"token": None, "logprob": None}
_ANSWER_LINE = re.compile(
    r"\W*(?i:(?:(?:the|my|final) "
    r"){0,2}(?:answer|ranking|score|verdict))\W{1,6}\S.{0,40}"
    r"|\W*[A-E]{1,5}\W*|\{.{1,200}\}"
)


def reply_of(body: Fields, _schema: object = None) -> Reply:
    """Return the first choice of a chat completion, without its usage."""
    choice = body["choices"][0]
    message = choice["message"]
    refused = message.get("refusal")
    text = _text(message.get("content")) or (
        refused if isinstance(refused, str) else ""
    )
    text, notes = (text, ()) if text.strip() else _reasoned(message)
    reason = text_of(choice.get("finish_reason"))
    finish = "refusal" if refused else finish_of(reason)
    cause = CONTENT_FILTER if reason == "content_filter" else None
    called = message.get("tool_calls")
    calls = tuple(
        call_of(member(call, "id"), k, member(call, "function"), "arguments")
        for k, call in enumerate(called if isinstance(called, list) else ())
    )
    echo = echo_of(
        {k: message[k] for k in _ECHOED if message.get(k) is not None}, calls
    )
    listed = member(choice.get("logprobs"), "content")
    tops = [
        member(token_logprob, "top_logprobs")
        for token_logprob in (listed if isinstance(listed, list) else ())
    ]
    tokens, about_tokens = tokens_of(listed, tops, _TOKEN)
    return Reply(
        text,
        finish,
        {},
        tokens,
        (*notes, *about_tokens),
        cause=cause,
        calls=calls,
        echo=echo,
    )


class ApiClient(RemoteClient):
    """One model on an OpenAI-compatible server.

    Parameters
    ----------
    base_url
        URL including the version (``http://host/v1``). Defaults to ``OPENAI_BASE_URL``,
        then to OpenAI's server.
    api_key
        Defaults to ``OPENAI_API_KEY``. Self-hosted servers usually need no key.
    effort
        Sent as ``reasoning_effort``; a number of tokens as ``reasoning.max_tokens``, as
        OpenRouter names it.
    """

    backend = "api"
    prompt_adapter = staticmethod(openai_style)
    default_url = "https://api.openai.com/v1"
    key_variables: ClassVar[tuple[str, ...]] = ("OPENAI_API_KEY",)
    versioned = True
    reply_is = "is not a chat completion"

    def __init__(self, model_name: str, **options: Any) -> None:
        super().__init__(model_name, **options)
        self._effort()  # OpenAI's server does not take every one

    def _located(self, base_url: str | None) -> tuple[str, str]:
        url = base_url or os.environ.get("OPENAI_BASE_URL") or self.default_url
        where = "`base_url`" if base_url else "OPENAI_BASE_URL"
        return url.rstrip("/").removesuffix(self._path()), where

    def _authorization(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def _path(self) -> str:
        return "/chat/completions"

    def _pieces(self, full: Request) -> list[bytes]:
        tokens = (
            RENAMED
            if RENAMED in self.refused_parameters.learned
            else "max_tokens"
        )
        fixed: Json = {"model": self.model, tokens: full.max_tokens}
        fixed |= {
            "temperature": full.temperature,
            "seed": full.seed,
            "top_p": full.top_p,
        }
        if full.top_logprobs is not None:
            fixed |= {"logprobs": True, "top_logprobs": full.top_logprobs}
        if full.schema is not None:
            name = str(full.schema.get("title") or "reply")
            form = {"name": name, "schema": dict(full.schema), "strict": True}
            fixed["response_format"] = {
                "type": "json_schema",
                "json_schema": form,
            }
        if full.tools:
            fixed["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": dict(tool.parameters),
                    },
                }
                for tool in full.tools
            ]
        fields = stated(fixed) | self._effort() | self.extra
        return conversation_body(full, fields, self.prompt_adapter, _turn)

    def _effort(self) -> Json:
        effort = self.effort
        if not isinstance(effort, int):
            return {} if effort is None else {"reasoning_effort": effort}
        if self.base_url == self.default_url:
            raise UsageError(
                "`effort`: OpenAI takes none, low, medium or high, got "
                f"{effort}"
            )
        return {"reasoning": {"max_tokens": effort}}

    _reply = staticmethod(reply_of)

    def _usage(self, body: Fields) -> Counts:
        usage = body.get("usage")
        if isinstance(usage, Mapping):
            thinking = member(
                usage.get("completion_tokens_details"), "reasoning_tokens"
            )
            usage = {**usage, "reasoning_tokens": thinking}
        counts, notes = counts_of(usage, (*_COUNTS, "reasoning_tokens"))
        output = whole_output(*map(counts.get, _COUNTS))
        return counts if output is None else counts | {
            "completion_tokens": output
        }, notes


class VllmClient(ApiClient):
    """A model behind a vLLM server: the OpenAI protocol without a key.

    Parameters
    ----------
    ip_address, port
        Address of the server; ``base_url`` takes precedence if given.
    api_key
        Needed only if the server was started with ``--api-key``. OpenAI's environment
        variables are ignored.
    options
        Options of :class:`ApiClient`.
    """

    backend = "vllm"
    key_variables = ()

    def __init__(
        self,
        model_name: str,
        *,
        ip_address: str | None = None,
        port: int | str | None = None,
        base_url: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(
            model_name,
            base_url=base_url
            or f"http://{ip_address or '127.0.0.1'}:{port or 8000}/v1",
            **options,
        )

    def _effort(self) -> Json:
        # Chat templates read ``enable_thinking`` (Qwen, GLM) or ``reasoning_effort``
        # (gpt-oss).
        effort = self.effort
        if effort is None:
            return {}
        form: Json = {"enable_thinking": effort != "none"}
        if effort != "none":
            form[
                "thinking_budget"
                if isinstance(effort, int)
                else "reasoning_effort"
            ] = effort
        return {"chat_template_kwargs": form}


def _turn(turn: Turn, mark: Text) -> list[Json]:
    # Return the messages for one turn: the model's reply and the tool results. Images
    # follow in a user message, because tool messages cannot contain any. Source:
    # https://platform.openai.com/docs/api-reference/chat/create (messages).
    made = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for call in (result.call for result in turn.results)
    ]
    called = (
        {"tool_calls": made} if turn.echo is None else orjson.loads(turn.echo)
    )
    messages: list[Json] = [
        {"role": "assistant", "content": turn.text or None, **called}
    ]
    messages += [
        {
            "role": "tool",
            "tool_call_id": result.call.id,
            "content": result_text(result),
        }
        for result in turn.results
    ]
    images = [part for result in turn.results for part in result_images(result)]
    return messages + (
        openai_style(None, images, mark)["messages"] if images else []
    )


def _text(content: Any) -> str:
    # Return a string, or the joined text parts if it is a list, as some servers send.
    if isinstance(content, list):
        return "".join(
            text_of(part.get("text"))
            for part in content
            if part.get("type", "text") == "text"
        )
    return text_of(content)


def _reasoned(message: Fields) -> tuple[str, tuple[str, ...]]:
    # Return the last line of a reply that is in the reasoning only, if it states an
    # answer.
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if not isinstance(reasoning, str) or not reasoning.strip():
        return "", ()
    last = reasoning.strip().splitlines()[-1].strip()
    if _ANSWER_LINE.fullmatch(last):
        return last, (
            "no content; read from the last line of reasoning_content",
        )
    return "", ("no content; the answer may be in reasoning_content",)
