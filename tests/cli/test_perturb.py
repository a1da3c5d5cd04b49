"""``visualjudge perturb`` on a COCO file of two images."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from visualjudge.cli.main import app
from visualjudge.core.errors import UsageError
from visualjudge.data.folder import DataFolder
from visualjudge.vision.raster.images import write_png

BOXES = {1: [[10, 10, 40, 30], [60, 20, 30, 50]], 2: [[5, 5, 50, 60]]}


@pytest.fixture
def coco(tmp_path: Path) -> Path:
    annotations: list[dict[str, Any]] = []
    for image, boxes in BOXES.items():
        write_png(
            tmp_path / "images" / f"{image}.png",
            np.full((90, 120, 3), 90 + image, dtype=np.uint8),
        )
        for k, box in enumerate(boxes):
            annotations.append(
                {
                    "id": len(annotations),
                    "image_id": image,
                    "category_id": 1 + k,
                    "bbox": box,
                    "iscrowd": 0,
                    "area": box[2] * box[3],
                }
            )
    content = {
        "images": [
            {"id": k, "file_name": f"{k}.png", "width": 120, "height": 90}
            for k in BOXES
        ],
        "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
        "annotations": annotations,
    }
    (tmp_path / "gt.json").write_text(json.dumps(content))
    return tmp_path


def perturb(root: Path, *options: str, out: str = "data") -> Any:
    words = [
        "perturb",
        "--task",
        "object_detection",
        "--gt",
        str(root / "gt.json"),
        "--images",
        str(root / "images"),
    ]
    return CliRunner().invoke(app, [*words, "--out", str(root / out), *options])


def test_every_annotation_is_valid_graded_and_shows_its_labels(
    coco: Path,
) -> None:
    assert (
        perturb(coco, "--per-image", "3", "--pairing", "ladder").exit_code == 0
    )
    folder = DataFolder(coco / "data")
    notes = list(folder.annotations("object_detection"))
    assert folder.problems == []
    groups: dict[Any, list[Any]] = {}
    for note in notes:
        groups.setdefault((note.image_id, note.error_type), []).append(note)
        shown = {item["label"] for item in note.prediction["detections"]}
        assert shown <= set(note.class_of_interest or ())
    assert {error for _, error in groups} == {
        "classification",
        "localization",
        "duplicate",
        "background",
        "missed",
    }
    for members in groups.values():
        ordered = sorted(members, key=lambda note: note.metadata["severity"])
        scores = [note.final_score for note in ordered]
        assert scores == sorted(set(scores), reverse=True)


def test_same_seed_same_bytes_and_another_seed_other_boxes(coco: Path) -> None:
    for out, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert (
            perturb(
                coco, "--seed", seed, "--error-type", "localization", out=out
            ).exit_code
            == 0
        )
    a, b, c = (
        (
            coco / out / "annotations" / "object_detection_annotations.json"
        ).read_bytes()
        for out in "abc"
    )
    assert a == b
    assert a != c


def test_bad_record_is_named_and_the_others_are_made(coco: Path) -> None:
    content = json.loads((coco / "gt.json").read_text())
    content["annotations"][2]["bbox"] = [5, 5, -1, 60]
    (coco / "gt.json").write_text(json.dumps(content))
    result = perturb(coco)
    assert result.exit_code == 1
    assert "gt.json: annotations[2]: bbox" in result.stderr
    folder = DataFolder(coco / "data")
    assert {
        note.image_id for note in folder.annotations("object_detection")
    } == {"1"}


def test_unknown_error_type_lists_those_there_are(coco: Path) -> None:
    result = perturb(coco, "--error-type", "blur")
    assert isinstance(result.exception, UsageError)
    assert "localization" in str(result.exception)


def test_matched_errors_are_the_default_and_say_so(coco: Path) -> None:
    assert perturb(coco, "--per-image", "4").exit_code == 0
    folder = DataFolder(coco / "data")
    notes = list(folder.annotations("object_detection"))
    assert notes and all(
        note.metadata["pairing"] == "matched" for note in notes
    )
    assert all(
        0 < note.metadata["severity"] < 1 and note.final_score < 10
        for note in notes
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--set", "blur=3"), "--set: must be one of task, gt, pred"),
        (
            ("--set", "gt_png=x"),
            "(did you mean gt_pngs?), got 'gt_png' (importer coco)",
        ),
    ],
)
def test_pairings_that_do_not_fit_are_refused(
    coco: Path, options: tuple[str, ...], said: str
) -> None:
    assert said in str(perturb(coco, *options).exception)
