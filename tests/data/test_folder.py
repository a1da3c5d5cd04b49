"""Every rule of a data folder has a bad record here, and the line that its owner
reads."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

import visualjudge as vj
from corpus.workspace import dump
from making import (
    detection,
    detection_folder,
    make_folder,
    photograph,
    write_records,
)
from visualjudge.core.errors import DataError, UsageError
from visualjudge.data.folder import DataFolder
from visualjudge.vision.raster.images import write_png

KEYPOINTS = [3.0] * 50
RLE = {"size": [48, 64], "counts": [40, 25, 3]}
FULL_RLE = {"size": [48, 64], "counts": [48 * 64]}


def _record(place: str, prediction: Any, /, **fields: Any) -> dict[str, Any]:
    return (
        detection(0, 5.0)
        | {"task": place, "prediction": prediction, "prompt": "the dog"}
        | fields
    )


def _box(box: Any, label: Any = "dog") -> dict[str, Any]:
    return {"detections": [{"label": label, "bbox": box}]}


GOOD_BOX = [1, 1, 5, 5]
DET = "object_detection"
BAD: list[tuple[str, dict[str, Any], str, str]] = [
    (
        DET,
        _record(DET, _box(GOOD_BOX), final_score=11),
        "final_score",
        "at most 10",
    ),
    (
        DET,
        _record(DET, _box(GOOD_BOX), final_score=-0.5),
        "final_score",
        "at least 0",
    ),
    (
        DET,
        _record(DET, _box(GOOD_BOX), final_score="7"),
        "final_score",
        "must be a number, got '7'",
    ),
    (
        DET,
        _record(DET, _box(GOOD_BOX), final_score=True),
        "final_score",
        "must be a number",
    ),
    (
        DET,
        _record(DET, _box(GOOD_BOX), final_score=float("nan")),
        "final_score",
        "finite number",
    ),
    (
        DET,
        _record(DET, _box(GOOD_BOX), final_score=None),
        "final_score",
        "must be a number",
    ),
    (
        DET,
        _record(DET, _box(GOOD_BOX), image_id="nowhere"),
        "image_id",
        "there is no image 'nowhere'",
    ),
    (
        DET,
        _record(DET, _box([0.1, 0.2, 0.5, 0.6])),
        "prediction",
        "must be in pixels; all 1 lie",
    ),
    (
        "keypoint",
        _record("keypoint", {"persons": [{"keypoints": [0.3, 0.5, 2] * 17}]}),
        "prediction",
        "must be in pixels; all 1 lie",
    ),
    (
        DET,
        _record(DET, _box(GOOD_BOX), image_id=12),
        "image_id",
        "must be a string, got 12",
    ),
    (
        DET,
        _record(DET, _box(GOOD_BOX), annotation_id=""),
        "annotation_id",
        "must not be empty",
    ),
    (
        DET,
        _record(DET, _box(GOOD_BOX), task="flying_carpets"),
        "task",
        "there is no such task",
    ),
    (
        DET,
        _record(DET, _box(GOOD_BOX), task="keypoint"),
        "task",
        "another task's file",
    ),
    (
        DET,
        _record(DET, _box(GOOD_BOX), class_of_interest="dog"),
        "class_of_interest",
        "must be a list, got 'dog'",
    ),
    (
        DET,
        _record(DET, _box(GOOD_BOX), error_type=3),
        "error_type",
        "must be a string",
    ),
    (
        DET,
        _record(DET, _box(GOOD_BOX), prompt="see <image>"),
        "prompt",
        "marks an image",
    ),
    (
        DET,
        _record(DET, _box(GOOD_BOX), metadata=[]),
        "metadata",
        "must be an object",
    ),
    (DET, _record(DET, None), "prediction", "must be an object"),
    (DET, _record(DET, {}), "prediction.detections", "the field is missing"),
    (
        DET,
        _record(DET, _box([1, float("nan"), 5, 5])),
        "prediction.detections[0].bbox",
        "a finite number",
    ),
    (
        DET,
        _record(DET, _box([1, 1, float("inf"), 5])),
        "prediction.detections[0].bbox",
        "a finite number",
    ),
    (
        DET,
        _record(DET, _box([9, 9, 5, 5])),
        "prediction.detections[0].bbox",
        "x2 < x1",
    ),
    (
        DET,
        _record(DET, _box([1, 1, 5])),
        "prediction.detections[0].bbox",
        "must be [x1, y1, x2, y2]",
    ),
    (
        DET,
        _record(DET, _box(GOOD_BOX, label=" ")),
        "prediction.detections[0].label",
        "non-empty",
    ),
    (
        DET,
        _record(DET, _box(GOOD_BOX, label="a <image>")),
        "prediction.label",
        "one line of text",
    ),
    (
        DET,
        _record(DET, _box(GOOD_BOX, label="a\nB. b")),
        "prediction.label",
        "one line of text",
    ),
    (
        "keypoint",
        _record("keypoint", {"persons": [{"keypoints": KEYPOINTS}]}),
        "prediction.persons[0].keypoints",
        "51",
    ),
    (
        "instance_segmentation",
        _record(
            "instance_segmentation",
            {"instances": [{"label": "dog", "segmentation": RLE}]},
        ),
        "prediction.instances[0].segmentation",
        "48×64, got 68",
    ),
    (
        "instance_segmentation",
        _record(
            "instance_segmentation",
            {
                "instances": [
                    {
                        "label": "dog",
                        "segmentation": {"size": [4, 4], "counts": [16]},
                    }
                ]
            },
        ),
        "prediction.instances[0].segmentation",
        "mask must match the image size 48×64 (height×width), got 4×4",
    ),
    (
        "instance_segmentation",
        _record(
            "instance_segmentation",
            {"instances": [{"label": "dog", "segmentation": [[1, 2, 3, 4]]}]},
        ),
        "prediction.instances[0].segmentation",
        "at least 3 points",
    ),
    (
        "semantic_segmentation",
        _record(
            "semantic_segmentation",
            {"label_map": "../outside.png", "classes": {}},
        ),
        "prediction.label_map",
        "leads out of the data folder",
    ),
    (
        "referring_segmentation",
        _record(
            "referring_segmentation", {"segmentation": FULL_RLE}, prompt=None
        ),
        "prompt",
        "referring expression",
    ),
    (
        "depth_estimation",
        _record("depth_estimation", {"depth": "small.npy"}),
        "prediction.depth",
        "must match the image size 48×64 (height×width), got 4×4",
    ),
    (
        "depth_estimation",
        _record("depth_estimation", {"depth": "empty.npy"}),
        "prediction.depth",
        "no valid value",
    ),
    (
        "depth_estimation",
        _record("depth_estimation", {"depth": "good.npy", "scale": -1}),
        "prediction.scale",
        "above 0",
    ),
    (
        "lowlevel-deblur",
        _record("lowlevel-deblur", {"image": "nowhere.png"}),
        "prediction.image",
        "there is no file 'nowhere.png'",
    ),
    (
        "lowlevel-deblur",
        _record("lowlevel-deblur", {"image": "cut.png"}),
        "prediction.image",
        "cannot be decoded",
    ),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    detection_folder(tmp_path, [1.0])
    for task in (
        "keypoint",
        "instance_segmentation",
        "semantic_segmentation",
        "referring_segmentation",
    ):
        (tmp_path / f"images/{task}.json").write_text(
            '{"photo": {"file": "photo.png"}}'
        )
    (tmp_path / "images/depth_estimation.json").write_text(
        '{"photo": {"file": "photo.png"}}'
    )
    np.save(tmp_path / "small.npy", np.ones((4, 4)))
    np.save(tmp_path / "empty.npy", np.zeros((48, 64)))
    np.save(tmp_path / "good.npy", np.ones((48, 64)))
    (tmp_path / "cut.png").write_bytes(
        (tmp_path / "photo.png").read_bytes()[:3000]
    )
    return tmp_path


@pytest.mark.parametrize(
    ("task", "record", "field", "reason"),
    BAD,
    ids=lambda v: v[:40] if isinstance(v, str) else "",
)
def test_bad_record_is_told_with_file_record_field_and_reason_and_left_out(
    folder: Path, task: str, record: dict[str, Any], field: str, reason: str
) -> None:
    write_records(folder, task, [record])
    opened = DataFolder(folder)
    assert list(opened.annotations(task)) == []
    [problem] = opened.problems
    assert problem.file == f"{task}_annotations.json"
    assert problem.record == (record["annotation_id"] or "record 1")
    assert problem.field == field
    assert reason in problem.reason
    assert str(folder) not in str(problem)


@pytest.mark.parametrize(
    "field", ["annotation_id", "image_id", "task", "prediction", "final_score"]
)
def test_missing_field_is_told(folder: Path, field: str) -> None:
    record = detection(0, 5.0)
    del record[field]
    write_records(folder, "object_detection", [record])
    opened = DataFolder(folder)
    assert opened.entries("object_detection") == []
    assert [(problem.field, problem.reason) for problem in opened.problems] == [
        (field, "the field is missing")
    ]


def test_bad_record_does_not_stop_the_good_ones(folder: Path) -> None:
    write_records(
        folder,
        "object_detection",
        [detection(0, 5.0), detection(1, 99.0), detection(2, 6.0)],
    )
    opened = DataFolder(folder)
    assert [
        note.annotation_id for note in opened.annotations("object_detection")
    ] == [
        "a00",
        "a02",
    ]
    assert len(opened.problems) == 1


def test_id_that_occurs_twice_takes_out_both(folder: Path) -> None:
    write_records(
        folder,
        "object_detection",
        [detection(0, 5.0), detection(0, 6.0), detection(1, 6.0)],
    )
    opened = DataFolder(folder)
    assert [
        note.annotation_id for note in opened.annotations("object_detection")
    ] == ["a01"]
    assert "occurs 2 times" in opened.problems[0].reason


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (
            {"url": "https://example.org/a.png"},
            "a url is not read: download it with `fetch` of adopt",
        ),
        ({"file": "nowhere.png"}, "there is no file 'nowhere.png'"),
        ({"file": "/etc/passwd"}, "leads out of the data folder"),
        (
            {"file": "photo.png", "width": 7},
            "width: must be 64, the width of photo.png, got 7",
        ),
        ({"file": "photo.png", "height": "tall"}, "height: must be a"),
        (
            {"file": "photo.png", "mask": "small.png"},
            "must match the image size 48×64",
        ),
        ({"file": "photo.png", "mask": "photo.png"}, "is it a photograph?"),
        (
            {"file": "photo.png", "mask": "black.png"},
            "leaves no region to fill",
        ),
        ({"file": "cut.txt"}, "not an image"),
        ([], "must be an object"),
    ],
)
def test_bad_image_record_is_told_with_the_annotation_that_needs_it(
    folder: Path, record: Any, reason: str
) -> None:
    write_png(folder / "small.png", photograph(0, (4, 4)))
    write_png(folder / "black.png", np.zeros((48, 64, 3), np.uint8))
    (folder / "cut.txt").write_text("no image")
    (folder / "images/object_detection.json").write_text(
        json.dumps({"photo": record})
    )
    opened = DataFolder(folder)
    assert opened.entries("object_detection") == []
    [problem] = opened.problems
    assert (problem.record, problem.field) == ("a00", "image_id")
    assert reason in problem.reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("this is {not json", "line 1: is not JSON"),
        ('{"a": 1}', "name it .jsonl"),
        ('[{"a": {"b": 1}', "line 1: is not JSON"),
        ("3", "must be a JSON array"),
        ("", "is not JSON"),
    ],
)
def test_file_that_is_no_array_is_a_problem_that_names_it(
    folder: Path, text: str, reason: str
) -> None:
    (folder / "annotations/object_detection_annotations.json").write_text(text)
    data = DataFolder(folder)
    assert data.entries("object_detection") == []
    said = " ".join(map(str, data.problems))
    assert "object_detection_annotations.json" in said
    assert reason in said


@pytest.mark.parametrize(
    "bad",
    [
        "garbage",
        "[1, 2]",
        '{"source": "\\ud800"}',
        '{"a":' * 2000 + "1" + "}" * 2000,
    ],
)
def test_one_malformed_line_costs_one_record(folder: Path, bad: str) -> None:
    path = folder / "annotations/object_detection_annotations.json"
    good = [json.dumps(detection(k, 5.0 + k)) for k in range(2)]
    path.unlink(missing_ok=True)
    path.with_suffix(".jsonl").write_text("\n".join([good[0], bad, good[1]]))
    data = DataFolder(folder)
    assert len(data.entries("object_detection")) == 2
    assert [problem.record for problem in data.problems] == ["record 2"]


def test_json_lines_and_parquet_read_like_json(tmp_path: Path) -> None:
    make_folder(tmp_path, tasks=["object_detection"])
    path = tmp_path / "annotations/object_detection_annotations.json"
    records = json.loads(path.read_text())
    expected = list(DataFolder(tmp_path).annotations("object_detection"))
    path.unlink()
    path.with_suffix(".jsonl").write_text(
        "\n".join(map(json.dumps, records)) + "\n\n"
    )
    assert (
        list(DataFolder(tmp_path).annotations("object_detection")) == expected
    )
    path.with_suffix(".jsonl").unlink()
    polars.DataFrame(records).write_parquet(path.with_suffix(".parquet"))
    opened = DataFolder(tmp_path)
    assert list(opened.annotations("object_detection")) == expected


def test_order_of_records_does_not_matter(tmp_path: Path) -> None:
    make_folder(tmp_path, tasks=["keypoint"])
    before = list(DataFolder(tmp_path).annotations("keypoint"))
    path = tmp_path / "annotations/keypoint_annotations.json"
    path.write_text(json.dumps(json.loads(path.read_text())[::-1]))
    assert list(DataFolder(tmp_path).annotations("keypoint")) == before


def test_restored_image_may_come_without_its_source(tmp_path: Path) -> None:
    make_folder(tmp_path, tasks=["lowlevel-deblur"])
    (tmp_path / "images/lowlevel-deblur.json").write_text("{}")
    assert len(list(DataFolder(tmp_path).annotations("lowlevel-deblur"))) == 6


def test_two_files_of_one_task_are_an_error(folder: Path) -> None:
    (folder / "annotations/object_detection_annotations.jsonl").write_text("")
    with pytest.raises(DataError, match="keep one"):
        _ = DataFolder(folder).tasks


@pytest.mark.parametrize("name", ["nowhere", "."])
def test_folder_without_annotations_is_wrong_usage(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(UsageError, match=r"no such folder|not a data folder"):
        DataFolder(tmp_path / name)


def in_the_layout_of_the_document(
    root: Path, tasks: dict[str, list[str]]
) -> None:
    """Move the files of a data folder to where the document has them; joint ones hold
    several."""
    notes, indexes = root / "data_json_v2", root / "images_v2"
    for folder in (notes, indexes):
        folder.mkdir()
    for joint, parts in tasks.items():
        rows, index = list[Any](), dict[str, Any]()
        for task in parts:
            rows += json.loads(
                (root / f"annotations/{task}_annotations.json").read_text()
            )
            index |= json.loads((root / f"images/{task}.json").read_text())
        dump(notes / f"{joint}_annotations.json", rows)
        dump(
            indexes / f"{joint}{'_images' * (joint == 'generation')}.json",
            index,
        )
    for old in ("annotations", "images"):
        shutil.rmtree(root / old)


def test_the_layout_of_the_document_gives_the_same_questions(
    tmp_path: Path,
) -> None:
    joint = {
        "object_detection": ["object_detection"],
        "lowlevel": ["lowlevel-deblur", "lowlevel-derain"],
        "generation": ["generation_t2i", "generation_editing"],
    }
    tasks = [task for parts in joint.values() for task in parts]
    built = []
    for name in ("ours", "theirs"):
        make_folder(
            tmp_path / name, seed=3, images=3, annotations=3, tasks=tasks
        )
        if name == "theirs":
            in_the_layout_of_the_document(tmp_path / name, joint)
        vj.build(tmp_path / name, tmp_path / f"{name}-set")
        built.append((tmp_path / f"{name}-set/questions.json").read_bytes())
    assert built[0] == built[1]
    assert set(DataFolder(tmp_path / "theirs").tasks) == set(tasks)


def test_a_range_of_scores_becomes_nought_to_ten(tmp_path: Path) -> None:
    root = detection_folder(tmp_path / "data", [0.25, 1.0])
    (told,) = DataFolder(root).other_ranges([DET])
    assert told.startswith(f"{DET}: final_score: all 2 lie between 0 and 1")
    for scores, line in (([1, 3.5, 5], "`score_range` 1 5"), ([2, 3, 5], None)):
        found = DataFolder(
            detection_folder(tmp_path / str(scores), scores)
        ).other_ranges([DET])
        assert [str(line) in one for one in found] == [True] * (
            line is not None
        )
    assert [*DataFolder(root, (0, 1)).other_ranges([DET])] == []
    (told,) = DataFolder(root, (0, 100)).other_ranges([DET])
    assert "lowest tenth of `score_range` 0 100" in told
    entries = DataFolder(root, (0, 1)).entries(DET)
    assert sorted(one.final_score for one in entries) == [2.5, 10.0]
    outside = DataFolder(root, (0, 0.5))
    assert (
        len(outside.entries(DET)) == 1
        and outside.problems[0].field == "final_score"
    )
