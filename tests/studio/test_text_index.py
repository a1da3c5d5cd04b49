"""Full-text search: the bits of frequent words say what the index says."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from numpy.typing import NDArray

from visualjudge.studio import text_index as texts_module
from visualjudge.studio.text_index import TextIndex, words_of

WORD = st.sampled_from(
    ["cat", "Cat", "cats", "catalog", "café", "cafe", "dog", "do", "b-c", "a", "ab", "猫"]
)
TEXT = st.lists(WORD, max_size=5).map(" ".join)
QUERY = st.lists(
    st.one_of(WORD, st.just('"cat dog"'), st.just('"do"')), min_size=1, max_size=3
).map(" ".join)


def index_of(texts: list[str], later: list[str]) -> TextIndex:
    index = TextIndex.create(sqlite3.connect(":memory:", check_same_thread=False))
    for part in (texts, later):
        for text in part:
            index.add(words_of(text))
        index.flush()
        index.complete()
    return index


def found(
    texts: list[str], later: list[str], query: str, fewest: int, patch: pytest.MonkeyPatch
) -> NDArray[np.bool_]:
    patch.setattr(texts_module, "FEWEST_TEXTS", fewest)
    patch.setattr(texts_module, "_SAMPLED", 1)
    return index_of(texts, later).search(query)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(TEXT, min_size=3, max_size=12), st.lists(TEXT, max_size=6), QUERY)
def test_bits_of_frequent_words_change_no_result(
    monkeypatch: pytest.MonkeyPatch, texts: list[str], later: list[str], query: str
) -> None:
    with_bits = found(texts, later, query, 2, monkeypatch)
    without = found(texts, later, query, 1000, monkeypatch)
    assert with_bits.tolist() == without.tolist()


def test_words_in_many_texts_have_bits_and_rare_ones_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(texts_module, "FEWEST_TEXTS", 10)
    monkeypatch.setattr(texts_module, "_SAMPLED", 1)
    index = index_of([f"cat {chr(97 + k // 26)}{chr(97 + k % 26)}q" for k in range(60)], [])
    assert index._frequent.matching("CAT", unfinished=False) == ["cat"]
    assert index._frequent.matching("ca", unfinished=True) == ["cat"]
    assert index._frequent.matching("aaq", unfinished=False) == []
    assert index.search("cat").sum() == 60
    assert index.search("cat aaq").tolist() == [k == 0 for k in range(60)]


def test_words_at_the_end_of_a_batch_and_after_other_letters_are_found() -> None:
    texts = ["猫 é cat", "", "dog", "ü" * texts_module.LONGEST, "last"]
    index = TextIndex.create(sqlite3.connect(":memory:", check_same_thread=False))
    codes = [index.add(words_of(text, repeated=False)) for text in texts]
    assert codes == [0, 1, 2, 3, 4]
    index.flush()
    for word, code in (("猫", 0), ("e", 0), ("cat", 0), ("dog", 2), ("last", 4)):
        assert np.flatnonzero(index.search(f'"{word}"')).tolist() == [code]
    assert np.flatnonzero(index.search("u")).tolist() == [3]


def test_only_texts_that_are_often_repeated_are_merged() -> None:
    index = TextIndex.create(sqlite3.connect(":memory:", check_same_thread=False))
    short, long = words_of("box 1, 2"), words_of("box 1, 2", repeated=False)
    same = words_of("box: 7")
    assert [index.add(text) for text in (short, long, same, long)] == [0, 1, 0, 2]
    index.flush()
    assert index.search("box").tolist() == [True] * 3
