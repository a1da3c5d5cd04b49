"""A judge's stated confidence: "(80% confident)", "Confidence: 0.8", ``"confidence": 85``.

The confidence is one number for the whole answer, 0 to 1. Two different numbers, a word ("fairly
sure"), a bare number with an ambiguous scale (``Confidence: 4``), or the confidence of a detection
that the judge mentions are ignored.
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
"""Number of characters at the end of a reply that are searched."""
LEAST_PERCENT = 20.0
"""Bare numbers from here to 100 are percentages; between 1 and this, the scale is ambiguous."""


def stated_confidence(text: str) -> float | None:
    """Return the confidence, 0 to 1, stated at the end of a reply; None without one, or with
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
