"""The batch interface of each backend."""

from __future__ import annotations

from pathlib import Path

from visualjudge.clients.batch.anthropic import AnthropicBatches
from visualjudge.clients.batch.batched_client import Batched
from visualjudge.clients.batch.files import FileBatches
from visualjudge.clients.batch.google import GoogleBatches
from visualjudge.clients.batch.openai import OpenAiBatches
from visualjudge.clients.batch.provider import Provider
from visualjudge.core.errors import UsageError

PROVIDERS: dict[str, type[Provider]] = {
    "api": OpenAiBatches,
    "vllm": OpenAiBatches,
    "anthropic": AnthropicBatches,
    "google": GoogleBatches,
}
"""Batch interfaces by backend name."""


def provider_of(batched: Batched) -> Provider:
    """Return the batch interface of a client's server.

    Raises
    ------
    UsageError
        If the backend has no batch interface.
    """
    client, folder = batched.inner, batched.settings.folder
    kind = provider_kind(client.backend, folder)
    return kind(client) if folder is None else FileBatches(client, folder)


def provider_kind(backend: str, folder: Path | None) -> type[Provider]:
    """Return the batch interface of a backend, or the file exchange if a folder is given.

    Raises
    ------
    UsageError
        If the backend has no batch interface.
    """
    if backend not in PROVIDERS:
        raise UsageError(f"--batch: backend {backend!r} does not support batches")
    if folder is not None and PROVIDERS[backend] is not OpenAiBatches:
        raise UsageError(f"--batch-folder needs the backend api or vllm, got {backend!r}")
    return PROVIDERS[backend] if folder is None else FileBatches
