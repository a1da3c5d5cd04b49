"""Look up backends by name, and create clients from configurations. Judges by name are
in ``judges/registry.py``.
"""

import inspect
import os
import re
from collections.abc import Callable, Collection
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from pydantic import (
    BaseModel,
    Field,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    field_validator,
)

from visualjudge.arguments import checked
from visualjudge.clients.base import Client
from visualjudge.clients.batch.batched_client import Batched, Settings
from visualjudge.clients.cache import Cached
from visualjudge.clients.concurrency import Limited
from visualjudge.clients.http import check_url
from visualjudge.clients.remote_client import RemoteClient
from visualjudge.clients.retry import Retrying, RetryPolicy
from visualjudge.core.errors import UnknownName, UsageError
from visualjudge.core.jsons import Fields, Json, check
from visualjudge.core.registry import Registry, lacking
from visualjudge.core.typed_records import first_problem

CLIENT_REGISTRY: Registry[str, Any] = Registry(
    "backend",
    {
        "api": "visualjudge.clients.api:ApiClient",
        "google": "visualjudge.clients.google:GoogleClient",
        "vllm": "visualjudge.clients.api:VllmClient",
        "anthropic": "visualjudge.clients.anthropic:AnthropicClient",
        "transformers": "visualjudge.clients.transformers:TransformersClient",
    },
    home=f"{__name__}:CLIENT_REGISTRY",
)

# The batch interface of each backend that has one; not a table of plug-ins.
BATCH_REGISTRY: Registry[str, Any] = Registry(
    "backend with batches",
    {
        "api": "visualjudge.clients.batch.openai:OpenAiBatches",
        "vllm": "visualjudge.clients.batch.openai:OpenAiBatches",
        "anthropic": "visualjudge.clients.batch.anthropic:AnthropicBatches",
        "google": "visualjudge.clients.batch.google:GoogleBatches",
    },
)

_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Z]{1,12}")
# What people call a provider or server → the backend to use.
_OTHER_NAMES = {
    "api for OpenAI, and with `base_url` for servers with its protocol": (
        "openai",
        "openrouter",
        "together",
        "groq",
        "deepseek",
        "mistral",
        "ollama",
        "lmstudio",
        "llamacpp",
        "sglang",
        "litellm",
    ),
    "google for Gemini": ("gemini", "vertex"),
    "anthropic for Claude": ("claude",),
    "transformers for local weights": ("huggingface", "hf", "torch"),
}
# Fields of judges, of clients that wrap another, and of other backends.
_ELSEWHERE = frozenset(
    {
        *(
            "retries",
            "prompt_info",
            "structured_output",
            "top_logprobs",
            "rubric",
        ),
        *("backend", "cache_dir", "concurrency", "attempts", "longest_wait"),
        *("ip_address", "port", "base_url", "api_key", "timeout"),
    }
)


class ClientConfig(
    BaseModel, extra="allow", protected_namespaces=(), hide_input_in_errors=True
):
    """Fields shared by the configurations of all backends. Values may be text, as in
    environment variables. Extra keys are kept.
    """

    backend: str = "api"
    model_name: str = Field(min_length=1)
    base_url: str | None = None
    api_key: str | None = None
    timeout: PositiveFloat | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: PositiveInt | None = None
    seed: int | None = None
    top_p: float | None = Field(default=None, gt=0, le=1)
    effort: Literal["none", "low", "medium", "high"] | PositiveInt | None = None
    concurrency: PositiveInt | None = None
    attempts: PositiveInt | None = None
    longest_wait: PositiveFloat | None = None
    cache_dir: Path | None = None
    headers: dict[str, str] | None = None
    extra_body: Json | None = None

    @field_validator("*", mode="before")
    @classmethod
    def _no_flag(cls, value: Any) -> Any:
        if isinstance(value, bool):
            raise ValueError("must be a number or text")
        check(value)
        return value


def unknown_backend(
    name: object, known: Collection[str], lacking: str = ""
) -> UnknownName:
    """Return the error for a backend that is not ``known``, with the one that is
    probably meant."""
    plain = "".join(filter(str.isalnum, str(name).lower()))
    close = get_close_matches(plain, known, 1, 0.7)
    meant = [
        use
        for use, others in _OTHER_NAMES.items()
        if any(other in plain for other in others)
    ]
    return UnknownName(
        f"unknown backend {name!r}{lacking}"
        f"{''.join(f'; use {use}' for use in (meant or close)[:1])}"
        f"; must be one of {', '.join(known)}"
    )


