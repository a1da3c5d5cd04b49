"""The samples that importers yield, and their records' errors and warnings."""

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
from typing import Any, Literal, TypeVar

from visualjudge.core.errors import (
    InvalidRecord,
    Problem,
    UsageError,
)
from visualjudge.vision.predictions import Prediction
from visualjudge.vision.tasks import TASKS, task_named

Side = TypeVar("Side", bound=Prediction)
RESIZE = "`resize_pred` resizes predictions to the image's size"


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
        known = ", ".join(
            row.name for row in TASKS.values() if row.type in types
        )
        raise UsageError(f"{reader} files have no {task}; they have: {known}")
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
) -> Samples:
    """Yield the sample of each (key, image), whose sides are read by key and image.
    Without ``pred``, the truth is its own prediction. An invalid record becomes a
    problem.
    """
    for key, image in images:
        try:
            real = truth(key, image)
            result = real.without_crowds() if pred is None else pred(key, image)
        except InvalidRecord as error:
            yield error.problem
        else:
            yield Sample(image.stem, image, result, real)
