"""A journal line that is no verdict is a problem; an edited dataset is seen by its own bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from judged_records import pair, said, write_dataset, write_run
from visualjudge.analysis import analyse
from visualjudge.analysis.load import load_study
from visualjudge.errors import UsageError

QUESTIONS = [pair(k, (8.0, 2.0)) for k in range(4)]


def study(tmp_path: Path, **change: Any) -> Any:
    dataset = write_dataset(tmp_path / "data", QUESTIONS)
    run = write_run(tmp_path / "run", dataset, [said(q, "A") for q in QUESTIONS])
    lines = (run / "verdicts.jsonl").read_text().splitlines()
    lines[1] = json.dumps({**json.loads(lines[1]), **change})
    (run / "verdicts.jsonl").write_text("\n".join(lines) + "\n")
    return load_study([run]).runs[0]


@pytest.mark.parametrize("change", [{"order": "ba"}, {"order": "XY"}, {"repeat": "x"}, {"repeat": 2**40},
                                    {"repeat": 1.5}, {"probability_a": "x"}])  # fmt: skip
def test_line_of_the_wrong_type_is_a_problem_and_not_a_traceback(tmp_path: Path, change: dict[str, Any]) -> None:
    run = study(tmp_path, **change)
    assert run.verdicts.height == 3
    assert any("verdicts.jsonl" in problem for problem in run.problems)


def test_edited_questions_are_seen_although_dataset_json_states_the_old_checksum(tmp_path: Path) -> None:
    dataset = write_dataset(tmp_path / "data", QUESTIONS)
    run = write_run(tmp_path / "run", dataset, [said(q, "A") for q in QUESTIONS])
    content = (dataset / "questions.json").read_text()
    (dataset / "questions.json").write_text(content.replace('"answer": "A"', '"answer": "B"'))
    assert any("changed since the run" in problem for problem in load_study([run]).runs[0].problems)


def test_a_dataset_that_was_moved_is_asked_for(tmp_path: Path) -> None:
    dataset = write_dataset(tmp_path / "data", QUESTIONS)
    run = write_run(tmp_path / "run", dataset, [said(q, "A") for q in QUESTIONS])
    moved = dataset.rename(tmp_path / "moved")
    with pytest.raises(UsageError, match=r"is not a dataset.*a dataset that was moved is named with --dataset"):
        load_study([run])
    assert load_study([run], dataset=moved).runs[0].verdicts.height == 4


def test_runs_of_one_judge_in_folders_of_one_name_are_named_by_their_paths(tmp_path: Path) -> None:
    dataset = write_dataset(tmp_path / "data", QUESTIONS)
    folders = [tmp_path / place for place in ("may/a", "june/a", "june/b")]
    for folder in folders:
        folder.parent.mkdir(exist_ok=True)
        write_run(folder, dataset, [said(q, "A") for q in QUESTIONS], judge="m")
    alike, apart = load_study(folders), load_study(folders[1:])
    assert [run.name for run in alike.runs] == ["m (may/a)", "m (june/a)", "m (june/b)"]
    assert [run.name for run in apart.runs] == ["m (a)", "m (b)"]


def test_tokens_that_nobody_counted_are_null_and_not_0(tmp_path: Path) -> None:
    dataset = write_dataset(tmp_path / "data", QUESTIONS)
    run = write_run(tmp_path / "run", dataset, [said(q, "A") for q in QUESTIONS])
    (judge,) = analyse([run]).metrics["judges"]
    assert judge["tokens"] == {"prompt": None, "reply": None}
