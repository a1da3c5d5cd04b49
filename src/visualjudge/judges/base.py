"""The interface of every judge of a dataset's questions, ``Ask`` → ``Judged``, and verdicts as
lines of ``verdicts.jsonl``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, get_args

from visualjudge.core.records import FAILED, TURNED, Answer, Order, Question, Status, Verdict

ORDERS: tuple[Order, Order] = ("AB", "BA")
_STATUSES = frozenset(get_args(Status))
MOST_REPEATS = 1_000_000

Key = tuple[str, Order, int]


@dataclass(frozen=True, slots=True)
class Ask:
    """One question in one order; ``repeat`` counts from 0."""

    question: Question
    order: Order = "AB"
    repeat: int = 0

    @property
    def key(self) -> Key:
        """Identifies the verdict."""
        return self.question.id, self.order, self.repeat

    def stored(self, value: Answer) -> Answer:
        """Translate an answer from the letters shown to the letters stored, or back."""
        return TURNED.get(str(value), value) if self.order == "BA" else value


class Judge(Protocol):
    """A judge: answers asks with verdicts."""

    simulated: bool

    async def __call__(self, ask: Ask) -> Judged:
        """Return one verdict; a failure is a verdict too."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """Return its description for ``run.json``: backend, model, base_url, parameters. No
        secrets."""
        ...

    async def aclose(self) -> None:
        """Close connections."""
        ...


class OfflineJudge:
    """Base of judges that ask no server and hold no connections."""

    async def aclose(self) -> None:
        """Nothing to close."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict and the number of calls it took (0 if all replies were cached)."""

    verdict: Verdict
    calls: int = 1
    paid: Mapping[str, int] = field(default_factory=dict)
    """Tokens of all replies that were paid for, those of repeated attempts included."""


def most_calls(judge: Judge) -> int:
    """Return the largest number of calls that a judge may make for one ask: its ``most_calls``,
    else 1.
    """
    return int(getattr(judge, "most_calls", 1))


def verdict_line(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as a line of ``verdicts.jsonl``: seven fields that are always present,
    others if they are not empty.
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


def failed(ask: Ask, cause: str, **extra: Any) -> Verdict:
    """Return the verdict of a question that could not be asked."""
    return Verdict(
        ask.question.id,
        ask.order,
        FAILED,
        "api_error",
        None,
        repeat=ask.repeat,
        cause=cause,
        extra=extra,
    )


def in_stored_letters(ask: Ask, verdict: Verdict) -> Verdict:
    """Translate a verdict from the letters shown to the letters stored."""
    if ask.order == "AB":
        return verdict
    probability = None if verdict.probability_a is None else 1 - verdict.probability_a
    return replace(verdict, value=ask.stored(verdict.value), probability_a=probability)