def _checked(config: Fields) -> Json:
    backend = config.get("backend", "api")
    if backend not in CLIENT_REGISTRY:
        raise unknown_backend(
            backend, list(CLIENT_REGISTRY), lacking("backend", backend)
        )
    try:
        checked = ClientConfig.model_validate(dict(config))
    except ValidationError as error:
        field = error.errors(include_url=False)[0]["loc"][0]
        _, reason = first_problem(
            error,
            # others may hold a key
            displayed=field
            not in ("api_key", "base_url", "headers", "extra_body"),
        )
        raise UsageError(
            f"`{field}` {reason.removeprefix('the field ')}"
        ) from None
    if checked.base_url:
        check_url(checked.base_url, "`base_url`")
    return {
        name: value
        for name, value in checked.model_dump().items()
        if value is not None
    }


def key_from_environment(variable: str) -> str:
    """Return the key in an environment variable.

    Raises
    ------
    UsageError
        If the variable is not set. Its name is shown only if it looks like a name,
        because users may pass the key itself.
    """
    key = os.environ.get(variable)
    if not key:
        what = (
            f"the environment variable {variable} is not set"
            if _VARIABLE.fullmatch(variable)
            else "must name an environment variable that is set, and not be the key"
        )
        raise UsageError(f"`api_key`: {what}")
    return key


@checked
def build_client(backend: str = "api", **fields: Any) -> Any:
    """Return the backend's client, constructed with the fields that it accepts.

    Parameters
    ----------
    backend
        A name in ``CLIENT_REGISTRY``.
    fields
        ``model_name``, ``base_url``, ``api_key``, ``ip_address``, ``port``,
        ``timeout``, ``temperature``, ``max_tokens``, ``seed``, and other fields of the
        backend. Fields that only other backends use (``port``, ``retries``,
        ``prompt_info`` …) are allowed.

    Raises
    ------
    UnknownName
        If there is no such backend.
    UsageError
        If a field is missing, has a wrong value, or is unknown to the backend.
    """
    checked = _checked({"backend": backend, **fields})
    make = CLIENT_REGISTRY.find(checked["backend"])
    accepted = _accepted(make)
    if unknown := sorted(checked.keys() - accepted - _ELSEWHERE):
        raise UsageError(
            f"backend {backend!r} has no field {', '.join(unknown)}; known fields: "
            + ", ".join(sorted(accepted))
        )
    client = make(
        **{name: value for name, value in checked.items() if name in accepted}
    )
    if isinstance(client, RemoteClient):
        # A plug-in's class inherits the name of the protocol's backend.
        client.backend = checked["backend"]
    return client


def _accepted(make: Callable[..., Any]) -> set[str]:
    # Return the parameter names of a constructor, including those of base classes if it
    # passes them on.
    names: set[str] = set()
    for owner in make.__mro__[:-1] if isinstance(make, type) else (make,):
        parameters = inspect.signature(owner).parameters.values()
        names |= {
            p.name
            for p in parameters
            if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        }
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            break
    return names


@checked
def open_client(
    config: Fields,
    *,
    cache_dir: str | Path | None = None,
    retry: RetryPolicy | None = None,
    concurrency: int | None = None,
    batch: Settings | None = None,
) -> Client:
    """Return a robust client: cached(retrying(limited(backend))).

    Parameters
    ----------
    config
        Fields of :func:`build_client` and ``backend``; also ``concurrency``,
        ``attempts`` (maximum number of calls if the server fails), ``longest_wait``
        (seconds that a server may ask to wait, 300 by default) and ``cache_dir``.
    cache_dir
        Folder of the reply cache; None = no cache.
    retry
        Retry policy; defaults to :class:`~visualjudge.clients.retry.RetryPolicy`.
    concurrency
        Maximum number of concurrent calls, 32 by default; lowered while the server
        refuses calls.
    batch
        Batch settings; None = live calls.

    Raises
    ------
    UsageError
        For the same reasons as :func:`build_client`.
    """
    checked = _checked(config)
    policy = retry or RetryPolicy()
    policy = replace(
        policy,
        attempts=checked.get("attempts", policy.attempts),
        absent=checked.get("attempts", policy.absent),
        patience_s=checked.get("longest_wait", policy.patience_s),
    )
    backend: Client = build_client(**checked)
    client: Client = (
        Retrying(
            Limited(
                backend,
                concurrency or checked.get("concurrency", 32),
                policy.patience_s,
            ),
            policy,
        )
        if batch is None
        else Batched(backend, batch)
    )
    place = cache_dir or checked.get("cache_dir")
    return Cached(client, place) if place else client
