"""The kinds of folder that commands write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from visualjudge.core.errors import UsageError
from visualjudge.core.folder_kinds import what_it_is
from visualjudge.dataset.folder import load_dataset


def test_a_folder_is_not_what_cannot_be_read_as_such(tmp_path: Path) -> None:
    (tmp_path / "dataset.json").write_text("{}")
    os.mkfifo(tmp_path / "questions.json")
    with pytest.raises(UsageError) as caught:
        load_dataset(tmp_path)
    assert "is not a dataset" in str(caught.value)
    assert "it is a dataset" not in str(caught.value)


@pytest.mark.parametrize(
    ("file", "clause"),
    [
        ("run.json", "it is a run: `visualjudge card {}`"),
        ("one/run.json", "it is a folder of runs: `visualjudge card {}/*`"),
        ("dataset.json", "it is a dataset: `visualjudge judge {}`"),
        (
            "annotations/keypoint_annotations.json",
            "it is a data folder: `visualjudge build {}`",
        ),
        (
            "annotations/instances_val2017.json",
            "`visualjudge init {}` says what it has",
        ),
    ],
)
def test_a_folder_of_another_kind_is_named_with_its_command(
    file: str, clause: str, tmp_path: Path
) -> None:
    made = tmp_path / file
    made.parent.mkdir(exist_ok=True)
    made.touch()
    assert what_it_is(tmp_path) == clause.format(tmp_path)
    assert what_it_is(tmp_path / "none") == "there is no such folder"
