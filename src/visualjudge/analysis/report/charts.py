"""Small drawings as inline SVG, coloured by the page's CSS variables so that they follow light and dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import TypeVar

import numpy as np
from markupsafe import Markup

from visualjudge.analysis.figures import Sensitivity, ToolTrust
from visualjudge.analysis.psychometric import curve
from visualjudge.analysis.tabular import Plot

Row = TypeVar("Row")

WIDTH, HEIGHT = 420, 266
LEFT, RIGHT, TOP, BOTTOM = 44, 10, 28, 40
Ends = Sequence[float | None] | None


def whisker(estimate: float | None, ends: Ends, low: float, high: float, mark: float | None) -> Markup:
    """One row of an interval plot: a line from end to end, a dot, a rule at ``mark``; stretched to its table cell.

    An arrow at the edge stands for an estimate, an end or an open side that lies beyond it.
    """
    left, right = _reach(ends)
    known = [value for value in (estimate, left, right) if value is not None]

    def at(value: float) -> str:
        return f"{100 * min(1.0, max(0.0, (value - low) / (high - low))):.2f}%"

    parts = ['<line class="rail" x1="0" x2="100%" y1="9" y2="9"/>']
    if mark is not None:
        parts.append(f'<line class="mark" x1="{at(mark)}" x2="{at(mark)}" y1="1" y2="17"/>')
    if left is not None and right is not None:
        parts.append(f'<line class="reach" x1="{at(left)}" x2="{at(right)}" y1="9" y2="9"/>')
    if estimate is not None and low <= estimate <= high:
        parts.append(f'<circle class="dot" cx="{at(estimate)}" cy="9" r="4.5"/>')
    if min(known, default=low) < low:
        parts.append('<text class="dot beyond" x="0%" y="14">◀</text>')
    if max(known, default=high) > high:
        parts.append('<text class="dot beyond" x="100%" y="14">▶</text>')
    return Markup(f'<svg class="whisker" height="18" aria-hidden="true">{"".join(parts)}</svg>')


def _reach(ends: Ends) -> tuple[float | None, float | None]:
    """Both ends of an interval, an open side at infinity; none where neither is known."""
    if ends is None or (ends[0] is None and ends[1] is None):
        return None, None
    return -math.inf if ends[0] is None else ends[0], math.inf if ends[1] is None else ends[1]


def fitted(plot: Plot[Row], rows: Sequence[Row]) -> Plot[Row]:
    """The plot with an axis that is twice or five times as long where an estimate would lie beyond it."""
    values = [value for row in rows if (value := plot.get(row).value) is not None]
    for factor in (1, 2, 5):
        low, high = (plot.mark + factor * (end - plot.mark) for end in (plot.low, plot.high))
        if all(low <= value <= high for value in values):
            return replace(plot, low=low, high=high)
    return plot


def legend(series: Sequence[tuple[int, str]]) -> Markup:
    """The colour of every judge, by its number, under a drawing."""
    keys = (Markup('<span><i class="key s{}"></i>{}</span>').format(k % 6, name) for k, name in series)
    return Markup('<figcaption class="legend">{}</figcaption>').format(Markup("").join(keys))


def _x(value: float, most: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * value / most


def _y(share: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - share)


def _ticks(most: float) -> list[float]:
    step = next(s for s in (0.1, 0.2, 0.25, 0.5, 1, 2, 2.5, 5, 10) if most / s <= 6) if most <= 60 else most / 5
    return [float(t) for t in np.arange(0, most + step / 2, step) if t <= most * 1.001]


def _axes(most: float, label: str, share_of: str) -> list[str]:
    out = [f'<text x="0" y="12">{escape(share_of)}</text>']
    for share in (0.25, 0.5, 0.75, 1.0):
        y = _y(share)
        kind = "chance" if share in (0.5, 0.75) else "grid"
        out.append(f'<line class="{kind}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        out.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    base = HEIGHT - BOTTOM
    out.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{base}" y2="{base}"/>')
    for tick in _ticks(most):
        out.append(f'<text x="{_x(tick, most):.1f}" y="{base + 16}" text-anchor="middle">{tick:g}</text>')
    out.append(f'<text x="{(LEFT + WIDTH) / 2:.0f}" y="{HEIGHT - 4}" text-anchor="middle">{escape(label)}</text>')
    return out


def _one_curve(row: Sensitivity, most: float, series: int) -> list[str]:
    out = []
    if row.jnd.value is not None and row.alpha is not None and row.beta is not None and row.lapse is not None:
        x = np.linspace(0, most, 80)
        y = curve(row.alpha, row.beta, row.lapse, row.floor, x)
        path = " ".join(f"{_x(a, most):.1f},{_y(b):.1f}" for a, b in zip(x, y, strict=True))
        out.append(f'<polyline class="curve s{series}" points="{path}"/>')
    largest = max((p.n for p in row.points), default=1)
    for p in row.points:
        size = 2 + 3 * (p.n / largest) ** 0.5
        title = f"distance {p.x:.2f}: {p.share:.1%} of {p.n:.0f}"
        out.append(
            f'<circle class="point s{series}" cx="{_x(p.x, most):.1f}" cy="{_y(p.share):.1f}" r="{size:.1f}">'
            f"<title>{title}</title></circle>"
        )
    if row.jnd.value is not None:
        x_jnd = _x(row.jnd.value, most)
        out.append(
            f'<line class="jnd s{series}" x1="{x_jnd:.1f}" x2="{x_jnd:.1f}" y1="{_y(0.75):.1f}" y2="{_y(0):.1f}"/>'
        )
    return out


def curves(judges: Sequence[tuple[int, str, Sensitivity]], label: str) -> Markup:
    """Share right against distance, a curve a judge (its number and name), with the fit, 75 % points and a legend."""
    rows = [row for _, _, row in judges]
    reach = [p.x for row in rows for p in row.points] + [row.jnd.value for row in rows if row.jnd.value is not None]
    if not reach:
        return Markup("")
    most, title = max(reach) * 1.05, f"Share of right answers against {label}"
    parts = _axes(most, label, "Share right")
    for series, _, row in judges:
        parts += _one_curve(row, most, series % 6)
    return legend([(k, name) for k, name, _ in judges]) + Markup(
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )


def trust(judges: Sequence[tuple[int, str, Sequence[ToolTrust]]], label: str) -> Markup:
    """Share that follows a wrong tool against the confidence it claims, one line a judge, with 95 % intervals."""
    if not judges:
        return Markup("")
    title, parts = (
        f"Share that follows a wrong tool against {label}",
        _axes(1.05, label, "Share that follows a wrong tool"),
    )
    for series, _, rows in judges:
        known = [(row.confidence, row.wrong_tool) for row in rows if row.wrong_tool.value is not None]
        places = [(_x(at, 1.05), _y(share.value or 0.0), share) for at, share in known]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in places)
        parts.append(f'<polyline class="curve s{series % 6}" points="{line}"/>')
        for x, y, share in places:
            parts.append(f'<circle class="point s{series % 6}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>')
            low, high = share.interval or (None, None)
            if low is not None and high is not None:
                ends = f'x1="{x:.1f}" x2="{x:.1f}" y1="{_y(low):.1f}" y2="{_y(high):.1f}"'
                parts.append(f'<line class="jnd s{series % 6}" {ends}/>')
    return legend([(k, name) for k, name, _ in judges]) + Markup(
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )
