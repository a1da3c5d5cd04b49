"""The card's checks: a figure, its threshold, one of four states, and how many more images would
settle it.

``pass`` and ``fail``: the whole interval meets, or misses, the threshold. ``undecided``: neither.
``not_measured``: the run has no figure. The number of images is that for a power of 80 %; the
interval shrinks with their square root (Lachin 2011), or with their number if there are no errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import yaml

from visualjudge.analysis.figure_text import about_images, many
from visualjudge.analysis.value_and_interval import NO_TRUTH, ORDER_UNKNOWN
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
UNSKILLED = "can’t tell yet whether the judge is better than chance"
SKILL_UNKNOWN = f"{NO_TRUTH}, so the judge may be guessing"
POWER = 1.43
"""(1.96 + 0.84) / 1.96: the factor by which an interval must be narrower for a power of 80 %."""
MOST_TIMES = 100
"""Maximum factor for the number of images: a figure that needs more is too close to its threshold
to be decided.
"""
Direction = Literal["at_least", "at_most", "within"]
DIRECTIONS: tuple[Direction, ...] = ("at_least", "at_most", "within")
LABELS = {
    "macro_accuracy": "Accuracy, mean over tasks",
    "right_in_both_orders": "Right in both orders",
    "lean": "Position bias",
    "failed": "Replies that cannot be used",
    "order_of_sources": "Order of sources (τ-b)",
    "favour": "Favouritism, in ranks",
    "omega": "Could replace people (ω)",
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

    def met_by(self, value: float) -> bool:
        """Return whether the value itself meets the threshold."""
        return self.state((value, value)) == "pass"

    def images_needed(self, value: float, interval: Interval, images: int) -> int | None:
        """Return how many more images would probably decide it; None if the figure is at the
        threshold or too close to it.
        """
        low, high = value - interval[0], interval[1] - value
        limit = math.copysign(self.value, value) if self.direction == "within" else self.value
        gap, reach = (value - limit, low) if value > limit else (limit - value, high)
        if gap <= 0 or reach <= 0:
            return None
        exact = low <= 0 or high <= 0
        whole = images * (reach / gap if exact else (POWER * reach / gap) ** 2)
        return max(1, math.ceil(whole - images)) if whole <= MOST_TIMES * images else None


@dataclass(frozen=True)
class Thresholds:
    """A card's rules: one threshold per check, the minimum number of images, and the sources of
    each judge's family.
    """

    checks: Mapping[str, Threshold]
    least_images: int
    families: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Evidence:
    """Evidence of a run for one check; ``value`` is None if not measured, and ``why`` explains a
    missing interval.

    ``tested`` marks a figure that is the result of tests: it has no interval, and its value is
    compared with the threshold. ``note`` is shown beside the figure in any state. ``short`` is the
    number of images that are missing for an interval; None if it is missing for another reason.
    ``project`` returns how many more images would decide a threshold; None:
    :meth:`Threshold.images_needed`.
    """

    value: float | None
    interval: Interval | None
    images: int
    why: str | None = None
    tested: bool = False
    note: str | None = None
    short: int | None = None
    project: Callable[[Threshold], int | None] | None = None


NOT_ASKED = Evidence(None, None, 0, "was not asked")
WITHOUT_TRUTH = Evidence(None, None, 0, NO_TRUTH)
NO_ORDER = Evidence(None, None, 0, ORDER_UNKNOWN)
"""Evidence of a run in which the order of the options is unknown."""
NO_PEOPLE = Evidence(None, None, 0, "no answers of several people to compare with (--people)")


@dataclass(frozen=True)
class Check:
    """One line of the card. ``needs_images`` is how many more would probably settle an undecided
    check.
    """

    name: str
    value: float | None
    interval: Interval | None
    threshold: Threshold
    state: State
    images: int
    why: str | None = None
    needs_images: int | None = None

    @property
    def asked(self) -> bool:
        """Whether the run has a figure to check."""
        return self.value is not None

    @property
    def said(self) -> str:
        """The state in words: "undecided, needs about 40 more images"."""
        return STATES[self.state] + (f", {needs(self.needs_images)}" if self.needs_images else "")


def needs(images: int | None) -> str:
    """Say how many more images would probably settle it."""
    return (
        f"needs {about_images(images)}" if images else "no number of images is known to settle it"
    )


def check(name: str, evidence: Evidence, rules: Thresholds, *, skill: Evidence) -> Check:
    """Return the state of one check; ``skill`` is the evidence that the judge is better than chance
    (above 0).
    """
    threshold, found = rules.checks[name], evidence
    state, why, needed = _state(found, threshold, rules.least_images, skill)
    if why == WITHIN and name == "favour":  # the note says what remains possible
        why = found.note
    return Check(
        name, found.value, found.interval, threshold, state, found.images, why or found.note, needed
    )


def _state(
    found: Evidence, threshold: Threshold, least: int, skill: Evidence
) -> tuple[State, str | None, int | None]:
    if found.value is None:
        return "not_measured", found.why or "was not asked", found.short
    short = max(0, least - found.images) or None
    ends = (found.value, found.value) if found.tested else found.interval
    state = None if ends is None else threshold.state(ends)
    projected = None
    if ends is not None and state == "undecided":
        projected = (
            threshold.images_needed(found.value, ends, found.images)
            if found.project is None
            else found.project(threshold)
        )
    if short:
        needed = max(short, projected or 0) if state == "undecided" else short
        return (
            "undecided",
            f"only {many(found.images, 'image')} of at least {least}",
            needed,
        )
    if state is None:
        return "undecided", found.why or "has no interval", found.short
    if state == "undecided":
        return state, WITHIN, projected
    if state == "pass" and not (skill.interval and skill.interval[0] > 0):
        why = SKILL_UNKNOWN if skill.why == NO_TRUTH else skill.note or UNSKILLED
        return "undecided", why, _for_skill(skill)
    return state, None, None


def _for_skill(skill: Evidence) -> int | None:
    if skill.value is None or skill.interval is None or skill.value <= 0:
        return None
    return Threshold("at_least", 0.0).images_needed(skill.value, skill.interval, skill.images)


def read_thresholds(path: str | Path | None = None) -> Thresholds:
    """Read the rules from ``path`` (YAML), or those of the package. Omitted checks keep the
    defaults.

    Raises
    ------
    DataError
        If the file cannot be read, names an unknown check, or a threshold is not a number.
    """
    default = yaml.safe_load(
        resources.files(__package__).joinpath("thresholds.yaml").read_text("utf-8")
    )
    name = "thresholds.yaml" if path is None else str(path)
    own = default if path is None else _read(Path(path))
    given = own.get("checks") or {}
    if not isinstance(given, Mapping):
        raise DataError(f"{name}: checks must map names to thresholds")
    unknown = [str(key) for key in given if key not in default["checks"]]
    if unknown:
        raise DataError(
            f"{name}: checks must be among {', '.join(default['checks'])}, got {unknown[0]}"
        )
    merged = {**default["checks"], **given}
    least = own.get("least_images", default["least_images"])
    if not isinstance(least, int) or isinstance(least, bool) or least < 2:
        raise DataError(f"{name}: least_images must be a whole number of at least 2, got {least!r}")
    return Thresholds(
        {key: _threshold(name, key, rule) for key, rule in merged.items()},
        least,
        _families(name, own),
    )


def _read(path: Path) -> Mapping[str, Any]:
    found = read_yaml(path)
    if not isinstance(found, Mapping):
        raise DataError(f"{path}: must hold checks, least_images or families")
    unknown = [str(key) for key in found if key not in ("checks", "least_images", "families")]
    if unknown:
        raise DataError(f"{path}: must hold checks, least_images or families, got {unknown[0]}")
    return found


def _threshold(file: str, name: str, rule: Any) -> Threshold:
    if isinstance(rule, Mapping) and len(rule) == 1:
        direction, value = next(iter(rule.items()))
        if (
            direction in DIRECTIONS
            and isinstance(value, int | float)
            and not isinstance(value, bool)
        ):
            return Threshold(direction, float(value))
    raise DataError(
        f"{file}: checks: {name} must be one of {', '.join(DIRECTIONS)} and a number, got {rule!r}"
    )


def _families(file: str, own: Mapping[str, Any]) -> Mapping[str, tuple[str, ...]]:
    found = own.get("families") or {}
    if not isinstance(found, Mapping) or not all(
        isinstance(names, list) for names in found.values()
    ):
        raise DataError(f"{file}: families must map a judge to a list of sources")
    return {str(judge): tuple(str(name) for name in names) for judge, names in found.items()}
