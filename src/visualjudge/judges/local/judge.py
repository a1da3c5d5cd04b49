"""The local judge, which assesses the image and the prediction, without the ground
truth or a language model. What it measures is in ``features.py``; training it is in
``tools/train_local.py``.

Its model has, for each task, a weight per feature and the conversion to a probability:
the probability p that A is better is the logistic function of the weighted feature
difference (a Bradley-Terry model with covariates), so swapping the options gives
exactly 1 - p.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from visualjudge.core import jsons
from visualjudge.core.errors import DataError
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.records import LETTERS, Verdict
from visualjudge.judges.base import (
    Ask,
    OfflineJudge,
    computed,
    declined,
    failed,
)
from visualjudge.judges.local.criteria import criteria_of
from visualjudge.judges.local.question_features import QuestionFeatures, changed
from visualjudge.judges.registry import LOCAL
from visualjudge.prompts.rubric import Rubric
from visualjudge.vision.view import Features

FORMAT = "visualjudge-local"
VERSION = 4
CLIP = 4.0
"""Feature differences are clipped to this many standard deviations, so that a single
outlier never decides.
"""


@dataclass(frozen=True, slots=True)
class Weights:
    """The model of one task: ``names``, ``scale`` and ``weights`` have one entry per
    feature; ``temperature`` divides the log-odds.
    """

    names: tuple[str, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    temperature: float = 1.0

    def log_odds(self, first: Features, second: Features) -> float:
        """Return the log-odds that ``first`` is better; 0 if the features are equal."""
        apart = [
            first.get(name, 0.0) - second.get(name, 0.0) for name in self.names
        ]
        units = np.clip(np.array(apart) / np.array(self.scale), -CLIP, CLIP)
        return float(units @ np.array(self.weights)) / self.temperature


@dataclass(frozen=True)
class Model:
    """Weights by task, and a card that describes the training data."""

    tasks: Mapping[str, Weights]
    card: Fields = field(default_factory=dict)


@cache
def shipped() -> Model:
    """Return the built-in model, ``--model default``."""
    return load(Path(__file__).with_name("default.vj"))


def load(path: str | Path) -> Model:
    """Load a model from a file that ``tools/train_local.py`` or an earlier version
    wrote.

    Raises
    ------
    DataError
        If the file does not exist or contains no model.
    """
    place = Path(path)
    if not place.is_file():
        raise DataError(
            f"{place}: no such file; `model` must be default or a model file (.vj)"
        )
    content = jsons.read(place, "model", "; train it again")
    try:
        if (
            content["format"] != FORMAT
            or not 1 <= content["version"] <= VERSION
        ):
            raise ValueError(
                f"format must be {FORMAT} {VERSION}, got {content['format']} "
                f"{content['version']}"
            )
        return Model(
            {name: _weights(row) for name, row in content["tasks"].items()},
            content.get("card", {}),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            f"{place}: is not a model of the local judge ({error!r:.200}); train it "
            "again"
        ) from None


def _weights(row: Fields) -> Weights:
    names = tuple(str(name) for name in row["names"])
    scale, weights = (
        tuple(float(v) for v in row[part]) for part in ("scale", "weights")
    )
    temperature = float(row["temperature"])
    if not len(names) == len(scale) == len(weights):
        raise ValueError("names, scale and weights must be of equal length")
    if (
        not np.isfinite([*scale, *weights, temperature]).all()
        or temperature <= 0
    ):
        raise ValueError(
            "all values must be finite numbers, temperature above 0"
        )
    return Weights(names, scale, weights, temperature)


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
                f"the model {self.name} knows no {question.task}; it knows "
                f"{', '.join(self.model.tasks)}"
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
