"""The stored colour maps are Matplotlib's."""

from __future__ import annotations

from typing import get_args, get_type_hints

import matplotlib
import numpy as np
import pytest

from folding import each
from visualjudge.vision.depth.colormaps import colormap
from visualjudge.vision.depth.draw import DepthStyle
from visualjudge.vision.encode import encode
from visualjudge.vision.predictions import DepthMap


@pytest.mark.parametrize(
    "name", get_args(get_type_hints(DepthStyle)["colormap"])
)
def test_a_colour_map_is_matplotlibs_without_black(name: str) -> None:
    theirs = matplotlib.colormaps[name](np.arange(256), bytes=True)[:, :3]
    assert np.array_equal(
        colormap(name), np.where(theirs.any(1)[:, None], theirs, 1)
    )


def _maps() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(2)
    smooth = rng.random((120, 200)).cumsum(axis=1)
    halves = smooth.copy()
    halves[:60] = 1e-3  # a sample by steps says nothing of the rest
    return {
        "32 bits": smooth.astype(np.float32).astype(float),
        "64 bits": smooth,
        "sorted": np.sort(rng.random(24_000)).reshape(120, 200),
        "halves": halves,
        "ties": rng.integers(1, 4, (120, 200)).astype(float),
        "heavy tails": np.exp(rng.normal(0, 8, (120, 200))),
        "small": rng.random((3, 4)) + 1,
    }


@each("share", [0, 0.4])
@each("name", sorted(_maps()))
def test_nearness_is_that_of_numpys_percentiles(
    name: str, share: float
) -> None:
    values = _maps()[name]
    values[np.random.default_rng(4).random(values.shape) < share] = np.nan
    low, high = np.nanpercentile(values, [2, 98])
    wanted = 255 * (1 - np.clip((values - low) / (high - low), 0, 1))
    shown = encode(
        "depth_estimation",
        "gray",
        DepthMap(values),
        np.zeros((*values.shape, 3), np.uint8),
    ).image
    assert shown is not None
    assert not shown[np.isnan(values)].any()
    assert (
        np.abs(shown[:, :, 0] - wanted)[~np.isnan(values)].max() <= 1.5 + 1e-3
    )  # Matplotlib's gray rounds down
