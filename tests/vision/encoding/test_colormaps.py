"""The stored colour maps are Matplotlib's."""

from __future__ import annotations

from typing import get_args, get_type_hints

import matplotlib
import numpy as np
import pytest

from visualjudge.vision.depth.colormaps import colormap
from visualjudge.vision.depth.draw import DepthStyle


@pytest.mark.parametrize("name", get_args(get_type_hints(DepthStyle)["colormap"]))
def test_a_colour_map_is_matplotlibs(name: str) -> None:
    theirs = matplotlib.colormaps[name](np.arange(256), bytes=True)[:, :3]
    assert np.array_equal(colormap(name), theirs)
