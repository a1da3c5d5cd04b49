"""Features of place on a view, for the local judge: whether a prediction fits the
photograph better at its own place than elsewhere. Other features of regions are in
``view_items.py``.

Measurements at the place of an item are compared with those at other places: shifted
slightly, shifted far, resized, and on a grid over the photograph. The difference is
evidence from the photograph alone: properties of the item itself, such as its size and
shape, cancel, and over uniform grey every difference is 0.
"""

from dataclasses import dataclass

import cv2
import numpy as np

from visualjudge.core.records import BoolArray, FloatArray
from visualjudge.vision.view import View

# Lengths of shifts, as shares of the square root of an item's area.
NEAR = 0.08
FAR = 0.25
# Minimum lengths of shifts, in pixels of the view.
LEAST_NEAR = 2.0
LEAST_FAR = 5.0
RESIZED = {"near": (0.9, 1.1), "far": (0.75, 1.33)}
DIRECTIONS = np.array(
    [[x, y] for x in (-1, 0, 1) for y in (-1, 0, 1) if x or y], dtype=np.float64
)
GRID = 5
# Maximum number of sample points inside, in the ring and on the outline.
POINTS = 150
# Share of an item's points that must be on the image for a place to count.
SEEN = 0.7
# Decimals of the results, so that differences over uniform grey are exactly 0.
DIGITS = 6
SCALES = ("near", "far", "anywhere")


@dataclass(frozen=True, eq=False)
class Samples:
    """Sample points of an item: (n, 2) arrays of x and y on the view.

    ``outline`` has unit normals (n, 2); ``inside`` and ``ring`` are points on either
    side of it.
    """

    inside: FloatArray
    ring: FloatArray
    outline: FloatArray
    normals: FloatArray

    @property
    def side(self) -> float:
        """Square root of the area of the box around the item."""
        return float(np.sqrt(np.prod(np.ptp(self.outline, axis=0) + 1)))


def samples_of_mask(mask: BoolArray) -> Samples | None:
    """Return the sample points of a mask (h×w bool); None if it is too small."""
    area = int(np.count_nonzero(mask))
    if area < 9:
        return None
    band = max(2, round(0.1 * area**0.5))
    near = mask.view(np.uint8)
    soft = cv2.GaussianBlur(
        near.astype(np.float32),
        (0, 0),
        1.5,
    )
    dx = cv2.Sobel(soft, cv2.CV_32F, 1, 0)
    dy = cv2.Sobel(soft, cv2.CV_32F, 0, 1)
    kernel = np.ones((2 * band + 1,) * 2, np.uint8)
    padded = cv2.copyMakeBorder(
        near,
        1,
        1,
        1,
        1,
        cv2.BORDER_REPLICATE,
    )
    rim = (cv2.dilate(padded, None) - cv2.erode(padded, None))[1:-1, 1:-1]
    inside, ring, outline = (
        _spread(np.argwhere(part))
        for part in (
            near,
            cv2.dilate(near, kernel) - near,
            rim,
        )
    )
    if not len(ring) or not len(outline):
        return None
    rows, columns = outline.T
    normals = np.abs(
        np.stack([dx[rows, columns], dy[rows, columns]], axis=1)
    ).astype(np.float64)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-6)
    return Samples(
        _xy(inside),
        _xy(ring),
        _xy(outline),
        normals,
    )


def _xy(places: np.ndarray) -> FloatArray:
    return np.asarray(places[:, ::-1], dtype=np.float64)


