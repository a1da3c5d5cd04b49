"""Workbooks and scores: text stays text, rotations stand together, missing is not wrong
silently.
"""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import openpyxl
import pytest
from tables import COLUMNS, row, write

from visualjudge.apps.mmbench.circular import write_rotations
from visualjudge.apps.mmbench.evaluate import evaluate
from visualjudge.apps.mmbench.reply_files import (
    CELL,
    fit,
    is_cut,
    read_predictions,
    write_workbook,
)
from visualjudge.apps.mmbench.report_page import page
from visualjudge.apps.mmbench.scores import (
    Model,
    accuracy_table,
    better_table,
    comparisons,
    lines,
    scores,
    sentence,
    tables,
)
from visualjudge.apps.mmbench.table import option_columns, read_table
from visualjudge.core.errors import DataError, InvalidRecord

K = 1_000_000


def table_of(tmp_path, rows, columns=COLUMNS):
    return read_table(write(tmp_path / "t.tsv", rows, columns))


def rotated(index, right=(True, True), **cells):
    """Two rotations of a two-option question and the replies to them."""
    rows = [
        row(index, ["cat", "dog"], answer="A", **cells),
        row(index + K, ["dog", "cat"], answer="B", **cells),
    ]
    replies = {
        index: "A" if right[0] else "B",
        index + K: "B" if right[1] else "A",
    }
    return rows, replies


# ---------------------------------------------------------------- workbook


def test_replies_come_back_from_the_workbook_as_they_were(tmp_path):
    texts = [
        "=1+1",
        "007",
        "1e5",
        "None",
        "nan",
        "True",
        "+3",
        "@x",
        "https://example.org",
    ]
    texts += [" a ", "猫\n二", "a\x07b", "_x0041_"]
    table = table_of(
        tmp_path, [row(number) for number in range(1, len(texts) + 1)]
    )
    replies = list(zip(table.rows, texts, strict=True))
    write_workbook(
        tmp_path / "p.xlsx",
        replies,
        option_columns(table.columns),
        whole="p.jsonl",
    )
    assert list(read_predictions(tmp_path / "p.xlsx")[0].values()) == texts


def test_every_cell_but_the_index_is_a_text_cell(tmp_path):
    table = table_of(tmp_path, [row(1, ["=2+3", "007", "None"])])
    write_workbook(
        tmp_path / "p.xlsx",
        [(table.rows[0], "=1+1")],
        option_columns(table.columns),
        whole="p.jsonl",
    )
    head, line = (
        openpyxl.load_workbook(tmp_path / "p.xlsx").worksheets[0].iter_rows()
    )
    cells = dict(zip((c.value for c in head), line, strict=True))
    assert [
        cells[name].value
        for name in ("A", "B", "C", "D", "prediction", "index")
    ] == [
        "=2+3",
        "007",
        "None",
        None,
        "=1+1",
        1,
    ]
    assert {
        cells[name].data_type for name in ("A", "B", "C", "prediction")
    } <= {
        "s",
        "inlineStr",
    }


def test_long_reply_is_cut_with_a_mark_that_names_the_whole():
    short = fit("x" * 40_000, "pred.jsonl")
    assert len(short) == CELL
    assert short.endswith("… [cut here: 40000 characters, whole in pred.jsonl]")
    assert is_cut(short)
    assert not is_cut("x" * 100)


def test_length_is_counted_as_spreadsheets_do():
    emoji = fit("🙂" * 20_000, "pred.jsonl")
    assert len(emoji.encode("utf-16-le")) // 2 <= CELL
    assert is_cut(emoji)


def test_reader_says_that_replies_were_cut_or_belong_to_another_table(tmp_path):
    table = table_of(tmp_path, [row(1)])
    write_workbook(
        tmp_path / "p.xlsx",
        [(table.rows[0], "x" * 40_000)],
        option_columns(table.columns),
        whole="p.jsonl",
    )
    other = read_table(
        write(tmp_path / "o.tsv", [row(1, question="Something else?")])
    )
    cut, different = read_predictions(tmp_path / "p.xlsx", other)[1]
    assert "1 replies were cut" in cut
    assert "are not those of" in different


