"""The optical-flow example, installed into a fresh environment: import → perturb →
build → judge → report.
"""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from environment import Environment

EXAMPLE = Path(__file__).parents[2] / "examples" / "visualjudge-flow"
SIZE = 96, 128
STEMS = {"wheel", "arrows", "text_vectors"}


def write_flo(path: Path, vectors: np.ndarray) -> None:
    height, width = vectors.shape[:2]
    path.write_bytes(
        b"PIEH"
        + np.array([width, height], "<i4").tobytes()
        + vectors.astype("<f4").tobytes()
    )


def write_kitti(path: Path, vectors: np.ndarray) -> None:
    stored = np.dstack(
        [
            np.ones(vectors.shape[:2]),
            vectors[..., 1] * 64 + 2**15,
            vectors[..., 0] * 64 + 2**15,
        ]
    )
    cv2.imwrite(str(path), np.rint(stored).astype(np.uint16))


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    made = Environment.made(tmp_path_factory.mktemp("env"))
    made.install(EXAMPLE)
    return made


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three frames, their flow as .flo, and a model's as KITTI PNG: off by 5 pixels to
    the right.
    """
    root = tmp_path_factory.mktemp("flow")
    for folder in ("frames", "gt", "pred"):
        (root / folder).mkdir()
    rng = np.random.default_rng(0)
    rows, cols = np.mgrid[: SIZE[0], : SIZE[1]]
    for k in range(3):
        cv2.imwrite(
            str(root / "frames" / f"f{k}.png"),
            rng.integers(0, 255, (*SIZE, 3)).astype(np.uint8),
        )
        moving = (cols - 40 - 10 * k) ** 2 + (rows - 50) ** 2 < 900
        vectors = np.where(moving[..., None], (6.0, -4.0), (-2.0, 1.0 + k))
        write_flo(root / "gt" / f"f{k}.flo", vectors)
        write_kitti(root / "pred" / f"f{k}.png", vectors + np.array([5.0, 0.0]))
    return root


def test_the_plugin_is_listed_and_a_bad_file_of_it_is_one_line(
    env: Environment, root: Path, tmp_path: Path
) -> None:
    for name in ("gt", "frames"):
        (tmp_path / name).mkdir()
        for file in sorted((root / name).iterdir())[:2]:
            (tmp_path / name / file.name).write_bytes(file.read_bytes())
    (tmp_path / "gt" / "f0.flo").write_bytes(
        b"PIEH\x10\x00\x00\x00\x10\x00\x00\x00cut"
    )
    bad = (
        "--gt",
        tmp_path / "gt",
        "--images",
        tmp_path / "frames",
        "--source",
        "truth",
    )
    listed, helped, wrong, imported = env.run_all(
        ("show", "plugins", "--json"),
        ("import", "flow", "--help"),
        ("show", "encodings", "--task", "nope"),
        ("import", "flow", *bad, "--out", tmp_path / "data"),
    )
    assert imported.returncode == 1
    assert (
        "f0" in imported.stderr
        and "must be a complete .flo file" in imported.stderr
    )
    [plugin] = json.loads(listed.stdout)
    assert (plugin["name"], plugin["distribution"], plugin["problem"]) == (
        "flow",
        "visualjudge-flow",
        None,
    )
    assert {
        "task optical_flow",
        "prediction type flow",
        "importer flow",
    } <= set(plugin["registered"])
    assert "Middlebury" in helped.stdout
    assert wrong.returncode == 2 and "optical_flow" in wrong.stderr


def test_import_perturb_build_judge_report(
    env: Environment, root: Path
) -> None:
    data, dataset, run, metrics = (
        root / name for name in ("data", "dataset", "run", "metrics.json")
    )
    truth = ("--gt", root / "gt", "--images", root / "frames")
    env.run_each(
        (
            "import",
            "flow",
            *truth,
            "--pred",
            root / "pred",
            "--source",
            "shifted",
            "--out",
            data,
        ),
        ("perturb", "--task", "optical_flow", *truth, "--out", data),
        ("build", data, "--out", dataset, "--workers", "1"),
        ("describe", dataset),
        (
            "judge",
            dataset,
            "--backend",
            "baseline",
            "--model",
            "oracle:1.0",
            "--swap",
            "--out",
            run,
        ),
        ("report", run, "--json", metrics, "--out", root / "report.html"),
    )
    made = json.loads(
        (data / "annotations" / "optical_flow_annotations.json").read_text()
    )
    shifted = [row["final_score"] for row in made if row["source"] == "shifted"]
    assert shifted == [5.0, 5.0, 5.0]  # 5 of at most 10 pixels
    assert {row["error_type"] for row in made} == {
        None,
        "magnitude",
        "direction",
        "oversmoothing",
    }
    meta = json.loads((dataset / "dataset.json").read_text())
    assert [(one["name"], one["distribution"]) for one in meta["plugins"]] == [
        ("flow", "visualjudge-flow")
    ]
    questions = json.loads((dataset / "questions.json").read_text())
    assert {question["encoding"] for question in questions} == STEMS
    assert all(
        "an optical flow estimation task" in question["prompt"]
        for question in questions
    )
    assert all(
        "the motion of every pixel" in question["prompt"]
        for question in questions
    )
    [judge] = json.loads(metrics.read_text())["judges"]
    assert judge["pairwise"]["accuracy"] == 1.0
    assert judge["pairwise"]["n"] > 0


def test_workers_know_what_the_plugin_registered(env: Environment) -> None:
    code = (
        "from visualjudge.core.workers import Workers\n"
        "from visualjudge.testing import check_type\n"
        "from visualjudge.vision.tasks import task_named\n"
        "if __name__ == '__main__':\n"
        "    check_type('flow')\n"
        "    with Workers(2) as pool:\n"
        "        rows = list(pool.map(task_named, ['optical_flow'] * 2))\n"
        "    print([row.prose for row in rows])\n"
    )
    assert env.python_run(code).stdout.strip() == str(
        ["optical flow estimation"] * 2
    )


def test_files_name_the_plugin_that_they_were_made_with(
    env: Environment, root: Path, tmp_path: Path
) -> None:
    dataset = root / "dataset"  # as the test above left it
    assert (
        json.loads((root / "run" / "run.json").read_text())["plugins"][0][
            "version"
        ]
        == "0.1.0"
    )
    bare = Environment.made(tmp_path / "bare")
    told = (
        "of the plug-in flow (visualjudge-flow 0.1.0), which is not installed or was "
        "skipped (show plugins); if you trust its makers: pip install "
        "visualjudge-flow==0.1.0"
    )
    described, reported = bare.run_all(
        ("describe", dataset),
        ("report", root / "run", "--out", tmp_path / "r.html"),
    )
    assert (
        described.returncode in (1, 2)
        and told in described.stdout + described.stderr
    )
    assert reported.returncode == 0, (
        "what needs no row of the plug-in works without it"
    )
