"""A judge that scores one response and sees the images that it is about."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from visualjudge.apps.published.prompts import wording
from visualjudge.apps.published.reading import ImageSource, Item, Option
from visualjudge.clients.base import Client, ImagePart, Part, Request, TextPart
from visualjudge.clients.image_download import fetch_image
from visualjudge.clients.sync_calls import submit
from visualjudge.core.errors import DataError
from visualjudge.core.records import IMAGE_MARK
from visualjudge.prompts.spans import interleaved
from visualjudge.prompts.store import PromptAssetStore
from visualjudge.replies import read_reply
from visualjudge.vision.raster.images import opened

GREATEST = 10.0
LONGEST_PATH = 1024
"""Maximum length of a path or address; a longer text is base64."""
Shown = str | ImageSource


@dataclass(frozen=True, slots=True)
class Grade:
    """``score`` from 0 (worst) to 1, or None if the reply has none; ``cause`` then says why."""

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
    """Return what a grader is shown, in order: texts, and images as paths or bytes.

    Parameters
    ----------
    images
        Images of the request.
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
    """Return the grade that a grader's reply states."""
    found = read_reply(reply, "scoring", 1, finish_reason=finish_reason)
    if isinstance(found.value, str):
        return Grade(None, reply, found.cause or found.status)
    return Grade(found.value / GREATEST, reply)


def image_of(value: object) -> ImageSource:
    """Return an image named by a tool: bytes, a path, ``file://``, ``data:``, base64, or an
    address.

    An ``http(s)`` address is fetched, from public addresses only.

    Raises
    ------
    DataError
        If it is none of these, the file is missing, or the address cannot be fetched.

    Examples
    --------
    >>> image_of("data:image/png;base64,iVBORw0KGgo=")[:4]
    b'\\x89PNG'
    """
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    text = str(value)
    if text.startswith(("http://", "https://")):
        return submit(fetch_image(text, allow_private=False)).result()
    if text.startswith("data:"):
        return _decoded(text.partition(",")[2])
    if len(text) > LONGEST_PATH:
        return _decoded(text)
    path = Path(text.removeprefix("file://"))
    if not path.is_file():
        raise DataError(f"image: {path} does not exist")
    return path


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise DataError(f"image: must be a path, an address or base64, got {text[:40]!r}") from None


@dataclass(frozen=True)
class Grader:
    """Scores responses with ``client`` (``visualjudge.client(…)``) in a plain call, even if an
    event loop is running.
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
        """Return the grade of one response.

        Raises
        ------
        DataError
            If an image cannot be read, or the response has neither text nor images.
        ClientError
            If the request to the server fails.
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
