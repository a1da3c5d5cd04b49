"""Data sets that other libraries hold: Hugging Face on disk, supervision in memory,
published ratings.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import visualjudge as vj
from corpus.workspace import dump, photo
from visualjudge.cli.main import app
from visualjudge.core.errors import DataError, UsageError
from visualjudge.vision.predictions import Masks
from visualjudge.vision.raster.images import read_rgb

BOXES = [[2.0, 3.0, 9.0, 8.0], [20.0, 5.0, 10.0, 12.0]]


def run(*words: object) -> int:
    return int(app([str(word) for word in words], standalone_mode=False) or 0)


def records(root: Path, task: str) -> dict[str, dict[str, Any]]:
    found = json.loads(
        (root / f"annotations/{task}_annotations.json").read_text()
    )
    return {note["annotation_id"]: note for note in found}


# ---------------------------------------------------------------- Hugging Face


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    root = tmp_path_factory.mktemp("photos")
    for k in range(3):
        photo(root / f"street{k}.png", seed=k)
    return [str(root / f"street{k}.png") for k in range(3)]


def embedded(path: str) -> dict[str, Any]:
    return {"bytes": Path(path).read_bytes(), "path": Path(path).name}


def detection_set(
    photos: list[str], shift: float, *, scores: bool = False
) -> Any:
    datasets = pytest.importorskip("datasets")
    rows = [
        {
            "image": embedded(path),
            "objects": {
                "bbox": [[x + shift, y, w, h] for x, y, w, h in BOXES],
                "category": [0, 1],
                **({"score": [0.9, 0.8]} if scores else {}),
            },
        }
        for path in photos
    ]
    objects = {
        "bbox": datasets.Sequence(datasets.Sequence(datasets.Value("float32"))),
        "category": datasets.Sequence(
            datasets.ClassLabel(names=["cat", "dog"])
        ),
        **(
            {"score": datasets.Sequence(datasets.Value("float32"))}
            if scores
            else {}
        ),
    }
    features = datasets.Features(
        {"image": datasets.Image(), "objects": objects}
    )
    return datasets.Dataset.from_list(rows, features=features)


@pytest.mark.parametrize("kind", ["folder", "parquet"])
def test_a_data_set_on_disk_is_imported_with_its_embedded_images(
    photos: list[str], tmp_path: Path, kind: str
) -> None:
    for name, shift in (("gt", 0.0), ("pred", 1.0)):
        made = detection_set(photos, shift, scores=name == "pred")
        if kind == "folder":
            made.save_to_disk(tmp_path / name)
        else:
            (tmp_path / name).mkdir()
            made.to_parquet(tmp_path / name / "train-00000-of-00001.parquet")
    task = "object_detection"
    code = run(
        "import",
        "hugging-face",
        "--task",
        task,
        "--gt",
        tmp_path / "gt",
        "--pred",
        tmp_path / "pred",
        "--source",
        "detr",
        "--out",
        tmp_path / "data",
    )
    assert code == 0
    notes = records(tmp_path / "data", task)
    assert sorted(notes) == [
        f"detr:street{k}:{label}" for k in range(3) for label in ("cat", "dog")
    ]
    cat = notes["detr:street1:cat"]
    assert cat["prediction"]["detections"][0]["bbox"] == pytest.approx(
        [3, 3, 12, 11]
    )
    index = json.loads((tmp_path / f"data/images/{task}.json").read_text())
    assert (
        read_rgb(tmp_path / "data" / index["street1"]["file"])
        == read_rgb(photos[1])
    ).all()


def test_ratings_with_embedded_images_are_a_table(
    photos: list[str], tmp_path: Path
) -> None:
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        {
            "output": datasets.Image(),
            "prompt": datasets.Value("string"),
            "score": datasets.Value("float32"),
        }
    )
    rows = [
        {"output": embedded(path), "prompt": "a street", "score": float(k)}
        for k, path in enumerate(photos)
    ]
    datasets.Dataset.from_list(rows, features=features).to_parquet(
        tmp_path / "ratings.parquet"
    )
    code = run(
        "import",
        "outputs",
        "--task",
        "generation_t2i",
        "--table",
        tmp_path / "ratings.parquet",
        "--score-range",
        0,
        4,
        "--source",
        "sdxl",
        "--out",
        tmp_path / "data",
    )
    assert code == 0
    scores = sorted(
        note["final_score"]
        for note in records(tmp_path / "data", "generation_t2i").values()
    )
    assert scores == [0.0, 2.5, 5.0]


def test_several_splits_are_named(photos: list[str], tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    made = detection_set(photos, 0.0)
    datasets.DatasetDict({"train": made, "test": made}).save_to_disk(
        tmp_path / "gt"
    )
    with pytest.raises(
        UsageError, match=r"has several splits; give one of .*gt/train.*gt/test"
    ):
        run(
            "import",
            "hugging-face",
            "--task",
            "object_detection",
            "--gt",
            tmp_path / "gt",
            "--source",
            "x",
            "--out",
            tmp_path / "data",
        )


def test_a_data_set_that_names_files_elsewhere_says_what_to_do(
    photos: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        {"output": datasets.Image(), "score": datasets.Value("float32")}
    )
    rows = [{"output": photos[0], "score": 1.0}]
    datasets.Dataset.from_list(rows, features=features).to_parquet(
        tmp_path / "r.parquet"
    )
    words = (
        "--task",
        "generation_t2i",
        "--table",
        tmp_path / "r.parquet",
        "--source",
        "x",
    )
    assert run("import", "outputs", *words, "--out", tmp_path / "data") == 1
    told = capsys.readouterr().err
    assert (
        "r.parquet: row 1: output: " in told
        and "save_to_disk embeds images" in told
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda root: None, "is not a Hugging Face data set: state.json and"),
        (
            lambda root: (root / "a.parquet").write_bytes(b"PAR1 no"),
            "a.parquet: must be a Parquet file",
        ),
        (
            lambda root: dump(
                root / "state.json",
                {"_data_files": [{"filename": "../x.arrow"}]},
            ),
            "x.arrow",
        ),
        (
            lambda root: (
                dump(
                    root / "state.json",
                    {"_data_files": [{"filename": "x.arrow"}]},
                ),
                (root / "x.arrow").write_bytes(b"no arrow"),
            ),
            "x.arrow: must be an Arrow stream or file",
        ),
    ],
)
def test_what_is_no_data_set_is_one_line(
    tmp_path: Path, make: Any, message: str
) -> None:
    (tmp_path / "gt").mkdir()
    make(tmp_path / "gt")
    with pytest.raises((DataError, UsageError), match=message):
        run(
            "import",
            "hugging-face",
            "--task",
            "object_detection",
            "--gt",
            tmp_path / "gt",
            "--source",
            "x",
            "--out",
            tmp_path / "data",
        )


# ---------------------------------------------------------------- supervision


def supervision_detections(**more: Any) -> Any:
    sv = pytest.importorskip("supervision")
    return sv.Detections(
        xyxy=np.array([[1, 2, 9, 10], [3, 3, 8, 9]], dtype=np.float32),
        confidence=np.array([0.9, 0.5], dtype=np.float32),
        class_id=np.array([1, 0]),
        **more,
    )


def test_detections_of_supervision_become_boxes_or_masks() -> None:
    found = vj.from_supervision(supervision_detections(), ["cat", "dog"])
    assert [
        (item.label, item.xyxy, round(item.score or 0, 4))
        for item in found.items
    ] == [
        ("dog", (1.0, 2.0, 9.0, 10.0), 0.9),
        ("cat", (3.0, 3.0, 8.0, 9.0), 0.5),
    ]
    masks = np.zeros((2, 12, 16), bool)
    masks[0, 2:10, 1:9] = masks[1, 3:9, 3:8] = True
    named = supervision_detections(
        mask=masks, data={"class_name": np.array(["bus", "car"])}
    )
    both = vj.from_supervision(named, task="instance_segmentation")
    assert isinstance(both, Masks) and both.size == (12, 16)
    assert [item.label for item in both.items] == ["bus", "car"]
    assert (both.items[1].mask.dense() == masks[1]).all()


def test_what_detections_of_supervision_lack_is_said() -> None:
    with pytest.raises(
        DataError,
        match=r"labels: must be names, or numbers with .classes",
    ):
        vj.from_supervision(supervision_detections())
    with pytest.raises(DataError, match=r"labels: must be in classes, got 1"):
        vj.from_supervision(supervision_detections(), ["cat"])
    with pytest.raises(DataError, match=r"masks: must be \(N, H, W\) bool"):
        vj.from_supervision(
            supervision_detections(),
            ["cat", "dog"],
            task="instance_segmentation",
        )


def test_samples_from_a_script_are_scored_and_added(
    photos: list[str], tmp_path: Path
) -> None:
    found = vj.from_supervision(supervision_detections(), ["cat", "dog"])
    samples = [
        vj.Sample(f"street{k}", Path(path), found, found, found.labels)
        for k, path in enumerate(photos)
    ]
    data = vj.import_samples(
        "object_detection",
        samples,
        tmp_path / "data",
        source="yolo",
        min_score=0.6,
    )
    notes = {
        note.annotation_id: note
        for note in data.annotations("object_detection")
    }
    assert notes["yolo:street0:dog"].final_score == 10
    assert notes["yolo:street0:cat"].final_score == 0
    assert notes["yolo:street0:dog"].metadata["min_score"] == 0.6


@pytest.mark.parametrize(
    "given", [None, float("nan"), float("inf"), -0.1, 10.5, True, "7"]
)
def test_a_sample_without_truth_needs_a_score_from_0_to_10(
    photos: list[str], tmp_path: Path, given: object
) -> None:
    found = vj.from_supervision(supervision_detections(), ["cat", "dog"])
    samples = [
        vj.Sample(
            "bad", Path(photos[0]), found, None, found.labels, final_score=given
        ),  # type: ignore[arg-type]
        vj.Sample(
            "good", Path(photos[1]), found, None, found.labels, final_score=7
        ),
    ]
    told = (
        "truth: must be given"
        if given is None
        else "final_score: must be a (finite number|number from 0)"
    )
    with pytest.warns(UserWarning, match=told):
        data = vj.import_samples(
            "object_detection",
            samples,
            tmp_path / "data",
            source="yolo",
            classes=("all",),
        )
    notes = list(data.annotations("object_detection"))
    assert [(note.image_id, note.final_score) for note in notes] == [
        ("good", 7)
    ]
