"""A journal line that is not a verdict is a problem; an edited dataset is seen by its
own bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from judged_records import pair, said, write_dataset, write_run
from stored_figures import stored
from visualjudge.analysis import analyse
from visualjudge.analysis.load import load_study
from visualjudge.analysis.stored_tables import read_verdicts
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import Verdict
from visualjudge.runs.verdicts import verdict_line

QUESTIONS = [pair(k, (8.0, 2.0)) for k in range(4)]


def study(tmp_path: Path, **change: Any) -> Any:
    dataset = write_dataset(tmp_path / "data", QUESTIONS)
    run = write_run(
        tmp_path / "run", dataset, [said(q, "A") for q in QUESTIONS]
    )
    lines = (run / "verdicts.jsonl").read_text().splitlines()
    lines[1] = json.dumps({**json.loads(lines[1]), **change})
    (run / "verdicts.jsonl").write_text("\n".join(lines) + "\n")
    return load_study([run]).runs[0]


@pytest.mark.parametrize(
    "change",
    [
        {"order": "ba"},
        {"order": "XY"},
        {"repeat": "x"},
        {"repeat": 2**40},
        {"repeat": 1.5},
        {"probability_a": "x"},
    ],
)
def test_line_of_the_wrong_type_is_a_problem_and_not_a_traceback(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    run = study(tmp_path, **change)
    assert run.answered.height == 3
    assert any("verdicts.jsonl" in problem for problem in run.problems)


def test_edited_questions_are_seen_although_dataset_json_states_the_old_checksum(
    tmp_path: Path,
) -> None:
    dataset = write_dataset(tmp_path / "data", QUESTIONS)
    run = write_run(
        tmp_path / "run", dataset, [said(q, "A") for q in QUESTIONS]
    )
    content = (dataset / "questions.json").read_text()
    (dataset / "questions.json").write_text(
        content.replace('"answer":"A"', '"answer":"B"')
    )
    assert any(
        "changed since the run" in problem
        for problem in load_study([run], dataset=dataset).runs[0].problems
    )


def test_of_many_lines_that_are_no_verdicts_a_hundred_are_named_and_the_others_counted(
    tmp_path: Path,
) -> None:
    dataset = write_dataset(tmp_path / "data", QUESTIONS)
    run = write_run(
        tmp_path / "run", dataset, [said(q, "A") for q in QUESTIONS]
    )
    with (run / "verdicts.jsonl").open("a") as journal:
        journal.write("{}\n" * 150)
    problems = load_study([run]).runs[0].problems
    assert len(problems) == 101
    assert (
        problems[-1]
        == f"{run}/verdicts.jsonl: 50 more lines are no verdicts, left out"
    )


def test_two_questions_of_one_id_are_refused(tmp_path: Path) -> None:
    dataset = write_dataset(tmp_path / "data", [*QUESTIONS, QUESTIONS[0]])
    run = write_run(
        tmp_path / "run", dataset, [said(q, "A") for q in QUESTIONS]
    )
    with pytest.raises(
        DataError,
        match=rf"data: question {QUESTIONS[0].id}: id: must be unique",
    ):
        load_study([run])


def test_a_question_without_an_answer_among_others_is_not_counted_as_wrong(
    tmp_path: Path,
) -> None:
    asked = [*QUESTIONS, pair(4, (5.0, 5.0), answer="unknown")]
    dataset = write_dataset(tmp_path / "data", asked)
    run = write_run(tmp_path / "run", dataset, [said(q, "A") for q in asked])
    (judge,) = stored(analyse([run]))
    right = sum(question.answer == "A" for question in QUESTIONS)
    assert judge["pairwise"]["n"] == len(QUESTIONS)
    assert judge["pairwise"]["accuracy"] == right / len(QUESTIONS)
    assert judge["unread"]["n"] == len(asked)


def test_a_dataset_that_was_moved_is_asked_for(tmp_path: Path) -> None:
    dataset = write_dataset(tmp_path / "data", QUESTIONS)
    run = write_run(
        tmp_path / "run", dataset, [said(q, "A") for q in QUESTIONS]
    )
    moved = dataset.rename(tmp_path / "moved")
    with pytest.raises(
        UsageError,
        match=r"is not a dataset.*a dataset that was moved is named with `dataset`",
    ):
        load_study([run])
    assert load_study([run], dataset=moved).runs[0].answered.height == 4


def test_runs_of_one_judge_in_folders_of_one_name_are_named_by_their_paths(
    tmp_path: Path,
) -> None:
    dataset = write_dataset(tmp_path / "data", QUESTIONS)
    folders = [tmp_path / place for place in ("may/a", "june/a", "june/b")]
    for folder in folders:
        folder.parent.mkdir(exist_ok=True)
        write_run(folder, dataset, [said(q, "A") for q in QUESTIONS], judge="m")
    alike, apart = load_study(folders), load_study(folders[1:])
    assert [run.name for run in alike.runs] == [
        "m (may/a)",
        "m (june/a)",
        "m (june/b)",
    ]
    assert [run.name for run in apart.runs] == ["m (a)", "m (b)"]


def test_tokens_that_nobody_counted_are_null_and_not_0(tmp_path: Path) -> None:
    dataset = write_dataset(tmp_path / "data", QUESTIONS)
    run = write_run(
        tmp_path / "run", dataset, [said(q, "A") for q in QUESTIONS]
    )
    (judge,) = stored(analyse([run]))
    assert judge["tokens"] == {"prompt": None, "reply": None}


@pytest.mark.parametrize("careful", [False, True])
def test_reasoning_that_is_in_the_total_alone_counts_as_output(
    tmp_path: Path, careful: bool
) -> None:
    usages = [
        {
            "prompt_tokens": 258,
            "completion_tokens": 12,
            "reasoning_tokens": 88,
            "total_tokens": 358,
        },
        {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150},
        {"prompt_tokens": 7, "completion_tokens": 9, "total_tokens": 3},
        {"prompt_tokens": 21, "total_tokens": 81},
        {"completion_tokens": 4, "total_tokens": 81},
    ]
    more = (
        {"published_right": None} if careful else {}
    )  # lines that have it are read one by one
    lines = [
        verdict_line(Verdict(f"q{n}", "AB", "A", "ok", "A", usage=u))
        for n, u in enumerate(usages)
    ]
    written = "".join(
        json.dumps({**line, **more}, separators=(",", ":")) + "\n"
        for line in lines
    )
    (tmp_path / "verdicts.jsonl").write_text(written)
    table, _, _ = read_verdicts(tmp_path)
    assert table["tokens_in"].to_list() == [258, 100, 7, 21, None]
    assert table["tokens_out"].to_list() == [100, 50, 9, 60, 4]
