"""What the local judge looks at, a row for each type of prediction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from visualjudge.core.records import BoolArray, FloatArray, Pixels
from visualjudge.judges.local.images import (
    Source,
    agreement,
    controlled_features,
    filled_features,
    quality_features,
    restored_features,
)
from visualjudge.judges.local.regions import box_features, mask_features
from visualjudge.vision.depth.look import depth_features
from visualjudge.vision.poses.look import pose_features
from visualjudge.vision.predictions import DepthMap, Masks, WholeImage, type_of
from visualjudge.vision.tasks import task_named
from visualjudge.vision.view import View, strided, view_of

Features = Mapping[str, float]
NOTHING: Features = {}


@dataclass(frozen=True, eq=False)
class Given:
    """What a question shows beside its options: the source image, the control image, the region to fill."""

    image: Pixels | None = None
    control: Pixels | None = None
    hole: BoolArray | None = None

    @cached_property
    def source(self) -> Source:
        """The source image as restored and generated images are held against it."""
        return Source(self._image)

    @cached_property
    def condition(self) -> Source | None:
        """The control image, likewise; None for a question without one."""
        return None if self.control is None else Source(self.control)

    @cached_property
    def view(self) -> View:
        """The source image as the features see it."""
        return view_of(self._image)

    @property
    def _image(self) -> Pixels:
        if self.image is None:
            raise ValueError("a question without a source image has no view")
        return self.image


def given_of(task: str, image: Pixels | None, control: Pixels | None, hole: BoolArray | None) -> Given:
    """What a question of ``task`` gives; a generator that edits nothing was given its only image as the control."""
    alone = type_of(task).is_image and not (task_named(task).edits or task_named(task).restored)
    if alone and control is None:
        return Given(control=image)
    return Given(image, control, hole)


def nearness_of(depth: DepthMap) -> FloatArray:
    """Nearness 0 (far) .. 1 (near) of every k-th pixel, as the encodings show it; NaN where the map is invalid."""
    values, valid = strided(depth.values), strided(depth.valid)
    if not valid.any():
        return np.full(values.shape, np.nan)
    low, high = np.percentile(values[valid], [2, 98])
    share = np.clip((values - low) / (high - low), 0, 1) if high > low else np.full(values.shape, 0.5)
    return np.where(valid, share if depth.inverse else 1 - share, np.nan)


def _masks(found: Masks, given: Given) -> Features:
    return mask_features(given.view, found.items)


def _restored(found: WholeImage, given: Given) -> Features:
    return NOTHING if given.image is None else restored_features(Source(found.pixels), given.source)


def _generated(found: WholeImage, given: Given) -> Features:
    """Nothing where the prompt is all there is: without a language model no image can be held against a text."""
    if given.image is None and given.condition is None:
        return NOTHING
    output = Source(found.pixels)
    features = quality_features(output)
    if given.image is not None:
        features |= agreement(output, given.source)
    if given.condition is not None:
        features |= controlled_features(output, given.condition)
    if given.image is not None and given.hole is not None:
        features |= filled_features(output, given.source, given.hole)
    return features


LOOKS: dict[str, Callable[[Any, Given], Features]] = {
    "detection": lambda found, given: box_features(given.view, found.items),
    "instance": _masks,
    "semantic": _masks,
    "referring": _masks,
    "keypoint": lambda found, given: pose_features(given.view, found.items),
    "depth": lambda found, given: depth_features(given.view, nearness_of(found)),
    "restoration": _restored,
    "generation": _generated,
}
"""Features by type of prediction; a type without a row is declined."""


def features_of(task: str, prediction: Any, given: Given) -> Features:
    """Features of a typed prediction; empty where this judge has nothing to look at."""
    look = LOOKS.get(type_of(task).name)
    if look is None or (given.image is None and not type_of(task).is_image):
        return NOTHING
    return look(prediction, given)
