"""Ties: values where a question allows them, failures with a cause of their own where it does
not.
"""

from __future__ import annotations

import pytest

from visualjudge.core.records import QuestionType
from visualjudge.replies import read_reply

TIES = ("tie", "both_bad")


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("It's a tie.", "tie"),
        ("Answer: Tie", "tie"),
        ("**Final answer:** Tie", "tie"),
        ("Both miss one dog and have loose boxes.\n\nIt is a tie.", "tie"),
        ("They are equally good.", "tie"),
        ("A misses a dog, B a cat. A and B are equally good.", "tie"),
        ("A und B sind gleich gut.", "tie"),
        ("Both are bad.", "both_bad"),
        ("Answer: Both bad", "both_bad"),
        ("[[A=B]]", "tie"),
        ('{"reasoning": "Nothing fits.", "answer": "both_bad"}', "both_bad"),
    ],
)
def test_a_tie_is_a_value_where_it_is_allowed_only(reply: str, value: str) -> None:
    assert read_reply(reply, "pairwise", ties=TIES).value == value
    refused = read_reply(reply, "pairwise")
    assert (refused.value, refused.status) == ("Failed", "unparseable")


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Both are good, but B is slightly better.", "B"),
        ("A and B are equally good, but B is slightly better.", "B"),
        ("A and B are not equally good.", "Failed"),
        ("If A and B are equally good, say so.", "Failed"),
        ("B is better.", "B"),
        ("It is not a tie.", "Failed"),
        ("It could be a tie.", "Failed"),
        ("It is almost a tie", "Failed"),
        ("Is it a tie?", "Failed"),
        ("It's a tie. Wait, A has tighter boxes, and B has better labels.", "Failed"),
    ],
)
def test_what_only_mentions_a_tie_is_none(reply: str, value: str) -> None:
    assert read_reply(reply, "pairwise", ties=TIES).value == value


@pytest.mark.parametrize(
    ("reply", "question_type", "n", "value"),
    [
        ('{"Analysis": "Assistant A is fine.", "Judgement": "[[C]]"}', "pairwise", 2, "tie"),
        ('{"Analysis": "x", "Judgement": "[[C]], [[A]], [[B]]"}', "ranking", 3, "CAB"),
        ("[[C]], [[A]]", "ranking", 3, "Failed"),
        ("[[C]], [[A]], [[A]]", "ranking", 3, "Failed"),
        ("Worst to best: [[C]], [[A]], [[B]]", "ranking", 3, "Failed"),
        (
            "IMAGE-1 RATING: 7\n\nBETTER IMAGE: 2\n\nANALYSIS OF CHOICE: Image 1 is better in "
            "colour.",
            "pairwise",
            2,
            "B",
        ),
        ("BETTER IMAGE: IMAGE-1", "pairwise", 2, "A"),
        ("IMAGE-1 RATING: 7\nBETTER IMAGE: 0", "pairwise", 2, "tie"),
        ("BETTER IMAGE: 1 or 2", "pairwise", 2, "Failed"),
        ("BETTER IMAGE: 1\nOn reflection, BETTER IMAGE: 2", "pairwise", 2, "B"),
        (
            '{"reasoning": {"colour": "A is better"}, "score": 2, "better_response": "B"}',
            "pairwise",
            2,
            "B",
        ),
    ],
)
def test_the_reply_forms_of_published_benchmarks(
    reply: str, question_type: QuestionType, n: int, value: str
) -> None:
    found = read_reply(
        reply, question_type, n, ties=("tie",) if question_type == "pairwise" else ()
    )
    assert found.value == value
    assert found.status == ("unparseable" if value == "Failed" else "ok")
