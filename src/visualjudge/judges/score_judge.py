"""Judges that score each option. Verdicts follow from the scores, not from a text. They
are ``image_metric.py`` and ``reward_model.py``.
"""

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from visualjudge.clients.masked_secrets import environment_secrets
from visualjudge.core.errors import DataError
from visualjudge.core.image_storage import image_at
from visualjudge.core.jsons import Fields
from visualjudge.core.records import (
    IMAGE_MARK,
    LETTERS,
    Answer,
    Pixels,
    Question,
    Verdict,
)
from visualjudge.judges.base import (
    Ask,
    OfflineJudge,
    computed,
    declined,
    failed,
)
from visualjudge.prompts.spans import images_within, spans_of
from visualjudge.vision.raster.images import read_rgb
from visualjudge.vision.tasks import task_named

READ_BY = "score"
"""Value in verdicts that replaces the rule by which a reply was read."""
_REQUEST = re.compile(
    r"(?:The text prompt|The edit instruction|The prompt) is "
    r"'(?P<quoted>.*?)'\.(?=\s|$)"
    r"|(?:^|\n)Request:\n(?P<said>.*?)(?=\n\n(?:Response|The request)|\Z)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Shown:
    """One option: its image, its reference, and its request.

    ``image`` is H×W×3 uint8; ``reference`` is the first image of the question, or None
    if it has no other image; ``request`` is its text prompt or instruction, or "".
    """

    image: Pixels
    reference: Pixels | None
    request: str
    image_id: str


@dataclass
class ScoreJudge(OfflineJudge):
    """A judge of pairwise, ranking and scoring questions whose options are one image
    each.

    If two scores are equal, a pair is a tie if the question allows ties; otherwise the
    question is declined.

    Parameters
    ----------
    score
        Options → a score for each; higher is better. An exception declines the
        question.
    root
        Folder of the dataset.
    described
        Backend, model and parameters for ``run.json``.
    scale
        The scores that correspond to 0 and 10 points, or None if scores can only be
        compared.
    restored
        Whether to decline all but restorations.
    """

    score: Callable[[Sequence[Shown]], Sequence[float]]
    root: Path
    described: Fields
    scale: tuple[float, float] | None = None
    restored: bool = False
    simulated: bool = False

    async def __call__(self, ask: Ask) -> Verdict:
        """Return the verdict, with the scores as the raw response."""
        begun = time.perf_counter()
        if self.restored and not task_named(ask.question.task).restored:
            return _declined(
                ask,
                f"{self.described['model']} looks at restored images only",
                begun,
            )
        try:
            displayed = await asyncio.to_thread(
                shown_of, ask.question, self.root
            )
        except DataError as error:
            return failed(ask, "unreadable question", error=str(error))
        if not displayed:
            return _declined(ask, "its options must be one image each", begun)
        try:
            scores = list(await asyncio.to_thread(self.score, displayed))
            scores = scores[::-1] if ask.order == "BA" else scores
            value = self._value(ask.question, scores)
        except DataError as error:
            return _declined(ask, str(error), begun)
        except Exception as error:  # third-party models may raise anything
            text = environment_secrets()(
                " ".join(f"{type(error).__name__}: {error}".split())
            )
            return _declined(ask, text[:300], begun)
        text = f"scores: {_listed(scores)}\nAnswer: {value}"
        return computed(ask, value, text, begun, extra={"read_by": READ_BY})

    def _value(self, question: Question, scores: Sequence[float]) -> Answer:
        if not np.isfinite(scores).all():
            raise DataError(f"its scores are {_listed(scores)}")
        if question.question_type == "scoring":
            if self.scale is None:
                raise DataError("its scores have no scale of their own")
            low, high = self.scale
            return round(
                float(np.clip((scores[0] - low) / (high - low) * 10, 0, 10)), 2
            )
        if len(set(scores)) < len(scores):
            if "tie" not in (question.ties or ()):
                raise DataError(
                    f"two of its scores are the same: {_listed(scores)}"
                )
            return "tie"
        order = "".join(LETTERS[k] for k in np.argsort(scores)[::-1])
        return order[0] if question.question_type == "pairwise" else order

    def describe(self) -> Fields:
        """Return backend, model and parameters."""
        return {"base_url": None, **self.described}


def _listed(scores: Sequence[float]) -> str:
    return ", ".join(f"{score:.6g}" for score in scores)


def _declined(ask: Ask, why: str, begun: float) -> Verdict:
    return declined(ask, why, begun, extra={"read_by": READ_BY})


def shown_of(question: Question, root: Path) -> list[Shown]:
    """Return the options of a question in the order as stored; none if they are not one
    image each.

    Raises
    ------
    DataError
        If an image cannot be read.
    """
    spans = spans_of(question)
    named = [
        question.images[images_within(question, span)] for span in spans.options
    ]
    if not named or any(len(images) != 1 for images in named):
        return []
    alone = len(question.images) == len(named)
    reference = None if alone else _pixels(root, question.images[0])
    request = request_of(question)
    return [
        Shown(_pixels(root, images[0]), reference, request, question.image_id)
        for images in named
    ]


def request_of(question: Question) -> str:
    """Return the text prompt, instruction or request stated in a question's prompt, or
    ""."""
    match = _REQUEST.search(question.prompt)
    text = "" if match is None else match["quoted"] or match["said"] or ""
    return text.replace(IMAGE_MARK, "").strip()


def _pixels(root: Path, name: str) -> Pixels:
    return read_rgb(image_at(root, name))
