"""Backend ``google``: Gemini through the google-genai SDK.

The SDK builds requests and reads replies; it sends through the same wire as every other backend, so that it meets only
JSON objects of bounded size with status 200. Its own retries are off.
"""

from __future__ import annotations

import asyncio
import os
import warnings
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import httpx
import orjson
from google import genai
from google.genai import types

from visualjudge.clients.base import FinishReason, ImagePart, Part, Reply, Request, Token
from visualjudge.clients.fields import LOGPROBS_UNUSABLE, alternative, counts_of, text_of
from visualjudge.clients.limits import LARGEST_BODY
from visualjudge.clients.openai_protocol import schema_notes
from visualjudge.clients.parameters import Sampling
from visualjudge.clients.quirks import Quirks
from visualjudge.clients.remote import CONTENT_FILTER, RemoteClient, Server
from visualjudge.clients.secrets import key_secret
from visualjudge.errors import TransportError, UsageError
from visualjudge.prompts.adapters import google_style

# An image's data are base64 where the SDK's model says bytes (see _content): pydantic would say so once a run.
warnings.filterwarnings("ignore", message="(?s)Pydantic serializer warnings:.*field_name='data'", category=UserWarning)
# The SDK would print what a reply gives for a finish reason, control characters included.
warnings.filterwarnings("ignore", message="(?s).* is not a valid ", category=UserWarning)

