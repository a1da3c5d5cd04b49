"""Verdicts without a truth: what can be said of the judges is said, and no accuracy
invented."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import visualjudge as vj
from visualjudge.cli.main import app
from visualjudge.core.seeding import rng_for

Row = dict[str, Any]


def pairs(*, truth: bool = False, questions: int = 120) -> list[Row]:
    """Two judges, both orders: ``leaning`` says the first option shown in a fifth of
    its verdicts, ``tying`` says tie in a tenth.
    """
    rng = rng_for(0, "without truth")
    rows = []
    for i in range(questions):
        better = "AB"[int(rng.random() < 0.5)]
        for judge in ("leaning", "tying"):
            own = better if rng.random() < 0.8 else "AB".replace(better, "")
            for order in "AB":
                drawn = rng.random()
                said = order if judge == "leaning" and drawn < 0.2 else own
                said = "tie" if judge == "tying" and drawn < 0.1 else said
                row = {
                    "item": f"q{i}",
                    "image": f"i{i // 4}",
                    "model_a": "x",
                    "model_b": "y",
                }
                row |= {"judge": judge, "order": order, "verdict": said}
                rows.append(row | ({"truth": better} if truth else {}))
    return rows


def scores() -> list[Row]:
    rng = rng_for(1, "without truth")
    return [
        {
            "item": f"q{i}",
            "model": model,
            "judge": judge,
            "score": int(rng.integers(0, 11)),
        }
        for i in range(30)
        for model in "xy"
        for judge in ("j1", "j2")
    ]


def reported(runs: list[str], out: Path) -> dict[str, Any]:
    told = CliRunner().invoke(
        app,
        [
            "report",
            *runs,
            "--out",
            str(out / "r.html"),
            "--json",
            str(out / "r.json"),
        ],
    )
    assert told.exit_code == 0, told.output
    found: dict[str, Any] = json.loads((out / "r.json").read_text("utf-8"))
    return found


@pytest.fixture(scope="module")
def adopted(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, vj.Adopted, dict[str, Any]]:
    home = tmp_path_factory.mktemp("without")
    done = vj.adopt(pairs(), home / "study")
    return home, done, reported([str(run) for run in done.runs], home)


def test_the_missing_truth_is_told_with_the_option_that_names_one(
    tmp_path: Path,
) -> None:
    (tmp_path / "v.csv").write_text(
        "item,verdict,judge\nq1,A,j\nq2,B,j\n", "utf-8"
    )
    told = CliRunner().invoke(
        app, ["adopt", str(tmp_path / "v.csv"), "--out", str(tmp_path / "out")]
    )
    assert told.exit_code == 0
    line = (
        "truth: no column; accuracy is not measured (--column truth=NAME; without "
        "answers, "
    )
    assert line + "visualjudge label draws questions for people)" in told.output


def test_no_accuracy_is_invented(
    adopted: tuple[Path, vj.Adopted, dict[str, Any]],
) -> None:
    _, _, metrics = adopted
    for judge in metrics["judges"]:
        pairwise = judge["pairwise"]
        named = (
            "accuracy",
            "ci95",
            "accuracy_bounds",
            "accuracy_parsed",
            "constant_answer",
        )
        assert [pairwise[name] for name in named] == [None] * 5
        assert pairwise["ci95_why"] == "no truth is known"
        assert pairwise["kappa"]["value"] is pairwise["macro"]["value"] is None
        assert pairwise["swap"]["right_in_both"] is None
        cells = [*judge["by_task"].values(), *judge["by_error_type"].values()]
        assert {cell["pairwise"]["accuracy"] for cell in cells} == {None}
        assert not judge["variance"] and not judge["sensitivity"]
        board = judge["leaderboard"]["rows"]
        assert [row["source"] for row in board if row["strength"] is not None]
    (compared,) = metrics["comparisons"]
    assert (
        compared["difference"]
        is compared["p"]
        is compared["accuracy_a"]
        is None
    )


def test_what_needs_no_truth_equals_that_of_the_same_table_with_one(
    adopted: tuple[Path, vj.Adopted, dict[str, Any]], tmp_path: Path
) -> None:
    known = vj.adopt(pairs(truth=True), tmp_path / "study")
    told = reported([str(run) for run in known.runs], tmp_path)
    for mine, theirs in zip(adopted[2]["judges"], told["judges"], strict=True):
        a, b = mine["pairwise"], theirs["pairwise"]
        for name in (
            "n",
            "failed",
            "answered_a",
            "answered_tie",
            "swap_consistency",
        ):
            assert a[name] == b[name], name
        assert a["swap"]["consistency"] == b["swap"]["consistency"] is not None
        leans = [found["position_preference"]["preference"] for found in (a, b)]
        assert leans[0] == pytest.approx(leans[1], abs=0.02)
    for name in ("kappa", "kappa_ci95"):
        assert (
            adopted[2]["comparisons"][0][name]
            == told["comparisons"][0][name]
            is not None
        )
    leaning, tying = (judge["pairwise"] for judge in adopted[2]["judges"])
    assert leaning["position_preference"]["preference"] == pytest.approx(
        0.1, abs=0.03
    )
    assert leaning["position_preference"]["flagged"]
    assert leaning["answered_tie"] is None
    assert tying["answered_tie"] == pytest.approx(0.1, abs=0.04)


def test_the_card_says_what_would_measure_accuracy(
    adopted: tuple[Path, vj.Adopted, dict[str, Any]],
) -> None:
    card = vj.card([vj.open_run(run) for run in adopted[1].runs])
    for judge in card.judges:
        assert "without ground truth" in judge.sentence
        lines = {line.name: line for line in judge.checks}
        for name in ("macro_accuracy", "right_in_both_orders", "favour"):
            assert (lines[name].state, lines[name].why) == (
                "not_measured",
                "no truth is known",
            )
        assert lines["lean"].value is not None


def test_the_page_calls_no_answer_wrong(
    adopted: tuple[Path, vj.Adopted, dict[str, Any]],
) -> None:
    text = (adopted[0] / "r.html").read_text("utf-8")
    assert "no ground truth" in text
    for invented in (
        "Wrong, ",
        "wrong in this order",
        "by the truth",
        "No question was answered",
    ):
        assert invented not in text, invented


def test_people_label_what_was_adopted_and_correct_its_leaderboard(
    adopted: tuple[Path, vj.Adopted, dict[str, Any]], tmp_path: Path
) -> None:
    run, queue = str(adopted[1].runs[0]), tmp_path / "l.csv"
    drawn = CliRunner().invoke(
        app, ["label", run, "--n", "30", "--out", str(queue)]
    )
    assert drawn.exit_code == 0, drawn.output
    header, *lines = queue.read_text("utf-8").splitlines()
    place = header.split(",").index("answer")
    answered = []
    for k, line in enumerate(lines):
        cells = line.split(",")
        cells[place] = "AB"[k % 2]
        answered.append(",".join(cells))
    queue.write_text("\n".join([header, *answered]) + "\n", "utf-8")
    told = CliRunner().invoke(app, ["correct", run, "--labels", str(queue)])
    assert told.exit_code == 0 and "30 labels" in told.output


def test_scores_without_truth_have_no_error(tmp_path: Path) -> None:
    done = vj.adopt(scores(), tmp_path / "study")
    metrics = reported([str(run) for run in done.runs], tmp_path)
    for judge in metrics["judges"]:
        scoring = judge["scoring"]
        assert (scoring["n"], scoring["failed"]) == (60, 0)
        for name in ("within_image_tau", "spearman", "pearson", "mae", "bias"):
            assert scoring[name] is None, name
    card = vj.card([vj.open_run(done.runs[0])])
    assert "without ground truth" in card.judges[0].answer.sentence
