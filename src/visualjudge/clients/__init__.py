"""Clients: one protocol (:class:`~visualjudge.clients.base.Client`), several backends,
and clients that wrap other clients.

``open_client`` gives ``Cached(Retrying(Limited(backend)))``; ``build_client`` the bare
backend. The names below are imported when first used, because a report does not need
the networking modules.
"""

from typing import TYPE_CHECKING

from visualjudge.on_first_use import on_first_use

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
    "ApiClient": "visualjudge.clients.api",
    "Client": "visualjudge.clients.base",
    "Diagnostics": "visualjudge.clients.base",
    "Identity": "visualjudge.clients.base",
    "ImagePart": "visualjudge.clients.base",
    "Reply": "visualjudge.clients.base",
    "Request": "visualjudge.clients.base",
    "TextPart": "visualjudge.clients.base",
    "ImageStore": "visualjudge.clients.image_parts",
    "image_part": "visualjudge.clients.image_parts",
    "CLIENT_REGISTRY": "visualjudge.clients.registry",
    "build_client": "visualjudge.clients.registry",
    "open_client": "visualjudge.clients.registry",
    "RetryPolicy": "visualjudge.clients.retry",
}
__all__ = tuple(sorted(_HOMES))
__getattr__ = on_first_use(__name__, _HOMES)
