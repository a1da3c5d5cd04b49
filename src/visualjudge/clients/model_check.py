"""What a wrong model name was meant to be, by the names that the server lists."""

from __future__ import annotations

from difflib import get_close_matches

from visualjudge.clients.base import Client
from visualjudge.core.errors import ClientError

_MOST = 3


async def near_names(client: Client | None) -> str:
    """Return ``; did you mean NAME?``, or the names that the server lists, or an empty text."""
    while client is not None and not hasattr(client, "models"):
        client = getattr(client, "inner", None)
    if client is None:
        return ""
    try:
        names = await client.models()
    except ClientError:
        return ""
    close = get_close_matches(client.model, names, _MOST, 0.6)
    if close:
        return f"; did you mean {' or '.join(close)}?"
    more = ", …" if len(names) > _MOST else ""
    return f"; the server lists {', '.join(sorted(names)[:_MOST])}{more}" if names else ""
