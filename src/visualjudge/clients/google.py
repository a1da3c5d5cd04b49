"""Backend ``google``: Gemini through the google-genai SDK. Its own retries are off: one place decides about those."""

from __future__ import annotations

import asyncio
import json
import os
import warnings
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from google import genai
from google.genai import errors, types

from visualjudge.clients.base import Alternative, FinishReason, ImagePart, Part, Reply, Request, Token
from visualjudge.clients.failures import one_line, retry_after
from visualjudge.clients.openai_protocol import notes_of
from visualjudge.clients.parameters import Identity, Sampling
from visualjudge.clients.quirks import Quirks
from visualjudge.clients.secrets import Redactor, Secret, public_url
from visualjudge.clients.sessions import close_later
from visualjudge.errors import ApiError, ClientError, TransportError, UsageError
from visualjudge.prompts.adapters import google_style

# A picture's data are base64 where the SDK's model says bytes (see _content): pydantic would say so once a run.
warnings.filterwarnings("ignore", message="(?s)Pydantic serializer warnings:.*field_name='data'", category=UserWarning)

GEMINI_URL = "https://generativelanguage.googleapis.com"
_REFUSALS = frozenset({"SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "RECITATION", "IMAGE_SAFETY", "LANGUAGE"})


class GoogleClient:
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

    Raises
    ------
    UsageError
        If there is no key.
    """

    backend: ClassVar[str] = "google"
    style: ClassVar[str] = "google_style"

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
    ) -> None:
        key = api_key or os.environ.get("GOOGLE_API_KEY") or os.environ.get("GEMINI_API_KEY")
        if not key:
            raise UsageError("backend 'google' needs a key: set GOOGLE_API_KEY or api_key")
        self.model = model_name
        self._url = base_url or GEMINI_URL
        self.base_url = public_url(self._url)
        self._key = Secret(key)
        self._redact = Redactor([self._key])
        self._timeout_s = float(timeout)
        self.sampling = Sampling(temperature, max_tokens, seed, top_p, extra_body or {})
        self.quirks = Quirks()
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, genai.Client] = weakref.WeakKeyDictionary()

    @property
    def identity(self) -> Identity:
        """Backend, base URL without secrets, model, parameters."""
        return Identity(self.backend, self.base_url, self.model, self.sampling.as_dict())

    def __repr__(self) -> str:
        return f"GoogleClient(model_name={self.model!r}, base_url={self.base_url!r})"

    async def ask(self, request: Request, *, attempt: int = 0) -> Reply:
        """One reply; a parameter that the server refuses by name is asked for differently, and noted.

        Raises
        ------
        ApiError
            The server answered with an error status.
        TransportError
            No usable reply came.
        """
        full = self.sampling.complete(request)
        while True:
            try:
                response = await self._generate(full)
            except ApiError as error:
                if not self.quirks.learn(error, full):
                    raise
                continue
            return _reply(response, full, self.quirks, self._redact)

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aio.aclose()

    def _client(self) -> genai.Client:
        """The running loop's SDK client."""
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            options = types.HttpOptions(
                base_url=self._url,
                timeout=int(self._timeout_s * 1000),
                retry_options=types.HttpRetryOptions(attempts=1),
            )
            client = genai.Client(api_key=self._key.reveal(), vertexai=False, http_options=options)
            self._clients[loop] = client
            weakref.finalize(self, close_later, loop, client.aio.aclose, int)
        return self._clients[loop]

    async def _generate(self, full: Request) -> types.GenerateContentResponse:
        """One call; what the SDK raises is told apart, and raised anew without the original, which may hold the key."""
        shaped = google_style(full.system, [_in_base64(part) for part in full.parts])
        config = _config(full, self.sampling, self.quirks, shaped.get("system_instruction"))
        failure: ClientError
        try:
            call = self._client().aio.models.generate_content(
                model=self.model, contents=[_content(each) for each in shaped["contents"]], config=config
            )
            return await asyncio.wait_for(call, self._timeout_s)
        except errors.APIError as error:
            failure = self._api_error(error)
        except TimeoutError:
            failure = TransportError(f"{self.base_url}: no reply within {self._timeout_s:g} s", cause="timeout")
        except (errors.UnknownApiResponseError, json.JSONDecodeError):
            failure = TransportError(f"{self.base_url}: the reply is not JSON", cause="not JSON")
        except (ValueError, TypeError) as error:
            failure = UsageError(one_line(self._redact(f"google-genai refused the call: {error}")))  # type: ignore[assignment]
        except Exception as error:  # the SDK lets its HTTP library's errors through, of either library
            failure = self._transport_error(error)
        raise failure

    def _api_error(self, error: errors.APIError) -> ClientError:
        message = one_line(self._redact(str(error.message or error.details)))
        if not 300 <= error.code < 600:
            return TransportError(f"{self.base_url}: {message}", cause="no reply in body")
        headers = getattr(error.response, "headers", None) or {}
        wait_s = retry_after(dict(headers))
        return ApiError(error.code, message, retry_after=_retry_delay(error.details) if wait_s is None else wait_s)

    def _transport_error(self, error: Exception) -> TransportError:
        name = type(error).__name__
        cause = "timeout" if "timeout" in name.lower() else "connection"
        return TransportError(one_line(self._redact(f"{self.base_url}: {name}: {error}")), cause=cause)


@dataclass(frozen=True, slots=True)
class _InBase64:
    """A picture whose data are base64 already."""

    data: bytes
    mime: str
    base64: bytes


def _in_base64(part: Part) -> str | _InBase64:
    return _InBase64(part.base64, part.mime, part.base64) if isinstance(part, ImagePart) else part.text


def _content(shaped: Mapping[str, Any]) -> types.Content:
    """A content whose pictures the SDK sends as they are.

    Given bytes, it would encode them at every call, in the URL-safe alphabet, which Google's servers read and many of
    those that stand in for them do not. Standard base64 is read by all, and each picture has its own at hand.
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
        "top_p": sampling.top_p,
    }
    if full.top_logprobs is not None and "no_logprobs" not in quirks:
        wanted |= {"response_logprobs": True, "logprobs": full.top_logprobs}
    if full.schema is not None and "no_schema" not in quirks:
        wanted |= {"response_mime_type": "application/json", "response_json_schema": dict(full.schema)}
    return types.GenerateContentConfig(**wanted | dict(sampling.extra))


def _reply(response: types.GenerateContentResponse, full: Request, quirks: Quirks, redact: Redactor) -> Reply:
    """The first candidate's text, thoughts left out.

    Raises
    ------
    TransportError
        If there is neither a candidate nor a reason why the prompt was blocked.
    """
    usage = _usage(response.usage_metadata)
    blocked = response.prompt_feedback and response.prompt_feedback.block_reason
    if blocked:
        return Reply("", "refusal", usage, notes=(f"prompt blocked: {_name(blocked)}",))
    if not response.candidates:
        raise TransportError("the server's reply has no candidate", cause="no reply in body")
    candidate = response.candidates[0]
    parts = (candidate.content.parts if candidate.content else None) or []
    text = redact("".join(part.text or "" for part in parts if not part.thought))
    tokens = _tokens(candidate.logprobs_result)
    return Reply(text, _finish(candidate.finish_reason), usage, tokens, notes_of(text, full, quirks))


def _finish(reason: Any) -> FinishReason:
    name = _name(reason) if reason else "STOP"
    if name in _REFUSALS:
        return "refusal"
    known: dict[str, FinishReason] = {"STOP": "stop", "MAX_TOKENS": "length"}
    return known.get(name, "other")


def _name(value: Any) -> str:
    return str(getattr(value, "value", value))


def _usage(usage: types.GenerateContentResponseUsageMetadata | None) -> dict[str, int]:
    if usage is None:
        return {}
    named = {
        "prompt_tokens": usage.prompt_token_count,
        "completion_tokens": usage.candidates_token_count,
        "reasoning_tokens": usage.thoughts_token_count,
        "total_tokens": usage.total_token_count,
    }
    return {name: count for name, count in named.items() if count is not None}


def _tokens(result: types.LogprobsResult | None) -> tuple[Token, ...] | None:
    if result is None or not result.chosen_candidates:
        return None
    tops = result.top_candidates or []
    tokens = []
    for place, chosen in enumerate(result.chosen_candidates):
        others = (tops[place].candidates or []) if place < len(tops) else []
        top = tuple(Alternative(o.token or "", _logprob(o)) for o in others)
        tokens.append(Token(chosen.token or "", _logprob(chosen), top))
    return tuple(tokens)


def _logprob(candidate: Any) -> float:
    return -9999.0 if candidate.log_probability is None else float(candidate.log_probability)


def _retry_delay(details: Any) -> float | None:
    """Seconds of Google's RetryInfo (``"retryDelay": "34s"``), where the error holds one."""
    try:
        entries = details.get("error", details).get("details") or []
        stated = next(entry["retryDelay"] for entry in entries if "retryDelay" in entry)
        return float(str(stated).removesuffix("s"))
    except (AttributeError, StopIteration, ValueError, TypeError):
        return None