def test_numbers_that_another_program_wrote_are_read_as_they_are_shown(
    tmp_path,
):
    book = openpyxl.Workbook()
    for line in (
        ["index", "prediction"],
        [1, 5],
        [2, 0.5],
        [3, "=A1"],
        [4.0, None],
    ):
        book.active.append(line)
    book.save(tmp_path / "p.xlsx")
    assert read_predictions(tmp_path / "p.xlsx")[0] == {
        1: "5",
        2: "0.5",
        3: "=A1",
        4: "",
    }


def test_results_are_also_read_from_tsv_and_json(tmp_path):
    rows = {1: "A", 2: 'B\t"or" C', 3: "[[D]]\nbecause"}
    with (tmp_path / "p.tsv").open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t", quoting=csv.QUOTE_ALL)
        writer.writerows([["index", "prediction"], *rows.items()])
    records = [
        {"index": index, "prediction": text} for index, text in rows.items()
    ]
    (tmp_path / "p.json").write_text(json.dumps(records))
    assert read_predictions(tmp_path / "p.tsv")[0] == rows
    assert read_predictions(tmp_path / "p.json")[0] == rows
    (tmp_path / "p.json").write_text(json.dumps([{"index": 1, "answer": "A"}]))
    with pytest.raises(DataError, match="no column 'prediction'"):
        read_predictions(tmp_path / "p.json")


@pytest.mark.parametrize(
    ("lines", "says"),
    [([[1.5, "A"]], "whole number"), ([[1, "A"], [1, "B"]], "occurs twice")],
)
def test_workbook_with_a_bad_index_is_refused(tmp_path, lines, says):
    book = openpyxl.Workbook()
    for line in (["index", "prediction"], *lines):
        book.active.append(line)
    book.save(tmp_path / "p.xlsx")
    with pytest.raises(InvalidRecord, match=says):
        read_predictions(tmp_path / "p.xlsx")


def test_a_row_may_be_there_twice_but_not_with_two_replies(tmp_path):
    path = tmp_path / "p.jsonl"
    lines = [f'{{"index": 1, "prediction": "{letter}"}}\n' for letter in "AAB"]
    path.write_text("".join(lines[:2]))
    assert read_predictions(path)[0] == {1: "A"}
    path.write_text("".join(lines))
    with pytest.raises(InvalidRecord, match=r"line 3: .*another reply"):
        read_predictions(path)


def test_file_that_is_no_workbook_is_refused(tmp_path):
    (tmp_path / "p.xlsx").write_text("index,prediction\n")
    with pytest.raises(DataError, match="must be a workbook"):
        read_predictions(tmp_path / "p.xlsx")


# ---------------------------------------------------------------- scores


def test_question_is_right_in_circular_evaluation_only_if_every_rotation_is(
    tmp_path,
):
    (first, a), (second, b) = rotated(1), rotated(2, (True, False))
    got = scores(evaluate(table_of(tmp_path, first + second), a | b))
    assert (
        got["n"],
        got["accuracy"],
        got["n_groups"],
        got["circular_accuracy"],
    ) == (
        4,
        0.75,
        2,
        0.5,
    )


def test_missing_rotation_makes_a_question_invalid_under_strict_rules(tmp_path):
    (first, a), (second, b) = rotated(1), rotated(2)
    del b[2 + K]
    got = scores(evaluate(table_of(tmp_path, first + second), a | b))
    assert (
        got["invalid_groups"],
        got["n_groups"],
        got["circular_accuracy"],
    ) == (
        [2],
        1,
        1.0,
    )
    assert got["groups"][1] == {"index": 2, "hit": None, "missing": [2 + K]}
    assert got["accuracy"] == 0.75


def test_missing_rotation_is_overlooked_under_vlmevalkit_rules(tmp_path):
    (first, a), (second, b) = rotated(1), rotated(2)
    del b[2 + K]
    got = scores(
        evaluate(table_of(tmp_path, first + second), a | b, "vlmevalkit")
    )
    assert (got["invalid_groups"], got["n_groups"], got["n"]) == ([], 2, 3)


def test_vlmevalkit_leaves_out_a_question_without_its_original_row(tmp_path):
    """Its circular evaluation goes through the rows whose index is the question's."""
    (first, a), (second, b) = rotated(1), rotated(2)
    del b[2]
    got = scores(
        evaluate(table_of(tmp_path, first + second), a | b, "vlmevalkit")
    )
    assert (got["invalid_groups"], got["n_groups"]) == ([], 1)


