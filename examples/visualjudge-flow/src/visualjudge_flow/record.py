"""Flow fields (Middlebury's .flo files or KITTI's 16-bit PNG), and how well one fits
another."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

import visualjudge as vj
from visualjudge.core.atomic import atomic_path
from visualjudge.core.errors import DataError, UsageError, in_field
from visualjudge.vision import fields
from visualjudge.vision.base import ReadContext, WriteContext

UNKNOWN = 1e9
"""A component of a .flo file beyond this stands for an unknown vector (Middlebury's
rule)."""


@dataclass(frozen=True, eq=False, slots=True)
class Flow(vj.Prediction):
    """Motion of each pixel to the next frame: ``vectors`` H×W×2 float32 in pixels
    (right, down), ``valid`` H×W bool.
    """

    vectors: NDArray[np.float32]
    valid: NDArray[np.bool_]

    @property
    def extent(self) -> tuple[int, int]:
        return self.vectors.shape[0], self.vectors.shape[1]

    @property
    def lengths(self) -> NDArray[np.float32]:
        """Length of each vector in pixels, H×W."""
        return np.hypot(self.vectors[..., 0], self.vectors[..., 1])

    def scaled(self, size: tuple[int, int], target: tuple[int, int]) -> Flow:
        """The nearest vector of each pixel, in pixels of the resized image."""
        height, width = target
        factor = np.array([width / size[1], height / size[0]], np.float32)
        vectors, valid = (
            cv2.resize(values, (width, height), interpolation=cv2.INTER_NEAREST)
            for values in (self.vectors, self.valid.astype(np.uint8))
        )
        return Flow(vectors * factor, valid.astype(bool))

    def check(self, size: tuple[int, int]) -> None:
        fields.check_size("flow", self.extent, size)
        if not self.valid.any():
            raise DataError("flow: has no valid vector")


def flow_of(
    vectors: NDArray[Any], valid: NDArray[np.bool_] | None = None
) -> Flow:
    """A flow field of an H×W×2 array; vectors that are not finite or beyond 1e9 are
    unknown."""
    if vectors.ndim != 3 or vectors.shape[2] != 2:
        raise DataError(f"must be an H×W×2 array, got shape {vectors.shape}")
    known = (np.abs(np.nan_to_num(vectors, nan=np.inf)) < UNKNOWN).all(axis=2)
    known = known if valid is None else known & valid
    return Flow(
        np.where(known[..., None], vectors, 0).astype(np.float32), known
    )


def read_flow(path: Path) -> Flow:
    """A flow field from a ``.flo`` or a KITTI ``.png`` file.

    Raises
    ------
    DataError
        If the file is missing, malformed, or of another format.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    match path.suffix.lower():
        case ".flo":
            try:
                return flow_of(cv2.readOpticalFlow(str(path)))
            except (
                cv2.error,
                AttributeError,
            ):  # OpenCV raises, or returns None
                raise DataError(
                    f"{path}: must be a complete .flo file"
                ) from None
        case ".png":
            stored = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
            if (
                stored is None
                or stored.dtype != np.uint16
                or stored.shape[2:] != (3,)
            ):
                raise DataError(
                    f"{path}: is not a KITTI flow PNG (three channels of 16 bits)"
                )
            valid, v, u = cv2.split(stored)
            return flow_of(
                (np.dstack([u, v]).astype(np.float32) - 2**15) / 64, valid > 0
            )
    raise DataError(f"{path}: must be a .flo or .png file")


def read(payload: Any, reading: ReadContext) -> Flow:
    """The record of a payload, whose ``flow`` is a path or an array."""
    stored = payload.get("flow")
    if stored is None:
        raise DataError("flow: the field is missing")
    with in_field("flow"):
        if isinstance(stored, np.ndarray):
            return flow_of(stored)
        return read_flow(fields.path(stored, reading.root))


def write(flow: Flow, writing: WriteContext) -> dict[str, Any]:
    """The payload: the path of a ``.flo`` file, in which unknown vectors are 1e10."""
    vectors = np.where(flow.valid[..., None], flow.vectors, 1e10).astype(
        np.float32
    )
    with atomic_path(writing.root / f"{writing.stem}.flo") as scratch:
        cv2.writeOpticalFlow(str(scratch), vectors)
    return {"flow": f"{writing.stem}.flo"}


def end_point(prediction: Flow, truth: Flow, *, limit: float = 10.0) -> float:
    """1 − mean over valid truth pixels of min(end-point error, ``limit`` pixels) /
    ``limit``.

    A pixel without a prediction counts as ``limit``. End-point error: Otte and Nagel
    1994; Baker et al. 2011.
    """
    if limit <= 0:
        raise UsageError(f"limit must be above 0, got {limit}")
    return float(
        1 - np.minimum(_errors(prediction, truth), limit).mean() / limit
    )


def inliers(prediction: Flow, truth: Flow) -> float:
    """1 − Fl (KITTI 2015): the share of valid truth pixels with an error below 3 px or
    5 %."""
    errors = _errors(prediction, truth)
    return float(
        ((errors < 3) | (errors < 0.05 * truth.lengths[truth.valid])).mean()
    )


def _errors(prediction: Flow, truth: Flow) -> np.ndarray:
    if prediction.extent != truth.extent:
        raise DataError(
            f"flow: prediction is {prediction.extent}, the truth {truth.extent} "
            "(height, width)"
        )
    if not truth.valid.any():
        raise DataError("flow: the truth has no valid vector")
    gaps = np.linalg.norm(prediction.vectors - truth.vectors, axis=2)
    return np.where(prediction.valid, gaps, np.inf)[truth.valid]


METRICS = (
    vj.Metric("flow", "epe", end_point, frozenset({"limit"})),
    vj.Metric("flow", "outliers", inliers),
)
