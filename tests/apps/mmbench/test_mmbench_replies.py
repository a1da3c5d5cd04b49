"""The corpus of replies: each with the option that either rule reads, and why they
differ where they do.
"""

from __future__ import annotations

import string
import time
from pathlib import Path

import yaml
from hypothesis import example, given, strategies as st

from folding import each
from visualjudge.apps.mmbench.evaluate import READERS
from visualjudge.apps.mmbench.reply_reading import (
    mentions,
    read_several,
    read_strict,
)

CORPUS = yaml.safe_load(
    (Path(__file__).parent / "replies.yaml").read_text(encoding="utf-8")
)
WORDS = ["umbrella", "tractor", "penguin", "violin"]


def lettered(texts):
    return dict(zip(string.ascii_uppercase, texts, strict=False))


@each("rules", ["strict", "vlmevalkit"])
@each("entry", CORPUS, ids=lambda entry: entry["reply"][:30] or "empty")
def test_corpus_reply_is_read_as_expected(entry, rules):
    assert (
        READERS[rules, "letter"](
            entry["reply"], lettered(entry["options"])
        ).letter
        == entry[rules]
    )


@each(
    ("form", "reply", "letters"),
    [
        ("letters", "The best answer is (C), (a)", "AC"),
        ("letters", "D and b, as seen", "ABDE"),
        ("letters", "no capital", None),
        ("list", "['C', 'A']", "AC"),
        ("list", "['CA']", None),
        ("list", "[1]", None),
        ("list", "C, A", None),
    ],
)
def test_several_letters_are_those_that_the_benchmark_s_code_reads(
    form, reply, letters
):
    assert READERS["vlmevalkit", form](reply, {}).letter == letters


def test_corpus_says_why_wherever_the_rules_differ():
    assert all(
        ("why" in entry) == (entry["strict"] != entry["vlmevalkit"])
        for entry in CORPUS
    )


def test_letter_before_an_options_text_wins_over_the_text():
    assert read_strict("B. umbrella", lettered(WORDS)).letter == "B"


def test_option_whose_text_is_another_options_letter_is_read_as_a_letter():
    assert read_strict("B", {"A": "B", "B": "A"}).letter == "B"


def test_option_that_reads_like_a_refusal_is_an_option():
    options = lettered(["Cannot be determined", "Yes", "No"])
    assert read_strict("It cannot be determined.", options).letter == "A"


def test_options_with_the_same_text_are_not_told_apart():
    assert (
        read_strict("tractor", {"A": "tractor", "B": "tractor"}).letter is None
    )


def test_reason_names_both_letters():
    assert (
        read_strict("Either A or C.", lettered(WORDS)).why
        == "two letters (A, C)"
    )


def test_mention_within_a_longer_options_text_is_none_of_its_own():
    found = mentions("an oil painting", {"A": "painting", "B": "oil painting"})
    assert found == [(3, 15, "B")]


def test_text_across_a_line_end_is_found():
    assert [
        letter
        for _, _, letter in mentions("it is the Car\n park.", {"A": "car park"})
    ] == ["A"]


@example("0=B;00", ["0", "0"])
@given(
    reply=st.text(max_size=80),
    texts=st.lists(st.text(min_size=1, max_size=12), min_size=2, max_size=6),
)
def test_whatever_is_read_is_the_letter_of_an_option(reply, texts):
    options = lettered(texts)
    for rules in ("strict", "vlmevalkit"):
        letter = READERS[rules, "letter"](reply, options).letter
        assert letter is None or letter in options


@given(
    letter=st.sampled_from("ABCD"),
    form=st.sampled_from(
        [
            "{}",
            "({})",
            "**{}**",
            "The answer is {}.",
            "Answer: {}",
            "I choose option {}.",
        ]
    ),
)
def test_declared_letter_is_read_whatever_the_letter(letter, form):
    assert read_strict(form.format(letter), lettered(WORDS)).letter == letter


@each(
    "reply",
    [
        "Answer:" + "\n" * 40_000 + "x",
        "Answer:" + " " * 40_000 + "x",
        "(" * 40_000,
        "A" + "*" * 40_000 + "x",
        "option A is not it, " * 5_000,
        "<think>" * 5_000,
        "- " * 20_000,
    ],
    ids=[
        "lines",
        "blanks",
        "brackets",
        "stars",
        "letters",
        "thoughts",
        "bullets",
    ],
)
def test_runaway_reply_is_read_in_a_moment(reply):
    started = time.process_time()
    read_strict(reply, lettered(WORDS))
    assert time.process_time() - started < 2


def test_place_to_the_right_is_no_praise():
    assert read_strict("A is right of B.", lettered(WORDS)).letter is None


def test_article_within_an_answer_tag_is_no_letter():
    assert (
        read_strict("<answer>A tractor</answer>", lettered(WORDS)).letter == "B"
    )
    assert read_strict("<answer>C</answer>", lettered(WORDS)).letter == "C"


def test_two_options_are_no_pair_that_may_tie():
    options = {"A": "harbour", "B": "dolphin"}
    assert (
        read_strict("dolphin and harbour are both there.", options).letter
        is None
    )
    assert read_strict("They are equally good.", options).letter is None


@each(
    ("reply", "letters"),
    [
        ("I see both.\nAnswer: A, C", "AC"),
        ("\\boxed{A}, then \\boxed{B, D}", "BD"),
        ("Answers are B and D", "BD"),
        ("It is fine.\nBD", "BD"),
        ("C, A", "AC"),
        ("CA", None),
        ("A, E", None),
        ("A cat", None),
    ],
)
def test_several_letters_are_read_where_they_stand_alone(reply, letters):
    options = {letter: f"thing {letter}" for letter in "ABCD"}
    assert read_several(reply, options).letter == letters
