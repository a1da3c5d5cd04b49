"""The licence card's checks: a figure, its threshold, and one of three states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import yaml

from visualjudge.analysis.words import many
from visualjudge.core.errors import DataError
from visualjudge.core.yamls import read_yaml

Interval = tuple[float, float]
State = Literal["pass", "fail", "not_shown"]
Direction = Literal["at_least", "at_most", "within"]
DIRECTIONS: tuple[Direction, ...] = ("at_least", "at_most", "within")
LABELS = {
    "macro_accuracy": "Right, mean over tasks",
    "right_in_both_orders": "Right in both orders",
    "lean": "Lean towards the option shown first",
    "failed": "Replies that cannot be used",
    "order_of_sources": "Order of sources (τ-b)",
    "omega": "Could replace people (ω)",
}
"""What pages call the checks."""


@dataclass(frozen=True)
class Threshold:
    """What a check asks for."""

    direction: Direction
    value: float

    def state(self, interval: Interval) -> State:
        """By the whole interval; "not_shown" where the threshold lies inside it."""
        low, high = interval
        limit = self.value
        met, missed = {
            "at_least": (low >= limit, high < limit),
            "at_most": (high <= limit, low > limit),
            "within": (-limit <= low and high <= limit, low > limit or high < -limit),
        }[self.direction]
        return "pass" if met else "fail" if missed else "not_shown"


@dataclass(frozen=True)
class Thresholds:
    """A card's rules: one threshold a check, the fewest images, and which sources are of a judge's family."""

    checks: Mapping[str, Threshold]
    least_images: int
    families: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Evidence:
    """What a run shows of one check; ``value`` None: it was not asked. ``why``: why there is no interval.

    ``tested``: the figure is the result of tests. It has no interval, and is held to the threshold itself.
    """

    value: float | None
    interval: Interval | None
    images: int
    why: str | None = None
    tested: bool = False


NOT_ASKED = Evidence(None, None, 0, "was not asked")


@dataclass(frozen=True)
class Check:
    """One line of the card."""

    name: str
    value: float | None
    interval: Interval | None
    threshold: Threshold
    state: State
    images: int
    why: str | None = None

    @property
    def asked(self) -> bool:
        """Whether the run has a figure to check."""
        return self.value is not None


def check(name: str, evidence: Evidence, rules: Thresholds, *, skilled: bool) -> Check:
    """The state of one check; ``skilled``: the judge is shown to be better than chance."""
    threshold = rules.checks[name]
    state, why = _state(evidence, threshold, rules.least_images, skilled)
    return Check(name, evidence.value, evidence.interval, threshold, state, evidence.images, why)


def _state(evidence: Evidence, threshold: Threshold, least: int, skilled: bool) -> tuple[State, str | None]:
    if evidence.value is None:
        return "not_shown", evidence.why or "was not asked"
    if evidence.images < least:
        return "not_shown", f"only {many(evidence.images, 'image')}; at least {least} are needed"
    ends = (evidence.value, evidence.value) if evidence.tested else evidence.interval
    if ends is None:
        return "not_shown", evidence.why or "has no interval"
    state = threshold.state(ends)
    if state == "not_shown":
        return state, "the threshold lies within the interval"
    if state == "pass" and not skilled:
        return "not_shown", "the judge is not shown to be better than chance"
    return state, None


def read_thresholds(path: str | Path | None = None) -> Thresholds:
    """The rules in ``path`` (YAML), or those that ship with the package. Checks that are left out keep the defaults.

    Raises
    ------
    DataError
        If the file cannot be read, names an unknown check, or a threshold is no number.
    """
    default = yaml.safe_load(resources.files(__package__).joinpath("thresholds.yaml").read_text("utf-8"))
    name = "thresholds.yaml" if path is None else str(path)
    own = default if path is None else _read(Path(path))
    given = own.get("checks") or {}
    if not isinstance(given, Mapping):
        raise DataError(f"{name}: checks must map names to thresholds")
    unknown = [str(key) for key in given if key not in default["checks"]]
    if unknown:
        raise DataError(f"{name}: checks must be of {', '.join(default['checks'])}, got {unknown[0]}")
    merged = {**default["checks"], **given}
    least = own.get("least_images", default["least_images"])
    if not isinstance(least, int) or isinstance(least, bool) or least < 2:
        raise DataError(f"{name}: least_images must be a whole number of at least 2, got {least!r}")
    return Thresholds({key: _threshold(name, key, rule) for key, rule in merged.items()}, least, _families(name, own))


def _read(path: Path) -> Mapping[str, Any]:
    found = read_yaml(path)
    if not isinstance(found, Mapping):
        raise DataError(f"{path}: must hold checks, least_images or families")
    return found


def _threshold(file: str, name: str, rule: Any) -> Threshold:
    if isinstance(rule, Mapping) and len(rule) == 1:
        direction, value = next(iter(rule.items()))
        if direction in DIRECTIONS and isinstance(value, int | float) and not isinstance(value, bool):
            return Threshold(direction, float(value))
    raise DataError(f"{file}: checks: {name} must be one of {', '.join(DIRECTIONS)} and a number, got {rule!r}")


def _families(file: str, own: Mapping[str, Any]) -> Mapping[str, tuple[str, ...]]:
    found = own.get("families") or {}
    if not isinstance(found, Mapping) or not all(isinstance(names, list) for names in found.values()):
        raise DataError(f"{file}: families must map a judge to a list of sources")
    return {str(judge): tuple(str(name) for name in names) for judge, names in found.items()}
