"""ASK: one protocol (:class:`~visualjudge.clients.base.Client`), several backends, and clients that wrap clients.

``open_client`` gives ``Cached(Retrying(Limited(backend)))``; ``build_client`` the bare backend.
"""

from visualjudge.clients.base import Client as Client
from visualjudge.clients.base import ImagePart as ImagePart
from visualjudge.clients.base import Reply as Reply
from visualjudge.clients.base import Request as Request
from visualjudge.clients.base import TextPart as TextPart
from visualjudge.clients.payload import ImageStore as ImageStore
from visualjudge.clients.payload import image_part as image_part
from visualjudge.clients.registry import CLIENT_REGISTRY as CLIENT_REGISTRY
from visualjudge.clients.registry import build_client as build_client
from visualjudge.clients.registry import open_client as open_client
from visualjudge.clients.retry import RetryPolicy as RetryPolicy
from visualjudge.clients.scripted import ScriptedClient as ScriptedClient

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
