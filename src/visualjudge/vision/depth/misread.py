"""A common mistake in depth maps: disparities instead of depths."""

from __future__ import annotations

from dataclasses import replace

from visualjudge.vision.depth.record import DepthMap
from visualjudge.vision.rows import Misreading


def _inverse(found: DepthMap, _truth: DepthMap) -> DepthMap:
    return replace(found, inverse=not found.inverse)


# Scale a map so that its median equals that of the truth.
MISREADINGS = (
    Misreading(
        "predictions are disparities, or depths that are read as such (--pred-inverse)",
        _inverse,
    ),
)
