"""Depth and disparity maps: npy, npz, PFM, and 16-bit PNG with a scale. Label maps are
in ``label_maps.py``; the record, in ``vision/depth/record.py``.
"""

import warnings
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from visualjudge.core.errors import DataError, Problem, UsageError
from visualjudge.core.records import FloatArray
from visualjudge.formats.pairing import paired
from visualjudge.formats.samples import (
    Sample,
    Samples,
    check_type,
    fitted,
)
from visualjudge.vision.predictions import DepthMap
from visualjudge.vision.raster.images import image_size, read_depth

# Suffixes of maps that are copied to the data folder unchanged; other maps are saved as
# npy.
AS_THEY_ARE = (".npy", ".png")


# Values that mark a hole or the sky (the largest of 16 bits and of float32, and
# Blender's), and the number of pixels from which they are no depth.
SUFFIXES_OF_BYTES = (".png", ".bmp", ".tif", ".tiff", ".npy", ".npz")
BYTE = 255.0
# How many times a value is beyond all others if it marks something.
APART = 2.0
HOLES = (65535.0, 1e10, float(np.finfo(np.float32).max))
PATCH = 16
# PNG depths beyond this are assumed to be in another unit.
FARTHEST_METRES = 255


# The factor of stored values, and whether they are disparities.
Form = tuple[float, bool]


def _form(scale: str, inverse: bool, option: str) -> Form:
    try:
        value = float(Fraction(scale))
    except (ValueError, ZeroDivisionError):
        value = 0.0
    if value <= 0:
        raise UsageError(
            f"{option} must be a number above 0, such as 0.001 or 1/256, got {scale}"
        )
    return value, inverse


def depth_maps(
    task: str,
    gt: str,
    pred: str | None,
    images: str,
    *,
    gt_scale: str = "1",
    pred_scale: str = "1",
    gt_inverse: bool = False,
    pred_inverse: bool = False,
    hole: Sequence[float] = (),
    resize_pred: bool = False,
) -> Samples:
    """Yield samples of depth maps paired with images by name. Without ``pred``, the
    ground truth is its own prediction.

    ``gt``, ``pred`` and ``images`` are arguments of
    :func:`~visualjudge.formats.pairing.files_by_key`.

    Parameters
    ----------
    gt_scale
        Depth = stored value × scale, such as 0.001 or 1/256.
    pred_scale
        The same for the predictions.
    gt_inverse
        The ground truth is a disparity.
    pred_inverse
        The predictions are disparities.
    hole
        Stored value that marks pixels without a depth, on both sides.

    Raises
    ------
    UsageError
        If a scale is not a number above 0.
    """
    truth = _form(gt_scale, gt_inverse, "`gt_scale`")
    result = (
        truth
        if pred is None
        else _form(pred_scale, pred_inverse, "`pred_scale`")
    )
    check_type(task, ("depth",), "depth map")
    notes = set[Any]()
    extra = ({"scale": result[0]} if result[0] != 1 else {}) | (
        {"inverse": True} if result[1] else {}
    )

    def read(file: Path, image: Path, predicted: bool) -> DepthMap:
        option, form = ("`pred`", result) if predicted else ("`gt`", truth)
        stored = fitted(
            read_depth(file),
            image_size(image),
            file,
            image,
            resize=resize_pred and predicted,
        )
        depth = DepthMap(
            _without_holes(stored, file, hole, notes) * form[0], form[1]
        )
        if not (depth.valid & (depth.values > 0)).any():
            raise DataError(
                f"{file.name}: must contain depths above 0, got none; negate the "
                "values if their sign is reversed"
            )
        for kind, doubt in _doubts(depth, file, form, option):
            if (option, kind) not in notes:
                notes.add((option, kind))
                warnings.warn(f"{file}: {doubt}", stacklevel=2)
        return depth

    for item in paired("depth map", images, gt, pred, read):
        if isinstance(item, Problem):
            yield item
            continue
        name, image, guess, real, file = item
        whole = file.suffix.lower() in AS_THEY_ARE and not resize_pred
        original = file if whole and str(file) not in notes else None
        yield Sample(
            name,
            image,
            guess,
            real,
            file=original,
            extra=extra if original else {},
        )


def _without_holes(
    values: FloatArray, file: Path, stated: Sequence[float], reported: set[Any]
) -> FloatArray:
    """Return the values with those of a hole as NaN. told gets the file's name."""
    if stated:
        reported.add(str(file))
        return np.where(np.isin(values, stated), np.nan, values)
    holes = np.isin(values, HOLES)
    if not PATCH <= int(holes.sum()) < holes.size:
        return values
    if HOLES not in reported:
        warnings.warn(
            f"{file}: {int(holes.sum())} of {holes.size} pixels are "
            f"{values[holes][0]:.6g}, which marks a hole; in all files that have it "
            "so, they are read as holes, without a depth",
            stacklevel=2,
        )
    reported |= {HOLES, str(file)}
    return np.where(holes, np.nan, values)


def _doubts(
    depth: DepthMap, file: Path, form: Form, option: str
) -> Iterator[tuple[str, str]]:
    known = depth.values[np.isfinite(depth.values)]
    largest = known.max(initial=0.0)
    many = int(np.count_nonzero(known == largest))
    byte = (
        largest == BYTE * form[0] and file.suffix.lower() in SUFFIXES_OF_BYTES
    )
    second = known[known < largest].max(initial=0.0)
    apart = 0 < second * APART < largest
    below = depth.values < 0
    most = known.size - 1 if byte else known.size // 2
    if (byte or apart) and PATCH <= many <= most:
        stored = largest / form[0]
        yield (
            "hole",
            f"{many} pixels are {stored:g}, "
            f"{'the largest of 8 bits' if byte else 'far beyond all others'}, and are "
            f"read as a depth; if they mark holes or the sky, give hole {stored:g}",
        )
    if (
        file.suffix.lower() == ".png"
        and form == (1.0, False)
        and largest > FARTHEST_METRES
    ):
        yield (
            "unit",
            f"contains whole numbers up to {largest:g}, which are read as metres; "
            f"{option}-scale sets their unit, such as 1/1000 or 1/256",
        )
    if (infinite := np.isinf(depth.values).sum()) and (
        largest / form[0] > np.finfo(np.float16).max / 2
    ):
        yield (
            "infinite",
            f"{infinite} of {depth.values.size} pixels are infinite, as what is too "
            "large for 16 bits, and are read as holes; store depths in metres, or in "
            "32 bits",
        )
    if known.size and known.min() == largest:
        yield "flat", f"all pixels have one depth, {largest:g}"
    if below.any():
        yield (
            "sign",
            f"depth must be above 0 (0: no value), got {int(below.sum())} of "
            f"{below.size} pixels below 0, minimum {np.nanmin(depth.values):.4g}; they "
            "are treated as missing; negate the values if their sign is reversed",
        )
