"""Resize images, only if asked to by an option. The reply's notes say so."""

from __future__ import annotations

import io
import itertools
from dataclasses import replace
from functools import lru_cache, partial

import cv2
import numpy as np

from visualjudge.clients.base import (
    Client,
    Identity,
    ImagePart,
    Part,
    Reply,
    Request,
    ToolResult,
    Wrapping,
)
from visualjudge.core.errors import DataError, TransportError
from visualjudge.vision.raster.images import opened, png_bytes, rgb_of

_KEPT = 256


def shrink(part: ImagePart, longest_side: int) -> tuple[ImagePart, str | None]:
    """Return ``part`` with its longer side at most ``longest_side`` pixels (area averaging, PNG),
    and a note on the change.
    """
    with opened(io.BytesIO(part.data), "image") as image:
        width, height = image.size
        scale = longest_side / max(width, height)
        if scale >= 1:
            return part, None
        wide, high = max(1, round(width * scale)), max(1, round(height * scale))
        small = cv2.resize(rgb_of(image), (wide, high), interpolation=cv2.INTER_AREA)
    return ImagePart(
        png_bytes(np.asarray(small, dtype=np.uint8))
    ), f"resized from {width}×{height} to {wide}×{high}"


class Shrinking(Wrapping):
    """A client that limits the size of images. A reply's notes name each resized image."""

    def __init__(self, inner: Client, longest_side: int) -> None:
        super().__init__(inner)
        self.longest_side = longest_side
        self._shrunk = lru_cache(_KEPT)(partial(shrink, longest_side=longest_side))

    @property
    def identity(self) -> Identity:
        inner = self.inner.identity
        return replace(inner, parameters={**inner.parameters, "max_image_side": self.longest_side})

    def __repr__(self) -> str:
        return f"Shrinking({self.inner!r}, {self.longest_side})"

    async def ask(self, request: Request, *, attempt: int = 0) -> Reply:
        notes: list[str] = []
        numbers = itertools.count(1)

        def small(part: Part) -> Part:
            if not isinstance(part, ImagePart):
                return part
            number = next(numbers)
            try:
                shown, note = self._shrunk(part)
            except DataError as error:
                said = f"image {number} cannot be resized: {error}"
                raise TransportError(said, cause="unreadable image", retryable=False) from None
            notes.extend([f"image {number} {note}"] if note else [])
            return shown

        def small_result(result: ToolResult) -> ToolResult:
            return replace(result, parts=tuple(map(small, result.parts)))

        parts = tuple(map(small, request.parts))
        turns = tuple(
            replace(turn, results=tuple(map(small_result, turn.results))) for turn in request.turns
        )
        reply = await self.inner.ask(replace(request, parts=parts, turns=turns), attempt=attempt)
        return replace(reply, notes=(*reply.notes, *notes))
