"""Features of a set of labelled regions on a view, for the local judge: along their
outlines, sums over the items, overlaps, colour differences, coverage. Whether another
place would fit better is in ``view_places.py``.
"""

from collections.abc import Mapping, Sequence

import cv2
import numpy as np

from visualjudge.core.records import BoolArray, FloatArray, Mask
from visualjudge.vision import view_places
from visualjudge.vision.raster.overlaps import box_ious
from visualjudge.vision.view import Plane, View

Features = dict[str, float]
# Number of view pixels on either side of a boundary that are compared.
BAND = 3
FEWEST_PIXELS = 4
# Lengths of shifts, as shares of the longer side.
PARTITION_SHIFTS = {"near": 0.02, "far": 0.15}
# IoU above which items with the same label, or with any labels, count as repeated.
SAME = 0.3
STACKED = 0.5


def region_features(
    view: View,
    labels: Sequence[str],
    regions: Sequence[Mask],
) -> Features:
    """Return the features of the labelled regions of one image."""
    masks = [mask_on_view(view, region) for region in regions]
    rows_looks = [_mask(view, mask) for mask in masks]
    rows = {
        name: np.array([row[name] for row, _ in rows_looks])
        for name in (rows_looks[0][0] if rows_looks else ())
    }
    looks = np.array([look for _, look in rows_looks]).reshape(-1, 3)
    boxes = np.array(
        [region.xyxy for region in regions], dtype=np.float64
    ).reshape(-1, 4)
    number = np.zeros(
        view.edges.shape,
        dtype=np.uint16,
    )
    for k, mask in enumerate(masks, 1):
        number[mask] = k
    return (
        set_features(rows, len(regions))
        | overlaps(labels, box_ious(boxes, boxes))
        | alike(labels, looks)
        | covering(view, number > 0)
        | partition(view, number)
        | partition_places(view, number)
    )


def set_features(
    rows: Mapping[str, FloatArray],
    count: int,
) -> Features:
    """Return the number of items and the sum of each of their features.

    With a weight for each feature and for the number, each item contributes a positive
    or negative amount. Means and minima depend on the number of items, and weights
    learned from them did not transfer to photographs.
    """
    sums = {f"sum_{name}": float(values.sum()) for name, values in rows.items()}
    return {
        "count": float(count),
        "log_count": float(np.log1p(count)),
        **sums,
    }


def overlaps(
    labels: Sequence[str],
    iou: FloatArray,
) -> Features:
    """Measure how far items repeat others, of the same label and of any label. Of two
    items, the one that overlaps more in total counts as the repeat.
    """
    less = iou.sum(axis=1)[:, None] > iou.sum(axis=1)
    earlier = np.where(
        less | (np.tri(len(iou), k=-1) > 0) & ~less.T,
        iou,
        0,
    )
    names, number = (
        np.unique(labels, return_inverse=True)
        if labels
        else (
            np.array([]),
            np.array([], dtype=int),
        )
    )
    equal = number[:, None] == number[None, :]
    same = np.where(
        equal & (earlier > SAME),
        earlier,
        0,
    ).max(axis=1, initial=0)
    stacked = np.where(earlier > STACKED, earlier, 0).max(axis=1, initial=0)
    return {
        "repeats": float(same.sum()),
        "stacked": float(stacked.sum()),
        "labels": float(len(names)),
        "uneven": (int(np.bincount(number).max()) if labels else 0)
        / max(1, len(labels)),
    }


def alike(
    labels: Sequence[str],
    looks: FloatArray,
) -> Features:
    """Return the mean colour distance (n×3 CIELAB) between items of the same label and
    of different labels, in units of 20.
    """
    apart = (
        np.linalg.norm(
            looks[:, None] - looks[None, :],
            axis=2,
        )
        / 20
    )
    equal = np.array(
        [[label == two for two in labels] for label in labels], dtype=bool
    ).reshape(apart.shape)
    lower = np.tril(np.ones_like(equal), -1)
    same, other = (
        float(apart[where].mean()) if where.any() else 0.0
        for where in (equal & lower, ~equal & lower)
    )
    return {"same_apart": same, "other_apart": other}


def covering(view: View, inside: BoolArray) -> Features:
    """Return the covered share of the image, and by how much the covered share of
    salience exceeds it.
    """
    where = inside.view(np.uint8)
    covered = float(cv2.countNonZero(where)) / inside.size
    return {
        "covered": covered,
        "salient_in": cv2.mean(view.salient, mask=where)[0] * covered - covered,
    }


def partition(view: View, number: np.ndarray) -> Features:
    """Return the share of the colour variance that the regions explain (h×w region
    numbers; the rest of the image is another region).
    """
    flat = number.ravel().astype(np.intp)
    counted = np.bincount(flat)
    present = counted > 0
    pixels = counted[present]
    sums = np.array(
        [np.bincount(flat, weights=plane)[present] for plane in view.centred]
    )
    return {
        "explained": float((sums**2 / pixels).sum()) / max(view.variance, 1e-6)
    }


