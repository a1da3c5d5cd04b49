"""Payloads of all families are read, or refused by the name of the field."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from folding import each
from visualjudge.core.errors import DataError
from visualjudge.vision.base import Mark, Prediction
from visualjudge.vision.predictions import (
    DepthMap,
    Detection,
    Detections,
    Masks,
    People,
    payload_of,
    read_prediction,
)

RLE = {"size": [2, 3], "counts": [1, 2, 3]}


def test_boxes_keep_label_score_and_crowd(tmp_path: Path) -> None:
    item = {"label": "cat", "bbox": [1, 2, 3.5, 4], "score": 0.5, "iscrowd": 1}
    read = read_prediction("object_detection", {"detections": [item]})
    assert isinstance(read, Detections)
    (box,) = read.items
    assert (box.label, box.xyxy, box.score, box.iscrowd) == (
        "cat",
        (1.0, 2.0, 3.5, 4.0),
        0.5,
        True,
    )
    long = Detections((Detection("cat", (1.0049, 2.0051, 3.126, 4)),))
    for digits, bbox in (
        ({}, [1.0, 2.01, 3.13, 4]),  # pixels have two decimals
        ({"digits": 1}, [1.0, 2.0, 3.1, 4]),
        ({"digits": None}, [1.0049, 2.0051, 3.126, 4]),
    ):
        payload = payload_of(
            "object_detection", long, root=tmp_path, stem="x", **digits
        )
        assert payload["detections"][0]["bbox"] == bbox


def test_label_map_gives_one_segment_a_class_and_leaves_0_and_255_out() -> None:
    values = np.array([[0, 1, 1], [2, 255, 2]], dtype=np.uint8)
    read = read_prediction(
        "semantic_segmentation",
        {"label_map": values, "classes": {"1": "road", "2": "sky"}},
    )
    assert isinstance(read, Masks)
    assert [(item.label, item.mask.area) for item in read.items] == [
        ("road", 2),
        ("sky", 2),
    ]


def test_colours_are_no_label_map(tmp_path: Path) -> None:
    colours = np.zeros(
        (2, 3, 3), dtype=np.uint8
    )  # whose largest channel is 255, unlabelled
    colours[0, :, 0] = colours[1, :, 1] = 255
    Image.fromarray(colours).save(tmp_path / "map.png")
    payload = {"label_map": "map.png", "classes": {"1": "road"}}
    with pytest.raises(
        DataError, match=r"^label_map: .* one channel, got 3 that differ"
    ):
        read_prediction("semantic_segmentation", payload, root=tmp_path)


def test_absent_keypoints_are_v_0_or_both_coordinates_0() -> None:
    points = np.zeros((17, 3))
    points[0] = 5, 6, 2
    points[1] = 5, 6, 0
    points[2] = 0, 0, 2
    points[3] = 0, 4, 1
    read = read_prediction(
        "keypoint", {"persons": [{"keypoints": points.ravel().tolist()}]}
    )
    assert isinstance(read, People)
    assert np.flatnonzero(read.items[0].present).tolist() == [0, 3]


def test_depth_is_scaled_and_its_invalid_pixels_known() -> None:
    stored = np.array([[0.0, 2.0, np.nan, np.inf]])
    read = read_prediction(
        "depth_estimation", {"depth": stored, "scale": 0.5, "inverse": True}
    )
    assert isinstance(read, DepthMap)
    assert read.inverse
    assert read.values[0, 1] == 1.0
    assert read.valid.tolist() == [[False, True, False, False]]
    payload = {"depth": stored, "inverse": "false"}
    assert not read_prediction("depth_estimation", payload).inverse  # type: ignore[attr-defined]


@each(
    ("task", "payload", "message"),
    [
        ("object_detection", {}, r"^detections: the field is missing"),
        (
            "object_detection",
            {"detections": [{"label": "a", "bbox": [3, 0, 1, 4]}]},
            r"^detections\[0\]\.bbox: .*x2 < x1",
        ),
        (
            "object_detection",
            {"detections": [{"label": "", "bbox": [0, 0, 1, 1]}]},
            r"^detections\[0\]\.label",
        ),
        (
            "object_detection",
            {"detections": [{"label": "a", "bbox": [0, 0, 1, float("nan")]}]},
            "finite",
        ),
        (
            "instance_segmentation",
            {"instances": [{"label": "a"}]},
            r"^instances\[0\]\.segmentation",
        ),
        (
            "instance_segmentation",
            {"instances": [{"label": "a", "segmentation": RLE}]},
            r"the image size 4×4 .* got 2×3",
        ),
        ("referring_segmentation", {}, r"^segmentation: the field is missing"),
        (
            "semantic_segmentation",
            {"label_map": np.ones((4, 4), np.uint8), "classes": {}},
            "class 1 is not in classes",
        ),
        (
            "semantic_segmentation",
            {
                "label_map": np.ones((4, 4), np.uint8),
                "classes": {"0": "wall", "1": "sky"},
            },
            "^classes: 0 means unlabelled, got 'wall'",
        ),
        (
            "semantic_segmentation",
            {"label_map": np.ones((4, 4), np.uint8), "classes": {"1": None}},
            r"^classes\.label: must be non-empty text",
        ),
        (
            "keypoint",
            {"persons": [{"keypoints": [0] * 50}]},
            r"^persons\[0\]\.keypoints: must be 51 numbers",
        ),
        ("depth_estimation", {"depth": np.ones((4, 4)), "scale": 0}, r"^scale"),
        (
            "depth_estimation",
            {"depth": np.ones((4, 4)), "inverse": "no"},
            r"^inverse: .* 0 or 1",
        ),
        (
            "depth_estimation",
            {"depth": "nowhere.npy"},
            r"^depth: nowhere.npy: no such file",
        ),
        ("lowlevel-derain", {}, r"^image: the field is missing"),
    ],
)
def test_bad_payload_is_refused_by_field(
    task: str, payload: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read_prediction(task, payload, size=(4, 4))


class Extended(Prediction):
    """A prediction of a plug-in that states the size of its image."""

    extent = (4, 6)


class Marked(Prediction):
    """A prediction of a plug-in with a place and nothing else."""

    def marks(self) -> Iterator[Mark]:
        return iter([Mark("sky", (0, 0, 2, 2))])


@pytest.mark.parametrize("placed", [Extended(), Marked()])
def test_a_prediction_with_places_is_not_passed_off_as_scaled(
    placed: Prediction,
) -> None:
    assert placed.scaled((4, 6), (4, 6)) is placed
    with pytest.raises(DataError, match=r"scaled\(size, target\).*4×6 to 8×3"):
        placed.scaled((4, 6), (8, 3))
    free = Prediction()
    assert free.scaled((4, 6), (8, 3)) is free
