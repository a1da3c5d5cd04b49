"""Errors reported by a server: status, message, and requested waiting time. What is
tried again is decided in ``retry.py``.

Gateways also send errors with status 200, in the body or in a choice; these count by
their code. A refusal of a parameter is an HTTP 400 or 422 whose message names it, or a
403 that denies log-probabilities; later requests leave it out, with a note. Any other
4xx is final.
"""

import logging
import math
import re
import time
from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import orjson

from visualjudge.clients.base import Request
from visualjudge.clients.protocol_fields import REFUSED, member
from visualjudge.core.errors import ApiError, ClientError, TransportError
from visualjudge.core.jsons import Fields

# Maximum length of a server's error message in characters; the rest is dropped.
LONGEST_MESSAGE = 400
# Number of bytes and levels of an error body that are searched for a message.
LONGEST_SEARCHED = 64 * 1024
DEEPEST_ERROR = 8

_CONTENT_FILTER = re.compile(
    r"content[_ ]?filter|content[_ ]policy|content management "
    r"policy|ResponsibleAIPolicyViolation|moderation[_ ]blocked"
    r"|flagged by (?:the )?moderation|input was "
    r"flagged|data_?inspection_?failed|safety "
    r"system|safety settings"
    r"|PROHIBITED_CONTENT",
    re.IGNORECASE,
)
_FILTERING = frozenset({400, 403, 422, 451})
# What servers of models for text alone say of a part that is an image.
_NO_IMAGES = re.compile(
    r"(?:unknown variant|unsupported|invalid|unexpected|not support\w*)\b.{0,40}"
    r"\bimage(?:_url)?\b(?!.{0,20}(?:size|format|data))",
    re.IGNORECASE,
)
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
_IN_WORDS = re.compile(
    r"(?:try again|retry) in (\d{1,9}(?:\.\d+)?) ?(ms|s)\b", re.IGNORECASE
)
# Fields of headers and error bodies with the time to wait, and their unit in seconds.
_WAITS = {
    "retry-after-ms": 0.001,
    "retry-after": 1.0,
    "retrydelay": 1.0,
    "retry_after": 1.0,
    "retryafter": 1.0,
    "retry_after_ms": 0.001,
}


class ContentFiltered(ApiError):
    """The server's content filter rejected the request: a refusal, not a failed
    call."""


def api_error(status: int, raw: bytes, headers: Mapping[str, str]) -> ApiError:
    """Return the error for an HTTP status, with the server's shortened message and
    waiting time."""
    text = raw[:LONGEST_SEARCHED].decode("utf-8", "replace")
    try:
        errors = list(_objects(orjson.loads(raw), DEEPEST_ERROR))
    except ValueError:
        errors = []
    message = one_line(_message(errors) or text or "(empty body)")
    message += "; does the model read images?" * bool(
        _NO_IMAGES.search(message)
    )
    if 300 <= status < 400:
        message = (
            "redirects are not followed, base_url must name the server itself "
            f"({message})"
        )
    kind = (
        ContentFiltered
        if status in _FILTERING and _CONTENT_FILTER.search(text)
        else ApiError
    )
    return kind(
        status, message, retry_after=_wait_s([headers, *errors], message)
    )


def embedded_error(body: Fields) -> ClientError | None:
    """Return the error in a body that was sent with status 200, or in its first choice;
    None if there is none.
    """
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    error = body.get("error") or member(choice, "error")
    if not error:
        return None
    for name in ("code", "status", "type"):
        stated = str(member(error, name)).lower()
        code = int(stated) if stated.isdecimal() else STATUS_OF_TYPE.get(stated)
        if code is not None and 400 <= code < 600:
            return api_error(code, orjson.dumps({"error": error}), {})
    message = one_line(_message([{"error": error}, error]) or str(error))
    return TransportError(
        f"the server sent an error instead of a reply: {message}",
        cause="no reply in body",
    )


def one_line(text: str) -> str:
    """Return a text on one line without control characters, shortened to a few hundred
    characters.
    """
    line = "".join(
        filter(str.isprintable, " ".join(text[:LONGEST_SEARCHED].split()))
    )
    return (
        line if len(line) <= LONGEST_MESSAGE else f"{line[:LONGEST_MESSAGE]}…"
    )


def _message(errors: list[Fields]) -> str:
    # Return the message of an error body, as OpenAI, Google, Anthropic and FastAPI
    # write it.
    for error in errors:
        for name in ("message", "msg", "detail", "error"):
            if (
                isinstance(error, Mapping)
                and isinstance(error.get(name), str)
                and error[name]
            ):
                return str(error[name])
    return ""


