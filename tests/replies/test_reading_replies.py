"""The corpus of replies, and properties that hold for any reply."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, strategies as st

from visualjudge.replies import read_reply

CORPUS = yaml.safe_load((Path(__file__).parent / "data" / "replies.yaml").read_text("utf-8"))
read_reply("A", "pairwise")  # the phrases are loaded once, before hypothesis takes times
KINDS = {
    "pairwise": ("pairwise", 2),
    "scoring": ("scoring", 1),
    "ranking3": ("ranking", 3),
    "ranking4": ("ranking", 4),
    "ranking5": ("ranking", 5),
}
STATUSES = ("unparseable", "refusal", "truncated")


def read(reply: str, question_type: Any, n_options: int = 2, **more: Any) -> tuple[object, str]:
    reading = read_reply(reply, question_type, n_options, **more)
    return reading.value, reading.status


def rows() -> list[Any]:
    return [
        pytest.param(kind, reply, expected, id=f"{kind}-{chapter}-{number}")
        for kind, chapters in CORPUS.items()
        for chapter, entries in chapters.items()
        for number, (reply, expected, *_) in enumerate(entries)
    ]


@pytest.mark.parametrize(("kind", "reply", "expected"), rows()[::9])
def test_any_reply_cut_by_the_token_limit_is_truncated(
    kind: str, reply: str, expected: object
) -> None:
    question_type, n_options = KINDS[kind]
    assert read(reply, question_type, n_options, finish_reason="length") == ("Failed", "truncated")


def test_a_filtered_reply_is_a_refusal_whatever_it_says() -> None:
    assert read("B", "pairwise", finish_reason="refusal") == ("Failed", "refusal")


WORDS = (
    'A B C a answer is better than not option : . > 7 10 / { } " ( ) the or score ranking '
    "\\boxed{ <think> </think> "
    "cannot help ** 更好 答案 より ? , -3 if"
)
ALPHABET = st.sampled_from([*WORDS.split(), "\n"])


@given(
    st.lists(ALPHABET, max_size=25).map(" ".join),
    st.sampled_from(["pairwise", "scoring", "ranking"]),
)
def test_whatever_is_said_the_reading_is_a_possible_answer_or_a_failure(
    reply: str, question_type: Any
) -> None:
    reading = read_reply(reply, question_type, 3)
    if reading.status != "ok":
        assert reading.value == "Failed"
    elif question_type == "pairwise":
        assert reading.value in ("A", "B")
    elif question_type == "ranking":
        assert sorted(str(reading.value)) == ["A", "B", "C"]
    else:
        assert isinstance(reading.value, float)
        assert 0 <= reading.value <= 10


@given(st.text(max_size=200), st.sampled_from(["pairwise", "scoring", "ranking"]))
def test_no_text_breaks_the_reader(reply: str, question_type: Any) -> None:
    read_reply(reply, question_type, 4)


@given(
    st.sampled_from(["A", "B"]),
    st.sampled_from(
        ["**{}**", "Answer: {}", "({})", "Option {}", "{}.", "The answer is {}.", "\\boxed{{{}}}"]
    ),
)
def test_both_letters_are_read_alike(letter: str, form: str) -> None:
    assert read(form.format(letter), "pairwise") == (letter, "ok")


@given(st.text(alphabet="ABab .,:\n", max_size=40))
def test_exchanging_the_letters_exchanges_the_reading(reply: str) -> None:
    """Letters that could be articles aside, neither option is favoured."""
    spaced = reply.upper().replace("A", " option A ").replace("B", " option B ")
    turned = spaced.translate(str.maketrans("AB", "BA"))
    flip: dict[object, object] = {"A": "B", "B": "A"}
    first, second = read_reply(spaced, "pairwise"), read_reply(turned, "pairwise")
    assert flip.get(first.value, first.value) == second.value


SIDES = {"left": "A", "right": "B"}


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("The left image is better.", "A"),
        ("Answer: right", "B"),
        ("**Right.** It keeps the tail.", "B"),
        ("The left one misses a dog, so I prefer the right one.", "B"),
        ("<answer>left</answer>", "A"),
        ("It is better on the left side of the dog.", "Failed"),
        ("The one on the right is better.", "B"),
        ("The left or the right", "Failed"),
        ("left-handed people may prefer it", "Failed"),
    ],
)
def test_names_of_options_are_read_where_the_prompt_has_them(reply: str, value: str) -> None:
    assert read(reply, "pairwise", names=SIDES)[0] == value
    if value != "Failed" and "B" not in reply:
        assert read(reply, "pairwise")[0] == "Failed"


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("The order below is from worst to best.\n\nA, B, C", "CBA"),
        ("I will order from worst to best.\n\n**CAB**", "BAC"),
        ("I list them from worst to best.\nB > A > C", "Failed"),
        ("The order is from worst to best.\n\n\\boxed{CAB}", "Failed"),
        ("Best to worst, as asked.\n\nCAB", "CAB"),
    ],
)
def test_an_order_under_words_that_say_worst_first_is_turned_or_refused(
    reply: str, value: str
) -> None:
    assert read_reply(reply, "ranking", 3).value == value


@pytest.mark.parametrize(
    "reply",
    [
        "Score: 4 out of 5",
        "Score: 4 out of 5.\n\nFine masks.",
        "Score: 4 (out of 5)",
        "Score (1-5): 4",
        "4 out of 5",
        "Score: **4** out of **5**",
        '{"score": 4, "scale": "1-5"}',
        '{"rating": 4, "maximum_score": 5}',
        '{"score": 4, "range": [1, 5]}',
        '{"score": "4 out of 5"}',
        "The scale is 1 to 5. Score: 4",
        "I would rate it 4 out of 5.",
        "Score = 4 (max 5)",
    ],
)
def test_a_score_of_another_scale_is_none(reply: str) -> None:
    reading = read_reply(reply, "scoring")
    assert (reading.value, reading.cause) == ("Failed", "other scale")


@pytest.mark.parametrize(
    "reply", ["Score: 4 out of 10", "Score (0-10): 4", '{"score": 4, "scale": "0-10"}', "4/10"]
)
def test_a_score_of_this_scale_is_read(reply: str) -> None:
    assert read_reply(reply, "scoring").value == 4.0


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("The right one is A.", "A"),
        ("In comparison with A, B is better.", "B"),
        ("B does a better job of finding the dog.", "B"),
    ],
)
def test_common_sentences(reply: str, value: str) -> None:
    assert read_reply(reply, "pairwise").value == value


@pytest.mark.parametrize("bullet", ["", "* ", "- "])
@pytest.mark.parametrize("name", ["**A**", "**Option A**", "A"])
def test_a_name_over_labelled_points_declares_nothing(bullet: str, name: str) -> None:
    part = f"{bullet}{name}\n  - Strengths: tight boxes\n  - Weaknesses: misses the dog\n\n"
    other = "Option B: tight boxes, but it labels a chair as a table."
    assert read_reply(part + other, "pairwise").value == "Failed"
    assert read_reply(f"{part}{other}\n\nB is better.", "pairwise").value == "B"
    assert read_reply("B\n- keeps the dog\n- labels are right", "pairwise").value == "B"
