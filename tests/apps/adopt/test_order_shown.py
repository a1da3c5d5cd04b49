"""What a table tells of the order shown, and what is not measured where it does not."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import visualjudge as vj
from visualjudge.cli.main import app
from visualjudge.core.errors import DataError, UsageError

Row = dict[str, Any]


def leaning(n: int = 160) -> list[Row]:
    """A judge that is right unless the option shown second is the better one, then
    every other time; letters of ``letter`` and ``raw`` are those shown.
    """
    rows = []
    for k in range(n):
        truth, order = "AB"[k % 2], ("AB", "BA")[k // 2 % 2]
        right = (truth == "A") == (order == "AB") or k // 4 % 2 == 0
        said = truth if right else {"A": "B", "B": "A"}[truth]
        shown = said if order == "AB" else {"A": "B", "B": "A"}[said]
        rows.append(
            {
                "prompt_id": f"p{k}",
                "conv": f"c{k // 2}",
                "model_a": "mixtral",
                "model_b": "llama",
                "gpt_says": {"A": "mixtral", "B": "llama"}[said],
                "letter": shown,
                "human": truth,
                "shown_first": order,
                "raw": f"I looked at both.\n[[{shown}]]",
                "seconds": k,
            }
        )
    return rows


def without(rows: list[Row], *columns: str) -> list[Row]:
    return [
        {name: row[name] for name in row if name not in columns} for row in rows
    ]


def carded(rows: list[Row], home: Path, **options: Any) -> tuple[Any, Any]:
    done = vj.adopt(rows, home, **options)
    return done, vj.card([vj.open_run(done.runs[0])])


def lean(card: Any) -> Any:
    return next(one for one in card.judges[0].checks if one.name == "lean")


def verdicts(run: Path) -> list[Row]:
    return [
        json.loads(line)
        for line in (run / "verdicts.jsonl").read_text("utf-8").splitlines()
    ]


def values(done: Any) -> list[Any]:
    return [one["value"] for one in verdicts(done.runs[0])]


def test_columns_are_known_by_their_names_and_the_others_are_listed(
    tmp_path: Path,
) -> None:
    done, card = carded(without(leaning(), "letter"), tmp_path / "out")
    named = {"verdict": "gpt_says", "group": "conv", "order": "shown_first"}
    assert named.items() <= done.columns.items()
    assert done.unused == ("raw", "seconds")
    assert lean(card).value == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize("exchanged", [False, True])
def test_a_planted_position_bias_is_not_measured_without_the_order(
    exchanged: bool, tmp_path: Path
) -> None:
    rows = without(leaning(), "letter", "raw", "shown_first")
    if exchanged:
        turn = {"A": "B", "B": "A"}
        rows += [
            row
            | {
                "model_a": "llama",
                "model_b": "mixtral",
                "human": turn[row["human"]],
            }
            for row in rows
        ]
    done, card = carded(rows, tmp_path / "out")
    assert any(note.startswith("order: no column") for note in done.notes)
    assert (lean(card).state, lean(card).why) == (
        "not_measured",
        "the order of the options is not known",
    )
    metrics = tmp_path / "metrics.json"
    report = ["report", str(done.runs[0]), "--out", str(tmp_path / "r.html")]
    assert (
        CliRunner().invoke(app, [*report, "--json", str(metrics)]).exit_code
        == 0
    )
    pairwise = json.loads(metrics.read_text("utf-8"))["judges"][0]["pairwise"]
    nothing = ("answered_a", "position_p", "swap_consistency")
    assert [pairwise[name] for name in nothing] == [None] * 3
    assert pairwise["position_preference"]["preference"] is None
    assert pairwise["accuracy"] == pytest.approx(0.75)
    html = (tmp_path / "r.html").read_text("utf-8")
    assert "the order of the options is not known" in html
    assert "prefer the option shown" not in html


def test_a_stated_order_may_be_a_column_of_sources(tmp_path: Path) -> None:
    rows = without(leaning(), "letter", "raw", "shown_first")
    done, card = carded(rows, tmp_path / "out", order="model_a")
    assert not any(note.startswith("order") for note in done.notes)
    assert done.columns["model_a"] == "model_a"
    assert lean(card).value is not None


def test_rows_without_an_order_leave_the_position_unmeasured_and_are_counted(
    tmp_path: Path,
) -> None:
    rows = without(leaning(), "letter", "raw")
    rows[3]["shown_first"] = None
    done, card = carded(rows, tmp_path / "out")
    assert done.notes[0].startswith("order: 1 row without it")
    assert lean(card).state == "not_measured"


@pytest.mark.parametrize(
    "spelling",
    [("AB", "BA"), ("A", "B"), ("model_a", "model_b"), ("mixtral", "Llama")],
)
def test_orders_are_letters_columns_or_sources(
    spelling: tuple[str, str], tmp_path: Path
) -> None:
    rows = leaning(8)
    expected = [row["shown_first"] for row in rows]
    for row in rows:
        row["shown_first"] = spelling[row["shown_first"] == "BA"]
    done = vj.adopt(without(rows, "letter"), tmp_path / "out")
    assert [one["order"] for one in verdicts(done.runs[0])] == expected


def test_letters_as_shown_are_read_as_replies_and_a_line_says_how_well_they_fit(
    tmp_path: Path,
) -> None:
    rows = without(leaning(), "gpt_says", "raw")
    columns = vj.adopt(rows, tmp_path / "columns", verdict="letter")
    assert columns.notes == (
        "letters in letter: taken as those of the columns, A is model_a (equal to the "
        "truth in 50.0 %, by the order shown in 75.0 %); if A is the option shown "
        "first: `columns` reply=letter",
    )
    assert values(columns) == [row["letter"] for row in rows]
    shown = vj.adopt(rows, tmp_path / "shown", reply="letter")
    truth = [
        {"mixtral": "A", "llama": "B"}[row["gpt_says"]] for row in leaning()
    ]
    assert values(shown) == truth
    assert not any("letters in" in note for note in shown.notes)


def test_sources_are_matched_whatever_their_case_where_that_is_one(
    tmp_path: Path,
) -> None:
    row = {"item": "q", "model_a": "mixtral", "model_b": "llama", "truth": "A"}
    done = vj.adopt([row | {"verdict": "Mixtral"}], tmp_path / "out")
    assert values(done) == ["A"]
    two = row | {"model_a": "m", "model_b": "M"}
    done = vj.adopt([two | {"verdict": "M"}], tmp_path / "two")
    assert values(done) == ["B"]
    letters = row | {"model_a": "b", "model_b": "a", "verdict": "B"}
    assert values(vj.adopt([letters], tmp_path / "letters")) == ["B"]


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("mixtral-8x", r"did you mean model 'mixtral'\?"),
        ("3", r"`answers` 3=MEANING says which of A, B, tie"),
        ("both good", r"`answers` 'both good=MEANING' says which of A, B, tie"),
    ],
)
def test_what_an_unknown_verdict_may_mean_is_not_a_letter(
    said: str, advice: str, tmp_path: Path
) -> None:
    row = {
        "item": "q",
        "model_a": "mixtral",
        "model_b": "m3",
        "truth": "A",
        "verdict": said,
    }
    with pytest.raises(DataError, match=advice) as error:
        vj.adopt([row], tmp_path / "out")
    assert "=A" not in str(error.value)


@pytest.mark.parametrize(
    ("scale", "texts", "numbers"),
    [
        ((0, 10), ("7,5", "8,0"), (7.5, 8.0)),
        ((0, 100), ("70 %", "82.5%"), (7.0, 8.25)),
        ((0, 5), ("4/5", "3.5 / 5"), (8.0, 7.0)),
        ((0, 5), ("4.5★", "2⭐"), (9.0, 4.0)),
    ],
)
def test_scores_are_read_as_people_write_them(
    tmp_path: Path,
    scale: tuple[float, float],
    texts: tuple[str, str],
    numbers: tuple[float, float],
) -> None:
    row = {"item": "q", "model": "x", "score": texts[0], "human": texts[1]}
    study = vj.adopt([row], tmp_path / "out", score_range=scale)
    verdict = json.loads((study.runs[0] / "verdicts.jsonl").read_text())
    (question,) = vj.load_dataset(study.dataset)
    assert (verdict["value"], question.answer) == pytest.approx(numbers)


@pytest.mark.parametrize("text", ["4/5", "80 %", "1,234"])
def test_a_score_of_another_scale_is_not_read(
    tmp_path: Path, text: str
) -> None:
    row = {"item": "q", "model": "x", "score": text, "human": 8}
    with pytest.raises(DataError, match="score must be a number"):
        vj.adopt([row], tmp_path / "out")


def test_a_text_beside_scores_is_no_answer_to_a_pair(tmp_path: Path) -> None:
    rows = [{"item": "q", "model": "x", "score": 7, "human": "quite good"}]
    advice = (
        r"human must be a number, got 'quite good'; `answers` 'quite good=NUMBER' "
        r"says"
    )
    with pytest.raises(DataError, match=advice):
        vj.adopt(rows, tmp_path / "out")


def test_two_truths_of_exchanged_rows_are_named_with_their_sources(
    tmp_path: Path,
) -> None:
    row = {
        "item": "q",
        "model_a": "x",
        "model_b": "y",
        "verdict": "A",
        "truth": "A",
    }
    with pytest.raises(
        DataError, match=r"'A' \(x\) .* and 'A' \(y\) here; .* are exchanged"
    ):
        vj.adopt(
            [row, row | {"model_a": "y", "model_b": "x"}], tmp_path / "out"
        )


@pytest.mark.parametrize("separator", [";", "\t"])
def test_a_csv_with_semicolons_or_tabs_is_read(
    separator: str, tmp_path: Path
) -> None:
    rows = without(leaning(8), "letter")
    rows[0]["raw"] = "One, two, three.\n[[A]]"
    path = tmp_path / "v.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=separator)
        writer.writeheader()
        writer.writerows(rows)
    run = CliRunner().invoke(
        app, ["adopt", str(path), "--out", str(tmp_path / "out")]
    )
    assert run.exit_code == 0, run.output
    assert "not used: raw, seconds" in run.output
    assert "8 verdicts" in run.output


def test_a_missing_role_is_named_with_those_that_were_found(
    tmp_path: Path,
) -> None:
    rows = [{"prompt_id": "q", "thought": "A", "human": "A"}]
    with pytest.raises(
        UsageError,
        match=r"name of a verdict; .*found: item=prompt_id, truth=human",
    ):
        vj.adopt(rows, tmp_path / "out")


def test_answers_given_twice_without_an_order_ask_for_its_column_first(
    tmp_path: Path,
) -> None:
    with pytest.raises(
        DataError, match=r"tells them apart: the order shown \(`columns` order="
    ):
        vj.adopt(
            without(leaning(4), "shown_first", "letter", "raw") * 2,
            tmp_path / "out",
        )


def test_only_a_preference_is_known_so_the_report_has_no_scores(
    tmp_path: Path,
) -> None:
    done, out = (
        vj.adopt(leaning(), tmp_path / "study"),
        tmp_path / "report.html",
    )
    told = CliRunner().invoke(
        app,
        [
            "report",
            str(done.runs[0]),
            "--out",
            str(out),
            "--json",
            str(tmp_path / "m.json"),
        ],
    )
    assert told.exit_code == 0, told.output
    judge = json.loads((tmp_path / "m.json").read_text("utf-8"))["judges"][0]
    assert not judge["sensitivity"]
    page = out.read_text("utf-8").lower()
    left_out = "too few questions whose options differ in true score, or all by the same"
    assert "true score" not in page.replace(left_out, "")
    assert "10.00" not in page


@pytest.mark.parametrize(
    ("column", "first", "second"),
    [
        ("order", "1", "2"),
        ("order", "model_1", "model_2"),
        ("swapped", "0", "1"),
    ],
)
def test_spellings_of_the_order(
    column: str, first: str, second: str, tmp_path: Path
) -> None:
    rows = [
        row | {column: {"AB": first, "BA": second}[row["shown_first"]]}
        for row in without(leaning(), "letter", "raw")
    ]
    _, card = carded(rows, tmp_path / "out", order=column)
    assert lean(card).value == pytest.approx(0.25, abs=0.02)


def test_a_range_of_scores_is_given_from_low_to_high(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match="must be a lower and a higher number, got 5 1"
    ):
        vj.adopt(
            without(leaning(8), "letter"), tmp_path / "out", score_range=(5, 1)
        )
