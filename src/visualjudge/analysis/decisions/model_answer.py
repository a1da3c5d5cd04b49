"""The answer to "may I rank my models with this judge?" in one sentence, from the pairs of models.

*No* only for what is proven: a pair in the wrong order, or an accuracy that does not exceed
chance. Everything else that the checks find qualifies the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from visualjudge.analysis.answer import AnswerState, PairOfModels, PairsOfModels
from visualjudge.analysis.figure_text import (
    listed,
    lower_first,
    many,
    number,
    percent,
    percents,
    plain_name,
)

NAMED = 2
"""Maximum number of pairs of a kind that the sentence names."""


@dataclass(frozen=True)
class ModelAnswer:
    """The answer, its sentence without the judge's name, the pairs, and the resolution in points of
    score, also with twice the images.
    """

    state: AnswerState
    sentence: str
    pairs: tuple[PairOfModels, ...] = ()
    resolution: float | None = None
    resolution_twice: float | None = None

    @property
    def needs_images(self) -> tuple[int, int] | None:
        """The range of further images that would settle every undecided pair; None if no pair is
        undecided, or no number would.
        """
        needed = [pair.needs_images for pair in self.pairs if pair.state == "undecided"]
        known = [ends for ends in needed if ends is not None]
        if not known or len(known) < len(needed):
            return None
        return max(low for low, _ in known), max(high for _, high in known)


@dataclass(frozen=True)
class Facts:
    """What is known beside the pairs: the number of images and how many are needed at least, the
    accuracy in words, why no models are compared, and why the judge is proven not to judge.
    """

    images: int
    least: int
    accuracy: str | None
    why: str | None = None
    unskilled: str | None = None


def model_answer(
    models: PairsOfModels | None, facts: Facts, qualifiers: Sequence[str] = ()
) -> ModelAnswer:
    """Return the answer; ``qualifiers`` are statements of the checks that fail."""
    state, sentence = _stated(models, facts)
    notes = f" But {listed(qualifiers)}." if qualifiers and state != "no" else ""
    if models is None:
        return ModelAnswer(state, sentence + notes)
    resolution = models.resolution
    return ModelAnswer(state, sentence + notes, models.pairs, resolution.points, resolution.twice)


def _stated(models: PairsOfModels | None, facts: Facts) -> tuple[AnswerState, str]:
    if facts.unskilled:
        return "no", f"No: {facts.unskilled}. Ask another judge."
    if models is None:
        return "too_few", _unknown(facts)
    groups = len({pair.group for pair in models.pairs}) > 1
    names = _Names(models.pairs, groups)
    if wrong := names.of("wrong"):
        return "no", f"No: it puts {wrong[0]}, wrongly{_beside(models)}. Ask another judge."
    if models.images < facts.least:
        few = f"{models.images} of at least {facts.least}"
        return "too_few", f"Not with these images: {few}. {_so_far(models, facts)}"
    if all(pair.truth is None for pair in models.pairs):
        return "too_few", _without_truth(models)
    right, undecided, close = (names.of(state) for state in ("right", "undecided", "close"))
    total = many(len(models.pairs), "pair")
    too_close = f"; {_too_close(close)}" if close else ""
    if not right:
        nothing = f"none of {total} is separated on {many(models.images, 'image')}"
        rest = f"; {_open(models, undecided)}" if undecided else too_close
        hopeless = bool(undecided) and not any(pair.needs_images for pair in models.pairs)
        todo = _next(facts, "ask another judge." if hopeless else "")
        return "too_few", f"Not with these images: {nothing}{rest}. {todo}"
    separated = (
        f"{len(right)} of {total} {'is' if len(right) == 1 else 'are'} separated, all rightly"
    )
    if not undecided and len(right) >= len(close):
        points = models.resolution.points
        least = "" if points is None else f", for differences of {points:.1f} points and more"
        return "yes", f"Yes{least}: {separated}{too_close}."
    rest = f"; {_open(models, undecided)}" if undecided else ""
    return "in_part", f"In part: {separated}{rest}{too_close}."


class _Names:
    """Pairs in words, by state."""

    def __init__(self, pairs: Sequence[PairOfModels], groups: bool) -> None:
        self._pairs, self._groups = pairs, groups

    def of(self, state: str) -> list[str]:
        found = [pair for pair in self._pairs if pair.state == state]
        return [self._pair(pair, state) for pair in sorted(found, key=lambda pair: -pair.images)]

    def _pair(self, pair: PairOfModels, state: str) -> str:
        tasks = pair.group.split(" + ")
        more = f" and {len(tasks) - 1} more" if len(tasks) > 1 else ""
        task = f" ({plain_name(tasks[0])}{more})" if self._groups else ""
        if state == "wrong":
            return f"{pair.b} above {pair.a}{task}"
        return f"{pair.a} {'above' if state == 'right' else 'and'} {pair.b}{task}"


def _beside(models: PairsOfModels) -> str:
    wrong = next(pair for pair in models.pairs if pair.state == "wrong")
    right = sum(pair.state == "right" for pair in models.pairs)
    said = f" (it prefers {wrong.a} in {percent(wrong.judge, 0)}, the truth in "
    said += f"{percent(wrong.truth, 0)})"
    return said + (f"; {many(right, 'pair')} separated rightly" if right else "")


def _too_close(close: Sequence[str]) -> str:
    named = listed(close, NAMED) if len(close) <= NAMED else f"{len(close)} pairs"
    return f"{named} are too close, by truth as well"


def _open(models: PairsOfModels, undecided: Sequence[str]) -> str:
    needed = [pair.needs_images for pair in models.pairs if pair.state == "undecided"]
    known = [ends for ends in needed if ends is not None]
    more = ", too close to be settled"
    if known:
        low, high = max(ends[0] for ends in known), max(ends[1] for ends in known)
        more = f" ({number(low)} to {number(high)} more images)"
    named = listed(undecided, NAMED) if len(undecided) <= NAMED else f"{len(undecided)} pairs"
    return f"it can’t separate {named} yet{more}"


def _so_far(models: PairsOfModels, facts: Facts) -> str:
    best = max(models.pairs, key=lambda pair: abs(pair.judge - 0.5))
    first, second = (best.a, best.b) if best.judge >= 0.5 else (best.b, best.a)
    share = percent(max(best.judge, 1 - best.judge), 0)
    said = f"So far it prefers {first} to {second} in {share} of their comparisons"
    return f"{said}; {lower_first(_next(facts))}"


def _without_truth(models: PairsOfModels) -> str:
    sure = [pair for pair in models.pairs if pair.judge_ci95 and _excludes_half(pair.judge_ci95)]
    names = [
        f"{pair.a} above {pair.b}" if pair.judge > 0.5 else f"{pair.b} above {pair.a}"
        for pair in sure
    ]
    total = many(len(models.pairs), "pair")
    orders = f"it puts {listed(names, NAMED)}" if names else f"it separates none of {total}"
    return (
        f"Not known: {orders}, but without ground truth nobody knows whether rightly. Label some."
    )


def _excludes_half(ends: tuple[float, float]) -> bool:
    return ends[0] > 0.5 or ends[1] < 0.5


def _unknown(facts: Facts) -> str:
    known = facts.accuracy or f"it was asked about {many(facts.images, 'image')}"
    return f"Not known: {facts.why}; {known}. Import or perturb predictions of two models."


def _next(facts: Facts, advice: str = "") -> str:
    """Say how accurate the judge is, and what to do."""
    known = f"It is right in {facts.accuracy}; " if facts.accuracy else ""
    more = "more images are needed: `visualjudge plan` says how many."
    return known + (advice or more)


def accuracy_words(value: float, ends: tuple[float, float] | None, questions: str) -> str:
    """Return an accuracy as "81.0 % (75.1 to 85.3) of 120 questions"."""
    interval = f" ({percents(ends)})" if ends else ""
    return f"{percent(value)}{interval} of {questions}"


SHORT: dict[AnswerState, str] = {
    "yes": "Yes",
    "in_part": "In part",
    "no": "No",
    "too_few": "Not with these images",
}


class HasModels(Protocol):
    """Whatever has an answer."""

    @property
    def models(self) -> ModelAnswer:
        """The answer."""


def short_answer(found: HasModels) -> str:
    """Return the answer in a few words."""
    return SHORT[found.models.state]
