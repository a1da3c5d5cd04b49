"""The local judge, which assesses the image and the prediction, without the ground
truth or a language model.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from visualjudge.core.errors import DataError
from visualjudge.core.jsons import Json
from visualjudge.core.records import LETTERS, Verdict
from visualjudge.judges.base import (
    Ask,
    OfflineJudge,
    computed,
    declined,
    failed,
)
from visualjudge.judges.local.criteria import criteria_of
from visualjudge.judges.local.model import Model, Weights, load, shipped
from visualjudge.judges.local.questions import QuestionFeatures, changed
from visualjudge.judges.registry import LOCAL
from visualjudge.prompts.rubric import Rubric
from visualjudge.vision.view import Features

BASELINE = "local baseline"
"""Name of the built-in model in reports."""


def local_judge(model: str, root: Path, *, seed: int = 0) -> LocalJudge:
    """Return the judge of ``--backend local``.

    Parameters
    ----------
    model
        ``default``, or path of a model file.
    root
        Folder of the dataset to judge.
    seed
        Ignored: the judge is deterministic.

    Raises
    ------
    DataError
        If the model cannot be read.
    """
    return LocalJudge(
        QuestionFeatures(root),
        shipped() if model == "default" else load(model),
        Path(model).name,
    )


@dataclass
class LocalJudge(OfflineJudge):
    """A judge that compares options by their features. It declines if there are none or
    they are equal.
    """

    looks: QuestionFeatures
    model: Model
    name: str = "default"
    simulated: bool = False
    rubric: Rubric | None = None
    """Criteria, of which it answers those about differences of the options."""

    async def __call__(self, ask: Ask) -> Verdict:
        """Return the verdict, with the probabilities or the score as the raw
        response."""
        begun = time.perf_counter()
        try:
            return await asyncio.to_thread(self._judged, ask, begun)
        except DataError as error:
            return failed(ask, "unreadable question", error=str(error))

    def _judged(self, ask: Ask, begun: float) -> Verdict:
        question = ask.question
        weights = self.model.tasks.get(question.task)
        if weights is None:
            why = (
                f"the model {self.name} knows no {question.task}; python "
                "tools/train_local.py --data DATA --out model.vj fits one to scored "
                "predictions"
            )
            return declined(ask, why, begun)
        if changed(question):
            why = (
                "a probe has changed its images, and this judge reads the "
                "predictions as data"
            )
            return declined(ask, why, begun)
        options = self.looks.options(question)
        if not all(options):
            return declined(
                ask,
                "there is nothing but the prompt to hold the image against",
                begun,
            )
        if question.question_type == "scoring":
            return declined(
                ask,
                "this judge compares predictions and does not score one",
                begun,
            )
        displayed = options[::-1] if ask.order == "BA" else options
        if question.question_type != "pairwise":
            return _ranking(ask, displayed, weights, begun)
        verdict = _pairwise(ask, displayed, weights, begun)
        better = str(verdict.value)
        if self.rubric is None or better not in LETTERS[:2]:
            return verdict
        faults, size = self.looks.differences(question, LETTERS.index(better))
        criteria = criteria_of(self.rubric, question, better, faults, size)
        return replace(verdict, criteria=criteria)

    def describe(self) -> Mapping[str, Any]:
        """Return backend and model."""
        card: Json = {"trained_on": self.model.card.get("trained_on")}
        named = {"judge": BASELINE} if self.name == "default" else {}
        if self.rubric is not None:
            card["rubric"] = self.rubric.json()
        return {
            **named,
            "backend": LOCAL,
            "base_url": None,
            "model": self.name,
            "parameters": card,
        }


def _pairwise(
    ask: Ask, options: Sequence[Features], weights: Weights, begun: float
) -> Verdict:
    log_odds = weights.log_odds(options[0], options[1])
    if log_odds == 0:
        return declined(
            ask,
            "the options do not differ in anything that this judge sees",
            begun,
        )
    probability = float(1 / (1 + np.exp(-np.clip(log_odds, -50, 50))))
    letter = "A" if log_odds > 0 else "B"
    text = f"P(A is better) = {probability:.3f}\nAnswer: {letter}"
    return computed(ask, letter, text, begun, probability_a=probability)


def _ranking(
    ask: Ask, options: Sequence[Features], weights: Weights, begun: float
) -> Verdict:
    strength = [
        sum(weights.log_odds(option, other) for other in options)
        for option in options
    ]
    if len(set(strength)) < len(options):
        return declined(
            ask,
            "two options do not differ in anything that this judge sees",
            begun,
        )
    order = "".join(
        LETTERS[k]
        for k in sorted(range(len(options)), key=lambda k: -strength[k])
    )
    listed = ", ".join(f"{s:.2f}" for s in strength)
    return computed(ask, order, f"log-odds: {listed}\nAnswer: {order}", begun)
