"""Favour of a judge is told from its skill on the images that show a source."""

from __future__ import annotations

import numpy as np

from visualjudge.analysis.statistics.favour import Favour, fair_fit


def _favours(lifted: float) -> tuple[Favour, ...]:
    """Three pairs of three sources on each image; half of the images are hard, and
    source 0 is shown on those alone. Source 2 is preferred in ``lifted`` more cases.
    """
    rng = np.random.default_rng(5)
    images = 1500
    hard = np.arange(images) % 2 == 1
    image = np.repeat(np.arange(images), 3)
    first = np.where(hard[image], np.tile([0, 0, 1], images), 1)
    second = np.where(hard[image], np.tile([1, 2, 2], images), 2)
    scores = rng.normal([0.6, 0.3, 0.0], 1.0, (image.size, 3))
    row = np.arange(image.size)
    margin = scores[row, first] - scores[row, second]
    right = rng.random(image.size) < np.where(hard[image], 0.65, 0.95)
    chosen = (margin > 0) == right
    chosen &= ~((second == 2) & (rng.random(image.size) < lifted))
    both = np.tile(image, 2)
    found = fair_fit(
        np.concatenate([chosen, ~chosen]) * 1.0,
        np.concatenate([margin > 0, margin < 0]) * 1.0,
        np.concatenate([margin, -margin]),
        np.concatenate([first, second]),
        np.tile(row, 2),
        both,
        np.zeros(both.size, dtype=np.int64),
        np.zeros(3, dtype=np.int64),
    )
    assert found is not None
    return found.favours()


def test_a_source_that_is_shown_on_hard_images_is_not_disfavoured() -> None:
    assert not any(favour.sure for favour in _favours(0.0))


def test_a_source_that_is_preferred_is_favoured() -> None:
    *_, last = _favours(0.3)
    assert last.sure
    assert last.value > 0.05
