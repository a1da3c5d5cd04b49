"""Replies are read right or not at all: made replies, a table of cases with causes, and
time."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pytest

from folding import each
from replies import made_replies as made
from visualjudge.core.errors import UsageError
from visualjudge.replies import read_reply
from visualjudge.replies.words import source

TIES = ("tie", "both_bad")


@pytest.fixture(scope="module")
def outcomes() -> Counter[tuple[str, bool, str]]:
    """Right, refused and misread of 10,000 made replies, by kind and whether they hold
    a mark."""
    counts = Counter[tuple[str, bool, str]]()
    for one in made.replies(4711, 1_000):
        kind: Any = one.kind
        found = read_reply(one.text, kind, one.n, finish_reason=one.finish)
        assert found.value in ("Failed", one.label), (
            one.label,
            found.value,
            one.text,
        )
        assert (found.value == "Failed") == (found.cause is not None)
        state = "right" if found.value == one.label else "refused"
        counts[
            one.kind, one.marked, state if one.label is not None else "nothing"
        ] += 1
    return counts


@pytest.mark.parametrize(
    ("kind", "marked", "most"),
    [
        ("pairwise", True, 0.03),
        ("ranking", True, 0.005),
        ("scoring", True, 0.005),
        ("pairwise", False, 0.45),
    ],
)
def test_none_is_misread_and_few_are_refused(
    outcomes: Counter[tuple[str, bool, str]],
    kind: str,
    marked: bool,
    most: float,
) -> None:
    right, refused = (
        outcomes[kind, marked, "right"],
        outcomes[kind, marked, "refused"],
    )
    assert right > 200
    assert refused <= most * (right + refused)


@each(
    ("reply", "value"),
    [
        ("\\boxed{12}\nAnswer: B", "B"),
        ("\\boxed{A}\n\nAnswer: B", "several answers"),
        ("Both reach \\boxed{\\text{4}}.\n\nSo it is [[B>>A]].", "B"),
        ("\\boxed{\\text{\\textbf{B}}}", "B"),
        ("<think>A</think> so <answer>B", "B"),
        ("<answer>A</answer> <Answer>B", "several answers"),
        (
            "<|channel|>analysis<|message|>Answer: A<|end|><|channel|>final<|message|>B",
            "B",
        ),
        ("<|channel|>analysis<|message|>Answer: A<|end|>", "cut"),
        ("Sharpness: [[A]]\nColour: [[B]]", "several answers"),
        ('{"reasoning": "Answer: A", "answer": "B"}', "B"),
        ('{"choice": "A", "final_choice": "B"}', "B"),
        (
            "### Option A\nSharp.\n\n### Option B\nBlurry.\n\n### Verdict\n\nA",
            "A",
        ),
        ("### Option A\nSharp.\n\n### Option B\nBlurry.", "several answers"),
        ("Answer: A\n\nWait, actually I am not sure.", "several answers"),
        ("Answer: A. Wait, A misses the dog. Answer: B", "several answers"),
        ("Answer: A. The sky actually looks blue.", "A"),
        ("The worse one is [[A]].", "no answer"),
        ("- [x] A\n- [ ] B", "A"),
        ("Answer:\n- [ ] A\n- [x] B", "B"),
        ("✅ A\n❌ B", "A"),
        ("Option A is blurry. So the answer is **B**.", "B"),
        ("Answer: A or B", "several answers"),
        ("Answer: C", "unknown option"),
        ("A\nAnswer: C", "unknown option"),
        ("C", "unknown option"),
        ("Verdict first.\nI see blur in both.", "no answer"),
        ("It could be A.", "no answer"),
        ("B isn't as good as A.", "no answer"),
        ("Nobody would say that A is better.", "no answer"),
        ("A better result would include the whole dog.", "no answer"),
        ("It's a tie.", "tie"),
        ("Given this, I prefer B over A, because A misses the dog.", "B"),
        ("B is better. For colour, A is better.", "several answers"),
        ("I prefer B, but only if colour matters.", "hedge"),
        ("The loser:\n\nA", "hedge"),
        ("**Worse prediction**\nA", "hedge"),
        ("The better one is:\nA", "A"),
        ("A vs. B", "no answer"),
        ("A (the worse one)", "hedge"),
        ("A is far from better than B.", "no answer"),
        ("<think>B", "cut"),
        ("I'm sorry, but I can't help with that.", "declined"),
    ],
)
def test_a_pairwise_reply_has_a_value_or_a_cause(
    reply: str, value: str
) -> None:
    found = read_reply(reply, "pairwise")
    assert value in (found.value, found.cause)


@each(
    ("reply", "kind", "value"),
    [
        ("从低到高：1. C 2. A 3. B", "ranking", "several answers"),
        ("从低到高：C、A、B", "ranking", "several answers"),
        ("Answer: C, A, B (worst first)", "ranking", "several answers"),
        ("Noise: A > B > C", "ranking", "no answer"),
        ("B is best, followed by A, and C is the worst.", "ranking", "no answer"),
        ("[[C]], [[A]], [[B]]", "ranking", "CAB"),
        ("B > A = C", "ranking", "several answers"),
        ("Answer: B > A", "ranking", "incomplete"),
        ("Answer: B > A > D", "ranking", "unknown option"),
        ("1. B - sharp\n2. A - soft\n3. C - wrong", "ranking", "BAC"),
        ("3. C - wrong\n2. A - soft\n1. B - sharp", "ranking", "no answer"),
        ("1. A - sharp\n2. B - soft\n3. C - wrong", "ranking", "no answer"),
        ("Both reach \\boxed{3}. Score: 7", "scoring", "several answers"),
        ("Both reach \\boxed{3}.\n\nScore: 7", "scoring", "several answers"),
        ("Edges: 6/10\nLabels: 8/10\n\n**Overall: 5/10**", "scoring", 5.0),
        ("On a 1-5 scale.\n\nScore: 4", "scoring", "other scale"),
        ("Score: 4 (max 5)", "scoring", "several answers"),
        ("85/100", "scoring", "other scale"),
        ("7 to 8", "scoring", "no answer"),
        ("It detects 7/10.", "scoring", "no answer"),
        ("Score: 5 (revised to 6)", "scoring", "several answers"),
        ("Errors:\n3", "scoring", "hedge"),
        ("5 boxes", "scoring", "no answer"),
        ("Image 3", "scoring", "no answer"),
        ("9/10 images", "scoring", "no answer"),
        ("Image 3\nScore: 7", "scoring", 7.0),
    ],
)  # fmt: skip
def test_orders_and_scores_have_a_value_or_a_cause(
    reply: str, kind: Any, value: object
) -> None:
    found = read_reply(reply, kind, 3)
    assert value in (found.value, found.cause)


@pytest.mark.parametrize(
    "reply", ["[[C]]", "Reasoning first.\nAnswer: C", '{"winner": "C"}', "C"]
)
def test_letters_of_the_users_own_are_answers(reply: str) -> None:
    assert (
        read_reply(reply, "pairwise", ties=TIES, names={"C": "tie"}).value
        == "tie"
    )
    assert read_reply(reply, "pairwise", names={"C": "tie"}).cause == "tie"
    assert (
        read_reply(
            "Answer: left", "pairwise", names={"left": "A", "right": "B"}
        ).value
        == "A"
    )


@each(
    ("name", "status"),
    [
        ("length", "truncated"),
        ("MAX_TOKENS", "truncated"),
        ("model_length", "truncated"),
        ("network_error", "api_error"),
        ("abort", "api_error"),
        ("SAFETY", "refusal"),
        ("end_turn", "ok"),
        ("eos", "ok"),
    ],
)
def test_a_reply_that_was_cut_is_never_read_whatever_the_provider_calls_it(
    name: str, status: str
) -> None:
    assert (
        read_reply("Answer: A", "pairwise", finish_reason=name).status == status
    )


def test_the_tier_and_the_place_of_an_answer_are_named() -> None:
    found = read_reply("A misses it.\n\n**Answer:** B", "pairwise")
    assert (found.read_by, found.rule) == ("marked", "label")
    assert found.span is not None
    assert (
        "A misses it.\n\n**Answer:** B"[slice(*found.span)] == "**Answer:** B"
    )
    assert read_reply("I prefer B.", "pairwise").read_by == "prose"
    assert (
        read_reply("I prefer B.", "pairwise", read="marked").value == "Failed"
    )
    with pytest.raises(UsageError, match="got 'triple'"):
        read_reply("A", "triple")  # type: ignore[arg-type]
    for count in (-1, 0, 1, 6):
        with pytest.raises(UsageError, match=f"got {count}$"):
            read_reply("A", "ranking", count)


def test_the_phrase_file_is_plain_yaml() -> None:
    assert all(
        isinstance(word, str)
        for words in source()["words"].values()
        for word in words
    )


@each(
    "unit",
    ["[", "{", '{"a":', "A ", "A > ", "<think>", "<answer>", "\\boxed{", "1. A\n", "A\n", "A;B;",
     "Answer: A\n", "not ", " ", "[[A", "7/10 ", "选择", "[A>B] ", "A is better and "],
)  # fmt: skip
@each("kind", ["pairwise", "ranking", "scoring"])
def test_time_grows_with_the_length_only(unit: str, kind: Any) -> None:
    def seconds(length: int) -> float:
        begun = time.process_time()
        read_reply((unit * (length // len(unit) + 1))[:length], kind, 3)
        return time.process_time() - begun

    assert seconds(64_000) < 0.6  # 50 ms on a quiet machine


def test_a_reply_over_a_mebibyte_is_not_read() -> None:
    assert read_reply("A" * (2**20 + 1), "pairwise").cause == "too long"
