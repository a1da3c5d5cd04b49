"""What is measured of a restored or generated image."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from folding import each
from visualjudge.vision.images.features import (
    agreement,
    image_look,
    measured,
    quality_features,
)
from visualjudge.vision.images.record import WholeImage
from visualjudge.vision.raster.sharpness import edge_strength
from visualjudge.vision.view import Given


@each(
    ("size", "first", "inside"),
    [
        ((300, 420), (16, 80), (256, 256)),  # the middle, on JPEG's grid of 8
        ((256, 257), (0, 0), (256, 256)),
        ((272, 271), (8, 0), (256, 256)),
        ((30, 50), (0, 0), (30, 50)),
        ((1, 400), (0, 72), (1, 256)),
    ],
)
def test_the_middle_is_measured_at_full_resolution(
    size: tuple[int, int], first: tuple[int, int], inside: tuple[int, int]
) -> None:
    for axis in (0, 1):
        level = np.indices(size)[axis].astype(np.uint8)
        gray = measured(np.repeat(level[..., None], 3, axis=2)).gray
        assert gray.shape == inside
        top, left = first
        part = level[top : top + inside[0], left : left + inside[1]]
        assert (gray == part).all()


def test_specks_are_white_and_narrower_than_nine_pixels() -> None:
    pixels = np.zeros((120, 90, 3), np.uint8)
    pixels[10:18, 10:18] = 210
    pixels[40:49, 10:19] = 210  # too wide
    pixels[70:74, 60:64] = (200, 200, 0)  # a colour
    source = measured(pixels)
    expected = np.zeros((120, 90))
    expected[10:18, 10:18] = 210
    assert (source.specks == expected).all()
    features = quality_features(source)
    assert features["specks"] == pytest.approx(np.log1p(expected.mean()))
    look = image_look(WholeImage(pixels), Given(pixels))
    same = ("gain", "collateral", "lost", "change", "coarse_change")
    assert [look[name] for name in ("left", *same)] == [1, 0, 0, 0, 0, 0]
    dim = image_look(WholeImage(pixels // 3), Given(pixels))
    assert dim["left"] == pytest.approx(1 / 3)
    calm = image_look(WholeImage(np.zeros_like(pixels)), Given(pixels))
    assert calm["left"] == 0
    assert calm["gain"] < 0 < calm["lost"]


def test_edges_are_measured_fine_and_coarse() -> None:
    pixels = (
        np.random.default_rng(4).integers(0, 256, (90, 70, 3)).astype(np.uint8)
    )
    source = measured(pixels)
    coarse = cv2.GaussianBlur(source.gray, (0, 0), 2.0)
    assert source.sharp == pytest.approx(
        np.log(edge_strength(source.gray) + 0.5)
    )
    assert source.structure == pytest.approx(
        np.log(edge_strength(coarse) + 0.5)
    )
    flat = measured(np.full((90, 70, 3), 128, np.uint8))
    assert (flat.sharp, flat.structure) == pytest.approx([np.log(0.5)] * 2)
    assert quality_features(flat)["soft"] == pytest.approx(-0.6)
    ends = np.repeat(np.uint8([2, 3, 252, 253]), 20).reshape(-1, 1, 1)
    clipped = quality_features(measured(np.tile(ends, (1, 60, 3))))["clipped"]
    assert clipped == pytest.approx(0.5)
    assert agreement(flat, flat)["same_structure"] == pytest.approx(1)
    # a dot becomes a bell of σ = 1.5 pixels in ``smooth``
    dot = np.zeros((41, 41, 3), np.uint8)
    dot[20, 20] = 255
    bell = measured(dot).smooth
    distance = np.indices((41, 41))[0] - 20
    assert (bell * distance**2).sum() / bell.sum() == pytest.approx(
        1.5**2, 0.02
    )
