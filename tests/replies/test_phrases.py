"""Each row of phrases.yaml is tested by its example; and a phrase counts only where nothing denies or supposes it."""

from __future__ import annotations

import pytest

from visualjudge.replies import read_reply
from visualjudge.replies.phrases import PHRASES, source

ROWS = [
    (language, kind, phrase, example)
    for language, sections in source().items()
    for kind in PHRASES
    for phrase, example in sections.get(kind, {}).items()
]
VALUES = {"ties": "tie", "both bad": "both_bad", "void": "Failed", "scores": 7.0}
DENIALS = ("I do not think that {}", "If {}", "Perhaps {}", "Nobody would say that {}", "It is not clear whether {}")


@pytest.mark.parametrize(("language", "kind", "phrase", "example"), ROWS)
def test_the_example_of_a_phrase_is_read(language: str, kind: str, phrase: str, example: str) -> None:
    reading = read_reply(example, "scoring" if kind == "scores" else "pairwise", ties=("tie", "both_bad"))
    assert reading.value == VALUES.get(kind, "B") or (kind == "ties" and reading.cause == "tie")


def test_no_phrase_counts_where_it_is_denied_or_supposed() -> None:
    for language, kind, _, example in ROWS:
        if language == "English" and kind in ("prefers", "compares") and "," not in example:
            for denial in DENIALS:
                assert read_reply(denial.format(example), "pairwise").value == "Failed", denial.format(example)