GEMINI_URL = "https://generativelanguage.googleapis.com"
_REFUSALS = frozenset({"SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "RECITATION", "IMAGE_SAFETY", "LANGUAGE"})
_NOT_SENT_ON = frozenset({"content-length", "accept-encoding", "connection", "host", "transfer-encoding"})


class GoogleClient(RemoteClient):
    """One Gemini model.

    Parameters
    ----------
    model_name
        Such as ``gemini-2.5-flash``.
    base_url
        Without a version (``http://host``); default Google's.
    api_key
        Default ``GOOGLE_API_KEY``, then ``GEMINI_API_KEY``.
    timeout
        Seconds for one call.
    temperature, max_tokens, seed, top_p
        Sent where a request leaves them open; None = the server's own.
    extra_body
        Further fields of the generation configuration (``{"thinking_config": {"thinking_budget": 0}}``).
    headers, largest_reply, follow_redirects
        As :class:`~visualjudge.clients.api.ApiClient`.

    Raises
    ------
    UsageError
        If there is no key, or a URL, key, header or ``extra_body`` cannot be sent.
    """

    backend: ClassVar[str] = "google"

    def __init__(
        self,
        model_name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 300.0,
        temperature: float | None = None,
        max_tokens: int | None = None,
        seed: int | None = None,
        top_p: float | None = None,
        extra_body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        largest_reply: int = LARGEST_BODY,
        follow_redirects: bool = False,
    ) -> None:
        key = api_key or os.environ.get("GOOGLE_API_KEY") or os.environ.get("GEMINI_API_KEY")
        if not key:
            raise UsageError("backend 'google' needs a key: set GOOGLE_API_KEY or api_key")
        server = Server(
            base_url or GEMINI_URL,
            "base_url, --base-url",
            key_secret(key),
            headers,
            float(timeout),
            largest_reply,
            follow_redirects,
        )
        super().__init__(model_name, server, Sampling(temperature, max_tokens, seed, top_p, extra_body or {}))
        self._check_extra()
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, genai.Client] = weakref.WeakKeyDictionary()

    def __getstate__(self) -> dict[str, Any]:
        """In another process: no SDK client yet."""
        return {name: value for name, value in self.__dict__.items() if name != "_clients"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _clients=weakref.WeakKeyDictionary())

    def _check_extra(self) -> None:
        """The SDK checks the fields of a configuration: refuse a wrong one before anything is asked."""
        try:
            types.GenerateContentConfig(**dict(self.sampling.extra))
        except (ValueError, TypeError):
            names = ", ".join(map(str, self.sampling.extra))
            raise UsageError(
                f"extra_body: must be fields of google-genai's GenerateContentConfig, got {names}"
            ) from None

    def _client(self) -> genai.Client:
        """The running loop's SDK client; it holds no connection of its own."""
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            key = self._server.key
            options = types.HttpOptions(
                base_url=self._url,
                timeout=int(self._server.timeout_s * 1000),
                retry_options=types.HttpRetryOptions(attempts=1),
                httpx_async_client=httpx.AsyncClient(transport=_Transport(self), follow_redirects=False),
            )
            self._clients[loop] = genai.Client(
                api_key=key.reveal() if key else "", vertexai=False, http_options=options
            )
        return self._clients[loop]

    def headers(self) -> dict[str, str]:
        """The key; the SDK sets its own with each call."""
        key = self._server.key
        return {**self._server.own_headers, "x-goog-api-key": key.reveal() if key else ""}

    async def _call(self, request: Request, full: Request) -> Reply:
        shaped = google_style(full.system, [_in_base64(part) for part in full.parts])
        config = _config(full, self.sampling, self.quirks, shaped.get("system_instruction"))
        notes, schema = self.quirks.notes(self._parameters(full)), self._schema(full)
        response = await self._client().aio.models.generate_content(
            model=self.model, contents=[_content(each) for each in shaped["contents"]], config=config
        )
        return reply_of(response, schema, notes)

    async def send(self, url: str, headers: Mapping[str, str], body: bytes) -> bytes:
        """Post what the SDK has built; the JSON object of the reply."""
        kept = {name: value for name, value in headers.items() if name.lower() not in _NOT_SENT_ON}
        return orjson.dumps(await self._post(url, {**self._server.own_headers, **kept}, [body]))


class _Transport(httpx.AsyncBaseTransport):
    """Carries the SDK's requests over a client's wire; holds the client weakly, which holds the SDK."""

    def __init__(self, client: GoogleClient) -> None:
        self._client = weakref.ref(client)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        client = self._client()
        if client is None:
            raise TransportError("the client is gone", retryable=False)
        body = await client.send(str(request.url), request.headers, await request.aread())
        return httpx.Response(200, content=body, headers={"Content-Type": "application/json"}, request=request)


@dataclass(frozen=True, slots=True)
class _InBase64:
    """An image whose data are base64 already."""

    data: bytes
    mime: str
    base64: bytes


def _in_base64(part: Part) -> str | _InBase64:
    return _InBase64(part.base64, part.mime, part.base64) if isinstance(part, ImagePart) else part.text


def _content(shaped: Mapping[str, Any]) -> types.Content:
    """A content whose images the SDK sends as they are.

    Given bytes, it would encode them at every call, in the URL-safe alphabet, which Google's servers read and many of
    those that stand in for them do not. Standard base64 is read by all, and each image has its own at hand.
    """
    parts = [
        types.Part.model_construct(
            inline_data=types.Blob.model_construct(
                mime_type=part["inline_data"]["mime_type"], data=part["inline_data"]["data"].decode()
            )
        )
        if "inline_data" in part
        else types.Part(text=part["text"])
        for part in shaped["parts"]
    ]
    return types.Content(role=shaped["role"], parts=parts)


def _config(full: Request, sampling: Sampling, quirks: Quirks, system: str | None) -> types.GenerateContentConfig:
    wanted: dict[str, Any] = {
        "system_instruction": system,
        "temperature": None if "no_temperature" in quirks else full.temperature,
        "max_output_tokens": full.max_tokens,
        "seed": None if "no_seed" in quirks else full.seed,
        "top_p": None if "no_top_p" in quirks else sampling.top_p,
    }
    if full.top_logprobs is not None and "no_logprobs" not in quirks:
        wanted |= {"response_logprobs": True, "logprobs": full.top_logprobs}
    if full.schema is not None and "no_schema" not in quirks:
        wanted |= {"response_mime_type": "application/json", "response_json_schema": dict(full.schema)}
    return types.GenerateContentConfig(**wanted | dict(sampling.extra))


def reply_of(
    response: types.GenerateContentResponse, schema: Mapping[str, Any] | None, notes: tuple[str, ...] = ()
) -> Reply:
    """The first candidate's text, thoughts left out.

    Raises
    ------
    TransportError
        If there is neither a candidate nor a reason why the prompt was blocked.
    """
    usage, about_usage = _usage(response.usage_metadata)
    blocked = response.prompt_feedback and response.prompt_feedback.block_reason
    if blocked:
        return Reply("", "refusal", usage, notes=(*notes, f"prompt blocked: {_name(blocked)}"), cause=CONTENT_FILTER)
    if not response.candidates:
        raise TransportError("the server's reply has no candidate", cause="no reply in body")
    candidate = response.candidates[0]
    parts = (candidate.content.parts if candidate.content else None) or []
    text = "".join(text_of(part.text) for part in parts if not part.thought)
    finish = _finish(candidate.finish_reason)
    tokens, about_tokens = _tokens(candidate.logprobs_result)
    told = (*notes, *schema_notes(text, schema), *about_tokens, *about_usage)
    cause = CONTENT_FILTER if finish == "refusal" else None
    return Reply(text, finish, usage, tokens, told, cause=cause)


def _finish(reason: Any) -> FinishReason:
    name = _name(reason) if reason else "STOP"
    if name in _REFUSALS:
        return "refusal"
    known: dict[str, FinishReason] = {"STOP": "stop", "MAX_TOKENS": "length"}
    return known.get(name, "other")


def _name(value: Any) -> str:
    return str(value.value) if isinstance(value, types.FinishReason | types.BlockedReason) else str(value)


def _usage(usage: types.GenerateContentResponseUsageMetadata | None) -> tuple[dict[str, int], tuple[str, ...]]:
    if usage is None:
        return {}, ()
    return counts_of(
        {
            "prompt_tokens": usage.prompt_token_count,
            "completion_tokens": usage.candidates_token_count,
            "reasoning_tokens": usage.thoughts_token_count,
            "total_tokens": usage.total_token_count,
        }
    )


def _tokens(result: types.LogprobsResult | None) -> tuple[tuple[Token, ...] | None, tuple[str, ...]]:
    if result is None or not result.chosen_candidates:
        return None, ()
    try:
        return tuple(_each_token(result, result.chosen_candidates)), ()
    except ValueError:
        return None, (LOGPROBS_UNUSABLE,)


def _each_token(result: types.LogprobsResult, chosen: list[types.LogprobsResultCandidate]) -> list[Token]:
    tops = result.top_candidates or []
    tokens = []
    for place, one in enumerate(chosen):
        others = (tops[place].candidates or []) if place < len(tops) else []
        said = _alternative(one)
        tokens.append(Token(said.token, said.logprob, tuple(map(_alternative, others))))
    return tokens


def _alternative(candidate: types.LogprobsResultCandidate) -> Any:
    stated = candidate.log_probability
    return alternative(candidate.token or "", -9999.0 if stated is None else float(stated))
