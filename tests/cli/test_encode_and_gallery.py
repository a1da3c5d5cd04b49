"""``visualjudge encode`` and ``gallery`` on small data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from visualjudge.cli import encode as encode_command, gallery as gallery_command
from visualjudge.core.errors import DataError, RunError, UsageError
from visualjudge.vision.raster.images import read_rgb, write_png


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_png(tmp_path / "files" / "a.png", np.zeros((80, 100, 3), np.uint8))
    (tmp_path / "images").mkdir()
    (tmp_path / "annotations").mkdir()
    (tmp_path / "images" / "object_detection.json").write_text(
        json.dumps({"a": {"file": "files/a.png"}})
    )
    note = {
        "annotation_id": "n1",
        "image_id": "a",
        "task": "object_detection",
        "class_of_interest": ["cat"],
        "error_type": None,
        "prompt": None,
        "prediction": {"detections": [{"label": "cat", "bbox": [10, 20, 60, 70]}]},
        "final_score": 5.0,
    }
    (tmp_path / "annotations" / "object_detection_annotations.json").write_text(json.dumps([note]))
    return tmp_path


def run(folder: Path, *options: str) -> str:
    result = CliRunner().invoke(encode_command.app, [str(folder), *options], catch_exceptions=False)
    return result.stdout


def test_a_text_encoding_is_printed(folder: Path) -> None:
    told = run(folder, "--task", "object_detection", "--stem", "text_xyxy")
    assert json.loads(told) == [{"label": "cat", "bbox": [10, 20, 60, 70]}]


def test_a_image_is_written_and_its_legend_printed(folder: Path) -> None:
    out = folder / "shown.png"
    options = ("--task", "object_detection", "--stem", "pixel_s0_m0", "--out", str(out))
    assert "Legend: cat = red (#FF0000)" in run(folder, *options)
    assert read_rgb(out)[20, 30].tolist() == [255, 0, 0]


def test_a_image_without_a_place_for_it_is_wrong_usage(folder: Path) -> None:
    with pytest.raises(UsageError, match="--out"):
        run(folder, "--task", "object_detection", "--stem", "pixel_s0_m0")


def test_an_annotation_that_is_not_there_is_named(folder: Path) -> None:
    with pytest.raises(DataError, match="n7"):
        run(folder, "--task", "object_detection", "--stem", "text_xyxy", "--annotation", "n7")


def test_the_gallery_in_docs_is_complete() -> None:
    page = Path(__file__).parents[2] / "docs" / "gallery"
    result = CliRunner().invoke(
        gallery_command.app, ["--check", "--out", str(page)], catch_exceptions=False
    )
    assert "complete, 55 encodings" in result.stdout


def test_a_gallery_that_lacks_its_page_fails_the_check(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="is missing"):
        CliRunner().invoke(
            gallery_command.app, ["--check", "--out", str(tmp_path)], catch_exceptions=False
        )
