"""Flow fields: ``{"flow": "x.flo" | "x.png"}``, Middlebury's format or KITTI's 16-bit PNG."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from visualjudge.core.atomic import atomic_path
from visualjudge.core.errors import DataError, in_field
from visualjudge.vision import fields
from visualjudge.vision.predictions import Payload, Prediction, ReadContext, WriteContext

UNKNOWN = 1e9
"""A component of a .flo file beyond this stands for an unknown vector (Middlebury's rule)."""


@dataclass(frozen=True, eq=False, slots=True)
class Flow(Prediction):
    """Motion of each pixel to the next frame: ``vectors`` H×W×2 float32 in pixels (right, down),
    ``valid`` H×W bool.
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

    def check(self, size: tuple[int, int]) -> None:
        fields.check_size("flow", self.extent, size)
        if not self.valid.any():
            raise DataError("flow: has no valid vector")


def flow_of(vectors: NDArray[Any]) -> Flow:
    """A flow field of an H×W×2 array; vectors that are not finite or beyond 1e9 are unknown."""
    if vectors.ndim != 3 or vectors.shape[2] != 2:
        raise DataError(f"must be an H×W×2 array, got shape {vectors.shape}")
    valid = np.isfinite(vectors).all(axis=2) & (np.abs(np.nan_to_num(vectors)) < UNKNOWN).all(
        axis=2
    )
    return Flow(np.where(valid[..., None], vectors, 0).astype(np.float32), valid)


def read_flow(path: Path) -> Flow:
    """A flow field from a ``.flo`` or a KITTI ``.png`` file.

    Raises
    ------
    DataError
        If the file is missing, malformed, or of another format.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    readers = {".flo": _read_flo, ".png": _read_kitti}
    if path.suffix.lower() not in readers:
        raise DataError(f"{path}: must be a .flo or .png file")
    return readers[path.suffix.lower()](path)


def _read_flo(path: Path) -> Flow:
    try:
        vectors = cv2.readOpticalFlow(str(path))
    except cv2.error:  # a header with a negative size
        vectors = None
    if vectors is None:
        raise DataError(f"{path}: must be a complete .flo file")
    return flow_of(vectors)


def _read_kitti(path: Path) -> Flow:
    stored = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
    if stored is None or stored.dtype != np.uint16 or stored.ndim != 3 or stored.shape[2] != 3:
        raise DataError(f"{path}: is not a KITTI flow PNG (three channels of 16 bits)")
    valid, v, u = cv2.split(stored)
    vectors = (np.dstack([u, v]).astype(np.float32) - 2**15) / 64
    known = valid > 0
    return Flow(np.where(known[..., None], vectors, 0).astype(np.float32), known)


def read(payload: Payload, reading: ReadContext) -> Flow:
    """The record of a payload, whose ``flow`` is a path or an array."""
    stored = payload.get("flow")
    if stored is None:
        raise DataError("flow: the field is missing")
    with in_field("flow"):
        return (
            flow_of(stored)
            if isinstance(stored, np.ndarray)
            else read_flow(fields.path(stored, reading.root))
        )


def write(flow: Flow, writing: WriteContext) -> dict[str, Any]:
    """The payload of a record: the path of the ``.flo`` file that is written; unknown vectors
    become 1e10.
    """
    vectors = np.where(flow.valid[..., None], flow.vectors, 1e10).astype(np.float32)
    with atomic_path(writing.root / f"{writing.stem}.flo") as scratch:
        cv2.writeOpticalFlow(str(scratch), vectors)
    return {"flow": f"{writing.stem}.flo"}
