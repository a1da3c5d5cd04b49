"""Masks in all forms found in files: COCO RLE, COCO polygons, PNG paths, arrays.
Records of labelled masks are in ``vision/masks/record.py``.
"""

import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import cv2
import numpy as np
from hotcoco import mask as coco_mask
from numpy.typing import NDArray
from PIL import Image

from visualjudge.core.errors import DataError
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.records import BoolArray, Mask, Size
from visualjudge.vision import fields
from visualjudge.vision.raster.images import (
    largest_channel,
    opened,
    stored_samples,
)
from visualjudge.vision.raster.limits import (
    LARGEST_VERTEX,
    LONGEST_OUTLINE,
    MASKS_OF_AN_IMAGE,
    MOST_POINTS,
    PIXELS_VARIABLE,
    check_pixels,
    most_pixels,
)

# Maximum fraction of pixels in a mask file that are neither black nor white.
MOST_BETWEEN = 0.2
_NUMBERS = frozenset({int, float, np.float64, np.float32, np.int64, np.int32})
Item = TypeVar("Item")


@dataclass(slots=True)
class Budget:
    """The pixels that the masks of a prediction may have. A hundred bytes of RLE are a
    mask of the whole image, so each is counted before the next is made."""

    spent: int = 0

    def admit(self, item: Item) -> Item:
        """Return a mask, or an item which may have one.

        Raises
        ------
        DataError
            If the boxes around the masks so far have too many pixels.
        """
        mask = getattr(item, "mask", item)  # of a box or a polygon None
        self.spent += math.prod(mask.shape) if isinstance(mask, Mask) else 0
        if self.spent > MASKS_OF_AN_IMAGE * most_pixels():
            raise DataError(
                "masks: must have at most "
                f"{MASKS_OF_AN_IMAGE * most_pixels():,} pixels in the boxes around "
                f"them, got {self.spent:,}; {PIXELS_VARIABLE} sets the bound, "
                f"{MASKS_OF_AN_IMAGE} times as much"
            )
        return item


def mask_from_array(dense: NDArray[Any]) -> Mask:
    """Return the mask of an H×W array: the pixels whose value is > 0."""
    if dense.ndim != 2:
        raise DataError(f"a mask must be H×W, got shape {dense.shape}")
    inside = (
        np.ascontiguousarray(dense, dtype=np.bool_)
        if dense.dtype == np.bool_
        else dense > 0
    )
    left, top, width, height = cv2.boundingRect(inside.view(np.uint8))
    return mask_of_crop(
        inside.shape, top, left, inside[top : top + height, left : left + width]
    )


def mask_of_crop(size: Size, top: int, left: int, crop: NDArray[Any]) -> Mask:
    """Return the mask of an image of (height, width) ``size`` with the pixels of a
    crop, bool or 0 and 1, whose top-left pixel is at (``top``, ``left``)."""
    return Mask(
        size,
        top,
        left,
        crop.shape,
        area=int(np.count_nonzero(crop)),
        packed=zlib.compress(np.packbits(crop).data, level=1),
    )


def empty_mask(size: Size) -> Mask:
    """Return a mask of (height, width) ``size`` without pixels."""
    return mask_of_crop(size, 0, 0, np.zeros((0, 0), dtype=np.bool_))


def covered(masks: Iterable[Mask], size: Size) -> BoolArray:
    """Return the pixels of an image of (height, width) ``size`` that masks cover, H×W
    bool."""
    inside = np.zeros(size, dtype=np.bool_)
    for mask in masks:
        inside[mask.window] |= mask.crop
    return inside


def shared_area(mask: Mask, inside: BoolArray) -> int:
    """Return the number of pixels of a mask that are in an H×W area."""
    crop = mask.crop
    return int(
        np.count_nonzero(np.logical_and(crop, inside[mask.window], out=crop))
    )


def mask_from_rle(rle: Fields) -> Mask:
    """Return the mask of a COCO RLE, compressed (``counts`` is text or bytes) or not
    (``counts`` is a list).

    Raises
    ------
    DataError
        If ``size`` or ``counts`` is missing or malformed, or the counts do not match
        the size.
    """
    size = _rle_size(rle)
    check_pixels("a mask", size)
    counts = rle.get("counts")
    try:
        frame = coco_mask.decode({"size": size, "counts": counts})
    except (ValueError, TypeError) as error:
        raise DataError(f"RLE counts cannot be decoded: {error}") from None
    total = _total(counts, frame)
    if total != frame.size:
        raise DataError(
            f"RLE counts must add up to height × width of size, {size[0]}×{size[1]}, "
            f"got {total}"
        )
    return _cropped(frame, coco_mask.to_bbox({"size": size, "counts": counts}))


