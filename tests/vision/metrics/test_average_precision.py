"""AP equals pycocotools on data with crowds, ties, missing classes and confidences in
any order."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from visualjudge.core.errors import DataError
from visualjudge.vision.predictions import (
    Detection,
    Detections,
    Instance,
    Masks,
    People,
    Person,
)
from visualjudge.vision.raster.masks import mask_from_array, packed_rle
from visualjudge.vision.score import score, scores_by_class
from visualjudge.vision.scoring.average_precision import (
    CocoImages,
    average_precision,
)
from visualjudge.vision.scoring.operating_point import best_f1

SIZE = (60, 80)
LABELS = ["a", "b", "c"]


def coco_ap(
    kind: str,
    truths: list[dict[str, Any]],
    found: list[dict[str, Any]],
    images: int,
) -> float:
    with contextlib.redirect_stdout(io.StringIO()):
        real = COCO()
        real.dataset = {
            "images": [
                {"id": k, "height": SIZE[0], "width": SIZE[1]}
                for k in range(images)
            ],
            "categories": [
                {"id": k + 1, "name": name} for k, name in enumerate(LABELS)
            ],
            "annotations": [
                {**item, "id": k + 1} for k, item in enumerate(truths)
            ],
        }
        real.createIndex()
        evaluation = COCOeval(real, real.loadRes(found), kind)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return float(evaluation.stats[0])


def _record(
    image: int, label: int, bbox: list[float], **fields: Any
) -> dict[str, Any]:
    return {"image_id": image, "category_id": label + 1, "bbox": bbox, **fields}


def box_data(
    rng: np.random.Generator, images: int
) -> tuple[list[Any], list[Any], list[Any]]:
    pairs, truths, found = [], [], []
    for image in range(images):
        real, seen = [], []
        for _ in range(rng.integers(0, 6)):
            label, crowd = int(rng.integers(3)), bool(rng.random() < 0.15)
            x, y, w, h = (float(v) for v in rng.integers(1, 30, 4))
            real.append(
                Detection(LABELS[label], (x, y, x + w, y + h), iscrowd=crowd)
            )
            truths.append(
                {
                    "image_id": image,
                    "category_id": label + 1,
                    "bbox": [x, y, w, h],
                    "area": w * h,
                    "iscrowd": int(crowd),
                }
            )
            for _ in range(rng.integers(0, 3)):
                dx, dy = (float(v) for v in rng.integers(-4, 5, 2))
                other = label if rng.random() < 0.8 else int(rng.integers(3))
                score = float(rng.integers(1, 10)) / 10
                seen.append(
                    Detection(
                        LABELS[other],
                        (x + dx, y + dy, x + dx + w, y + dy + h),
                        score,
                    )
                )
                found.append(
                    {
                        "image_id": image,
                        "category_id": other + 1,
                        "bbox": [x + dx, y + dy, w, h],
                        "score": score,
                    }
                )
        pairs.append((Detections(tuple(seen)), Detections(tuple(real))))
    return pairs, truths, found


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_box_ap_is_pycocotools(seed: int) -> None:
    pairs, truths, found = box_data(np.random.default_rng(seed), 12)
    if not found or all(item["iscrowd"] for item in truths):
        return
    assert average_precision("object_detection", pairs) == pytest.approx(
        coco_ap("bbox", truths, found, 12), abs=1e-9
    )


@settings(max_examples=60)
@given(st.integers(0, 10_000))
def test_box_ap_is_pycocotools_to_the_last_digit_on_ties_at_a_threshold(
    seed: int,
) -> None:
    """IoU = (w − d) / (w + d) is 0.8 for w = 9d and 0.6 for w = 4d, whatever d and the
    place."""
    rng = np.random.default_rng(seed)
    pairs, truths, found = [], [], []
    for image in range(8):
        x, y, d, height = (
            float(v)
            for v in (
                rng.uniform(0, 30),
                rng.uniform(0, 30),
                rng.uniform(0.1, 2),
                7.3,
            )
        )
        width = d * int(rng.choice([4, 9, 19, 3]))
        score = float(rng.integers(1, 4)) / 10
        real = Detection(
            "a", (x, y, x + width, y + height), extent=(width, height)
        )
        seen = Detection(
            "a",
            (x + d, y, x + d + width, y + height),
            score,
            extent=(width, height),
        )
        truths.append(
            {
                "image_id": image,
                "category_id": 1,
                "bbox": [x, y, width, height],
                "area": 9.0,
                "iscrowd": 0,
            }
        )
        found.append(_record(image, 0, [x + d, y, width, height], score=score))
        pairs.append((Detections((seen,)), Detections((real,))))
    assert average_precision("object_detection", pairs) == pytest.approx(
        coco_ap("bbox", truths, found, 8), rel=1e-15, abs=0
    )


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_mask_ap_is_pycocotools(seed: int) -> None:
    boxes, truths, found = box_data(np.random.default_rng(seed), 6)
    if not found or all(item["iscrowd"] for item in truths):
        return

    def mask(xyxy: tuple[float, float, float, float]) -> Any:
        x1, y1, x2, y2 = (max(0, int(v)) for v in xyxy)
        dense = np.zeros(SIZE, dtype=bool)
        dense[y1:y2, x1:x2] = True
        return mask_from_array(dense)

    def masks(side: Detections) -> Masks:
        return Masks(
            SIZE,
            tuple(
                Instance(i.label, mask(i.xyxy), i.score, i.iscrowd)
                for i in side.items
            ),
        )

    pairs = [(masks(p), masks(t)) for p, t in boxes]
    flat_truth = [item for _, t in pairs for item in t.items]
    flat_found = [item for p, _ in pairs for item in p.items]
    for record, item in zip(truths, flat_truth, strict=True):
        record.update(segmentation=packed_rle(item.mask), area=item.mask.area)
    for record, item in zip(found, flat_found, strict=True):
        record.pop("bbox")
        record.update(segmentation=packed_rle(item.mask))
    assert average_precision("instance_segmentation", pairs) == pytest.approx(
        coco_ap("segm", truths, found, 6), abs=1e-9
    )


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_keypoint_ap_is_pycocotools(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs, truths, found = [], [], []
    for image in range(5):
        real, seen = [], []
        for _ in range(rng.integers(1, 4)):
            points = np.column_stack(
                [
                    rng.uniform(5, 70, 17),
                    rng.uniform(5, 55, 17),
                    rng.integers(0, 3, 17),
                ]
            )
            if rng.random() < 0.2:
                points[:, 2] = 0
            points[points[:, 2] == 0] = 0
            x, y, w, h = (
                5.0,
                5.0,
                float(rng.integers(20, 60)),
                float(rng.integers(20, 50)),
            )
            real.append(Person(points, (x, y, x + w, y + h), area=w * h / 2))
            truths.append(
                {
                    "image_id": image,
                    "category_id": 1,
                    "keypoints": points.ravel().tolist(),
                    "bbox": [x, y, w, h],
                    "num_keypoints": int((points[:, 2] > 0).sum()),
                    "area": w * h / 2,
                    "iscrowd": 0,
                }
            )
            guess, score = (
                points + rng.normal(0, 2, points.shape),
                float(rng.random()),
            )
            guess[:, 2] = 1
            seen.append(Person(guess, score=score))
            found.append(
                {
                    "image_id": image,
                    "category_id": 1,
                    "keypoints": guess.ravel().tolist(),
                    "score": score,
                }
            )
        pairs.append((People(tuple(seen)), People(tuple(real))))
    if not any(item["num_keypoints"] for item in truths):
        return
    assert average_precision("keypoint", pairs) == pytest.approx(
        coco_ap("keypoints", truths, found, 5), abs=1e-9
    )


def test_nothing_to_find_is_none_not_a_number() -> None:
    assert (
        average_precision(
            "object_detection", [(Detections(()), Detections(()))]
        )
        is None
    )


def test_a_person_without_keypoints_and_box_need_not_be_found() -> None:
    points = np.column_stack(
        [np.arange(17), np.arange(17), np.full(17, 2)]
    ).astype(float)
    found = People((Person(points, score=0.9),))
    nobody = Person(np.zeros((17, 3)))
    assert (
        average_precision(
            "keypoint",
            [(found, People((Person(points, (0, 0, 17, 17)), nobody)))],
        )
        > 0.999
    )
    assert average_precision("keypoint", [(found, People((nobody,)))]) is None


def test_a_box_without_confidence_is_refused() -> None:
    box = Detections((Detection("a", (0, 0, 1, 1)),))
    with pytest.raises(DataError, match="confidence"):
        average_precision("object_detection", [(box, box)])


def test_scores_by_class_are_those_of_each_class() -> None:
    labels = ["a", "b", "c", "none has it"]
    for prediction, truth in box_data(np.random.default_rng(3), 12)[0]:
        alone = [
            score(
                "object_detection", prediction, truth, class_of_interest=[label]
            )
            for label in labels
        ]
        assert (
            scores_by_class("object_detection", prediction, truth, labels)
            == alone
        )
        assert (
            scores_by_class("object_detection", prediction, truth, labels[::-1])
            == alone[::-1]
        )


def test_the_threshold_of_best_f1_leaves_predictions_in_crowds_out() -> None:
    real = Detections(
        (
            Detection("a", (0, 0, 9, 9)),
            Detection("a", (20, 0, 60, 40), iscrowd=True),
        )
    )
    found = Detections(
        (
            Detection("a", (0, 0, 9, 9), 0.6),
            Detection("a", (25, 5, 30, 9), 0.9),  # in the crowd
            Detection("a", (70, 70, 80, 80), 0.5),
        )
    )
    point = best_f1(CocoImages("object_detection", [(found, real)]))
    assert (point.min_score, point.f1) == (0.6, 1.0)


def test_scores_by_class_of_masks_are_those_of_each_class() -> None:
    rng = np.random.default_rng(8)
    masks = [mask_from_array(rng.random((4, 5)) < 0.7) for _ in range(8)]
    found = Masks(
        (4, 5),
        tuple(
            Instance(LABELS[k % 3], mask) for k, mask in enumerate(masks[:5])
        ),
    )
    real = Masks(
        (4, 5),
        tuple(
            Instance(LABELS[k % 2], mask, iscrowd=k == 6)
            for k, mask in enumerate(masks[1:])
        ),
    )
    alone = [
        score("instance_segmentation", found, real, class_of_interest=[label])
        for label in LABELS
    ]
    assert (
        scores_by_class("instance_segmentation", found, real, LABELS) == alone
    )


def test_more_predictions_than_ap_counts_keep_the_best_f1() -> None:
    """COCO's AP takes 100 boxes or 20 people of an image, a threshold all of them."""
    boxes = [(float(7 * k), 0.0, 7.0 * k + 5, 9.0) for k in range(150)]
    real = Detections(tuple(Detection("cup", box) for box in boxes))
    found = Detections(
        tuple(Detection("cup", box, 1 - k / 300) for k, box in enumerate(boxes))
    )
    images = CocoImages("object_detection", [(found, real)])
    point = best_f1(images)
    assert point is not None
    assert (point.f1, point.min_score) == (1.0, 1 - 149 / 300)
    assert images.average_precision() == pytest.approx(67 / 101)
    points = np.column_stack(
        [np.arange(17.0) * 9, np.arange(17.0) * 7, np.full(17, 2)]
    )
    places = [points + np.array([1000 * k, 0, 0]) for k in range(30)]
    crowd = People(
        tuple(Person(place, score=1 - k / 60) for k, place in enumerate(places))
    )
    images = CocoImages("keypoint", [(crowd, crowd)])
    point = best_f1(images)
    assert point is not None
    assert (point.f1, point.min_score) == (1.0, 1 - 29 / 60)
    assert images.average_precision() == pytest.approx(67 / 101)


def test_score_and_ap_read_the_flag_of_a_keypoint_alike() -> None:
    points = np.column_stack(
        [np.arange(17.0) * 9, np.arange(17.0) * 7, np.full(17, 2)]
    )
    flagged = points.copy()
    flagged[8:, 2] = -1
    moved = points.copy()
    moved[8:, :2] += 300
    area = 9000.0
    real = People((Person(flagged, (0.0, 0.0, 144.0, 112.0), area),))
    found = People((Person(moved, None, None, score=0.9),))
    assert score("keypoint", found, real) == 10
    assert average_precision("keypoint", [(found, real)]) == pytest.approx(1)


def test_people_of_whom_none_was_found_score_nothing() -> None:
    points = np.column_stack(
        [np.arange(17.0) * 9, np.arange(17.0) * 7, np.full(17, 2)]
    )
    assert score("keypoint", People(()), People((Person(points),))) == 0
