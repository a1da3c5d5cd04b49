"""Masks in every form that files hold: COCO RLE, COCO polygons, PNG paths, arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from pycocotools import mask as coco_mask

from visualjudge.data.images import read_gray
from visualjudge.errors import DataError
from visualjudge.records import Mask, Size

EMPTY_CROP = np.zeros((0, 0), dtype=np.bool_)


def mask_from_array(dense: NDArray[Any]) -> Mask:
    """The mask of an H×W array: a pixel is in it where the value is > 0."""
    if dense.ndim != 2:
        raise DataError(f"a mask is H×W, not of shape {dense.shape}")
    inside = np.ascontiguousarray(dense, dtype=np.bool_) if dense.dtype == np.bool_ else dense > 0
    left, top, width, height = cv2.boundingRect(inside.view(np.uint8))
    if width == 0 or height == 0:
        return Mask(inside.shape, 0, 0, EMPTY_CROP)
    crop = np.ascontiguousarray(inside[top : top + height, left : left + width])
    return Mask(inside.shape, top, left, crop)


def empty_mask(size: Size) -> Mask:
    """A mask of (height, width) ``size`` with no pixel in it."""
    return Mask(size, 0, 0, EMPTY_CROP)


def mask_from_rle(rle: Mapping[str, Any]) -> Mask:
    """The mask of a COCO RLE, compressed (``counts`` text or bytes) or not (``counts`` a list).

    Raises
    ------
    DataError
        If ``size`` or ``counts`` is missing or malformed, or the counts do not fill the size.
    """
    return _mask_from_coco(compressed(rle))


def compressed(rle: Mapping[str, Any]) -> dict[str, Any]:
    """``rle`` in compressed form, ``{"size": [height, width], "counts": bytes}``, its counts checked."""
    height, width = _rle_size(rle)
    counts = rle.get("counts")
    if isinstance(counts, list):
        if not all(isinstance(run, int) and not isinstance(run, bool) and run >= 0 for run in counts):
            raise DataError("RLE counts are whole numbers of 0 and above")
        if sum(counts) != height * width:
            raise DataError(f"RLE counts add up to {sum(counts)}, not to {height}×{width}")
        packed = coco_mask.frPyObjects({"size": [height, width], "counts": counts}, height, width)
        return {"size": [height, width], "counts": packed["counts"]}
    if not isinstance(counts, str | bytes):
        raise DataError("an RLE's counts are a string or a list of numbers")
    text = counts.encode() if isinstance(counts, str) else counts
    covered = _compressed_length(text)
    if covered != height * width:
        raise DataError(f"RLE counts add up to {covered}, not to {height}×{width}")
    return {"size": [height, width], "counts": text}


def mask_from_polygons(polygons: Sequence[Sequence[float]], size: Size) -> Mask:
    """The union of COCO polygons (``[x, y, x, y, …]`` each), rasterised as pycocotools does."""
    rings = []
    for ring in polygons:
        if len(ring) < 6 or len(ring) % 2:
            raise DataError("a polygon is a flat list of at least 3 points: x, y, x, y, x, y")
        if not all(isinstance(v, int | float) and np.isfinite(v) for v in ring):
            raise DataError("a polygon's coordinates are finite numbers")
        rings.append([float(v) for v in ring])
    if not rings:
        return empty_mask(size)
    return _mask_from_coco(coco_mask.merge(coco_mask.frPyObjects(rings, *size)))


def mask_from_png(path: str | Path) -> Mask:
    """The mask of a picture file: a pixel is in it where its value is > 0."""
    return mask_from_array(read_gray(path))


def mask_from_wire(segmentation: Any, size: Size | None = None, root: Path | None = None) -> Mask:
    """A mask in any form: RLE dict, polygon list, picture path (relative to ``root``), H×W array, or a Mask.

    Raises
    ------
    DataError
        If the form is none of these, is malformed, or is a polygon list and no ``size`` is known.
    """
    match segmentation:
        case Mask():
            return segmentation
        case np.ndarray():
            return mask_from_array(segmentation)
        case {"size": _, "counts": _}:
            return mask_from_rle(segmentation)
        case str() | Path():
            return mask_from_png(root / segmentation if root else segmentation)
        case list() | tuple():
            if size is None:
                raise DataError("polygons alone do not tell the image size: give size=(height, width)")
            return mask_from_polygons(_rings(segmentation), size)
        case _:
            raise DataError("a segmentation is a COCO RLE, a COCO polygon list or a PNG path")


def rle_of(mask: Mask) -> dict[str, Any]:
    """Compressed COCO RLE, ``{"size": [height, width], "counts": str}``."""
    packed = packed_rle(mask)
    return {"size": [int(v) for v in packed["size"]], "counts": packed["counts"].decode("ascii")}


def packed_rle(mask: Mask) -> dict[str, Any]:
    """Compressed COCO RLE as pycocotools takes it (``counts`` bytes)."""
    full = np.zeros(mask.size, dtype=np.uint8, order="F")
    full[mask.window] = mask.crop
    result: dict[str, Any] = coco_mask.encode(full)
    return result


def _mask_from_coco(rle: Mapping[str, Any]) -> Mask:
    height, width = (int(v) for v in rle["size"])
    x, y, w, h = (int(v) for v in coco_mask.toBbox(rle))
    if w <= 0 or h <= 0:
        return empty_mask((height, width))
    dense = coco_mask.decode(rle)
    crop = np.ascontiguousarray(dense[y : y + h, x : x + w]).view(np.bool_)
    return Mask((height, width), y, x, crop)


def _rle_size(rle: Mapping[str, Any]) -> Size:
    size = rle.get("size")
    if (
        not isinstance(size, list | tuple)
        or len(size) != 2
        or not all(isinstance(v, int) and not isinstance(v, bool) and v > 0 for v in size)
    ):
        raise DataError(f"an RLE's size is [height, width], not {size!r}")
    return int(size[0]), int(size[1])


def _compressed_length(counts: bytes) -> int:
    """Number of pixels that compressed counts cover (COCO's LEB128-like code, deltas from the third run on).

    pycocotools does not check this and reads past its buffer on a malformed string.
    """
    runs: list[int] = []
    value = shift = 0
    for byte in counts:
        code = byte - 48
        if not 0 <= code < 64:
            raise DataError("RLE counts hold a character outside COCO's code")
        value |= (code & 0x1F) << (5 * shift)
        shift += 1
        if code & 0x20:
            continue
        if code & 0x10:
            value |= -1 << (5 * shift)
        runs.append(value + runs[-2] if len(runs) > 2 else value)
        if runs[-1] < 0:
            raise DataError("RLE counts hold a negative run")
        value = shift = 0
    if shift:
        raise DataError("RLE counts are cut short")
    return sum(runs)


def _rings(polygons: Sequence[Any]) -> list[list[float]]:
    if polygons and isinstance(polygons[0], int | float):
        raise DataError("a polygon segmentation is a list of polygons, each a flat list of numbers")
    for ring in polygons:
        if not isinstance(ring, list | tuple):
            raise DataError("a polygon is a flat list of numbers")
    return [list(ring) for ring in polygons]