def test_row_without_a_reply_counts_as_wrong_and_unread(tmp_path):
    got = scores(evaluate(table_of(tmp_path, [row(1), row(2)]), {1: "A"}))
    assert (
        got["n"],
        got["accuracy"],
        got["extraction_rate"],
        got["circular_accuracy"],
    ) == (
        2,
        0.5,
        0.5,
        None,
    )
    assert got["rows"][1]["prediction"] is None


def test_categories_are_scored_apart(tmp_path):
    rows = [
        row(1, category="ocr"),
        row(2, category="ocr"),
        row(3, category="style"),
    ]
    got = scores(evaluate(table_of(tmp_path, rows), {1: "A", 2: "B", 3: "A"}))
    assert {
        name: part["accuracy"] for name, part in got["by_category"].items()
    } == {
        "ocr": 0.5,
        "style": 1.0,
    }


def test_table_without_answers_is_refused(tmp_path):
    with pytest.raises(DataError, match="must have answers"):
        evaluate(table_of(tmp_path, [row(1, answer="")]), {1: "A"})


def test_rules_that_differ_are_listed_with_reasons(tmp_path):
    got = scores(
        evaluate(
            table_of(tmp_path, [row(1)]), {1: "concatenation"}, "vlmevalkit"
        )
    )
    (only,) = got["differs"]
    assert (only["index"], only["strict"], only["vlmevalkit"]) == (1, None, "A")


def test_interval_resamples_questions_not_rows(tmp_path):
    """Ten copies of each verdict tell no more than one: rotations that agree do not
    narrow the interval.
    """
    rows, replies = [], {}
    for index in range(1, 41):
        for k in range(2):
            cells = {"answer": "A", "image": f"image of {index}"}
            rows.append(row(index + k * K, ["cat", "dog"], **cells))
            replies[index + k * K] = "A" if index % 2 else "B"
    table = table_of(tmp_path, rows)
    low, high = scores(evaluate(table, replies))["accuracy_ci95"]
    assert (
        low < 0.36 and high > 0.64
    )  # ±1.96·√(¼/40) = ±0.155; 80 independent rows would give ±0.11


