"""Errors reported by a server: status, message, and requested waiting time.

Gateways also send errors with status 200, in the body or in a choice; these count by their code.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
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
# HTTP statuses of the error types of Anthropic, Google and OpenAI, in lower case.
STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "invalid_argument": 400,
    "authentication_error": 401,
    "unauthenticated": 401,
    "billing_error": 402,
    "permission_error": 403,
    "permission_denied": 403,
    "not_found_error": 404,
    "not_found": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "resource_exhausted": 429,
    "internal": 500,
    "api_error": 500,
    "unavailable": 503,
    "timeout_error": 504,
    "deadline_exceeded": 504,
    "overloaded_error": 529,
}
_IN_WORDS = re.compile(r"(?:try again|retry) in ([0-9.]+) ?(ms|s)\b", re.IGNORECASE)
# Fields of error bodies with the time to wait, and their unit in seconds.
_WAITS = {"retryDelay": 1.0, "retry_after": 1.0, "retryAfter": 1.0, "retry_after_ms": 0.001}


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
        status, one_line(said), retry_after=_wait_in(body, said) if wait_s is None else wait_s
    )


def embedded_error(body: Mapping[str, Any], raw: bytes, redact: Redact) -> ClientError | None:
    """Return the error in a body that was sent with status 200, or in its first choice; None if
    there is none.
    """
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    error = body.get("error") or member(choice, "error")
    if not error:
        return None
    status = _status_in(error)
    if status is not None:
        return api_error(status, orjson.dumps({"error": error}), {}, redact)
    message = one_line(redact(_words(raw, {"error": error})))
    return TransportError(
        f"the server sent an error instead of a reply: {message}", cause="no reply in body"
    )


def _status_in(error: Any) -> int | None:
    # Return the HTTP status that an error object states, as a number, a text, or a type.
    for name in ("code", "status", "type"):
        stated = member(error, name)
        code = int(stated) if isinstance(stated, str) and stated.isdecimal() else stated
        if isinstance(code, str):
            code = STATUS_OF_TYPE.get(code.lower())
        if isinstance(code, int) and 400 <= code < 600:
            return code
    return None


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
    lower = {name.lower(): value for name, value in headers.items()}
    milliseconds = _seconds(lower.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    stated = lower.get("retry-after")
    seconds = _seconds(stated)
    return seconds if seconds is not None or stated is None else _until(stated)


def _seconds(stated: Any) -> float | None:
    # Return a number of at least 0, also from a text such as ``34s``; None for anything else.
    if isinstance(stated, str):
        text = stated.strip().removesuffix("s")
        stated = float(text) if re.fullmatch(r"[0-9]{1,300}(\.[0-9]*)?", text, re.ASCII) else None
    is_number = isinstance(stated, int | float) and not isinstance(stated, bool)
    return float(stated) if is_number and 0 <= stated < math.inf else None


def _until(date: str) -> float | None:
    try:
        return max(0.0, parsedate_to_datetime(date[:100]).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError, IndexError, OSError):
        return None


def _wait_in(body: Any, message: str) -> float | None:
    # Return the seconds to wait that an error's body states in a field or in its message.
    for error in _objects(body, DEEPEST_ERROR):
        for name, unit in _WAITS.items():
            seconds = _seconds(error.get(name))
            if seconds is not None:
                return seconds * unit
    stated = _IN_WORDS.search(message)
    seconds = _seconds(stated[1]) if stated else None
    if stated is None or seconds is None:
        return None
    return seconds / 1000 if stated[2].lower() == "ms" else seconds


def _objects(value: Any, levels: int) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield value
    inner = value.values() if isinstance(value, Mapping) else value
    if levels and isinstance(value, Mapping | list):
        for item in inner:
            yield from _objects(item, levels - 1)


def _parsed(raw: bytes) -> Any:
    try:
        return orjson.loads(raw)
    except ValueError:
        return None


def _words(raw: bytes, body: Any) -> str:
    # Return the message of an error body, as OpenAI, Google, Anthropic, FastAPI and plain servers
    # write it.
    for error in _objects(body, DEEPEST_ERROR):
        for name in ("message", "msg", "detail", "error"):
            if isinstance(error.get(name), str) and error[name]:
                return str(error[name])
    return raw[:LONGEST_SEARCHED].decode("utf-8", "replace") or "(empty body)"
