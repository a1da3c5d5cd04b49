"""A cascade of two judges: a cheap one answers if it is confident enough; otherwise an expensive
one is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import orjson

from visualjudge.core.errors import DataError
from visualjudge.core.records import Answer, Order, Verdict
from visualjudge.judges.base import Ask, Judge, Judged, Key, OfflineJudge, failed, most_calls
from visualjudge.judges.schema_trial import SchemaTrial, trial_of

By = Literal["probability", "agreement"]


@dataclass(frozen=True)
class CascadeRule:
    """The rule by which the cheap judge's answer to a pairwise question is accepted.

    ``threshold``: minimum confidence, 0.5 to 1; above 1, no answer is accepted. ``by``:
    "probability" is the larger probability of the two options, "agreement" is the share of the
    cheap judge's verdicts (orders, repeats) for the answer. ``asks``: the orders and repeats in
    which the cheap judge is asked.
    """

    threshold: float
    by: By
    asks: tuple[tuple[Order, int], ...] = (("AB", 0),)


def read_rule(path: Path) -> CascadeRule:
    """Read the rule from a file written by ``visualjudge cascade --json``.

    Raises
    ------
    DataError
        If the file cannot be read or contains no rule.
    """
    try:
        found = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise DataError(
            f"{path}: must be the JSON that visualjudge cascade --json wrote: {error}"
        ) from None
    rule = found.get("rule") if isinstance(found, Mapping) else None
    if not isinstance(rule, Mapping):
        raise DataError(
            f"{path}: rule: must be an object, got {rule!r}; write it with visualjudge cascade "
            "--json"
        )
    threshold, by, asks = (rule.get(name) for name in ("threshold", "by", "asks"))
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not threshold >= 0:
        raise DataError(
            f"{path}: rule: threshold: must be a number of at least 0, got {threshold!r}"
        )
    if by not in ("probability", "agreement"):
        raise DataError(f"{path}: rule: by: must be one of {', '.join(get_args(By))}, got {by!r}")
    if not isinstance(asks, list) or not asks or not all(_is_ask(ask) for ask in asks):
        raise DataError(f'{path}: rule: asks: must list pairs such as ["AB", 0], got {asks!r}')
    return CascadeRule(float(threshold), by, tuple((ask[0], ask[1]) for ask in asks))


def _is_ask(ask: Any) -> bool:
    return (
        isinstance(ask, list)
        and len(ask) == 2
        and ask[0] in get_args(Order)
        and type(ask[1]) is int
        and ask[1] >= 0
    )


def decide(
    values: Sequence[Answer | None], probabilities: Sequence[float | None], by: By
) -> tuple[str | None, float]:
    """Return the cheap judge's answer to one question (A, B or None) and its confidence, 0 to 1.

    Parameters
    ----------
    values
        A, B, or anything else for an unusable reply; letters refer to the question as stored.
    probabilities
        Probability of A for each verdict; None if the judge does not report it.
    """
    if by == "probability":
        known = [p for p in probabilities if p is not None]
        if not known:
            return None, 0.0
        mean = sum(known) / len(known)
        return (None, 0.5) if mean == 0.5 else ("A", mean) if mean > 0.5 else ("B", 1 - mean)
    votes = {letter: sum(value == letter for value in values) for letter in "AB"}
    if not values or votes["A"] == votes["B"]:
        return None, 0.0
    first = max(votes, key=lambda letter: votes[letter])
    return first, votes[first] / len(values)


@dataclass
class RecordedJudge(OfflineJudge):
    """A judge that repeats the verdicts of a finished run without any calls."""

    name: str
    verdicts: Mapping[Key, Verdict]
    simulated: bool = False
    most_calls: ClassVar[int] = 0

    async def __call__(self, ask: Ask) -> Judged:
        """Return the recorded verdict, or an api_error if the question was not asked."""
        found = self.verdicts.get(ask.key)
        return Judged(found or failed(ask, f"the run {self.name} holds no verdict on it"), calls=0)

    def describe(self) -> Mapping[str, Any]:
        """Describe the run."""
        return {"backend": "recorded", "base_url": None, "model": self.name, "parameters": {}}


@dataclass
class CascadeJudge:
    """A judge that asks ``cheap`` first, and ``expensive`` if the rule does not accept the answer.

    Questions other than pairwise go to the expensive judge, because the rule does not cover them.
    """

    cheap: Judge
    expensive: Judge
    rule: CascadeRule
    simulated: bool = field(init=False)
    """Whether either judge is simulated."""
    _decided: dict[str, tuple[str | None, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.simulated = self.cheap.simulated or self.expensive.simulated

    async def __call__(self, ask: Ask) -> Judged:
        """Return the verdict of the deciding judge. ``extra`` names it and states the cheap judge's
        confidence.
        """
        if ask.question.question_type != "pairwise":
            return await self.expensive(ask)
        answer, confidence, calls, paid = await self._first(ask)
        if answer is None or confidence < self.rule.threshold:
            found = await self.expensive(ask)
            extra = {**found.verdict.extra, "decided_by": "expensive", "confidence": confidence}
            verdict = replace(found.verdict, extra=extra)
            return Judged(verdict, found.calls + calls, Counter(found.paid) + paid)
        extra = {"decided_by": "cheap", "confidence": confidence}
        said = f"the cheap judge says {answer} with confidence {confidence:.3f}"
        verdict = Verdict(
            ask.question.id,
            ask.order,
            answer,
            "ok",
            said,
            latency_s=0.0,
            repeat=ask.repeat,
            extra=extra,
        )
        return Judged(verdict, calls, paid)

    @property
    def most_calls(self) -> int:
        """The maximum number of replies for one ask."""
        return len(self.rule.asks) * most_calls(self.cheap) + most_calls(self.expensive)

    @property
    def trial(self) -> SchemaTrial | None:
        """The expensive judge's trial."""
        return trial_of(self.expensive)

    async def _first(self, ask: Ask) -> tuple[str | None, float, int, Counter[str]]:
        """Return the cheap judge's answer and confidence, and its calls and tokens. Once a question
        is decided, it costs nothing more.
        """
        known = self._decided.get(ask.question.id)
        if known is not None:
            return *known, 0, Counter()
        judged = [
            await self.cheap(Ask(ask.question, order, repeat)) for order, repeat in self.rule.asks
        ]
        values = [one.verdict.value for one in judged]
        answer, confidence = decide(
            values, [one.verdict.probability_a for one in judged], self.rule.by
        )
        calls = sum(one.calls for one in judged)
        paid = sum((Counter(one.paid) for one in judged), Counter[str]())
        self._decided[ask.question.id] = (answer, confidence)
        return answer, confidence, calls, paid

    def describe(self) -> Mapping[str, Any]:
        """Describe both judges and the rule."""
        names = [str(judge.describe().get("model")) for judge in (self.cheap, self.expensive)]
        rule = {
            "threshold": self.rule.threshold,
            "by": self.rule.by,
            "asks": [list(ask) for ask in self.rule.asks],
        }
        parameters = {"cheap": names[0], "expensive": names[1], "rule": rule}
        return {
            "backend": "cascade",
            "base_url": None,
            "model": " then ".join(names),
            "parameters": parameters,
        }

    async def aclose(self) -> None:
        """Close both judges."""
        await self.cheap.aclose()
        await self.expensive.aclose()
