"""Backend ``google``: Gemini over Google's REST interface, spoken directly as the OpenAI protocol is.

Source: https://ai.google.dev/api/generate-content.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import quote

from visualjudge.clients.base import Alternative, FinishReason, Reply, Request, Token
from visualjudge.clients.fields import (
    LOGPROBS_UNUSABLE,
    USAGE_UNUSABLE,
    alternative,
    counts_of,
    member,
    name_of,
    text_of,
)
from visualjudge.clients.limits import LARGEST_BODY
from visualjudge.clients.openai_protocol import schema_notes, text_or_image
from visualjudge.clients.parameters import Sampling
from visualjudge.clients.pieces import body_pieces
from visualjudge.clients.quirks import Quirks
from visualjudge.clients.remote import CONTENT_FILTER, RemoteClient, Server
from visualjudge.clients.secrets import NAME_KEY, key_secret
from visualjudge.errors import TransportError, UsageError
from visualjudge.prompts.adapters import google_style

GEMINI_URL = "https://generativelanguage.googleapis.com"
_REFUSALS = frozenset({"SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "RECITATION", "IMAGE_SAFETY", "LANGUAGE"})
_FINISH: dict[str, FinishReason] = {"STOP": "stop", "MAX_TOKENS": "length"}
_OF_THE_BODY = frozenset({"safetySettings", "tools", "toolConfig", "cachedContent", "serviceTier", "store"})
"""Fields of a request that do not belong to its generation configuration."""
_UNKNOWN_LOGPROB = -9999.0
_PROMPT = ("promptTokenCount", "toolUsePromptTokenCount")
_OUTPUT = ("candidatesTokenCount", "thoughtsTokenCount")


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
        Further fields of the generation configuration (``{"thinking_config": {"thinking_budget": 0}}``), or of the
        request (``safety_settings``, ``tools``); names as Google's documentation has them, in either spelling.
    headers, largest_reply, follow_redirects
        As :class:`~visualjudge.clients.api.ApiClient`.

    Raises
    ------
    UsageError
        If there is no key, or a URL, key, header or ``extra_body`` cannot be sent.
    """

    backend: ClassVar[str] = "google"
    models_path: ClassVar[str] = "/v1beta/models"

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
            raise UsageError(f"backend 'google' needs a key: set GOOGLE_API_KEY, {NAME_KEY}")
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
        self._endpoint = f"{self._url}/v1beta/{_resource(model_name)}:generateContent"

    async def _call(self, request: Request, full: Request) -> Reply:
        notes, schema = self.quirks.notes(self._parameters(full)), self._schema(full)
        body = await self._post(self._endpoint, self.headers(), self._prepared(request, lambda: self._pieces(full)))
        return reply_of(body, schema, notes)

    def _pieces(self, full: Request) -> list[bytes]:
        content = [text_or_image(part) for part in full.parts]
        fixed = _parameters(full, self.sampling, self.quirks)
        return body_pieces(lambda mark: google_style(full.system, content, mark) | fixed)

    def headers(self) -> dict[str, str]:
        """The key, and the type of the body."""
        key = self._server.key
        fixed = {"Content-Type": "application/json", "x-goog-api-key": key.reveal() if key else ""}
        return {**self._server.own_headers, **fixed}


def _resource(model: str) -> str:
    """A model's path; one that is named with its collection (``tunedModels/…``) keeps it."""
    named = model.startswith(("models/", "tunedModels/"))
    return quote(model if named else f"models/{model}", safe="/:")


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _parameters(full: Request, sampling: Sampling, quirks: Quirks) -> dict[str, Any]:
    """Fields of the body beside what is said."""
    wanted: dict[str, Any] = {
        "temperature": None if "no_temperature" in quirks else full.temperature,
        "maxOutputTokens": full.max_tokens,
        "seed": None if "no_seed" in quirks else full.seed,
        "topP": None if "no_top_p" in quirks else sampling.top_p,
    }
    if full.top_logprobs is not None and "no_logprobs" not in quirks:
        wanted |= {"responseLogprobs": True, "logprobs": full.top_logprobs}
    if full.schema is not None and "no_schema" not in quirks:
        wanted |= {"responseMimeType": "application/json", "responseJsonSchema": dict(full.schema)}
    extra = {_camel(name): value for name, value in sampling.extra.items()}
    body = {name: extra.pop(name) for name in _OF_THE_BODY & extra.keys()}
    how = {name: value for name, value in wanted.items() if value is not None} | extra
    return body | ({"generationConfig": how} if how else {})


