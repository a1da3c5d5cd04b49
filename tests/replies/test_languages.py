"""Conclusions in the languages that models answer in, and sentences that conclude nothing, after any remarks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from visualjudge.replies import read_reply

DATA = Path(__file__).parent / "data"
LANGUAGES: dict[str, dict[str, dict[str, list[str]]]] = yaml.safe_load((DATA / "languages.yaml").read_text("utf-8"))
GRAMMAR: dict[str, Any] = yaml.safe_load((DATA / "grammar.yaml").read_text("utf-8"))
OTHER = {"A": "B", "B": "A"}
ORDERS = ("BAC", "CBA", "ACB")
SCORES = (0, 6.5, 7)


def said(forms: dict[str, list[str]]) -> list[tuple[str, str, str | float]]:
    """Each form with each value: question type, text, value."""
    prose = [*forms.get("pairwise", ()), *forms.get("praise", ())]
    pairs = [("pairwise", pair(form, letter), letter) for form in prose for letter in "AB"]
    orders = [("ranking", form.format(*order), order) for form in forms.get("ranking", ()) for order in ORDERS]
    scores = [("scoring", form.format(score), score) for form in forms.get("scoring", ()) for score in SCORES]
    return [*pairs, *orders, *scores]


def pair(form: str, letter: str) -> str:
    return form.replace("{X}", letter).replace("{Y}", OTHER[letter])


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_conclusion_is_read_in_any_language(language: str) -> None:
    wanted = said(LANGUAGES[language]["read"])
    wrong = {text: read_reply(text, kind, 3).value for kind, text, _ in wanted}  # type: ignore[arg-type]
    assert {text: wrong[text] for _, text, value in wanted if wrong[text] != value} == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_concludes_nothing_is_not_read(language: str) -> None:
    texts = said(LANGUAGES[language].get("unread", {}))
    read = {text: read_reply(text, kind, 3).value for kind, text, _ in texts}  # type: ignore[arg-type]
    assert {text: value for text, value in read.items() if value != "Failed"} == {}


Remarks = list[tuple[str, str]]
REMARKS = st.lists(st.tuples(st.sampled_from(GRAMMAR["remarks"]), st.sampled_from("AB")), max_size=3)
BETWEEN = st.sampled_from([" ", "\n", "\n\n"])


def remarked(remarks: Remarks, between: str, end: str) -> str:
    return between.join([*(remark.format(P=f"Option {about}") for remark, about in remarks), end])


@settings(deadline=None)  # the first call loads the lexicon
@given(REMARKS, st.sampled_from(LANGUAGES["en"]["unread"]["pairwise"]), st.sampled_from("AB"), BETWEEN)
def test_remarks_make_no_conclusion_of_what_is_none(remarks: Remarks, form: str, letter: str, between: str) -> None:
    assert read_reply(remarked(remarks, between, pair(form, letter)), "pairwise").value == "Failed"


@settings(deadline=None)  # the first call loads the lexicon
@given(REMARKS, st.sampled_from(LANGUAGES["en"]["read"]["pairwise"]), st.sampled_from("AB"), BETWEEN)
def test_after_remarks_a_conclusion_is_never_read_as_its_opposite(
    remarks: Remarks, form: str, letter: str, between: str
) -> None:
    assert read_reply(remarked(remarks, between, pair(form, letter)), "pairwise").value in (letter, "Failed")
