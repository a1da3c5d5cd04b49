"""Are planted faults found where they are, and nothing elsewhere? Scenes that no rule
was fitted to.

    python benchmarks/planted_faults.py [--scenes 100] [--only TASK]

Textures are noise with a 1/f spectrum (derain) or photographs (denoise), label maps are
cells around random points, depth is a slanted plane with ellipsoids, people are stick
figures of random poses. One fault is planted in each scene, of a random place and size.
*Found*: a measured fault of its kind has its centre in the planted box, or an IoU of at
least 0.3 with it. *Elsewhere*: a measured fault that does neither.

Goal: at least 95 % found, and at least 95 % of scenes without a fault elsewhere.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import cv2
import numpy as np
from skimage import data

from visualjudge.analysis.stated_reasons import points_at
from visualjudge.core.records import BoolArray, Fault, FloatArray, Pixels, Xyxy
from visualjudge.vision.faults import faults_of
from visualjudge.vision.poses.skeleton import MIRRORED, OKS_SIGMAS
from visualjudge.vision.predictions import (
    DepthMap,
    Instance,
    Masks,
    People,
    Person,
    Prediction,
    WholeImage,
)
from visualjudge.vision.raster.masks import mask_from_array

SIZE = (240, 320)
PHOTOGRAPHS = ("astronaut", "coffee", "chelsea")
Rng = np.random.Generator


@dataclass(frozen=True, eq=False)
class Scene:
    """A prediction and its ground truth, and the box and kind of the planted fault."""

    prediction: Prediction
    truth: Prediction
    kind: str
    box: Xyxy
    input_image: Pixels | None = None


def spectrum(
    rng: Rng, power: float, size: tuple[int, int] = SIZE
) -> FloatArray:
    """Return noise with a spectrum of 1/f to ``power``, from 0 to 1."""
    rows = np.fft.fftfreq(size[0])[:, None]
    columns = np.fft.fftfreq(size[1])[None]
    strength = (rows**2 + columns**2 + 1e-5) ** (-power / 2)
    phase = rng.normal(size=size) + 1j * rng.normal(size=size)
    field = np.fft.ifft2(phase * strength).real
    return np.asarray((field - field.min()) / np.ptp(field))


def patch(rng: Rng, least: int = 40, most: int = 110) -> tuple[BoolArray, Xyxy]:
    """Return an ellipse inside the image, and its box."""
    w, h = rng.integers(least, most, 2).tolist()
    x = int(rng.integers(5, SIZE[1] - w - 5))
    y = int(rng.integers(5, SIZE[0] - h - 5))
    mask = np.zeros(SIZE, dtype=np.uint8)
    centre = (x + w // 2, y + h // 2)
    cv2.ellipse(mask, centre, (w // 2, h // 2), 0, 0, 360, 1, -1)
    return mask > 0, box_of(mask > 0)


def box_of(mask: BoolArray) -> Xyxy:
    """Return the box of a mask."""
    return mask_from_array(mask).box


# ---------------------------------------------------------------- restoration


def texture(rng: Rng) -> Pixels:
    """Return coloured noise with a 1/f spectrum."""
    field = np.stack([spectrum(rng, 1.1) for _ in range(3)], axis=2)
    light = 30 + 195 * (0.6 * field[..., :1] + 0.4 * field)
    return np.asarray(light.clip(0, 255).astype(np.uint8))


def photograph(rng: Rng) -> Pixels:
    """Return a part of one of scikit-image's photographs."""
    whole = getattr(data, str(rng.choice(PHOTOGRAPHS)))()
    y = int(rng.integers(0, whole.shape[0] - SIZE[0]))
    x = int(rng.integers(0, whole.shape[1] - SIZE[1]))
    return np.ascontiguousarray(whole[y : y + SIZE[0], x : x + SIZE[1], :3])