def reply_of(body: Mapping[str, Any], schema: Mapping[str, Any] | None, notes: tuple[str, ...] = ()) -> Reply:
    """The first candidate's text, thoughts left out.

    Raises
    ------
    TransportError
        If there is neither a candidate that can be read nor a reason why the prompt was blocked.
    """
    usage, about_usage = _usage(body.get("usageMetadata"))
    try:
        blocked = name_of(member(body.get("promptFeedback"), "blockReason"))
        if blocked:
            return Reply("", "refusal", usage, notes=(*notes, f"prompt blocked: {blocked}"), cause=CONTENT_FILTER)
        candidate = body["candidates"][0]
        text = _text(candidate.get("content"))
        reason = name_of(candidate.get("finishReason")) or "STOP"
    except (KeyError, IndexError, TypeError, AttributeError, ValueError):
        raise TransportError("the server's reply has no candidate", cause="no reply in body", usage=usage) from None
    finish: FinishReason = "refusal" if reason in _REFUSALS else _FINISH.get(reason, "other")
    tokens, about_tokens = _tokens(candidate.get("logprobsResult"))
    told = (*notes, *schema_notes(text, schema), *about_tokens, *about_usage)
    return Reply(text, finish, usage, tokens, told, cause=CONTENT_FILTER if finish == "refusal" else None)


def _text(content: Any) -> str:
    """A candidate that was cut before it said anything has a content without parts, or none."""
    parts = (content.get("parts") if content is not None else None) or []
    return "".join(text_of(part.get("text")) for part in parts if not part.get("thought"))


def _usage(usage: Any) -> tuple[dict[str, int], tuple[str, ...]]:
    """Token counts as OpenAI names them: thoughts are billed as output, and are not among the candidates' tokens.

    Source: https://ai.google.dev/gemini-api/docs/thinking#pricing, https://ai.google.dev/api/generate-content
    (UsageMetadata).
    """
    if not isinstance(usage, Mapping):
        return {}, (() if usage is None else (USAGE_UNUSABLE,))
    counts, notes = counts_of({name: usage.get(name) for name in (*_PROMPT, *_OUTPUT, "totalTokenCount")})
    named = {
        "prompt_tokens": _sum(counts, _PROMPT),
        "completion_tokens": _sum(counts, _OUTPUT),
        "reasoning_tokens": counts.get("thoughtsTokenCount"),
        "total_tokens": counts.get("totalTokenCount"),
    }
    return {name: count for name, count in named.items() if count is not None}, notes


def _sum(counts: Mapping[str, int], names: tuple[str, ...]) -> int | None:
    """The counts of these names that are stated, added up."""
    stated = [counts[name] for name in names if name in counts]
    return sum(stated) if stated else None


def _tokens(result: Any) -> tuple[tuple[Token, ...] | None, tuple[str, ...]]:
    chosen = member(result, "chosenCandidates")
    if not chosen:
        return None, ()
    try:
        tops = [top.get("candidates") or () for top in result.get("topCandidates") or ()]
        said = [_alternative(one) for one in chosen]
        tops += [()] * (len(said) - len(tops))
        return tuple(
            Token(one.token, one.logprob, tuple(map(_alternative, top))) for one, top in zip(said, tops, strict=False)
        ), ()
    except (TypeError, AttributeError, ValueError, OverflowError):
        return None, (LOGPROBS_UNUSABLE,)


def _alternative(candidate: Any) -> Alternative:
    return alternative(candidate.get("token") or "", candidate.get("logProbability", _UNKNOWN_LOGPROB))
