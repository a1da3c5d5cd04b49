"""The tool calls of a verdict for display, in order, with the regions they examined."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from visualjudge.clients.tool_calls import object_of
from visualjudge.core.errors import DataError
from visualjudge.core.image_storage import image_at
from visualjudge.vision.raster.images import image_size

MOST_SHOWN = 50
POINT = 4
"""Pixels marked around a point."""


@dataclass(frozen=True, slots=True)
class CallShown:
    """One call: its number from 1, its arguments and result, and the box it examined.

    Attributes
    ----------
    box
        x, y, width, height in pixels of the image.
    """

    number: int
    name: str
    arguments: str
    result: str
    failed: bool
    box: tuple[float, float, float, float] | None


@dataclass(frozen=True, slots=True)
class LookedAt:
    """The image on which boxes are drawn, and its size in pixels."""

    image: str
    width: int
    height: int


def looked_at(root: Path, images: Sequence[str]) -> LookedAt | None:
    """Return the first of a question's images, or None if it cannot be read."""
    try:
        height, width = image_size(image_at(root, images[0])) if images else (0, 0)
    except DataError:
        return None
    return LookedAt(images[0], width, height) if width and height else None


def calls_of(verdict: Mapping[str, Any]) -> Iterator[CallShown]:
    """Return the calls of a verdict's line; invalid content is tolerated."""
    trace = verdict.get("tool_calls")
    for number, call in enumerate(trace[:MOST_SHOWN] if isinstance(trace, list) else (), 1):
        if isinstance(call, Mapping):
            name, arguments, result = (
                str(call.get(field) or "") for field in ("name", "arguments", "result")
            )
            yield CallShown(
                number, name, arguments, result, call.get("failed") is True, _box(arguments)
            )


def _box(arguments: str) -> tuple[float, float, float, float] | None:
    told = object_of(arguments) or {}
    x, y = told.get("x"), told.get("y")
    corners = [told.get(name) for name in ("x0", "y0", "x1", "y1")]
    if x is not None and y is not None:
        corners = [x, y, x, y]
    if not all(isinstance(v, int | float) and math.isfinite(v) and abs(v) < 1e6 for v in corners):
        return None
    x0, y0, x1, y1 = (float(v) for v in corners if v is not None)
    if x0 == x1 and y0 == y1:
        return x0 - POINT, y0 - POINT, 2 * POINT, 2 * POINT
    return (x0, y0, x1 - x0, y1 - y0) if x1 > x0 and y1 > y0 else None
