"""Backend ``anthropic``: Claude through Anthropic's SDK (extra ``anthropic``); its own retries are off."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import Mapping
from typing import Any, ClassVar

from visualjudge.clients.base import FinishReason, Reply, Request
from visualjudge.clients.failures import one_line, retry_after
from visualjudge.clients.openai_protocol import notes_of, text_or_image
from visualjudge.clients.parameters import Identity, Sampling
from visualjudge.clients.quirks import Quirks
from visualjudge.clients.secrets import Redactor, Secret, public_url
from visualjudge.clients.sessions import close_later
from visualjudge.errors import ApiError, ClientError, TransportError, UsageError
from visualjudge.prompts.adapters import anthropic_style

try:
    import anthropic
except ImportError:
    anthropic = None

ANTHROPIC_URL = "https://api.anthropic.com"
DEFAULT_MAX_TOKENS = 4096  # the protocol demands a number
NO_LOGPROBS = "this backend gives no log-probabilities"
NO_SEED = "this backend takes no seed"
_FINISH: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


class AnthropicClient:
    """One Claude model.

    Parameters
    ----------
    model_name
        As Anthropic names it.
    base_url
        Default Anthropic's.
    api_key
        Default ``ANTHROPIC_API_KEY``.
    timeout
        Seconds for one call.
    temperature, max_tokens, top_p
        Sent where a request leaves them open. There is no seed.
    extra_body
        Further fields of the body.

    Raises
    ------
    UsageError
        If the SDK is not installed, or there is no key.
    """

    backend: ClassVar[str] = "anthropic"
    style: ClassVar[str] = "anthropic_style"

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
    ) -> None:
        if anthropic is None:
            raise UsageError("backend 'anthropic' needs its SDK: pip install 'visualjudge[anthropic]'")
        key = api_key or os.environ.get("ANTHROPIC_API_KEY")
        if not key:
            raise UsageError("backend 'anthropic' needs a key: set ANTHROPIC_API_KEY or api_key")
        self.model = model_name
        self._url = base_url or ANTHROPIC_URL
        self.base_url = public_url(self._url)
        self._key = Secret(key)
        self._redact = Redactor([self._key])
        self._timeout_s = float(timeout)
        self.sampling = Sampling(temperature, max_tokens, None, top_p, extra_body or {})
        self.quirks = Quirks()
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = weakref.WeakKeyDictionary()

    @property
    def identity(self) -> Identity:
        """Backend, base URL without secrets, model, parameters."""
        return Identity(self.backend, self.base_url, self.model, self.sampling.as_dict())

    def __repr__(self) -> str:
        return f"AnthropicClient(model_name={self.model!r}, base_url={self.base_url!r})"

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
                message = await self._create(full)
            except ApiError as error:
                if not self.quirks.learn(error, full):
                    raise
                continue
            return self._reply(message, full)

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    def _client(self) -> Any:
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            client = anthropic.AsyncAnthropic(
                api_key=self._key.reveal(), base_url=self._url, timeout=self._timeout_s, max_retries=0
            )
            self._clients[loop] = client
            weakref.finalize(self, close_later, loop, client.close, int)
        return self._clients[loop]

    async def _create(self, full: Request) -> Any:
        """One call; what the SDK raises is told apart and raised anew without the original, which may hold the key."""
        content = [text_or_image(part) for part in full.parts]
        body = anthropic_style(full.system, content)
        body["max_tokens"] = full.max_tokens or DEFAULT_MAX_TOKENS
        more = _parameters(full, self.sampling, self.quirks)
        failure: ClientError
        try:
            return await self._client().messages.create(model=self.model, extra_body=more or None, **body)
        except anthropic.APITimeoutError:
            failure = TransportError(f"{self.base_url}: no reply within {self._timeout_s:g} s", cause="timeout")
        except anthropic.APIStatusError as error:
            headers = dict(error.response.headers)
            message = one_line(self._redact(_message(error)))
            failure = ApiError(error.status_code, message, retry_after=retry_after(headers))
        except anthropic.APIResponseValidationError:
            failure = TransportError(f"{self.base_url}: the reply is not JSON", cause="not JSON")
        except anthropic.APIError as error:
            failure = TransportError(one_line(self._redact(f"{self.base_url}: {error}")), cause="connection")
        except ValueError:
            failure = TransportError(f"{self.base_url}: the reply is not JSON", cause="not JSON")
        raise failure

    def _reply(self, message: Any, full: Request) -> Reply:
        """The text blocks of a message.

        Raises
        ------
        TransportError
            If the body is no message.
        """
        try:
            text = self._redact("".join(block.text for block in message.content if block.type == "text"))
            finish = _FINISH.get(message.stop_reason or "end_turn", "other")
            prompt, said = int(message.usage.input_tokens), int(message.usage.output_tokens)
        except (AttributeError, TypeError, ValueError):
            raise TransportError("the server's reply is no message", cause="no reply in body") from None
        usage = {"prompt_tokens": prompt, "completion_tokens": said, "total_tokens": prompt + said}
        unknown = ((full.top_logprobs, NO_LOGPROBS), (full.seed, NO_SEED))
        notes = notes_of(text, full, self.quirks) + tuple(note for wanted, note in unknown if wanted is not None)
        return Reply(text, finish, usage, None, notes)


def _parameters(full: Request, sampling: Sampling, quirks: Quirks) -> dict[str, Any]:
    """What the SDK's versions take or do not take by name, and so goes into the body as it is."""
    wanted: dict[str, Any] = {
        "temperature": None if "no_temperature" in quirks else full.temperature,
        "top_p": sampling.top_p,
    }
    if full.schema is not None and "no_schema" not in quirks:
        wanted["output_config"] = {"format": {"type": "json_schema", "schema": dict(full.schema)}}
    return {name: value for name, value in wanted.items() if value is not None} | dict(sampling.extra)


def _message(error: Any) -> str:
    body = error.body
    inner = body.get("error") if isinstance(body, dict) else None
    return str((inner or {}).get("message") or error.message) if isinstance(inner, dict | None) else str(error.message)