def mask_from_polygons(polygons: Sequence[Sequence[float]], size: Size) -> Mask:
    """Return the union of COCO polygons (``[x, y, x, y, …]`` each), rasterised as COCO
    does."""
    check_pixels("a mask", size)
    if not all(isinstance(ring, list | tuple) for ring in polygons):
        raise DataError(
            "a polygon segmentation must be a list of polygons, each x, y, x, y, …"
        )
    if sum(map(len, polygons)) > 2 * MOST_POINTS:
        raise DataError(
            f"the polygons of a mask must have at most {MOST_POINTS} points"
        )
    rings = [_ring(ring) for ring in polygons]
    if sum(map(_outline, rings)) > LONGEST_OUTLINE:
        raise DataError(
            f"the outline of a mask must be at most {LONGEST_OUTLINE} pixels long"
        )
    if not rings:
        return empty_mask(size)
    fields.check_in_pixels(np.concatenate(rings), "a polygon")
    whole = coco_mask.merge(
        [coco_mask.fr_poly(ring.tolist(), *size) for ring in rings]
    )
    return _cropped(coco_mask.decode(whole), coco_mask.to_bbox(whole))


def _ring(ring: Sequence[float]) -> NDArray[np.float64]:
    """Check a polygon and return it as x, y, x, y, … for native code."""
    if len(ring) < 6 or len(ring) % 2:
        raise DataError(
            "a polygon must be a flat list of at least 3 points: x, y, x, y, x, y"
        )
    if not set(map(type, ring)) <= _NUMBERS:
        raise DataError("a polygon's coordinates must be numbers")
    try:
        values = np.array(ring, dtype=np.float64)
    except OverflowError:
        values = np.array([np.inf])
    if not (np.abs(values) <= LARGEST_VERTEX).all():  # NaN compares false
        raise DataError(
            f"a polygon's coordinates must be finite and at most {LARGEST_VERTEX:g}"
        )
    return values


def _outline(ring: NDArray[np.float64]) -> int:
    """Return the number of pixels along a polygon, at least one per point."""
    points = ring.reshape(-1, 2)
    steps = np.abs(np.diff(points, axis=0, append=points[:1])).max(axis=1)
    return int(steps.sum()) + len(points)


def mask_from_png(path: str | Path, size: Size | None = None) -> Mask:
    """Read a mask from an image file, which must have (height, width) ``size`` if
    given.

    In a file with two values, the mask has the higher value; three are ambiguous. Other
    files (a JPEG, an antialiased edge) are thresholded at half the range of their type,
    provided that at most a fifth of the pixels lie between 10 % and 90 % of it.

    Raises
    ------
    DataError
        If the file cannot be read, has another size, or is a photograph rather than a
        mask.
    """
    with opened(path) as image:
        if size is not None and size != image.size[::-1]:
            fields.check_size(str(path), image.size[::-1], size)
        samples = mask_samples(image)
    if image.mode in (
        "RGBA",
        "LA",
    ):  # drawn only in the alpha channel, it has no white
        colours = samples[:, :, :-1]
        alpha = samples[:, :, -1]
        if alpha.min() < alpha.max() and (colours == colours[:1, :1]).all():
            raise DataError(
                f"{path}: must be black and white, got a mask only in the alpha channel"
            )
    values = largest_channel(samples)
    if values.dtype == np.bool_:
        return mask_from_array(values)
    distinct = distinct_values(values)
    if len(distinct) <= 2:
        return mask_from_array(
            values == distinct[-1] if distinct[-1] > 0 else values > 0
        )
    top = 255 if int(distinct[-1]) <= 255 else 65535
    between = float(((values > 0.1 * top) & (values < 0.9 * top)).mean())
    if between > MOST_BETWEEN:
        raise DataError(
            f"{path}: must be black and white, got {100 * between:.0f} % of the pixels "
            "in between: is it a photograph?"
        )
    if (
        len(distinct) == 3 or distinct[-1] <= top // 2
    ):  # classes, or an area to ignore
        numbers = ", ".join(map(str, distinct[:4]))
        raise DataError(
            f"{path}: must be black and white, got the values {numbers}, … up to "
            f"{distinct[-1]} of {top}"
        )
    return mask_from_array(values > top / 2)


def mask_samples(image: Image.Image) -> NDArray[Any]:
    """Return the samples of a mask in an opened file, H×W or H×W×C. Where it has a
    palette they are colours, because a writer may list white first.

    Raises
    ------
    DataError
        If two colours are equally bright, so that neither is the mask's.
    """
    if image.mode not in ("P", "PA"):
        return stored_samples(image)
    colours = np.asarray(image.convert("RGB"))
    bright = largest_channel(colours)
    count = len(np.unique(colours.reshape(-1, 3), axis=0))
    if count > len(distinct_values(bright)):
        raise DataError(
            f"must be black and white, got a palette of {count} colours"
        )
    return bright


