"""Tables for the terminal: names fold, numbers never break, and every line fits."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import example, given, strategies as st

from visualjudge.core.text_tables import NARROWEST, Styled, Table, screen_width

BOARD = Table(
    ("Source", "Corrected", "95 %", "Labels"),
    (
        (
            "a detector with a long name, trained for 300 epochs",
            "7.439",
            "6.745 to 8.132",
            "6",
        ),
        (
            "a detector with a long name, trained for 100 epochs",
            "−7.1",
            "6.052 to 8.346",
            "1,206",
        ),
    ),
    ("a note",),
)


def test_without_a_limit_a_row_is_a_line() -> None:
    lines = BOARD.text(200).splitlines()
    assert len(lines) == 4
    assert [line.index("7.439") + 5 for line in lines[1:2]] == [
        line.index("−7.1") + 4 for line in lines[2:3]
    ]


@pytest.mark.parametrize("width", [60, 80, 100])
def test_names_fold_and_numbers_do_not_break(width: int) -> None:
    text = BOARD.text(width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    assert {"7.439", "−7.1", "1,206", "300", "100"} <= set(text.split())


def test_columns_that_do_not_fit_follow_below_with_the_keys() -> None:
    cells = tuple(f"{i}.125" for i in range(9))
    wide = Table(
        ("Judge", *(f"Figure {i}" for i in range(9))),
        (("gpt", *cells), ("qwen", *["0.5"] * 9)),
    )
    text = wide.text(60)
    assert max(map(len, text.splitlines())) <= 60
    assert text.count("gpt") == text.count("qwen") == text.count("Judge") == 2
    assert set(cells) <= set(text.split())


def test_the_width_is_that_of_columns_and_at_least_60(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for given_columns, expected in (("80", 80), ("20", NARROWEST)):
        monkeypatch.setenv("COLUMNS", given_columns)
        assert screen_width() == expected
    monkeypatch.delenv("COLUMNS")
    assert (
        screen_width() > 1000
    )  # pytest's output is no terminal: nothing is folded in a pipe


CELL = st.text("abc ,.-_0123456789", max_size=40)


@example([("0" * 29, "0" * 30, "0.00")])
@given(
    st.lists(
        st.tuples(CELL, CELL, st.from_regex(r"\A-?[0-9]{1,6}\.[0-9]{2}\Z")),
        min_size=1,
        max_size=5,
    )
)
def test_no_character_of_a_cell_is_lost(
    rows: list[tuple[str, str, str]],
) -> None:
    apart = ("~", "~", "~")  # no column is the same in all rows
    text = Table(("name", "other", "value"), (apart, *rows)).text(60)
    assert max(map(len, text.splitlines())) <= 60
    for *_, number in rows:
        assert number in re.split(r"\s+", text)
    kept = sorted("".join(text.split()))
    for character in set("".join(cell for row in rows for cell in row)) - {" "}:
        assert kept.count(character) >= sum(
            cell.count(character) for row in rows for cell in row
        )


def test_a_column_may_be_empty() -> None:
    assert (
        Table(("", "value"), (("", "1"),)).text(60).splitlines()[-1].strip()
        == "1"
    )


def test_sentences_below_a_table_break_between_words() -> None:
    sentence = (
        "assumes the labelled items were chosen with the probabilities of the labels "
        "file, as written by label"
    )
    lines = Table(("a",), (("1",),), (sentence,)).text(60).splitlines()[2:]
    assert (
        len(lines) == 2
        and max(map(len, lines)) <= 60
        and " ".join(lines) == sentence
    )
    assert Table(("a",), (("1",),), (sentence,)).text(sys.maxsize).splitlines()[
        2:
    ] == [sentence]


def test_each_form_shows_the_same_cells() -> None:
    """A styled cell has two lines, a state and an icon in HTML, and one line of text
    elsewhere."""
    answer = Styled("no", below="too few <images>", state="fail", icon="✗")
    made = Table(
        ("task_name", "answer", "n"),
        (("instance_seg<b>", answer, "1,200"), ("keypoint", "yes", "=3")),
        ("a note",),
        numeric=(False, False, True),
        marked=frozenset({0}),
    )
    page = made.html()
    assert (
        '<tr class="hit"><td>instance_<wbr>seg&lt;b&gt;</td><td><span class="fail">✗ '
        "no</span>"
        '<br><small>too few &lt;images&gt;</small></td><td class="n">1,200</td></tr>'
    ) in page
    assert '<tr><td>keypoint</td><td>yes</td><td class="n">=3</td></tr>' in page
    assert made.text().splitlines()[1].split("  ")[1:3] == [
        "no; too few <images>",
        "1,200",
    ]


def test_a_bar_never_breaks() -> None:
    bars = ("····│──●──·········", "····│···──●──······", "····│······──●──···")
    made = Table(
        ("a name of some length", "one", "two", "three"),
        (("a task of a name", *bars),),
    )
    text = made.text(60)
    assert max(map(len, text.splitlines())) <= 60
    assert all(bar in text for bar in bars)


def test_what_all_rows_have_is_stated_once_where_width_counts() -> None:
    table = Table(
        ("Judge", "Images", "Right"), (("a", "33", "70 %"), ("b", "33", "60 %"))
    )
    assert table.text(80).count("33") == 1
    assert "The same in all rows: Images: 33." in table.text(80)
    assert "Images" in table.text().splitlines()[0]


def test_no_word_of_a_name_breaks() -> None:
    rows = (("classification of a non-maximum", "1"),)
    words = Table(("Error", "Number"), rows).text(60 - 45).split()
    assert {"classification", "non-maximum"} <= set(words)


def test_a_line_ends_neither_in_an_interval_nor_before_a_mark() -> None:
    rows = (
        ("one", "undecided (48.2 %, 25.9 to 52.6)", "open *"),
        ("two", "fails", "separated"),
    )
    for width in range(24, 60):
        lines = Table(("Model", "State", "Pair"), rows).text(width)
        assert "25.9 to 52.6" in lines and "open *" in lines
