"""The predictions of a run, marked as accepted or not, and the accepted ones as a COCO
file."""

import warnings
from pathlib import Path
from typing import Any

import polars as pl

from visualjudge.analysis.decisions.accept import Acceptance, predictions_of
from visualjudge.analysis.study_table import Study
from visualjudge.core.errors import DataError, in_field
from visualjudge.core.image_storage import image_at
from visualjudge.core.jsons import Json
from visualjudge.dataset.folder import load_dataset
from visualjudge.dataset.predictions_file import PREDICTIONS, ShownPredictions
from visualjudge.vision.predictions import type_of
from visualjudge.vision.raster.images import image_size
from visualjudge.vision.raster.masks import rle_of

COLUMNS = ("task", "image", "annotation", "classes", "source", "score")


def marked(acceptance: Acceptance, study: Study) -> pl.DataFrame:
    """Return the predictions of another study's first run, ``accepted`` or not, the
    ``reason`` if not, and the ``id`` of a question that shows each.

    Raises
    ------
    DataError
        If no score keeps the risk, or the run has no verdicts on scoring questions.
    """
    if not acceptance.thresholds:
        raise DataError(acceptance.sentence)
    run = study.runs[0]
    if run.name != acceptance.judge and not run.simulated:
        warnings.warn(
            f"the score is {acceptance.judge}'s, not {run.name}'s", stacklevel=2
        )
    least = pl.col("task").replace_strict(
        acceptance.thresholds, default=None, return_dtype=pl.Float64
    )
    reason = (
        pl.when(~pl.col("task").is_in(acceptance.tasks))
        .then(pl.lit("its task was not studied"))
        .when(least.is_null())
        .then(pl.lit("no score of its task keeps the risk"))
        .when(pl.col("score").is_null())
        .then(pl.lit("no readable score"))
        .when(pl.col("score") < least)
        .then(pl.lit("score too low"))
    )
    return (
        predictions_of(study)
        .select(*COLUMNS, "id", accepted=reason.is_null(), reason=reason)
        .sort("task", "image", "annotation", "classes")
    )


def coco_of(root: Path, table: pl.DataFrame) -> Json | None:
    """Return the boxes, masks and poses of the accepted predictions of a dataset as a
    COCO file; None if no prediction of the table has such items, or the dataset never
    held predictions as data (an adopted one does not).

    ``file_name`` is the path of the image in the dataset, and sizes and coordinates are
    those of that image. Of a prediction that was judged by class, the accepted classes
    are returned.

    Raises
    ------
    DataError
        If a prediction or its image is missing, or is not as `visualjudge build` writes
        it.
    """
    ranked = [task for task in table["task"].unique() if _has_items(task)]
    rows = table.filter(pl.col("task").is_in(ranked))
    dataset = load_dataset(root)
    if rows.is_empty() or PREDICTIONS not in dataset.meta.get("files", {}):
        return None
    wanted = set(rows.filter("accepted")["id"])
    displayed = ShownPredictions(root)
    images: dict[str, Json] = {}
    labels: dict[str, int] = {}
    annotations: list[Json] = []
    for question in dataset:
        if question.id not in wanted:
            continue
        name = question.images[0]  # the original stands before the options
        height, width = image_size(image_at(root, name))
        size = {"height": height, "width": width}
        image = images.setdefault(
            name, {"id": len(images) + 1, "file_name": name, **size}
        )
        (annotation_id,) = question.annotation_ids
        with in_field(
            f"{root / PREDICTIONS}: {question.task}: {annotation_id}"
        ):
            prediction = displayed.prediction(
                question.task, annotation_id, (height, width)
            )
            prediction.check((height, width))
        if question.class_of_interest:
            prediction = prediction.only(question.class_of_interest)
        for label, items in prediction.items_by_label().items():
            category = labels.setdefault(label, len(labels) + 1)
            annotations += [
                {
                    "id": len(annotations) + k,
                    "image_id": image["id"],
                    "category_id": category,
                    "iscrowd": 0,
                    **_coco_fields(question.task, item),
                }
                for k, item in enumerate(items, 1)
            ]
    return {
        "images": list(images.values()),
        "categories": [{"id": k, "name": name} for name, k in labels.items()],
        "annotations": annotations,
    }


def _has_items(task: str) -> bool:
    ranked = type_of(task).ranked
    return (
        ranked is not None and ranked.kind != "obb"
    )  # COCO has no oriented boxes


def _coco_fields(task: str, item: Any) -> Json:
    ranked = type_of(task).ranked
    assert ranked is not None
    fields = ranked.annotation(item)
    if "segmentation" in fields:
        left, top, right, bottom = item.mask.box
        return {
            "segmentation": rle_of(item.mask),
            "bbox": [left, top, right - left, bottom - top],
            "area": item.mask.area,
        }
    _, _, width, height = fields["bbox"]
    return {"area": width * height, **fields}
