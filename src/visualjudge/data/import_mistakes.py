"""Find out why an import scores low by trying likely mistakes on a few of its images. The mistakes
of each type are in ``vision/<type>/misread.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from visualjudge.core.errors import VisualJudgeError
from visualjudge.core.records import FloatArray
from visualjudge.vision.items import LabelledItems
from visualjudge.vision.predictions import Prediction, type_of
from visualjudge.vision.score import score

FEW_SAMPLES, MOST_SAMPLES = 4, 12
FORM_GAIN, FEW_GAIN = 1.0, 3.0
"""Minimum gain of each image if few images changed: for two or three images and another number
format, which rarely helps other predictions; and for one image, or other labels or pairs.
"""
MOST_PIXELS = 50_000_000
"""Maximum number of pixels of all predictions kept for trying corrections."""
LOW, GAIN, MOST_IMAGES = 7.0, 1.5, 0.75
"""A mistake is reported if the mean score is below the first value and rises by the second without
it, and the third share of the images whose score changes gains.
"""
MOST_COMPARED = 10_000
"""Maximum number of pairs of items of one image whose labels are compared."""
OVERLAPPING = 0.5
"""IoU from which an item matches the ground-truth object that it overlaps."""
UNTRIED = VisualJudgeError, ValueError
"""Errors which mean that a correction cannot be tried; the import itself continues."""
Sides = tuple[Prediction, Prediction]
"""Prediction and ground truth of an image."""


@dataclass(eq=False)
class Tried:
    """The first images of an import that fit a memory limit."""

    sides: list[Sides] = field(default_factory=list)
    pixels: int = 0

    def keep(self, prediction: Prediction, truth: Prediction) -> None:
        """Add an image if there is room."""
        height, width = truth.extent or (
            truth.image.shape[:2] if truth.image is not None else (0, 0)
        )
        if len(self.sides) < MOST_SAMPLES and self.pixels + height * width <= MOST_PIXELS:
            self.sides.append((prediction, truth))
            self.pixels += height * width


def likely_mistake(task: str, tried: Tried, options: Mapping[str, Any]) -> str | None:
    """Return the mistake whose correction scores best, as a sentence, or None if none explains a
    low score.
    """
    before = _scores(task, tried.sides, options)
    if before is None or not before.size or before.mean() >= LOW:
        return None
    best: tuple[float, str] | None = None
    forms = type_of(task).misreadings
    for number, (told, sides) in enumerate(_without_mistakes(task, tried.sides)):
        least = FORM_GAIN if number < len(forms) and before.size > 1 else FEW_GAIN
        after = _scores(task, sides, options)
        if after is None or not after.size:
            continue
        # compare each newly paired image with the mean
        known = before if after.size == before.size else before.mean()
        gain = float(after.mean() - before.mean())
        up, down = int((after > known).sum()), int((after < known).sum())
        if before.size < FEW_SAMPLES:
            clear = bool((after - known >= least).all())
        else:
            clear = up >= FEW_SAMPLES - 1 and up >= MOST_IMAGES * (up + down)
        if gain >= min(least, GAIN) and clear and (best is None or gain > best[0]):
            best = gain, f"{told}: the mean score would be {after.mean():.1f}"
    if best is None:
        return None
    return (
        f"the mean score of the first {before.size} images is {before.mean():.1f}; it looks as "
        f"if {best[1]}"
    )


def _scores(task: str, sides: Sequence[Sides], options: Mapping[str, Any]) -> FloatArray | None:
    """Return the score of each image, or None if one cannot be scored."""
    try:
        return np.array([score(task, found, truth, **options) for found, truth in sides])
    except UNTRIED:
        return None


def _without_mistakes(task: str, sides: Sequence[Sides]) -> Iterator[tuple[str, list[Sides]]]:
    """Yield each mistake and the images with it corrected."""
    for row in type_of(task).misreadings:
        yield row.told, _mended(sides, row.mended)
    renamed = _names(task, sides)
    if renamed:
        (ours, theirs) = next(iter(renamed.items()))
        told = (
            f"labels are numbered or named differently ({ours!r} lies where the ground truth has "
            f"{theirs!r})"
        )
        yield told, [(_renamed(found, renamed), truth) for found, truth in sides]
    found, truths = ([one[side] for one in sides] for side in (0, 1))
    if len(sides) == 2:
        yield "the two predictions are exchanged", list(zip(found[::-1], truths, strict=True))
        return
    yield (
        "each prediction belongs to the image before",
        list(zip(found[1:], truths[:-1], strict=True)),
    )
    yield (
        "each prediction belongs to the image after",
        list(zip(found[:-1], truths[1:], strict=True)),
    )


def _mended(sides: Sequence[Sides], mended: Callable[[Any, Any], Prediction]) -> list[Sides]:
    try:
        return [(mended(found, truth), truth) for found, truth in sides]
    except UNTRIED:
        return []


def _names(task: str, sides: Sequence[Sides]) -> dict[str, str]:
    """Map each predicted label that mostly lies on objects of one other label to that label."""
    overlap = type_of(task).overlap
    if overlap is None:
        return {}
    seen: dict[str, Counter[str]] = {}
    for found, truth in sides:
        if not (isinstance(found, LabelledItems) and isinstance(truth, LabelledItems)):
            return {}
        if (
            not found.items
            or not truth.items
            or len(found.items) * len(truth.items) > MOST_COMPARED
        ):
            continue
        try:
            ratios = overlap(list(found.items), list(truth.items))
        except UNTRIED:
            return {}
        for item, nearest, ratio in zip(
            found.items, ratios.argmax(axis=1), ratios.max(axis=1), strict=True
        ):
            if ratio >= OVERLAPPING:
                seen.setdefault(item.label, Counter())[truth.items[nearest].label] += 1
    commonest = {label: counts.most_common(1)[0] for label, counts in seen.items()}
    return {
        label: other
        for label, (other, count) in commonest.items()
        if other != label and 2 * count > seen[label].total()
    }


def _renamed(found: Prediction, names: Mapping[str, str]) -> Prediction:
    assert isinstance(found, LabelledItems), "only items with labels are renamed"
    return found.with_items(
        replace(item, label=names.get(item.label, item.label)) for item in found.items
    )
