"""Names of files that are no UTF-8, and images of unusual samples: each costs its record."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import visualjudge as vj
from faults.malicious import SIZE, good_folder
from visualjudge.data.waiting import slug
from visualjudge.dataset.build import BuildOptions, build


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_file_name_that_is_not_utf8_costs_its_sample(tmp_path: Path) -> None:
    from visualjudge.vision.predictions import Detection, Detections

    found = Detections((Detection("dog", (4, 5, 30, 40)),))
    names = ["good", os.fsdecode(b"bad\xff")]
    for name in names:
        Image.new("RGB", (64, 48)).save(tmp_path / f"{name}.png", "PNG")
    samples = [vj.Sample(name, tmp_path / f"{name}.png", found, found, found.labels) for name in names]
    with pytest.warns(UserWarning, match=r"image_id: must be text in UTF-8, got 'bad\\udcff'; rename the file"):
        data = vj.import_samples("object_detection", samples, tmp_path / "data", source="me")
    assert [note.image_id for note in data.annotations("object_detection")] == ["good"]
    assert slug(names[1]).startswith("bad_-")


def test_a_photo_of_floats_costs_its_records(tmp_path: Path) -> None:
    folder = good_folder(tmp_path / "data")
    Image.fromarray(np.ones(SIZE, np.float32)).save(folder / "floats.tiff")
    (folder / "images/object_detection.json").write_text('{"photo": {"file": "floats.tiff"}}')
    done = build(folder, tmp_path / "out", BuildOptions(subsets=("encoding_analysis",)))
    assert done.questions > 0
    assert {problem.reason for problem in done.problems} == {
        "floats.tiff: an image must have integer samples, got floating point; convert it to 8 or 16 bits"
    }
