"""Known questions and repeats of a people's run check the raters, and are no further
answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from judged_records import pair, said, scoring, write_dataset, write_run
from visualjudge.analysis import Analysis, analyse
from visualjudge.analysis.figures.accuracy import PAIRWISE
from visualjudge.analysis.figures.comparisons import COMPARISONS
from visualjudge.analysis.figures.scoring import SCORES
from visualjudge.analysis.rating_table import ratings_of_runs

QUESTIONS = [*(pair(i, (8.0, 1.0)) for i in range(12)), scoring(50, 7.0)]
KNOWN = pair(90, (10.0, 0.0))


def _line(
    question: Any,
    value: Any,
    rater: str,
    order: str = "AB",
    purpose: str = "question",
    repeat: int = 0,
) -> Any:
    return {
        "id": question.id,
        "order": order,
        "value": value,
        "status": "ok",
        "raw_response": None,
        "usage": None,
        "latency_s": 1.0,
        "repeat": repeat,
        "rater": rater,
        "purpose": purpose,
    }


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Anna is right and sees A first, Ben is wrong and sees B first; both are right on
    the known item.
    """
    rows = [_line(q, "A", "anna") for q in QUESTIONS[:12]]
    rows += [_line(q, "B", "ben", "BA") for q in QUESTIONS[:12]]
    rows += [
        _line(QUESTIONS[12], 7.0, "anna"),
        _line(QUESTIONS[12], 2.0, "ben", repeat=1),
    ]
    rows += [
        _line(KNOWN, "A", name, purpose="known", repeat=i)
        for i, name in enumerate(("anna", "ben"))
    ]
    rows += [
        _line(QUESTIONS[0], "A", "anna", "BA", "repeat", 1),
        _line(QUESTIONS[1], "B", "anna", "AB", "repeat", 1),
    ]
    rows += [_line(QUESTIONS[12], 7.0, "anna", "AB", "repeat", 2)]
    root = write_dataset(tmp_path / "ds", [*QUESTIONS, KNOWN])
    run = write_run(
        tmp_path / "people",
        root,
        [],
        backend="people",
        judge="people",
        asked=len(rows),
    )
    (run / "verdicts.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )
    return run


@pytest.fixture
def found(people: Path) -> Analysis:
    return analyse([people])


def test_accuracy_counts_ordinary_answers_only(found: Analysis) -> None:
    judge = found.judges[0]
    assert (
        judge[PAIRWISE].accuracy.share.n,
        judge[PAIRWISE].accuracy.share.value,
    ) == (
        24,
        0.5,
    )
    assert (judge[SCORES].n, judge.verdicts, judge.run.missing) == (2, 26, 0)


def test_every_rater_is_compared_with_a_judge(
    people: Path, tmp_path: Path
) -> None:
    """Anna is right and Ben wrong: a judge that is always right is 50 points above
    people."""
    verdicts = [
        *(said(q, "A") for q in QUESTIONS[:12]),
        said(QUESTIONS[12], 7.0),
    ]
    judge = write_run(tmp_path / "vlm", tmp_path / "ds", verdicts)
    results = analyse([judge, people])
    row, *of_scores = results[COMPARISONS]
    assert [(one.measure, one.verdicts) for one in of_scores] == [
        ("spearman", 2),
        ("mae", 2),
    ]
    assert (row.verdicts, row.accuracy_a, row.accuracy_b, row.gap.value) == (
        24,
        1.0,
        0.5,
        0.5,
    )


def test_two_raters_in_two_orders_are_no_swap(found: Analysis) -> None:
    pairwise = found.judges[0][PAIRWISE]
    assert (pairwise.swap.consistency.n, pairwise.swap.consistency.value) == (
        0,
        None,
    )
    assert (
        pairwise.accuracy.answered_a == 1.0
    )  # both chose the option that they saw first


def test_order_inside_an_image_is_that_of_each_rater(tmp_path: Path) -> None:
    questions = [scoring(i, float(i), image_id="i") for i in range(4)]
    rows = [_line(q, float(str(q.answer)) + 6, "kind") for q in questions]
    rows += [
        _line(q, float(str(q.answer)), "strict", repeat=1)
        for q in questions[1:]
    ]
    root = write_dataset(tmp_path / "ds", questions)
    run = write_run(
        tmp_path / "people",
        root,
        [],
        backend="people",
        judge="people",
        asked=len(rows),
    )
    (run / "verdicts.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in reversed(rows))
    )
    within = analyse([run]).judges[0][SCORES].within
    assert (within.n, within.value) == (2, 1)


def test_ratings_hold_no_known_item_and_no_repeat(people: Path) -> None:
    table = ratings_of_runs([people]).table
    assert table.height == 26 and KNOWN.id not in set(table["item"])
