"""Images that a benchmark has too: found by one rule, and left out of what is exported for
training.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from apps.adopt import copies
from runs.made_dataset import make_dataset
from visualjudge.apps.adopt.benchmarks import adopt_benchmark
from visualjudge.apps.audit import audit
from visualjudge.apps.audit.shared_images import overlap
from visualjudge.cli.export import app
from visualjudge.core.errors import UsageError
from visualjudge.core.seeding import rng_for
from visualjudge.dataset.folder import load_dataset
from visualjudge.vision.raster.images import read_rgb


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Questions about images of their own."""
    made = make_dataset(tmp_path / "mine", pairwise=12, ranking=0, scoring=0)
    path = made / "questions.json"
    questions = json.loads(path.read_text())
    for question in questions:
        question["image_id"] = question["id"]
    path.write_text(json.dumps(questions))
    return made


def benchmark(tmp_path: Path, *images: dict[str, Any]) -> Path:
    """GenAI-Bench with these as the first image of each pair; its questions show no original."""
    noise = rng_for(1).integers(0, 255, (64, 64, 3)).astype("uint8")
    rows = [
        {"prompt": f"a cat {k}", "left_image": image, "right_image": encoded(noise)}
        | {"vote_type": "leftvote"}
        for k, image in enumerate(images)
    ]
    copies.write(tmp_path / "copy/image_generation/test_v1.parquet", rows)
    adopt_benchmark("genai-bench", tmp_path / "copy", tmp_path / "bench")
    return tmp_path / "bench/dataset"


def encoded(pixels: Any) -> dict[str, Any]:
    return {"bytes": cv2.imencode(".png", pixels[..., ::-1])[1].tobytes(), "path": "x.png"}


def pixels_of(root: Path, name: str) -> Any:
    question = next(one for one in load_dataset(root) if one.id == name)
    return read_rgb(root / question.images[0])


def test_an_export_leaves_out_what_an_audit_finds_and_counts_it(root: Path, tmp_path: Path) -> None:
    brighter = np.clip(pixels_of(root, "pairwise7").astype(int) + 2, 0, 255).astype(np.uint8)
    bench = benchmark(tmp_path, encoded(pixels_of(root, "pairwise3")), encoded(brighter))
    shared = overlap(load_dataset(root), [load_dataset(bench)]).images
    assert set(shared) == {"pairwise3", "pairwise7"}
    (found,) = [
        row for row in audit(root, against=[bench]).findings if row.kind == "near_duplicates"
    ]
    assert found.count == 2 and set(found.examples) == set(shared.values())
    ran = CliRunner().invoke(
        app,
        [
            str(root),
            "--format",
            "trl",
            "--not-in",
            str(bench),
            "--out",
            str(tmp_path / "rows.jsonl"),
        ],
    )
    assert ran.exit_code == 0, ran.output
    assert f"left out 2 images (2 of 12 questions) that are in {bench}" in ran.stderr
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert len(rows) == 10 and not {row["id"] for row in rows} & set(shared)


def test_two_names_of_one_file_are_both_known(root: Path, tmp_path: Path) -> None:
    bench = benchmark(tmp_path, encoded(pixels_of(root, "pairwise3")))
    path = root / "questions.json"
    questions = json.loads(path.read_text())
    questions[5]["images"][0] = next(one for one in questions if one["id"] == "pairwise3")[
        "images"
    ][0]
    path.write_text(json.dumps(questions))
    found = overlap(load_dataset(root), [load_dataset(bench)]).images
    assert set(found) == {"pairwise3", questions[5]["id"]}


def test_a_benchmark_of_labels_alone_cannot_be_compared(root: Path, tmp_path: Path) -> None:
    bench = copies.editreward(tmp_path / "copy", images=False)
    adopt_benchmark("editreward-bench", bench, tmp_path / "labels")
    with pytest.raises(
        UsageError, match="dataset: must have images to compare with, got labels only"
    ):
        overlap(load_dataset(root), [load_dataset(tmp_path / "labels/dataset")])
