"""Common mistakes in depth maps: disparities instead of depths, and other units."""

from __future__ import annotations

from dataclasses import replace

from visualjudge.vision.depth.record import DepthMap
from visualjudge.vision.rows import Misreading


def _inverse(prediction: DepthMap, _truth: DepthMap) -> DepthMap:
    return replace(prediction, inverse=not prediction.inverse)


def _unit(name: str, factor: float) -> Misreading:
    return Misreading(
        f"predictions are in {name}, and the truth is not",
        lambda prediction, _truth: replace(
            prediction, values=prediction.values * factor
        ),
    )


MISREADINGS = (
    Misreading(
        "predictions are disparities, or depths that are read as such (--pred-inverse)",
        _inverse,
    ),
    _unit("millimetres", 1e-3),
    _unit("centimetres", 1e-2),
    _unit("metres", 1e3),
    _unit("values of 1/256 metre", 1 / 256),
)
