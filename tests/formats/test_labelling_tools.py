"""Labelling tools' files, pickles and COCO instances as a label map, whose right
reading is known by hand.
"""

from __future__ import annotations

import base64
import io
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from corpus.workspace import HEIGHT, WIDTH, coco_gt, dump, photo, region
from visualjudge.core.errors import DataError, Problem, UsageError
from visualjudge.formats.labelling_tools import shapes
from visualjudge.formats.referring import referring
from visualjudge.formats.samples import Sample
from visualjudge.formats.tables import read_pickle
from visualjudge.vision.predictions import Detections

BOX, RING = [2, 2, 9, 8], [[2, 2], [9, 2], [9, 8], [2, 8]]


def bitmap(bottom: int = 8, right: int = 9) -> bytes:
    stream = io.BytesIO()
    part = region()[2:bottom, 2:right] * np.uint8(255)
    Image.fromarray(part).save(stream, "PNG")
    return stream.getvalue()


def labelme(kind: str, points: Any, **more: Any) -> Any:
    shape = {"label": "cat", "shape_type": kind, "points": points, **more}
    return {"shapes": [shape], "imageHeight": HEIGHT, "imageWidth": WIDTH}


def studio(kind: str, **value: Any) -> Any:
    result = {
        "type": kind,
        "original_width": WIDTH,
        "original_height": HEIGHT,
        "value": {kind: ["cat"], **value},
    }
    return [
        {
            "data": {"image": "/data/upload/1/0a1b2c3d-a.png"},
            "annotations": [{"result": [result]}],
        }
    ]


def cvat(kind: str, **fields: Any) -> Any:
    return {
        "categories": {"label": {"labels": [{"name": "dog"}, {"name": "cat"}]}},
        "items": [
            {
                "id": "train/a",
                "image": {"size": [HEIGHT, WIDTH]},
                "annotations": [{"type": kind, "label_id": 1, **fields}],
            }
        ],
    }


PERCENT = {"x": 10, "y": 20, "width": 35, "height": 60}
FORMS: dict[str, tuple[str, str, Any]] = {
    "labelme rectangle": (
        "labelme",
        "gt/a.json",
        labelme("rectangle", [[9, 8], [2, 2]]),
    ),
    "labelme polygon": ("labelme", "gt/a.json", labelme("polygon", RING)),
    "labelme mask": (
        "labelme",
        "gt/a.json",
        labelme(
            "mask",
            [[2, 2], [20, 10]],
            mask=base64.b64encode(bitmap(HEIGHT, WIDTH)).decode(),
        ),
    ),
    "label studio box": (
        "label-studio",
        "gt",
        studio("rectanglelabels", **PERCENT),
    ),
    "label studio polygon": (
        "label-studio",
        "gt",
        studio(
            "polygonlabels", points=[[10, 20], [45, 20], [45, 80], [10, 80]]
        ),
    ),
    "cvat box": ("cvat", "gt", cvat("bbox", bbox=[2, 2, 7, 6])),
    "cvat polygon": (
        "cvat",
        "gt",
        cvat("polygon", points=[v for point in RING for v in point]),
    ),
}


def made(root: Path, name: str) -> tuple[str, Path]:
    form, file, content = FORMS[name]
    photo(root / "images/a.png")
    dump(root / file, content)
    return form, root / "gt"


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("task", ["object_detection", "instance_segmentation"])
def test_one_object_is_read_where_it_is(
    tmp_path: Path, name: str, task: str
) -> None:
    form, gt = made(tmp_path, name)
    (sample,) = shapes(task, gt, None, tmp_path / "images", form)
    assert isinstance(sample, Sample), sample
    (item,) = sample.truth.items  # type: ignore[union-attr]
    assert item.label == "cat"
    if isinstance(sample.truth, Detections):
        np.testing.assert_allclose(item.xyxy, BOX, atol=1e-9)
    else:
        assert np.array_equal(item.mask.dense(), region() > 0)


