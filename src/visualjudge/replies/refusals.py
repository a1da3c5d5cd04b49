"""Sentences by which a model declines to judge. Indecision is not a refusal: "I cannot tell which
is better".
"""

from __future__ import annotations

import re

from visualjudge.replies.words import Asked, Word, plain, words

# Number of characters within which a refusal must occur.
LONGEST = 1_000
_NOTHING_ASKED = Asked("", "")
_END = re.compile(r"[.!?\n。！？]")


def is_refusal(text: str) -> bool:
    """Return whether any sentence declines: "cannot … help", "sorry … cannot", a policy."""
    return any(map(_declines, _END.split(plain(text[:LONGEST]))))


def _declines(sentence: str) -> bool:
    said: list[Word] = words(sentence, _NOTHING_ASKED)
    if any(word.of("declines") for word in said):
        return True
    cannot = next((n for n, word in enumerate(said) if word.of("cannot")), len(said))
    undecided = any(word.of("undecided") for word in said[cannot:])
    sorry = any(word.of("sorry") for word in said[:cannot])
    helps = any(word.of("helps") for word in said[cannot:])
    return cannot < len(said) and not undecided and (sorry or helps)
