"""An image that cannot be decoded is left out with its records, and stops neither a
build nor an import.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from making import detection, photograph, write_records
from visualjudge.cli.main import app
from visualjudge.dataset.build import build
from visualjudge.dataset.folder import load_dataset
from visualjudge.dataset.validate import validate
from visualjudge.options import BuildOptions, Caps


def _folder(root: Path, images: int, bad: int) -> Path:
    (root / "images").mkdir(parents=True)
    records = []
    for k in range(images):
        Image.fromarray(photograph(k, (48, 64))).save(root / f"photo{k}.jpg")
        for j in range(3):
            records.append(
                {
                    **detection(j, float(j)),
                    "annotation_id": f"{k}-{j}",
                    "image_id": f"photo{k}",
                }
            )
    broken = root / f"photo{bad}.jpg"
    broken.write_bytes(broken.read_bytes()[:-300])
    write_records(root, "object_detection", records)
    index = {f"photo{k}": {"file": f"photo{k}.jpg"} for k in range(images)}
    (root / "images/object_detection.json").write_text(json.dumps(index))
    return root


def test_build_goes_on_without_the_truncated_image(tmp_path: Path) -> None:
    options = BuildOptions(workers=2)
    built = build(
        _folder(tmp_path / "data", 26, bad=7), tmp_path / "out", options
    )
    assert [(p.record, p.field) for p in built.problems] == [
        (f"7-{j}", "image_id") for j in range(3)
    ]
    assert all(
        "photo7.jpg: image cannot be decoded: image file is truncated"
        in p.reason
        for p in built.problems
    )
    read = load_dataset(tmp_path / "out")
    assert "photo7" not in {q.image_id for q in read.questions}
    assert (
        len(
            {q.image_id for q in read.questions if q.question_type == "scoring"}
        )
        == 20
    )
    assert validate(tmp_path / "out")[1] == []


def test_command_ends_with_one_and_with_nought_where_bad_records_are_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = _folder(tmp_path / "data", 3, bad=1)
    for options, status in (([], 1), (["--skip-invalid", "--force"], 0)):
        words = [
            "build",
            str(data),
            "--out",
            str(tmp_path / "out"),
            "--workers",
            "1",
            *options,
        ]
        assert (app(words, standalone_mode=False) or 0) == status
    assert "3 invalid records left out" in capsys.readouterr().err


def test_import_decodes_each_image(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = _folder(tmp_path / "images", 3, bad=1)
    box = {"category_id": 1, "bbox": [1, 2, 20, 20], "area": 400, "iscrowd": 0}
    gt = {
        "images": [{"id": k, "file_name": f"photo{k}.jpg"} for k in range(3)],
        "categories": [{"id": 1, "name": "dog"}],
        "annotations": [{**box, "id": k + 1, "image_id": k} for k in range(3)],
    }
    (tmp_path / "gt.json").write_text(json.dumps(gt))
    words = [
        "import",
        "coco",
        "--task",
        "object_detection",
        "--gt",
        str(tmp_path / "gt.json"),
        "--images",
        str(data),
        "--source",
        "truth",
        "--out",
        str(tmp_path / "out"),
    ]
    assert app(words, standalone_mode=False) == 1
    said = capsys.readouterr().err
    assert said.count("photo1.jpg") == 1
    assert "image cannot be decoded" in said
    assert set(
        json.loads((tmp_path / "out/images/object_detection.json").read_text())
    ) == {
        "photo0",
        "photo2",
    }


def _restorations(root: Path, damage: Callable[[bytes], bytes]) -> Path:
    """Two photographs with three restored images each, of which ``damage`` changes the
    bytes of one.
    """
    (root / "images").mkdir(parents=True)
    records = []
    for k in range(2):
        Image.fromarray(photograph(k, (48, 64))).save(root / f"photo{k}.png")
        for j in range(3):
            Image.fromarray(photograph(10 * k + j, (48, 64))).save(
                root / f"out{k}-{j}.png"
            )
            changed = {"annotation_id": f"{k}-{j}", "image_id": f"photo{k}"}
            changed |= {
                "task": "lowlevel-deblur",
                "prediction": {"image": f"out{k}-{j}.png"},
            }
            records.append({**detection(j, float(j)), **changed})
    file = root / "out1-2.png"
    file.write_bytes(damage(file.read_bytes()))
    write_records(root, "lowlevel-deblur", records)
    index = {f"photo{k}": {"file": f"photo{k}.png"} for k in range(2)}
    (root / "images/lowlevel-deblur.json").write_text(json.dumps(index))
    return root


def _shorter(content: bytes) -> bytes:
    return content[:-200]


def _other_stream(content: bytes) -> bytes:
    """The same PNG with pixels that no decoder can read, under checksums that agree."""
    head, end = content[:33], content[-12:]
    data = b"IDAT" + zlib.compress(b"too few bytes")
    chunk = (
        (len(data) - 4).to_bytes(4, "big")
        + data
        + zlib.crc32(data).to_bytes(4, "big")
    )
    return head + chunk + end


@pytest.mark.parametrize(
    ("damage", "pairs"), [(_shorter, 4), (_other_stream, 4)]
)
def test_a_predicted_image_that_cannot_be_decoded_costs_its_own_questions(
    tmp_path: Path, damage: Callable[[bytes], bytes], pairs: int
) -> None:
    data = _restorations(tmp_path / "data", damage)
    built = build(data, tmp_path / "out")
    assert [(p.record, p.field) for p in built.problems] == [
        ("1-2", "prediction.image")
    ]
    assert "out1-2.png: image cannot be decoded" in built.problems[0].reason
    assert str(tmp_path) not in built.problems[0].reason
    questions = load_dataset(tmp_path / "out").questions
    assert "1-2" not in {name for q in questions for name in q.annotation_ids}
    assert len([q for q in questions if q.question_type == "pairwise"]) == pairs
    assert validate(tmp_path / "out")[1] == []


def test_an_image_drawn_for_a_question_that_is_left_out_is_not_kept(
    tmp_path: Path,
) -> None:
    """One of two restored images can be decoded, and is drawn for a pair that cannot be
    asked."""
    data = _restorations(tmp_path / "data", _other_stream)
    file = data / "annotations/lowlevel-deblur_annotations.json"
    kept = [
        row
        for row in json.loads(file.read_text())
        if row["annotation_id"] != "1-1"
    ]
    write_records(data, "lowlevel-deblur", kept)
    pairs_only = BuildOptions(caps=Caps(scoring_groups=0, ranking_groups=0))
    build(data, tmp_path / "out", pairs_only)
    questions = load_dataset(tmp_path / "out").questions
    shown = {path for q in questions for path in q.images}
    assert {name for q in questions for name in q.annotation_ids} == {
        "0-0",
        "0-1",
        "0-2",
    }
    stored = {
        str(path.relative_to(tmp_path / "out"))
        for path in _images(tmp_path / "out")
    }
    assert stored == shown
    assert validate(tmp_path / "out")[1] == []


def _images(dataset: Path) -> list[Path]:
    return [path for path in (dataset / "media").rglob("*") if path.is_file()]
