"""Errors reported by a server: status, message, and requested waiting time."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from visualjudge.clients.reply_bounds import DEEPEST_ERROR, LONGEST_MESSAGE, LONGEST_SEARCHED
from visualjudge.clients.reply_fields import member, writable
from visualjudge.core.errors import ApiError, ClientError, TransportError

Redact = Callable[[str], str]
_CONTENT_FILTER = re.compile(
    r"content[_ ]?filter|content[_ ]policy|content management "
    r"policy|ResponsibleAIPolicyViolation|moderation[_ ]blocked"
    r"|flagged by (?:the )?moderation|input was flagged|data_?inspection_?failed|safety "
    r"system|safety settings"
    r"|PROHIBITED_CONTENT",
    re.IGNORECASE,
)
_FILTERING = frozenset({400, 403, 422, 451})


class ContentFiltered(ApiError):
    """The server's content filter rejected the request: a refusal, not a failed call."""


def api_error(status: int, raw: bytes, headers: Mapping[str, str], redact: Redact) -> ApiError:
    """Return the error for an HTTP status, with the server's shortened message and waiting time."""
    body = _parsed(raw)
    said = redact(_words(raw, body))
    if 300 <= status < 400:
        said = f"redirects are not followed, base_url must name the server itself ({said})"
    filtered = status in _FILTERING and _CONTENT_FILTER.search(
        raw[:LONGEST_SEARCHED].decode("utf-8", "replace")
    )
    kind = ContentFiltered if filtered else ApiError
    wait_s = retry_after(headers)
    return kind(
        status, one_line(said), retry_after=_retry_delay(body) if wait_s is None else wait_s
    )


def embedded_error(body: Mapping[str, Any], raw: bytes, redact: Redact) -> ClientError | None:
    """Return the error that some gateways send with status 200, or None."""
    error = body.get("error")
    if not error:
        return None
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, int) and 400 <= code < 600:
        return api_error(code, raw, {}, redact)
    message = one_line(redact(_words(raw, body)))
    return TransportError(
        f"the server sent an error instead of a reply: {message}", cause="no reply in body"
    )


def one_line(text: str) -> str:
    """Return a text on one line without control characters, shortened to a few hundred
    characters.
    """
    line = " ".join(writable(text[:LONGEST_SEARCHED]).split())
    line = "".join(letter for letter in line if letter.isprintable())
    return line if len(line) <= LONGEST_MESSAGE else f"{line[:LONGEST_MESSAGE]}…"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait according to ``retry-after-ms`` or ``Retry-After`` (seconds or an
    HTTP date, RFC 9110 §10.2.3).

    Return None if neither is present and valid.
    """
    lower = {
        name.lower(): value
        for name, value in headers.items()
        if name.lower().startswith("retry-after")
    }
    milliseconds = _seconds(lower.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    stated = lower.get("retry-after")
    seconds = _seconds(stated)
    return seconds if seconds is not None or stated is None else _until(stated)


def _seconds(stated: Any) -> float | None:
    """Return a number of at least 0, or None for anything else."""
    if not isinstance(stated, str) or not re.fullmatch(
        r"\s*[0-9]+(\.[0-9]*)?\s*", stated[:1000], re.ASCII
    ):
        return None
    value = float(stated[:1000])
    return value if math.isfinite(value) else 1e12


def _until(date: str) -> float | None:
    try:
        return max(0.0, parsedate_to_datetime(date[:100]).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError, IndexError, OSError):
        return None


def _retry_delay(body: Any) -> float | None:
    """Return the seconds in Google's RetryInfo (``"retryDelay": "34s"``), or None."""
    details = member(member(body, "error"), "details")
    stated = [member(entry, "retryDelay") for entry in details] if isinstance(details, list) else []
    return next((_seconds(one.removesuffix("s")) for one in stated if isinstance(one, str)), None)


def _parsed(raw: bytes) -> Any:
    try:
        return orjson.loads(raw)
    except ValueError:
        return None


def _words(raw: bytes, body: Any) -> str:
    """Return the message of an error body, as OpenAI, Google, Anthropic, FastAPI and plain servers
    write it.
    """
    found = _message(body, DEEPEST_ERROR)
    return found or raw[:LONGEST_SEARCHED].decode("utf-8", "replace") or "(empty body)"


def _message(body: Any, levels: int) -> str | None:
    if isinstance(body, str):
        return body or None
    if isinstance(body, list) and levels:
        return next(
            (found for item in body[:DEEPEST_ERROR] if (found := _message_in(item, levels - 1))),
            None,
        )
    return _message_in(body, levels)


def _message_in(body: Any, levels: int) -> str | None:
    if not isinstance(body, dict) or levels <= 0:
        return None
    named = (body.get(key) for key in ("error", "detail", "message", "msg"))
    return next(
        (found for value in named if value and (found := _message(value, levels - 1))), None
    )
