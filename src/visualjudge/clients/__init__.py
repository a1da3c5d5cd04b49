"""Clients: one protocol (:class:`~visualjudge.clients.base.Client`), several backends,
and clients that wrap other clients.

``open_client`` gives ``Cached(Retrying(Limited(backend)))``; ``build_client`` the bare
backend. The names below are imported when first used, because a report does not need
the networking modules.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "ApiClient": "api",
    "Client": "base",
    "Diagnostics": "base",
    "Identity": "base",
    "ImagePart": "base",
    "Reply": "base",
    "Request": "base",
    "TextPart": "base",
    "ImageStore": "image_parts",
    "image_part": "image_parts",
    "CLIENT_REGISTRY": "registry",
    "build_client": "registry",
    "open_client": "registry",
    "RetryPolicy": "retry",
}
__all__ = tuple(sorted(_HOMES))


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
