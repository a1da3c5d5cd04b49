"""MATCHED ERRORS: predictions that look alike and differ only in how far they are from the truth.
Those of each type: ``vision/<type>/errors_matched.py``.

A ladder of errors can be ordered by the predictions alone: the one with fewer boxes, or with
smoother outlines, is the better one. Here all predictions of a group bear the same errors of one
kind (their look), and lie on one way from the truth to a *decoy* that could as well be the truth:
the truth moved, mirrored, or with parts exchanged. Without the photograph, the way could as well be
walked from the other end, so the severities are symmetric about ½: what a rule that does not look
gains on the first half, it loses on the second.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from visualjudge.core.records import FloatArray, Size, Xyxy
from visualjudge.vision.errors.levels import ErrorScene
from visualjudge.vision.errors.random_fields import box_iou, elsewhere, reach
from visualjudge.vision.items import LabelledItems

Items = TypeVar("Items", bound=LabelledItems)
Rng = np.random.Generator
LEAST_IOU = 0.5
"""Mean IoU of the items with the truth at the far end of a shift."""
LEAST_ROOM = 0.75
"""IoU above which a shift is too short to be asked about."""
APART = 0.3
"""IoU below which a place counts as another one."""
NEAR_BORDER = 2.0
ANGLES = 16


def middles(levels: int) -> tuple[float, ...]:
    """``levels`` severities, evenly spaced and symmetric about ½: (k + ½) / levels."""
    return tuple(round((k + 0.5) / levels, 4) for k in range(levels))


def exchanged(severity: float, total: int) -> int:
    """How many of ``total`` parts are those of the decoy: symmetric, so 1 − severity has all the
    others.
    """
    if severity > 0.5:
        return total - exchanged(round(1 - severity, 4), total)
    return math.floor(severity * total + 0.5 - 1e-9)


@dataclass(frozen=True, slots=True)
class Moves:
    """How the items of a type move. ``shifted`` takes (item, x, y), ``mirrored`` (item, width of
    the image).

    ``rough`` takes (item, scene, generator): the item with a small error, so that no option is the
    truth itself.
    """

    box: Callable[[Any], Xyxy]
    shifted: Callable[[Any, float, float], Any]
    mirrored: Callable[[Any, int], Any]
    rough: Callable[[Any, ErrorScene, Rng], Any]


@dataclass(frozen=True, slots=True)
class ItemErrors:
    """The matched errors of labelled items: each takes (truth, severity in 0..1, scene,
    generator).
    """

    moves: Moves

    def localization(self, truth: Items, severity: float, scene: ErrorScene, rng: Rng) -> Items:
        """All items are off by equal errors of their own, and together moved in one direction.

        Items that touch the border are left out: they cannot move, and the others would come to
        overlap them.
        """
        boxes = [self.moves.box(item) for item in truth.items]
        free = [k for k, box in enumerate(boxes) if inside(box, scene.size)]
        items = self._rough((truth.items[k] for k in free), scene, rng)
        step = common_step([boxes[k] for k in free], scene.size, rng)
        if step is None:
            return truth
        return truth.with_items(self.moves.shifted(item, *(severity * step)) for item in items)

    def background(self, truth: Items, severity: float, scene: ErrorScene, rng: Rng) -> Items:
        """The number of items stays the same, one is false, and with severity more of the others
        are placed where there is no object.
        """
        items, places = self._traded(truth, severity, scene, rng)
        like = truth.items[int(rng.integers(len(truth.items)))]
        box, target = self.moves.box(like), elsewhere(self.moves.box(like), scene.size, rng, places)
        extra = self.moves.shifted(like, target[0] - box[0], target[1] - box[1])
        return truth.with_items([*items, extra] if items else truth.items)

    def duplicate(self, truth: Items, severity: float, scene: ErrorScene, rng: Rng) -> Items:
        """Half of the items occur twice; with severity, more of them are placed where there is no
        object.
        """
        items, _ = self._traded(truth, severity, scene, rng)
        twice = rng.permutation(len(items))[: math.ceil(len(items) / 2)]
        return truth.with_items(
            [*items, *(self._twin(items[k], scene, rng) for k in twice)] if items else truth.items
        )

    def missed(self, truth: Items, severity: float, scene: ErrorScene, rng: Rng) -> Items:
        """The same number of items is missing; with severity, more of the others are placed where
        there is no object.
        """
        items, _ = self._traded(truth, severity, scene, rng)
        gone = set(rng.permutation(len(items))[: math.ceil(len(items) / 4)].tolist())
        return truth.with_items(
            [item for k, item in enumerate(items) if k not in gone] if items else truth.items
        )

    def classification(self, truth: Items, severity: float, scene: ErrorScene, rng: Rng) -> Items:
        """Items of similar shape exchange their labels; if there is one label only, more items get
        another one with severity.
        """
        items = self._rough(truth.items, scene, rng)
        pairs = like_pairs(
            [item.label for item in items], [self.moves.box(item) for item in truth.items]
        )
        if pairs:
            for k in rng.permutation(len(pairs))[: exchanged(severity, len(pairs))]:
                one, two = pairs[k]
                items[one], items[two] = (
                    replace(items[one], label=items[two].label),
                    replace(items[two], label=items[one].label),
                )
            return truth.with_items(items)
        wrong = scene.wrong_label(items[0].label, rng)
        struck = set(rng.permutation(len(items))[: exchanged(severity, len(items))].tolist())
        return truth.with_items(
            replace(x, label=wrong) if k in struck else x for k, x in enumerate(items)
        )

    def _rough(self, items: Iterable[Any], scene: ErrorScene, rng: Rng) -> list[Any]:
        return [self.moves.rough(item, scene, rng) for item in items]

    def _traded(
        self, truth: Items, severity: float, scene: ErrorScene, rng: Rng
    ) -> tuple[list[Any], list[Xyxy]]:
        """The items that have a decoy, some of them at its place, and all places of both."""
        boxes = [self.moves.box(item) for item in truth.items]
        decoys = [self._decoy(item, boxes, scene, rng) for item in truth.items]
        rough = self._rough(truth.items, scene, rng)
        false = [None if d is None else self.moves.rough(d, scene, rng) for d in decoys]
        known = [k for k, decoy in enumerate(false) if decoy is not None]
        if not known:
            return [], boxes
        for k in np.array(known)[rng.permutation(len(known))][: exchanged(severity, len(known))]:
            rough[k] = false[k]
        return [rough[k] for k in known], [
            *boxes,
            *(self.moves.box(decoy) for decoy in decoys if decoy is not None),
        ]

    def _decoy(self, item: Any, taken: Sequence[Xyxy], scene: ErrorScene, rng: Rng) -> Any | None:
        """The item mirrored in the image, or else moved beside itself, where no object lies; None
        without such room.
        """
        height, width = scene.size
        x1, y1, x2, y2 = self.moves.box(item)
        steps = (
            np.array([(1, 0), (-1, 0), (0, 1), (0, -1)])
            * (x2 - x1, y2 - y1)
            * rng.uniform(0.9, 1.3)
        )
        tries = [self.moves.mirrored(item, width)]
        tries += [
            self.moves.shifted(item, dx, dy)
            for dx, dy in steps[rng.permutation(4)]
            if x1 + dx >= 0 and x2 + dx <= width and y1 + dy >= 0 and y2 + dy <= height
        ]
        free = (
            one for one in tries if all(box_iou(self.moves.box(one), box) < APART for box in taken)
        )
        return next(free, None)

    def _twin(self, item: Any, scene: ErrorScene, rng: Rng) -> Any:
        return self.moves.rough(item, scene, rng)


def inside(box: Xyxy, size: Size) -> bool:
    """Whether a box keeps away from the border: a box that touches it cannot move without a visible
    change.
    """
    x1, y1, x2, y2 = box
    return (
        x1 >= NEAR_BORDER
        and y1 >= NEAR_BORDER
        and x2 <= size[1] - NEAR_BORDER
        and y2 <= size[0] - NEAR_BORDER
    )


def common_step(boxes: Sequence[Xyxy], size: Size, rng: Rng) -> FloatArray | None:
    """(x, y) that brings the mean IoU of boxes with themselves down to ½ and keeps all on the
    image; None without room.

    Of some random directions the first with room enough, or else the one with the most.
    """
    if not boxes:
        return None
    corners = np.array(boxes)
    found: list[tuple[float, FloatArray]] = []
    for angle in rng.uniform(0, 2 * np.pi) + np.arange(ANGLES) * 2 * np.pi / ANGLES * 7:
        way = np.array([np.cos(angle), np.sin(angle)])
        room = _room(corners, way, size)

        def mean_iou(share: float, step: FloatArray = way * room) -> float:
            moved = corners + np.tile(share * step, 2)
            return float(
                np.mean([box_iou(tuple(a), tuple(b)) for a, b in zip(corners, moved, strict=True)])
            )

        found.append((mean_iou(1.0), way * room * reach(mean_iou, LEAST_IOU)))
        if found[-1][0] <= LEAST_IOU:
            break
    least, step = min(found, key=lambda one: max(one[0], LEAST_IOU))
    return step if least <= LEAST_ROOM else None


def _room(corners: FloatArray, way: FloatArray, size: Size) -> float:
    """How far n boxes (n×4) can go along a unit vector without meeting the border."""
    height, width = size
    limits = [
        (width - NEAR_BORDER - corners[:, 2].max()) / way[0] if way[0] > 1e-9 else np.inf,
        (corners[:, 0].min() - NEAR_BORDER) / -way[0] if way[0] < -1e-9 else np.inf,
        (height - NEAR_BORDER - corners[:, 3].max()) / way[1] if way[1] > 1e-9 else np.inf,
        (corners[:, 1].min() - NEAR_BORDER) / -way[1] if way[1] < -1e-9 else np.inf,
    ]
    return max(0.0, float(min(limits)))


def like_pairs(labels: Sequence[str], boxes: Sequence[Xyxy]) -> list[tuple[int, int]]:
    """Indices of items with different labels, in pairs, the most alike in size, form and height on
    the image first.
    """
    looks = np.array(
        [
            (
                np.log(max(x2 - x1, 1.0)),
                np.log(max(y2 - y1, 1.0)),
                (y1 + y2) / 2 / max(1.0, max(b[3] for b in boxes)),
            )
            for x1, y1, x2, y2 in boxes
        ]
    ).reshape(-1, 3)
    apart = sorted(
        (float(np.abs(looks[i] - looks[j]).sum()), i, j)
        for i in range(len(labels))
        for j in range(i)
        if labels[i] != labels[j]
    )
    used: set[int] = set()
    pairs = []
    for _, i, j in apart:
        if not used & {i, j}:
            used |= {i, j}
            pairs.append((i, j))
    return pairs
