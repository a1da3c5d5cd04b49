"""The predictions that a dataset shows, as data (``predictions.jsonl``), for judges without a
language model.

There is one line per prediction of boxes, masks or poses, without its score, source or other hints
at its quality, and one line per region to fill. Depth maps and images are read from the media
files, which store them unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import orjson

from visualjudge.core import jsons
from visualjudge.core.errors import DataError
from visualjudge.core.records import Mask
from visualjudge.core.untrusted import open_untrusted
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
        payload = payload_of(task, prediction, root=Path(), stem="", digits=None)
        yield _line(
            {"task": task, "annotation_id": annotation_id, "prediction": payload}
        )


def hole_line(task: str, image_id: str, hole: Mask) -> bytes:
    return _line({"task": task, "image_id": image_id, "mask": rle_of(hole)})


def _line(content: Mapping[str, Any]) -> bytes:
    return orjson.dumps(
        content, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE
    )


class ShownPredictions:
    """The predictions of a dataset by task and annotation, kept in memory as their lines."""

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
            If the dataset does not contain it.
        """
        return read_prediction(
            task,
            self._row(task, "annotation_id", annotation_id, "prediction"),
            size=size,
        )

    @cached_property
    def _lines(self) -> dict[tuple[str, str, str], bytes]:
        found: dict[tuple[str, str, str], bytes] = {}
        try:
            with open_untrusted(self._path.parent, PREDICTIONS, "record") as lines:
                for line in lines:
                    row = jsons.loads(line)
                    field = "annotation_id" if "annotation_id" in row else "image_id"
                    found[str(row["task"]), field, str(row[field])] = line
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise DataError(
                f"{self._path}: must hold one prediction a line ({error}); build the dataset again"
            ) from None
        return found

    def _row(self, task: str, field: str, name: str, wanted: str) -> Any:
        line = self._lines.get((task, field, name))
        if line is None:
            raise DataError(
                f"{self._path}: {task}: {name}: the prediction is missing; build the dataset again"
            )
        content = jsons.loads(line).get(wanted)
        if not isinstance(content, Mapping):
            raise DataError(
                f"{self._path}: {task}: {name}: {wanted} must be an object; build the dataset again"
            )
        return content
