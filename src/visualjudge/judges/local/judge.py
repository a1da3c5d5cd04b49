"""The local judge, which assesses the image and the prediction, without the ground truth or a
language model.
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
from visualjudge.core.records import FAILED, LETTERS, Verdict
from visualjudge.judges.base import Ask, Judged, OfflineJudge, failed, in_stored_letters
from visualjudge.judges.local.model import Model, Weights, load, shipped
from visualjudge.judges.local.questions import QuestionFeatures, changed
from visualjudge.judges.registry import LOCAL
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
        QuestionFeatures(root), shipped() if model == "default" else load(model), Path(model).name
    )


@dataclass
class LocalJudge(OfflineJudge):
    """A judge that compares options by their features. It declines if there are none or they are
    equal.
    """

    looks: QuestionFeatures
    model: Model
    name: str = "default"
    simulated: bool = False

    async def __call__(self, ask: Ask) -> Judged:
        """Return the verdict, with the probabilities or the score as the raw response."""
        begun = time.perf_counter()
        try:
            verdict = await asyncio.to_thread(self._verdict, ask)
        except DataError as error:
            return Judged(failed(ask, "unreadable question", error=str(error)), calls=0)
        seconds = round(time.perf_counter() - begun, 4)
        return Judged(in_stored_letters(ask, replace(verdict, latency_s=seconds)), calls=0)

    def _verdict(self, ask: Ask) -> Verdict:
        question = ask.question
        weights = self.model.tasks.get(question.task)
        if weights is None:
            return _declined(
                ask,
                f"the model {self.name} knows no {question.task}; python tools/train_local.py "
                "--data DATA --out model.vj fits one to scored predictions",
            )
        if changed(question):
            return _declined(
                ask, "a probe has changed its images, and this judge reads the predictions as data"
            )
        options = self.looks.options(question)
        if not all(options):
            return _declined(ask, "there is nothing but the prompt to hold the image against")
        if question.question_type == "scoring":
            return _declined(ask, "this judge compares predictions and does not score one")
        answer = _pairwise if question.question_type == "pairwise" else _ranking
        return answer(ask, options[::-1] if ask.order == "BA" else options, weights)

    def describe(self) -> Mapping[str, Any]:
        """Return backend and model."""
        card = {"trained_on": self.model.card.get("trained_on")}
        named = {"judge": BASELINE} if self.name == "default" else {}
        return {**named, "backend": LOCAL, "base_url": None, "model": self.name, "parameters": card}


def _pairwise(ask: Ask, options: Sequence[Features], weights: Weights) -> Verdict:
    log_odds = weights.log_odds(options[0], options[1])
    if log_odds == 0:
        return _declined(ask, "the options do not differ in anything that this judge sees")
    probability = float(1 / (1 + np.exp(-np.clip(log_odds, -50, 50))))
    letter = "A" if log_odds > 0 else "B"
    return _verdict(
        ask,
        letter,
        f"P(A is better) = {probability:.3f}\nAnswer: {letter}",
        probability_a=probability,
    )


def _ranking(ask: Ask, options: Sequence[Features], weights: Weights) -> Verdict:
    strength = [sum(weights.log_odds(one, other) for other in options) for one in options]
    if len(set(strength)) < len(options):
        return _declined(ask, "two options do not differ in anything that this judge sees")
    order = "".join(LETTERS[k] for k in sorted(range(len(options)), key=lambda k: -strength[k]))
    return _verdict(
        ask, order, f"log-odds: {', '.join(f'{s:.2f}' for s in strength)}\nAnswer: {order}"
    )


def _verdict(ask: Ask, value: str | float, said: str, **extra: Any) -> Verdict:
    return Verdict(ask.question.id, ask.order, value, "ok", said, repeat=ask.repeat, **extra)


def _declined(ask: Ask, why: str) -> Verdict:
    said = f"I cannot judge this: {why}."
    return Verdict(
        ask.question.id, ask.order, FAILED, "refusal", said, repeat=ask.repeat, cause="declined"
    )
