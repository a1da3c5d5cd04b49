"""Why a reply was not read, where an answer stands, ties, and time that grows with length only."""

from __future__ import annotations

import time
from typing import Any

import pytest

from visualjudge.replies import read_reply


@pytest.mark.parametrize(
    ("reply", "kind", "cause"),
    [
        ("It's a tie.", "pairwise", "tie"),
        ("[[A=B=Bad]]", "pairwise", "tie"),
        ("Both are good, but A is not sharper.", "pairwise", "tie"),
        ("It is close, but both are equally good.", "pairwise", "tie"),
        ("The answer could be A.", "pairwise", "hedge"),
        ("Answer: A, B", "pairwise", "several answers"),
        ("A | B", "pairwise", "several answers"),
        ("The image shows a dog.", "pairwise", "no answer"),
        ("85/100", "scoring", "other scale"),
        ("7 to 8", "scoring", "several answers"),
        ("B > A", "ranking", "incomplete"),
        ("Answer: BA", "ranking", "incomplete"),
        ("Ranking: 1. B 2. A", "ranking", "incomplete"),
        ('{"answer": "BA"}', "ranking", "incomplete"),
        ("B is the best.", "ranking", "incomplete"),
        ("B > A > B", "ranking", "several answers"),
        ("A > B, B > A", "ranking", "several answers"),
        ("B > A > C > D", "ranking", "several answers"),
        ("I looked at A and B.", "ranking", "several answers"),
        ("A bad", "ranking", "no answer"),
        ("<think>B", "pairwise", "cut"),
        ("I'm sorry, but I can't help with that.", "pairwise", "declined"),
    ],
)
def test_what_is_not_read_has_a_cause(reply: str, kind: Any, cause: str) -> None:
    reading = read_reply(reply, kind, 3 if kind == "ranking" else 2)
    assert (reading.value, reading.cause) == ("Failed", cause)


@pytest.mark.parametrize(
    ("reply", "kind", "shown", "rule"),
    [
        ("A misses it.\n\n**Answer:** B", "pairwise", "Answer:** B", "label"),
        ("<think>A</think> so \\boxed{B}", "pairwise", "B", "box"),
        ("Good boxes. Score: 7/10", "scoring", "Score: 7/10", "label"),
        ("I rank them B > A > C.", "ranking", "B > A > C", "chain"),
    ],
)
def test_the_span_is_where_the_answer_stands(reply: str, kind: Any, shown: str, rule: str) -> None:
    reading = read_reply(reply, kind, 3)
    assert reading.span is not None
    assert reply[slice(*reading.span)] == shown
    assert reading.rule == rule


def test_ties_are_values_where_the_question_allows_them() -> None:
    allowed = ("tie", "both_bad")
    assert read_reply("Verdict: [[A=B=Good]]", "pairwise", ties=allowed).value == "tie"
    assert read_reply("Both are bad: [[A=B=Bad]]", "pairwise", ties=allowed).value == "both_bad"
    assert read_reply("Model B is better: [[B>A]]", "pairwise", ties=allowed).value == "B"


def test_an_unknown_question_type_is_named() -> None:
    with pytest.raises(ValueError, match="got 'triple'"):
        read_reply("A", "triple")  # type: ignore[arg-type]


UNITS = (
    "[",
    "{",
    '{"a":',
    "A ",
    "A > ",
    "A, ",
    ",",
    "so ",
    "not ",
    "a ",
    "1. ",
    "<think>",
    "<answer>",
    "\\boxed{",
    "(",
    "answer ",
    "A is better and ",
    "7/",
    "A;B;",
    ", ",
    "\n",
    "1, 2, 3, ",
    "A\n",
    "Answer: A\n",
    "</think>",
    "]",
    "{X} ",
    "选择",
    "I cannot ",
    "best ",
    "7 ",
    "[12, 34, 220, 310], ",
    "1. A\n",
    "[[A",
    "[[1, 2], [3, 4]], ",
    "B > A; ",
    "Answer: ",
    "A: 7, ",
    "<think>\n",
    "Score: 7\n",
    "1. B ",
    "(A) ",
    "[A>B] ",
    "x" * 200 + " ",
    "、",
    "> ",
)


def seconds_of(unit: str, length: int, kind: Any) -> float:
    """The least of two readings: a pause of the garbage collector is not the reader's."""
    text = (unit * (length // len(unit) + 1))[:length]
    taken = []
    for _ in range(2):
        begun = time.process_time()
        read_reply(text, kind, 3)
        taken.append(time.process_time() - begun)
    return min(taken)


@pytest.mark.parametrize("kind", ["pairwise", "ranking", "scoring"])
@pytest.mark.parametrize("unit", UNITS)
def test_64_kb_of_any_shape_are_read_at_once_and_twice_the_length_takes_at_most_twice_the_time(
    unit: str, kind: Any
) -> None:
    """50 ms on an idle machine; the bounds leave room for a loaded one."""
    half, whole = seconds_of(unit, 32_000, kind), seconds_of(unit, 64_000, kind)
    assert whole < 0.3
    assert whole < 3 * half + 0.05


@pytest.mark.parametrize(
    ("kind", "unit"),
    [
        ("pairwise", "The mask of A covers the dog, while B misses the tail.\n"),
        ("ranking", "A > B, then "),
        ("scoring", "It finds 7 of 9 dogs. "),
        ("pairwise", "<answer>"),
    ],
)
def test_time_is_linear_up_to_a_megabyte(kind: Any, unit: str) -> None:
    def seconds(length: int) -> float:
        text = (unit * (length // len(unit) + 1))[:length]
        begun = time.process_time()
        read_reply(text, kind, 3)
        return time.process_time() - begun

    assert seconds(1_000_000) < 6 * seconds(250_000) + 0.5
