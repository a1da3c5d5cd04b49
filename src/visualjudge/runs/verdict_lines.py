"""Convert verdicts to and from lines of ``verdicts.jsonl``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from visualjudge.core.records import Status, Verdict
from visualjudge.judges.base import ORDERS

MOST_REPEATS = 1_000_000
_STATUSES = frozenset(get_args(Status))


def verdict_line(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as a line of ``verdicts.jsonl``: seven fields that are always present, and
    others if not empty.
    """
    line: dict[str, Any] = {
        "id": verdict.id,
        "order": verdict.order,
        "value": verdict.value,
        "status": verdict.status,
        "raw_response": verdict.raw_response,
        "usage": None if verdict.usage is None else dict(verdict.usage),
        "latency_s": verdict.latency_s,
    }
    optional = {
        "repeat": verdict.repeat or None,
        "probability_a": verdict.probability_a,
        "expected_score": verdict.expected_score,
        "cause": verdict.cause,
        **verdict.extra,
    }
    return line | {name: value for name, value in optional.items() if value is not None}


def verdict_of(line: Mapping[str, Any]) -> Verdict:
    """Return the verdict of a line; lines of other tools may lack ``order``.

    Raises
    ------
    KeyError
        If a field is missing.
    ValueError
        If a field has the wrong type.
    """
    named = ("probability_a", "expected_score", "cause")
    known = {
        "id",
        "order",
        "value",
        "status",
        "raw_response",
        "usage",
        "latency_s",
        "repeat",
        *named,
    }
    return Verdict(
        id=_checked(line["id"], isinstance(line["id"], str)),
        order=_checked(line.get("order") or "AB", (line.get("order") or "AB") in ORDERS),
        value=_checked(line["value"], isinstance(line["value"], str) or _is_number(line["value"])),
        status=_checked(line["status"], line["status"] in _STATUSES),
        raw_response=_text(line.get("raw_response")),
        usage=line.get("usage") if isinstance(line.get("usage"), Mapping) else None,
        latency_s=_number(line.get("latency_s")),
        repeat=_repeat(line.get("repeat")),
        probability_a=_number(line.get("probability_a")),
        expected_score=_number(line.get("expected_score")),
        cause=_text(line.get("cause")),
        extra={name: value for name, value in line.items() if name not in known},
    )


def _checked(value: Any, holds: bool) -> Any:
    if not holds:
        raise ValueError(value)
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: Any) -> str | None:
    return None if value is None else str(_checked(value, isinstance(value, str)))


def _number(value: Any) -> float | None:
    return None if value is None else _checked(value, _is_number(value))


def _repeat(value: Any) -> int:
    count = 0 if value is None else value
    return int(_checked(count, type(count) is int and 0 <= count < MOST_REPEATS))
