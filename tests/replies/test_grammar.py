"""A grammar of how judges conclude, apart from the reader's own: every combination of a form, a name for the options,
an introduction and an order of the letters reads as meant; what denies or supposes it never reads as the opposite.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from visualjudge.replies import read_reply

GRAMMAR: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "data" / "grammar.yaml").read_text("utf-8"))
FLIP = {"A": "B", "B": "A"}
LETTERS = st.permutations("ABC").map("".join)


def pair(form: str, letter: str, name: str) -> str:
    said = form.format(X=name.format(letter), Y=name.format(FLIP[letter]))
    return said[0].upper() + said[1:]


@pytest.mark.parametrize("form", GRAMMAR["pairwise"])
def test_a_preference_is_read_whatever_the_options_are_called(form: str) -> None:
    said = {(name, letter): pair(form, letter, name) for name in GRAMMAR["names"] for letter in "AB"}
    read = {text: read_reply(text, "pairwise").value for text in said.values()}
    assert {text: read[text] for (_, letter), text in said.items() if read[text] != letter} == {}


@settings(deadline=None)  # the first call loads the lexicon
@given(
    st.sampled_from(GRAMMAR["cores"]),
    st.sampled_from(GRAMMAR["before"]),
    st.sampled_from(["", *GRAMMAR["after"]]),
    st.sampled_from("AB"),
)
def test_what_stands_around_a_preference_does_not_change_it(core: str, before: str, after: str, letter: str) -> None:
    said = core.format(X=f"option {letter}", Y=f"option {FLIP[letter]}")
    text = before + said[:-1] + after + "."
    assert read_reply(text[0].upper() + text[1:], "pairwise").value == letter


@settings(deadline=None)  # the first call loads the lexicon
@given(
    st.lists(st.tuples(st.sampled_from(GRAMMAR["remarks"]), st.sampled_from("AB")), max_size=6),
    st.sampled_from(GRAMMAR["conclusions"]),
    st.sampled_from("AB"),
    st.sampled_from([" ", "\n", "\n\n"]),
)
def test_remarks_do_not_outweigh_the_conclusion(
    remarks: list[tuple[str, str]], conclusion: str, letter: str, between: str
) -> None:
    said = [remark.format(P=f"Option {about}") for remark, about in remarks]
    text = between.join([*said, pair(conclusion, letter, "Option {}")])
    assert read_reply(text, "pairwise").value == letter


@settings(deadline=None)  # the first call loads the lexicon
@given(st.sampled_from(GRAMMAR["doubts"]), st.sampled_from(GRAMMAR["cores"]), st.sampled_from("AB"))
def test_what_is_denied_or_supposed_is_never_a_preference(doubt: str, core: str, letter: str) -> None:
    said = core.format(X=f"option {letter}", Y=f"option {FLIP[letter]}").rstrip(".")
    value = read_reply(doubt.format(said=said), "pairwise").value
    assert value == "Failed"


@pytest.mark.parametrize("form", GRAMMAR["ranking"])
@settings(deadline=None)  # the first call loads the lexicon
@given(letters=LETTERS)
def test_an_order_is_read_whichever_it_is(form: str, letters: str) -> None:
    text = form.format(*letters)
    assert read_reply(text[0].upper() + text[1:], "ranking", 3).value == letters


@pytest.mark.parametrize("form", GRAMMAR["scoring"])
@settings(deadline=None)  # the first call loads the lexicon
@given(score=st.sampled_from([0, 1, 3, 6, 7, 7.5, 10]))
def test_a_score_is_read_whichever_it_is(form: str, score: float) -> None:
    assert read_reply(form.format(score), "scoring").value == score
