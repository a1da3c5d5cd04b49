"""The interface of every judge of a dataset's questions: it takes an ``Ask`` and
returns a ``Verdict``. ``runs/verdicts.py`` writes verdicts to files. Judge modules of
pipelines have their own, in ``judge_module.py``.
"""

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from visualjudge.core.records import (
    FAILED,
    TURNED,
    Answer,
    Order,
    Question,
    Verdict,
)

ORDERS: tuple[Order, Order] = ("AB", "BA")

Key = tuple[str, Order, int]
Schema = Literal["followed", "refused", "ignored"]
"""How a server treats a schema."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One question in one order; ``repeat`` counts from 0."""

    question: Question
    order: Order = "AB"
    repeat: int = 0

    @property
    def key(self) -> Key:
        """The key that identifies the verdict."""
        return self.question.id, self.order, self.repeat

    def stored(self, value: Answer) -> Answer:
        """Translate an answer from the letters shown to the letters stored, or back."""
        return TURNED.get(str(value), value) if self.order == "BA" else value


class Judge(Protocol):
    """A judge, which answers asks with verdicts."""

    simulated: bool

    async def __call__(self, ask: Ask) -> Verdict:
        """Return one verdict. A failure is a verdict too."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """Return the description for ``run.json``: backend, model, base_url and
        parameters, without secrets.
        """
        ...

    async def aclose(self) -> None:
        """Close connections."""
        ...


class OfflineJudge:
    """Base class of judges that ask no server and hold no connections."""

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close."""


def most_calls(judge: Judge) -> int:
    """Return the maximum number of calls that a judge may make for one ask: its
    ``most_calls``, or 1.
    """
    return int(getattr(judge, "most_calls", 1))


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
        calls=0,
    )


def computed(
    ask: Ask, value: Answer, text: str, begun: float, **fields: Any
) -> Verdict:
    """Return the answer of a judge without a server, in the letters shown; ``begun`` is
    the time (:func:`time.perf_counter`) at which it was asked.
    """
    verdict = Verdict(
        ask.question.id,
        ask.order,
        value,
        "ok",
        text,
        latency_s=round(time.perf_counter() - begun, 4),
        repeat=ask.repeat,
        calls=0,
        **fields,
    )
    return in_stored_letters(ask, verdict)


def declined(ask: Ask, why: str, begun: float, **fields: Any) -> Verdict:
    """Return that a judge without a server cannot answer, with the reason as its
    reply."""
    verdict = computed(
        ask,
        FAILED,
        f"I cannot judge this: {why}.",
        begun,
        cause="declined",
        **fields,
    )
    return replace(verdict, status="refusal")


def in_stored_letters(ask: Ask, verdict: Verdict) -> Verdict:
    """Translate a verdict from the letters shown to the letters stored."""
    if ask.order == "AB":
        return verdict
    probability = (
        None if verdict.probability_a is None else 1 - verdict.probability_a
    )
    return replace(
        verdict, value=ask.stored(verdict.value), probability_a=probability
    )


def __getattr__(name: str) -> Any:
    if name != "Judged":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(
        "a judge returns a Verdict, with calls and paid; Judged goes with 1.4",
        DeprecationWarning,
        stacklevel=2,
    )
    return lambda verdict, calls=1, paid=None: replace(
        verdict, calls=calls, paid=paid
    )
