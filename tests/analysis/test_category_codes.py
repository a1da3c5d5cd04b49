"""Words are numbered by their order, whatever was read first."""

from __future__ import annotations

import polars as pl

from visualjudge.analysis.study_table import WORD, ordered


def test_words_are_numbered_by_their_order_and_not_by_when_they_came() -> None:
    for kind in (pl.String, WORD):
        words, place = ordered(
            pl.Series("word", ["pear", "apple", "fig", "apple"], dtype=kind)
        )
        assert words.to_list() == ["apple", "fig", "pear"]
        assert place.tolist() == [2, 0, 1, 0]


def test_a_column_without_rows_has_no_words() -> None:
    words, place = ordered(pl.Series("word", [], dtype=pl.String))
    assert words.to_list() == []
    assert place.tolist() == []
