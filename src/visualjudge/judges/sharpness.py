"""A judge that looks: the restored image with the stronger edges and the less noise is the better one.

It needs no reference and no network, and is a real baseline: a model that does not beat it has not looked.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from visualjudge.core.errors import DataError
from visualjudge.core.media import image_at
from visualjudge.core.records import FAILED, LETTERS, Pixels, Question, Verdict
from visualjudge.judges.asks import Ask, Judged, OfflineJudge, failed, in_stored_letters
from visualjudge.replies import Reading, read_reply
from visualjudge.vision.raster.images import read_rgb
from visualjudge.vision.tasks import task_named

_IMMERKAER = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], dtype=np.float32)
_FLOOR = 0.5
"""Edges below half a grey level are not told apart."""
_TEXTURE = 10.0
"""Grey levels. Fine texture of a clean photograph measures 2 to 6; what lies well above is noise, rain or snow."""
_POINTS_PER_E = 2.5
"""Points of the 0..10 scale for a factor e in quality, compared with the degraded image."""


def noise_sigma(gray: NDArray[np.float32]) -> float:
    """Standard deviation of the noise of an H×W image, in its grey levels (Immerkær, CVIU 1996)."""
    response = cv2.filter2D(gray, -1, _IMMERKAER)[1:-1, 1:-1]
    return float(np.sqrt(np.pi / 2) / 6 * np.abs(response).mean()) if response.size else 0.0


def edge_strength(gray: NDArray[np.float32]) -> float:
    """Root mean square gradient (Tenengrad) of the slightly smoothed H×W image: noise counts little in it."""
    smooth = cv2.GaussianBlur(gray, (0, 0), 1.0)
    dx, dy = cv2.Sobel(smooth, cv2.CV_32F, 1, 0), cv2.Sobel(smooth, cv2.CV_32F, 0, 1)
    return float(np.sqrt(np.mean(dx * dx + dy * dy)))


def quality(pixels: Pixels) -> float:
    """log(edge strength) - log(1 + (noise / 10)²) of an H×W×3 uint8 image; higher is better."""
    gray = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY).astype(np.float32)
    return float(np.log(edge_strength(gray) + _FLOOR) - np.log1p((noise_sigma(gray) / _TEXTURE) ** 2))


@dataclass
class SharpnessJudge(OfflineJudge):
    """Judges the questions of restoration tasks; declines the others."""

    root: Path
    simulated: bool = False
    _quality: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._quality = lru_cache(maxsize=4096)(lambda name: quality(read_rgb(image_at(self.root, name))))

    async def __call__(self, ask: Ask) -> Judged:
        """Its verdict, with the measured qualities as the raw response."""
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
            question.id, ask.order, reading.value, reading.status, text, latency_s=seconds, repeat=ask.repeat
        )
        return Judged(in_stored_letters(ask, shown), calls=0)

    def _reply(self, question: Question, turned: bool) -> str:
        n = len(question.annotation_ids)
        measured = [self._quality(name) for name in question.images[-n:]]
        if question.question_type == "scoring":
            gain = measured[0] - self._quality(question.images[0]) if len(question.images) > 1 else 0.0
            return str(round(float(np.clip(5 + _POINTS_PER_E * gain, 0, 10)), 2))
        shown = measured[::-1] if turned else measured
        order = sorted(range(n), key=lambda k: -shown[k])
        said = LETTERS[order[0]] if question.question_type == "pairwise" else "".join(LETTERS[k] for k in order)
        qualities = ", ".join(f"{value:.3f}" for value in shown)
        return f"Edge strength less noise: {qualities}.\nAnswer: {said}"

    def describe(self) -> Mapping[str, Any]:
        """Backend and model."""
        return {"backend": "baseline", "base_url": None, "model": "sharpness", "parameters": {}}