def restored(
    kind: str, rng: Rng, source: Callable[[Rng], Pixels] = texture
) -> Scene:
    """Return a restored image with an error in one place."""
    clean = source(rng)
    degraded = clean.copy()
    for _ in range(500):
        x, y = rng.integers(0, SIZE[1]), rng.integers(0, SIZE[0])
        cv2.line(
            degraded,
            (int(x), int(y)),
            (int(x + 3), int(y + 14)),
            (230, 230, 235),
            1,
        )
    where, box = patch(rng, 60, 140)
    if kind == "residual":
        changed = degraded
    elif kind == "oversmoothing":
        changed = cv2.GaussianBlur(clean, (0, 0), float(rng.uniform(1.2, 2.5)))
    elif kind == "noise":
        changed = clean + rng.normal(0, rng.uniform(12, 30), clean.shape)
    elif kind == "colour_shift":
        changed = clean * rng.uniform(0.8, 0.9) + rng.uniform(-15, 15, 3)
    else:
        quality = [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(8, 25))]
        changed = cv2.imdecode(
            cv2.imencode(".jpg", clean, quality)[1], cv2.IMREAD_COLOR
        )
    mixed = (
        np.where(where[..., None], changed, clean).clip(0, 255).astype(np.uint8)
    )
    return Scene(WholeImage(mixed), WholeImage(clean), kind, box, degraded)


# ---------------------------------------------------------------- depth


def depth(kind: str, rng: Rng) -> Scene:
    """Return a depth map with an error in one place."""
    rows, columns = np.mgrid[: SIZE[0], : SIZE[1]] / max(SIZE)
    true = 4 + 6 * (1 - rows) + rng.uniform(-2, 2) * columns
    for _ in range(6):
        mask, _ = patch(rng, 30, 90)
        true = np.where(mask, true * rng.uniform(0.5, 0.85), true)
    true = true * np.exp(0.1 * (spectrum(rng, 1.2) - 0.5))
    where, box = patch(rng, 60, 140)
    if kind == "scale":
        changed = true * rng.choice(
            [rng.uniform(0.6, 0.75), rng.uniform(1.35, 1.6)]
        )
    elif kind == "noise":
        changed = true * np.exp(rng.normal(0, 0.3, SIZE))
    elif kind == "blur":
        sharp = true * np.exp(0.6 * np.sin(rows * 190) * np.sin(columns * 170))
        changed = np.where(where, true, sharp)
        return Scene(
            DepthMap(
                np.where(where, cv2.GaussianBlur(sharp, (0, 0), 8), sharp)
            ),
            DepthMap(sharp),
            kind,
            box,
        )
    else:
        middle = np.median(np.log(true))
        far = rng.choice([-0.5, 0.5])
        bump = np.log(true[where]) - np.log(true[where]).mean()
        true = true.copy()
        true[where] = np.exp(middle + far + bump)
        changed = np.exp(2 * middle - np.log(true))
    return Scene(
        DepthMap(np.where(where, changed, true)), DepthMap(true), kind, box
    )


# ---------------------------------------------------------------- masks


def cells(rng: Rng, count: int = 7) -> FloatArray:
    """Return the number of the nearest of random points, H×W."""
    rows, columns = np.mgrid[: SIZE[0], : SIZE[1]]
    points = rng.uniform((0, 0), SIZE, (count, 2))
    bend = 25 * (spectrum(rng, 1.8) - 0.5)
    away = [
        (rows + bend - y) ** 2 + (columns + bend - x) ** 2 for y, x in points
    ]
    return np.asarray(np.argmin(away, axis=0))


def masks_of(numbers: FloatArray, unlabelled: int = -1) -> Masks:
    """Return a label map as masks."""
    kept = [int(k) for k in np.unique(numbers) if k != unlabelled]
    items = (
        Instance(f"class {k}", mask_from_array(numbers == k)) for k in kept
    )
    return Masks(SIZE, tuple(items))


