"""Labels of what lies under the pointer come from an open data folder, and from nowhere else."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from judged_records import pair, write_dataset
from visualjudge.studio.app import create_app
from visualjudge.studio.places import find_places
from visualjudge.studio.site import Site
from visualjudge.vision.encode import encode

BOXES = {"detections": [{"label": "cat", "bbox": [1, 2, 8, 6], "score": 0.5}]}
POSE = {"persons": [{"keypoints": [5, 4, 2] + [0] * 48}]}


def _served(tmp_path: Path, task: str, stem: str, predictions: list[Any]) -> Any:
    client, address = _studio(tmp_path, task, stem, predictions)
    return client.get(f"{address}/labels").json()["marks"]


def _studio(
    tmp_path: Path,
    task: str,
    stem: str,
    predictions: list[Any],
    metadata: tuple[Any, ...] = ({}, {}),
    image: str = "i",
) -> tuple[TestClient, str]:
    names = ("media/o.png", "media/a.png", "media/b.png")
    root = write_dataset(
        tmp_path / "ds",
        [pair(0, (1.0, 2.0), task=task, encoding=stem, images=names, image_id=image)],
    )
    (root / "media").mkdir()
    for name in names:
        Image.new("RGB", (10, 8)).save(root / name)
    data = tmp_path / "data"
    (data / "annotations").mkdir(parents=True)
    (data / "images").mkdir()
    base = {
        "image_id": "i",
        "task": task,
        "final_score": 1.0,
        "class_of_interest": None,
        "error_type": None,
        "prompt": None,
    }
    notes = [
        {**base, "annotation_id": n, "prediction": p, "metadata": m}
        for n, p, m in zip(("a0", "b0", "t0"), predictions, metadata, strict=False)
    ]
    (data / "annotations" / f"{task}_annotations.json").write_text(json.dumps(notes))
    (data / "images" / f"{task}.json").write_text(json.dumps({"i": {"file": "images/i.png"}}))
    Image.new("RGB", (10, 8)).save(data / "images" / "i.png")
    site = Site(find_places([root, data]), tmp_path / "cache")
    client = TestClient(create_app(site), base_url="http://127.0.0.1:1")
    return client, f"/d/{site.places.datasets[0].slug}/q/q0"


@pytest.mark.parametrize(
    ("task", "stem", "prediction", "label", "box"),
    [
        ("object_detection", "pixel_s0_m0", BOXES, "cat 0.50", [1, 2, 8, 6]),
        ("keypoint", "pixel_s1_c1_m0", POSE, "person 1: nose", [-1, -2, 11, 10]),
        (
            "instance_segmentation",
            "pixel_ss0_m0",
            {"instances": [{"label": "dog", "segmentation": [[2, 2, 6, 2, 6, 5, 2, 5]]}]},
            "dog",
            [2, 2, 6, 5],
        ),
    ],
)
def test_each_type_of_prediction_names_its_regions(
    tmp_path: Path, task: str, stem: str, prediction: Any, label: str, box: list[float]
) -> None:
    found = _served(tmp_path, task, stem, [prediction, prediction])
    assert [mark["label"] for mark in found["A"]] == [label]
    assert found["A"][0]["box"] == pytest.approx(box, abs=1)
    assert found["B"] == found["A"]


@pytest.mark.parametrize(
    "bad", [{}, {"detections": 5}, {"detections": [{"label": "x", "bbox": ["a"]}]}, None]
)
def test_a_bad_prediction_has_no_labels_and_costs_only_itself(tmp_path: Path, bad: Any) -> None:
    found = _served(tmp_path, "object_detection", "pixel_s0_m0", [bad, BOXES])
    assert (found["A"], len(found["B"])) == ([], 1)


def test_without_a_data_folder_there_are_none(client: TestClient, slug: str) -> None:
    assert all(
        marks == [] for marks in client.get(f"/d/{slug}/q/q0/labels").json()["marks"].values()
    )
    assert client.get(f"/d/{slug}/q/none/labels").status_code == 404


def _boxes(x: int) -> dict[str, Any]:
    return {"detections": [{"label": "cat", "bbox": [x, 2, x + 4, 6]}]}


@pytest.mark.parametrize("stem", ["pixel_s0_m0", "text_xyxy"])
def test_the_ground_truth_is_drawn_as_the_options_are(tmp_path: Path, stem: str) -> None:
    metadata = ({"severity": 0.3}, {"severity": 0.6}, {"severity": 0.0})
    client, address = _studio(
        tmp_path, "object_detection", stem, [_boxes(1), _boxes(2), _boxes(5)], metadata
    )
    found = client.get(f"{address}/truth")
    drawn = encode(
        "object_detection", "pixel_s0_m0", _boxes(5), np.zeros((8, 10, 3), np.uint8)
    ).image
    assert drawn is not None
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(found.content))), drawn)
    assert client.get(f"{address}/labels").json()["truth"] == f"{address}/truth"


def test_without_a_prediction_free_of_errors_there_is_no_ground_truth(tmp_path: Path) -> None:
    client, address = _studio(tmp_path, "object_detection", "pixel_s0_m0", [_boxes(1), _boxes(2)])
    assert client.get(f"{address}/truth").status_code == 404
    told = client.get(f"{address}/labels").json()
    assert "truth" not in told
    assert f"{tmp_path}/data holds this question’s predictions" in told["why"]
    assert "--source truth" in told["why"]


def test_a_data_folder_with_the_same_ids_of_other_images_gives_neither_labels_nor_truth(
    tmp_path: Path,
) -> None:
    metadata = ({"severity": 0.3}, {"severity": 0.6}, {"severity": 0.0})
    client, address = _studio(
        tmp_path, "object_detection", "pixel_s0_m0", [BOXES, BOXES, BOXES], metadata, image="j"
    )
    assert client.get(f"{address}/truth").status_code == 404
    told = client.get(f"{address}/labels").json()
    assert told["marks"] == {"A": [], "B": []}
    assert f"{tmp_path}/data does not hold prediction a0 of image j: open" in told["why"]


def test_where_no_data_folder_is_open_the_page_names_the_one_beside_or_what_it_holds(
    tmp_path: Path,
) -> None:
    root = write_dataset(tmp_path / "ds", [pair(0, (1.0, 2.0))])

    def page() -> str:
        site = Site(find_places([root]), tmp_path / "cache")
        client = TestClient(create_app(site), base_url="http://127.0.0.1:1")
        return client.get(f"/d/{site.places.datasets[0].slug}/q/q0").text

    assert f"visualjudge studio {root} DATA" in page()
    assert "it holds prediction a0 of image image0" in page()
    for name in ("annotations", "images"):
        (tmp_path / "mine" / name).mkdir(parents=True)
    assert f"visualjudge studio {root} {tmp_path}/mine</code>" in page()
    assert "it holds prediction" not in page()
