"""Clients: one protocol (:class:`~visualjudge.clients.base.Client`), several backends,
and clients that wrap other clients.

``open_client`` gives ``Cached(Retrying(Limited(backend)))``; ``build_client`` the bare
backend. The names below are imported when first used, because a report does not need
the networking modules.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from visualjudge.clients.api import ApiClient as ApiClient
    from visualjudge.clients.base import (
        Client as Client,
        Diagnostics as Diagnostics,
        Identity as Identity,
        ImagePart as ImagePart,
        Reply as Reply,
        Request as Request,
        TextPart as TextPart,
    )
    from visualjudge.clients.image_parts import (
        ImageStore as ImageStore,
        image_part as image_part,
    )
    from visualjudge.clients.registry import (
        CLIENT_REGISTRY as CLIENT_REGISTRY,
        build_client as build_client,
        open_client as open_client,
    )
    from visualjudge.clients.retry import RetryPolicy as RetryPolicy

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
