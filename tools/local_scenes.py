"""Scenes with exact truth to train the local judge on: textured objects on a ground,
people as jointed figures.

Textures are crops of photographs that scikit-image ships and the demo does not show. No
image of the demo is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import cv2
import numpy as np
from skimage import data as photographs

from visualjudge.apps.demo.data import DEGRADATIONS, Degrade
from visualjudge.apps.demo.photographs import Photograph
from visualjudge.core.records import FloatArray, Pixels
from visualjudge.vision.predictions import Instance, Person
from visualjudge.vision.raster.masks import mask_from_array

SIZE = (240, 320)
TEXTURES = (
    "brick",
    "grass",
    "gravel",
    "retina",
    "hubble_deep_field",
    "immunohistochemistry",
    "moon",
    "page",
    "clock",
)
LABELS = ("ball", "box", "bottle", "leaf", "stone")
Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Scene:
    """A photograph-like record, and nearness 0..1 of each pixel."""

    photo: Photograph
    depth: FloatArray


@cache
def _texture(name: str) -> Pixels:
    pixels = getattr(photographs, name)()
    rgb = (
        np.repeat(pixels[:, :, None], 3, axis=2)
        if pixels.ndim == 2
        else pixels[:, :, :3]
    )
    return np.ascontiguousarray(
        rgb if rgb.dtype == np.uint8 else (rgb * 255).astype(np.uint8)
    )


def scene(number: int, *, people: int = 0) -> Scene:
    """Scene ``number``: the same number gives the same scene on any machine."""
    rng = np.random.default_rng([20_26, number, people])
    canvas, depth = _ground(rng)
    _litter(canvas, rng, int(rng.choice([0, 25, 80, 160])))
    objects: list[Instance] = []
    common = rng.choice(
        LABELS, rng.choice([1, 2, 3], p=[0.4, 0.4, 0.2]), replace=False
    )
    looks = {label: int(rng.integers(1 << 31)) for label in common}
    for nearness in np.sort(rng.uniform(0.15, 0.95, rng.integers(3, 9))):
        label = str(rng.choice(common))
        shape = _standing(_shape(label, rng), nearness, rng)
        if shape.sum() < 30:
            continue
        objects.append(Instance(label, mask_from_array(shape)))
        look = (
            np.random.default_rng(looks[label]) if rng.random() < 0.6 else rng
        )
        _paint(canvas, shape, look, parts=1 if rng.random() < 0.6 else 2)
        _litter(canvas, rng, int(rng.choice([0, 0, 6])), within=shape)
        depth[shape] = nearness
    figures = [_figure(canvas, depth, rng, place) for place in range(people)]
    pixels = _photographed(canvas, rng)
    visible = _visible(objects)
    photo = Photograph(
        f"scene{number}",
        pixels,
        "ground",
        "a scene",
        visible,
        tuple(figures),
        (),
    )
    return Scene(photo, depth)


def _ground(rng: np.random.Generator) -> tuple[Array, FloatArray]:
    """A wall above a ground that comes nearer towards the bottom."""
    height, width = SIZE
    horizon = int(height * rng.uniform(0.2, 0.5))
    canvas = np.empty((height, width, 3))
    canvas[:horizon], canvas[horizon:] = (
        _crop((horizon, width), rng),
        _crop((height - horizon, width), rng),
    )
    rows = np.clip((np.arange(height) - horizon) / (height - horizon), 0, 1)
    depth = np.broadcast_to(0.1 + 0.9 * rows[:, None], SIZE).copy()
    return canvas, depth


def _litter(
    canvas: Array,
    rng: np.random.Generator,
    count: int,
    within: Array | None = None,
) -> None:
    """Fallen leaves of many sizes, one over the other, as edges of things that nobody
    marked (Lee et al., IJCV 2001).

    With ``within`` they stay inside a shape: markings on an object.
    """
    for radius in 4.0 * rng.uniform(0.02, 1.0, count) ** -0.6:
        size = int(min(2.2 * radius, 90)) + 4
        top, left = (int(rng.integers(-size // 2, n - size // 2)) for n in SIZE)
        rows, columns = (
            slice(max(0, top), max(0, top + size)),
            slice(max(0, left), max(0, left + size)),
        )
        leaf = np.zeros((size, size), dtype=np.uint8)
        outline = _shape(str(rng.choice(LABELS)), rng) * radius + size / 2
        cv2.fillPoly(leaf, [np.rint(outline).astype(np.int32)], 1)
        here = canvas[rows, columns]
        seen = (
            leaf[max(0, -top) :, max(0, -left) :][
                : here.shape[0], : here.shape[1]
            ]
            > 0
        )
        if within is not None:
            seen &= within[rows, columns]
        here[seen] = _crop((size, size), rng)[: here.shape[0], : here.shape[1]][
            seen
        ]


def _crop(size: tuple[int, int], rng: np.random.Generator) -> Array:
    """A tinted crop of a texture at a random zoom, shaded from one side."""
    source = _texture(TEXTURES[rng.integers(len(TEXTURES))])
    zoom = rng.uniform(0.5, 2.0)
    wanted = [
        min(n, max(8, int(m * zoom)))
        for n, m in zip(source.shape[:2], size, strict=True)
    ]
    top, left = (
        int(rng.integers(0, n - w + 1))
        for n, w in zip(source.shape[:2], wanted, strict=True)
    )
    piece = cv2.resize(
        source[top : top + wanted[0], left : left + wanted[1]], size[::-1]
    ).astype(np.float64)
    contrast, tint = (
        rng.uniform(0.15, 0.9),
        rng.uniform(30, 225) + rng.normal(0, 20, 3),
    )
    shade = np.linspace(rng.uniform(0.7, 1), rng.uniform(0.8, 1.2), size[1])[
        None, :, None
    ]
    return (contrast * (piece - piece.mean(axis=(0, 1))) + tint) * shade


def _shape(label: str, rng: np.random.Generator) -> Array:
    """A closed outline around the origin, n×2, with a half height of about 1."""
    angles = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    if label == "box":
        corners = np.array(
            [[-1, -1], [1, -1], [1, 1], [-1, 1]], dtype=np.float64
        )
        return corners * [rng.uniform(0.5, 1.8), 1] + rng.normal(
            0, 0.05, (4, 2)
        )
    radius = {
        "ball": np.ones(60),
        "bottle": 1
        / np.maximum(
            np.abs(np.cos(angles)) * rng.uniform(1.8, 3), np.abs(np.sin(angles))
        ),
        "leaf": 0.6 + 0.4 * np.abs(np.sin(angles * rng.integers(2, 4))),
        "stone": 1
        + sum(
            rng.normal(0, 0.15 / k) * np.cos(k * angles + rng.uniform(0, 6))
            for k in range(1, 6)
        ),
    }[label]
    return np.stack([np.cos(angles), np.sin(angles)], axis=1) * radius[:, None]


def _standing(
    outline: Array, nearness: float, rng: np.random.Generator
) -> Array:
    """The outline on the ground at a distance: nearer is lower and larger. H×W bool."""
    height, width = SIZE
    half = height * (0.06 + 0.2 * nearness) * np.exp(rng.uniform(-1.0, 0.7))
    centre = (
        rng.uniform(0.05, 0.95) * width,
        height * (0.25 + 0.55 * nearness),
    )
    canvas = np.zeros(SIZE, dtype=np.uint8)
    cv2.fillPoly(canvas, [np.rint(outline * half + centre).astype(np.int32)], 1)
    return canvas > 0


def _paint(
    canvas: Array, shape: Array, rng: np.random.Generator, parts: int
) -> None:
    """Fill a shape with a texture, its lower half with another where it has two parts,
    and darken the ground below.
    """
    shadow = np.roll(shape, (3, 6), axis=(0, 1)) & ~shape
    canvas[shadow] *= rng.uniform(0.6, 1)
    canvas[shape] = _crop(SIZE, rng)[shape]
    if parts > 1 and shape.any():
        rows = np.flatnonzero(shape.any(axis=1))
        lower = shape & (np.arange(SIZE[0])[:, None] > rows.mean())
        canvas[lower] = _crop(SIZE, rng)[lower]


def _photographed(canvas: Array, rng: np.random.Generator) -> Pixels:
    """Out of focus a little, noisy, and compressed as a camera would."""
    soft = cv2.GaussianBlur(canvas, (0, 0), rng.uniform(0.4, 1.2))
    noisy = np.clip(
        soft + rng.normal(0, rng.uniform(0, 4), canvas.shape), 0, 255
    ).astype(np.uint8)
    _, stored = cv2.imencode(
        ".jpg", noisy, [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(80, 98))]
    )
    return np.asarray(cv2.imdecode(stored, cv2.IMREAD_COLOR))


def _visible(objects: list[Instance]) -> tuple[Instance, ...]:
    """What is seen of each object behind those painted after it; slivers are left
    out."""
    taken = np.zeros(SIZE, dtype=np.bool_)
    kept: list[Instance] = []
    for item in reversed(objects):
        rest = item.mask.dense() & ~taken
        taken |= rest
        if rest.sum() > 60:
            kept.append(Instance(item.label, mask_from_array(rest)))
    return tuple(reversed(kept))


# ---------------------------------------------------------------- people

_BONES = (  # from, to, length in trunks, usual direction in degrees (90 = down), spread
    (5, 7, 0.62, 100, 40), (7, 9, 0.55, 80, 60), (6, 8, 0.62, 80, 40), (8, 10, 0.55, 100, 60),
    (11, 13, 0.88, 92, 25), (13, 15, 0.86, 90, 20), (12, 14, 0.88, 88, 25), (14, 16, 0.86, 90, 20),
)  # fmt: skip


def _figure(
    canvas: Array, depth: FloatArray, rng: np.random.Generator, place: int
) -> Person:
    """A person in a random pose, painted, with the 17 keypoints of COCO; some faces
    away, some parts out of sight.
    """
    height, width = SIZE
    trunk = height * rng.uniform(0.15, 0.28)
    facing = 1.0 if rng.random() < 0.75 else -1.0
    turned = rng.uniform(0.35, 1.0) * facing
    points = np.zeros((17, 3))
    points[:, 2] = 2
    neck = np.array(
        [
            (0.25 + 0.45 * place + rng.uniform(-0.1, 0.1)) * width,
            height * rng.uniform(0.25, 0.4),
        ]
    )
    lean = rng.normal(0, 0.12)
    hip = neck + trunk * np.array([np.sin(lean), np.cos(lean)])
    for (left, right), centre, wide in (
        ((5, 6), neck, 0.4),
        ((11, 12), hip, 0.26),
    ):
        aside = np.array([trunk * wide * turned, 0])
        points[left, :2], points[right, :2] = centre + aside, centre - aside
    nose = neck - [-trunk * 0.05 * rng.normal(), trunk * 0.42]
    points[0, :2] = nose
    for left, right, dx, dy in ((1, 2, 0.075, -0.08), (3, 4, 0.16, -0.04)):
        step = np.array([trunk * dx * turned, 0])
        points[left, :2], points[right, :2] = (
            nose + step + [0, trunk * dy],
            nose - step + [0, trunk * dy],
        )
    for start, end, length, usual, spread in _BONES:
        angle = np.deg2rad(90 + (usual - 90) * turned + rng.normal(0, spread))
        reach = trunk * length * rng.uniform(0.75, 1.05)
        points[end, :2] = points[start, :2] + reach * np.array(
            [np.cos(angle), np.sin(angle)]
        )
    _draw_figure(canvas, depth, points, trunk, rng)
    outside = (
        (points[:, 0] < 0)
        | (points[:, 1] < 0)
        | (points[:, 0] >= width)
        | (points[:, 1] >= height)
    )
    points[outside | (rng.random(17) < rng.choice([0, 0.25]))] = 0
    present = points[:, 2] > 0
    low, high = points[present, :2].min(axis=0), points[present, :2].max(axis=0)
    return Person(
        points, bbox=(*low, *high), area=float(np.prod(high - low)) * 0.6
    )


def _draw_figure(
    canvas: Array,
    depth: FloatArray,
    points: Array,
    trunk: float,
    rng: np.random.Generator,
) -> None:
    body = np.zeros(SIZE, dtype=np.uint8)
    thick = max(2, int(trunk * 0.22))
    at = [tuple(int(v) for v in point) for point in points[:, :2]]
    cv2.fillPoly(
        body, [np.array([at[5], at[6], at[12], at[11]], dtype=np.int32)], 1
    )
    for start, end, *_ in _BONES:
        cv2.line(body, at[start], at[end], 1, thick)
    cv2.circle(body, at[0], int(trunk * 0.22), 1, -1)
    _paint(canvas, body > 0, rng, parts=2)
    depth[body > 0] = 0.7


# ---------------------------------------------------------------- degraded


def degraded(clean: Pixels, task: str, rng: np.random.Generator) -> Pixels:
    """An input for a restoration task: by the demo's degradation, or in half of the
    cases by another of its kind.
    """
    return np.asarray(
        (DEGRADATIONS if rng.random() < 0.5 else _OTHERWISE)[task](clean, rng),
        dtype=np.uint8,
    )


def _defocus(clean: Pixels, rng: np.random.Generator) -> Pixels:
    radius = int(rng.integers(2, 5))
    disc = cv2.getStructuringElement(
        cv2.MORPH_ELLIPSE, (2 * radius + 1,) * 2
    ).astype(np.float32)
    return np.asarray(
        cv2.filter2D(clean, -1, disc / disc.sum()), dtype=np.uint8
    )


def _drizzle(clean: Pixels, rng: np.random.Generator) -> Pixels:
    """Sparse noise smeared in one direction, added."""
    drops = (rng.random(clean.shape[:2]) < rng.uniform(0.001, 0.008)).astype(
        np.float32
    )
    length = int(rng.integers(7, 22))
    streak = np.zeros((length, length), dtype=np.float32)
    lean = rng.uniform(-0.4, 0.4) * length / 2
    cv2.line(
        streak,
        (round(length / 2 - lean), 0),
        (round(length / 2 + lean), length - 1),
        1.0,
    )
    rain = np.clip(cv2.filter2D(drops, -1, streak), 0, 1)[:, :, None]
    return np.clip(clean + rng.uniform(60, 160) * rain, 0, 255).astype(np.uint8)


def _flurry(clean: Pixels, rng: np.random.Generator) -> Pixels:
    """Soft flakes of several sizes over a veil."""
    flakes = np.zeros(clean.shape[:2], dtype=np.float32)
    for radius, share in ((1.0, 0.005), (2.0, 0.002), (3.5, 0.0006)):
        seeds = (rng.random(clean.shape[:2]) < share).astype(np.float32)
        flakes += (
            cv2.GaussianBlur(seeds, (0, 0), radius) * 2 * np.pi * radius**2
        )
    share = np.clip(flakes + rng.uniform(0, 0.25), 0, 0.95)[:, :, None]
    return np.rint(clean * (1 - share) + 240 * share).astype(np.uint8)


def _decimated(clean: Pixels, rng: np.random.Generator) -> Pixels:
    height, width = clean.shape[:2]
    return np.asarray(
        cv2.resize(
            clean, (width // 4, height // 4), interpolation=cv2.INTER_CUBIC
        ),
        dtype=np.uint8,
    )


_OTHERWISE: dict[str, Degrade] = {
    "lowlevel-deblur": _defocus,
    "lowlevel-derain": _drizzle,
    "lowlevel-desnow": _flurry,
    "lowlevel-super-resolution": _decimated,
}