def partition_places(view: View, number: np.ndarray) -> Features:
    """Return how much more of the colour variance the regions explain, and how much
    stronger the edges on their boundaries are, than after small and large shifts that
    wrap around the image.
    """
    height, width = number.shape
    colours = np.ascontiguousarray(
        view.centred.reshape(3, height, width)[:, ::2, ::2]
    )
    total = max(float((colours**2).sum()), 1e-6)
    half = np.ascontiguousarray(number[::2, ::2])
    rim = np.zeros(number.shape, dtype=np.uint8)
    rim[:, 1:] |= number[:, 1:] != number[:, :-1]
    rim[1:] |= number[1:] != number[:-1]
    own = _explained(colours, half) / total, cv2.mean(view.edges, mask=rim)[0]
    places = {}
    for name, share in PARTITION_SHIFTS.items():
        step = max(
            1,
            round(share * max(half.shape)),
        )
        ways = [
            (step, 0),
            (-step, 0),
            (0, step),
            (0, -step),
        ]
        explained = [
            _explained(
                colours,
                np.roll(half, way, axis=(0, 1)),
            )
            for way in ways
        ]
        edges = [
            cv2.mean(
                view.edges,
                mask=np.roll(
                    rim,
                    (2 * down, 2 * right),
                    axis=(0, 1),
                ),
            )[0]
            for down, right in ways
        ]
        places[f"explained_{name}"] = own[0] - float(np.mean(explained)) / total
        places[f"boundaries_{name}"] = own[1] - float(np.mean(edges))
    return places


def _explained(colours: FloatArray, number: np.ndarray) -> float:
    """Return the sum of squares of C×h×w ``colours`` (mean 0) between the regions."""
    flat = number.ravel().astype(np.intp)
    counted = np.maximum(np.bincount(flat), 1)
    sums = np.array(
        [np.bincount(flat, weights=plane.ravel()) for plane in colours]
    )
    return float((sums**2 / counted).sum())


def mask_on_view(view: View, mask: Mask) -> BoolArray:
    """Return the mask at the resolution of the view, h×w bool; empty if it is too thin
    to contain any pixel.
    """
    on_view = np.zeros(view.edges.shape, dtype=np.bool_)
    if not mask.area:
        return on_view
    height, width = view.edges.shape
    tall, wide = mask.shape
    rows, inside_y = _met(
        height,
        view.size[0],
        mask.top,
        tall,
    )
    columns, inside_x = _met(
        width,
        view.size[1],
        mask.left,
        wide,
    )
    on_view[rows, columns] = mask.crop[np.ix_(inside_y, inside_x)]
    return on_view


def _met(
    n: int,
    full: int,
    start: int,
    length: int,
) -> tuple[slice, np.ndarray]:
    """Return which of n positions along a side of ``full`` pixels lie in the crop from
    ``start``, and the crop's pixels at those positions."""
    middles = ((np.arange(n) + 0.5) * full / n).astype(int)
    first, last = np.searchsorted(middles, [start, start + length])
    return slice(int(first), int(last)), middles[first:last] - start


def _mask(view: View, mask: BoolArray) -> tuple[Features, FloatArray]:
    """Return the features of a mask and its mean colour."""
    rows, columns = _window(mask)
    near = mask[rows, columns].view(np.uint8)
    area = int(cv2.countNonZero(near)) if near.size else 0
    if area < FEWEST_PIXELS:
        return dict.fromkeys(_MASK, 0.0) | view_places.NOWHERE | {
            "parts": 1.0,
            "log_area": -9.0,
        }, np.zeros(3)
    padded = cv2.copyMakeBorder(
        near,
        1,
        1,
        1,
        1,
        cv2.BORDER_REPLICATE,
    )
    rim = (cv2.dilate(padded, None) - cv2.erode(padded, None))[1:-1, 1:-1]
    kernel = np.ones((2 * BAND + 1,) * 2, np.uint8)
    inner = near - cv2.erode(near, kernel)
    outer = cv2.dilate(near, kernel) - near
    edges = view.edges[rows, columns]
    lab = view.lab[rows, columns]
    off = (inner | outer) & (1 - rim)
    on_rim = _at(edges, rim)
    ring = _at(lab, outer)
    mean, spread = (np.ravel(part) for part in cv2.meanStdDev(lab, mask=near))
    full = bool(outer.any())
    at = view_places.samples_of_mask(mask)
    return {
        "edge": on_rim[0],
        "step": on_rim[0] - _at(edges, off)[0],
        "contrast": float(
            np.linalg.norm(np.subtract(_at(lab, inner), ring)[:3])
        )
        / 20
        if full
        else 0.5,
        "apart": float(np.linalg.norm(mean - ring[:3])) / 20 if full else 0.5,
        "rough": float(np.log(max(cv2.countNonZero(rim), 1) / np.sqrt(area))),
        "parts": float(cv2.connectedComponents(near)[0] - 1),
        "log_area": float(np.log(area / mask.size)),
        "even": float(spread.mean()) / 20,
        **(
            view_places.NOWHERE
            if at is None
            else view_places.evidence(view, at)
        ),
    }, mean


_MASK = (
    "edge",
    "step",
    "contrast",
    "apart",
    "rough",
    "parts",
    "log_area",
    "even",
)


def _window(mask: BoolArray) -> tuple[slice, slice]:
    """Return the rows and columns of a mask's neighbourhood."""
    x, y, width, height = cv2.boundingRect(mask.view(np.uint8))
    margin = BAND + 2
    return slice(
        max(0, y - margin),
        y + height + margin,
    ), slice(max(0, x - margin), x + width + margin)


def _at(plane: Plane, where: np.ndarray) -> tuple[float, ...]:
    """Return the mean of each channel of a plane over the nonzero pixels of a uint8
    array; 0 if there are none."""
    return tuple(cv2.mean(plane, mask=where))
