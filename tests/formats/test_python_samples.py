"""``vj.import_samples`` takes samples as people have them; what it cannot read it
names."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas
import polars as pl
import pytest
from PIL import Image

import visualjudge as vj
from visualjudge.core.errors import DataError, UsageError
from visualjudge.vision.predictions import (
    Detection,
    Detections,
    Instance,
    Masks,
)
from visualjudge.vision.raster.masks import mask_from_array

TRUTH = {"detections": [{"label": "dog", "bbox": [0, 0, 10, 10]}]}
FOUND = {"detections": [{"label": "dog", "bbox": [0, 0, 10, 8]}]}


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "a.png"
    Image.fromarray(np.zeros((50, 60, 3), np.uint8)).save(path)
    return path


def _scores(data: vj.Data) -> list[tuple[str, float]]:
    (task,) = data.tasks
    return [(row.image_id, row.final_score) for row in data.annotations(task)]


def _supervision(box: list[int]) -> Any:
    names = {"class_name": np.array(["dog"])}
    return SimpleNamespace(
        xyxy=np.array([box]),
        confidence=None,
        class_id=None,
        mask=None,
        data=names,
    )


FORMS = {
    "a sample of payloads, a path as text, no labels": lambda image: [
        vj.Sample("a", str(image), FOUND, TRUTH)
    ],  # type: ignore[arg-type]
    "a mapping": lambda image: [
        {
            "image_id": "a",
            "image": str(image),
            "prediction": FOUND,
            "truth": TRUTH,
        }
    ],
    "a mapping without an id": lambda image: [
        {"image": image, "prediction": FOUND, "truth": TRUTH}
    ],
    "objects of supervision": lambda image: [
        {
            "image": image,
            "prediction": _supervision([0, 0, 10, 8]),
            "truth": _supervision([0, 0, 10, 10]),
        }
    ],
    "records": lambda image: [
        {
            "image": image,
            "prediction": Detections((Detection("dog", (0, 0, 10, 8)),)),
            "truth": TRUTH,
        }
    ],
    "pandas": lambda image: pandas.DataFrame(
        [
            {
                "image": str(image),
                "prediction": FOUND,
                "truth": TRUTH,
                "prompt": None,
            }
        ]
    ),
    "Polars": lambda image: pl.DataFrame(
        [{"image": str(image), "prediction": FOUND, "truth": TRUTH}]
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_the_same_sample(
    form: str, photo: Path, tmp_path: Path
) -> None:
    data = vj.import_samples(
        "object_detection", FORMS[form](photo), tmp_path / "data", source="x"
    )
    assert _scores(data) == [("a", 7.0)]


def test_predictions_that_are_files_or_arrays(
    photo: Path, tmp_path: Path
) -> None:
    depth = np.linspace(1, 5, 3000).reshape(50, 60)
    np.save(tmp_path / "d.npy", depth)
    rows = [
        {"image": photo, "prediction": tmp_path / "d.npy", "truth": depth},
        {"image": photo, "prediction": 2 * depth, "truth": depth, "key": "2"},
    ]
    data = vj.import_samples(
        "depth_estimation", rows, tmp_path / "data", source="x"
    )
    assert _scores(data) == [("a", 10.0), ("a", 10.0)]


def test_a_score_in_place_of_a_truth(photo: Path, tmp_path: Path) -> None:
    rows = pandas.DataFrame(
        [
            {
                "image_id": "p1",
                "prediction": str(photo),
                "score": 6.5,
                "prompt": "a dog",
            }
        ]
    )
    data = vj.import_samples(
        "generation_t2i", rows, tmp_path / "data", source="x"
    )
    assert _scores(data) == [("p1", 6.5)]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (
            {"prediction": FOUND, "truth": TRUTH, "lable": "dog"},
            "'lable' is not a field of a sample",
        ),
        (7, "must be a vj.Sample or a mapping of its fields, got int"),
    ],
)
def test_what_is_no_sample_is_refused(
    row: Any, told: str, photo: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=told):
        vj.import_samples(
            "object_detection", [row], tmp_path / "data", source="x"
        )


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"prediction": None}, "prediction: the field is missing"),
        (
            {"prediction": 3},
            "prediction: a prediction must be a payload, a record or arrays, got int",
        ),
        (
            {"prediction": {"detections": [{"label": "dog"}]}},
            r"prediction: detections\[0\]\.bbox",
        ),
        (
            {"image": np.zeros((5, 5, 3))},
            "image_id: must be given if the image is not a file",
        ),
        (
            {"image": np.zeros((5, 5, 9)), "image_id": "a"},
            "image: an image array must be H×W, ",
        ),
    ],
)
def test_a_sample_that_cannot_be_read_is_named(
    changed: dict[str, Any], told: str, photo: Path, tmp_path: Path
) -> None:
    rows = [{"image": photo, "prediction": FOUND, "truth": TRUTH, **changed}]
    with pytest.raises(DataError, match=told):
        vj.import_samples(
            "object_detection", rows, tmp_path / "data", source="x"
        )
    whole = {"image": photo, "prediction": FOUND, "truth": TRUTH}
    with pytest.warns(UserWarning, match=told):
        data = vj.import_samples(
            "object_detection", [*rows, whole], tmp_path / "data", source="x"
        )
    assert _scores(data) == [("a", 7.0)]


@pytest.mark.parametrize(
    ("label", "score", "told"),
    [
        (7, None, "prediction: label: must be text, got int 7"),
        ("two\nlines", None, "prediction: label: must be one line of text"),
        (
            "dog",
            "high",
            "score: AP needs the confidence of every predicted item",
        ),
    ],
)
def test_a_record_of_python_is_checked(
    label: Any, score: Any, told: str, photo: Path, tmp_path: Path
) -> None:
    found = Detections((Detection(label, (1, 1, 5, 5), score),))
    truth = Detections((Detection("dog", (1, 1, 5, 5)),))
    with pytest.raises(DataError, match=told):
        vj.import_samples(
            "object_detection",
            [vj.Sample("a", photo, found, truth)],
            tmp_path / "data",
            source="x",
        )


def test_masks_of_another_size_than_the_image_are_refused(
    photo: Path, tmp_path: Path
) -> None:
    mask = Masks(
        (9, 9), (Instance("dog", mask_from_array(np.ones((9, 9), bool))),)
    )
    with pytest.raises(
        DataError, match="prediction: must match the image size"
    ):
        vj.import_samples(
            "instance_segmentation",
            [vj.Sample("a", photo, mask, mask)],
            tmp_path / "d",
            source="x",
        )


def test_samples_of_which_none_can_be_asked_about_are_told(
    photo: Path, tmp_path: Path
) -> None:
    given = {
        "image_id": "a",
        "image": photo,
        "prediction": FOUND,
        "final_score": 7,
    }
    with pytest.raises(
        DataError, match=r"no sample can be imported: .* class to ask about"
    ):
        vj.import_samples(
            "object_detection", [given], tmp_path / "data", source="m"
        )
