"""Backend ``google``: Gemini over Google's REST API, without the SDK. Its batches are
in ``batch/google.py``; what all servers share is in ``remote_client.py``.

Source: https://ai.google.dev/api/generate-content.
"""

from typing import Any
from urllib.parse import quote

import orjson

from visualjudge.clients.base import Reply, Request, ToolCall, Turn
from visualjudge.clients.protocol_fields import (
    Counts,
    conversation_body,
    counts_of,
    member,
    stated,
    text_of,
    thinking_budget,
    tokens_of,
)
from visualjudge.clients.remote_client import CONTENT_FILTER, RemoteClient
from visualjudge.clients.tool_calls import (
    MADE,
    call_of,
    echo_of,
    result_images,
    result_text,
)
from visualjudge.core.finish_reasons import finish_of
from visualjudge.core.jsons import Fields, Json
from visualjudge.prompts.provider_payloads import (
    Text,
    google_style,
)

# Request fields outside the generation configuration.
_OF_THE_BODY = frozenset(
    {
        "safetySettings",
        "tools",
        "toolConfig",
        "cachedContent",
        "serviceTier",
        "store",
    }
)
# Thinking tokens of an effort, as Google's own OpenAI protocol maps them.
_BUDGETS = {"none": 0, "low": 1024, "medium": 8192, "high": 24_576}
_TOKEN = {"token": "", "logProbability": -9999.0}
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
        Additional fields of the generation configuration, or of the request
        (``safetySettings``, ``tools``).
    api_version
        API version in the path.
    """

    backend = "google"
    prompt_adapter = staticmethod(google_style)
    default_url = "https://generativelanguage.googleapis.com"
    key_variables = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
    models_path = "/v1beta/models"
    reply_is = "has no candidate"

    def __init__(
        self, model_name: str, *, api_version: str = "v1beta", **fields: Any
    ) -> None:
        super().__init__(model_name, **fields)
        self.api_version = api_version

    def _authorization(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key}

    def _path(self) -> str:
        # Return the model's path, keeping a collection that is given
        # (``tunedModels/…``).
        named = self.model.startswith(("models/", "tunedModels/"))
        model = quote(
            self.model if named else f"models/{self.model}", safe="/:"
        )
        return f"/{self.api_version}/{model}:generateContent"

    def _pieces(self, full: Request) -> list[bytes]:
        budget = thinking_budget(self.effort, _BUDGETS)
        how: Json = {
            "temperature": full.temperature,
            "maxOutputTokens": full.max_tokens,
            "seed": full.seed,
            "topP": full.top_p,
            "responseLogprobs": None if full.top_logprobs is None else True,
            "logprobs": full.top_logprobs,
            "thinkingConfig": None
            if budget is None
            else {"thinkingBudget": budget},
        }
        if full.schema is not None:
            how |= {
                "responseMimeType": "application/json",
                "responseJsonSchema": dict(full.schema),
            }
        extra = dict(self.extra)
        fixed = {name: extra.pop(name) for name in _OF_THE_BODY & extra.keys()}
        if how := stated(how) | extra:
            fixed["generationConfig"] = how
        if full.tools:
            declared = [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "parametersJsonSchema": dict(tool.parameters),
                }
                for tool in full.tools
            ]
            fixed["tools"] = [{"functionDeclarations": declared}]
        return conversation_body(
            full, fixed, self.prompt_adapter, _turn, "contents"
        )

    def _reply(self, body: Fields) -> Reply:
        if blocked := text_of(
            member(body.get("promptFeedback"), "blockReason")
        ):
            return Reply(
                "",
                "refusal",
                notes=(f"prompt blocked: {blocked}",),
                cause=CONTENT_FILTER,
            )
        candidate = body["candidates"][0]
        # A candidate that was cut off at the start has no parts or content.
        content = candidate.get("content")
        parts = (content.get("parts") if content is not None else None) or []
        text = "".join(
            text_of(part.get("text"))
            for part in parts
            if not part.get("thought")
        )
        reason = text_of(candidate.get("finishReason"))
        called = [
            part["functionCall"]
            for part in parts
            if part.get("functionCall") is not None
        ]
        calls = tuple(
            call_of(member(call, "id"), k, call, "args")
            for k, call in enumerate(called)
        )
        finish = finish_of(reason)
        listed = candidate.get("logprobsResult")
        tops = member(listed, "topCandidates")
        tokens, notes = tokens_of(
            member(listed, "chosenCandidates"),
            [
                member(top, "candidates")
                for top in (tops if isinstance(tops, list) else ())
            ],
            _TOKEN,
        )
        cause = CONTENT_FILTER if finish == "refusal" else None
        echo = echo_of(content, calls, ids=False)
        return Reply(
            text, finish, {}, tokens, notes, cause=cause, calls=calls, echo=echo
        )

    def _usage(self, body: Fields) -> Counts:
        # Thoughts are billed as output, but not included in the candidates' tokens.
        # Source: https://ai.google.dev/gemini-api/docs/thinking#pricing,
        # https://ai.google.dev/api/generate-content (UsageMetadata).
        counts, notes = counts_of(
            body.get("usageMetadata"),
            (*_PROMPT, *_OUTPUT, "totalTokenCount"),
        )
        prompt, output = (
            [counts[name] for name in names if name in counts]
            for names in (_PROMPT, _OUTPUT)
        )
        named = {
            "prompt_tokens": sum(prompt) if prompt else None,
            "completion_tokens": sum(output) if output else None,
            "reasoning_tokens": counts.get("thoughtsTokenCount"),
            "total_tokens": counts.get("totalTokenCount"),
        }
        return stated(named), notes


def _turn(turn: Turn, mark: Text) -> list[Json]:
    # Return the contents for one turn: the model's reply and the tool results. Images
    # follow the responses of all functions. Source:
    # https://ai.google.dev/api/caching#FunctionCall,
    # https://ai.google.dev/gemini-api/docs/thought-signatures.

    made = [
        {
            "functionCall": _function(
                r.call, {"args": orjson.loads(r.call.arguments)}
            )
        }
        for r in turn.results
    ]
    text = [{"text": turn.text}] if turn.text.strip() else []
    reply = (
        {"parts": [*text, *made]}
        if turn.echo is None
        else orjson.loads(turn.echo)
    )
    responses = [
        {
            "functionResponse": _function(
                result.call,
                {
                    "response": {
                        "error" if result.failed else "output": result_text(
                            result
                        )
                    }
                },
            )
        }
        for result in turn.results
    ]
    images = [part for result in turn.results for part in result_images(result)]
    parts = google_style(None, images, mark)["contents"][0]["parts"]
    return [
        {"role": "model", **reply},
        {"role": "user", "parts": [*responses, *parts]},
    ]


def _function(call: ToolCall, more: Json) -> Json:
    # Return a call's name, its id if the server sent one, and the fields in ``more``.
    return {
        "name": call.name,
        **({} if call.id.startswith(MADE) else {"id": call.id}),
        **more,
    }
