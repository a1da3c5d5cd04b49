"""Foreign errors mapped at one seam: what a server or a socket did becomes a ClientError, secrets masked."""

from __future__ import annotations

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from visualjudge.clients.secrets import Redactor
from visualjudge.errors import ApiError, ClientError, TransportError

_LONGEST = 400


def api_error(status: int, raw: bytes, headers: Mapping[str, str], redact: Redactor) -> ApiError:
    """An HTTP error status with the server's own words, shortened, and its Retry-After."""
    return ApiError(status, one_line(redact(_words(raw))), retry_after=retry_after(headers))


def embedded_error(body: Mapping[str, Any], redact: Redactor) -> ClientError | None:
    """The error that some gateways send with status 200, or None."""
    error = body.get("error")
    if not error:
        return None
    message = one_line(redact(_words(orjson.dumps(body, default=str))))
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, int) and 400 <= code < 600:
        return ApiError(code, message)
    return TransportError(f"the server sent an error in place of a reply: {message}", cause="no reply in body")


def one_line(text: str) -> str:
    """White space collapsed, cut to a few hundred characters."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that ``retry-after-ms`` or ``Retry-After`` (seconds or an HTTP date, RFC 9110 §10.2.3) asks to wait."""
    lower = {name.lower(): value for name, value in headers.items()}
    try:
        if "retry-after-ms" in lower:
            return max(0.0, float(lower["retry-after-ms"]) / 1000)
        stated = lower.get("retry-after")
        if stated is None:
            return None
        if stated.strip().replace(".", "", 1).isdigit():
            return float(stated)
        return max(0.0, parsedate_to_datetime(stated).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def _words(raw: bytes) -> str:
    """The message inside an error body, as OpenAI, Google, Anthropic, FastAPI and plain servers write it."""
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return raw[: 4 * _LONGEST].decode("utf-8", "replace") or "(empty body)"
    for key in ("error", "detail", "message"):
        found = body.get(key) if isinstance(body, dict) else None
        if isinstance(found, dict):
            found = found.get("message") or found
        if found:
            return found if isinstance(found, str) else orjson.dumps(found, default=str).decode()
    return raw[: 4 * _LONGEST].decode("utf-8", "replace")