def semantic(kind: str, rng: Rng) -> Scene:
    """Return a label map with an error in one place."""
    true = cells(rng)
    wrong = true.copy()
    where, box = patch(rng, 50, 100)
    if kind == "classification":
        own = np.bincount(true[where].astype(int)).argmax()
        where = where & (true == own)
        # a class that is not beside the region
        near = np.unique(
            true[cv2.dilate(where.astype(np.uint8), np.ones((9, 9))) > 0]
        )
        others = [k for k in np.unique(true) if k not in near]
        wrong[where] = others[0] if others else 90
        box = box_of(where)
    elif kind == "background":
        rows, columns = np.where(true[:, 1:] != true[:, :-1])
        k = int(rng.integers(rows.size))
        where = np.zeros(SIZE, dtype=np.uint8)
        cv2.circle(
            where,
            (int(columns[k]), int(rows[k])),
            int(rng.integers(22, 45)),
            1,
            -1,
        )
        wrong[where > 0] = 99
        box = box_of(where > 0)
    elif kind == "missed":
        wrong[where] = -1
    else:
        own = int(rng.choice(np.unique(true)))
        grown = (
            cv2.dilate(
                (true == own).astype(np.uint8), np.ones((11, 11), np.uint8)
            )
            > 0
        )
        wrong[grown] = own
        box = box_of(grown & (true != own))
    return Scene(masks_of(wrong), masks_of(true), kind, box)


def referring(kind: str, rng: Rng) -> Scene:
    """Return the mask of a referred object with an error."""
    while True:
        (own, _), (other, _) = patch(rng, 50, 90), patch(rng, 50, 90)
        if not (own & other).any():
            break
    if kind == "wrong_instance":
        mask, box = other, box_of(other)
    elif kind == "boundary":
        mask = cv2.dilate(own.astype(np.uint8), np.ones((15, 15), np.uint8)) > 0
        box = box_of(mask | own)
    elif kind == "localization":
        mask = np.roll(own, tuple(rng.choice([-14, 14], 2)), axis=(0, 1))
        box = box_of(mask | own)
    else:
        rows, _ = np.where(own)
        mask = own.copy()
        mask[: int(np.quantile(rows, rng.uniform(0.3, 0.6)))] = False
        box = box_of(own & ~mask)
    masks = (
        Masks(SIZE, (Instance("it", mask_from_array(m)),)) for m in (mask, own)
    )
    return Scene(*masks, kind, box)


# ---------------------------------------------------------------- people


def person(rng: Rng, x: float) -> Person:
    """Return a stick figure around ``x``."""
    height = rng.uniform(110, 190)
    y = rng.uniform(12, SIZE[0] - height - 12)
    ups = [
        0.04,
        0.02,
        0.02,
        0.04,
        0.04,
        0.2,
        0.2,
        0.36,
        0.36,
        0.5,
        0.5,
        0.52,
        0.52,
        0.74,
        0.74,
        0.97,
        0.97,
    ]
    outs = [
        0,
        0.03,
        0.03,
        0.07,
        0.07,
        0.13,
        0.13,
        0.19,
        0.19,
        0.23,
        0.23,
        0.1,
        0.1,
        0.11,
        0.11,
        0.12,
        0.12,
    ]
    sides = np.array([0, *([1, -1] * 8)])
    points = np.zeros((17, 3))
    points[:, 0] = x + height * (
        np.array(outs) * sides + rng.normal(0, 0.012, 17)
    )
    points[:, 1] = y + height * (np.array(ups) + rng.normal(0, 0.008, 17))
    points[:, 2] = 2
    corners = (*points[:, :2].min(0).tolist(), *points[:, :2].max(0).tolist())
    return Person(
        points, bbox=corners, area=0.35 * (corners[2] - corners[0]) * height
    )


def around(point: FloatArray, reach: float) -> Xyxy:
    """Return a box around a point."""
    x, y = point[:2].tolist()
    return x - reach, y - reach, x + reach, y + reach


