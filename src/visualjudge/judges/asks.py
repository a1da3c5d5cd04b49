"""One thing to ask a judge: a question, in one order of its options, for the n-th time; how a verdict is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from visualjudge.records import FAILED, Answer, Order, Question, Verdict

_FLIP: dict[Answer, str] = {"A": "B", "B": "A"}
_ORDERS: tuple[Order, Order] = ("AB", "BA")

Key = tuple[str, Order, int]


@dataclass(frozen=True, slots=True)
class Ask:
    """``repeat`` counts from 0."""

    question: Question
    order: Order = "AB"
    repeat: int = 0

    @property
    def key(self) -> Key:
        """What names the verdict."""
        return self.question.id, self.order, self.repeat

    def stored(self, value: Answer) -> Answer:
        """An answer to the question as shown, in the letters of the question as stored. Undoes itself."""
        return _FLIP.get(value, value) if self.order == "BA" else value


class Judge(Protocol):
    """Anything that gives verdicts."""

    simulated: bool

    async def __call__(self, ask: Ask) -> Judged:
        """One verdict; a failure is a verdict too."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """What ``run.json`` says of it: backend, model, base_url, parameters. No secrets."""
        ...

    async def aclose(self) -> None:
        """Let go of connections."""
        ...


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict, and the calls it cost (0 where all replies came out of a cache)."""

    verdict: Verdict
    calls: int = 1
    paid: Mapping[str, int] = field(default_factory=dict)
    """Tokens of all replies that were paid for, those of repeated attempts included."""


def plan(questions: Iterable[Question], *, swap: bool = False, repeats: int = 1) -> Iterator[Ask]:
    """All there is to ask, question by question; only a pairwise question has a second order."""
    for question in questions:
        for order in _ORDERS if swap and question.question_type == "pairwise" else _ORDERS[:1]:
            for repeat in range(repeats):
                yield Ask(question, order, repeat)


def verdict_line(verdict: Verdict) -> dict[str, Any]:
    """A verdict as ``verdicts.jsonl`` has it: seven fields that always stand, others where they say something."""
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
    """The verdict of a line. Raises KeyError where a field is missing."""
    named = ("probability_a", "expected_score", "cause")
    known = {"id", "order", "value", "status", "raw_response", "usage", "latency_s", "repeat", *named}
    return Verdict(
        id=line["id"],
        order=line["order"],
        value=line["value"],
        status=line["status"],
        raw_response=line.get("raw_response"),
        usage=line.get("usage"),
        latency_s=line.get("latency_s"),
        repeat=line.get("repeat", 0),
        extra={name: value for name, value in line.items() if name not in known},
        **{name: line.get(name) for name in named},
    )


def failed(ask: Ask, cause: str, **extra: Any) -> Verdict:
    """The verdict of a question that could not be asked."""
    return Verdict(ask.question.id, ask.order, FAILED, "api_error", None, repeat=ask.repeat, cause=cause, extra=extra)


def in_stored_letters(ask: Ask, verdict: Verdict) -> Verdict:
    """A verdict in the letters shown, turned into the letters stored."""
    probability = verdict.probability_a
    if ask.order == "BA" and probability is not None:
        probability = 1 - probability
    return replace(verdict, value=ask.stored(verdict.value), probability_a=probability)
