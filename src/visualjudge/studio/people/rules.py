"""Rules by which a rater's answers are left out, stated before anybody answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from visualjudge.core.errors import UsageError

Measure = Literal["known", "repeats", "cannot_tell", "seconds"]
"""Share of known items that are right, share of repeats with the same answer, share that the rater
could not tell, and the median time of an answer in seconds.
"""
FEWEST: dict[Measure, int] = {"known": 3, "repeats": 3, "cannot_tell": 10, "seconds": 10}
"""From so many cases on a rule is applied: below, one slip would decide."""
_RULE = re.compile(r"\s*([a-z_]+)\s*([<>])\s*(\d+(?:\.\d+)?)\s*")


@dataclass(frozen=True, slots=True)
class Measured:
    """A rater's value of a measure and the cases that it is from; None without cases."""

    value: float | None
    cases: int


@dataclass(frozen=True, slots=True)
class Rule:
    """Leave out a rater whose ``measure`` is less (or more) than ``bound``."""

    measure: Measure
    less: bool
    bound: float

    def __str__(self) -> str:
        return f"{self.measure}{'<' if self.less else '>'}{self.bound:g}"

    def breaks(self, found: Measured) -> bool:
        """Whether a rater falls under the rule."""
        if found.value is None or found.cases < FEWEST[self.measure]:
            return False
        return found.value < self.bound if self.less else found.value > self.bound


def check_rules(rules: Sequence[Rule], cases: Mapping[Measure, int]) -> None:
    """Refuse a rule that can never apply; ``cases``: the most that a rater can have of a measure.

    Raises
    ------
    UsageError
        If a measure never reaches the cases from which on a rule is applied.
    """
    for rule in rules:
        most, fewest = cases[rule.measure], FEWEST[rule.measure]
        if most < fewest:
            named = rule.measure in ("known", "repeats")
            what = f"--{rule.measure}" if named else "the number of answers of a rater"
            raise UsageError(
                f"--exclude {rule} is applied from {fewest} cases on: {what} must be at least "
                f"{fewest}, got {most}"
            )


def read_rules(texts: Sequence[str]) -> tuple[Rule, ...]:
    """Rules such as ``known<0.8``.

    Raises
    ------
    UsageError
        If one cannot be read.
    """
    return tuple(_rule(text) for text in texts)


def _rule(text: str) -> Rule:
    match = _RULE.fullmatch(text)
    measures = get_args(Measure)
    if match is None or match[1] not in measures:
        raise UsageError(
            f"--exclude must be MEASURE<NUMBER or MEASURE>NUMBER with {', '.join(measures)}; got "
            f"{text!r}"
        )
    measure: Measure = next(name for name in measures if name == match[1])
    bound = float(match[3])
    if measure != "seconds" and bound > 1:
        raise UsageError(f"--exclude: {measure} is a share, from 0 to 1; got {text!r}")
    return Rule(measure, match[2] == "<", bound)
