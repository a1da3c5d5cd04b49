"""Arrays of notebooks score and are drawn as the payloads that say the same."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

import visualjudge as vj
from folding import each
from visualjudge.core.errors import DataError
from visualjudge.vision.predictions import read_prediction

MASK = np.arange(48).reshape(6, 8) % 3 == 0
POINTS = np.arange(2 * 51, dtype=float).reshape(2, 17, 3) + 1
DEPTH = np.linspace(1, 9, 48).reshape(6, 8)
PIXELS = np.random.default_rng(0).integers(0, 256, (16, 18, 3), dtype=np.uint8)
BOXES = np.array([[0, 0, 9, 9], [2.5, 1, 5, 7]])


class Tensor:
    """What torch's tensors have that matters here."""

    def __init__(self, values: Any) -> None:
        self.values, self.here = np.asarray(values), False
        self.dtype: Any = self.values.dtype

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        self.here = True
        return self

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        assert self.here, "a tensor on a GPU has no array"
        return self.values


class BFloat16(Tensor):
    """A tensor of the type of half-precision weights."""

    def __init__(self, values: Any) -> None:
        super().__init__(values)
        self.dtype = "torch.bfloat16"

    def float(self) -> BFloat16:
        self.dtype = "torch.float32"
        return self

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        assert self.dtype != "torch.bfloat16", (
            "Got unsupported ScalarType BFloat16"
        )
        return self.values


FORMS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "boxes": (
        "object_detection",
        {
            "boxes": Tensor(BOXES),
            "labels": [3, 1],
            "classes": {3: "a", 1: "b"},
            "scores": [1, 0.5],
        },
        {
            "detections": [
                {"label": "a", "bbox": [0, 0, 9, 9], "score": 1.0},
                {"label": "b", "bbox": [2.5, 1, 5, 7], "score": 0.5},
            ]
        },
    ),
    "no boxes": (
        "object_detection",
        {"boxes": np.array([]), "labels": [], "scores": Tensor([])},
        {"detections": []},
    ),
    "masks": (
        "instance_segmentation",
        {"masks": Tensor([MASK, ~MASK]), "labels": np.array(["a", "b"])},
        {
            "instances": [
                {"label": "a", "segmentation": MASK},
                {"label": "b", "segmentation": ~MASK},
            ]
        },
    ),
    "a label map": (
        "semantic_segmentation",
        {
            "label_map": Image.fromarray(MASK.astype(np.uint8) + 1),
            "classes": {1: "a", 2: "b"},
        },
        {
            "segments": [
                {"label": "a", "segmentation": ~MASK},
                {"label": "b", "segmentation": MASK},
            ]
        },
    ),
    "a mask": ("referring_segmentation", Tensor(MASK), {"segmentation": MASK}),
    "a PIL mask": (
        "referring_segmentation",
        Image.fromarray(MASK),
        {"segmentation": MASK},
    ),
    "keypoints": (
        "keypoint",
        {"keypoints": POINTS, "areas": np.array([50.0, 60.0])},
        {
            "persons": [
                {"keypoints": POINTS[0].ravel(), "area": 50.0},
                {"keypoints": POINTS[1].ravel(), "area": 60.0},
            ]
        },
    ),
    "depth": (
        "depth_estimation",
        Tensor(DEPTH.astype(np.float32)),
        {"depth": DEPTH},
    ),
    "no masks": (
        "instance_segmentation",
        SimpleNamespace(
            xyxy=BOXES[:0], class_id=None, confidence=None, mask=None, data={}
        ),
        {"instances": []},
    ),
    "numbers that NumPy lacks": (
        "depth_estimation",
        BFloat16(DEPTH),
        {"depth": DEPTH},
    ),
    "an image": ("lowlevel-derain", Image.fromarray(PIXELS), {"image": PIXELS}),
    "a gray image of 0 to 1": (
        "lowlevel-derain",
        PIXELS[:, :, 0] / 255,
        {"image": np.repeat(PIXELS[:, :, :1], 3, axis=2)},
    ),
}


