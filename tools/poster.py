"""The README's image: six photographs, each with its truth in one of the encodings.
``make docs`` runs it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from visualjudge.apps.demo.data import boxes_of
from visualjudge.apps.demo.photographs import (
    Photograph,
    photographs,
    stereo_disparity,
)
from visualjudge.core.atomic import atomic_path
from visualjudge.core.records import Pixels
from visualjudge.vision.encode import encode
from visualjudge.vision.predictions import (
    DepthMap,
    Instance,
    Masks,
    People,
    Prediction,
)

TILE = (300, 400)
"""(height, width) of one image; a photograph is cut, not squeezed, to its shape."""
GAP = 8


def write_poster(path: Path) -> None:
    """Write the image, three by two."""
    tiles = [_cut(_drawn(*scene)) for scene in _scenes()]
    rows = [
        np.hstack([_framed(tile) for tile in tiles[k : k + 3]])
        for k in range(0, len(tiles), 3)
    ]
    with atomic_path(path) as scratch:
        Image.fromarray(np.vstack(rows)).save(scratch, quality=88)


def _scenes() -> Iterator[tuple[Photograph, str, str, Prediction]]:
    photos = {photo.name: photo for photo in photographs()}
    coffee, rocket, hopper, cat = (
        photos[name] for name in ("coffee", "rocket", "grace_hopper", "chelsea")
    )
    yield rocket, "object_detection", "pixel_s1_m0", boxes_of(rocket)
    yield (
        coffee,
        "instance_segmentation",
        "pixel_ss1_m0_o0_l1_c0_b1",
        Masks(coffee.size, coffee.objects),
    )
    yield (
        cat,
        "semantic_segmentation",
        "pixel_ss0_m0",
        Masks(cat.size, cat.segments),
    )
    yield (
        photos["astronaut"],
        "keypoint",
        "pixel_s1_c2_m0",
        People(photos["astronaut"].people),
    )
    text, mask = hopper.expressions[0]
    yield (
        hopper,
        "referring_segmentation",
        "pixel_ss1_m0_o0_m2",
        Masks(hopper.size, (Instance(text, mask),)),
    )
    name, disparity = stereo_disparity()
    yield (
        photos[name],
        "depth_estimation",
        "turbo",
        DepthMap(disparity, inverse=True),
    )


def _drawn(
    photo: Photograph, task: str, stem: str, truth: Prediction
) -> Pixels:
    shown = encode(task, stem, truth, photo.pixels).image
    assert shown is not None
    return shown


def _cut(pixels: Pixels) -> Pixels:
    height, width = pixels.shape[:2]
    scale = max(TILE[0] / height, TILE[1] / width)
    size = (round(width * scale), round(height * scale))
    sized = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
    left, top = (size[0] - TILE[1]) // 2, (size[1] - TILE[0]) // 3
    return np.asarray(
        sized[top : top + TILE[0], left : left + TILE[1]], dtype=np.uint8
    )


def _framed(tile: Pixels) -> Pixels:
    return np.pad(tile, ((0, GAP), (0, GAP), (0, 0)), constant_values=255)


if __name__ == "__main__":
    write_poster(Path(sys.argv[1]))
