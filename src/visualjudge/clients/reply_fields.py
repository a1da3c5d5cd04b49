"""Read fields of a server's reply. Each is valid, missing, or raises ``ValueError``.

A server's JSON may contain anything: 30-digit numbers, lists instead of strings, and lone
surrogates, which cannot be written to a file or terminal.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from visualjudge.clients.base import Alternative, Token
from visualjudge.clients.reply_bounds import MOST_TOKENS

USAGE_UNUSABLE = "token counts of the reply cannot be used; not counted"
LOGPROBS_UNUSABLE = "log-probabilities of the reply cannot be used; left out"
_SURROGATE = re.compile("[\ud800-\udfff]")


def text_of(value: Any) -> str:
    """Return a writable string; ``None`` becomes an empty one.

    Raises
    ------
    ValueError
        If it is anything else.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"a text must be a string, got {type(value).__name__}")
    return writable(value)


def writable(text: str) -> str:
    """Return ``text`` with lone surrogates replaced by U+FFFD."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def name_of(value: Any) -> str | None:
    """Return a word of the protocol, such as a finish reason, or None if it is missing.

    Raises
    ------
    ValueError
        If it is neither a string nor null.
    """
    return None if value is None else text_of(value)


def counts_of(usage: Any, names: Sequence[str]) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return the valid token counts of these names, and a note if ``usage`` or one of the counts is
    invalid.
    """
    if not isinstance(usage, Mapping):
        return {}, () if usage is None else (USAGE_UNUSABLE,)
    stated = {name: usage[name] for name in names if usage.get(name) is not None}
    usable = {name: int(value) for name, value in stated.items() if _is_count(value)}
    return usable, () if len(usable) == len(stated) else (USAGE_UNUSABLE,)


def whole_output(prompt: int | None, reply: int | None, total: int | None) -> int | None:
    """Return the tokens billed as output.

    OpenAI includes reasoning in ``completion_tokens``. xAI's servers, and Gemini with OpenAI's
    protocol, include it only in ``total_tokens``, so the output is the total minus the prompt.
    """
    beside = -1 if prompt is None or total is None else total - prompt
    return beside if beside > (reply or -1) else reply


def member(value: Any, name: str) -> Any:
    """Return ``value[name]`` if ``value`` is an object, else None."""
    return value.get(name) if isinstance(value, Mapping) else None


def _is_count(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0 <= value <= MOST_TOKENS and value == int(value)


def tokens_of(content: Any) -> tuple[tuple[Token, ...] | None, tuple[str, ...]]:
    """Return the tokens with log-probabilities from OpenAI's protocol, or no tokens and a note if
    one is malformed.
    """
    if content is None or content == []:
        return None, ()
    try:
        return tuple(_token(item) for item in content), ()
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return None, (LOGPROBS_UNUSABLE,)


def _token(item: Mapping[str, Any]) -> Token:
    top = tuple(alternative(one["token"], one["logprob"]) for one in item.get("top_logprobs") or ())
    chosen = alternative(item["token"], item["logprob"])
    return Token(chosen.token, chosen.logprob, top)


def alternative(token: Any, logprob: Any) -> Alternative:
    """Return a token with its natural log-probability.

    Raises
    ------
    ValueError
        If the token is not a text, or the number is not the logarithm of a probability.
    """
    if (
        not isinstance(token, str)
        or isinstance(logprob, bool)
        or not isinstance(logprob, int | float)
    ):
        raise ValueError("a token and a number")
    value = float(logprob)
    if not math.isfinite(value) or value > _ROUNDING:
        raise ValueError("a logarithm of a probability")
    return Alternative(writable(token), min(value, 0.0))


# Servers that compute in 16 bits report log-probabilities slightly above 0.
_ROUNDING = 0.01
