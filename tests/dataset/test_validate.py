"""A dataset that was tampered with is found out, by the file and rule that no longer
hold."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from making import detection_folder
from visualjudge.core.errors import DataError, UsageError
from visualjudge.dataset.build import build
from visualjudge.dataset.folder import load_dataset
from visualjudge.dataset.validate import validate

Json = dict[str, Any]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("validate")
    build(detection_folder(home / "data", [1.0, 2.0, 3.0]), home / "dataset")
    return home / "dataset"


@pytest.fixture
def dataset(built: Path, tmp_path: Path) -> Path:
    shutil.copytree(built, tmp_path / "dataset")
    return tmp_path / "dataset"


def _edit(dataset: Path, kind: str, change: Callable[[Json], object]) -> None:
    """Change the first question of ``kind``, and the checksum with it, so that only the
    rule is broken.
    """
    questions = json.loads((dataset / "questions.json").read_text())
    change(next(q for q in questions if q["question_type"] == kind))
    text = json.dumps(questions).encode()
    (dataset / "questions.json").write_bytes(text)
    meta = json.loads((dataset / "dataset.json").read_text())
    meta["files"]["questions.json"] = hashlib.sha256(text).hexdigest()
    (dataset / "dataset.json").write_text(json.dumps(meta))


def _fields(dataset: Path) -> set[str]:
    return {problem.field for problem in validate(dataset)[1]}


def test_whole_dataset_has_no_problem(dataset: Path) -> None:
    assert validate(dataset)[1] == []


@pytest.mark.parametrize(
    ("kind", "change", "field"),
    [
        (
            "pairwise",
            lambda q: q.update(answer={"A": "B", "B": "A"}[q["answer"]]),
            "answer",
        ),
        ("ranking", lambda q: q.update(answer=q["answer"][::-1]), "answer"),
        ("scoring", lambda q: q.update(answer=q["answer"] + 0.1), "answer"),
        ("pairwise", lambda q: q.update(final_scores=[4.0, 4.0]), "answer"),
        (
            "scoring",
            lambda q: q.update(final_scores=[11.0], answer=11.0),
            "final_scores",
        ),
        (
            "pairwise",
            lambda q: q.update(prompt=q["prompt"] + "<image>"),
            "prompt",
        ),
    ],
)
def test_broken_rule_is_told(
    dataset: Path, kind: str, change: Callable[[Json], object], field: str
) -> None:
    _edit(dataset, kind, change)
    assert field in _fields(dataset)


@pytest.mark.parametrize(
    ("kind", "change", "field"),
    [
        ("scoring", lambda q: q.update(answer="7"), "answer"),
        (
            "pairwise",
            lambda q: q.update(final_scores=[4.0, "x"]),
            "final_scores",
        ),
        (
            "ranking",
            lambda q: q.update(annotation_ids=q["annotation_ids"][:2]),
            "annotation_ids",
        ),
    ],
)
def test_a_question_that_cannot_be_read_ends_the_validation_with_its_field(
    dataset: Path, kind: str, change: Callable[[Json], object], field: str
) -> None:
    _edit(dataset, kind, change)
    with pytest.raises(DataError, match=field):
        validate(dataset)


def test_changed_missing_and_added_files_are_told(dataset: Path) -> None:
    changed, missing, *_ = sorted((dataset / "media").iterdir())
    changed.write_bytes(changed.read_bytes() + b"\0")
    missing.unlink()
    (dataset / "media/added.png").write_bytes(b"")
    told = {
        (problem.record, problem.reason.split(";")[0])
        for problem in validate(dataset)[1]
        if problem.field == "files"
    }
    assert told == {
        (f"media/{changed.name}", "the SHA-256 differs: the file was changed"),
        (
            f"media/{missing.name}",
            f"there is no file 'media/{missing.name}' in the dataset",
        ),
        ("media/added.png", "is not listed"),
    }


def test_same_question_twice_is_told(dataset: Path) -> None:
    questions = json.loads((dataset / "questions.json").read_text())
    (dataset / "questions.json").write_text(
        json.dumps([*questions, questions[0]])
    )
    assert {"id", "files", "by_task"} <= _fields(dataset)


@pytest.mark.parametrize("field", ["id", "prompt", "images", "answer"])
def test_question_without_a_field_cannot_be_read(
    dataset: Path, field: str
) -> None:
    _edit(dataset, "pairwise", lambda question: question.pop(field))
    with pytest.raises(DataError, match=f"{field}: the field is missing"):
        load_dataset(dataset)


def test_broken_json_names_the_file(dataset: Path) -> None:
    (dataset / "questions.json").write_text("{not json")
    with pytest.raises(DataError, match=r"questions\.json: .*is not JSON"):
        load_dataset(dataset)


def test_other_folder_is_no_dataset(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a dataset"):
        load_dataset(tmp_path)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("undecidable", 5),
        ("counts", []),
        ("files", None),
        ("benchmark", "x"),
        ("version", 2),
        ("counts", {"by_task": 5}),
    ],
)
def test_a_field_of_dataset_json_of_another_kind_is_named(
    dataset: Path, field: str, value: object
) -> None:
    meta = json.loads((dataset / "dataset.json").read_text())
    (dataset / "dataset.json").write_text(json.dumps(meta | {field: value}))
    with pytest.raises(
        DataError, match=rf"dataset\.json: {field}.*: must be .*, got "
    ):
        validate(dataset)
