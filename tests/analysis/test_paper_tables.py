"""The tables of a paper: judges by tasks, by subset and question type, on screen and in
files."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from commanding import command
from judged_records import (
    pair,
    ranking,
    said,
    scoring,
    write_dataset,
    write_run,
)
from visualjudge.analysis import analyse
from visualjudge.analysis.figures.tasks_and_encodings import BY_TASK
from visualjudge.analysis.report.paper_tables import paper_tables
from visualjudge.core.text_tables import Styled, Table

BOTH = ("encoding_analysis", "judge_analysis")


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    first = [pair(i, (8.0, 1.0), subset=BOTH) for i in range(24)]
    later = [pair(i, (1.0, 8.0), task="keypoint") for i in range(24, 48)]
    orders = [ranking(i, (7.0, 5.0, 1.0), task="keypoint") for i in range(12)]
    marks = [scoring(i, float(i % 10), task="keypoint") for i in range(12)]
    questions = [*first, *later, *orders, *marks]
    dataset = write_dataset(tmp_path / "ds", questions)
    wrong = {question.id for question in first[:6]}
    good = [said(q, "B" if q.id in wrong else q.answer) for q in questions]
    poor = [said(q, "A") for q in first + later]
    return [
        write_run(tmp_path / "good_1", dataset, good),
        write_run(tmp_path / "poor", dataset, poor),
    ]


def test_each_subset_and_question_type_has_a_row_a_judge(
    runs: list[Path],
) -> None:
    found = {table.title: table for table in paper_tables(analyse(runs))}
    assert list(found) == [
        "encoding_analysis: pairs, right answers",
        "judge_analysis: pairs, right answers",
        "judge_analysis: rankings, mean τ-b",
        "judge_analysis: scores, Spearman’s ρ",
    ]
    table = found["judge_analysis: pairs, right answers"]
    assert table.columns == ("Judge", "object detection", "keypoint", "all")
    shown = [
        [getattr(cell, "first", cell) for cell in row] for row in table.rows
    ]
    assert shown == [
        ["good_1", "75.0 %", "100.0 %", "87.5 %"],
        ["poor", "100.0 %", "0.0 %", "50.0 %"],
    ]
    ranks = found["judge_analysis: rankings, mean τ-b"]
    assert [str(row[2]).partition(";")[0] for row in ranks.rows] == [
        "1.00",
        "–",
    ]
    first = found["encoding_analysis: pairs, right answers"]
    assert [str(cell).partition(";")[0] for cell in first.rows[0]] == [
        "good_1",
        "75.0 %",
        "–",
        "75.0 %",
    ]


def test_values_are_those_of_the_report(runs: list[Path]) -> None:
    analysis = analyse(runs)
    whole = {cell.name: cell for cell in analysis.judges[0][BY_TASK]}
    low, high = whole["object_detection"].accuracy.share.interval or (
        None,
        None,
    )
    assert low is not None
    assert high is not None
    cell = paper_tables(analysis)[1].rows[0][1]
    assert isinstance(cell, Styled)
    assert cell.below == f"{100 * low:.1f} to {100 * high:.1f}"


def test_files_of_the_table(runs: list[Path], tmp_path: Path) -> None:
    for suffix in ("csv", "md", "tex"):
        out = tmp_path / f"paper.{suffix}"
        done = command("report", *runs, "--table", "paper", "--out", out)
        assert done.returncode == 0, done.stderr
        assert "judge_analysis: rankings" in done.stdout
    rows = list(csv.reader((tmp_path / "paper.csv").open(encoding="utf-8")))
    assert rows[0] == ["Table", "Judge", "object detection", "keypoint", "all"]
    assert [row[:2] for row in rows[1:]].count(
        ["judge_analysis: pairs, right answers", "poor"]
    ) == 1
    assert len(rows) == 9
    assert "| good\\_1 | 75.0 %" in (tmp_path / "paper.md").read_text("utf-8")
    latex = (tmp_path / "paper.tex").read_text("utf-8")
    assert r"good\_1 & 75.0 \% & 100.0 \% & 87.5 \% \\" in latex
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 4


def test_a_page_is_no_table(runs: list[Path], tmp_path: Path) -> None:
    page = command(
        "report", *runs, "--table", "paper", "--out", tmp_path / "p.html"
    )
    table = command("report", *runs, "--out", tmp_path / "p.tex")
    assert page.returncode == table.returncode == 2
    assert "--out must end in" in page.stderr
    assert "--out must end in" in table.stderr


def test_latex_has_no_command_of_others() -> None:
    from visualjudge.analysis.report.table_forms import as_latex

    text = as_latex([Table(("Judge",), ((r"\input{x} 5% a_b $x$ −1",),))])
    assert r"\textbackslash{}input\{x\} 5\% a\_b \$x\$ $-$1 \\" in text
