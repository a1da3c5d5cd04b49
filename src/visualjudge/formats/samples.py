"""The samples that importers yield, their records' errors and warnings, turned boxes,
and maps that must have the size of their image. What becomes of them is in
``data/importing.py``.
"""

import math
import warnings
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from visualjudge.core.errors import (
    DataError,
    InvalidRecord,
    Problem,
    UsageError,
)
from visualjudge.core.records import Size, Xyxy
from visualjudge.formats.pairing import ByKey, Side
from visualjudge.vision.predictions import Prediction
from visualjudge.vision.raster.images import orientation
from visualjudge.vision.tasks import TASKS, task_named

RESIZE = (
    "is it of this image? `resize_pred` resizes predictions to the image's size"
)
# The metadata of an image that the files of predictions do not name: nothing was found
# there, or the model was not run on it.
NO_PREDICTION: Mapping[str, Any] = {"no_prediction": True}


@dataclass(frozen=True, eq=False)
class Sample:
    """An image with a source's prediction and the ground truth, not yet scored.

    ``file`` is the prediction's own file, if any (depth map, image). It is copied
    unchanged, and ``extra`` (scale, inverse) is added to its payload. ``final_score``
    (0..10) is set if the score is given; ``truth`` may then be None. ``key``
    distinguishes several predictions of one source on one image.
    """

    image_id: str
    image: Path | None
    prediction: Prediction
    truth: Prediction | None = None
    # Classes that can be scored on this image, for tasks with a class of interest. The
    # default is the classes of the ground truth without its crowd regions.
    labels: tuple[str, ...] | None = None
    # Classes that were looked for on this image, if not all were (LVIS).
    judged: frozenset[str] | None = None
    key: str = ""
    prompt: str | None = None
    source: str | None = None
    file: Path | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    final_score: float | None = None
    mask: Path | None = None
    control: Path | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    # Whether white in mask is the region to fill or the region to keep.
    mask_white: Literal["fill", "keep"] = "fill"
    # Whether a mask of another size than the image is resized to it.
    resize_mask: bool = False


Samples = Iterator[Sample | Problem]


def check_type(task: str, types: Collection[str], reader: str) -> str:
    """Return the prediction type of ``task``, which must be in ``types``; ``reader``
    names the importer in the error.

    Raises
    ------
    UsageError
        If the task does not exist or has another type; the message lists the tasks that
        can be read.
    """
    result = task_named(task).type
    if result not in types:
        raise UsageError(
            f"{reader} files have no {task}; they have: "
            + ", ".join(row.name for row in TASKS.values() if row.type in types)
        )
    return result


def named(sample: Sample, prefix: str) -> str:
    """Return the ``image_id`` of a sample: ``prefix``, in which ``{folder}`` stands for
    its image's folder, and its own name.
    """
    if sample.image is not None and "{folder}" in prefix:
        prefix = prefix.replace("{folder}", sample.image.resolve().parent.name)
    return prefix.replace("{folder}", "") + sample.image_id


def invalid(file: Path, record: str, field: str, reason: str) -> InvalidRecord:
    """Return the error for a record that cannot be used."""
    return InvalidRecord(Problem(file.name, record, field, reason))


def warn_once(file: object, text: str, places: Sequence[str]) -> None:
    """Warn of a kind of record, naming the first of ``places``; nothing if there is
    none."""
    if places:
        warnings.warn(
            f"{file}: {places[0]}: {text}; records like this: {len(places)}",
            stacklevel=2,
        )


def compared(
    images: Iterable[tuple[str, Path]],
    truth: Callable[[str, Path], Side],
    pred: Callable[[str, Path], Side] | None,
    records: ByKey[Any],
) -> Samples:
    """Yield the sample of each (key, image), whose sides are read by key and image.
    Without ``pred``, the truth is its own prediction. An invalid record becomes a
    problem. ``records`` are those of predictions: an image without one has none.
    """
    for key, image in images:
        try:
            real = truth(key, image)
            result = real.without_crowds() if pred is None else pred(key, image)
        except InvalidRecord as error:
            yield error.problem
        else:
            yield Sample(
                image.stem,
                image,
                result,
                real,
                metadata={}
                if pred is None or records.find(key) is not None
                else NO_PREDICTION,
            )


def other_size(
    what: str, actual: Size, size: Size, image: Path, *, remedy: str = ""
) -> DataError:
    """Return the error for a ``what`` whose (height, width) differs from its image,
    with a likely reason.
    """
    likely = (
        "are height and width swapped, or is it of another image?"
        if actual == size[::-1]
        else remedy
    )
    hint = exif_hint(actual, size, image) or (f"; {likely}" if likely else "")
    return DataError(
        f"{what} must be {size[0]}×{size[1]}, got {actual[0]}×{actual[1]} "
        f"(height×width){hint}"
    )


def exif_hint(actual: Size, size: Size, image: Path) -> str:
    """Return a hint if EXIF orientation rotated an image of (height, width) ``size``,
    otherwise an empty string.
    """
    return (
        "; the image has an EXIF orientation: give `exif` ignore if annotations were "
        "made on the image as stored"
        if actual == size[::-1] and orientation(image) in (5, 6, 7, 8)
        else ""
    )


def fitted(
    values: NDArray[Any], size: Size, file: Path, image: Path, *, resize: bool
) -> NDArray[Any]:
    """Return an H×W map that has its image's (height, width). With ``resize``, other
    sizes are resized by nearest neighbour.

    Raises
    ------
    DataError
        If the map has another size and ``resize`` is False.
    """
    if values.shape == size:
        return values
    if not resize:
        raise other_size(
            f"{file.name}:",
            (values.shape[0], values.shape[1]),
            size,
            image,
            remedy=RESIZE,
        )
    return np.asarray(
        cv2.resize(values, size[::-1], interpolation=cv2.INTER_NEAREST)
    )


def turned(
    box: Sequence[float], degrees: float, *, about_corner: bool = False
) -> tuple[float, ...]:
    """Return the ring x, y, x, y, … of a box [x, y, width, height] turned clockwise
    about its centre, or about its first corner.
    """
    x, y, width, height = map(float, box)
    middle = (0.0, 0.0) if about_corner else (width / 2, height / 2)
    sine = math.sin(math.radians(degrees))
    cosine = math.cos(math.radians(degrees))
    ring: tuple[float, ...] = ()
    for across, down in (
        (0.0, 0.0),
        (width, 0.0),
        (width, height),
        (0.0, height),
    ):
        right = across - middle[0]
        below = down - middle[1]
        ring += (
            round(x + middle[0] + right * cosine - below * sine, 9),
            round(y + middle[1] + right * sine + below * cosine, 9),
        )
    return ring


def hull(ring: Sequence[float]) -> Xyxy:
    """Return the upright box around points x, y, x, y, …"""
    return min(ring[::2]), min(ring[1::2]), max(ring[::2]), max(ring[1::2])
