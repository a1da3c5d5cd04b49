"""How sure a judge says it is: "(80% confident)", "Confidence: 0.8", ``"confidence": 85``.

One number for the answer as a whole, 0 to 1. Two different numbers, a word ("fairly sure"), or a
bare number whose scale is open (``Confidence: 4``) say nothing; nor does the confidence of a
detection that the judge speaks of.
"""

from __future__ import annotations

import re

_NUMBER = r"(?P<{0}>\d{{1,3}}(?:\.\d+)?)\s*(?P<{0}_of>%|percent\b|/\s*(?:100|10|5)\b)?"
_MARKS = r"[\"'*_`]*"
_NOT_OF_A_DETECTION = "".join(
    f"(?<!{word} )" for word in ("detection", "detector", "box", "mean", "average", "its")
)
_STATED = re.compile(
    rf"{_NOT_OF_A_DETECTION}\bconfidence(?:\s+(?:level|score))?{_MARKS}\s*(?:\([^()\n]{{0,30}}\)\s*)?"
    rf"(?:[:=]|is|of){_MARKS}\s*{_MARKS}{_NUMBER.format('after')}"
    rf"|(?<![\d.]){_NUMBER.format('before')}[*_`]*\s*(?:confident|confidence|sure|certain)\b",
    re.IGNORECASE,
)
WITHIN = 400
"""Characters at the end of a reply in which it is looked for."""
LEAST_PERCENT = 20.0
"""A bare number from here to 100 is a percentage; between 1 and this its scale is open."""


def stated_confidence(text: str) -> float | None:
    """The confidence, 0 to 1, that the end of a reply states; None where it states none or
    several.
    """
    found = {_share(match) for match in _STATED.finditer(text[-WITHIN:])}
    return found.pop() if len(found) == 1 else None


def _share(match: re.Match[str]) -> float | None:
    side = "after" if match["after"] is not None else "before"
    number, of = float(match[side]), (match[f"{side}_of"] or "").replace(" ", "").lower()
    scale = (
        100.0 if of in ("%", "percent") else float(of[1:]) if of else 1.0 if number <= 1 else 100.0
    )
    if (not of and 1 < number < LEAST_PERCENT) or number > scale:
        return None
    return number / scale