def _spread(plane: np.ndarray) -> np.ndarray:
    """Return at most ``POINTS`` rows, evenly spread."""
    return plane[:: max(1, -(-len(plane) // POINTS))]


def evidence(view: View, at: Samples) -> dict[str, float]:
    """Return how much better an item's place is than places near, far and anywhere, by
    edges along its outline, contrast to its surroundings, and salience.
    """
    height, width = view.edges.shape
    middle = at.outline.mean(axis=0)
    places: list[tuple[float, float, float]] = [(0.0, 0.0, 1.0)]
    scale: list[int] = [-1]
    lengths = max(LEAST_NEAR, NEAR * at.side), max(LEAST_FAR, FAR * at.side)
    for k, (name, length) in enumerate(zip(SCALES, lengths, strict=False)):
        places += [(x, y, 1.0) for x, y in DIRECTIONS * length]
        places += [(0.0, 0.0, size) for size in RESIZED[name]]
        scale += [k] * (len(DIRECTIONS) + 2)
    reach = np.ptp(at.outline, axis=0) / 2
    spots = [
        np.linspace(
            min(r, n / 2),
            max(n - r, n / 2),
            GRID,
        )
        for r, n in zip(
            reach,
            (width, height),
            strict=True,
        )
    ]
    places += [
        (
            x - middle[0],
            y - middle[1],
            1.0,
        )
        for x in spots[0]
        for y in spots[1]
    ]
    scale += [2] * GRID**2
    edge, contrast, salient = _seen(
        view,
        at,
        middle,
        np.array(places),
    )
    kinds = np.array(scale)
    planes = {}
    for name, values in (
        ("edge", edge),
        ("contrast", contrast),
        ("salient", salient),
    ):
        for k, far in enumerate(SCALES):
            others = values[kinds == k]
            others = others[np.isfinite(others)]
            better = values[0] - others.mean() if len(others) else 0.0
            planes[f"{name}_{far}"] = round(
                float(np.nan_to_num(better)), DIGITS
            )
    return planes


NOWHERE = {
    f"{cue}_{far}": 0.0
    for cue in ("edge", "contrast", "salient")
    for far in SCALES
}


def _seen(
    view: View,
    at: Samples,
    middle: FloatArray,
    places: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return edges, contrast and salience at P places (P×3: x, y, size); NaN if too
    little is on the image."""
    outline, on_outline = _moved(at.outline, middle, places, view)
    inside, on_inside = _moved(at.inside, middle, places, view)
    ring, on_ring = _moved(at.ring, middle, places, view)
    across = (
        at.normals[:, 0] * view.dx[outline[1], outline[0]]
        + at.normals[:, 1] * view.dy[outline[1], outline[0]]
    )
    edge = _mean(np.minimum(across, 2.0)[..., None], on_outline)[:, 0]
    colours = [
        _mean(view.soft[y, x], on)
        for (x, y), on in ((inside, on_inside), (ring, on_ring))
    ]
    salience = [
        _mean(view.salient[y, x][..., None], on)[:, 0]
        for (x, y), on in ((inside, on_inside), (ring, on_ring))
    ]
    seen = (on_outline.mean(axis=1) >= SEEN) & (on_inside.mean(axis=1) >= SEEN)
    seen[0] = True
    contrast = np.linalg.norm(colours[0] - colours[1], axis=1) / 20
    values = edge, contrast, salience[0] - salience[1]
    return tuple(np.where(seen, value, np.nan) for value in values)  # type: ignore[return-value]


def _moved(
    points: FloatArray,
    middle: FloatArray,
    places: FloatArray,
    view: View,
) -> tuple[tuple[np.ndarray, np.ndarray], BoolArray]:
    """Return x and y of n points at P places, each P×n, clipped to the image, and which
    of them are on it."""
    height, width = view.edges.shape
    at = (points - middle) * places[:, None, 2:] + middle + places[:, None, :2]
    x = np.floor(at[..., 0]).astype(np.intp)
    y = np.floor(at[..., 1]).astype(np.intp)
    on = (x >= 0) & (y >= 0) & (x < width) & (y < height)
    return (np.clip(x, 0, width - 1), np.clip(y, 0, height - 1)), on


def _mean(values: np.ndarray, on: BoolArray) -> FloatArray:
    """Return the means over the points that are on the image: P×n×C to P×C."""
    return np.asarray(
        np.einsum(
            "pnc,pn->pc",
            values,
            (on / np.maximum(on.sum(axis=1, keepdims=True), 1)),
        )
    )
