"""Names of files that are no UTF-8, and images of unusual samples: each costs its
record."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import visualjudge as vj
from commanding import command
from faults.malicious import SIZE, good_folder
from making import make_folder
from visualjudge.data.writer import slug
from visualjudge.dataset.build import build
from visualjudge.options import BuildOptions


@pytest.mark.skipif(
    sys.platform != "linux", reason="other systems have no such names"
)
def test_a_file_name_that_is_not_utf8_costs_its_sample(tmp_path: Path) -> None:
    from visualjudge.vision.predictions import Detection, Detections

    found = Detections((Detection("dog", (4, 5, 30, 40)),))
    names = ["good", os.fsdecode(b"bad\xff")]
    for name in names:
        Image.new("RGB", (64, 48)).save(tmp_path / f"{name}.png", "PNG")
    samples = [
        vj.Sample(name, tmp_path / f"{name}.png", found, found, found.labels)
        for name in names
    ]
    with pytest.warns(
        UserWarning,
        match=r"image_id: must be text in UTF-8, got 'bad\\udcff'; rename the file",
    ):
        data = vj.import_samples(
            "object_detection", samples, tmp_path / "data", source="me"
        )
    assert [note.image_id for note in data.annotations("object_detection")] == [
        "good"
    ]
    assert slug(names[1]).startswith("bad_-")
    (tmp_path / "data").rename(tmp_path / names[1])
    described = command("describe", names[1], folder=tmp_path)
    assert described.returncode == 0, described.stderr


@pytest.mark.parametrize(
    ("platform", "other"),
    [
        ("linux", "e\u0301"),
        ("darwin", "e\u0301"),
        ("darwin", "\u00c9"),
        ("win32", "\u00c9"),
    ],
)
def test_two_image_ids_that_are_one_file_name_keep_one_image(
    platform: str, other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_folder(
        tmp_path / "data", tasks=["object_detection"], images=2, annotations=4
    )
    for path in (
        folder / "annotations/object_detection_annotations.json",
        folder / "images/object_detection.json",
    ):
        text = (
            path.read_text()
            .replace('"photo-0000"', json.dumps("\u00e9"))
            .replace('"photo-0001"', json.dumps(other))
        )
        path.write_text(text)
    monkeypatch.setattr(sys, "platform", platform)
    done = build(
        folder, tmp_path / "out", BuildOptions(subsets=("encoding_analysis",))
    )
    assert {
        question.image_id
        for question in vj.load_dataset(tmp_path / "out").questions
    } == {"\u00e9"}
    assert {problem.reason for problem in done.problems} == {
        f"{other!a} and '\\xe9' are one name of a file; give it another id"
    }


def test_a_photo_of_floats_costs_its_records(tmp_path: Path) -> None:
    folder = good_folder(tmp_path / "data")
    Image.fromarray(np.ones(SIZE, np.float32)).save(folder / "floats.tiff")
    (folder / "images/object_detection.json").write_text(
        '{"photo": {"file": "floats.tiff"}}'
    )
    done = build(
        folder, tmp_path / "out", BuildOptions(subsets=("encoding_analysis",))
    )
    assert done.questions > 0
    assert {problem.reason for problem in done.problems} == {
        "floats.tiff: an image must have integer samples, got floating point; convert "
        "it to 8 or 16 bits"
    }