def ten_images(tmp_path, image):
    """Accuracy's interval of eight questions on each of ten images, all right or all
    wrong; ``image`` has the image cell of an index."""
    rows = [
        row(index, ["cat", "dog"], answer="A", image=image(index))
        for index in range(8, 88)
    ]
    replies = {index: "A" if index // 8 % 2 else "B" for index in range(8, 88)}
    found = scores(evaluate(table_of(tmp_path, rows), replies))
    assert found["n_images"] == 10
    return found["accuracy_ci95"]


def test_questions_on_one_image_do_not_narrow_the_interval(tmp_path):
    """±2.26·√(¼/10) = ±0.36; 80 independent questions would give ±0.11."""
    low, high = ten_images(tmp_path, lambda index: f"image {index // 8}")
    assert low < 0.2 and high > 0.8


def test_an_image_is_known_by_the_row_that_holds_it(tmp_path):
    def image(index):
        return str(index - index % 8) if index % 8 else f"{index:0100}"

    assert ten_images(tmp_path, image)[0] < 0.2


def test_a_guess_names_as_many_options_as_are_right(tmp_path):
    options = ["cat", "dog", "cow", "hen"]
    table = table_of(tmp_path, [row(1, options, answer="A,C")])
    (line,) = lines([Model("m", evaluate(table, {1: "A, C"}))])
    assert line.cells["Overall"]["value"] == 1
    assert line.cells["Overall"]["guess"] == pytest.approx(1 / 6)


def test_scores_are_json_without_nan(tmp_path):
    got = scores(evaluate(table_of(tmp_path, [row(1)]), {}))
    json.dumps(got, allow_nan=False)


# ---------------------------------------------------------------- report


def test_vanilla_is_each_question_once(tmp_path):
    rows, replies = [], {}
    for index, right in (
        (1, (False, True)),
        (2, (True, False)),
        (3, (True, True)),
    ):
        more, given = rotated(index, right)
        rows, replies = rows + more, replies | given
    del replies[K + 2]  # wrong in any case
    models = [
        Model(name, evaluate(table_of(tmp_path, rows), replies))
        for name in "ab"
    ]
    numbers = scores(models[0].evaluation)
    assert (numbers["n"], numbers["accuracy"]) == (6, pytest.approx(4 / 6))
    assert (numbers["n_vanilla"], numbers["vanilla_accuracy"]) == (
        3,
        pytest.approx(2 / 3),
    )
    found = {x.label: x.cells["Overall"] for x in lines(models[:1])}
    assert {label: cell["n"] for label, cell in found.items()} == {
        "vanilla": 3,
        "circular": 2,
    }
    assert [cell["value"] for cell in found.values()] == pytest.approx(
        [1 / 2, 2 / 3]
    )


def test_rows_without_a_reply_are_counted_beside_the_figures(tmp_path):
    table = table_of(tmp_path, [row(index) for index in range(1, 31)])
    model = Model("m", evaluate(table, {1: "A", 2: "B", 3: "no letter", 4: ""}))
    numbers = scores(model.evaluation)
    assert (numbers["n"], numbers["n_missing"], numbers["extraction_rate"]) == (
        30,
        26,
        pytest.approx(2 / 30),
    )
    assert (
        numbers["extraction_rate_of_replies"],
        numbers["accuracy_of_replies"],
    ) == (
        0.5,
        0.25,
    )
    assert numbers["by_category"]["scene"]["n_missing"] == 26
    said = (
        "of 30 rows, 26 without a reply and 2 without an option count as wrong"
    )
    assert f"m: {said}" in " ".join(accuracy_table([model]).text().split())
    assert f"m: {said}" in page(table, [model]).replace("\u00a0", " ")


def test_nothing_is_said_of_missing_replies_where_all_came(tmp_path):
    model = Model("m", evaluate(table_of(tmp_path, [row(1)]), {1: "no letter"}))
    assert "without a reply" not in accuracy_table([model]).text()


def test_table_shows_abilities_by_their_usual_names_for_each_split(tmp_path):
    rows = [
        row(1),
        row(2, **{"l2-category": "logic_reasoning", "split": "test"}),
        row(3, **{"l2-category": "own"}),
    ]
    table = accuracy_table(
        [
            Model(
                "m",
                evaluate(table_of(tmp_path, rows), {1: "A", 2: "B", 3: "A"}),
            )
        ]
    )
    assert table.columns[2] == "Overall"
    assert table.columns[-3:] == ("CP", "LR", "own")
    assert "CP: coarse perception" in table.notes[1]
    assert "RR" not in table.notes[1]
    measures = ["vanilla, dev", "vanilla, test", "vanilla, all"]
    assert [line[1] for line in table.rows] == measures


@pytest.mark.parametrize(("right", "beyond"), [(8, False), (20, True)])
def test_an_accuracy_that_guessing_may_reach_says_so(tmp_path, right, beyond):
    rows = [row(i, image=f"image of {i}") for i in range(1, 21)]
    replies = {i: "A" if i <= right else "B" for i in range(1, 21)}
    model = Model("m", evaluate(table_of(tmp_path, rows), replies))
    assert ("not proven" in sentence(model)) != beyond


def test_categories_are_columns_where_a_table_has_no_abilities(tmp_path):
    rows = [
        row(1, category="count", **{"l2-category": ""}),
        row(2, category="object", **{"l2-category": ""}),
    ]
    evaluation = evaluate(table_of(tmp_path, rows), {1: "A", 2: "B"})
    table = accuracy_table([Model("m", evaluation)])
    assert table.columns[-2:] == ("count", "object")


def test_page_escapes_what_others_wrote_and_needs_no_network(tmp_path):
    table = table_of(
        tmp_path,
        [row(1, ["<b>cat</b>", "dog"], question="<script>alert(1)</script>")],
    )
    html = page(
        table,
        [
            Model(
                "<i>m</i>",
                evaluate(table, {1: "B <img src=x onerror=alert(2)>"}),
            )
        ],
    )
    assert (
        "<script" not in html
        and "<img src=x" not in html
        and "<i>m" not in html
        and "<b>cat" not in html
    )
    assert 'src="data:image/jpeg;base64,' in html
    assert "http" not in html.replace("http-equiv", "")


def test_page_shows_a_row_whose_image_is_broken(tmp_path):
    table = table_of(tmp_path, [row(1, image="%%%" * 40)])
    assert "no image" in page(table, [Model("m", evaluate(table, {1: "B"}))])


def test_page_shows_the_end_of_a_long_reply(tmp_path):
    table = table_of(tmp_path, [row(1)])
    html = page(
        table, [Model("m", evaluate(table, {1: "y" * 5000 + " so it is B."}))]
    )
    assert "so it is B." in html
    assert "[3012 characters left out]" in html


@pytest.mark.parametrize(
    ("answer", "reply", "read"),
    [
        ("AC", "A, C", "AC"),
        ("AC", "Both the cat and the owl are there.\nAnswer: A and C", "AC"),
        ("['C', 'A']", "['A', 'C']", "AC"),
        ("A,C", "\\boxed{C, A}", "AC"),
        ("AC", "AC", "AC"),
        ("AC", "A. cat\nC. owl", "AC"),
        ("['B']", "B", "B"),
        ("AC", "A", "A"),
        ("AC", "CAB", None),
        ("AC", "A C D E", None),
        ("AC", "A cat is a cat", None),
        ("AC", "not A, C", None),
    ],
)
def test_several_right_answers_must_all_be_named(tmp_path, answer, reply, read):
    table = read_table(write(tmp_path / "t.tsv", [row(1, answer=answer)]))
    (line,) = evaluate(table, {1: reply}).rows
    assert (line.extracted, line.hit) == (read, read == line.row.answer)


@pytest.mark.parametrize("answer", ["CA", "AA", "AE", "['E']", "[]", "A cat"])
def test_an_answer_that_is_no_set_of_options_is_refused(tmp_path, answer):
    table = read_table(write(tmp_path / "t.tsv", [row(1, answer=answer)]))
    assert [problem.field for problem in table.problems] == ["answer"]


def test_rotations_move_every_right_answer(tmp_path):
    rows = [row(1, answer="AC"), row(2, answer="['B', 'C']")]
    table = read_table(write(tmp_path / "t.tsv", rows))
    write_rotations(table, tmp_path / "r.tsv")
    turned = read_table(tmp_path / "r.tsv")
    assert [line.answer for line in turned.rows] == [
        "AC",
        "BC",
        "AB",
        "BC",
        "AB",
        "AC",
    ]


def test_a_model_is_better_where_its_lead_is_proven_on_the_same_questions(
    tmp_path,
):
    """Of 30 questions on 30 images, b misses 12 that a has right; c, two others."""
    rows = [row(i, image=f"image of {i}") for i in range(1, 31)]
    table = table_of(tmp_path, rows)
    wrong = {"a": (), "b": range(1, 13), "c": (20, 21)}
    models = [
        Model(
            name,
            evaluate(
                table, {i: "B" if i in own else "A" for i in range(1, 31)}
            ),
        )
        for name, own in wrong.items()
    ]
    a_b, a_c, b_c = comparisons(models)
    assert (a_b["better"], a_c["better"], b_c["better"]) == ("a", None, "c")
    assert "file there twice" not in better_table(models).text()
    copy = replace(models[2], name="d")
    (told,) = (
        note
        for note in better_table([*models, copy]).notes
        if "file there twice" in note
    )
    assert told.startswith("c and d gave the same reply")
    assert a_b["difference"] == pytest.approx(12 / 30)
    assert b_c["difference"] == pytest.approx(-10 / 30)
    assert a_b["p_holm"] == pytest.approx(3 * a_b["p"])
    assert "not proven" in tables(models)[0].text()
    assert len(tables(models[:1])) == 1


def test_models_are_compared_on_the_questions_that_both_have_whole(tmp_path):
    rows, replies = [], {}
    for index in range(1, 9):
        more, given = rotated(index, image=f"image of {index}")
        rows, replies = rows + more, replies | given
    lacking = {key: reply for key, reply in replies.items() if key != 8 + K}
    table = table_of(tmp_path, rows)
    models = [
        Model("all", evaluate(table, replies)),
        Model("seven", evaluate(table, lacking)),
    ]
    (only,) = comparisons(models)
    assert (only["questions"], only["difference"]) == (7, 0)