def keypoint(kind: str, rng: Rng) -> Scene:
    """Return people, one with an error."""
    people = [person(rng, x) for x in (70, 240)]
    own, other = people
    points = own.keypoints.copy()
    k = int(rng.integers(5, 17))
    scale = 2 * OKS_SIGMAS[k] * float(own.area or 1) ** 0.5
    box = around(points[k], scale)
    if kind == "jitter":
        away = scale * np.sqrt(-2 * np.log(rng.uniform(0.55, 0.8)))
        turn = rng.uniform(0, 2 * np.pi)
        points[k, :2] += away * np.array([np.cos(turn), np.sin(turn)])
    elif kind == "inversion":
        left, right = MIRRORED[int(rng.integers(4, len(MIRRORED)))]
        points[[left, right]] = points[[right, left]]
        ends = points[[left, right], :2]
        box = (*(ends.min(0) - scale).tolist(), *(ends.max(0) + scale).tolist())
    elif kind == "swap":
        points[k] = other.keypoints[k]
    elif kind == "missed":
        points[k, :2] = [155, points[k, 1]]
    shown = [replace(own, keypoints=points), other]
    if kind == "background":
        extra = person(rng, 155)
        shown.append(extra)
        box = tuple(extra.bbox or box)  # type: ignore[assignment]
    return Scene(People(tuple(shown)), People(tuple(people)), kind, box)


RESTORED = ("residual", "oversmoothing", "noise", "colour_shift", "blocking")
CASES: dict[str, tuple[Callable[[str, Rng], Scene], tuple[str, ...]]] = {
    "semantic_segmentation": (semantic, ("classification", "background", "missed", "boundary")),
    "referring_segmentation": (referring, ("wrong_instance", "boundary", "localization", "missed")),
    "keypoint": (keypoint, ("jitter", "inversion", "swap", "missed", "background")),
    "depth_estimation": (depth, ("scale", "noise", "blur", "ordinal")),
    "lowlevel-derain": (restored, RESTORED),
    "lowlevel-denoise": (partial(restored, source=photograph), RESTORED),
}  # fmt: skip


def measured(task: str, scene: Scene) -> Iterator[Fault]:
    """Yield the faults of a scene's prediction."""
    stated = faults_of(
        task, scene.prediction, scene.truth, None, scene.input_image
    )
    for one in stated["faults"]:
        yield Fault(one["kind"], tuple(one["box"]), one["weight"])


def outcome(task: str, scene: Scene) -> tuple[bool, bool, tuple[str, ...]]:
    """Return whether the planted fault is found, whether there is one elsewhere, and
    the kinds."""
    faults = list(measured(task, scene))
    boxes = np.array([one.box for one in faults]).reshape(-1, 4)
    at = points_at(boxes, np.array([scene.box]))
    found = any(
        hit and one.kind == scene.kind
        for hit, one in zip(at, faults, strict=True)
    )
    return found, not at.all(), tuple(sorted({one.kind for one in faults}))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--scenes", type=int, default=100)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    for task, (make, kinds) in CASES.items():
        if options.only not in task:
            continue
        totals = defaultdict[str, list[bool]](list)
        for kind in kinds:
            rng = np.random.default_rng([2026, kinds.index(kind)])
            rows = [
                outcome(task, make(kind, rng)) for _ in range(options.scenes)
            ]
            found = [row[0] for row in rows]
            elsewhere = [row[1] for row in rows]
            totals["found"] += found
            totals["elsewhere"] += elsewhere
            others = Counter(row[2] for row in rows if not row[0]).most_common(
                2
            )
            print(
                f"{task:24} {kind:16} found {100 * np.mean(found):5.1f} %, elsewhere "
                f"{100 * np.mean(elsewhere):5.1f} %  {others or ''}"
            )
        print(
            f"{task:24} {'all':16} found {100 * np.mean(totals['found']):5.1f} %, "
            f"elsewhere {100 * np.mean(totals['elsewhere']):5.1f} %"
        )


if __name__ == "__main__":
    main()
