"""JSON bodies in pieces: the images' base64 forms are separate pieces, shared and never copied."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from visualjudge.prompts.provider_payloads import ImageContent, Text

_MARK = f"image-{os.urandom(12).hex()}"
"""Stands for an image while the body is put together; drawn anew in each process, so that no prompt
can hold it.
"""


def body_pieces(shape: Callable[[Text], Mapping[str, Any]]) -> list[bytes]:
    """Return the JSON text of the result of ``shape``.

    Parameters
    ----------
    shape
        Given a function that returns the text to write in place of an image's base64 form, returns
        the body. It must write images in the order in which it asks for their texts.
    """
    images: list[bytes] = []

    def mark(media: ImageContent) -> str:
        images.append(media.base64)
        return _MARK

    around = orjson.dumps(shape(mark)).split(_MARK.encode())
    pairs = itertools.zip_longest(around, images)
    return [piece for pair in pairs for piece in pair if piece is not None]
