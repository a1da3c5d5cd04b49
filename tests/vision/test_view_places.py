"""What is seen at an item's place is held against other places: the right one stands
out, and over uniform grey nothing does.
"""

from __future__ import annotations

import cv2
import numpy as np
import skimage.data
from hypothesis import given, strategies as st

from visualjudge.vision.depth.features import nearness_features
from visualjudge.vision.masks.features import mask_features
from visualjudge.vision.masks.record import Instance, Masks
from visualjudge.vision.raster.masks import mask_from_array
from visualjudge.vision.view import Given, view_of
from visualjudge.vision.view_places import (
    NOWHERE,
    Samples,
    evidence,
    samples_of_mask,
)

SIZE = (120, 160)
GREY = np.full((*SIZE, 3), 128, np.uint8)


def disc(x: float, y: float, radius: float = 20) -> np.ndarray:
    rows, cols = np.mgrid[: SIZE[0], : SIZE[1]]
    return np.asarray((rows - y) ** 2 + (cols - x) ** 2 <= radius**2)


def photograph() -> np.ndarray:
    """A red disc on a noisy ground."""
    pixels = (
        np.random.default_rng(1).integers(60, 120, (*SIZE, 3)).astype(np.uint8)
    )
    pixels[disc(60, 60)] = (220, 40, 40)
    return np.asarray(cv2.GaussianBlur(pixels, (0, 0), 1.0))


def samples(mask: np.ndarray) -> Samples:
    found = samples_of_mask(mask)
    assert found is not None
    return found


def test_the_right_place_stands_out_and_a_wrong_one_does_not() -> None:
    view = view_of(photograph())
    right, beside = (evidence(view, samples(disc(x, 60))) for x in (60, 75))
    for name in (
        "edge_near",
        "edge_far",
        "contrast_far",
        "edge_anywhere",
        "contrast_anywhere",
    ):
        assert right[name] > 0.1
        assert right[name] > beside[name] + 0.1


@given(st.floats(30, 130), st.floats(30, 90), st.floats(3, 28))
def test_over_grey_no_place_is_better_than_another(
    x: float, y: float, radius: float
) -> None:
    found = evidence(view_of(GREY), samples(disc(x, y, radius)))
    assert set(found) == set(NOWHERE)
    assert max(map(abs, found.values())) < 1e-6


def test_a_mask_that_is_too_small_or_fills_the_image_has_no_places() -> None:
    assert samples_of_mask(disc(60, 60, 1)) is None
    assert samples_of_mask(np.ones(SIZE, np.bool_)) is None


def test_regions_where_the_colours_are_explain_more_than_moved_ones() -> None:
    right, wrong = (
        mask_features(
            Masks(
                SIZE,
                (
                    Instance("disc", mask_from_array(disc(x, 60))),
                    Instance("ground", mask_from_array(~disc(x, 60))),
                ),
            ),
            Given(photograph()),
        )
        for x in (60, 110)
    )
    for name in ("explained_far", "boundaries_near", "boundaries_far"):
        assert right[name] > wrong[name] + 0.05


def test_a_map_of_nearness_that_follows_the_lightness_is_explained_by_it() -> (
    None
):
    pixels = np.repeat(skimage.data.coins()[:, :, None], 3, axis=2)
    view = view_of(pixels)
    noise = np.random.default_rng(1).uniform(0, 1, pixels.shape[:2])
    own, other = (
        nearness_features(view, nearness)["explained"]
        for nearness in (pixels[..., 0] / 255, noise)
    )
    assert other < 0.2 < 0.6 < own < 1