def distinct_values(values: NDArray[Any]) -> list[int]:
    """Return the distinct values in ascending order. For bytes, counting is twenty
    times faster than sorting; NumPy's would take eight bytes a pixel.
    """
    return list(
        np.flatnonzero(
            cv2.calcHist([values.ravel()], [0], None, [256], (0, 256))
        ).tolist()
        if values.dtype == np.uint8
        else np.unique(values).tolist()
    )


def mask_from_wire(
    segmentation: Any, size: Size | None = None, root: Path | None = None
) -> Mask:
    """Return the mask of any supported form: RLE dict, polygon list, image path
    (relative to ``root``), H×W array, or Mask.

    Raises
    ------
    DataError
        If the form is unsupported or malformed, or is a polygon list and ``size`` is
        unknown.
    """
    match segmentation:
        case Mask():
            return segmentation
        case np.ndarray():
            return _mask_of_two_values(segmentation)
        case {"size": _, "counts": _}:
            return mask_from_rle(segmentation)
        case str() | Path():
            return mask_from_png(fields.path(segmentation, root), size)
        case list() | tuple():
            if size is None:
                raise DataError(
                    "polygons do not contain the image size: give size=(height, width)"
                )
            return mask_from_polygons(segmentation, size)
        case _:
            raise DataError(
                "a segmentation must be a COCO RLE, a COCO polygon list or a PNG path"
            )


def _mask_of_two_values(values: NDArray[Any]) -> Mask:
    """Return the pixels of the higher of two values, as in a file. Refuse
    probabilities, soft edges and numbers of instances."""
    distinct = [] if values.dtype == np.bool_ else distinct_values(values)
    if len(distinct) > 2 or not np.isfinite(distinct).all():
        raise DataError(
            f"a mask must be bool or have two values, got an array of {values.dtype}"
        )
    return mask_from_array(
        values == distinct[-1] if len(distinct) == 2 else values
    )


def resized_mask(mask: Mask, size: Size) -> Mask:
    """Return the mask resized to (height, width) by nearest neighbour; unchanged if the
    size is equal.
    """
    return (
        mask
        if mask.size == size
        else mask_from_array(
            cv2.resize(
                mask.dense().view(np.uint8),
                size[::-1],
                interpolation=cv2.INTER_NEAREST,
            )
        )
    )


def rle_of(mask: Mask) -> Json:
    """Return the compressed COCO RLE, ``{"size": [height, width], "counts": str}``."""
    packed = packed_rle(mask)
    return {"size": packed["size"], "counts": packed["counts"].decode("ascii")}


def packed_rle(mask: Mask) -> Json:
    """Return the compressed COCO RLE in pycocotools' form (``counts`` is bytes)."""
    height, width = mask.size
    columns = np.zeros(
        (width, height), dtype=np.uint8
    )  # runs go down the columns
    if mask.area:
        rows, across = mask.window
        columns[across, rows] = cv2.transpose(mask.crop.view(np.uint8))
    return dict(coco_mask.encode(columns.T))


def _cropped(frame: NDArray[np.uint8], box: NDArray[np.float64]) -> Mask:
    """Return the mask of an H×W array of 0 and 1 whose box is (left, top, width,
    height)."""
    left, top, width, height = map(int, box)
    crop = frame[top : top + height, left : left + width]
    return (
        mask_of_crop(frame.shape, top, left, crop)
        if crop.size
        else empty_mask(frame.shape)
    )


def _total(counts: Any, frame: NDArray[np.uint8]) -> int:
    """Return the sum of an RLE's run lengths. hotcoco and pycocotools take counts that
    are cut short and leave the rest of the image empty. Counts that are what the
    decoded frame is encoded to are whole; others, with runs of 0, are rare: they are
    numbers of 5 bits a character, from the fourth on differences from the run before
    last."""
    if isinstance(counts, list):
        return sum(counts)
    text = counts.encode() if isinstance(counts, str) else counts
    if text == coco_mask.encode(frame)["counts"]:
        return frame.size
    runs: list[int] = []
    value = shift = 0
    for code in text:
        value |= (code - 48 & 31) << shift
        shift += 5
        if not code - 48 & 32:
            value -= (code - 48 & 16) << (shift - 4)  # the sign
            runs.append(value + (runs[-2] if len(runs) > 2 else 0))
            value = shift = 0
    if shift:
        raise DataError("RLE counts are cut short")
    return sum(runs)


def _rle_size(rle: Fields) -> Size:
    size = rle.get("size")
    if (
        not isinstance(size, list | tuple)
        or len(size) != 2
        or not all(
            isinstance(v, int) and not isinstance(v, bool) and v > 0
            for v in size
        )
    ):
        raise DataError(f"an RLE's size must be [height, width], got {size!r}")
    return int(size[0]), int(size[1])
