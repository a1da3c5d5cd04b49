"""``visualjudge import`` as it is typed: what it writes, prints, and how it fails."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from PIL import Image

from visualjudge.cli.main import run

CATEGORIES = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]


def row(category: int, *xywh: float, **extra: object) -> dict:
    return {"image_id": 7, "category_id": category, "bbox": list(xywh), **extra}


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    (tmp_path / "images").mkdir()
    Image.new("RGB", (20, 10)).save(tmp_path / "images" / "a.png")
    truth = [row(1, 0, 0, 10, 10), row(2, 10, 0, 8, 8)]
    images = [{"id": 7, "file_name": "a.png", "width": 20, "height": 10}]
    files = {
        "gt": {
            "images": images,
            "categories": CATEGORIES,
            "annotations": truth,
        },
        "good": [{**one, "score": 0.9} for one in truth],
        "half": [
            row(1, 0, 0, 10, 5, score=0.9),
            row(2, 10, 0, 8, 8, score=0.8),
        ],
        "bad": [row(1, 0, 0, 10, -5, score=0.9)],
    }
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    return tmp_path


def call(scene: Path, *options: str) -> int:
    task = [] if "--task" in options else ["--task", "object_detection"]
    base = [*task, "--gt", f"{scene}/gt.json", "--images", f"{scene}/images"]
    sys.argv = [
        "visualjudge",
        "import",
        "coco",
        *base,
        "--out",
        f"{scene}/data",
        *options,
    ]
    with pytest.raises(SystemExit) as ended:
        run()
    code = ended.value.code
    return code if isinstance(code, int) else int(code is not None)


def records(scene: Path) -> dict[str, dict]:
    path = scene / "data" / "annotations" / "object_detection_annotations.json"
    return {one["annotation_id"]: one for one in json.loads(path.read_text())}


def test_two_sources_in_one_call_are_scored_class_by_class(
    scene: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pred = [
        "--pred",
        f"{scene}/good.json",
        "--source",
        "good",
        "--pred",
        f"{scene}/half.json",
        "--source",
        "half",
    ]
    assert call(scene, *pred) == 0
    scores = {name: one["final_score"] for name, one in records(scene).items()}
    assert scores == {
        "good:a:cat": 10.0,
        "good:a:dog": 10.0,
        "half:a:cat": 1.0,
        "half:a:dog": 10.0,
    }
    shown = records(scene)["half:a:cat"]
    assert shown["class_of_interest"] == ["cat"]
    assert [one["label"] for one in shown["prediction"]["detections"]] == [
        "cat"
    ]
    assert "AP 1.000, AP50 1.000" in capsys.readouterr().out


def test_all_classes_together(scene: Path) -> None:
    options = [
        "--pred",
        f"{scene}/half.json",
        "--source",
        "half",
        "--class-of-interest",
        "all",
    ]
    assert call(scene, *options) == 0
    (one,) = records(scene).values()
    assert one["class_of_interest"] is None and one["final_score"] == 5.5


def test_a_bad_prediction_is_one_line_and_status_1(
    scene: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--pred", f"{scene}/bad.json", "--source", "bad"]
    assert call(scene, *options) == 1
    told = capsys.readouterr().err.splitlines()
    assert (
        told[0]
        == "bad.json: [0]: bbox: must be [x, y, width, height], got a negative width "
        "or height"
    )
    assert told[1].startswith("visualjudge: invalid records left out: 1")
    assert call(scene, *options, "--skip-invalid") == 1
    assert "next:" not in capsys.readouterr().out


def test_predictions_of_other_images_are_refused(
    scene: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (scene / "other.json").write_text(
        json.dumps([{**row(1, 0, 0, 10, 10, score=0.9), "image_id": 8}])
    )
    assert call(scene, "--pred", f"{scene}/other.json", "--source", "x") == 1
    told = capsys.readouterr()
    assert told.err.splitlines() == [
        "other.json: [0]: image_id: must be the id of an image of gt.json, such as 7, "
        "got 8",
        f"visualjudge: {scene}/other.json: must contain predictions for images of the "
        "ground truth, got none that is valid",
    ]
    assert not told.out and not (scene / "data" / "annotations").exists()


def test_boxes_given_as_masks_name_the_task_that_reads_them(
    scene: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        call(
            scene,
            "--task",
            "instance_segmentation",
            "--pred",
            f"{scene}/good.json",
            "--source",
            "x",
        )
        == 1
    )
    assert (
        "segmentation: the field is missing or empty; --task object_detection reads boxes"
        in capsys.readouterr().err
    )


def rated(folder: Path, head: str, *options: str) -> int:
    """The exit status of ``import outputs`` of two outputs with the scores 1 and 5."""
    for name, colour in (("a", "red"), ("b", "blue")):
        Image.new("RGB", (20, 10), colour).save(folder / f"{name}.png")
    (folder / "t.csv").write_text(
        f"{head}\na.png,1,a cat,sdxl\nb.png,5,a cat,flux\n"
    )
    given = [
        "--task",
        "generation_t2i",
        "--table",
        f"{folder}/t.csv",
        "--root",
        str(folder),
        *options,
    ]
    sys.argv = [
        "visualjudge",
        "import",
        "outputs",
        *given,
        "--out",
        f"{folder}/data",
    ]
    with pytest.raises(SystemExit) as ended:
        run()
    code = ended.value.code
    return code if isinstance(code, int) else int(code is not None)


def test_a_table_names_its_sources_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        rated(tmp_path, "output,score,prompt,source", "--score-range", "1", "5")
        == 0
    )
    told = capsys.readouterr()
    assert (
        "next: visualjudge describe" in told.out and "warning" not in told.err
    )
    rows = json.loads(
        (
            tmp_path / "data/annotations/generation_t2i_annotations.json"
        ).read_text()
    )
    assert {(one["source"], one["final_score"]) for one in rows} == {
        ("sdxl", 0.0),
        ("flux", 10.0),
    }
    assert rated(tmp_path, "output,score,prompt,model") == 2
    assert (
        "must have a column 'source', got output, score, prompt, model; --source"
        in capsys.readouterr().err
    )


def test_a_missing_column_is_told_once_with_those_that_are_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rated(tmp_path, "file,score,prompt,source") == 2
    told = capsys.readouterr().err
    assert (
        "must have a column 'output', got file, score, prompt, source; --column "
        "output=NAME" in told
    )
    assert (
        rated(tmp_path, "file,score,prompt,source", "--column", "output=file")
        == 0
    )


def test_scores_from_1_to_5_without_a_range_are_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rated(tmp_path, "output,score,prompt,source") == 0
    assert (
        "all 2 values are whole or half numbers from 1 to 5, and were read as ranging "
        "from 0 to 10" in capsys.readouterr().err
    )
    assert (
        rated(
            tmp_path, "output,score,prompt,source", "--score-range", "0", "10"
        )
        == 0
    )
    assert "warning" not in capsys.readouterr().err


def test_a_source_too_few_is_wrong_usage(scene: Path) -> None:
    assert (
        call(
            scene,
            "--pred",
            f"{scene}/good.json",
            "--pred",
            f"{scene}/half.json",
            "--source",
            "x",
        )
        == 2
    )


def test_a_source_named_twice_is_refused_before_anything_is_written(
    scene: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = [f"--pred={scene}/{name}.json" for name in ("good", "half")]
    named = ["--source", "detr", "--source", "detr"]
    assert call(scene, *sides, *named) == 2
    error = capsys.readouterr().err
    assert "--source must differ, got 'detr' twice" in error
    assert not (scene / "data").exists()


def test_a_missing_file_is_one_line(
    scene: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(scene, "--pred", f"{scene}/none.json", "--source", "x") == 2
    assert (
        capsys.readouterr().err
        == f"visualjudge: {scene}/none.json: no such file\n"
    )


def imported(
    scene: Path,
    found: list[dict],
    *options: str,
    truth: list[dict] | None = None,
) -> int:
    (scene / "pred.json").write_text(json.dumps(found))
    if truth is not None:
        known = json.loads((scene / "gt.json").read_text())
        (scene / "gt.json").write_text(
            json.dumps({**known, "annotations": truth})
        )
    return call(
        scene, "--pred", f"{scene}/pred.json", "--source", "it", *options
    )


def test_predictions_of_classes_that_the_image_lacks_are_counted(
    scene: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cat, dog = row(1, 0, 0, 10, 10, score=0.9), row(2, 10, 0, 8, 8, score=0.9)
    line = (
        "predictions of classes that the ground truth of their image lacks: 1 of 2, "
        "neither shown nor scored"
    )
    assert imported(scene, [cat, dog], truth=[row(1, 0, 0, 10, 10)]) == 0
    assert line in capsys.readouterr().out
    assert (
        imported(scene, [cat, dog], "--class-of-interest", "all", "--replace")
        == 0
    )
    assert "lacks" not in capsys.readouterr().out


def test_where_nothing_matches_nothing_is_left_out(
    scene: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exchanged = [
        row(2, 0, 0, 10, 10, score=0.9),
        row(1, 10, 0, 8, 8, score=0.2),
    ]
    assert imported(scene, exchanged) == 0
    assert (
        "no prediction matches a truth at IoU (OKS) 0.5, so all are kept"
        in capsys.readouterr().out
    )
    assert [
        len(one["prediction"]["detections"]) for one in records(scene).values()
    ] == [1, 1]


def test_a_prediction_without_a_score_is_told(
    scene: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        imported(scene, [row(1, 0, 0, 10, 10, score=0.9), row(2, 10, 0, 8, 8)])
        == 0
    )
    assert (
        "predictions without a score: 1 of 2; AP and the threshold"
        in capsys.readouterr().out
    )
    assert (
        imported(
            scene, [row(1, 0, 0, 10, 10), row(2, 10, 0, 8, 8)], "--replace"
        )
        == 0
    )
    assert "predictions without a score: 2 of 2" in capsys.readouterr().out


def test_doubtful_truth_is_told_by_kind(
    scene: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cat = row(1, 0, 0, 10, 10, id=1)
    truth = [
        cat,
        cat,
        row(2, 10, 0, 8, 0, id=2),
        row(2, 15, 0, 100, 8, id=3),
        {**cat, "id": 4, "image_id": 99},
    ]
    assert imported(scene, [row(1, 0, 0, 10, 10, score=0.9)], truth=truth) == 0
    told = capsys.readouterr().err
    for where, line in (
        (
            1,
            "id: occurs twice; the records count as two objects; records like this: 1",
        ),
        (
            4,
            "image_id: must be an image of the file; the record is left out; records "
            "like this: 1",
        ),
    ):
        assert f"gt.json: annotations[{where}]: {line}" in told
    assert "gt.json: image a: a truth has no area inside its image" in told
    assert "a truth extends beyond its image; records like this: 1" in told


@pytest.mark.parametrize(
    ("repeats", "line"),
    [
        (
            [0, 1],
            "predictions identical to another of their image: 2 of 4; remove "
            "them",
        ),
        (
            [0],
            "predictions identical to another of their image: 1 of 3; remove "
            "them",
        ),
        ([], ""),
    ],
)
def test_predictions_that_are_listed_twice_are_counted(
    scene: Path,
    repeats: list[int],
    line: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pred = [row(1, 0, 0, 10, 10, score=0.9), row(2, 10, 0, 8, 8, score=0.8)]
    assert imported(scene, [*pred, *(pred[k] for k in repeats)]) == 0
    out = "".join(capsys.readouterr())
    assert (
        line in out if line else "twice" not in out and "identical" not in out
    )
    other = [
        *pred,
        row(1, 0, 0, 10, 10, score=0.7),
        row(1, 0, 0, 10, 9, score=0.9),
    ]
    assert imported(scene, other, "--replace") == 0
    assert "identical" not in capsys.readouterr().out


@pytest.mark.parametrize("truth", [[], [row(1, 0, 0, 10, 10, iscrowd=1)]])
@pytest.mark.parametrize("options", [(), ("--class-of-interest", "all")])
def test_an_import_without_any_ground_truth_fails(
    scene: Path,
    truth: list[dict],
    options: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        imported(
            scene, [row(1, 0, 0, 10, 10, score=0.9)], *options, truth=truth
        )
        == 1
    )
    err = capsys.readouterr().err
    assert (
        f"{scene}/gt.json: must contain ground truth for at least one image, got none"
        in err
    )
    assert ("but crowds" in err) is bool(truth)
    assert not (scene / "data").exists()


def test_an_image_without_ground_truth_beside_others_is_imported(
    scene: Path,
) -> None:
    Image.new("RGB", (20, 10), "white").save(scene / "images" / "b.png")
    gt = json.loads((scene / "gt.json").read_text())
    gt["images"].append(
        {"id": 8, "file_name": "b.png", "width": 20, "height": 10}
    )
    (scene / "gt.json").write_text(json.dumps(gt))
    assert imported(scene, [row(1, 0, 0, 10, 10, score=0.9)]) == 0


def test_an_import_of_no_image_fails(
    scene: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gt = json.loads((scene / "gt.json").read_text())
    (scene / "gt.json").write_text(
        json.dumps({**gt, "images": [], "annotations": []})
    )
    assert imported(scene, []) == 1
    assert f"{scene}/gt.json: nothing was imported" in capsys.readouterr().err


def test_images_in_folders_below_are_named_where_none_is_in_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("lq", "gt", "net"):
        (tmp_path / name / "clip").mkdir(parents=True)
        Image.new("RGB", (20, 10)).save(tmp_path / name / "clip/0.png")
    sys.argv = ["visualjudge", "import", "pairs", "--task", "lowlevel-restore"]
    for option, name in {"images": "lq", "gt": "gt", "pred": "net"}.items():
        sys.argv += [f"--{option}", f"{tmp_path}/{name}"]
    sys.argv += ["--source", "net", "--out", f"{tmp_path}/data"]
    with pytest.raises(SystemExit):
        run()
    assert f"there is {tmp_path}/gt/clip/0.png" in capsys.readouterr().err


YOLO, VOC = (
    "1 0.25 0.5 0.5 1.0 0.9\n",
    "<annotation><filename>a.png</filename></annotation>",
)
LABELME = '{"shapes": [], "imagePath": "a.png"}'


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("image_id", "8", "such as 7, got 8\n"),
        ("category_id", "9", "such as 1 (cat), got 9\n"),
        ("image_id", 8, "such as 7, got 8\n"),
    ],
)
def test_an_unknown_id_is_named(
    scene: Path,
    field: str,
    value: object,
    told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        imported(scene, [{**row(1, 0, 0, 10, 10, score=0.9), field: value}])
        == 1
    )
    assert told in capsys.readouterr().err


def test_ground_truth_alone_needs_no_source_and_predictions_do(
    scene: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(scene) == 0
    assert {note["source"] for note in records(scene).values()} == {"truth"}
    assert call(scene, "--pred", f"{scene}/good.json") == 2
    assert "--source is missing" in capsys.readouterr().err