@each("name", FORMS)
def test_arrays_say_what_their_payload_says(name: str) -> None:
    task, arrays, payload = FORMS[name]
    assert (
        vj.score(task, arrays, payload)
        == vj.score(task, payload, payload)
        == 10
    )
    photo = np.zeros(
        (*(read_prediction(task, payload).extent or (16, 18)), 3), np.uint8
    )
    for row in vj.encodings(task):
        ours, theirs = (
            vj.encode(
                task, row.stem, one, Image.fromarray(photo), expression="it"
            )
            for one in (arrays, payload)
        )
        assert ours.text == theirs.text
        assert np.array_equal(ours.image, theirs.image)


@each(
    ("task", "arrays", "told"),
    [
        (
            "object_detection",
            {"boxes": BOXES.T[:, :1]},
            r"^boxes: must be \(N, 4\) .* got \(4, 1\)",
        ),
        ("object_detection", {"boxes": BOXES}, "^labels: must be given"),
        (
            "object_detection",
            {"boxes": BOXES, "labels": ["a"]},
            "^labels: must be 2, .* got 1",
        ),
        (
            "object_detection",
            {"boxes": BOXES, "labels": [1, 2]},
            '"classes": .* got 1 without',
        ),
        (
            "object_detection",
            {"boxes": [[1], [2, 3]]},
            r"^boxes: must be \(N, 4\) .* got list",
        ),
        ("object_detection", BOXES, "^a prediction must be a payload"),
        (
            "instance_segmentation",
            {"masks": MASK},
            r"^masks: must be \(N, H, W\) bool",
        ),
        (
            "instance_segmentation",
            {"masks": DEPTH[None]},
            "^masks: .* got float64",
        ),
        (
            "referring_segmentation",
            MASK + np.arange(8),
            "^segmentation: .* two values",
        ),
        (
            "semantic_segmentation",
            MASK.astype(int),
            "^classes: must be an object of number",
        ),
        (
            "semantic_segmentation",
            {"label_map": DEPTH},
            "^label_map: .* int, got float64",
        ),
        ("keypoint", POINTS[:, :, :2], r"^keypoints: must be \(N, 17, 3\)"),
        (
            "keypoint",
            {"keypoints": POINTS, "areas": [1.0]},
            r"^areas: must be \(2\) .* got \(1,\)",
        ),
        (
            "depth_estimation",
            DEPTH[None],
            r"^depth: must be \(H, W\) float, got \(1, 6, 8\)",
        ),
        ("lowlevel-derain", PIXELS.transpose(2, 0, 1), "^image: .* got shape"),
        (
            "lowlevel-derain",
            PIXELS / 127.5 - 1,
            "^image: .* from 0 to 1, got -1 to 1",
        ),
        (
            "lowlevel-derain",
            PIXELS.astype(float),
            "^image: .* from 0 to 1, got .* to 255",
        ),
    ],
)
def test_a_wrong_shape_is_one_line(task: str, arrays: Any, told: str) -> None:
    with pytest.raises(DataError, match=told):
        read_prediction(task, arrays)


@each("shape", [(1, 1), (1, 5), (5, 1), (1, 5, 3), (5, 1, 3), (1, 1, 4)])
def test_images_of_one_row_or_column_keep_their_shape(
    shape: tuple[int, ...],
) -> None:
    levels = np.arange(np.prod(shape)).reshape(shape) * 16
    if shape[2:] == (4,):
        levels[..., 3] = 255  # opaque
    given = levels.astype(np.uint8) if shape[2:] != (3,) else levels / 255
    shown = vj.encode(
        "lowlevel-derain", "pixel", given, np.zeros((9, 9, 3), np.uint8)
    ).image
    colours = levels[..., :3] if len(shape) > 2 else levels[..., None]
    assert np.array_equal(shown, np.broadcast_to(colours, (*shape[:2], 3)))


def test_a_label_given_as_text_is_one_label() -> None:
    truth = {"detections": [{"label": "dog", "bbox": [0, 0, 9, 9]}]}
    assert (
        vj.score(
            "object_detection",
            {"detections": []},
            truth,
            class_of_interest="hotdog",
        )
        == 10
    )
    photograph = np.zeros((9, 9, 3), np.uint8)
    with pytest.raises(TypeError, match=r"classes must be .*, got 'dog'"):
        vj.encode(
            "object_detection", "pixel_s1_m0", truth, photograph, classes="dog"
        )
