"""COCO run lengths of a mask from its crop alone: the runs, not the pixels, are what is worked on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pycocotools import mask as coco_mask

from visualjudge.records import Mask


def compressed_rle(mask: Mask) -> dict[str, Any]:
    """``{"size": [height, width], "counts": str}``; pycocotools decodes it to the exact mask."""
    height, width = mask.size
    counts = _counts(mask)
    packed = coco_mask.frPyObjects({"size": [height, width], "counts": counts.tolist()}, height, width)
    return {"size": [height, width], "counts": packed["counts"].decode("ascii")}


def _counts(mask: Mask) -> NDArray[np.int64]:
    """Run lengths in column-major order, background first."""
    height, width = mask.size
    if mask.crop.size == 0:
        return np.array([height * width])
    rows, cols = mask.crop.shape
    columns = np.zeros((cols, rows + 2), dtype=np.int8)
    columns[:, 1:-1] = mask.crop.T
    at = np.flatnonzero(np.diff(columns.ravel()))  # starts and ends in turn: each column is framed by zeros
    col, row = np.divmod(at, rows + 2)
    edges = (mask.left + col) * height + mask.top + row
    starts, ends = edges[0::2], edges[1::2]
    apart = starts[1:] != ends[:-1]  # a run that goes on at the top of the next column is one run
    edges = np.stack([starts[np.r_[True, apart]], ends[np.r_[apart, True]]], axis=1).ravel()
    return np.diff(np.concatenate([[0], edges, [height * width]]))
