"""Judges that score each option. Verdicts follow from the scores, not from a text."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from visualjudge.core.errors import DataError
from visualjudge.core.image_storage import image_at
from visualjudge.core.records import FAILED, IMAGE_MARK, LETTERS, Answer, Pixels, Question, Verdict
from visualjudge.judges.base import Ask, Judged, OfflineJudge, failed, in_stored_letters
from visualjudge.prompts.spans import images_within, spans_of
from visualjudge.vision.raster.images import read_rgb

READ_BY = "score"
"""Value in verdicts that replaces the rule by which a reply was read."""
BATCH = 32
_REQUEST = re.compile(
    r"(?:The text prompt|The edit instruction|The prompt) is '(?P<quoted>.*?)'\.(?=\s|$)"
    r"|(?:^|\n)Request:\n(?P<said>.*?)(?=\n\n(?:Response|The request)|\Z)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Shown:
    """One option: its image, its reference, and its request.

    ``image`` is H×W×3 uint8; ``reference`` is the first image of the question, or None if it has no
    other image; ``request`` is its text prompt or instruction, or "".
    """

    image: Pixels
    reference: Pixels | None
    request: str
    image_id: str


Waiting = tuple[Sequence[Shown], asyncio.Future[Sequence[float]]]


class Scorer(Protocol):
    """The interface of a scorer."""

    @property
    def scale(self) -> tuple[float, float] | None:
        """The scores that correspond to 0 and 10 points, or None if scores can only be compared."""
        ...

    def __call__(self, shown: Sequence[Shown]) -> Sequence[float]:
        """Return a score for each option; higher is better.

        Raises
        ------
        DataError
            If an option cannot be scored; the message says why.
        """
        ...

    def describe(self) -> Mapping[str, Any]:
        """Return the description for ``run.json``: backend, model, parameters."""
        ...


@dataclass
class ScoreJudge(OfflineJudge):
    """A judge of pairwise, ranking and scoring questions whose options are one image each.

    Options of concurrent questions are scored in batches. If two scores are equal, a pair is a tie
    if the question allows ties; otherwise the question is declined.
    """

    scorer: Scorer
    root: Path
    simulated: bool = False
    _waiting: list[Waiting] = field(default_factory=list)
    _worker: asyncio.Task[None] | None = None

    async def __call__(self, ask: Ask) -> Judged:
        """Return the verdict, with the scores as the raw response."""
        begun = time.perf_counter()
        try:
            shown = await asyncio.to_thread(shown_of, ask.question, self.root)
        except DataError as error:
            return Judged(failed(ask, "unreadable question", error=str(error)), calls=0)
        if isinstance(shown, str):
            return Judged(_declined(ask, shown, begun), calls=0)
        try:
            scores = await self._scored(shown)
        except DataError as error:
            return Judged(_declined(ask, str(error), begun), calls=0)
        return Judged(in_stored_letters(ask, self._verdict(ask, scores, begun)), calls=0)

    async def _scored(self, shown: Sequence[Shown]) -> Sequence[float]:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Sequence[float]] = loop.create_future()
        self._waiting.append((shown, answer))
        if self._worker is None or self._worker.done():
            self._worker = loop.create_task(self._work())
        return await answer

    async def _work(self) -> None:
        """Score the waiting options in full batches."""
        while self._waiting:
            taken = [self._waiting.pop(0)]
            while self._waiting and sum(len(shown) for shown, _ in taken) < BATCH:
                taken.append(self._waiting.pop(0))
            if not await self._told(taken) and len(taken) > 1:
                for one in taken:  # a question that cannot be scored fails on its own
                    await self._told([one])

    async def _told(self, part: Sequence[Waiting]) -> bool:
        """Score questions together and return whether that succeeded. The error of a single
        question becomes its answer.
        """
        try:
            flat = [one for shown, _ in part for one in shown]
            scores = list(await asyncio.to_thread(self.scorer, flat))
        except Exception as error:  # third-party models may raise anything
            if len(part) == 1:
                known = error if isinstance(error, DataError) else DataError(_said(error))
                part[0][1].set_exception(known)
            return False
        for shown, answer in part:
            answer.set_result(scores[: len(shown)])
            del scores[: len(shown)]
        return True

    def _verdict(self, ask: Ask, stored: Sequence[float], begun: float) -> Verdict:
        scores = list(stored[::-1] if ask.order == "BA" else stored)
        said = ", ".join(f"{score:.6g}" for score in scores)
        if not np.isfinite(scores).all():
            return _declined(ask, f"its scores are {said}", begun)
        value: Answer
        if ask.question.question_type == "scoring":
            if self.scorer.scale is None:
                return _declined(ask, "its scores have no scale of their own", begun)
            low, high = self.scorer.scale
            value = round(float(np.clip((scores[0] - low) / (high - low) * 10, 0, 10)), 2)
        elif len(set(scores)) < len(scores):
            if "tie" not in (ask.question.ties or ()):
                return _declined(ask, f"two of its scores are the same: {said}", begun)
            value = "tie"
        else:
            best = sorted(range(len(scores)), key=lambda k: -scores[k])
            order = "".join(LETTERS[k] for k in best)
            value = order[0] if ask.question.question_type == "pairwise" else order
        return Verdict(
            ask.question.id,
            ask.order,
            value,
            "ok",
            f"scores: {said}\nAnswer: {value}",
            latency_s=round(time.perf_counter() - begun, 4),
            repeat=ask.repeat,
            extra={"read_by": READ_BY},
        )

    def describe(self) -> Mapping[str, Any]:
        """Return the scorer's description."""
        return {"base_url": None, **self.scorer.describe()}


def shown_of(question: Question, root: Path) -> list[Shown] | str:
    """Return the options of a question in the order as stored, or why none can be scored.

    Raises
    ------
    DataError
        If an image cannot be read.
    """
    spans = spans_of(question)
    named = [question.images[images_within(question, span)] for span in spans.options]
    if not named or any(len(images) != 1 for images in named):
        return "its options must be one image each"
    first = question.images[0]
    reference = None if first in {images[0] for images in named} else _pixels(root, first)
    request = request_of(question)
    return [
        Shown(_pixels(root, images[0]), reference, request, question.image_id) for images in named
    ]


def request_of(question: Question) -> str:
    """Return the text prompt, instruction or request stated in a question's prompt, or ""."""
    found = _REQUEST.search(question.prompt)
    said = "" if found is None else found["quoted"] or found["said"] or ""
    return said.replace(IMAGE_MARK, "").strip()


def _pixels(root: Path, name: str) -> Pixels:
    return read_rgb(image_at(root, name))


def _declined(ask: Ask, why: str, begun: float) -> Verdict:
    return Verdict(
        ask.question.id,
        ask.order,
        FAILED,
        "refusal",
        f"I cannot judge this: {why}.",
        latency_s=round(time.perf_counter() - begun, 4),
        repeat=ask.repeat,
        cause="declined",
        extra={"read_by": READ_BY},
    )


def _said(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
