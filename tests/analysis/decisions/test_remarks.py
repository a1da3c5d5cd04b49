"""What is wrong with a run is said wherever its verdicts are used: its questions
changed, or it is not finished.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

import visualjudge as vj
from decided import World, choices_of
from judged_records import write_dataset, write_run
from visualjudge.analysis import analyse
from visualjudge.cli.main import app
from visualjudge.core.errors import DataError

CHANGED = "the dataset's questions.json has changed since the run"
MISSING = "verdicts are missing"


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    questions = World.of(30, 3).pair_questions()
    dataset = write_dataset(tmp_path / "ds", questions)
    return [
        write_run(
            tmp_path / name,
            dataset,
            choices_of(questions, 0.9, seed),
            asked=4 * len(questions),
        )
        for seed, name in enumerate(("small", "large"))
    ]


def _edit(dataset: Path) -> None:
    path = dataset / "questions.json"
    path.write_text(path.read_text() + "\n")


def _labels(runs: Sequence[Path], path: Path) -> str:
    drawn = vj.label(runs[0], 60, dataset=runs[0].parent / "ds").table()[
        "question_id"
    ]
    rows = [f"{name},{'AB'[k % 2]}\n" for k, name in enumerate(drawn)]
    path.write_text("question_id,answer\n" + "".join(rows))
    return str(path)


@pytest.mark.parametrize("command", ["card", "label", "correct", "report"])
def test_every_command_says_that_a_dataset_changed_after_the_run(
    command: str, runs: list[Path], tmp_path: Path
) -> None:
    small, _large = map(str, runs)
    words = {
        "card": [small],
        "label": [small, "--out", str(tmp_path / "next.csv")],
        "correct": [small, "--labels", _labels(runs, tmp_path / "labels.csv")],
        "report": [small],
    }[command]
    before = CliRunner().invoke(app, [command, *words])
    assert (before.exit_code, CHANGED in before.output) == (0, False)
    _edit(tmp_path / "ds")
    refused = CliRunner().invoke(app, [command, *words])
    assert CHANGED in str(refused.exception) and "`dataset`" in str(
        refused.exception
    )
    done = CliRunner().invoke(
        app, [command, *words, "--dataset", str(tmp_path / "ds")]
    )
    assert (done.exit_code, CHANGED in done.stderr) == (1, True)


def test_of_several_datasets_the_one_that_changed_is_named(
    tmp_path: Path,
) -> None:
    every = World.of(12, 3).pair_questions()
    folders = []
    for name in ("one", "two"):
        questions = [
            q for q in every if (int(q.image_id[-4:]) < 6) == (name == "one")
        ]
        dataset = write_dataset(tmp_path / f"ds-{name}", questions)
        folders.append(
            write_run(tmp_path / name, dataset, choices_of(questions, 0.9, 0))
        )
    _edit(tmp_path / "ds-two")
    with pytest.raises(DataError, match=rf"two: {CHANGED}.*ds-two; "):
        analyse(folders)
