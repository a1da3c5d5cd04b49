"""The oriented-boxes example, installed into a fresh environment, has what a built-in
type has."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from environment import Environment

EXAMPLE = Path(__file__).parents[2] / "examples" / "visualjudge-oriented"
sys.path.append(str(EXAMPLE / "src"))

from visualjudge_oriented.record import OrientedBox, OrientedBoxes  # noqa: E402
from visualjudge_oriented.score import similarity as iou  # noqa: E402
from visualjudge_oriented.show import example  # noqa: E402


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    made = Environment.made(tmp_path_factory.mktemp("env"))
    made.install(EXAMPLE)
    return made


def lines_of(
    boxes: tuple[OrientedBox, ...], shift: float, last: list[float]
) -> str:
    rows = [
        [*(item.corners + shift).ravel().tolist(), item.label, value]
        for item, value in zip(boxes, last, strict=True)
    ]
    return "imagesource:made\n" + "".join(
        " ".join(map(str, row)) + "\n" for row in rows
    )


def test_iou_is_that_of_the_drawn_pixels() -> None:
    rng = np.random.default_rng(0)
    values = rng.uniform(
        (150, 150, 40, 40, -180), (250, 250, 150, 150, 180), (16, 5)
    )
    boxes = [OrientedBox("a", *row) for row in values.tolist()]
    masks = [OrientedBoxes((box,)).coverage((400, 400)) for box in boxes]
    drawn = [
        [(one & two).sum() / (one | two).sum() for two in masks]
        for one in masks
    ]
    assert np.abs(iou(boxes, boxes) - drawn).max() < 0.04
    assert np.abs(np.diag(iou(boxes, boxes)) - 1).max() < 1e-9


def test_a_square_turned_by_45_degrees() -> None:
    square, turned = (
        OrientedBox("a", 50, 50, 20, 20, 0),
        OrientedBox("a", 50, 50, 20, 20, 45),
    )
    common = 8 * (2**0.5 - 1) * 100  # a regular octagon of inradius 10
    assert iou([square], [turned])[0, 0] == pytest.approx(
        common / (800 - common), abs=1e-9
    )


def test_everything_that_a_built_in_type_has(
    env: Environment, tmp_path: Path
) -> None:
    image, truth, _ = example()
    for folder in ("images", "gt", "pred"):
        (tmp_path / folder).mkdir()
    for k in range(3):
        cv2.imwrite(
            str(tmp_path / "images" / f"h{k}.png"),
            np.roll(image, k, axis=1)[..., ::-1],
        )
        (tmp_path / "gt" / f"h{k}.txt").write_text(
            lines_of(truth.items, 0, [0] * 5)
        )
        (tmp_path / "pred" / f"h{k}.txt").write_text(
            lines_of(truth.items, 3, [0.9, 0.8, 0.7, 0.6, 0.1])
        )
    data, dataset = (tmp_path / name for name in ("data", "dataset"))
    gt = (
        "--gt",
        tmp_path / "gt",
        "--images",
        tmp_path / "images",
        "--out",
        data,
    )
    pred = ("--pred", tmp_path / "pred", "--min-score", "0.5")
    env.run_each(
        (
            "import",
            "dota",
            *gt,
            *pred,
            "--source",
            "model",
            "--class-of-interest",
            "all",
        ),
        ("perturb", "--task", "oriented_detection", *gt),
        ("build", data, "--out", dataset, "--workers", "1"),
    )
    notes = json.loads(
        (
            data / "annotations" / "oriented_detection_annotations.json"
        ).read_text()
    )
    [first, *_] = [note for note in notes if note["source"] == "model"]
    assert (
        len(first["prediction"]["boxes"]) == 4
    )  # the one of confidence 0.1 is left out
    assert 0 < first["final_score"] < 10
    questions = json.loads((dataset / "questions.json").read_text())
    assert "pairwise" in {question["question_type"] for question in questions}
    assert [mark.label for mark in truth.marks()] == [
        "ship",
        "ship",
        "ship",
        "lorry",
        "lorry",
    ]
