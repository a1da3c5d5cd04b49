"""A check as shown on pages: its value, and its threshold in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from visualjudge.analysis.decisions.decision_tables import number
from visualjudge.analysis.figure_text import percent, points

if TYPE_CHECKING:
    from visualjudge.analysis.decisions.checks import Check

UNITS = {"macro_accuracy": "%", "right_in_both_orders": "%", "failed": "%", "lean": "points"}
"""Checks that are shares, or differences of shares."""

SIGNS = {"at_least": "≥", "at_most": "≤", "within": "within ±"}


def shown_value(line: Check, digits: int = 3) -> str:
    """Format a check's value: a share in per cent, a bias in points, any other as a number."""
    unit = UNITS.get(line.name)
    if line.value is None or unit is None:
        return number(line.value, digits=digits)
    return percent(line.value) if unit == "%" else f"{points(line.value)} {unit}"


def asked_for(line: Check) -> str:
    """Format the threshold: ≥ 75 %."""
    value, unit = line.threshold.value, UNITS.get(line.name)
    return f"{SIGNS[line.threshold.direction]} " + (
        f"{100 * value:g} {unit}" if unit else f"{value:g}"
    )
