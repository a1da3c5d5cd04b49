"""Six questions of an analyst have their answer on the page, after at most three clicks,
and the numbers are those of the verdicts, counted here without the package.
"""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from judged_records import pair, said, write_dataset, write_run
from page_tables import SeenTable, tables_of
from page_text import page
from visualjudge.analysis import analyse
from visualjudge.core.seeding import rng_for

TASKS = ("object_detection", "instance_segmentation")
ERRORS = ("missed", "background")
SCORES = {"elm": 9.0, "fir": 6.0, "gum": 3.0}
ACCURACY = {"careful": 0.9, "hasty": 0.65}
Row = dict[str, Any]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two judges on pairs of three models of two tasks, in both orders."""
    root = tmp_path_factory.mktemp("analyst")
    rng = rng_for(7)
    questions = [
        pair(
            3 * image + k,
            (SCORES[a], SCORES[b]),
            task=TASKS[image % 2],
            error_type=ERRORS[(image + k) % 2],
            sources=(a, b),
            image_id=f"i{image}",
        )
        for image in range(48)
        for k, (a, b) in enumerate(combinations(SCORES, 2))
    ]
    dataset = write_dataset(root / "ds", questions)
    for judge, accuracy in ACCURACY.items():
        verdicts = []
        for question in questions:
            for order in ("AB", "BA"):
                right = rng.random() < accuracy
                failed = judge == "hasty" and rng.random() < 0.1
                status = "unparseable" if failed else "ok"
                answer = "A" if right else "B"
                verdicts.append(said(question, answer, order, status))
        write_run(root / judge, dataset, verdicts, judge=judge)
    return root


@pytest.fixture(scope="module")
def tables(study: Path) -> list[SeenTable]:
    return tables_of(page(analyse([study / judge for judge in ACCURACY])))


@pytest.fixture(scope="module")
def rows(study: Path) -> dict[str, list[Row]]:
    """The verdicts of each judge as its file has them, with their questions."""
    questions = json.loads((study / "ds" / "questions.json").read_text())
    by_id = {question["id"]: question for question in questions}
    files = {judge: study / judge / "verdicts.jsonl" for judge in ACCURACY}
    return {
        judge: [
            by_id[verdict["id"]] | verdict
            for verdict in map(json.loads, file.read_text().splitlines())
        ]
        for judge, file in files.items()
    }


def right(row: Row) -> bool:
    return bool(row["status"] == "ok" and row["value"] == row["answer"])


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def below(
    tables: list[SeenTable], heading: str, title: str = ""
) -> list[SeenTable]:
    """The tables of a part of the page; each takes at most three clicks."""
    result = [
        table
        for table in tables
        if heading in table.heading and title in table.title
    ]
    assert result and all(table.clicks <= 3 for table in result)
    return result


@pytest.mark.parametrize("judge", ACCURACY)
def test_how_often_does_it_prefer_one_model_to_another(
    judge: str, tables: list[SeenTable], rows: dict[str, list[Row]]
) -> None:
    (table,) = below(tables, "each task", judge)
    won = defaultdict(list)
    for row in rows[judge]:
        if row["status"] == "ok" and row["sources"] == ["elm", "fir"]:
            won[row["image_id"]].append(row["value"] == "A")
    share = mean(mean(answers) for answers in won.values())
    cell = table.row("elm", "fir")["By the judge"]
    assert cell.startswith(f"{100 * share:.0f} % ")


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("judge", ACCURACY)
def test_how_accurate_is_it_in_a_task(
    judge: str, task: str, tables: list[SeenTable], rows: dict[str, list[Row]]
) -> None:
    own = [row for row in rows[judge] if row["task"] == task]
    (table,) = below(tables, "Tables by task")
    cell = table.row(task.replace("_", " "))[judge]
    assert cell.startswith(percent(mean(map(right, own))))
    assert f"{len(own)} verdicts on 24 images" in cell


@pytest.mark.parametrize("judge", ACCURACY)
def test_which_error_does_it_miss(
    judge: str, tables: list[SeenTable], rows: dict[str, list[Row]]
) -> None:
    (table,) = below(tables, "Which errors does the judge see?")
    for error in ERRORS:
        own = [row for row in rows[judge] if row["error_type"] == error]
        cell = table.row(error)[judge]
        assert cell.startswith(percent(mean(map(right, own))))


@pytest.mark.parametrize("judge", ACCURACY)
def test_does_it_answer_the_same_in_both_orders(
    judge: str, tables: list[SeenTable], rows: dict[str, list[Row]]
) -> None:
    orders = defaultdict(list)
    for row in rows[judge]:
        orders[row["id"]].append(row["value"])
    same = mean(a == b != "Failed" for a, b in orders.values())
    (table,) = below(tables, "Headline figures")
    assert table.row("Same when swapped")[judge] == percent(same)


@pytest.mark.parametrize("judge", ACCURACY)
def test_how_many_replies_have_no_answer(
    judge: str, tables: list[SeenTable], rows: dict[str, list[Row]]
) -> None:
    failed = sum(row["status"] != "ok" for row in rows[judge])
    (table,) = below(tables, "Headline figures")
    cell = table.row("Without an answer")[judge]
    assert cell.startswith(f"{failed} of {len(rows[judge])}")


def test_which_judge_is_better_and_by_how_much(
    tables: list[SeenTable], rows: dict[str, list[Row]]
) -> None:
    first, second = (mean(map(right, rows[judge])) for judge in ACCURACY)
    (table,) = below(tables, "Which judge is better?", "Pairs of judges")
    cell = table.row("careful", "hasty")["Difference (95 %)"]
    assert cell.startswith(f"{100 * (first - second):+.1f} ")


def test_numbers_of_verdicts_lead_to_their_questions(
    tables: list[SeenTable],
) -> None:
    parts = (
        "Which errors",
        "Tables by task",
        "Headline figures",
    )
    for part in parts:
        for table in below(tables, part):
            assert table.links
            assert all("outcome." in link for link in table.links)
