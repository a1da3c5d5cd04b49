"""Intervals of figures over systems."""

from __future__ import annotations

import numpy as np

from visualjudge.analysis.statistics.systems import _measured


def test_a_figure_that_no_image_changes_has_an_interval_with_width() -> None:
    found = _measured(np.zeros(500), 48, -1.0)
    assert found.interval is not None
    assert found.interval[0] < -0.1 < 0.1 < found.interval[1]
