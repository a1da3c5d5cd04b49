"""The predictions that a dataset shows, as data (``predictions.jsonl``), for judges
without a language model. The tools that read it are in ``judges/toolbox.py``.

There is one line per prediction of boxes, masks or poses, without its score, source or
other hints at its quality, and one line per region to fill. Depth maps and images are
read from the media files, which store them unchanged.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from visualjudge.core import jsons
from visualjudge.core.errors import DataError, in_field
from visualjudge.core.jsons import Json
from visualjudge.core.records import Mask
from visualjudge.core.typed_records import first_problem
from visualjudge.core.untrusted import confined_path
from visualjudge.vision.predictions import (
    Prediction,
    payload_of,
    read_prediction,
    type_of,
)
from visualjudge.vision.raster.masks import rle_of

PREDICTIONS = "predictions.jsonl"


def prediction_line(
    task: str, annotation_id: str, prediction: Prediction
) -> Iterator[bytes]:
    if type_of(task).file_field is None:
        payload = payload_of(
            task, prediction, root=Path(), stem="", digits=None
        )
        yield _line(
            {
                "task": task,
                "annotation_id": annotation_id,
                "prediction": payload,
            }
        )


def hole_line(task: str, image_id: str, hole: Mask) -> bytes:
    return _line({"task": task, "image_id": image_id, "mask": rle_of(hole)})


def _line(content: Mapping[str, Any]) -> bytes:
    return orjson.dumps(
        content, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE
    )


@dataclass(frozen=True, slots=True)
class StoredPrediction:
    """A line of the file: the prediction of an annotation, or the region to fill in an
    image."""

    task: str
    annotation_id: str | None = None
    prediction: Json | None = None
    image_id: str | None = None
    mask: Json | None = None

    def __post_init__(self) -> None:
        of_annotation = None not in (self.annotation_id, self.prediction)
        if of_annotation == (None not in (self.image_id, self.mask)):
            raise ValueError(
                "must have annotation_id and prediction, or image_id and mask"
            )


def stored_predictions(root: Path) -> Iterator[tuple[bytes, StoredPrediction]]:
    """Yield the lines of the file of a dataset, each as it is and as a record; blank
    ones are left out.

    Raises
    ------
    DataError
        If there is no such file, or a line is no such record or is there twice; the
        message names the line.
    """
    path = confined_path(root, PREDICTIONS)
    seen: set[tuple[str, str | None, str | None]] = set()
    record = TypeAdapter(StoredPrediction)
    for number, line in enumerate(jsons.lines(path), 1):
        if not line.strip():
            continue
        hint = "build the dataset again"
        try:
            row = record.validate_python(jsons.loads(line))
        except ValidationError as error:
            place, reason = first_problem(error)
            where = ": ".join([f"{path}: line {number}", *place])
            raise DataError(f"{where}: {reason}; {hint}") from None
        except ValueError as error:
            raise DataError(
                f"{path}: line {number}: must be JSON: {error}; {hint}"
            ) from None
        name = row.task, row.annotation_id, row.image_id
        if name in seen:
            raise DataError(f"{path}: line {number}: is there twice; {hint}")
        seen.add(name)
        yield line, row


class ShownPredictions:
    """The predictions of a dataset by task and annotation, kept in memory as their
    lines."""

    def __init__(self, root: str | Path) -> None:
        self._path = Path(root) / PREDICTIONS
        self.prediction = lru_cache(maxsize=1024)(self._prediction)

    def _prediction(
        self, task: str, annotation_id: str, size: tuple[int, int]
    ) -> Prediction:
        """Return a typed prediction.

        Parameters
        ----------
        size
            (height, width) of its image.

        Raises
        ------
        DataError
            If the dataset does not contain it, or it is none of such an image.
        """
        where = f"{self._path}: {task}: {annotation_id}"
        line = self._lines.get((task, annotation_id))
        if line is None:
            raise DataError(
                f"{where}: the prediction is missing; build the dataset again"
            )
        with in_field(where):
            prediction = read_prediction(
                task, jsons.loads(line)["prediction"], size=size
            )
            prediction.check(size)
        return prediction

    @cached_property
    def _lines(self) -> dict[tuple[str, str | None], bytes]:
        return {
            (row.task, row.annotation_id): line
            for line, row in stored_predictions(self._path.parent)
            if row.prediction is not None
        }
