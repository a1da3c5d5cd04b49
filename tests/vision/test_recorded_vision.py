"""What is drawn, written, measured, perturbed and seen of predictions on an image that
is neither square nor even, recorded: numbers of a release stay what they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import pytest

from recording import check
from visualjudge.core.errors import DataError
from visualjudge.vision.drawing.palette import (
    color_at,
    name_at,
    random_color_at,
    random_name_at,
)
from visualjudge.vision.encode import encode_each, encodings
from visualjudge.vision.error_types import error_types, perturbed
from visualjudge.vision.errors.levels import ErrorScene
from visualjudge.vision.faults import faults_by_class, faults_of
from visualjudge.vision.metrics import metrics_of
from visualjudge.vision.misplacements import SHARED
from visualjudge.vision.predictions import (
    TYPES,
    DepthMap,
    Detection,
    Detections,
    Instance,
    Masks,
    People,
    Person,
    Prediction,
    WholeImage,
)
from visualjudge.vision.raster.masks import mask_from_array, resized_mask
from visualjudge.vision.score import notes, score, scores_by_class
from visualjudge.vision.tools import Evidence, compare, count, measure, zoom
from visualjudge.vision.view import Given

SIZE = (93, 141)
LABELS = ("bird", "cat", "dog")
TASK = {
    name: next(task.name for task in row.tasks)
    for name, row in TYPES.items()
    if row.tasks
}


def _photo(height: int, width: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (7, 9, 3), dtype=np.uint8)
    return cv2.resize(coarse, (width, height), interpolation=cv2.INTER_NEAREST)


def _ellipse(x: float, y: float, a: float, b: float) -> np.ndarray:
    rows, columns = np.mgrid[: SIZE[0], : SIZE[1]]
    return ((columns - x) / a) ** 2 + ((rows - y) / b) ** 2 <= 1


def _person(x: float, hidden: int, **more: Any) -> Person:
    points = np.zeros((17, 3))
    for k in range(17):
        side = 9 if k % 2 else -9
        points[k] = x + side * (k > 0), 6 + 5 * k, 2 if k % 5 else 1
    points[hidden] = 0
    return Person(points, bbox=(x - 16, 2, x + 16, 91), area=1500.0, **more)


PHOTO = _photo(*SIZE, 0)
_STRIPES = np.add.outer(np.arange(SIZE[0]), 2 * np.arange(SIZE[1]))
REGIONS = (
    _ellipse(30, 40, 22, 30),
    _ellipse(48, 50, 18, 14),
    _ellipse(120, 20, 30, 12),
    _ellipse(100, 75, 6, 9),
)
NAMES = ("dog", "bird", "dog", "cat")
BOXES = (
    (8.0, 10.5, 52.25, 70.0),
    (30.0, 36.0, 66.0, 64.0),
    (90.0, 8.0, 141.0, 32.0),
    (94.0, 66.0, 106.5, 84.0),
)
DEPTH = np.linspace(1, 9, SIZE[0] * SIZE[1]).reshape(SIZE) / (1.0 + REGIONS[0])
DEPTH = np.where(REGIONS[3], 0, DEPTH)
DEGRADED = cv2.GaussianBlur(PHOTO, (0, 0), 2.0)
TRUTHS: dict[str, Prediction] = {
    "detection": Detections(
        tuple(map(Detection, NAMES, BOXES)),
    ),
    "instance": Masks(
        SIZE,
        tuple(
            Instance(name, mask_from_array(region))
            for name, region in zip(NAMES, REGIONS, strict=True)
        ),
    ),
    "semantic": Masks(
        SIZE,
        (
            Instance("cat", mask_from_array(REGIONS[0])),
            Instance("bird", mask_from_array(REGIONS[2] & ~REGIONS[0])),
            Instance("dog", mask_from_array(~REGIONS[0] & ~REGIONS[2])),
        ),
    ),
    "referring": Masks(SIZE, (Instance("it", mask_from_array(REGIONS[1])),)),
    "keypoint": People((_person(30, 3), _person(66, 12), _person(115, 9))),
    "depth": DepthMap(DEPTH),
    "restoration": WholeImage(PHOTO),
}
_CROWD = [
    (5 + 9.5 * (k % 13), 4 + 11.5 * (k // 13), 3 + k % 5 * 4.0, 2 + k % 7 * 3.5)
    for k in range(52)
]
_CROWD_NAMES = [f"traffic light {k % 31}" for k in range(len(_CROWD))]
CROWDS: dict[str, Prediction] = {
    "detection": Detections(
        tuple(
            Detection(name, (x - a, y - b, x + a, y + b))
            for name, (x, y, a, b) in zip(_CROWD_NAMES, _CROWD, strict=True)
        )
    ),
    "instance": Masks(
        SIZE,
        tuple(
            Instance(name, mask_from_array(_ellipse(*place)))
            for name, place in zip(_CROWD_NAMES, _CROWD, strict=True)
        ),
    ),
    "semantic": Masks(
        SIZE,
        tuple(
            Instance(f"stuff {k}", mask_from_array(k == (_STRIPES // 7 % 23)))
            for k in range(23)
        ),
    ),
    "keypoint": People(tuple(_person(18 + 12 * k, k) for k in range(10))),
}
SCENE = ErrorScene(
    SIZE, LABELS, 4, DEGRADED, tuple(map(mask_from_array, REGIONS))
)


def _made(
    type: str, pairing: Any, truth: Prediction | None = None
) -> dict[str, list[Prediction]]:
    """Predictions with each error of a type, from mild to severe."""
    made = {}
    for name in error_types(TASK[type]):
        steps = perturbed(
            TASK[type],
            name,
            TRUTHS[type] if truth is None else truth,
            SCENE,
            seed=5,
            key="k",
            pairing=pairing,
        )
        made[name] = [prediction for _, prediction in steps]
    return made


@pytest.fixture(scope="module")
def ladders() -> dict[str, dict[str, list[Prediction]]]:
    return {type: _made(type, "ladder") for type in TRUTHS}


def test_encodings() -> None:
    large = _photo(330, 215, 1)
    shown: dict[str, Any] = {}
    for type, truth in TRUTHS.items():
        for stem, encoded in encode_each(
            TASK[type],
            [row.stem for row in encodings(TASK[type])],
            truth,
            PHOTO,
            expression="it",
        ):
            shown[f"{type} {stem}".replace(" ", ":")] = encoded
    for type in ("detection", "keypoint"):
        for stem, encoded in encode_each(
            TASK[type],
            [row.stem for row in encodings(TASK[type])],
            TRUTHS[type],
            large,
            classes=("dog", "cat"),
        ):
            shown[f"large:{type}:{stem}"] = encoded
    for type, crowd in CROWDS.items():
        for stem, encoded in encode_each(
            TASK[type],
            [row.stem for row in encodings(TASK[type])],
            crowd,
            PHOTO,
        ):
            shown[f"crowd:{type}:{stem}"] = encoded
    check("encodings", shown, depth=1)


def _scaled(prediction: Any, factor: float) -> tuple[Prediction, np.ndarray]:
    """A prediction and its image, both larger or smaller."""
    height, width = (round(side * factor) for side in SIZE)
    photo = cv2.resize(PHOTO, (width, height), interpolation=cv2.INTER_AREA)
    match prediction:
        case Detections(items=boxes):
            made: Prediction = Detections(
                tuple(
                    replace(box, xyxy=tuple(factor * v for v in box.xyxy))
                    for box in boxes
                )
            )
        case Masks(items=parts):
            size = (height, width)
            made = Masks(
                size,
                tuple(
                    replace(part, mask=resized_mask(part.mask, size))
                    for part in parts
                ),
            )
        case People(items=people):
            scale = np.array([factor, factor, 1])
            made = People(
                tuple(replace(x, keypoints=x.keypoints * scale) for x in people)
            )
    return made, photo


def test_encodings_of_other_sizes() -> None:
    """Lines, dots, tags and grids follow the size of the image."""
    shown: dict[str, Any] = {}
    for factor in (0.35, 2.0, 4.5):
        for type, crowd in CROWDS.items():
            few = replace(crowd, items=crowd.items[::3])
            for name, prediction in (("few", TRUTHS[type]), ("many", few)):
                made, photo = _scaled(prediction, factor)
                stems = [row.stem for row in encodings(TASK[type])]
                for stem, encoded in encode_each(
                    TASK[type], stems, made, photo
                ):
                    shown[f"{factor}:{name}:{type}:{stem}"] = encoded
    check("encodings_of_sizes", shown, depth=1)


def test_colours() -> None:
    check(
        "colours",
        {
            "palette": [(name_at(k), color_at(k)) for k in range(70)],
            "random": [
                (random_name_at(k), random_color_at(k)) for k in range(70)
            ],
        },
        depth=1,
    )


def test_errors(ladders: Any) -> None:
    many = {
        f"many:{pairing}": {
            type: _made(type, pairing, replace(crowd, items=crowd.items[::4]))
            for type, crowd in CROWDS.items()
            if type in ("detection", "instance")
        }
        for pairing in ("ladder", "matched")
    }
    matched = {type: _made(type, "matched") for type in TRUTHS}
    check("errors", {"ladder": ladders, "matched": matched, **many}, depth=3)


def _measured(type: str, prediction: Prediction) -> dict[str, Any]:
    task, truth = TASK[type], TRUTHS[type]
    out: dict[str, Any] = {
        "faults": faults_of(task, prediction, truth, None, DEGRADED),
        "faults_of_dogs": faults_of(task, prediction, truth, ("dog",)),
        "notes": notes(task, [(prediction, truth)], {}),
    }
    for metric in metrics_of(type):
        out[metric] = score(task, prediction, truth, metric=metric)
    for align in ("none", "median", "affine"):
        if type == "depth":
            out[align] = score(task, prediction, truth, align=align)
    if type in ("detection", "instance"):
        out["classes"] = scores_by_class(task, prediction, truth, LABELS)
        out["by_class"] = faults_by_class(task, prediction, truth, LABELS)
    return out


def test_scores_and_faults(ladders: Any) -> None:
    measured = {
        type: {
            error: [_measured(type, prediction) for prediction in steps]
            for error, steps in errors.items()
        }
        for type, errors in ladders.items()
    }
    check("scores", measured, depth=2)


def test_features_of_the_local_judge(ladders: Any) -> None:
    given = Given(DEGRADED)
    looks = {
        type: {
            error: [look(prediction, given) for prediction in steps[::3]]
            for error, steps in errors.items()
        }
        for type, errors in ladders.items()
        if (look := TYPES[type].look) is not None
    }
    drawn = {
        type: [
            look(encoded.image, stem, given)
            for stem, encoded in encode_each(
                TASK[type],
                [row.stem for row in encodings(TASK[type])],
                TRUTHS[type],
                PHOTO,
            )
        ]
        for type in TRUTHS
        if (look := TYPES[type].look_drawn) is not None
    }
    check("features", {"data": looks, "drawn": drawn}, depth=3)


def _mended(row: Any, prediction: Any, truth: Any) -> Any:
    try:
        return row.mended(prediction, truth)
    except DataError:
        return None


def test_mistakes_tried_by_an_import(ladders: Any) -> None:
    mended = {
        type: [
            _mended(row, errors[next(iter(errors))][0], TRUTHS[type])
            for row in TYPES[type].misreadings
        ]
        for type, errors in ladders.items()
    }
    check("misreadings", mended, depth=2)


def test_mistakes_of_place_tried_by_an_import() -> None:
    frame = np.array([*SIZE[::-1]] * 2, np.float64)
    placed = {
        type: [
            row.placed(places(TRUTHS[type]), frame)
            for row in (*TYPES[type].misplacements, *SHARED)
        ]
        for type in TRUTHS
        if (places := TYPES[type].places) is not None
    }
    check("misplacements", placed, depth=2)


def test_tools_of_judges(ladders: Any) -> None:
    results = {}
    for type in ("detection", "instance", "keypoint", "semantic"):
        other = next(iter(ladders[type].values()))[-1]
        evidence = Evidence(
            {
                "original": lambda: PHOTO,
                "A": lambda: DEGRADED,
                "B": lambda: PHOTO,
            },
            {"A": lambda: TRUTHS[type], "B": lambda: other},  # noqa: B023
            "AB",
            TYPES[type],
        )
        part = {"x0": 10.4, "y0": 3.6, "x1": 70.5, "y1": 41.0}
        results[type] = [
            zoom(evidence, "original", **part),
            zoom(evidence, "A", x0=-20, y0=-30, x1=400, y1=400),
            compare(evidence, **part),
            count(evidence, "B"),
            count(evidence, "A", "dog"),
            measure(evidence, "A"),
            measure(evidence, "B", 1),
            measure(evidence, "A", 1, 2),
        ]
    check("tools", results, depth=2)
