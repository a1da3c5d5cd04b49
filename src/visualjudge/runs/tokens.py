"""Token counts of a reply, under the names that OpenAI, Anthropic and Google give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MOST = 2**53
"""A count beyond this is no count: JSON readers and tables hold whole numbers exactly up to here."""
_PROMPT = ("prompt_tokens", "input_tokens", "prompt_token_count")
_REPLY = ("completion_tokens", "output_tokens", "candidates_token_count")


def token_counts(usage: Mapping[str, Any] | None) -> tuple[int | None, int | None]:
    """Tokens of the prompt and of the reply, as the server counted them; None where it did not say."""
    return _first(usage or {}, _PROMPT), _first(usage or {}, _REPLY)


def token_columns(usages: Sequence[Any]) -> tuple[list[int | None], list[int | None]]:
    """:func:`token_counts` of many replies at once; what is no object has no counts."""
    known = [usage if type(usage) is dict else {} for usage in usages]
    said = frozenset[str]().union(*known)
    return _firsts(known, _PROMPT, said), _firsts(known, _REPLY, said)


def _firsts(known: Sequence[Mapping[str, Any]], names: tuple[str, ...], said: frozenset[str]) -> list[int | None]:
    found: list[int | None] = [None] * len(known)
    for name in reversed([name for name in names if name in said]):
        counts = _counts([usage.get(name) for usage in known])
        found = [other if count is None else count for count, other in zip(counts, found, strict=True)]
    return found


def _counts(values: list[Any]) -> list[int | None]:
    plain = set(map(type, values)) == {int} and min(values) >= 0 and max(values) <= MOST
    return values if plain else [_count(value) for value in values]


def _first(usage: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    return next((count for name in names if (count := _count(usage.get(name))) is not None), None)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST else None
