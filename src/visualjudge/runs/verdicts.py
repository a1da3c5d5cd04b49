"""Verdicts in the file ``verdicts.jsonl``: the one writer and the one reader of a line.
How a reply becomes a value is in ``replies/reply_to_value.py``; what a verdict is
worth, in ``analysis/answers.py``.
"""

from collections.abc import Mapping
from typing import Any

from visualjudge.core.records import STATUSES, Served, Verdict
from visualjudge.judges.base import ORDERS
from visualjudge.runs.budget import PAID
from visualjudge.runs.journal import Line

MOST_REPEATS = 1_000_000
_OWN = (
    "id",
    "order",
    "value",
    "status",
    "raw_response",
    "usage",
    "latency_s",
    "repeat",
)
_OPTIONAL = ("probability_a", "expected_score", "cause", "criteria")
_SERVED = ("served_model", "fingerprint", "provider")
_KNOWN = frozenset((*_OWN, *_OPTIONAL, *_SERVED, PAID))


def verdict_line(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as a line of ``verdicts.jsonl``: seven fields that are always
    present, ``served_model`` and ``fingerprint`` if a server answered, and others if
    not empty.
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
    if verdict.served is not None:
        line |= {
            "served_model": verdict.served.model,
            "fingerprint": verdict.served.fingerprint,
        }
    optional = {
        "provider": None if verdict.served is None else verdict.served.provider,
        "repeat": verdict.repeat or None,
        "probability_a": verdict.probability_a,
        "expected_score": verdict.expected_score,
        "cause": verdict.cause,
        "criteria": verdict.criteria,
        **verdict.extra,
    }
    if verdict.tokens_paid != (verdict.usage or {}):
        optional[PAID] = dict(verdict.tokens_paid)
    return line | {
        name: value for name, value in optional.items() if value is not None
    }


def verdict_of(line: Mapping[str, Any]) -> Verdict:
    """Return the verdict of a line; lines of other tools may lack ``order``.

    Raises
    ------
    KeyError
        If a field is missing.
    ValueError
        If a field has the wrong type.
    """
    order = line.get("order") or "AB"
    value = line["value"]
    usage = line.get("usage")
    repeat = line.get("repeat") or 0
    paid = line.get(PAID)
    served = [_stated(line, name, str) for name in _SERVED]
    if (
        not isinstance(line["id"], str)
        or order not in ORDERS
        or not _is(value, str, int, float)
        or line["status"] not in STATUSES
        or type(repeat) is not int
        or not 0 <= repeat < MOST_REPEATS
    ):
        raise ValueError(line)
    return Verdict(
        id=line["id"],
        order=order,
        value=value,
        status=line["status"],
        raw_response=_stated(line, "raw_response", str),
        usage=usage if isinstance(usage, Mapping) else None,
        latency_s=_stated(line, "latency_s", int, float),
        repeat=repeat,
        probability_a=_stated(line, "probability_a", int, float),
        expected_score=_stated(line, "expected_score", int, float),
        cause=_stated(line, "cause", str),
        criteria=_stated(line, "criteria", Mapping),
        served=Served(*served)
        if any(name in line for name in _SERVED)
        else None,
        paid=paid if isinstance(paid, Mapping) else None,
        extra={name: item for name, item in line.items() if name not in _KNOWN},
    )


def verdict_in(line: Line) -> Verdict | None:
    """Return the verdict of a line of a journal, or None if it is none."""
    try:
        return verdict_of(line.record or {})
    except (KeyError, ValueError, TypeError):
        return None


def _is(value: Any, *kinds: type) -> bool:
    """Return whether a value is of one of these types; a boolean is no number."""
    return isinstance(value, kinds) and not isinstance(value, bool)


def _stated(line: Mapping[str, Any], name: str, *kinds: type) -> Any:
    """Return an optional field of a line."""
    value = line.get(name)
    if value is not None and not _is(value, *kinds):
        raise ValueError(value)
    return value
