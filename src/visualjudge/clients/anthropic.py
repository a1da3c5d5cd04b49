"""Backend ``anthropic``: Claude over Anthropic's messages protocol, spoken directly as the OpenAI protocol is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, ClassVar

from visualjudge.clients.base import FinishReason, Reply, Request
from visualjudge.clients.fields import USAGE_UNUSABLE, counts_of, name_of, text_of
from visualjudge.clients.limits import LARGEST_BODY
from visualjudge.clients.openai_protocol import schema_notes, text_or_image
from visualjudge.clients.parameters import Sampling
from visualjudge.clients.pieces import body_pieces
from visualjudge.clients.quirks import Quirks
from visualjudge.clients.remote import RemoteClient, Server
from visualjudge.clients.secrets import NAME_KEY, key_secret
from visualjudge.errors import TransportError, UsageError
from visualjudge.prompts.adapters import anthropic_style

ANTHROPIC_URL = "https://api.anthropic.com"
VERSION = "2023-06-01"
DEFAULT_MAX_TOKENS = 4096  # the protocol demands a number
NO_LOGPROBS = "this backend gives no log-probabilities"
NO_SEED = "this backend takes no seed"
_PROMPT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_FINISH: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


class AnthropicClient(RemoteClient):
    """One Claude model.

    Parameters
    ----------
    model_name
        As Anthropic names it.
    base_url
        Without a version (``https://host``); default Anthropic's.
    api_key
        Default ``ANTHROPIC_API_KEY``.
    timeout
        Seconds for one call.
    temperature, max_tokens, top_p
        Sent where a request leaves them open. There is no seed.
    extra_body
        Further fields of the body.
    headers, largest_reply, follow_redirects
        As :class:`~visualjudge.clients.api.ApiClient`.

    Raises
    ------
    UsageError
        If there is no key, or a URL, key or header cannot be sent.
    """

    backend: ClassVar[str] = "anthropic"
    models_path: ClassVar[str] = "/v1/models"

    def __init__(
        self,
        model_name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 300.0,
        temperature: float | None = None,
        max_tokens: int | None = None,
        top_p: float | None = None,
        extra_body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        largest_reply: int = LARGEST_BODY,
        follow_redirects: bool = False,
    ) -> None:
        key = api_key or os.environ.get("ANTHROPIC_API_KEY")
        if not key:
            raise UsageError(f"backend 'anthropic' needs a key: set ANTHROPIC_API_KEY, {NAME_KEY}")
        url = base_url or ANTHROPIC_URL
        server = Server(
            url, "base_url, --base-url", key_secret(key), headers, float(timeout), largest_reply, follow_redirects
        )
        super().__init__(model_name, server, Sampling(temperature, max_tokens, None, top_p, extra_body or {}))
        self._endpoint = f"{self._url}/v1/messages"

    async def _call(self, request: Request, full: Request) -> Reply:
        unknown = ((full.top_logprobs, NO_LOGPROBS), (full.seed, NO_SEED))
        notes = self.quirks.notes(self._parameters(full))
        notes += self.quirks.left_out(tuple(note for wanted, note in unknown if wanted is not None))
        schema = self._schema(full)
        body = await self._post(self._endpoint, self.headers(), self._prepared(request, lambda: self._pieces(full)))
        return reply_of(body, schema, notes)

    def _pieces(self, full: Request) -> list[bytes]:
        content = [text_or_image(part) for part in full.parts]
        fixed = {"model": self.model, "max_tokens": full.max_tokens or DEFAULT_MAX_TOKENS}
        fixed |= _parameters(full, self.sampling, self.quirks)
        return body_pieces(lambda mark: fixed | anthropic_style(full.system, content, mark))

    def headers(self) -> dict[str, str]:
        """The key, and the version of the protocol."""
        key = self._server.key
        fixed = {"anthropic-version": VERSION, "Content-Type": "application/json"}
        return {**self._server.own_headers, **fixed, "x-api-key": key.reveal() if key else ""}


def reply_of(body: Mapping[str, Any], schema: Mapping[str, Any] | None, notes: tuple[str, ...] = ()) -> Reply:
    """The text blocks of a message.

    Raises
    ------
    TransportError
        If the body is no message.
    """
    usage, about_usage = _usage(body.get("usage"))
    try:
        text = "".join(text_of(block["text"]) for block in _list(body["content"]) if block["type"] == "text")
        finish = _FINISH.get(name_of(body.get("stop_reason")) or "end_turn", "other")
    except (KeyError, TypeError, AttributeError, ValueError):
        raise TransportError("the server's reply is not a message", cause="no reply in body", usage=usage) from None
    return Reply(text, finish, usage, None, (*notes, *schema_notes(text, schema), *about_usage))


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("content must be a list of blocks")
    return value


def _usage(usage: Any) -> tuple[dict[str, int], tuple[str, ...]]:
    """Token counts as OpenAI names them: what was written to a prompt cache or read from it is part of the prompt, and
    stands beside ``input_tokens``. ``output_tokens`` count thinking.

    Source: https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching#tracking-cache-performance,
    https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking.
    """
    if not isinstance(usage, Mapping):
        return {}, (() if usage is None else (USAGE_UNUSABLE,))
    counts, notes = counts_of({name: usage.get(name) for name in (*_PROMPT, "output_tokens")})
    named = {}
    if "input_tokens" in counts:
        named["prompt_tokens"] = sum(counts.get(name, 0) for name in _PROMPT)
    if "output_tokens" in counts:
        named["completion_tokens"] = counts["output_tokens"]
    return (named | {"total_tokens": sum(named.values())} if len(named) == 2 else named), notes


def _parameters(full: Request, sampling: Sampling, quirks: Quirks) -> dict[str, Any]:
    wanted: dict[str, Any] = {
        "temperature": None if "no_temperature" in quirks else full.temperature,
        "top_p": None if "no_top_p" in quirks else sampling.top_p,
    }
    if full.schema is not None and "no_schema" not in quirks:
        wanted["output_config"] = {"format": {"type": "json_schema", "schema": dict(full.schema)}}
    return {name: value for name, value in wanted.items() if value is not None} | dict(sampling.extra)
