"""No text of a table is computed by the program that opens it."""

from __future__ import annotations

import polars as pl

from visualjudge.core.text_tables import harmless


def test_formulas_become_text_and_numbers_stay() -> None:
    texts = ["=1+1", "+A1", "-2+3", "@SUM(A1)", "\t=1", "-0.5", "+3e-2", "plain", "", None, "a=b"]
    table = harmless(pl.DataFrame({"text": texts, "number": [-1.0] * len(texts)}))
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
