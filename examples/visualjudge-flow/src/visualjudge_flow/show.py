"""Three encodings of optical flow: a colour wheel, arrows on the image, a text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import product

import cv2
import numpy as np

import visualjudge as vj
from visualjudge.vision.drawing.canvas import line_width
from visualjudge.vision.masks.label_grid import cell_side
from visualjudge_flow.record import Flow, flow_of

FULL = 0.05
"""Length that has the full colour, as a share of the image's longer side: fixed, so
that options can be compared.
"""
ARROW = (255, 0, 0)
EVERY = 20
"""Arrows along the longer side."""


@dataclass(frozen=True, slots=True)
class Style:
    """No parameters."""


def draw_wheel(scene: vj.Scene, _style: Style) -> vj.Encoded:
    """Hue = direction clockwise from right (red), saturation = length up to
    :data:`FULL`; unknown = black.
    """
    flow: Flow = scene.prediction
    full = FULL * max(flow.extent)
    degrees = (
        np.rad2deg(np.arctan2(flow.vectors[..., 1], flow.vectors[..., 0])) % 360
    )
    hsv = np.dstack(
        [degrees, np.clip(flow.lengths / full, 0, 1), np.ones_like(degrees)]
    )
    rgb = np.rint(
        cv2.cvtColor(hsv.astype(np.float32), cv2.COLOR_HSV2RGB) * 255
    ).astype(np.uint8)
    rgb[~flow.valid] = 0
    legend = (
        "Legend: right = red, down = yellow-green, left = cyan, up = violet; "
        f"no motion = white, {full:.0f} pixels or more = full color; black = unknown"
    )
    return vj.Encoded(rgb, None, legend)


def draw_arrows(scene: vj.Scene, _style: Style) -> vj.Encoded:
    """An arrow from the middle of each cell to where it moves; none if it is unknown or
    still."""
    flow: Flow = scene.prediction
    pixels, width = scene.canvas("overlay"), line_width(scene.size)
    step, limit = max(4, max(flow.extent) // EVERY), 4 * max(flow.extent)
    for y, x in product(
        *(range(step // 2, side, step) for side in flow.extent)
    ):
        u, v = np.clip(flow.vectors[y, x], -limit, limit).tolist()
        if flow.valid[y, x] and max(abs(u), abs(v)) >= 0.5:
            end = round(x + u), round(y + v)
            cv2.arrowedLine(
                pixels, (x, y), end, ARROW, width, cv2.LINE_8, tipLength=0.3
            )
    return vj.Encoded(pixels)


def vectors_text(scene: vj.Scene, _style: Style) -> vj.Encoded:
    """``{"rows", "cols", "cell", "flow": [[[right, down], …], …]}``, one decimal, null
    where nothing is known.
    """
    flow: Flow = scene.prediction
    cell = cell_side(flow.extent)
    tops, lefts = (range(0, side, cell) for side in flow.extent)
    lines = [
        json.dumps([_mean(flow, top, left, cell) for left in lefts])
        for top in tops
    ]
    rows, cols, body = len(tops), len(lefts), ",\n".join(lines)
    return vj.Encoded(
        text=f'{{"rows":{rows},"cols":{cols},"cell":{cell},\n"flow":[\n{body}\n]}}'
    )


def _mean(flow: Flow, top: int, left: int, cell: int) -> list[float] | None:
    here = np.s_[top : top + cell, left : left + cell]
    known = flow.valid[here]
    if not known.any():
        return None
    return [
        round(float(value), 1) + 0.0
        for value in flow.vectors[here][known].mean(axis=0)
    ]


def example() -> tuple[np.ndarray, Flow, None]:
    """A disc that moves to the upper right on a ground that moves left."""
    rows, cols = np.mgrid[:96, :128]
    disc = (cols - 60) ** 2 + (rows - 50) ** 2 < 900
    image = np.where(disc[..., None], (200, 120, 40), (90, 130, 90)).astype(
        np.uint8
    )
    return (
        image,
        flow_of(np.where(disc[..., None], (6.0, -4.0), (-2.0, 1.0))),
        None,
    )


ROWS = (
    vj.Encoding("flow", "wheel", "pixel", draw_wheel, Style()),
    vj.Encoding("flow", "arrows", "pixel", draw_arrows, Style()),
    vj.Encoding("flow", "text_vectors", "text", vectors_text, Style()),
)
