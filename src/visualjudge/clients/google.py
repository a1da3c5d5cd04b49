"""Backend ``google``: Gemini over Google's REST API, without the SDK.

Source: https://ai.google.dev/api/generate-content.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import quote

import orjson

from visualjudge.clients.base import (
    Alternative,
    Reply,
    Request,
    Token,
    ToolCall,
    ToolResult,
    Turn,
)
from visualjudge.clients.json_schemas import schema_notes
from visualjudge.clients.refused_parameters import RefusedParameters
from visualjudge.clients.remote_client import CONTENT_FILTER, RemoteClient
from visualjudge.clients.reply_fields import (
    LOGPROBS_UNUSABLE,
    alternative,
    counts_of,
    member,
    name_of,
    text_of,
)
from visualjudge.clients.request_body import Sampling, conversation_body
from visualjudge.clients.tool_calls import (
    MADE,
    call_of,
    echo_of,
    malformed,
    result_images,
    result_text,
)
from visualjudge.core.errors import TransportError, UsageError
from visualjudge.core.finish_reasons import finish_of
from visualjudge.prompts.provider_payloads import PROMPT_ADAPTERS, Content, Text, google_style

_VERSION = re.compile(r"v\d+\w*")
# Request fields outside the generation configuration.
_OF_THE_BODY = frozenset(
    {"safetySettings", "tools", "toolConfig", "cachedContent", "serviceTier", "store"}
)
# Thinking tokens of an effort, as Google's own OpenAI protocol maps them.
_BUDGETS = {"none": 0, "low": 1024, "medium": 8192, "high": 24_576}
_MALFORMED = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"})
_UNKNOWN_LOGPROB = -9999.0
_PROMPT = ("promptTokenCount", "toolUsePromptTokenCount")
_OUTPUT = ("candidatesTokenCount", "thoughtsTokenCount")


class GoogleClient(RemoteClient):
    """One Gemini model.

    Parameters
    ----------
    model_name
        Name of the model, such as ``gemini-2.5-flash``.
    base_url
        URL without a version (``http://host``); defaults to Google's server.
    extra_body
        Additional fields of the generation configuration, or of the request (``safety_settings``,
        ``tools``), in either spelling that Google documents.
    api_version
        API version in the path.

    Raises
    ------
    UsageError
        If ``api_version`` is not a version, or a field is invalid.
    """

    backend: ClassVar[str] = "google"
    prompt_adapter: ClassVar[str] = "google_style"
    default_url: ClassVar[str] = "https://generativelanguage.googleapis.com"
    key_variables: ClassVar[tuple[str, ...]] = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
    models_path: ClassVar[str] = "/v1beta/models"

    def __init__(self, model_name: str, *, api_version: str = "v1beta", **fields: Any) -> None:
        if not _VERSION.fullmatch(api_version):
            raise UsageError(f"api_version must look like v1beta, got {api_version!r}")
        super().__init__(model_name, **fields)
        self.api_version = api_version

    def _pieces(self, full: Request) -> list[bytes]:
        fixed = _parameters(full, self.sampling, self.refused_parameters) | _tools(full)
        return conversation_body(
            full, fixed, PROMPT_ADAPTERS.find(self.prompt_adapter), _turn, "contents"
        )

    def _authorization(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key}

    def _path(self) -> str:
        # Return the model's path, keeping a collection that is given (``tunedModels/…``).
        named = self.model.startswith(("models/", "tunedModels/"))
        model = quote(self.model if named else f"models/{self.model}", safe="/:")
        return f"/{self.api_version}/{model}:generateContent"

    def _reply(self, body: Mapping[str, Any], schema: Mapping[str, Any] | None) -> Reply:
        return reply_of(body, schema)


def _tools(full: Request) -> dict[str, Any]:
    told = [
        {
            "name": tool.name,
            "description": tool.description,
            "parametersJsonSchema": dict(tool.parameters),
        }
        for tool in full.tools
    ]
    return {"tools": [{"functionDeclarations": told}]} if told else {}


def _turn(turn: Turn, mark: Text) -> list[dict[str, Any]]:
    # Return the contents for one turn: the model's reply and the tool results. Images follow the
    # responses of all functions. Source: https://ai.google.dev/api/caching#FunctionCall,
    # https://ai.google.dev/gemini-api/docs/thought-signatures.

    def parts(content: Content) -> list[dict[str, Any]]:
        shaped: list[dict[str, Any]] = google_style(None, content, mark)["contents"][0]["parts"]
        return shaped

    made = [
        {"functionCall": _function(r.call, {"args": orjson.loads(r.call.arguments)})}
        for r in turn.results
    ]
    text = [{"text": turn.text}] if turn.text.strip() else []
    told = {"parts": [*text, *made]} if turn.echo is None else orjson.loads(turn.echo)
    responses = [
        {
            "functionResponse": _function(
                result.call, {"response": {_outcome(result): result_text(result)}}
            )
        }
        for result in turn.results
    ]
    images = [part for result in turn.results for part in result_images(result)]
    return [{"role": "model", **told}, {"role": "user", "parts": [*responses, *parts(images)]}]


def _outcome(result: ToolResult) -> str:
    return "error" if result.failed else "output"


def _function(call: ToolCall, more: dict[str, Any]) -> dict[str, Any]:
    # Return a call's name, its id if the server sent one, and the fields in ``more``.
    return {"name": call.name, **({} if call.id.startswith(MADE) else {"id": call.id}), **more}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _parameters(
    full: Request, sampling: Sampling, refused_parameters: RefusedParameters
) -> dict[str, Any]:
    wanted: dict[str, Any] = {
        "temperature": None if "no_temperature" in refused_parameters else full.temperature,
        "maxOutputTokens": full.max_tokens,
        "seed": None if "no_seed" in refused_parameters else full.seed,
        "topP": None if "no_top_p" in refused_parameters else sampling.top_p,
    }
    if full.top_logprobs is not None and "no_logprobs" not in refused_parameters:
        wanted |= {"responseLogprobs": True, "logprobs": full.top_logprobs}
    if full.schema is not None and "no_schema" not in refused_parameters:
        wanted |= {"responseMimeType": "application/json", "responseJsonSchema": dict(full.schema)}
    extra = {_camel(name): value for name, value in sampling.extra.items()}
    body = {name: extra.pop(name) for name in _OF_THE_BODY & extra.keys()}
    how = {name: value for name, value in wanted.items() if value is not None} | extra
    budget = sampling.thinking_budget(_BUDGETS)
    if budget is not None:
        how = {"thinkingConfig": {"thinkingBudget": budget}, **how}
    return body | ({"generationConfig": how} if how else {})


def reply_of(body: Mapping[str, Any], schema: Mapping[str, Any] | None) -> Reply:
    """Return the text of the first candidate, without thoughts.

    Raises
    ------
    TransportError
        If there is no readable candidate and no reason why the prompt was blocked.
    """
    usage, about_usage = _usage(body.get("usageMetadata"))
    try:
        blocked = name_of(member(body.get("promptFeedback"), "blockReason"))
        if blocked:
            return Reply(
                "", "refusal", usage, notes=(f"prompt blocked: {blocked}",), cause=CONTENT_FILTER
            )
        candidate = body["candidates"][0]
        text = _text(candidate.get("content"))
        reason = name_of(candidate.get("finishReason")) or "STOP"
        calls, echo = _calls(candidate, reason)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError):
        raise TransportError(
            "the server's reply has no candidate", cause="no reply in body", usage=usage
        ) from None
    finish = finish_of(reason)
    tokens, about_tokens = _tokens(candidate.get("logprobsResult"))
    told = (*schema_notes(text, schema), *about_tokens, *about_usage)
    cause = CONTENT_FILTER if finish == "refusal" else None
    return Reply(text, finish, usage, tokens, told, cause=cause, calls=calls, echo=echo)


def _calls(candidate: Mapping[str, Any], reason: str) -> tuple[tuple[ToolCall, ...], str | None]:
    if reason in _MALFORMED:
        problem = text_of(candidate.get("finishMessage")) or "the call is malformed"
        return (malformed(f"{MADE}0", problem),), None
    content = candidate.get("content")
    called = [
        part["functionCall"]
        for part in member(content, "parts") or []
        if part.get("functionCall") is not None
    ]
    calls = tuple(
        call_of(member(call, "id"), k, member(call, "name"), member(call, "args") or {})
        for k, call in enumerate(called)
    )
    return calls, echo_of(content, calls, ids=False)


def _text(content: Any) -> str:
    # Return a candidate's text. A candidate that was cut off at the start has no parts or content.
    parts = (content.get("parts") if content is not None else None) or []
    return "".join(text_of(part.get("text")) for part in parts if not part.get("thought"))


def _usage(usage: Any) -> tuple[dict[str, int], tuple[str, ...]]:
    # Return token counts under OpenAI's names. Thoughts are billed as output, but not included in
    # the candidates' tokens. Source: https://ai.google.dev/gemini-api/docs/thinking#pricing,
    # https://ai.google.dev/api/generate-content (UsageMetadata).
    counts, notes = counts_of(usage, (*_PROMPT, *_OUTPUT, "totalTokenCount"))
    named = {
        "prompt_tokens": _sum(counts, _PROMPT),
        "completion_tokens": _sum(counts, _OUTPUT),
        "reasoning_tokens": counts.get("thoughtsTokenCount"),
        "total_tokens": counts.get("totalTokenCount"),
    }
    return {name: count for name, count in named.items() if count is not None}, notes


def _sum(counts: Mapping[str, int], names: tuple[str, ...]) -> int | None:
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
            Token(one.token, one.logprob, tuple(map(_alternative, top)))
            for one, top in zip(said, tops, strict=False)
        ), ()
    except (TypeError, AttributeError, ValueError, OverflowError):
        return None, (LOGPROBS_UNUSABLE,)


def _alternative(candidate: Any) -> Alternative:
    return alternative(
        candidate.get("token") or "", candidate.get("logProbability", _UNKNOWN_LOGPROB)
    )
