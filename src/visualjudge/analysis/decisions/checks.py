"""The card's checks: a figure, its threshold, one of four states, and why.

``pass`` and ``fail``: the whole interval meets, or misses, the threshold. ``undecided``: neither,
or too few images. ``not_measured``: the run has no figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from visualjudge.analysis.figure_text import many, number, percent, percents, points, span
from visualjudge.analysis.value_and_interval import Estimate

Interval = tuple[float, float]
State = Literal["pass", "fail", "undecided", "not_measured"]
STATES: Mapping[State, str] = {
    "pass": "passes",
    "fail": "fails",
    "undecided": "undecided",
    "not_measured": "not measured",
}
"""Names of the states on pages."""
ICONS: Mapping[State, str] = {"pass": "✓", "fail": "✗", "undecided": "?", "not_measured": "–"}
"""Symbol of each state, shown beside its name."""
WITHIN = "the threshold lies within the interval"
Direction = Literal["at_least", "at_most", "within"]
SIGNS: Mapping[Direction, str] = {"at_least": "≥", "at_most": "≤", "within": "within ±"}
LABELS = {
    "macro_accuracy": "Accuracy, mean over tasks",
    "right_in_both_orders": "Right in both orders",
    "lean": "Position bias",
    "failed": "Replies that cannot be used",
    "favour": "Favouritism, in ranks",
}
"""Names of the checks on pages."""


@dataclass(frozen=True)
class Threshold:
    """The requirement of a check."""

    direction: Direction
    value: float

    def state(self, interval: Interval) -> State:
        """Return the state from the whole interval; "undecided" if the threshold lies inside it."""
        low, high = interval
        limit = self.value
        met, missed = {
            "at_least": (low >= limit, high < limit),
            "at_most": (high <= limit, low > limit),
            "within": (-limit <= low and high <= limit, low > limit or high < -limit),
        }[self.direction]
        return "pass" if met else "fail" if missed else "undecided"


LEAST_IMAGES = 10
"""Nothing passes or fails on fewer images."""
THRESHOLDS: Mapping[str, Threshold] = {
    "macro_accuracy": Threshold("at_least", 0.75),
    "right_in_both_orders": Threshold("at_least", 0.65),
    "lean": Threshold("within", 0.10),
    "failed": Threshold("at_most", 0.05),
    "favour": Threshold("at_most", 0),
}


@dataclass(frozen=True)
class Check:
    """One line of the card; ``why`` says what the state rests on, "" if the figures say it."""

    name: str
    value: float | None
    interval: Interval | None
    threshold: Threshold
    state: State
    images: int
    why: str = ""

    @property
    def shown(self) -> str:
        """The value: a share in per cent, a bias in points, favouritism in ranks."""
        if self.name == "favour":
            return "none shown" if self.value == 0 else number(self.value, 0)
        if self.name == "lean" and self.value is not None:
            return f"{points(self.value)} points"
        return percent(self.value)

    @property
    def ends(self) -> str:
        """The interval, in the unit of the value."""
        if self.interval is None:
            return "–"
        if self.name == "favour":
            return span(self.interval, 0) if self.interval[1] else "–"
        return percents(self.interval)

    @property
    def required(self) -> str:
        """The threshold: ≥ 75 %."""
        unit = {"favour": "", "lean": " points"}.get(self.name, " %")
        value = self.threshold.value * (100 if unit else 1)
        return f"{SIGNS[self.threshold.direction]} {value:g}{unit}"


def check(name: str, measured: Estimate, note: str = "", *, tested: bool = False) -> Check:
    """Return the state of one check. ``note`` is shown where no reason is; a figure that is the
    result of tests (``tested``) is compared by its value.
    """
    threshold, value, images = THRESHOLDS[name], measured.value, measured.images
    low, high = measured.interval or (None, None)
    ends = None if low is None or high is None else (low, high)
    if value is None:
        why = measured.why or "was not asked"
        return Check(name, None, None, threshold, "not_measured", images, why)
    state: State = "undecided"
    compared = (value, value) if tested else ends
    if images < LEAST_IMAGES:
        why = f"only {many(images, 'image')} of at least {LEAST_IMAGES}"
    elif compared is None:
        why = measured.why or "has no interval"
    else:
        state = threshold.state(compared)
        why = note or (WITHIN if state == "undecided" else "")
    return Check(name, value, ends, threshold, state, images, why)
