"""Tables: cells are text, images stay in the file, what cannot be used is named."""

from __future__ import annotations

import csv

import pytest
from hypothesis import given, strategies as st
from tables import COLUMNS, image, row, write

from visualjudge.apps.mmbench.circular import write_rotations
from visualjudge.apps.mmbench.question_prompt import (
    choice_template,
    prompt_text,
)
from visualjudge.apps.mmbench.table import read_table
from visualjudge.apps.mmbench.table_images import image_parts, image_problems
from visualjudge.core.errors import DataError, InvalidRecord
from visualjudge.mmbench import MMBenchDataset


def table_of(tmp_path, rows, columns=COLUMNS):
    return read_table(write(tmp_path / "t.tsv", rows, columns))


def test_options_that_look_like_missing_values_are_options(tmp_path):
    options = ["None", "N/A", "nan", "NULL"]
    (only,) = table_of(tmp_path, [row(1, options)]).rows
    assert list(only.options.values()) == options


def test_numbers_and_formulas_stay_text(tmp_path):
    (only,) = table_of(tmp_path, [row(1, ["007", "=2+3", "1e5", "3.0"])]).rows
    assert list(only.options.values()) == ["007", "=2+3", "1e5", "3.0"]


def test_blank_option_is_no_option(tmp_path):
    (only,) = table_of(tmp_path, [row(1, ["left", "right"])]).rows
    assert list(only.options) == ["A", "B"]


def test_letters_go_as_far_as_there_are_columns(tmp_path):
    columns = [*COLUMNS, "E", "F"]
    (only,) = table_of(
        tmp_path,
        [row(1, ["1", "2", "3", "4"], E="5", F="6", answer="F")],
        columns,
    ).rows
    assert "".join(only.options) == "ABCDEF"


def test_context_column_serves_as_hint(tmp_path):
    columns = [name if name != "hint" else "context" for name in COLUMNS]
    (only,) = table_of(
        tmp_path, [row(1, context="The train is late.")], columns
    ).rows
    assert only.hint == "The train is late."


CELL = st.text(
    alphabet=st.characters(codec="utf-8", exclude_characters="\r\x00"),
    max_size=30,
)


@given(cells=st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=5))
def test_any_cells_written_by_csv_are_read_back(tmp_path_factory, cells):
    rows = [
        row(i, (a, b), question=q, answer="")
        for i, (q, a, b) in enumerate(cells)
    ]
    path = write(tmp_path_factory.mktemp("t") / "t.tsv", rows)
    table = read_table(path)
    got = [
        (r.question, r.options.get("A", ""), r.options.get("B", ""))
        for r in table.rows
    ]
    blank = [
        (q, a if a.strip() else "", b if b.strip() else "") for q, a, b in cells
    ]
    assert got == blank
    assert [r.cells["image"] for r in table.rows] == [r["image"] for r in rows]


def test_blank_options_hints_of_pandas_and_indices_of_spreadsheets_are_read(
    tmp_path,
):
    path = tmp_path / "t.tsv"
    path.write_text(
        "index\tquestion\thint\tA\tB\tC\n7.0\tWhat?\tnan\tcat\tnan\t \n",
        "utf-8",
    )
    (only,) = read_table(path).rows
    assert (only.index, only.hint, only.options) == (
        7,
        "",
        {"A": "cat", "B": "nan"},
    )


def test_byte_order_mark_and_windows_line_ends_are_read(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_bytes(
        b"\xef\xbb\xbfindex\tquestion\tA\r\n1\tWhat?\tcat\r\n\r\n2\tWho?\tdog\r\n"
    )
    assert [(r.index, r.options["A"]) for r in read_table(path).rows] == [
        (1, "cat"),
        (2, "dog"),
    ]


def test_image_of_another_row_is_followed_to_the_row_that_holds_it(tmp_path):
    rows = [
        row(1, image="2"),
        row(2, image="3"),
        row(3, image=image((10, 200, 10))),
    ]
    table = table_of(tmp_path, rows)
    assert image_parts(table, table.rows[0]) == image_parts(
        table, table.rows[2]
    )


def test_reference_to_an_absent_row_is_named_with_both_indices(tmp_path):
    table = table_of(tmp_path, [row(1), row(2, image="777")])
    with pytest.raises(
        InvalidRecord, match=r"index 2: image: points at the image of index 777"
    ):
        image_parts(table, table.rows[1])


def test_rows_that_point_at_one_another_are_an_error_not_a_loop(tmp_path):
    table = table_of(tmp_path, [row(1, image="2"), row(2, image="1")])
    with pytest.raises(InvalidRecord, match="form a circle"):
        image_parts(table, table.rows[0])


@pytest.mark.parametrize("cell", ["%%%" * 40, "QUJD" * 40, "", "short"])
def test_cell_that_is_no_image_is_reported_before_anything_is_asked(
    tmp_path, cell
):
    table = table_of(tmp_path, [row(1), row(2, image=cell)])
    assert list(image_problems(table, table.rows)) == [2]


@pytest.mark.parametrize(
    ("kind", "mime"),
    [
        ("PNG", "image/png"),
        ("JPEG", "image/jpeg"),
        ("WEBP", "image/webp"),
        ("BMP", "image/png"),
    ],
)
def test_image_is_sent_with_the_type_its_bytes_have(tmp_path, kind, mime):
    table = table_of(tmp_path, [row(1, image=image(kind=kind))])
    assert [part.mime for part in image_parts(table, table.rows[0])] == [mime]


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"index": "x"}, "index"),
        ({"index": 1}, "index"),
        ({"index": "-3"}, "index"),
        ({"answer": "D"}, "answer"),
    ],
)
def test_record_that_cannot_be_used_is_left_out_and_named(
    tmp_path, changed, field
):
    table = table_of(
        tmp_path,
        [
            row(1),
            row(2, **changed) if "index" not in changed else row(**changed),
        ],
    )
    assert [r.index for r in table.rows] == [1]
    assert [(p.file.rsplit(":", 1)[1], p.field) for p in table.problems] == [
        ("3", field)
    ]


