"""A check as shown on pages: its value, its threshold in words, and the figure of all checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from visualjudge.analysis.decisions.checks import LABELS, STATES, UNSKILLED, WITHIN
from visualjudge.analysis.decisions.decision_tables import number
from visualjudge.analysis.figure_text import about_images, counted, listed, many, percent, points
from visualjudge.analysis.plots.figure import Figure, LeftOut
from visualjudge.analysis.plots.panels import CheckRow, Held, thresholds

if TYPE_CHECKING:
    from visualjudge.analysis.decisions.card import JudgeCard
    from visualjudge.analysis.decisions.checks import Check, Threshold

UNITS = {"macro_accuracy": "%", "right_in_both_orders": "%", "failed": "%", "lean": "points"}
"""Checks that are shares, or differences of shares."""

SIGNS = {"at_least": "≥", "at_most": "≤", "within": "within ±"}
FAVOURITISM = (
    "Favouritism is the number of ranks that a source gains or loses because the judge favours or "
    "disfavours it."
)
MOST_JUDGES = 6
"""Maximum number of judges whose checks are plotted."""
MOST_NAMED = 4
"""Number of judges from which the finding no longer names the checks that fail."""
TOO_CLOSE = "too close to the threshold"
UNPROVEN = "may be guessing"
"""What the figure, which has little room, says of checks without a number of images, and of those
that an unskilled judge would pass.
"""
ENDS = {
    "macro_accuracy": (0.0, 1.0),
    "right_in_both_orders": (0.0, 1.0),
    "lean": (-0.3, 0.3),
    "failed": (0.0, 0.2),
    "order_of_sources": (-1.0, 1.0),
    "favour": (-0.5, 5.0),
    "omega": (0.0, 1.0),
}
"""The axis of each check, extended if an interval is longer."""


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


def checks_of(judges: Sequence[JudgeCard]) -> Figure | LeftOut:
    """Return the figure of some judges' checks."""
    drawn = judges[:MOST_JUDGES]
    names = [line.name for line in drawn[0].checks] if drawn else []
    of_judges = [{line.name: line for line in judge.checks} for judge in drawn]
    by_name = {name: [lines[name] for lines in of_judges] for name in names}
    measured = {
        name: lines
        for name, lines in by_name.items()
        if any(line.value is not None for line in lines)
    }
    if not measured:
        return LeftOut("checks", "no check was measured")
    failed = [judge.state == "fail" for judge in drawn]
    rows = [_row(name, lines, failed) for name, lines in measured.items()]
    missing = [f"“{LABELS[name]}”" for name in by_name if name not in measured]
    data = [
        (
            judge.judge,
            line.name,
            line.value,
            *(line.interval or (None, None)),
            line.images,
            line.threshold.direction,
            line.threshold.value,
            line.state,
            line.needs_images,
        )
        for judge in judges
        for line in judge.checks
    ]
    reading = (
        "Each check has its own axis; the vertical line is the threshold. No check passes for a "
        "judge that is not significantly better than chance, because it may be guessing."
        + (f" {FAVOURITISM}" if "favour" in measured else "")
        + (f" Not measured: {listed(missing, 7)}." if missing else "")
        + (
            f" {MOST_JUDGES} of {len(judges)} judges are drawn."
            if len(judges) > MOST_JUDGES
            else ""
        )
    )
    columns = (
        "judge",
        "check",
        "value",
        "low",
        "high",
        "images",
        "direction",
        "threshold",
        "state",
        "needs_images",
    )
    titles = [judge.judge for judge in drawn]
    return Figure(
        "checks",
        _counted(judges),
        "A check passes if its whole 95 % interval lies in the shaded part, fails if the whole "
        "interval lies outside, and is undecided otherwise.",
        columns,
        tuple(data),
        lambda width: thresholds(rows, titles, width),
        reading,
    )


def _row(name: str, lines: Sequence[Check], failed: Sequence[bool]) -> CheckRow:
    """Return one row of the figure; ``failed`` says for each judge whether its answer is already
    no, so that more images do not help.
    """
    held = tuple(
        Held(
            line.value,
            line.interval,
            line.images,
            line.state,
            _said(line, more=not settled),
        )
        for line, settled in zip(lines, failed, strict=True)
    )
    low, high = ENDS[name]
    reached = [
        end for line in lines for end in (line.value, *(line.interval or ())) if end is not None
    ]
    ends = (min(low, *reached), max(high, *reached)) if reached else (low, high)
    return CheckRow(
        LABELS[name], asked_for(lines[0]), ends, _passing(lines[0].threshold, ends), held
    )


def _passing(threshold: Threshold, ends: tuple[float, float]) -> tuple[float, float]:
    limit = threshold.value
    return {"at_least": (limit, ends[1]), "at_most": (ends[0], limit), "within": (-limit, limit)}[
        threshold.direction
    ]


def _said(line: Check, *, more: bool) -> str:
    """Describe a check: "79 %: undecided, about 40 more images" (if ``more`` images help)."""
    value = f"{shown_value(line, digits=2)}: " if line.value is not None else ""
    unskilled = line.why == UNSKILLED
    state = f"{STATES[line.state]}, {UNPROVEN}" if unskilled else STATES[line.state]
    if line.needs_images:
        return f"{value}{state}, {about_images(line.needs_images)}" if more else f"{value}{state}"
    if line.state != "undecided" or unskilled:
        return f"{value}{state}"
    return f"{value}{state}, {TOO_CLOSE if line.why == WITHIN else line.why}"


def _counted(judges: Sequence[JudgeCard]) -> str:
    """Describe the results: "local: passes 3 of 6 checks and fails “Right in both orders”;
    gpt: passes 6 of 6 checks".
    """
    if len(judges) >= MOST_NAMED:
        return counted("Checks that pass", [(judge.judge, *_passed(judge)) for judge in judges])
    said = []
    for judge in judges:
        passed, total = _passed(judge)
        failed = [f"“{LABELS[line.name]}”" for line in judge.checks if line.state == "fail"]
        named = f" and fails {listed(failed, 3) or 'none'}" if failed or passed < total else ""
        said.append(f"{judge.judge}: passes {passed} of {many(total, 'check')}{named}")
    return "; ".join(said)


def _passed(judge: JudgeCard) -> tuple[int, int]:
    """Return how many of the measured checks pass, and how many were measured."""
    states = [line.state for line in judge.checks if line.state != "not_measured"]
    return states.count("pass"), len(states)
