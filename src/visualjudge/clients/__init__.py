"""ASK: one protocol (:class:`~visualjudge.clients.base.Client`), several backends, and clients that wrap clients.

``open_client`` gives ``Cached(Retrying(Limited(backend)))``; ``build_client`` the bare backend.
"""

from visualjudge.clients.base import Client, ImagePart, Reply, Request, TextPart
from visualjudge.clients.payload import ImageStore, image_part
from visualjudge.clients.registry import CLIENT_REGISTRY, build_client, open_client
from visualjudge.clients.retry import RetryPolicy
from visualjudge.clients.scripted import ScriptedClient

__all__ = [
    "CLIENT_REGISTRY",
    "Client",
    "ImagePart",
    "ImageStore",
    "Reply",
    "Request",
    "RetryPolicy",
    "ScriptedClient",
    "TextPart",
    "build_client",
    "image_part",
    "open_client",
]
