"""Each row of phrases.yaml is tested by its example; and a phrase counts only where nothing denies
or supposes it.
"""

from __future__ import annotations

import pytest

import visualjudge.replies.__main__ as phrase_check
from visualjudge.replies import read_reply
from visualjudge.replies.__main__ import faults
from visualjudge.replies.phrases import KINDS, source

DENIALS = (
    "I do not think that {}",
    "If {}",
    "Perhaps {}",
    "Nobody would say that {}",
    "It is not clear whether {}",
)


def test_every_example_is_read_as_its_row_says() -> None:
    assert list(faults()) == []


def test_a_fault_names_the_row_and_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"{X} zegeviert": "B zegeviert niet.", "{X} is {beter}": "B is better."}
    monkeypatch.setattr(
        phrase_check, "source", lambda: {"Dutch": {"words": {}, "compares": rows, "compars": {}}}
    )
    assert list(faults()) == [
        "phrases.yaml:0: Dutch, compares, '{X} zegeviert': the example 'B zegeviert niet.' must "
        "be read as B, "
        "got Failed",
        "phrases.yaml:0: Dutch, compares, '{X} is {beter}': must name lists of words, got beter",
        f"Dutch: must have sections named words, {', '.join(KINDS)}, got 'compars'",
    ]


def test_no_phrase_counts_where_it_is_denied_or_supposed() -> None:
    for kind in ("prefers", "compares"):
        for example in map(str, source()["English"][kind].values()):
            for denial in DENIALS if "," not in example else ():
                assert read_reply(denial.format(example), "pairwise").value == "Failed", (
                    denial.format(example)
                )
