"""Tables of verdicts of others: counts, truth, order and replies are those of the
table."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, strategies as st
from openpyxl import Workbook
from typer.testing import CliRunner

import visualjudge as vj
from stored_figures import stored
from visualjudge.apps.adopt import files
from visualjudge.apps.adopt.cell_spellings import letter_of
from visualjudge.cli.main import app
from visualjudge.core import parquet
from visualjudge.core.errors import DataError, UsageError
from visualjudge.dataset.folder import load_dataset
from visualjudge.runs.folder import RunFolder

Row = dict[str, Any]


def row(item: Any = "q1", **changes: Any) -> Row:
    return {
        "item": item,
        "model_a": "x",
        "model_b": "y",
        "verdict": "A",
        "truth": "A",
    } | changes


def verdicts(run: Path) -> list[Row]:
    return [
        json.loads(line)
        for line in (run / "verdicts.jsonl").read_text("utf-8").splitlines()
    ]


def test_letters_follow_the_options_when_rows_turn_them(tmp_path: Path) -> None:
    rows = [row(), row(model_a="y", model_b="x", verdict="B", truth="B")]
    done = vj.adopt(rows, tmp_path / "out")
    assert done.questions == 1
    first, second = verdicts(done.runs[0])
    assert (first["order"], first["value"]) == ("AB", "A")
    assert (second["order"], second["value"]) == (
        "BA",
        "A",
    )  # x again, shown second


def test_order_column_says_what_was_shown_first_and_replies_speak_of_places(
    tmp_path: Path,
) -> None:
    rows = [
        row(reply="[[A]]", order="AB"),
        row(verdict="A", order="BA", reply="The better one is B."),
    ]
    done = vj.adopt(rows, tmp_path / "out")
    assert [(v["order"], v["value"]) for v in verdicts(done.runs[0])] == [
        ("AB", "A"),
        ("BA", "A"),
    ]
    assert (done.reread, done.invented, done.differing) == (2, 0, 0)


def test_values_that_the_reply_does_not_state_are_counted_and_not_believed(
    tmp_path: Path,
) -> None:
    rows = [
        row("q1", reply="I cannot say.", verdict="A"),
        row("q2", reply="[[B]]", verdict="A"),
        row("q3", reply="[[A]]", verdict="A"),
        row("q4", reply="[[A]]", verdict="A", finish_reason="length"),
    ]
    done = vj.adopt(rows, tmp_path / "out")
    assert (done.reread, done.invented, done.differing) == (4, 2, 1)
    assert [v["value"] for v in verdicts(done.runs[0])] == [
        "Failed",
        "B",
        "A",
        "Failed",
    ]
    theirs = vj.adopt(rows, tmp_path / "theirs", use="verdicts")
    assert {v["value"] for v in verdicts(theirs.runs[0])} == {"A"}


def test_the_folder_may_have_a_name_that_is_not_utf_8(tmp_path: Path) -> None:
    done = vj.adopt([row()], tmp_path / os.fsdecode(b"a\xff"))
    assert len(verdicts(done.runs[0])) == 1


def test_scores_are_put_on_ten_and_missing_ones_are_failures(
    tmp_path: Path,
) -> None:
    rows = [
        {"id": "q1", "model": "x", "score": 5, "human_score": 1},
        {"id": "q2", "model": "x", "score": "N/A", "human_score": 3},
    ]
    done = vj.adopt(rows, tmp_path / "out", score_range=(1, 5))
    assert [(v["value"], v["status"]) for v in verdicts(done.runs[0])] == [
        (10.0, "ok"),
        ("Failed", "unparseable"),
    ]
    assert [q.answer for q in vj.load_dataset(done.dataset).questions] == [
        0.0,
        5.0,
    ]


def test_a_csv_of_a_thousand_verdicts_is_a_card_in_two_commands(
    tmp_path: Path,
) -> None:
    rows = [
        row(
            f"q{i}",
            image=f"i{i // 10}",
            verdict="A" if i % 5 else "B",
            truth="A" if i % 2 else "B",
            judge="gpt",
        )
        for i in range(1000)
    ]
    right = sum(one["verdict"] == one["truth"] for one in rows) / 1000
    pl.DataFrame(rows).write_csv(tmp_path / "v.csv")
    run = CliRunner().invoke(
        app, ["adopt", str(tmp_path / "v.csv"), "--out", str(tmp_path / "s")]
    )
    assert run.exit_code == 0, run.output
    assert "group=image" in run.output and "1000 verdicts" in run.output
    card = tmp_path / "card.json"
    assert CliRunner().invoke(
        app, ["card", str(tmp_path / "s/gpt"), "--json", str(card)]
    ).exit_code in (0, 1)
    metrics = tmp_path / "metrics.json"
    report = [
        "report",
        str(tmp_path / "s/gpt"),
        "--out",
        str(tmp_path / "r.html"),
        "--json",
        str(metrics),
    ]
    assert CliRunner().invoke(app, report).exit_code == 0
    judge = json.loads(metrics.read_text("utf-8"))["judges"][0]
    assert judge["pairwise"]["accuracy"] == pytest.approx(right)
    assert judge["pairwise"]["images"] == 100


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [row(), row(verdict="B")],
            r"row 2: 1 row .* has answered before; `drop_duplicates` .* the order shown",
        ),
        (
            [row(), row(verdict="A", truth="B", repeat=1)],
            "must be the same in all rows of a question",
        ),
        (
            [row(verdict="0")],
            r"row 1: verdict must be A, B, tie, both_bad or the name of a model, got "
            r"'0'; "
            r"`answers` 0=MEANING says which",
        ),
        (
            [row(truth=None)],
            "truth: no row has a truth; remove the column .* for some rows drawn at "
            "random",
        ),
        (
            [row(order="third")],
            r"row 1: order must be A or B, 1 or 2, model_a or model_b \(the option "
            r"shown first\), "
            "AB, BA, or the name of a model of the row, got 'third'",
        ),
        (
            [row(repeat="often")],
            "row 1: repeat must be a whole number from 0, got 'often'",
        ),
        (
            [row(repeat=2**70)],
            "row 1: repeat must be a whole number from 0, got '1180",
        ),
    ],
)
def test_a_row_that_cannot_be_right_is_named(
    rows: list[Row], message: str, tmp_path: Path
) -> None:
    rows = [{"order": None, "repeat": None} | one for one in rows]
    with pytest.raises(DataError, match=message):
        vj.adopt(rows, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            pl.DataFrame([row(f"q{k}") for k in range(9)]),
            "at most 8 rows.* adopt some judges",
        ),
        (
            pl.DataFrame([row(extra=[0] * 90_000)]),
            "at most 1 MiB of texts and lists",
        ),
        (
            pl.DataFrame([row(reply="A" * 2_000_000)]),
            "at most 1 MiB of texts and lists",
        ),
    ],
)
def test_a_table_that_would_fill_the_memory_is_refused(
    table: pl.DataFrame,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("visualjudge.apps.adopt.files.MOST_ROWS", 8)
    monkeypatch.setattr("visualjudge.core.parquet.MOST_TEXT", 1 << 20)
    monkeypatch.setattr(
        files, "check_table", parquet._check_cells
    )  # not in another process
    table.write_parquet(tmp_path / "t.parquet")
    table.write_ipc(tmp_path / "t.arrow", compression="zstd")
    for name in ("t.parquet", "t.arrow"):
        with pytest.raises(DataError, match=message):
            vj.adopt(tmp_path / name, tmp_path / "out")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.json", "[[],[],[]]"),
        ("t.json", "[1,2,3,4,5,6]"),
        ("t.json", '["\\"[", 2, 3, 4, 5, 6]'),
        ("t.jsonl", "{}\n" * 9),
    ],
)
def test_json_of_many_values_is_refused_before_it_is_read(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("visualjudge.apps.adopt.files.MOST_VALUES", 5)
    monkeypatch.setattr("visualjudge.core.untrusted.MIB", 8)
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match="must have at most 5 values, "):
        vj.adopt(tmp_path / name, tmp_path / "out")


def test_json_of_one_wide_object_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("visualjudge.apps.adopt.files.MOST_ROWS", 10)
    monkeypatch.setattr(
        "visualjudge.core.untrusted.MIB", 7
    )  # the size of a block
    (tmp_path / "t.json").write_text(
        json.dumps([row(), {f"name {k}": k for k in range(20)}])
    )
    with pytest.raises(DataError, match="10 of them in an object"):
        vj.adopt(tmp_path / "t.json", tmp_path / "out")
    (tmp_path / "t.json").write_text(
        json.dumps([row(item=f"q{k}") for k in range(9)])
    )
    assert (
        len(verdicts(vj.adopt(tmp_path / "t.json", tmp_path / "out").runs[0]))
        == 9
    )


@pytest.mark.parametrize("block", [1, 2, 7, 1 << 20])
def test_what_stands_in_texts_is_no_value(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = 'A, B, [[ {{ \\, \\\\" "quoted, twice", \\u0022, \n,,,, Answer: A'
    (tmp_path / "t.json").write_text(json.dumps([row(reply=reply)]))
    monkeypatch.setattr(
        "visualjudge.apps.adopt.files.MOST_VALUES", 13
    )  # an array, an object, …
    monkeypatch.setattr("visualjudge.core.untrusted.MIB", block)
    done = vj.adopt(tmp_path / "t.json", tmp_path / "out")
    assert [v["raw_response"] for v in verdicts(done.runs[0])] == [reply]


def test_a_table_of_many_columns_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        ",".join(map(str, range(5000))) + "\n" + "," * 4999 + "\n"
    )
    (tmp_path / "t.jsonl").write_text(
        "".join(f'{{"c{k}": 1}}\n' for k in range(5000))
    )
    for name in ("t.csv", "t.jsonl"):
        with pytest.raises(
            DataError, match="at most 1,000,000 rows, 4,096 columns"
        ):
            vj.adopt(tmp_path / name, tmp_path / "out")


def test_a_table_without_verdicts_or_with_unknown_names_says_which_option_helps(
    tmp_path: Path,
) -> None:
    named = "no column has the name of a verdict; give `columns` verdict=NAME"
    with pytest.raises(UsageError, match=named):
        vj.adopt([{"item": "q", "truth": "A"}], tmp_path / "out")
    with pytest.raises(
        UsageError, match="first row is no header: remove the lines above"
    ):
        vj.adopt(
            [{"Results": "q", "": "A", "_duplicated_0": "B"}], tmp_path / "out"
        )
    with pytest.raises(
        UsageError, match=r"`columns` must name one of item, .*; got 'itme'"
    ):
        vj.adopt([row()], tmp_path / "out", itme="item")
    with pytest.raises(
        UsageError, match="`columns` item=nothing: must be one of item, model_a"
    ):
        vj.adopt([row()], tmp_path / "out", item="nothing")


def test_force_replaces_what_was_adopted_and_nothing_else(
    tmp_path: Path,
) -> None:
    home = tmp_path / "out"
    vj.adopt([row()], home)
    (home / "mine").mkdir()
    (home / "mine/run.json").write_text("{}", "utf-8")
    with pytest.raises(UsageError, match="already exists; `force` replaces"):
        vj.adopt([row()], home)
    done = vj.adopt([row(verdict="B")], home, force=True)
    assert [v["value"] for v in verdicts(done.runs[0])] == ["B"]
    assert (home / "mine/run.json").read_text("utf-8") == "{}"
    with pytest.raises(UsageError, match="already exists"):
        vj.adopt([row()], home, judge="mine", force=True)


def test_people_s_scores_of_both_options_are_the_truth(tmp_path: Path) -> None:
    done = vj.adopt(
        [{"item": "q", "verdict": "B", "score_a": 2.0, "score_b": 7.0}],
        tmp_path / "out",
    )
    question = vj.load_dataset(done.dataset).questions[0]
    assert (question.answer, question.final_scores) == ("B", (2.0, 7.0))


@given(st.text(max_size=12))
def test_a_cell_is_one_answer_a_missing_one_or_an_error(text: str) -> None:
    try:
        assert letter_of(text, ("x", "y"), {}, {}) in (
            "A",
            "B",
            "tie",
            "both_bad",
            "Failed",
        )
    except ValueError as error:
        assert str(error).startswith(
            "must be A, B, tie, both_bad or the name of a model, got "
        )


def test_a_long_name_of_a_judge_has_a_folder(tmp_path: Path) -> None:
    done = vj.adopt([row()], tmp_path / "out", judge="\U00020000" * 100_000)
    assert vj.card([done.runs[0]])


def test_a_folder_that_is_no_run_says_where_the_runs_are(
    tmp_path: Path,
) -> None:
    done = vj.adopt([row()], tmp_path / "out", judge="gpt")
    told = CliRunner().invoke(app, ["card", str(tmp_path / "out")])
    assert f"visualjudge card {tmp_path / 'out'}/*" in str(told.exception)
    told = CliRunner().invoke(app, ["card", str(done.dataset)])
    assert f"it is a dataset: `visualjudge judge {done.dataset}`" in str(
        told.exception
    )
    notes = tmp_path / "data/annotations"
    notes.mkdir(parents=True)
    (notes / "keypoint_annotations.json").touch()
    with pytest.raises(
        UsageError,
        match=r"it is a data folder: `visualjudge build .*data`",
    ):
        vj.load_dataset(tmp_path / "data")


def test_a_truth_that_is_a_share_is_no_letter(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"true scores .* go into columns score_a and score_b"
    ):
        vj.adopt([row(truth="0.7")], tmp_path / "out")


@pytest.mark.parametrize("column", ["winner", "judge_choice"])
def test_numbers_of_unnamed_options_are_no_scores_unless_stated(
    column: str, tmp_path: Path
) -> None:
    rows = [
        {"item": k, column: 1 + k % 2, "truth": 1 + k % 3 % 2}
        for k in range(12)
    ]
    with pytest.raises(DataError, match=r"`answers` 1=A.*`score_range`"):
        vj.adopt(rows, tmp_path / "out")
    letters = {"1": "A", "2": "B"}
    done = vj.adopt(rows, tmp_path / "choices", answers=letters)
    assert {one["value"] for one in verdicts(done.runs[0])} == {"A", "B"}
    done = vj.adopt(rows, tmp_path / "scores", score_range=(1, 2))
    assert {one["value"] for one in verdicts(done.runs[0])} == {0, 10}


def test_numbers_from_0_are_read_only_as_stated(tmp_path: Path) -> None:
    """With 0 for A, 1 is hardly A as well."""
    rows = [row("q1", verdict=0, truth=0), row("q2", verdict=1, truth=0)]
    with pytest.raises(
        DataError,
        match=r"row 2: verdict must be .*got '1'; `answers` 1=MEANING",
    ):
        vj.adopt(rows, tmp_path / "out", answers={"0": "A"})
    done = vj.adopt(rows, tmp_path / "out", answers={"0": "A", "1": "B"})
    assert [v["value"] for v in verdicts(done.runs[0])] == ["A", "B"]
    thirds = [row("q1", verdict="1"), row("q2", verdict="3")]
    done = vj.adopt(thirds, tmp_path / "thirds", answers={"3": "tie"})
    assert [v["value"] for v in verdicts(done.runs[0])] == ["A", "tie"]


@pytest.mark.parametrize("noun", ["Assistant", "Response", "Model", "option"])
def test_names_of_options_are_answers(noun: str, tmp_path: Path) -> None:
    rows = [
        row("q1", verdict=f"{noun} A", truth=f"{noun} 1"),
        row("q2", verdict=f"{noun} 2"),
    ]
    done = vj.adopt(rows, tmp_path / "out")
    assert [v["value"] for v in verdicts(done.runs[0])] == ["A", "B"]


def test_mistakes_of_newcomers_are_named_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(
        DataError,
        match=r"row 2: 1 row \(row 2\) answer.* `drop_duplicates` leaves",
    ):
        vj.adopt([row(), row()], tmp_path / "twice")
    for value in (0, True):  # of "order" or "a_first", either might be meant
        with pytest.raises(
            DataError, match=f"{value} is read in a column named swapped"
        ):
            vj.adopt([row(order=value)], tmp_path / "order")
    for value in ("75%", "4/5"):
        with pytest.raises(DataError, match="score must be a number, got"):
            vj.adopt(
                [{"item": "q", "model": "x", "score": value}],
                tmp_path / "score",
            )
    book = tmp_path / "book.xlsx"
    pl.DataFrame({"About": ["my study"]}).write_excel(book)
    with pytest.raises(UsageError, match=r"has About; found: none\)"):
        vj.adopt(book, tmp_path / "sheet")


def test_a_column_that_says_whether_options_were_exchanged(
    tmp_path: Path,
) -> None:
    for name, value in (
        ("flipped", 1),
        ("is_reversed", True),
        ("swapped", "yes"),
    ):
        done = vj.adopt([row(**{name: value})], tmp_path / name, order=name)
        assert verdicts(done.runs[0])[0]["order"] == "BA"


def test_sources_named_as_the_other_position_are_ambiguous(
    tmp_path: Path,
) -> None:
    exchanged = row(model_a="B", model_b="A")
    with pytest.raises(
        DataError,
        match="it is a position, and the name of the model at another",
    ):
        vj.adopt([exchanged], tmp_path / "out")
    done = vj.adopt([exchanged], tmp_path / "out", answers={"A": "A"})
    assert verdicts(done.runs[0])[0]["value"] == "A"


def test_names_are_the_same_with_blanks_around_them_and_as_decimal_numbers(
    tmp_path: Path,
) -> None:
    rows = [
        row("1", judge="g"),
        row(1.0, model_a="x ", model_b=" y", judge="h ", verdict="y"),
    ]
    done = vj.adopt(rows, tmp_path / "out")
    assert (done.questions, [run.name for run in done.runs]) == (1, ["g", "h"])


def test_further_sheets_are_told(tmp_path: Path) -> None:
    book = Workbook()
    for sheet in (book.active, book.create_sheet()):
        sheet.append(list(row()))
        sheet.append(list(row().values()))
    book.save(tmp_path / "votes.xlsx")
    with pytest.warns(
        UserWarning, match=r"votes\.xlsx: the first of 2 sheets is read"
    ):
        vj.adopt(tmp_path / "votes.xlsx", tmp_path / "out")


def test_rows_without_a_verdict_are_counted(tmp_path: Path) -> None:
    scores = [
        {"item": f"q{k}", "score": float("nan") if k else 3.0, "truth": 5.2}
        for k in range(3)
    ]
    done = vj.adopt(scores, tmp_path / "out")
    assert any(
        note.startswith("score: 2 rows without a verdict")
        for note in done.notes
    )
    assert [v["value"] for v in verdicts(done.runs[0])] == [
        3.0,
        "Failed",
        "Failed",
    ]
    replies = [
        {"item": k, "truth": "A", "reply": reply}
        for k, reply in enumerate(("A", "", "B"))
    ]
    done = vj.adopt(
        replies, tmp_path / "replies"
    )  # without a column of verdicts
    assert any(
        note.startswith("reply: 1 row without a verdict") for note in done.notes
    )
    assert [v["value"] for v in verdicts(done.runs[0])] == ["A", "Failed", "B"]


def test_cells_without_a_name_are_missing_whatever_their_type(
    tmp_path: Path,
) -> None:
    rows = [
        row(item=" ", group=" ", order="n/a"),
        row(group=float("nan"), order=None),
    ]
    done = vj.adopt(pl.DataFrame(rows, strict=False), tmp_path / "out")
    questions = vj.load_dataset(done.dataset).questions
    assert [question.image_id for question in questions] == ["row 1", "q1"]
    assert any(note.startswith("order: no column") for note in done.notes)


def test_duplicates_are_counted_and_left_out_on_request_unless_they_differ(
    tmp_path: Path,
) -> None:
    rows = [row("q1"), row("q2"), row("q2"), row("q1"), row("q2")]
    with pytest.raises(
        DataError, match=r"row 3: 3 rows \(row 3, 4, 5\) answer a question"
    ):
        vj.adopt(rows, tmp_path / "out")
    done = vj.adopt(rows, tmp_path / "out", drop_duplicates=True)
    assert (done.questions, done.verdicts) == (2, 2)
    rows.append(row("q1", verdict="B"))
    with pytest.raises(
        DataError,
        match=r"row 6: verdict must be that of .*row 1, .* 'A' .* got 'B'",
    ):
        vj.adopt(rows, tmp_path / "other", drop_duplicates=True)


def test_what_people_said_is_never_the_verdict(tmp_path: Path) -> None:
    rows = [{"item": "q1", "human says": "A", "gpt_says": "B"}]
    done = vj.adopt(rows, tmp_path / "out")
    assert (done.columns["verdict"], done.columns["truth"]) == (
        "gpt_says",
        "human says",
    )
    for people in ("expert_says", "annotator_verdict", "majority_verdict"):
        with pytest.raises(
            UsageError, match="no column has the name of a verdict"
        ):
            vj.adopt([{"item": "q1", people: "A"}], tmp_path / "other")


def test_a_judge_that_is_named_has_all_rows_whoever_voted(
    tmp_path: Path,
) -> None:
    rows = [row(f"q{k}", judge=f"voter {k}") for k in range(3)]
    named = vj.adopt(rows, tmp_path / "one", judge="gpt-4o")
    assert [run.name for run in named.runs] == ["gpt-4o"]
    each = vj.adopt(rows, tmp_path / "each")
    both = vj.adopt(
        rows, tmp_path / "both", columns={"judge": "judge"}, judge="gpt-4o"
    )
    assert len(each.runs) == len(both.runs) == 3


def test_a_table_that_names_neither_questions_nor_sources_is_refused(
    tmp_path: Path,
) -> None:
    with pytest.raises(
        UsageError,
        match="no column names the question or a model; give `columns`",
    ):
        vj.adopt(
            [{"verdict": "A", "truth": "B", "note": "x"}], tmp_path / "out"
        )


def test_one_name_in_two_images_is_two_questions(tmp_path: Path) -> None:
    rows = [
        row("1", image="i1"),
        row("1", image="i2", verdict="B", truth="B"),
        row("2", image="i2"),
    ]
    done = vj.adopt(rows, tmp_path / "out")
    assert done.questions == 3
    assert any(
        "1 name in several values of image, kept apart" in note
        for note in done.notes
    )


def test_answers_of_the_user_are_read_in_verdicts_and_advised_for_words(
    tmp_path: Path,
) -> None:
    with pytest.raises(
        DataError,
        match=r"=MEANING.* says which of A, B, tie, both_bad, Failed it means",
    ):
        vj.adopt([row(verdict="can't decide")], tmp_path / "out")
    done = vj.adopt(
        [row(verdict="can't decide")],
        tmp_path / "o",
        answers={"can't decide": "Failed"},
    )
    assert [v["value"] for v in verdicts(done.runs[0])] == ["Failed"]


def test_sentences_beside_scores_are_no_replies_unless_they_are_named(
    tmp_path: Path,
) -> None:
    """They explain a score without stating it, and would all be failed replies."""
    text = "It is good because the light is even"
    rows = [
        {"item": k, "model": "m", "judgment": text, "score": k, "truth": 5}
        for k in range(4)
    ]
    done = vj.adopt(rows, tmp_path / "scores")
    assert [v["value"] for v in verdicts(done.runs[0])] == [0, 1, 2, 3]
    assert done.unused == ("judgment",)
    read = vj.adopt(rows, tmp_path / "replies", reply="judgment")
    assert {v["value"] for v in verdicts(read.runs[0])} == {"Failed"}
    assert any(
        "4 rows without a verdict that can be read" in n for n in read.notes
    )


def test_scores_up_to_100_are_noticed(tmp_path: Path) -> None:
    rows = [{"item": "q1", "model": "x", "score": 87, "human_score": 90}]
    with pytest.raises(
        DataError, match=r"from 0 to 10, got .*; `score_range` 0 100 reads"
    ):
        vj.adopt(rows, tmp_path / "out")


def test_an_interrupted_adoption_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Path] = []

    def interrupted(folder: Path, *rest: Any) -> None:
        written.append(folder)
        if len(written) % 2 == 0:
            raise KeyboardInterrupt

    rows = [row(judge=judge) for judge in ("first", "second")]
    before = vj.adopt(rows[:1], tmp_path / "old")
    monkeypatch.setattr("visualjudge.apps.adopt.write.write_run", interrupted)
    for out in ("new", "old"):
        with pytest.raises(KeyboardInterrupt):
            vj.adopt(rows, tmp_path / out, force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old"]
    assert sorted(path.name for path in (tmp_path / "old").iterdir()) == [
        "dataset",
        "first",
    ]
    assert [v["value"] for v in verdicts(before.runs[0])] == ["A"]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([0.5, 1, None], [0.5, 1.0, None]),
        (["50", "90", ""], [0.5, 0.9, None]),
        ([-0.6931471805599453, 0, -1e9], [0.5, 1.0, 0.0]),
    ],
    ids=["probabilities", "percentages", "log-probabilities"],
)
def test_a_stated_confidence_is_a_probability(
    tmp_path: Path, cells: list[Any], expected: list[float | None]
) -> None:
    rows = [row(item=f"q{k}", sure=cell) for k, cell in enumerate(cells)]
    done = vj.adopt(rows, tmp_path / "out", confidence="sure")
    found = [verdict.get("confidence") for verdict in verdicts(done.runs[0])]
    assert found == pytest.approx(expected)
    assert any(note.startswith("sure: read as ") for note in done.notes)


def test_a_column_named_confidence_is_not_taken_for_one(tmp_path: Path) -> None:
    done = vj.adopt([row(confidence="high")], tmp_path / "out")
    assert "confidence" in done.unused
    with pytest.raises(
        DataError, match="confidence must be a number, got 'high'"
    ):
        vj.adopt(
            [row(confidence="high")], tmp_path / "two", confidence="confidence"
        )
    mixed = [row(item=k, sure=sure) for k, sure in enumerate([-1, 50])]
    with pytest.raises(DataError, match="got numbers from -1 to 50"):
        vj.adopt(mixed, tmp_path / "two", confidence="sure")


def test_columns_of_criteria_become_those_of_a_rubric(tmp_path: Path) -> None:
    rows = [
        {
            "item": f"q{k}",
            "model_a": names[0],
            "model_b": names[1],
            "verdict": "A",
            "criterion.edges": "A",
            "criterion.cause": ("blur", "noise", None)[k % 3],
            "criterion.where": [0, 0, 500, 500],
            "truth.edges": "B",
            "judge": judge,
        }
        for judge, names in (("j", ("x", "y")), ("k", ("y", "x")))
        for k in range(9)
    ]
    for row in rows[9:]:
        row["truth.edges"] = "A"  # the models are exchanged
    done = vj.adopt(rows, tmp_path / "study")
    first, second = (
        [json.loads(line)["criteria"] for line in path.read_text().splitlines()]
        for path in (run / "verdicts.jsonl" for run in done.runs)
    )
    assert {one["edges"] for one in first} == {"A"}
    assert {one["edges"] for one in second} == {"B"}
    assert [one.get("cause") for one in first][:3] == ["blur", "noise", None]
    question = vj.load_dataset(done.dataset).questions[0]
    assert question.criteria == {"edges": "B"}
    shares = {
        judge["judge"]: {
            row["criterion"]: row["truth"] for row in judge["criteria"]
        }
        for judge in stored(vj.analyse(done.runs))
    }
    assert (shares["j"]["edges"], shares["k"]["edges"]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            [f"{k} is a sentence" for k in range(80)],
            "at most 50 different words",
        ),
        (["A"] * 40 + ["B"] * 40, "must be the same in all rows of a question"),
    ],
)
def test_columns_of_criteria_that_cannot_be_used(
    tmp_path: Path, cells: list[str], message: str
) -> None:
    said = (
        "criterion.x"
        if "sentence" in message or "words" in message
        else "truth.x"
    )
    rows = [
        {
            "item": f"q{k % 40}",
            "judge": f"j{k // 40}",
            "verdict": "A",
            "truth": "B",
        }
        | {"criterion.x": "A", said: cell}
        for k, cell in enumerate(cells)
    ]
    with pytest.raises(DataError, match=message):
        vj.adopt(rows, tmp_path / "study")


@pytest.mark.parametrize(
    ("cells", "told"),
    [(("true", "False", "0"), True), ((False, None, 0), False)],
)
def test_a_column_that_says_that_judgements_failed_is_told(
    tmp_path: Path, cells: tuple[Any, ...], told: bool
) -> None:
    rows = [
        {"item": k, "model": "m", "score": k, "judge_failed": cell}
        for k, cell in enumerate(cells)
    ]
    done = vj.adopt(rows, tmp_path / "out", score_range=(0, 10))
    failed = [n for n in done.notes if n.startswith("judge_failed: not used")]
    assert bool(failed) is told
    assert all("1 row (true)" in note for note in failed)


@pytest.mark.parametrize(
    ("top", "warned"), [(5, False), (10, True), (100, True)]
)
def test_scores_of_another_range_than_the_truths_are_noticed(
    tmp_path: Path, top: int, warned: bool
) -> None:
    rows = [(f"i{k}", 1 + k % 5, (1 + k % 5) * top / 5) for k in range(30)]
    table = tmp_path / "scores.csv"
    table.write_text(
        "item,truth,verdict\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows)
    )
    with warnings.catch_warnings(record=True) as noticed:
        warnings.simplefilter("always")
        vj.adopt(table, tmp_path / "study", score_range=(0, 100))
    assert any("one range" in str(item.message) for item in noticed) is warned


def test_a_judge_that_counts_from_0_and_people_from_1_are_noticed(
    tmp_path: Path,
) -> None:
    rows = [
        {"item": f"i{k}", "truth": 1 + k % 5, "verdict": k % 5}
        for k in range(30)
    ]
    with pytest.warns(UserWarning, match=r"from 1 up to 5 .* from 0 up to 4"):
        vj.adopt(rows, tmp_path / "study", score_range=(0, 5))


@pytest.mark.parametrize(
    ("reply", "kind"), [("{}", "pairwise"), ("8", "scoring")]
)
def test_replies_alone_say_whether_they_choose_or_score(
    tmp_path: Path, reply: str, kind: str
) -> None:
    replies = tmp_path / "replies.csv"
    lines = [
        f'q{k},"It is sharper.\n{reply.format("AB"[k % 2])}"' for k in range(8)
    ]
    replies.write_text("\n".join(("item,reply", *lines)))
    vj.adopt(replies, tmp_path / "study")
    [name] = {
        item.question_type for item in load_dataset(tmp_path / "study/dataset")
    }
    assert name == kind
    verdicts = RunFolder(tmp_path / "study/judge").verdicts().values()
    assert {verdict.status for verdict in verdicts} == {"ok"}


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([("A", "B"), ("B", "A")], True),
        ([("A", "tie"), ("B", "tie")], False),
        ([("A", "A"), ("B", "B")], False),
        ([(2.0, 8.0), (7.0, 1.0), (5.0, 5.0)], True),
        ([(2.0, 2.0), (7.0, 8.0), (5.0, 5.0)], False),
    ],
)
def test_verdicts_that_contradict_the_truth_are_told(
    rows: list[tuple[object, object]], told: bool, tmp_path: Path
) -> None:
    table = [
        {"item": f"q{k}", "truth": truth, "verdict": verdict}
        | ({"model_a": "x", "model_b": "y"} if truth in ("A", "B") else {})
        for k, (truth, verdict) in enumerate(20 * rows)
    ]
    done = vj.adopt(table, tmp_path / "out")
    (card,) = vj.card(done.runs[0]).judges
    assert (
        "reversed?" in " ".join(r.text for r in card.answer.reasons)
    ) is told


def test_columns_that_count_from_0_name_the_options(tmp_path: Path) -> None:
    """``model_1`` is the second of two columns, not the first of two positions."""
    rows = [
        {
            "item": k,
            "model_0": "x",
            "model_1": "y",
            "verdict": "model_1",
            "truth": "y",
            "shown_first": f"model_{k % 2}",
        }
        for k in range(4)
    ]
    done = vj.adopt(rows, tmp_path / "study")
    values = [(line["order"], line["value"]) for line in verdicts(done.runs[0])]
    assert values == [("AB", "B"), ("BA", "B")] * 2


def test_a_column_of_one_option_alone_is_no_role(tmp_path: Path) -> None:
    rows = [{"item": k, "model_b": "x", "verdict": "A"} for k in range(4)]
    assert vj.adopt(rows, tmp_path / "study").unused == ("model_b",)
    with pytest.raises(UsageError, match="both options, got model_b"):
        vj.adopt(rows, tmp_path / "other", model_b="model_b")


@pytest.mark.parametrize("wrong", [0, 1])
def test_a_truth_that_is_a_copy_of_the_verdicts_is_told(
    wrong: int, tmp_path: Path
) -> None:
    rows = [
        {"item": f"q{k}", "verdict": k % 7, "truth": k % 7} for k in range(30)
    ]
    rows[5]["truth"] = 5 - wrong
    done = vj.adopt(rows, tmp_path / "out")
    told = any("copies of one column" in note for note in done.notes)
    assert told == (not wrong)
