"""Replies that decline, and sentences that take back what stands before them. Answers
are found in ``marked_answers.py`` and ``statements.py``.
"""

import re
from itertools import islice

from visualjudge.replies.words import lists, plain

LONGEST = 1_000
_WORD = re.compile(r"\w+")
SENTENCE = re.compile(r"[^.!?\n]+")


def is_refusal(text: str) -> bool:
    """Return whether any sentence declines ("cannot … help", a policy); indecision is
    none."""
    return any(map(_declines, SENTENCE.findall(plain(text[:LONGEST]))))


def _declines(sentence: str) -> bool:
    start, end = next(lists("cannot").spans(sentence), (0, len(sentence)))
    return (
        (
            lists("helps").within(sentence, end)
            and not lists("undecided").within(sentence, end)
        )
        or lists("sorry").within(sentence, 0, start)
        or lists("declines").within(sentence)
    )


def retracts(text: str) -> bool:
    """Return whether one of the first two words of a sentence takes back what stands
    before ("Wait, no")."""
    return any(
        lists("retracts").begin(sentence, word.start())
        for sentence in SENTENCE.findall(text)
        for word in islice(_WORD.finditer(sentence), 2)
    )
