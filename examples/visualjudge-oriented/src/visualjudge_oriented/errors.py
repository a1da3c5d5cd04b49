"""Controlled errors of oriented boxes; those of labels and missing boxes are the ones
of all labelled items.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import visualjudge as vj
from visualjudge.vision.errors.items import (
    classification,
    missed,
    something,
    two_labels,
)
from visualjudge.vision.errors.levels import ErrorScene
from visualjudge_oriented.record import OrientedBoxes


def rotation(
    truth: OrientedBoxes,
    severity: float,
    _scene: ErrorScene,
    rng: np.random.Generator,
) -> OrientedBoxes:
    """Every box is turned about its middle, by up to 45°."""
    signs = rng.choice([-1, 1], len(truth.items)).tolist()
    turned = zip(truth.items, signs, strict=True)
    return truth.with_items(
        replace(item, angle=item.angle + sign * 45 * severity)
        for item, sign in turned
    )


def localization(
    truth: OrientedBoxes,
    severity: float,
    _scene: ErrorScene,
    rng: np.random.Generator,
) -> OrientedBoxes:
    """Every box is shifted along one of its sides, by up to a half of that side."""
    ways = rng.integers(4, size=len(truth.items)).tolist()
    moved = []
    for item, way in zip(truth.items, ways, strict=True):
        turn = np.deg2rad(item.angle + 90 * way)
        step = severity * (item.h if way % 2 else item.w) / 2
        moved.append(
            replace(
                item,
                cx=item.cx + float(np.cos(turn)) * step,
                cy=item.cy + float(np.sin(turn)) * step,
            )
        )
    return truth.with_items(moved)


ROWS = (
    vj.ErrorType("oriented", "rotation", rotation, something),
    vj.ErrorType("oriented", "localization", localization, something),
    vj.ErrorType("oriented", "classification", classification, two_labels),
    vj.ErrorType("oriented", "missed", missed, something),
)
