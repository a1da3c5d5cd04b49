"""Numbers from 0 to 10 that are scores, and numbers that are something else."""

from __future__ import annotations

import re
from collections.abc import Sequence

from visualjudge.replies.tokens import Word

GREATEST = 10.0
_OPEN = frozenset(("-", "±", "<", ">", "~", "/", "+", "^", "=", "%", "½", "<=", ">=", "to", "×"))
"""Marks beside a number that make it a range, a difference or a share."""

_DECORATION = "()[]≈.,!:;'★☆⭐"


_TO = r"\s*(?:a |an )?(?:possible |total |maximum )?(?:of )?\s*(?P<top>\d+|five|hundred|four|three|six|seven)\b"
_OUT_OF = re.compile(rf"(?:\bout\s+of|/|÷|\bmax(?:imum)?\b\s*:?|\d\s*-){_TO}", re.I)
_SCALE = re.compile(
    r"\b(?:scale|range)\b[^\n\d.]{0,20}\d+\s*(?:-|to|and)\s*(?P<top>\d+)\b|\d\s*-\s*(?P<of>\d+) (?:point )?scale", re.I
)


def other_scale(text: str, start: int, end: int) -> bool:
    """Whether the words around a score at these places name a scale that does not end at ten: "4 out of 5"."""
    begin = max(text.rfind("\n", 0, start) + 1, start - 100)
    stop = re.compile(r"[.,;:\n](?!\d)").search(text, end, end + 60)
    line = text[begin : stop.start() if stop else end + 60]
    tops = [match["top"] for match in _OUT_OF.finditer(line)]
    tops += [match["top"] or match["of"] for match in _SCALE.finditer(text[-2_000:])]
    return any(top not in ("10", None) for top in tops)


def number_of(token: Word) -> float | None:
    """The number that a token is, in digits or as a word ("seven")."""
    if token.number is not None:
        return token.number
    return next((float(kind.removeprefix("number ")) for kind in token.kinds if kind.startswith("number ")), None)


def score_at(said: Sequence[Word], at: int) -> tuple[float, int] | None:
    """The score whose number is token ``at``, and where it ends; None where its neighbours make it another thing.

    "7", "7/10" and "7 out of 10" are scores; "7-8", "7 to 8", "7 %", "7 boxes", "-7" and "7/5" are none.
    """
    number = number_of(said[at])
    if (
        number is None
        or not 0 <= number <= GREATEST
        or (at and (said[at - 1].text in _OPEN - {"="} or "bounds" in said[at - 1].kinds))
    ):
        return None
    after = said[at + 1 : at + 3]
    if not after:
        return number, at + 1
    if after[0].text == "/":
        return (number, at + 3) if len(after) > 1 and after[1].number == GREATEST else None
    if "points" in after[0].kinds and "other scale" not in after[0].kinds:
        return number, at + 2
    if after[0].text == "-" and len(after) > 1 and number_of(after[1]) is None and said[at].end < after[0].start:
        return number, at + 1
    if after[0].text in _OPEN or number_of(after[0]) is not None or after[0].kinds & {"other scale", "supposes"}:
        return None
    return number, at + 1


def only_score(said: Sequence[Word]) -> float | None:
    """The score that the tokens are, and nothing else."""
    skipped = {"filler", "around", "score", "so", "and", "answer"}
    kept = [
        token
        for token in said
        if number_of(token) is not None or not (token.kinds & skipped or token.text[0] in _DECORATION)
    ]
    while kept and kept[0].text in ("~", "+", "="):
        kept = kept[1:]
    found = score_at(kept, 0) if kept and number_of(kept[0]) is not None else None
    if found is None and len(kept) == 3 and [number_of(token) for token in kept[:2]] == [GREATEST, None]:
        return None
    return found[0] if found and found[1] == len(kept) else None