def test_record_with_too_few_cells_is_left_out(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("index\tquestion\tA\n1\tWhat?\n2\tWho?\tdog\n")
    table = read_table(path)
    assert [r.index for r in table.rows] == [2]
    assert "2 cells where the header has 3" in table.problems[0].reason


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b"index,question\n1,x\n", "tab-separated"),
        (b"index\tA\n", "question"),
        (b"index\tquestion\tA\tA\n", "twice"),
        (b"index\tquesti\xff\xfeon\n1\tx\n", "must be UTF-8"),
        (
            b'index\tquestion\n0\t"y"\n1\t"never closed\n2\tx\n',
            ":3: a quoted cell must be closed",
        ),
    ],
)
def test_file_that_is_no_table_is_refused_with_its_reason(
    tmp_path, content, says
):
    path = tmp_path / "t.tsv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=says):
        read_table(path)


def test_prompt_is_the_references_word_for_word(tmp_path):
    rows = [
        row(1, ["Oil", "Sketch"], question="Which?", hint="Look."),
        row(2, ["Oil", "Sketch"], question="Which?"),
    ]
    with_hint, without = table_of(tmp_path, rows).rows
    asset = choice_template()
    assert (
        prompt_text(with_hint, asset)
        == "Look. Which? There are several options:\nA. Oil\nB. Sketch\n"
    )
    assert (
        prompt_text(without, asset)
        == "Which? There are several options:\nA. Oil\nB. Sketch\n"
    )


def test_braces_in_a_question_are_left_alone(tmp_path):
    (only,) = table_of(
        tmp_path, [row(1, ["{{hint}}", "%s"], question="{x} {{options}}?")]
    ).rows
    assert prompt_text(only, choice_template()).startswith(
        "{x} {{options}}? There are several options:\nA. {{hint}}\n"
    )


def test_own_template_is_read_from_a_file(tmp_path):
    own = tmp_path / "own.yaml"
    own.write_text(
        'option: "({{letter}}) {{text}}"\nwith_hint: '
        '"{{hint}}|{{question}}|{{options}}"\n'
        'without_hint: "Q: {{question}}\\n{{options}}Answer:"\n'
    )
    (only,) = table_of(
        tmp_path, [row(1, ["cat", "dog"], question="Which?")]
    ).rows
    assert (
        prompt_text(only, choice_template(str(own)))
        == "Q: Which?\n(A) cat\n(B) dog\nAnswer:"
    )


def test_rotations_move_texts_and_answer_and_share_the_image(tmp_path):
    table = table_of(
        tmp_path,
        [
            row(7, ["cat", "dog", "owl"], answer="B", image="8"),
            row(8, ["x", "y"]),
        ],
    )
    assert write_rotations(table, tmp_path / "r.tsv") == 5
    with (tmp_path / "r.tsv").open(newline="") as file:
        got = {int(r["index"]): r for r in csv.DictReader(file, delimiter="\t")}
    assert sorted(got) == [7, 8, 1_000_007, 1_000_008, 2_000_007]
    assert [
        got[i]["A"] + got[i]["B"] + got[i]["C"]
        for i in (7, 1_000_007, 2_000_007)
    ] == [
        "catdogowl",
        "dogowlcat",
        "owlcatdog",
    ]
    assert [got[i][got[i]["answer"]] for i in (7, 1_000_007, 2_000_007)] == [
        "dog"
    ] * 3
    assert got[1_000_007]["image"] == "8"
    assert got[1_000_007]["category"] == "scene"


def test_rotations_of_rotations_are_refused(tmp_path):
    with pytest.raises(DataError, match="1000001 is already a rotation"):
        write_rotations(
            table_of(tmp_path, [row(1_000_001)]), tmp_path / "r.tsv"
        )


def test_the_dataset_has_the_fields_of_mmbenchs_documentation(tmp_path):
    path = write(
        tmp_path / "t.tsv",
        [row(3, ("cat", "dog"), hint="Look."), row(4, ("x",))],
    )
    dataset = MMBenchDataset(path, "Choose:")
    assert len(dataset) == 2
    sample = dataset[0]
    assert list(sample) == [
        "img", "question", "answer", "options", "category", "l2-category", "options_dict",
        "index", "context",
    ]  # fmt: skip
    assert (sample["options"], sample["options_dict"]) == (
        "Choose:\nA. cat\nB. dog\n", {"A": "cat", "B": "dog"})  # fmt: skip
    assert (sample["index"], sample["context"], sample["img"].size) == (
        3,
        "Look.",
        (40, 30),
    )
    assert dataset[1]["context"] is None
