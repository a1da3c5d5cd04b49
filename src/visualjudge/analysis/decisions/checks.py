"""The card's checks: a figure, its threshold, one of four states, and why.

``pass`` and ``fail``: the whole interval meets, or misses, the threshold. ``undecided``: neither,
or too few images. ``not_measured``: the run has no figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import yaml

from visualjudge.analysis.figure_text import many, number, percent, percents, points, span
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.core.errors import DataError
from visualjudge.core.yamls import read_yaml

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
GONE = {"families", "order_of_sources", "omega"}
"""Names in thresholds of 1.0, which are ignored."""


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


@dataclass(frozen=True)
class Thresholds:
    """A card's rules: one threshold per check, and the minimum number of images."""

    checks: Mapping[str, Threshold]
    least_images: int


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


def check(
    name: str, measured: Estimate, rules: Thresholds, note: str = "", *, tested: bool = False
) -> Check:
    """Return the state of one check. ``note`` is shown where no reason is; a figure that is the
    result of tests (``tested``) is compared by its value.
    """
    threshold, value, images = rules.checks[name], measured.value, measured.images
    low, high = measured.interval or (None, None)
    ends = None if low is None or high is None else (low, high)
    if value is None:
        why = measured.why or "was not asked"
        return Check(name, None, None, threshold, "not_measured", images, why)
    state: State = "undecided"
    compared = (value, value) if tested else ends
    if images < rules.least_images:
        why = f"only {many(images, 'image')} of at least {rules.least_images}"
    elif compared is None:
        why = measured.why or "has no interval"
    else:
        state = threshold.state(compared)
        why = note or (WITHIN if state == "undecided" else "")
    return Check(name, value, ends, threshold, state, images, why)


def read_thresholds(path: str | Path | None = None) -> Thresholds:
    """Read the rules from ``path`` (YAML), or those of the package. Omitted checks keep the
    defaults.

    Raises
    ------
    DataError
        If the file cannot be read, names an unknown check, or a threshold is not a number.
    """
    text = resources.files(__package__).joinpath("thresholds.yaml").read_text("utf-8")
    rules = yaml.safe_load(text)
    own = {} if path is None else read_yaml(Path(path))
    where = "thresholds.yaml" if path is None else str(path)
    if not isinstance(own, Mapping) or not set(own) <= {*rules, *GONE}:
        raise DataError(f"{where}: must hold checks or least_images, got {_first(own, rules)}")
    checks = own.get("checks") or {}
    known = rules["checks"]
    if not isinstance(checks, Mapping) or not set(checks) <= {*known, *GONE}:
        names = ", ".join(known)
        raise DataError(f"{where}: checks must be among {names}, got {_first(checks, known)}")
    least = own.get("least_images", rules["least_images"])
    if not isinstance(least, int) or isinstance(least, bool) or least < 2:
        raise DataError(
            f"{where}: least_images must be a whole number of at least 2, got {least!r}"
        )
    merged = {name: checks.get(name, known[name]) for name in known}
    return Thresholds({key: _threshold(where, key, rule) for key, rule in merged.items()}, least)


def _first(held: Any, known: Mapping[str, Any]) -> str:
    """Return the first name that is not known."""
    if not isinstance(held, Mapping):
        return repr(held)
    return next(str(key) for key in held if key not in {*known, *GONE})


def _threshold(where: str, name: str, rule: Any) -> Threshold:
    if isinstance(rule, Mapping) and len(rule) == 1:
        direction, value = next(iter(rule.items()))
        if direction in SIGNS and isinstance(value, int | float) and not isinstance(value, bool):
            return Threshold(direction, float(value))
    raise DataError(
        f"{where}: checks: {name} must be one of {', '.join(SIGNS)} and a number, got {rule!r}"
    )
