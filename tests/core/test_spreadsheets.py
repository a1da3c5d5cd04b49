"""No text of a table is computed by the program that opens it."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import polars as pl

from visualjudge.core.escaping import for_csv
from visualjudge.core.workbooks import workbook_rows


def test_formulas_become_text_and_numbers_stay() -> None:
    texts = [
        "=1+1",
        "+A1",
        "-2+3",
        "@SUM(A1)",
        "\t=1",
        "-0.5",
        "+3e-2",
        "plain",
        "",
        None,
        "a=b",
    ]
    table = for_csv(
        pl.DataFrame({"text": texts, "number": [-1.0] * len(texts)})
    )
    due = [
        "'=1+1",
        "'+A1",
        "'-2+3",
        "'@SUM(A1)",
        "'\t=1",
        "-0.5",
        "+3e-2",
        "plain",
        "",
        None,
        "a=b",
    ]
    assert table["text"].to_list() == due
    assert table["number"].to_list() == [-1.0] * len(texts)


def test_a_text_that_was_saved_as_a_formula_is_read_as_typed(
    tmp_path: Path,
) -> None:
    """Reply files are written by pandas, which saves a reply that begins with "=" as a
    formula."""
    path = tmp_path / "replies.xlsx"
    book, text = openpyxl.Workbook(), "= B, as the caption says"
    for row in (("index", "prediction", "note"), (1, text, None), (2, "A", 3)):
        book.active.append(row)
    book.save(path)
    one = {"index": 1, "prediction": text, "note": None}
    assert workbook_rows(path) == [
        one,
        {"index": 2, "prediction": "A", "note": 3},
    ]
