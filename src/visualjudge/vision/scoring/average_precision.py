"""Average precision as defined by COCO, over the images of a data set, by hotcoco.
Scores of one image are in ``vision/<type>/score.py``.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from hotcoco import COCO, COCOeval

from visualjudge.core.errors import DataError, RunError, UsageError
from visualjudge.core.records import BoolArray, FloatArray
from visualjudge.vision.base import Prediction
from visualjudge.vision.predictions import type_of
from visualjudge.vision.tasks import TASKS

# Computed exactly as in ``COCOeval``, because the last bits decide ties.
COCO_THRESHOLDS = tuple(np.linspace(0.5, 0.95, 10).tolist())
# The process that started hotcoco's threads, which a fork does not have and would wait
# for.
_PROCESS: list[int] = []


def average_precision(
    task: str,
    pairs: Iterable[tuple[Prediction, Prediction]],
    *,
    thresholds: Sequence[float] = COCO_THRESHOLDS,
) -> float | None:
    """Return COCO's AP, 0..1: precision interpolated at 101 recalls, averaged over
    classes and IoU (OKS) thresholds.

    Parameters
    ----------
    task
        A task whose type has a :class:`~visualjudge.vision.rows.Ranked`, such as boxes,
        instances or poses.
    pairs
        (prediction, truth) of each image, typed; every predicted item has a confidence
        ``score``.
    thresholds
        Some of .50, .55, … .95, which are those of AP; (0.5,) for AP50.

    Returns
    -------
    float or None
        The value of pycocotools' ``COCOeval`` for area "all" and its largest number of
        detections (100 per image and class, 20 people), including ties of IoU and
        threshold. ``pairs`` must be in the order of the image ids, which breaks ties
        between equal confidences. None if no ground truth must be found.

    Raises
    ------
    DataError
        If a predicted item has no confidence.
    UsageError
        If the task has no AP.
    RunError
        If this process was forked from one that has computed an AP.
    """
    return CocoImages(task, pairs).average_precision(thresholds)


class CocoImages:
    """The predictions and ground truths of a data set in COCO's form. See
    :func:`average_precision` for the parameters and errors.
    """

    def __init__(
        self, task: str, pairs: Iterable[tuple[Prediction, Prediction]]
    ) -> None:
        ranked = type_of(task).ranked
        if ranked is None:
            known = ", ".join(
                name for name in TASKS if type_of(name).ranked is not None
            )
            raise UsageError(f"{task} has no AP; tasks with AP: {known}")
        images = list(pairs)
        self.count = len(images)
        self._ranked = ranked
        sides = [[side.items_by_label() for side in pair] for pair in images]
        labels = sorted(
            {label for pair in sides for side in pair for label in side}
        )
        self._codes = {label: k for k, label in enumerate(labels)}
        self._evaluations: dict[tuple[int, tuple[float, ...]], COCOeval] = {}
        self._truth = COCO(
            {
                "images": [{"id": k} for k in range(self.count)],
                "categories": [
                    {"id": k, "name": label} for label, k in self._codes.items()
                ],
                "annotations": list(
                    self._annotations([truth for _, truth in sides])
                ),
            }
        )
        # Number of predictions of the fullest image.
        self._largest = max((pair[0].count or 0 for pair in images), default=0)
        predictions = list(
            self._annotations([predictions for predictions, _ in sides])
        )
        if not all(
            isinstance(item["score"], int | float | np.number)
            for item in predictions
        ):
            raise DataError(
                "score: AP needs the confidence of every predicted item, got one "
                "without"
            )
        self._found = self._truth.load_res(predictions)

    def average_precision(
        self, thresholds: Sequence[float] = COCO_THRESHOLDS
    ) -> float | None:
        """Return AP, or None if no ground truth must be found."""
        evaluation = self._evaluated(self._ranked.most, *thresholds)
        evaluation.accumulate()
        assert evaluation.eval is not None, "it was accumulated"
        values = evaluation.eval["precision"]
        known = values[values > -1]  # -1: no ground truth of the class
        return float(known.mean()) if known.size else None

    def matches(self, threshold: float) -> tuple[FloatArray, BoolArray, int]:
        """Return the confidences of the predictions that count, shape (n,), whether
        they are right at one IoU (OKS), and the number of ground truths to find. The
        most detections of an image are a rule of AP alone.
        """
        evaluation = self._evaluated(max(self._largest, 1), threshold)
        images = [image for image in evaluation.eval_imgs if image is not None]
        scores = np.array(
            [score for image in images for score in image["dtScores"]],
            np.float64,
        )
        right, ignored = (
            np.array(
                [flag for image in images for flag in image[name][0]], np.bool_
            )
            for name in ("dtMatched", "dtIgnore")
        )
        return (
            scores[~ignored],
            right[~ignored],
            sum(image["gtIgnore"].count(False) for image in images),
        )

    def _annotations(
        self, images: Sequence[dict[str, list[Any]]]
    ) -> Iterator[dict[str, Any]]:
        rows = (
            (k, label, item)
            for k, items in enumerate(images)
            for label, same in items.items()
            for item in same
        )
        for number, (k, label, item) in enumerate(rows, 1):
            yield {
                "id": number,
                "image_id": k,
                "category_id": self._codes[label],
                "area": 0.0,
                "iscrowd": int(item.iscrowd),
                "score": item.score,
                **self._ranked.annotation(item),
            }

    def _evaluated(self, most: int, *thresholds: float) -> COCOeval:
        known = self._evaluations.get((most, thresholds))
        if known is not None:
            return known
        if _PROCESS and _PROCESS[0] != os.getpid():
            raise RunError(
                "AP cannot be computed in a process forked after one: hotcoco's "
                "threads are not in it; start processes by 'spawn'"
            )
        _PROCESS[:] = [os.getpid()]
        evaluation = COCOeval(self._truth, self._found, self._ranked.kind)
        parameters = evaluation.params
        parameters.area_rng = [[0.0, 1e300]]
        parameters.area_rng_lbl = ["all"]
        parameters.max_dets = [most]
        parameters.iou_thrs = list(thresholds)
        evaluation.evaluate()
        return self._evaluations.setdefault((most, thresholds), evaluation)
