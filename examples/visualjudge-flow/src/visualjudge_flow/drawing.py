"""Three encodings of optical flow: a colour wheel, arrows on the image, a text."""

from __future__ import annotations

import json
from dataclasses import dataclass

import cv2
import numpy as np

import visualjudge as vj
from visualjudge.vision.drawing.canvas import line_width
from visualjudge.vision.drawing.grid import cell_side
from visualjudge_flow.vectors import Flow, flow_of

FULL = 0.05
"""Length that has the full colour, as a share of the image's longer side: fixed, so that options
can be compared.
"""
ARROW = (255, 0, 0)
EVERY = 20
"""Arrows along the longer side."""


@dataclass(frozen=True, slots=True)
class Style:
    """No parameters."""


def draw_wheel(scene: vj.Scene, _style: Style) -> vj.Encoded:
    """Hue = direction clockwise from right (red), saturation = length up to :data:`FULL`; unknown =
    black.
    """
    flow: Flow = scene.prediction
    full = FULL * max(flow.extent)
    degrees = np.rad2deg(np.arctan2(flow.vectors[..., 1], flow.vectors[..., 0])) % 360
    hsv = np.dstack([degrees, np.clip(flow.lengths / full, 0, 1), np.ones_like(degrees)]).astype(
        np.float32
    )
    rgb = np.rint(cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB) * 255).astype(np.uint8)
    rgb[~flow.valid] = 0
    legend = (
        "Legend: right = red, down = yellow-green, left = cyan, up = violet; "
        f"no motion = white, {full:.0f} pixels or more = full color; black = unknown"
    )
    return vj.Encoded(rgb, None, legend)


def draw_arrows(scene: vj.Scene, _style: Style) -> vj.Encoded:
    """An arrow at the middle of each cell, from the pixel to where it moves; an unknown or still
    pixel has none.
    """
    flow: Flow = scene.prediction
    pixels = scene.canvas("overlay")
    step = max(4, max(flow.extent) // EVERY)
    for y in range(step // 2, flow.extent[0], step):
        for x in range(step // 2, flow.extent[1], step):
            u, v = flow.vectors[y, x].tolist()
            if flow.valid[y, x] and max(abs(u), abs(v)) >= 0.5:
                limit = 4 * max(flow.extent)
                end = round(x + max(-limit, min(limit, u))), round(y + max(-limit, min(limit, v)))
                cv2.arrowedLine(
                    pixels, (x, y), end, ARROW, line_width(scene.size), cv2.LINE_8, tipLength=0.3
                )
    return vj.Encoded(pixels)


def vectors_text(scene: vj.Scene, _style: Style) -> vj.Encoded:
    """``{"rows", "cols", "cell", "flow": [[[right, down], …], …]}``, one decimal, null where
    nothing is known.
    """
    flow: Flow = scene.prediction
    cell = cell_side(flow.extent)
    rows, cols = (-(-side // cell) for side in flow.extent)
    lines = [
        json.dumps([_mean(flow, r * cell, c * cell, cell) for c in range(cols)])
        for r in range(rows)
    ]
    body = ",\n".join(lines)
    return vj.Encoded(text=f'{{"rows":{rows},"cols":{cols},"cell":{cell},\n"flow":[\n{body}\n]}}')


def _mean(flow: Flow, top: int, left: int, cell: int) -> list[float] | None:
    here = np.s_[top : top + cell, left : left + cell]
    known = flow.valid[here]
    if not known.any():
        return None
    return [round(float(value), 1) + 0.0 for value in flow.vectors[here][known].mean(axis=0)]


def example() -> tuple[np.ndarray, Flow, None]:
    """A disc that moves to the upper right on a ground that moves left."""
    rows, cols = np.mgrid[:96, :128]
    disc = (cols - 60) ** 2 + (rows - 50) ** 2 < 900
    image = np.where(disc[..., None], (200, 120, 40), (90, 130, 90)).astype(np.uint8)
    return image, flow_of(np.where(disc[..., None], (6.0, -4.0), (-2.0, 1.0))), None


ROWS = (
    vj.Encoding("flow", "wheel", "pixel", draw_wheel, Style()),
    vj.Encoding("flow", "arrows", "pixel", draw_arrows, Style()),
    vj.Encoding("flow", "text_vectors", "text", vectors_text, Style()),
)
