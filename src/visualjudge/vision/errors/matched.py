"""MATCHED ERRORS: predictions that look alike and differ only in their distance from
the truth. The matched errors of a type are beside its others, or in
``vision/<type>/errors_matched.py``. Errors of rising severity are in ``items.py``.

A ladder can be ordered without the image: the prediction with fewer boxes, or with
smoother outlines, is the better one. Here all predictions of a group have errors of the
same kind, so that they look alike. They lie between the truth and a *decoy* that could
equally be the truth: the truth moved, or with parts exchanged. If something moves,
there is a decoy on either side of the truth, and the severities of a group are divided
between the sides (:func:`side`), so that a rule that ignores the image, such as "the
one further left", is right in half of the pairs of every group.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from visualjudge.core.records import FloatArray, Size, Xyxy
from visualjudge.vision.errors.levels import ErrorScene, Rng
from visualjudge.vision.errors.random_fields import box_iou, elsewhere, reach
from visualjudge.vision.items import LabelledItems

Items = TypeVar("Items", bound=LabelledItems)
T = TypeVar("T", bound=np.generic)
# Mean IoU of the items with the truth at the largest shift; the first value that fits
# is used.
LEAST_IOUS = (0.5, 0.6, 0.7)
# IoU below which two places count as different.
APART = 0.3
# An item closer to the border than this share of the longer side counts as touching it.
NEAR_BORDER = 0.02
ANGLES = 16
# Largest ratio of the combined change in position of two moves to the sum of their
# separate changes.
MOST_TOLD = 0.6
# Candidate distances of a decoy from its item, in widths and heights of the item.
DECOYS_FAR = (1.1, 0.9, 0.7)
# Largest sideways shift of the content of a whole image, as a share of the width.
ASIDE = 0.15


def middles(levels: int) -> tuple[float, ...]:
    """Return ``levels`` evenly spaced severities, symmetric about ½: (k + ½) /
    levels."""
    return tuple(round((k + 0.5) / levels, 4) for k in range(levels))


def exchanged(severity: float, total: int) -> int:
    """Return how many of ``total`` parts come from the decoy; the numbers for s and 1 −
    s (s ≠ ½) add up to ``total``.
    """
    return (
        total - exchanged(round(1 - severity, 4), total)
        if severity > 0.5
        else math.floor(severity * total + 0.5 - 1e-9)
    )


def side(severity: float, levels: int, rng: Rng) -> int:
    """Return the side of the truth, 0 or 1, on which the prediction of a severity lies.

    The milder of two predictions is the better one, so whether a rule that prefers one
    side is right depends on the side of the more severe one. Each of ``levels``
    severities is the more severe one in as many pairs as there are milder severities:
    starting from the most severe, each goes to the side with fewer pairs. ``rng`` may
    swap the sides.
    """
    pairs = [0, 0]
    chosen = 0
    first = int(rng.integers(2))
    for milder in range(
        levels - 1,
        min(levels - 1, int(severity * levels)) - 1,
        -1,
    ):
        chosen = int(pairs[0] > pairs[1])
        pairs[chosen] += milder
    return chosen ^ first


def aside(
    plane: NDArray[T],
    severity: float,
    to: int,
    nothing: float,
) -> NDArray[T]:
    """Shift an H×W map to the left (0) or right (1), and fill the margins on both sides
    with ``nothing``. The margins have the same width at every severity, so that no
    content has to be invented.
    """
    margin = round(ASIDE * plane.shape[1])
    moved = np.roll(
        plane,
        (2 * to - 1) * round(severity * margin),
        axis=1,
    )
    moved[:, :margin] = moved[:, plane.shape[1] - margin :] = nothing
    return moved


@dataclass(frozen=True, slots=True)
class Moves:
    """Functions that move the items of a type.

    ``shifted`` takes (item, x, y). ``rough`` takes (item, scene, generator) and returns
    the item with a small error, so that no option is the truth itself.
    """

    box: Callable[[Any], Xyxy]
    shifted: Callable[[Any, float, float], Any]
    rough: Callable[[Any, ErrorScene, Rng], Any]


@dataclass(frozen=True, slots=True)
class ItemErrors:
    """The matched errors of labelled items; each method takes (truth, severity in 0..1,
    scene, generator).
    """

    moves: Moves

    def localization(
        self,
        truth: Items,
        severity: float,
        scene: ErrorScene,
        rng: Rng,
    ) -> Items:
        """Give each item a small error of its own, and move all items together to one
        side or the other.

        Items that touch the border are omitted: they cannot move, and others would
        overlap them.
        """
        boxes = [self.moves.box(item) for item in truth.items]
        free = [k for k, box in enumerate(boxes) if inside(box, scene.size)]
        items = self._rough(
            (truth.items[k] for k in free),
            scene,
            rng,
        )
        steps = common_steps(
            [boxes[k] for k in free],
            scene.size,
            rng,
        )
        if steps is None:
            return truth
        step = severity * steps[side(severity, scene.levels, rng)]
        return truth.with_items(
            self.moves.shifted(item, *step) for item in items
        )

    def background(
        self,
        truth: Items,
        severity: float,
        scene: ErrorScene,
        rng: Rng,
    ) -> Items:
        """Add one false item to the others, of which more are placed where there is no
        object as severity increases.
        """
        items, places = self._traded(
            truth, severity, scene, rng, lambda n: range(n)
        )
        like = truth.items[int(rng.integers(len(truth.items)))]
        box = self.moves.box(like)
        target = elsewhere(
            self.moves.box(like),
            scene.size,
            rng,
            places,
        )
        extra = self.moves.shifted(
            like,
            target[0] - box[0],
            target[1] - box[1],
        )
        return truth.with_items([*items, extra] if items else truth.items)

    def duplicate(
        self,
        truth: Items,
        severity: float,
        scene: ErrorScene,
        rng: Rng,
    ) -> Items:
        """Duplicate half of the items, and place more of them where there is no object
        as severity increases.
        """

        def with_twins(n: int) -> Sequence[int]:
            return [*range(n), *rng.permutation(n)[: math.ceil(n / 2)].tolist()]

        items, _ = self._traded(truth, severity, scene, rng, with_twins)
        return truth.with_items(items or truth.items)

    def missed(
        self,
        truth: Items,
        severity: float,
        scene: ErrorScene,
        rng: Rng,
    ) -> Items:
        """Remove a quarter of the items, and place more of the others where there is no
        object as severity increases.
        """

        def without_some(n: int) -> Sequence[int]:
            return sorted(rng.permutation(n)[math.ceil(n / 4) :].tolist())

        items, _ = self._traded(truth, severity, scene, rng, without_some)
        return truth.with_items(items or truth.items)

    def classification(
        self,
        truth: Items,
        severity: float,
        scene: ErrorScene,
        rng: Rng,
    ) -> Items:
        """Exchange the labels of items of similar shape; if all items have one label,
        change the label of more items as severity increases.
        """
        items = self._rough(truth.items, scene, rng)
        pairs = like_pairs(
            [item.label for item in items],
            [self.moves.box(item) for item in truth.items],
        )
        if pairs:
            for k in rng.permutation(len(pairs))[
                : exchanged(severity, len(pairs))
            ]:
                first, two = pairs[k]
                items[first], items[two] = (
                    replace(items[first], label=items[two].label),
                    replace(items[two], label=items[first].label),
                )
            return truth.with_items(items)
        wrong = scene.wrong_label(items[0].label, rng)
        struck = set(
            rng.permutation(len(items))[
                : exchanged(severity, len(items))
            ].tolist()
        )
        return truth.with_items(
            replace(x, label=wrong) if k in struck else x
            for k, x in enumerate(items)
        )

    def _rough(
        self,
        items: Iterable[Any],
        scene: ErrorScene,
        rng: Rng,
    ) -> list[Any]:
        return [self.moves.rough(item, scene, rng) for item in items]

    def _traded(
        self,
        truth: Items,
        severity: float,
        scene: ErrorScene,
        rng: Rng,
        visible: Callable[[int], Iterable[int]],
    ) -> tuple[list[Any], list[Xyxy]]:
        """Return the items to be ``visible`` of the n that have decoys, some of them at
        their decoys, and the places of all items and decoys. An item has the same small
        error at either place."""
        places = [self.moves.box(item) for item in truth.items]
        chosen = side(severity, scene.levels, rng)
        traded: list[tuple[Any, FloatArray]] = []
        for k, item in enumerate(truth.items):
            steps = self._decoys(k, places, scene, rng)
            if steps is not None:
                x1, y1, x2, y2 = places[k]
                places += [(x1 + x, y1 + y, x2 + x, y2 + y) for x, y in steps]
                traded.append((item, steps[chosen]))
        numbers = list(visible(len(traded)))
        order = rng.permutation(sorted({*numbers}))
        false = set(order[: exchanged(severity, len(order))].tolist())
        rough = self._rough(
            (traded[k][0] for k in numbers),
            scene,
            rng,
        )
        return [
            self.moves.shifted(item, *traded[k][1]) if k in false else item
            for k, item in zip(numbers, rough, strict=True)
        ], places

    def _decoys(
        self,
        number: int,
        taken: Sequence[Xyxy],
        scene: ErrorScene,
        rng: Rng,
    ) -> list[FloatArray] | None:
        """Return two steps (x, y) that move item ``number`` of ``taken`` to places on
        the image without an object; None if there is no room or the item overlaps
        another."""
        x1, y1, x2, y2 = taken[number]
        others = [place for k, place in enumerate(taken) if k != number]
        if not inside(taken[number], scene.size) or any(
            box_iou(taken[number], other) >= APART for other in others
        ):
            return None
        free = []
        for far in DECOYS_FAR:
            for angle in (
                rng.uniform(0, 2 * np.pi)
                + np.arange(ANGLES) * 2 * np.pi / ANGLES
            ):
                step = far * np.array(
                    [(x2 - x1) * np.cos(angle), (y2 - y1) * np.sin(angle)]
                )
                place = (
                    x1 + step[0],
                    y1 + step[1],
                    x2 + step[0],
                    y2 + step[1],
                )
                if inside(place, scene.size) and all(
                    box_iou(place, place_taken) < APART for place_taken in taken
                ):
                    free.append(step)
        moves = np.array(free).reshape(-1, 1, 2)
        around = (
            np.array(others).reshape(-1, 4).mean(axis=0) if others else None
        )
        sides = two_sides(
            np.array([taken[number]]),
            moves,
            scene.size,
            around,
        )
        return None if sides is None else [free[k] for k in sides]


def inside(box: Xyxy, size: Size) -> bool:
    """Return whether a box is clear of the border; a box that touches it cannot move
    without a visible change.
    """
    x1, y1, x2, y2 = box
    near = NEAR_BORDER * max(size)
    return (
        x1 >= near
        and y1 >= near
        and x2 <= size[1] - near
        and y2 <= size[0] - near
    )


def common_steps(
    boxes: Sequence[Xyxy], size: Size, rng: Rng
) -> list[FloatArray] | None:
    """Return two steps (x, y) to different sides that keep all boxes on the image and
    lower their mean IoU with the original boxes to ½ (0.7 at most, if room is limited);
    None if there are none.
    """
    if not boxes:
        return None
    corners = np.array(boxes)

    def mean_iou(step: FloatArray) -> float:
        return float(
            np.mean(
                [
                    box_iou(tuple(a), tuple(b))
                    for a, b in zip(
                        corners, corners + np.tile(step, 2), strict=True
                    )
                ]
            )
        )

    angles = rng.uniform(0, 2 * np.pi) + np.arange(ANGLES) * 2 * np.pi / ANGLES
    ways = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    longest = [way * _room(corners, way, size) for way in ways]
    ends = [mean_iou(step) for step in longest]
    for least in LEAST_IOUS:
        steps = [
            step * reach(lambda share, step=step: mean_iou(share * step), least)  # type: ignore[misc]
            for step, end in zip(longest, ends, strict=True)
            if end <= least
        ]
        moves = np.repeat(
            np.array(steps).reshape(-1, 1, 2),
            len(boxes),
            axis=1,
        )
        sides = two_sides(corners, moves, size)
        if sides is not None:
            return [steps[k] for k in sides]
    return None


def two_sides(
    corners: FloatArray,
    moves: FloatArray,
    size: Size,
    around: FloatArray | None = None,
) -> tuple[int, int] | None:
    """Return the indices of the two of m moves (m×n×2) of n boxes (n×4) that reveal
    least about the true place.

    If one moves the boxes to the left, the other moves them to the right; if one moves
    them towards the middle of the image and of the box ``around`` other objects, where
    objects tend to be, the other moves them away from it. Return None if the combined
    change of every pair exceeds ``MOST_TOLD`` times the sum of their separate changes:
    an object in the middle can only move away from it.
    """
    if len(moves) < 2:
        return None
    middle = (corners[:, :2] + corners[:, 2:]) / 2 / size[::-1]
    moved = middle + moves / size[::-1]
    centres = [np.array([0.5, 0.5])]
    if around is not None:
        centres.append((around[:2] + around[2:]) / 2 / size[::-1])
    change = np.concatenate(
        [
            moved - middle,
            *(np.abs(moved - at) - np.abs(middle - at) for at in centres),
        ],
        axis=2,
    ).mean(axis=1)
    alone = np.abs(change[:, :2]).sum(axis=1)
    together = np.abs(change[:, None] + change[None]).sum(axis=2)
    overlap = (
        together / np.maximum(alone[:, None] + alone[None], 1e-9) / len(centres)
    )
    np.fill_diagonal(overlap, np.inf)
    left, two = np.unravel_index(int(np.argmin(overlap)), overlap.shape)
    return (int(left), int(two)) if overlap[left, two] <= MOST_TOLD else None


def _room(corners: FloatArray, way: FloatArray, size: Size) -> float:
    """Return how far n boxes (n×4) can move along a unit vector without reaching the
    border."""
    near = NEAR_BORDER * max(size)
    (height, width) = size
    limits = [
        (width - near - corners[:, 2].max()) / way[0]
        if way[0] > 1e-9
        else np.inf,
        (corners[:, 0].min() - near) / -way[0] if way[0] < -1e-9 else np.inf,
        (height - near - corners[:, 3].max()) / way[1]
        if way[1] > 1e-9
        else np.inf,
        (corners[:, 1].min() - near) / -way[1] if way[1] < -1e-9 else np.inf,
    ]
    return max(0.0, float(min(limits)))


def like_pairs(
    labels: Sequence[str], boxes: Sequence[Xyxy]
) -> list[tuple[int, int]]:
    """Pair the indices of items with different labels, the most similar in size, shape
    and vertical position first.
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
        (
            float(np.abs(looks[i] - looks[j]).sum()),
            i,
            j,
        )
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
