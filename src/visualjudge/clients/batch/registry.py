"""The batch interface of each backend."""

from __future__ import annotations

from visualjudge.clients.batch.anthropic import AnthropicBatches
from visualjudge.clients.batch.google import GoogleBatches
from visualjudge.clients.batch.openai import OpenAiBatches
from visualjudge.clients.batch.provider import Provider
from visualjudge.core.errors import UsageError

# Batch interfaces by backend name.
PROVIDERS: dict[str, type[Provider]] = {
    "api": OpenAiBatches,
    "vllm": OpenAiBatches,
    "anthropic": AnthropicBatches,
    "google": GoogleBatches,
}


def provider_of(backend: str) -> type[Provider]:
    """Return the batch interface of a backend.

    Raises
    ------
    UsageError
        If the backend has no batch interface.
    """
    if backend not in PROVIDERS:
        raise UsageError(f"--batch: backend {backend!r} does not support batches")
    return PROVIDERS[backend]
