"""What a user says about an import: names, thresholds, EXIF, resizing, raters,
masks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from corpus.workspace import (
    HEIGHT,
    WIDTH,
    coco_files,
    coco_gt,
    coco_words,
    dump,
    gray,
    photo,
    region,
    rle,
)
from visualjudge.cli.main import app
from visualjudge.dataset.build import build
from visualjudge.dataset.folder import load_dataset
from visualjudge.vision.predictions import Detection, Detections
from visualjudge.vision.scoring.average_precision import CocoImages
from visualjudge.vision.scoring.operating_point import best_f1

EXIF_TURNED = bytes.fromhex(
    "4578696600004d4d002a00000008000101120003000000010006000000000000"
)


def run(root: Path, *words: str) -> int:
    return int(
        app(
            [word.replace("{}", str(root)) for word in words],
            standalone_mode=False,
        )
        or 0
    )


def records(root: Path, task: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        (root / f"data/annotations/{task}_annotations.json").read_text()
    )
    return found


def scored(root: Path) -> None:
    """Two objects, found at 0.9 and 0.8, and three false ones at 0.3 and below."""
    coco_files(lambda g, p, r: None)(root)
    boxes = [
        ([1, 1, 8, 6], 1, 0.9),
        ([10, 2, 8, 6], 2, 0.8),
        ([2, 4, 3, 3], 1, 0.3),
        ([0, 0, 2, 2], 1, 0.2),
        ([15, 0, 2, 2], 2, 0.1),
    ]
    pred = [
        {"image_id": 7, "category_id": c, "bbox": box, "score": score}
        for box, c, score in boxes
    ]
    dump(root / "pred.json", pred)


def shown(root: Path) -> dict[str, tuple[int, float, Any]]:
    return {
        note["class_of_interest"][0]: (
            len(note["prediction"]["detections"]),
            note["final_score"],
            note["metadata"].get("min_score"),
        )
        for note in records(root, "object_detection")
    }


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), {"cat": (1, 10.0, 0.8), "dog": (1, 10.0, 0.8)}),
        (
            ("--score-at", "best-f1"),
            {"cat": (1, 10.0, 0.8), "dog": (1, 10.0, 0.8)},
        ),
        (("--min-score", "0"), {"cat": (3, 5.0, 0.0), "dog": (2, 6.6667, 0.0)}),
        (
            ("--min-score", "0.25"),
            {"cat": (2, 6.6667, 0.25), "dog": (1, 10.0, 0.25)},
        ),
        (("--top-k", "1"), {"cat": (1, 10.0, None), "dog": (0, 0.0, None)}),
    ],
)
def test_threshold_in_force_decides_what_is_shown_and_scored(
    tmp_path: Path,
    options: tuple[str, ...],
    expected: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    scored(tmp_path)
    assert run(tmp_path, *coco_words("object_detection", *options)) == 0
    assert shown(tmp_path) == expected
    assert (
        "AP 1.000, AP50 1.000 (COCO's definition, of all predictions)"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize(("factor", "told"), [(100, True), (1, False)])
def test_a_threshold_of_another_scale_than_the_confidences_is_told(
    tmp_path: Path,
    factor: int,
    told: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    scored(tmp_path)
    rows = json.loads((tmp_path / "pred.json").read_text())
    for row in rows:
        row["score"] *= factor
    dump(tmp_path / "pred.json", rows)
    words = coco_words("object_detection", "--min-score", "0.5")
    assert run(tmp_path, *words) == 0
    assert ("confidences go up to 90" in capsys.readouterr().err) is told


def test_best_f1_is_the_best_of_all_thresholds() -> None:
    rng = np.random.default_rng(3)
    pairs = []
    for _ in range(6):
        truths = [
            Detection("a", (10.0 * k, 0.0, 10.0 * k + 8, 8.0)) for k in range(4)
        ]
        found = [
            Detection(
                "a",
                (10.0 * k + rng.integers(0, 9), 0.0, 10.0 * k + 8, 8.0),
                float(rng.random()),
            )
            for k in range(6)
        ]
        pairs.append((Detections(tuple(found)), Detections(tuple(truths))))
    point = best_f1(CocoImages("object_detection", pairs))
    assert point is not None

    def f1(threshold: float) -> float:
        kept = [
            (
                Detections(
                    tuple(d for d in p.items if (d.score or 0) >= threshold)
                ),
                t,
            )
            for p, t in pairs
        ]
        least = best_f1(CocoImages("object_detection", [*kept]))
        return (
            least.f1
            if least is not None and least.min_score == threshold
            else 0.0
        )

    scores = [d.score or 0 for p, _ in pairs for d in p.items]
    assert point.f1 == max(f1(score) for score in scores)


def test_image_id_is_the_file_name_whatever_the_pattern_and_takes_a_prefix(
    tmp_path: Path,
) -> None:
    photo(tmp_path / "frames/x_rgb.png")
    for name in ("gt", "pred"):
        gray(tmp_path / name / "x_labels.png", region() + np.uint8(1))
    dump(tmp_path / "classes.csv", "id,name\n1,road\n2,car\n")
    words = (
        "import",
        "label-map",
        "--gt",
        "{}/gt/*_labels.png",
        "--pred",
        "{}/pred/*_labels.png",
        "--images",
        "{}/frames/*_rgb.png",
        "--classes",
        "{}/classes.csv",
        "--source",
        "m",
        "--out",
        "{}/data",
    )
    assert run(tmp_path, *words) == 0
    assert run(tmp_path, *words, "--id-prefix", "set1-{folder}_") == 0
    assert {
        note["image_id"] for note in records(tmp_path, "semantic_segmentation")
    } == {
        "x_rgb",
        "set1-frames_x_rgb",
    }


def test_one_id_for_two_images_of_two_tasks_is_found_at_import(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    coco_files(lambda g, p, r: None)(tmp_path)
    assert run(tmp_path, *coco_words("object_detection")) == 0
    for k, name in enumerate(("rain", "clean", "restored")):
        photo(tmp_path / name / "a.png", (40, 30), seed=k + 5)
    words = (
        "import",
        "pairs",
        "--task",
        "lowlevel-derain",
        "--images",
        "{}/rain",
        "--gt",
        "{}/clean",
        "--pred",
        "{}/restored",
        "--source",
        "m",
        "--out",
        "{}/data",
    )
    with pytest.raises(
        Exception,
        match=r"a: file: already names another image, "
        r".*data/files/a.png, and would name "
        r".*rain/a.png; give `id_prefix`",
    ):
        run(tmp_path, *words)
    assert run(tmp_path, *words, "--id-prefix", "rain-") == 0


def test_annotations_of_the_stored_frame_are_read_with_exif_ignored(
    tmp_path: Path,
) -> None:
    coco_files(lambda g, p, r: None)(tmp_path)
    photo(tmp_path / "images/a.jpg", exif=EXIF_TURNED)
    gt = coco_gt()
    gt["images"][0]["file_name"] = "a.jpg"
    dump(tmp_path / "gt.json", gt)
    assert run(tmp_path, *coco_words("object_detection")) == 1
    assert (
        run(tmp_path, *coco_words("object_detection", "--exif", "ignore")) == 0
    )
    with Image.open(tmp_path / "data/files/a.png") as stored:
        assert stored.size == (WIDTH, HEIGHT)
        assert stored.getexif().get(0x0112) is None


def test_predicted_masks_of_another_size_are_resized_where_asked(
    tmp_path: Path,
) -> None:
    half = rle(np.kron(np.array([[1, 0]]), np.ones((5, 5), int)))
    coco_files(lambda g, p, r: [row.update(segmentation=half) for row in p])(
        tmp_path
    )
    assert run(tmp_path, *coco_words("instance_segmentation")) == 1
    assert (
        run(tmp_path, *coco_words("instance_segmentation", "--resize-pred"))
        == 0
    )
    sizes = {
        tuple(i["segmentation"]["size"])
        for n in records(tmp_path, "instance_segmentation")
        for i in n["prediction"]["instances"]
    }
    assert sizes == {(HEIGHT, WIDTH)}


def _rated(
    root: Path, task: str, header: str, *rows: str, more: tuple[str, ...] = ()
) -> int:
    for k, name in enumerate(("o1", "o2", "source", "control")):
        photo(root / f"{name}.png", (40, 30), seed=k)
    dump(root / "table.csv", "\n".join([header, *rows]) + "\n")
    return run(
        root,
        "import",
        "outputs",
        "--task",
        task,
        "--table",
        "{}/table.csv",
        "--root",
        "{}",
        "--source",
        "m",
        "--out",
        "{}/data",
        *more,
    )


def test_an_output_rated_twice_is_one_record_with_the_mean(
    tmp_path: Path,
) -> None:
    assert (
        _rated(
            tmp_path,
            "generation_t2i",
            "output,score,prompt",
            "o1.png,4,a cat",
            "o1.png,8,a cat",
            "o2.png,5,a cat",
        )
        == 0
    )
    found = {
        note["annotation_id"]: note
        for note in records(tmp_path, "generation_t2i")
    }
    rated = next(note for name, note in found.items() if "o1" in name)
    assert len(found) == 2
    assert (rated["final_score"], rated["metadata"]["raters"]) == (6.0, 2)
    assert rated["metadata"]["given_scores"] == [4.0, 8.0]


def test_several_columns_are_several_raters(tmp_path: Path) -> None:
    more = (
        "--score-column",
        "r1",
        "--score-column",
        "r2",
        "--score-range",
        "1",
        "5",
    )
    assert (
        _rated(
            tmp_path,
            "generation_t2i",
            "output,r1,r2,prompt",
            "o1.png,1,5,a cat",
            more=more,
        )
        == 0
    )
    (note,) = records(tmp_path, "generation_t2i")
    assert (note["final_score"], note["metadata"]["given_score"]) == (5.0, 3.0)


def test_a_control_alone_is_shown_once_as_the_control(tmp_path: Path) -> None:
    assert (
        _rated(
            tmp_path,
            "generation_controllable",
            "output,score,prompt,control",
            "o1.png,4,a cat,control.png",
            "o2.png,8,a cat,control.png",
        )
        == 0
    )
    build(tmp_path / "data", tmp_path / "dataset")
    for question in load_dataset(tmp_path / "dataset").questions:
        assert question.images[0] == "media/original_control.png"
        assert len(question.images) == 1 + len(question.annotation_ids)
        assert question.prompt.count("<image>") == len(question.images)
        assert "The given image is the control condition." in question.prompt
        assert "second image is the control" not in question.prompt
        if question.question_type == "scoring":
            assert (
                "First image: control condition. Second image: encoded prediction."
                in question.prompt
            )


@pytest.mark.parametrize("white", ["fill", "keep"])
def test_the_white_of_a_mask_is_what_to_fill_or_to_keep(
    tmp_path: Path, white: str
) -> None:
    mask = np.zeros((30, 40), np.uint8)
    mask[5:15, 5:20] = 255
    Image.fromarray(mask).save(
        tmp_path / "mask.jpg", quality=60
    )  # ringing: not two-valued
    assert (
        _rated(
            tmp_path,
            "generation_inpainting_low_level",
            "output,score,image,mask",
            "o1.png,4,source.png,mask.jpg",
            more=("--mask-white", white),
        )
        == 0
    )
    index = json.loads(
        (
            tmp_path / "data/images/generation_inpainting_low_level.json"
        ).read_text()
    )
    stored = np.asarray(
        Image.open(tmp_path / "data" / index["source"]["mask"])
    )[:, :, 0]
    assert set(np.unique(stored)) == {0, 255}
    inside = mask > 0 if white == "fill" else mask == 0
    assert ((stored > 0) == inside).mean() > 0.98


def test_a_photograph_is_no_inpainting_mask(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        _rated(
            tmp_path,
            "generation_inpainting_low_level",
            "output,score,image,mask",
            "o1.png,4,source.png,control.png",
        )
        == 1
    )
    assert "must be black and white" in capsys.readouterr().err


def test_predictions_that_all_equal_the_truth_are_warned_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    coco_files(
        lambda g, p, r: (g, [{**row, "score": 0.5} for row in g["annotations"]])
    )(tmp_path)
    assert run(tmp_path, *coco_words("object_detection")) == 0
    assert "all 2 predictions score 10, the highest" in capsys.readouterr().err


def test_ratings_as_lists_under_other_names_are_read(tmp_path: Path) -> None:
    """As TIFA publishes them: an object of rows, with a list of human scores."""
    for k in (1, 2):
        photo(tmp_path / f"o{k}.png", (40, 30), seed=k)
    dump(
        tmp_path / "t.json",
        {
            f"x{k}": {
                "image_path": f"o{k}.png",
                "text": "a cat",
                "human_scores": [k, 5],
            }
            for k in (1, 2)
        },
    )
    words = (
        "import",
        "outputs",
        "--task",
        "generation_t2i",
        "--table",
        "{}/t.json",
        "--root",
        "{}",
        "--source",
        "m",
        "--out",
        "{}/data",
        "--column",
        "output=image_path",
        "--column",
        "prompt=text",
        "--score-column",
        "human_scores",
        "--score-range",
        "1",
        "5",
    )
    assert run(tmp_path, *words) == 0
    found = records(tmp_path, "generation_t2i")
    assert [
        (n["final_score"], n["prompt"], n["metadata"]["raters"]) for n in found
    ] == [
        (5.0, "a cat", 2),
        (6.25, "a cat", 2),
    ]


def test_a_mask_of_another_size_is_resized_where_asked(tmp_path: Path) -> None:
    mask = np.zeros((15, 20), np.uint8)
    mask[:, :10] = 255
    Image.fromarray(mask).save(tmp_path / "mask.png")
    for more, status in (((), 1), (("--resize-mask",), 0)):
        assert (
            _rated(
                tmp_path,
                "generation_inpainting_low_level",
                "output,score,image,mask",
                "o1.png,4,source.png,mask.png",
                more=more,
            )
            == status
        )
    index = json.loads(
        (
            tmp_path / "data/images/generation_inpainting_low_level.json"
        ).read_text()
    )
    stored = np.asarray(
        Image.open(tmp_path / "data" / index["source"]["mask"])
    )[:, :, 0]
    assert (
        stored.shape == (30, 40)
        and (stored[:, :20] == 255).all()
        and not stored[:, 20:].any()
    )


def test_describe_says_which_predictions_count(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    scored(tmp_path)
    words = (
        "import",
        "coco",
        "--task",
        "object_detection",
        "--gt",
        "{}/gt.json",
        "--pred",
        "{}/pred.json",
        "--images",
        "{}/images",
        "--out",
        "{}/data",
    )
    run(tmp_path, *words, "--source", "detr")
    run(
        tmp_path,
        *words,
        "--source",
        "yolo",
        "--min-score",
        "0.25",
        "--top-k",
        "7",
    )
    capsys.readouterr()
    run(tmp_path, "describe", "{}/data", "--json", "{}/described.json")
    told = [
        line
        for line in capsys.readouterr().out.splitlines()
        if "shown and scored" in line
    ]
    assert told == [
        "object_detection: shown and scored: detr: confidence ≥ 0.8 (best-f1), 2 "
        "annotations",
        "object_detection: shown and scored: yolo: confidence ≥ 0.25, the 7 most "
        "confident of an image, 2 annotations",
    ]
    (described,) = json.loads((tmp_path / "described.json").read_text())[
        "tasks"
    ]
    assert [
        (one["source"], one["min_score"]) for one in described["thresholds"]
    ] == [
        ("detr", 0.8),
        ("yolo", 0.25),
    ]
