"""Rules that ignore the image, in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from visualjudge.analysis.figures import Leak
from visualjudge.analysis.pairwise_figures import OF_TWO
from visualjudge.analysis.value_and_interval import Share

RULES = {
    "position": "the option shown first",
    "text_chars": "the longer text",
    "count": "more boxes, masks or points",
    "area": "the larger marked area",
    "png_bytes": "the larger image file",
}
OPPOSITES = {"first": "second", "longer": "shorter", "more": "fewer", "larger": "smaller"}


def opposite(name: str) -> str:
    """Return the name of the rule that is right where the rule of this name is wrong."""
    return " ".join(OPPOSITES.get(word, word) for word in name.split(" "))


def as_right(row: Leak) -> Leak:
    """Return the rule under its name in words; for a rule that is wrong more often than right, its
    opposite, with the accuracy of that.
    """
    name, share = RULES[row.rule], row.share
    if share.value is None or share.value >= OF_TWO:
        return replace(row, rule=name)
    low, high = share.interval or (None, None)
    ends = None if low is None or high is None else (1 - high, 1 - low)
    turned = Share(1 - share.value, ends, share.n, share.images, share.why)
    return replace(row, rule=opposite(name), share=turned)


def best_rule(found: Iterable[Leak]) -> Leak | None:
    """Return the rule that is right most often, as :func:`as_right` returns it; None if there are
    no rules.
    """
    known = [as_right(row) for row in found if row.share.value is not None]
    return max(known, key=lambda row: row.share.value or 0.0, default=None)
