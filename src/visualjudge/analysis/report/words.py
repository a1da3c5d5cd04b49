"""Figures as people read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from visualjudge.analysis.join import missing_verdicts

Ends = Sequence[float | None] | None
NONE = "–"
KINDS = ("pairwise", "ranking", "scoring")


def percent(value: float | None, digits: int = 1) -> str:
    """0.8066 → 80.7 %."""
    return NONE if value is None else f"{100 * value:.{digits}f} %".replace("-", "\u2212")


def points(value: float | None) -> str:
    """A difference of two shares in percentage points, with its sign; a rounded zero has none."""
    if value is None:
        return NONE
    text = f"{100 * value:+.1f}"
    return "0.0" if float(text) == 0 else text.replace("-", "\u2212")


def number(value: float | None, digits: int = 2) -> str:
    """0.70 with a true minus sign; whole numbers get thousands separators."""
    if value is None:
        return NONE
    text = f"{value:,}" if isinstance(value, int) else f"{value:.{digits}f}"
    return text.lstrip("-") if float(text.replace(",", "")) == 0 else text.replace("-", "\u2212")


def percents(ends: Ends) -> str:
    """An interval in per cent, without the sign."""
    if ends is None:
        return NONE
    return " to ".join(NONE if end is None else f"{100 * end:.1f}".replace("-", "\u2212") for end in ends)


def span(ends: Ends, digits: int = 2) -> str:
    """An interval in its own unit; an open side is ∞."""
    if ends is None or all(end is None for end in ends):
        return NONE
    return " to ".join("∞" if end is None else number(float(end), digits) for end in ends)


def p_value(value: float | None) -> str:
    """Three decimals; below 0.001 says so."""
    if value is None:
        return NONE
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def headline(judge: Mapping[str, Any]) -> str:
    """The one sentence that a reader came for."""
    p = judge["pairwise"]
    if not p["n"]:
        return "No pairwise question was answered; see ranking and scoring below."
    known = f"95 % interval {percents(p['ci95'])}" if p["ci95"] else "one image: no interval"
    text = f"Right in {percent(p['accuracy'])} of {number(p['n'])} pairwise verdicts ({known}, {p['images']} images)."
    if p["failed"]:
        best = percent(p["accuracy_bounds"][1])
        text += f" {number(p['failed'])} replies failed and count as wrong; had all been right: {best}."
    return text


def unfinished(judge: Mapping[str, Any]) -> str | None:
    """That verdicts of the run are missing, or None."""
    return missing_verdicts(judge["missing"], judge["expected"])


def other_warnings(judge: Mapping[str, Any]) -> list[str]:
    """The warnings but the one on missing verdicts, which stands by itself."""
    said = unfinished(judge)
    return [line for line in judge["warnings"] if said is None or not line.endswith(said)]


def failed(judge: Mapping[str, Any]) -> str:
    """Failed replies of all question types: 240 of 480."""
    blocks = [judge[kind] for kind in KINDS]
    return f"{number(sum(b['failed'] for b in blocks))} of {number(sum(b['n'] for b in blocks))}"


def failures(judge: Mapping[str, Any]) -> str | None:
    """Failed replies by question type; None where none failed."""
    asked = [(kind, judge[kind]) for kind in KINDS if judge[kind]["n"]]
    if not any(block["failed"] for _, block in asked):
        return None
    parts = (f"{number(b['failed'])} of {number(b['n'])} {kind}" for kind, b in asked)
    return f"Failed replies: {', '.join(parts)}."


def one_place(judge: Mapping[str, Any]) -> str | None:
    """Why a judge that always answers the same place has an interval without width, or None."""
    p = judge["pairwise"]
    ends = p["ci95"]
    if p["answered_a"] not in (0, 1) or not ends or round(ends[1] - ends[0], 3) > 0:
        return None
    place = "first" if p["answered_a"] else "second"
    return (
        f"It always chose the option shown {place}: asked in both orders, that is right exactly half of the time on "
        "every image, so the interval has no width."
    )


def leanings(judge: Mapping[str, Any]) -> list[str]:
    """A sentence for each bias that is flagged."""
    out = []
    for row in judge["bias"]:
        if row["flagged"]:
            way = "to" if row["preference"] > 0 else "away from"
            size = f"{100 * abs(row['preference']):.1f} points beyond what is right"
            out.append(f"Leans {way} {row['leans_to']}: {size} (p {p_value(row['p_holm'])} after Holm).")
    return out


def jnd_text(row: Mapping[str, Any]) -> str:
    """The 75 % point with its interval, or why there is none."""
    if row["jnd"] is None:
        return str(row["reason"])
    return f"{number(row['jnd'])} ({span(row['ci95'])})"
