"""Token counts of a reply, under the names used by OpenAI, Anthropic and Google."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from visualjudge.clients.fields import whole_output

MOST = 2**53
"""A count beyond this is no count: JSON readers and tables hold whole numbers exactly up to
here.
"""
PROMPT = ("prompt_tokens", "input_tokens", "prompt_token_count")
REPLY = ("completion_tokens", "output_tokens", "candidates_token_count")
TOTAL = ("total_tokens", "total_token_count")


def token_counts(usage: Mapping[str, Any] | None) -> tuple[int | None, int | None]:
    """Return the tokens of the prompt and all tokens billed as output, or None if unknown."""
    prompt, reply, total = (_first(usage or {}, names) for names in (PROMPT, REPLY, TOTAL))
    return prompt, whole_output(prompt, reply, total)


def _first(usage: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    return next((count for name in names if (count := _count(usage.get(name))) is not None), None)


def _count(value: Any) -> int | None:
    return (
        value
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST
        else None
    )
