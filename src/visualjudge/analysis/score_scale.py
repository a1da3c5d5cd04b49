"""The scale of a study of scores. Scores are stored and computed from 0 to 10, and
shown on the scale on which people and judges gave them. Whether scores may be used is
in ``decisions/score_answer.py``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import polars as pl

from visualjudge.analysis.figure_text import number, span, with_ends
from visualjudge.analysis.study_table import Study
from visualjudge.analysis.value_and_interval import Estimate

Number = TypeVar("Number", float, pl.Expr)
FEW_STEPS = 20
"""A scale of at most this many whole steps has them as its steps, any other ten."""


@dataclass(frozen=True)
class ScoreScale:
    """The scale of a study, on which its scores were given; here they lie from 0 to
    10."""

    low: float = 0.0
    high: float = 10.0

    @property
    def step(self) -> float:
        """One step, in tenths of the scale."""
        width = self.high - self.low
        whole = float(width).is_integer() and 2 <= width <= FEW_STEPS
        return 10 / width if whole else 1.0

    def score(self, value: float) -> float:
        """Return a score from 0 to 10 on the scale of the study."""
        return round(self.low + value * (self.high - self.low) / 10, 6)

    def ten(self, score: Number) -> Number:
        """Return a score on the scale of the study, or a column of them, from 0 to 10."""
        return 10 * (score - self.low) / (self.high - self.low)

    @property
    def scores(self) -> list[float]:
        """Return the scores that people choose from: each step."""
        count = round(10 / self.step)
        return [self.score(self.step * place) for place in range(count + 1)]

    def size(self, value: float) -> float:
        """Return a difference of scores on the scale of the study."""
        return value * (self.high - self.low) / 10

    def sized(self, figure: Estimate) -> str:
        """Format a difference of scores with its interval."""
        if figure.value is None:
            return with_ends(figure)
        ends = [self.size(end or 0.0) for end in figure.interval or ()]
        behind = span(ends) if ends else figure.why
        return f"{number(self.size(figure.value))} ({behind})"

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}"


ZERO_TO_TEN = ScoreScale()


def scale_of(study: Study) -> ScoreScale:
    """Return the scale that the dataset records."""
    return scale_in(study.meta)


def scale_in(meta: Mapping[str, Any]) -> ScoreScale:
    """Return the scale that ``dataset.json`` states."""
    stated = (meta.get("options") or {}).get("score_range")
    return ScoreScale(*map(float, stated)) if stated else ZERO_TO_TEN


def asked_scale(meta: Mapping[str, Any]) -> ScoreScale:
    """Return the scale on which people are asked: that of adopted scores; built
    questions ask for 0 to 10, whatever range the scores of their data had.
    """
    return scale_in(meta) if meta.get("benchmark") else ZERO_TO_TEN
