"""What predictions give away: ladders of errors are told without the photograph, and matched errors
are not.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from visualjudge.apps.audit import audit
from visualjudge.apps.audit.blind_features import BlindFeatures, layout, over_grey
from visualjudge.apps.audit.blind_solver import blind_accuracy
from visualjudge.cli.main import app
from visualjudge.core.jsons import loads
from visualjudge.data.perturbing import Surroundings, perturb_samples
from visualjudge.data.writer import FolderWriter
from visualjudge.dataset.build import build
from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.formats.sample import Sample
from visualjudge.judges.local.questions import QuestionFeatures
from visualjudge.options import BuildOptions, Caps
from visualjudge.vision.error_types import Pairing
from visualjudge.vision.predictions import Detection, Detections
from visualjudge.vision.raster.images import write_png
from visualjudge.vision.view import Given

IMAGES, SIZE = 10, (240, 320)
ERRORS = ("background", "duplicate")


def made(root: Path, pairing: Pairing) -> Dataset:
    """Boxes at random places of images that show nothing."""
    rng = np.random.default_rng(5)
    samples = []
    for k in range(IMAGES):
        path = root / "photos" / f"{k}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_png(path, rng.integers(0, 255, (*SIZE, 3)).astype(np.uint8))
        cells = rng.permutation(12)[:3]  # of a grid of 4 × 3, so that no two boxes overlap
        corners = np.stack([cells % 4, cells // 4], axis=1) * 78 + rng.uniform(8, 55, (3, 2))
        boxes = [Detection("dog", (x, y, x + 15, y + 14)) for x, y in corners.tolist()]
        truth = Detections(tuple(boxes))
        samples.append(Sample(str(k), path, truth, truth))
    with FolderWriter(root / "data", "object_detection") as writer:
        for _ in perturb_samples(
            writer,
            samples,
            Surroundings(("cat", "dog")),
            levels=4,
            seed=1,
            wanted=ERRORS,
            pairing=pairing,
        ):
            pass
        writer.commit()
    caps = Caps(0, 0, 100, 400, 0, 0)
    build(root / "data", root / "set", BuildOptions(subsets=("judge_analysis",), caps=caps))
    return load_dataset(root / "set")


@pytest.fixture(scope="module")
def ladder(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return made(tmp_path_factory.mktemp("ladder"), "ladder")


def test_a_ladder_of_false_boxes_is_told_by_their_number(ladder: Dataset) -> None:
    found = {row.error_type: row for row in blind_accuracy(ladder)}
    assert set(found) == {"all", *ERRORS}
    assert all(row.accuracy > 0.95 and row.at_fault for row in found.values())


def test_matched_errors_are_no_finding(tmp_path: Path) -> None:
    found = blind_accuracy(made(tmp_path, "matched"))
    assert found and not any(row.at_fault for row in found)


def test_the_audit_states_the_accuracy_and_finds_it(ladder: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "audit.json"
    done = CliRunner().invoke(app, ["describe", str(ladder.root), "--json", str(path)])
    assert done.exit_code == 1 and "without the photograph" in " ".join(done.output.split())
    content = loads(path.read_bytes())
    assert {"task", "error_type", "accuracy", "interval"} <= set(content["blind"][0])
    (found,) = [row for row in content["findings"] if row["kind"] == "blind"]
    assert (found["count"], found["total"]) == (3, 3)
    assert "What the predictions give away" in done.output


def test_few_pairs_are_not_measured(ladder: Dataset) -> None:
    few = ladder.filter(lambda question: question.image_id in "012")
    assert blind_accuracy(few) == () and audit(few).blind == ()


def test_features_without_the_photograph_do_not_depend_on_it(ladder: Dataset) -> None:
    question = next(q for q in ladder if q.question_type == "pairwise")
    blind, seeing = (
        kind(ladder.root).options(question)[0] for kind in (BlindFeatures, QuestionFeatures)
    )
    assert blind["items"] == seeing["count"] and "items" not in seeing
    assert (over_grey(Given(np.zeros((4, 4, 3), np.uint8))).image == 128).all()


def test_layout_says_where_boxes_lie() -> None:
    found = layout(np.array([[0.0, 10, 20, 30], [60, 10, 80, 30], [60, 10, 80, 30]]), (100, 100))
    assert (found["items"], found["overlap"], found["most_overlap"]) == (3, pytest.approx(2 / 3), 1)
    assert found["x"] == pytest.approx((0.1 + 0.7 + 0.7) / 3) and found[
        "on_border"
    ] == pytest.approx(1 / 12)
    assert layout(np.zeros((0, 4)), (10, 10)) == {"items": 0.0}
