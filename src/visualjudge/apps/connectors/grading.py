"""A judge that scores one response and is shown the images that it is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from visualjudge.apps.published.prompts import wording
from visualjudge.apps.published.reading import ImageSource, Item, Option
from visualjudge.clients.base import Client, ImagePart, Part, Request, TextPart
from visualjudge.clients.sync import submit
from visualjudge.core.errors import DataError
from visualjudge.core.records import IMAGE_MARK
from visualjudge.prompts.spans import interleaved
from visualjudge.prompts.store import PromptAssetStore
from visualjudge.replies import read_reply
from visualjudge.vision.raster.images import opened

GREATEST = 10.0
Shown = str | ImageSource


@dataclass(frozen=True, slots=True)
class Grade:
    """``score`` from 0 (worst) to 1; None where the reply states none, and ``cause`` says why."""

    score: float | None
    reply: str
    cause: str | None = None


def question_of(
    request: str,
    response: str,
    *,
    images: Sequence[ImageSource] = (),
    made: Sequence[ImageSource] = (),
) -> tuple[Shown, ...]:
    """What a grader is shown, in order: texts, and images as paths or bytes.

    Parameters
    ----------
    images
        What the request is about.
    made
        Images of the response.
    """
    option = Option(response, tuple(made))
    item = Item(
        "graded", "graded", "graded", request, (option,), 0.0, images=tuple(images), kind="scoring"
    )
    said = wording(item, store=PromptAssetStore())
    left = iter(said.images)
    marks = tuple(IMAGE_MARK for _ in said.images)
    return tuple(
        next(left) if is_image else text for text, is_image in interleaved(said.prompt, marks)
    )


def grade_of(reply: str, finish_reason: str = "stop") -> Grade:
    """The grade that a grader's reply states."""
    found = read_reply(reply, "scoring", 1, finish_reason=finish_reason)
    if isinstance(found.value, str):
        return Grade(None, reply, found.cause or found.status)
    return Grade(found.value / GREATEST, reply)


@dataclass(frozen=True)
class Grader:
    """Scores responses with ``client`` (``visualjudge.client(…)``); a plain call, also where an
    event loop runs.
    """

    client: Client

    def __call__(
        self,
        request: str,
        response: str,
        *,
        images: Sequence[ImageSource] = (),
        made: Sequence[ImageSource] = (),
    ) -> Grade:
        """The grade of one response.

        Raises
        ------
        DataError
            If an image cannot be read, or there is neither a response nor an image of one.
        ClientError
            If the server cannot be asked.
        """
        if not response and not made:
            raise DataError("response: must have a text or an image, got neither")
        parts = tuple(
            _part(shown) for shown in question_of(request, response, images=images, made=made)
        )
        reply = submit(self.client.ask(Request(parts))).result()
        return grade_of(reply.text, reply.finish_reason)


def _part(shown: Shown) -> Part:
    if isinstance(shown, str):
        return TextPart(shown)
    data = shown if isinstance(shown, bytes) else Path(shown).read_bytes()
    with opened(BytesIO(data)) as image:
        mime = f"image/{str(image.format).lower()}"
    return ImagePart(data, mime)