def test_predictions_have_confidences(tmp_path: Path) -> None:
    form, gt = made(tmp_path, "labelme polygon")
    dump(
        tmp_path / "pred/a.json",
        labelme("rectangle", [[3, 3], [9, 8]], score=0.625),
    )
    (sample,) = shapes(
        "object_detection", gt, tmp_path / "pred", tmp_path / "images", form
    )
    assert isinstance(sample, Sample)
    assert [item.score for item in sample.prediction.items] == [0.625]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("form", "file", "content", "reason"),
    [
        (
            "labelme",
            "gt/a.json",
            labelme("line", RING),
            "shape_type: must be an outline or mask",
        ),
        (
            "labelme",
            "gt/a.json",
            {**labelme("polygon", RING), "imageWidth": 5},
            "size: must be 10×20, got 10×5",
        ),
        (
            "labelme",
            "gt/a.json",
            labelme("polygon", RING[:2]),
            "points: an outline must have at least 3, got 2",
        ),
        (
            "labelme",
            "gt/a.json",
            {"flags": {}},
            "does not follow the format: the field 'shapes' is missing",
        ),
        (
            "labelme",
            "gt/a.json",
            labelme(
                "mask",
                [[15, 2], [22, 8]],
                mask=base64.b64encode(bitmap()).decode(),
            ),
            "mask: must lie inside the image",
        ),
        (
            "label-studio",
            "gt",
            studio("brushlabels", rle=[1]),
            "type: must be a rectangle or polygon",
        ),
        (
            "cvat",
            "gt",
            cvat("points", points=[1, 2]),
            "type: must be bbox, polygon or mask, got 'points'",
        ),
    ],
)
def test_what_cannot_be_read_is_one_problem(
    tmp_path: Path, form: str, file: str, content: Any, reason: str
) -> None:
    photo(tmp_path / "images/a.png")
    dump(tmp_path / file, content)
    (told,) = shapes(
        "instance_segmentation",
        tmp_path / "gt",
        None,
        tmp_path / "images",
        form,
    )
    assert isinstance(told, Problem)
    assert reason in str(told)


@pytest.mark.parametrize(
    ("form", "content", "reason"),
    [
        (
            "label-studio",
            [{"data": {"image": "a.png"}, "annotations": [[]]}],
            "must be an object",
        ),
        (
            "label-studio",
            [{"data": {"image": "a.png"}, "annotations": 1}],
            "annotations: must be",
        ),
        (
            "cvat",
            {"categories": {"label": {"labels": [{"name": []}]}}},
            "name: must be",
        ),
    ],
)
def test_a_field_of_another_type_is_told(
    tmp_path: Path, form: str, content: Any, reason: str
) -> None:
    photo(tmp_path / "images/a.png")
    dump(tmp_path / "gt.json", content)
    with pytest.raises(DataError, match=reason):
        list(
            shapes(
                "object_detection",
                tmp_path / "gt.json",
                None,
                tmp_path / "images",
                form,
            )
        )


def test_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match="`format` must be one of labelme, label-studio, cvat"
    ):
        list(shapes("object_detection", tmp_path, None, tmp_path, "voc"))


def test_refcoco_pickle_is_read_and_runs_nothing(tmp_path: Path) -> None:
    photo(tmp_path / "images/a.png")
    refs = [
        {
            "ref_id": 1,
            "ann_id": 1,
            "file_name": "a.png",
            "sentences": [{"sent_id": 5, "raw": "the left cat"}],
        }
    ]
    (tmp_path / "refs(unc).p").write_bytes(pickle.dumps(refs, protocol=2))
    dump(tmp_path / "instances.json", coco_gt())
    (sample,) = referring(
        "referring_segmentation",
        tmp_path / "refs(unc).p",
        None,
        tmp_path / "images",
        tmp_path / "instances.json",
    )
    assert isinstance(sample, Sample)
    assert sample.prompt == "the left cat"


class Evil:
    def __reduce__(self) -> Any:
        return os.mkdir, ("ran",)


@pytest.mark.parametrize(
    "content",
    [pickle.dumps(Evil()), b"", b"\x80\x04", b"c__builtin__\neval\n."],
)
def test_a_pickle_that_is_more_than_data_is_refused(
    tmp_path: Path, content: bytes, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.p").write_bytes(content)
    with pytest.raises(DataError, match="must be a pickle of plain data"):
        read_pickle(tmp_path / "x.p")
    assert not (tmp_path / "ran").exists()


@pytest.mark.usefixtures("reading_apart")
def test_a_pickle_that_grows_in_memory_is_refused(tmp_path: Path) -> None:
    """Forty lists, each of which holds the one before twice."""
    value: list[Any] = [1]
    for _ in range(40):
        value = [value, value]
    (tmp_path / "x.p").write_bytes(pickle.dumps(value))
    with pytest.raises(DataError, match="takes more than"):
        read_pickle(tmp_path / "x.p")
