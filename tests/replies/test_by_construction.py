"""Replies whose label is known by construction: none is misread, few are refused, and marks nearly
never.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from replies import made_replies as made
from visualjudge.replies import read_reply


@pytest.fixture(scope="module")
def read() -> list[tuple[made.Made, object, str | None]]:
    """Each reply with its value and tier."""
    readings = (
        (m, read_reply(m.text, m.kind, m.n, finish_reason=m.finish)) for m in made.replies(7, 500)
    )  # type: ignore[arg-type]
    return [(m, reading.value, reading.read_by) for m, reading in readings]


def test_none_is_misread(read: list[tuple[made.Made, object, str | None]]) -> None:
    assert [
        (m.label, value, m.text) for m, value, _ in read if value not in ("Failed", m.label)
    ] == []


@pytest.mark.parametrize(
    ("kind", "marked", "most"),
    [
        ("pairwise", False, 0.15),
        ("pairwise", True, 0.01),
        ("ranking", False, 0.05),
        ("scoring", True, 0.05),
    ],
)
def test_few_are_refused(
    read: list[tuple[made.Made, object, str | None]], kind: str, marked: bool, most: float
) -> None:
    stated = [
        value
        for m, value, _ in read
        if m.kind == kind and m.label is not None and m.marked == marked
    ]
    assert len(stated) > 50
    assert stated.count("Failed") <= most * len(stated)


def test_each_reading_names_its_tier(read: list[tuple[made.Made, object, str | None]]) -> None:
    assert {tier for _, value, tier in read if value != "Failed"} == {"marked", "prose"}
    assert {tier for _, value, tier in read if value == "Failed"} == {None}


def test_the_marked_tier_alone_reads_no_sentence() -> None:
    assert read_reply("I prefer B.", "pairwise", read="marked").value == "Failed"
    reading = read_reply("A is blurry.\n\nAnswer: B", "pairwise", read="marked")
    assert (reading.value, reading.read_by) == ("B", "marked")


HEADED = "{heading}\n- **A** – misses the dog\n- **B** – finds everything\n\nB is better."


@pytest.mark.parametrize(
    "heading",
    ["Conclusion:", "**Summary:**", "### Verdict", "Final thoughts:", "Answer:", "Result"],
)
def test_a_heading_over_a_list_declares_nothing(heading: str) -> None:
    assert read_reply(HEADED.format(heading=heading), "pairwise").value in ("B", "Failed")
    assert read_reply(HEADED.format(heading="Conclusion:"), "pairwise").value == "B"


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("\\boxed{\\text{\\textbf{B}}}", "pairwise", "B"),
        ("<answer>A</answer> <Answer>B", "pairwise", "Failed"),
        ("<answer>A</answer>\n\nWait.\n\n<ANSWER>B</ANSWER>", "pairwise", "B"),
        ("BETTER IMAGE: 2\n" + "Colour: fine.\n" * 40, "pairwise", "B"),
        (".5", "scoring", 0.5),
        (json.dumps({"rating": 4, "max": 5}), "scoring", "Failed"),
        (json.dumps({"rating": 4, "max": 10}), "scoring", 4.0),
        ("I pick A as the worse one.", "pairwise", "B"),
        ("Answer: A\n\nWait, A misses the dog. Answer: B", "pairwise", "B"),
        ("\\boxed{A}\n\nHmm, let me check again.", "pairwise", "Failed"),
        ("A. <image>\nB. <image>\nPlease answer with A or B.", "pairwise", "Failed"),
        ("From the weakest to the strongest: A, B, C", "ranking", "CBA"),
        ("Listed with the worst up front: A, B, C", "ranking", "Failed"),
        ("A is better\n\nAnswer: Model B'S Edited image:", "pairwise", "A"),
        ("Therefore, Model A is better with the label: [[1>B]].", "pairwise", "Failed"),
        ("A is blurry. B wins. Oh, sorry: A.", "pairwise", "A"),
        (
            "### Option A\nIt is sharp.\n\n### Option B\nIt is blurry.\n\nSo I choose A.",
            "pairwise",
            "A",
        ),
        ("> Which is better?\n\n### Option A\nIt is sharp.\n\nPerhaps B.", "pairwise", "Failed"),
        ("The options are D > C > A.", "ranking", "Failed"),
        ("I guess A... or B.", "pairwise", "Failed"),
        ("It's a tie. A is slightly sharper.", "pairwise", "Failed"),
        ("1. B\n2. A", "pairwise", "B"),
        (
            "1. Colour\nVerdict: A is better.\n2. Shape\nSo the verdict is a tie.",
            "pairwise",
            "Failed",
        ),
        (
            "* option A - looks natural\n• option B - drops the tail\n\nOption A is hardly better.",
            "pairwise",
            "Failed",
        ),
        ("Question 7: 5", "scoring", "Failed"),
        ("Without the blur, I'd give it a 9.", "scoring", "Failed"),
        ("Max score: 7", "scoring", "Failed"),
        ("Sharpness: [[A]]\nColour: [[B]]", "pairwise", "Failed"),
    ],
)
def test_faults_that_were(text: str, kind: str, value: object) -> None:
    assert read_reply(text, kind, 3 if kind == "ranking" else 2).value == value  # type: ignore[arg-type]


@pytest.mark.parametrize("order", ["ABC", "BCA", "CBA"])
@pytest.mark.parametrize(
    "form",
    [
        "The best is {}, then {}, and the worst is {}.",
        "Am besten ist {}, dann kommt {}, und am schlechtesten ist {}.",
        "La mejor es {}, luego {}, y la peor es {}.",
        "First place goes to {}, second place to {}, third place to {}.",
        "Option {} comes first, followed by option {}, and option {} comes last.",
        "From best to worst:\n1. {}\n2. {}\n3. {}",
        "From worst to best:\n1. {2}\n2. {1}\n3. {0}",
        "Von der schlechtesten zur besten:\n- {2}\n- {1}\n- {0}",
        "Worst to best: {2}, {1}, {0}",
    ],
)
@pytest.mark.parametrize(
    "lead", ["", "### A\nIt misses nothing.\n\n### B\nIt has no holes.\n\n### C\nLoose.\n\n"]
)
def test_orders_after_an_account_of_each_option(lead: str, form: str, order: str) -> None:
    assert read_reply(lead + form.format(*order), "ranking", 3).value == order


def test_what_follows_a_list_does_not_turn_it() -> None:
    text = "1. B\n2. C\n3. A\n\nThe holes are worst in A."
    assert read_reply(text, "ranking", 3).value == "BCA"


def test_headings_alone_are_no_order() -> None:
    assert (
        read_reply("### B\nSharp.\n\n### C\nBlurry.\n\n### A\nLoose.", "ranking", 3).value
        == "Failed"
    )


@pytest.mark.parametrize("between", ["", "**Summary**\n"])
def test_the_question_does_not_make_an_account_an_order(between: str) -> None:
    account = "- A: leaves a gap\n- B: adds a box\n- C: finds all\n\n"
    text = f"Rank A, B, C from best to worst.\n\n{between}{account}"
    assert read_reply(text, "ranking", 3).value == "Failed"
    assert (
        read_reply(text + "The best is C, then B, and the worst is A.", "ranking", 3).value == "CBA"
    )
    assert read_reply("From best to worst:\n" + account, "ranking", 3).value == "ABC"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Comparing B with A, the latter is better.", "A"),
        ("Of A and B, I prefer the latter.", "B"),
        ("Between B and A, I prefer the former.", "B"),
        ("I prefer the latter.", "B"),
        ("I find A more convincing than B.", "A"),
        ("I do not find A more convincing than B.", "Failed"),
        ("A should be preferred.", "A"),
        ("Annotation B is better than annotation A.", "B"),
        ("选项B更好——选项A漏掉了狗。", "B"),
    ],
)
def test_sentences_of_an_independent_generator(text: str, value: str) -> None:
    assert read_reply(text, "pairwise").value == value


@pytest.mark.parametrize(
    "text", ["\\boxed{B}", "Answer: B", "B", "I prefer B.", "B is better than A."]
)
@pytest.mark.parametrize("read", ["all", "marked"])
def test_a_reply_that_the_token_limit_cut_is_never_read(text: str, read: Any) -> None:
    reading = read_reply(text, "pairwise", finish_reason="length", read=read)
    assert (reading.value, reading.status, reading.cause) == ("Failed", "truncated", "cut")
