"""Ties: values where a question allows them, failures with a cause of their own where it does not."""

from __future__ import annotations

import pytest

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
