"""What is built, described, exported and probed from a folder with a task of each type,
recorded, prompts to the letter."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from making import make_folder
from recording import check, checksum, contents
from visualjudge.apps.probes.build import build_probes
from visualjudge.core.records import Question
from visualjudge.data.folder import DataFolder
from visualjudge.dataset.build import build
from visualjudge.dataset.describe import describe
from visualjudge.dataset.exports import export
from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.options import BuildOptions, Caps, WorkOptions

TASKS = (
    "object_detection",
    "instance_segmentation",
    "referring_segmentation",
    "keypoint",
    "depth_estimation",
    "lowlevel-deblur",
    "generation_inpainting_low_level",
)
Made = tuple[Path, Dataset]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    home = tmp_path_factory.mktemp("dataset")
    data = make_folder(
        home / "data", tasks=TASKS, images=2, annotations=4, size=(47, 66)
    )
    caps = Caps(3, 2, 2, 2, 2, 1, 4)
    build(data, home / "made", BuildOptions(caps=caps, workers=1, seed=5))
    return data, load_dataset(home / "made")


def _exact(question: Question) -> tuple[Question, float]:
    """A question, and a checksum of its prompt."""
    return replace(question, prompt=""), checksum(question.prompt)


def test_questions_and_their_images(made: Made) -> None:
    _, dataset = made
    questions: dict[str, list[object]] = {}
    for question in dataset.questions:
        part = f"{question.task}:{question.question_type}"
        questions.setdefault(part, []).append(_exact(question))
    files = contents(dataset.root)
    files.pop("questions.json*.json", None)
    check("questions", {"of": questions, "files": files}, depth=2)


def test_what_a_folder_holds(made: Made) -> None:
    folder = DataFolder(made[0])
    check(
        "described",
        {
            task: describe(task, list(folder.annotations(task)))
            for task in TASKS
        },
        depth=1,
    )


def test_exports(made: Made, tmp_path: Path) -> None:
    for name in ("trl", "vlmevalkit", "parquet"):
        export(made[1], name, tmp_path / name)
    check("exports", contents(tmp_path), depth=1)


def test_probes(made: Made, tmp_path: Path) -> None:
    build_probes(made[0], tmp_path / "probes", WorkOptions(workers=1), number=3)
    probed = load_dataset(tmp_path / "probes")
    groups: dict[str, list[object]] = {}
    for question in probed.questions:
        probe = question.probe
        name = "none" if probe is None else f"{probe.name}:{question.task}"
        groups.setdefault(name, []).append(_exact(question))
    images = contents(probed.root)
    images.pop("questions.json*.json", None)
    check("probes", {"of": groups, "files": images}, depth=2)