def _wait_s(stated: list[Fields], message: str) -> float | None:
    # Return the seconds to wait that headers (RFC 9110 §10.2.3), fields of the body, or
    # its message ask for; None if none does.
    for fields in stated:
        lower = {str(name).lower(): value for name, value in fields.items()}
        for name, unit in _WAITS.items():
            if (seconds := _seconds(lower.get(name))) is not None:
                return seconds * unit
    words = _IN_WORDS.search(message)
    return (
        float(words[1]) / (1000 if words[2].lower() == "ms" else 1)
        if words
        else None
    )


def _seconds(stated: Any) -> float | None:
    # Return a number of at least 0, also from a text such as ``34s`` or a date; None
    # for anything else.
    text = str(stated)[:100].strip()
    with suppress(ValueError):
        seconds = float(text.removesuffix("s"))
        return seconds if 0 <= seconds < math.inf else None
    with suppress(ValueError, TypeError, OverflowError, IndexError, OSError):
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    return None


def _objects(value: Any, levels: int) -> Iterator[Fields]:
    if isinstance(value, Mapping):
        yield value
    if levels and isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _objects(item, levels - 1)


# ---------------------------------------------------------------- parameters

_log = logging.getLogger("visualjudge.clients")
# The one that is renamed, not left out.
RENAMED = "max_completion_tokens"


class _Refusal(NamedTuple):
    """How an error message names the parameter of a request, and the note on leaving it
    out."""

    parameter: str
    words: str
    note: str
    statuses: tuple[int, ...] = (400, 422)


# By the names that journals of batches hold.
_KNOWN = {
    RENAMED: _Refusal(
        "max_tokens",
        r"max_completion_tokens",
        "max_tokens refused by the server; asked with max_completion_tokens",
    ),
    "no_temperature": _Refusal(
        "temperature",
        r"\btemperature\b",
        "temperature refused by the server; asked without, so at the model's own",
    ),
    "no_top_p": _Refusal(
        "top_p",
        r"\btop_?p\b",
        "top_p refused by the server; asked without, so at the model's own",
    ),
    "no_seed": _Refusal(
        "seed", r"\bseed\b", "seed refused by the server; asked without"
    ),
    "no_logprobs": _Refusal(
        "top_logprobs",
        r"log_?prob",
        "log-probabilities refused by the server; asked without",
        (400, 403, 422),
    ),
    "no_schema": _Refusal(
        "schema",
        r"response_?format|json[ "
        r"_]?schema|structured|guided|grammar|response_?schema|output_config",
        REFUSED,
    ),
}


class RefusedParameters:
    """Knowledge about a client's server.

    Parameters
    ----------
    unsupported
        Notes on parameters that the protocol lacks, by the parameter.
    """

    def __init__(self, unsupported: Mapping[str, str]) -> None:
        self.learned: frozenset[str] = frozenset()
        self._unsupported = unsupported
        self._left_out = dict[str, None]()

    def learn(
        self, error: ApiError, request: Request, known: Set[str], model: str
    ) -> bool:
        """Return whether to ask again: True if the error names a parameter that was
        sent and can be omitted.

        Parameters
        ----------
        known
            Value of ``learned`` when the request was sent; other requests may have
            added to it since.
        model
            Model named in the warning about the change, which is issued once.
        """
        for name, refusal in _KNOWN.items():
            if (
                name not in known
                and error.status in refusal.statuses
                and getattr(request, refusal.parameter) is not None
                and re.search(refusal.words, str(error), re.IGNORECASE)
            ):
                if name not in self.learned:
                    self.learned |= {name}
                    _log.warning("%s: %s", model, refusal.note)
                return True
        return False

    def fitted(self, request: Request) -> tuple[Request, tuple[str, ...]]:
        """Return the request without the parameters that the server refuses, and the
        notes on them.
        """
        refused = {
            known.parameter: known.note
            for name, known in _KNOWN.items()
            if name in self.learned
        }
        notes = {
            name: note
            for name, note in (refused | dict(self._unsupported)).items()
            if getattr(request, name) is not None
        }
        self._left_out.update(dict.fromkeys(notes.values()))
        changes = {
            name: None for name in notes if name != _KNOWN[RENAMED].parameter
        }
        return replace(request, **changes), tuple(notes.values())  # type: ignore[arg-type]

    @property
    def adjustments(self) -> tuple[str, ...]:
        """Return the notes on all parameters that were left out or renamed."""
        return tuple(self._left_out)
