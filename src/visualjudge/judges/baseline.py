"""Baselines: chance, the first option, an oracle, and sharpness. The local judge is in
``judges/local``.

``random``, ``first`` and ``oracle:P`` are simulated: their figures serve to test the statistics,
and every report marks them as simulated. ``sharpness`` is a real baseline for restoration that a
useful judge must beat.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import permutations
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.image_storage import image_at
from visualjudge.core.records import FAILED, LETTERS, Pixels, Question, QuestionType, Verdict
from visualjudge.core.seeding import uniforms_for
from visualjudge.judges.base import Ask, Judge, Judged, OfflineJudge, failed, in_stored_letters
from visualjudge.replies import Reading, read_reply
from visualjudge.vision.raster.images import read_rgb
from visualjudge.vision.raster.sharpness import edge_strength, noise_sigma
from visualjudge.vision.tasks import TASKS, task_named

# Cached, because a simulated judge repeats a few replies a million times.
_reading = lru_cache(4096)(read_reply)
MIDDLE = 5.0
MODELS = "random, first, oracle:P[,bias=B][,slope=S][,unseen=P][,TASK=P], sharpness"
_FLOOR = 0.5
"""Edges below half a grey level are treated as equal."""
_TEXTURE = 10.0
"""Threshold in grey levels. The fine texture of a clean photograph measures 2 to 6; values well
above that are noise, rain or snow.
"""
_POINTS_PER_E = 2.5
"""Points (0..10) per factor e in quality, relative to the degraded image."""


def baseline_judge(model: str, root: Path, *, seed: int = 42) -> Judge:
    """Return the baseline of this name.

    Raises
    ------
    UsageError
        If there is no such baseline, or its numbers are out of range.
    """
    if model == "sharpness":
        return SharpnessJudge(root)
    if model in ("random", "first"):
        return SimulatedJudge(model, seed)
    if model.startswith("oracle:"):
        return SimulatedJudge(model, seed, _oracle(model))
    raise UsageError(f"unknown baseline {model!r}; one of: {MODELS}")


@dataclass(frozen=True, slots=True)
class Oracle:
    """A judge that is right with a known probability.

    Parameters
    ----------
    right
        Probability of the right answer for widely different scores.
    bias
        Share of pairwise questions answered by position alone: A if positive, B if negative.
    slope
        None = accuracy does not depend on the difference. Otherwise the probability of the right
        answer grows from chance with the difference m of the scores (0..10) as ``chance + (right -
        chance) · (1 - exp(-slope · m))``.
    unseen
        Probability of the right answer if a probe replaces the photograph; None = unchanged.
    tasks
        Probability of the right answer by task; ``right`` for other tasks.
    """

    right: float
    bias: float = 0.0
    slope: float | None = None
    unseen: float | None = None
    tasks: Mapping[str, float] = field(default_factory=dict)

    def chance_of_right(self, question: Question) -> float:
        """Return the probability of a right answer to this question, which is chance if a probe
        removes the information.
        """
        if question.probe is not None and question.probe.expected == "any":
            return 1 / _orders(len(question.final_scores))
        right = self.tasks.get(question.task, self.right)
        if question.probe is not None and question.probe.design == "photograph":
            right = right if self.unseen is None else self.unseen
        if self.slope is None or question.question_type == "scoring":
            return right
        scores = sorted(question.final_scores)
        margin = float(np.diff(scores).min())
        chance = 1 / _orders(len(scores))
        return chance + (right - chance) * (1 - float(np.exp(-self.slope * margin)))


def _orders(n: int) -> int:
    return int(np.prod(np.arange(1, n + 1)))


def _oracle(model: str) -> Oracle:
    """Parse a specification such as
    ``oracle:0.8,bias=0.1,slope=2,unseen=0.5,depth_estimation=0.6``.
    """
    first, *options = model.removeprefix("oracle:").split(",")
    try:
        numbers = {
            name.strip(): float(value) for name, value in (option.split("=") for option in options)
        }
        tasks = {name: numbers.pop(name) for name in [*numbers] if name in TASKS}
        oracle = Oracle(float(first), **numbers, tasks=tasks)
    except (ValueError, TypeError):
        raise UsageError(
            "baseline must be oracle:P[,bias=B][,slope=S][,unseen=P][,TASK=P], such as "
            f"oracle:0.8,bias=0.1, got {model!r}"
        ) from None
    shares = [oracle.right, *tasks.values(), oracle.unseen or 0]
    if not (
        all(0 <= share <= 1 for share in shares)
        and -1 <= oracle.bias <= 1
        and (oracle.slope is None or oracle.slope >= 0)
    ):
        raise UsageError(
            f"baseline {model!r}: P must be from 0 to 1, bias from -1 to 1, slope at least 0"
        )
    return oracle


@dataclass
class SimulatedJudge(OfflineJudge):
    """A judge with random replies. The same seed, question, order and repeat give the same
    reply.
    """

    model: str
    seed: int = 42
    oracle: Oracle | None = None
    simulated: bool = True

    async def __call__(self, ask: Ask) -> Judged:
        """Draw a reply and read it like any other."""
        text = self._reply(ask)
        question = ask.question
        reading = _reading(text, question.question_type, len(question.annotation_ids))
        shown = Verdict(
            question.id,
            ask.order,
            reading.value,
            reading.status,
            text,
            latency_s=0.0,
            repeat=ask.repeat,
        )
        return Judged(in_stored_letters(ask, shown), calls=0)

    def _reply(self, ask: Ask) -> str:
        if self.model == "first":
            if ask.question.question_type == "scoring":
                return str(MIDDLE)
            return (
                "A"
                if ask.question.question_type == "pairwise"
                else LETTERS[: len(ask.question.annotation_ids)]
            )
        draws = uniforms_for(self.seed, self.model, ask.question.id, ask.order, ask.repeat)
        return (
            _random(ask.question, draws[0])
            if self.oracle is None
            else _oracle_reply(ask, self.oracle, draws)
        )

    def describe(self) -> Mapping[str, Any]:
        """Backend, model and seed."""
        return {
            "backend": "baseline",
            "base_url": None,
            "model": self.model,
            "parameters": {"seed": self.seed},
        }


def _oracle_reply(ask: Ask, oracle: Oracle, draws: Sequence[float]) -> str:
    question = ask.question
    by_position, luck, which, _ = draws
    if question.question_type == "pairwise" and by_position < abs(oracle.bias):
        return "A" if oracle.bias > 0 else "B"
    right = str(ask.stored(question.answer))
    return right if luck < oracle.chance_of_right(question) else _random(question, which, but=right)


def _random(question: Question, draw: float, *, but: str | None = None) -> str:
    """Return a uniformly drawn reply other than ``but``, if possible."""
    replies = _replies(question.question_type, len(question.annotation_ids))
    if but in replies:
        replies = [reply for reply in replies if reply != but] or replies
    return replies[int(draw * len(replies))]


@cache
def _replies(kind: QuestionType, n: int) -> Sequence[str]:
    """Return the possible replies; scores are in tenths."""
    if kind == "scoring":
        return [str(tenth / 10) for tenth in range(101)]
    return [
        "".join(letters) for letters in permutations(LETTERS[:n], 1 if kind == "pairwise" else n)
    ]


def quality(pixels: Pixels) -> float:
    """Return log(edge strength) - log(1 + (noise / 10)²) of an H×W×3 uint8 image; higher is
    better.
    """
    gray = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY).astype(np.float32)
    return float(
        np.log(edge_strength(gray) + _FLOOR) - np.log1p((noise_sigma(gray) / _TEXTURE) ** 2)
    )


@dataclass
class SharpnessJudge(OfflineJudge):
    """A judge for restoration tasks that compares sharpness. It declines other questions."""

    root: Path
    simulated: bool = False
    _quality: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._quality = lru_cache(maxsize=4096)(
            lambda name: quality(read_rgb(image_at(self.root, name)))
        )

    async def __call__(self, ask: Ask) -> Judged:
        """Return a verdict with the measured qualities as the raw response."""
        begun = time.perf_counter()
        question = ask.question
        if not task_named(question.task).restored:
            text = "I cannot judge this: sharpness looks at restored images only."
            reading = Reading(FAILED, "refusal")
        else:
            try:
                text = await asyncio.to_thread(self._reply, question, ask.order == "BA")
            except DataError as error:
                return Judged(failed(ask, "unreadable question", error=str(error)), calls=0)
            reading = read_reply(text, question.question_type, len(question.annotation_ids))
        seconds = round(time.perf_counter() - begun, 4)
        shown = Verdict(
            question.id,
            ask.order,
            reading.value,
            reading.status,
            text,
            latency_s=seconds,
            repeat=ask.repeat,
        )
        return Judged(in_stored_letters(ask, shown), calls=0)

    def _reply(self, question: Question, turned: bool) -> str:
        n = len(question.annotation_ids)
        measured = [self._quality(name) for name in question.images[-n:]]
        if question.question_type == "scoring":
            gain = (
                measured[0] - self._quality(question.images[0]) if len(question.images) > 1 else 0.0
            )
            return str(round(float(np.clip(5 + _POINTS_PER_E * gain, 0, 10)), 2))
        shown = measured[::-1] if turned else measured
        order = sorted(range(n), key=lambda k: -shown[k])
        said = (
            LETTERS[order[0]]
            if question.question_type == "pairwise"
            else "".join(LETTERS[k] for k in order)
        )
        qualities = ", ".join(f"{value:.3f}" for value in shown)
        return f"Edge strength less noise: {qualities}.\nAnswer: {said}"

    def describe(self) -> Mapping[str, Any]:
        """Backend and model."""
        return {"backend": "baseline", "base_url": None, "model": "sharpness", "parameters": {}}
