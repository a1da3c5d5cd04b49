"""The kinds of folder that commands write."""

from __future__ import annotations

from pathlib import Path

import pytest

from visualjudge.core.folder_kinds import what_it_is


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
