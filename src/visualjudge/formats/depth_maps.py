"""Depth and disparity maps: npy, npz, PFM, and 16-bit PNG with a scale."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from visualjudge.core.errors import DataError, Problem, UsageError
from visualjudge.formats.sample import Found, Sample, aligned, check_type, fitted, unpaired
from visualjudge.vision.predictions import DepthMap
from visualjudge.vision.raster.images import image_size, read_depth

AS_THEY_ARE = (".npy", ".png")
"""Suffixes of maps that are copied to the data folder unchanged; other maps are saved as npy."""


FARTHEST_METRES = 255
"""PNG depths beyond this are assumed to be in another unit."""


@dataclass(frozen=True)
class DepthForm:
    """How to interpret stored values: depth = value × ``scale``, or a disparity if ``inverse``."""

    scale: float = 1.0
    inverse: bool = False

    @classmethod
    def of(cls, scale: str, inverse: bool, option: str) -> DepthForm:
        """Parse ``scale`` as given to ``option``, such as ``0.001`` or ``1/256``."""
        try:
            value = float(Fraction(scale))
        except (ValueError, ZeroDivisionError):
            raise UsageError(
                f"{option} must be a number such as 0.001 or 1/256, got {scale!r}"
            ) from None
        if value <= 0:
            raise UsageError(f"{option} must be above 0, got {scale!r}")
        return cls(value, inverse)

    def extra(self) -> dict[str, Any]:
        """The payload's fields other than the path."""
        return {
            **({} if self.scale == 1 else {"scale": self.scale}),
            **({"inverse": True} if self.inverse else {}),
        }


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
    resize_pred: bool = False,
) -> Found:
    """Yield samples of depth maps paired with images by name. Without ``pred``, the ground truth is
    its own prediction.

    ``gt``, ``pred`` and ``images`` are arguments of
    :func:`~visualjudge.formats.sample.files_by_key`.

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

    Raises
    ------
    UsageError
        If a scale is not a number above 0.
    """
    truth = DepthForm.of(gt_scale, gt_inverse, "--gt-scale")
    found = truth if pred is None else DepthForm.of(pred_scale, pred_inverse, "--pred-scale")
    check_type(task, ("depth",), "depth map")
    told = set[str]()
    for key, image, (gt_file, pred_file) in aligned(images, gt, gt if pred is None else pred):
        if gt_file is None or pred_file is None:
            side = "truth" if gt_file is None else "prediction"
            where = gt if side == "truth" else pred
            yield Problem(image.name, key, side, unpaired("depth map", key, where))
            continue
        side = "truth"
        try:
            size = image_size(image)
            real = _read(gt_file, truth, size, image, resize=False)
            side = "truth" if pred is None else "prediction"
            guess = _read(pred_file, found, size, image, resize=resize_pred and pred is not None)
        except DataError as error:
            yield Problem(image.name, key, side, str(error))
            continue
        sides = [("--gt-scale", gt_file, real, truth), ("--pred-scale", pred_file, guess, found)]
        for option, file, depth, form in sides[: 1 if pred is None else 2]:
            if option not in told and _has_no_unit(file, depth, form):
                told.add(option)
                warnings.warn(
                    f"{file}: contains whole numbers up to {depth.values.max():g}, which are read "
                    f"as metres; {option} sets their unit, such as 1/1000 or 1/256",
                    stacklevel=2,
                )
            below = depth.values < 0
            if option[:5] not in told and below.any():
                told.add(option[:5])
                warnings.warn(
                    f"{file}: depth must be above 0 (0: no value), got {int(below.sum())} of "
                    f"{below.size} pixels below 0, minimum {depth.values.min():.4g}; they are "
                    "treated as missing; negate the values if their sign is reversed",
                    stacklevel=2,
                )
        kept = pred_file if pred_file.suffix.lower() in AS_THEY_ARE and not resize_pred else None
        yield Sample(image.stem, image, guess, real, file=kept, extra=found.extra() if kept else {})


def _has_no_unit(path: Path, depth: DepthMap, form: DepthForm) -> bool:
    """Return whether the values of a PNG read as metres look like millimetres or 1/256 m."""
    unscaled = path.suffix.lower() == ".png" and form == DepthForm()
    return unscaled and bool(depth.values.max() > FARTHEST_METRES)


def _read(
    path: Path, form: DepthForm, size: tuple[int, int], image: Path, *, resize: bool
) -> DepthMap:
    values = fitted(read_depth(path), size, path, image, resize=resize)
    depth = DepthMap(values * form.scale, form.inverse)
    if not depth.valid.any():
        raise DataError(f"{path.name}: has no valid value")
    if not (depth.values > 0).any():
        raise DataError(
            f"{path.name}: must contain depths above 0, got none (minimum "
            f"{np.nanmin(depth.values):.4g}); negate the values if their sign is reversed"
        )
    return depth
