"""SVG elements in pixels, axes, panels, and the stylesheet shared by all figures. What
is drawn on it is in the other files; a plot with its caption, in ``plot.py``.

On a page the colours are CSS variables, so that figures follow light and dark; in a
file they are those of LIGHT. Series (judges) differ by colour and by marker, none of
them in a colour of a state; colours stay apart for deuteranopia, and the first three in
grey.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from visualjudge.core.escaping import for_html

LIGHT = {
    "ink": "#14140f",
    "soft": "#595852",
    "line": "#d9d7cf",
    "paper": "#ffffff",
    "s0": "#1a5fa8",
    "s1": "#bb3c93",
    "s2": "#35206e",
    "s3": "#005a66",
    "s4": "#8a5f3c",
    "s5": "#2b3442",
    "pass": "#00700c",
    "fail": "#b3261e",
    "undecided": "#8a5a00",
    "not_measured": "#66655f",
}
DARK = {
    "ink": "#f4f3ee",
    "soft": "#b4b2a8",
    "line": "#3d3c37",
    "paper": "#1c1c1a",
    "s0": "#6cb0f5",
    "s1": "#ff9fd6",
    "s2": "#8a74e8",
    "s3": "#2fa8a8",
    "s4": "#d3a07a",
    "s5": "#e6e9ee",
    "pass": "#5fd068",
    "fail": "#ff8a80",
    "undecided": "#f0b840",
    "not_measured": "#a09e95",
}
SERIES = 6
"""Colours and markers of series; they repeat if there are more series."""
Corners = tuple[tuple[float, float], ...]
ROUND = tuple(
    (math.cos(k * math.pi / 12), math.sin(k * math.pi / 12)) for k in range(24)
)
MARKERS: tuple[Corners, ...] = (
    ROUND,
    ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    ((0, -1.35), (1.35, 0), (0, 1.35), (-1.35, 0)),
    ((0, -1.25), (1.2, 1), (-1.2, 1)),
    ((0, 1.25), (1.2, -1), (-1.2, -1)),
    ((-1, 0), (-0.5, -1), (0.5, -1), (1, 0), (0.5, 1), (-0.5, 1)),
)
"""Corners of the markers of series, at a radius of 1."""
RADIUS = 4.5
OF_A_TICK = 36
"""Width in pixels that is enough for a number at an axis."""
FONT = 12
Sign = Literal["right", "open", "wrong", "close"]
SIGNS: Mapping[Sign, Corners] = {
    "right": ROUND,
    "open": ROUND,
    "wrong": ((-1, -1), (1, 1), (0, 0), (1, -1), (-1, 1), (0, 0)),
    "close": ((-1, 0), (1, 0)),
}

STYLE = """.plot text{font-size:12px;fill:var(--soft)}.plot .name{fill:var(--ink)}
.plot .small{font-size:11px}
.plot .name,.plot .small{paint-order:stroke;stroke:var(--paper);stroke-width:3px}
.plot .over{stroke-width:6px;stroke-linejoin:round}
.plot .grid{stroke:var(--line)}.plot .axis{stroke:var(--soft)}
.plot .chance{stroke:var(--soft);stroke-dasharray:3 3}
.plot .ci{stroke-width:2.2;fill:none}
.plot .mark{stroke:var(--paper);stroke-width:1}.plot .hollow{fill:var(--paper);stroke-width:1.8}
.plot .band{opacity:.16}.plot .sign{fill:var(--ink);stroke:var(--ink);stroke-width:1.8}
.plot .hollow.sign{fill:var(--paper)}
""" + "".join(
    f".plot .fs{k}{{fill:var(--s{k})}}.plot .ls{k}{{stroke:var(--s{k})}}\n"
    for k in range(SERIES)
)
"""``fNAME`` fills with a colour; ``lNAME`` draws lines in it."""


def colour(series: int) -> str:
    """Return the name of a series' colour."""
    return f"s{series % SERIES}"


def text_width(text: str, size: float = FONT) -> float:
    """Estimate the width of a text in pixels."""
    return 0.6 * size * len(text)


def shortened(text: str, room: float) -> str:
    """Shorten a text with an ellipsis to fit into ``room`` pixels, keeping its end,
    which often tells names apart.
    """
    most = max(3, int(room / text_width("x")))
    if len(text) <= most:
        return text
    tail = (most - 1) // 3
    return text[: most - 1 - tail].rstrip() + "…" + text[len(text) - tail :]


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return at most ``most`` round values from ``low`` to ``high``."""
    span = high - low
    size = 10.0**-8
    steps = (
        step * 10.0**power for power in range(-8, 9) for step in (1, 2, 2.5, 5)
    )
    step = next(
        (step for step in steps if int(span / step + 1e-9) < most), span or size
    )
    first = int(-(-low // step))
    count = int((high - first * step) / step + 1e-9)
    return [round((first + k) * step, 10) for k in range(count + 1)]


class Canvas:
    """An SVG image of ``width`` px that grows in height as elements are added."""

    def __init__(self, width: float) -> None:
        self.width = width
        self.height = 0.0
        self._parts: list[str] = []

    def _add(self, part: str, bottom: float) -> None:
        self._parts.append(part)
        self.height = max(self.height, bottom)

    def line(
        self, x1: float, y1: float, x2: float, y2: float, kind: str
    ) -> None:
        """Draw a straight line."""
        self.through([(x1, y1), (x2, y2)], kind)

    def through(
        self,
        points: Sequence[tuple[float, float]],
        kind: str,
        *,
        element: Literal["polyline", "polygon"] = "polyline",
        title: str = "",
    ) -> None:
        """Draw a line through points, or an area between them."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        named = f"<title>{for_html(title)}</title>" if title else ""
        self._add(
            f'<{element} class="{kind}" points="{path}">{named}</{element}>',
            max(y for _, y in points),
        )

    def text(
        self,
        x: float,
        y: float,
        answers: str,
        kind: str = "",
        anchor: str = "start",
        *,
        room: float = math.inf,
    ) -> None:
        """Draw a line of text.

        ``anchor`` is start, middle or end. Text longer than ``room`` pixels is
        shortened, with the full text in a tooltip.
        """
        side = "" if anchor == "start" else f' text-anchor="{anchor}"'
        named = f' class="{kind}"' if kind else ""
        drawn = answers if room == math.inf else shortened(answers, room)
        whole = (
            "" if drawn == answers else f"<title>{for_html(answers)}</title>"
        )
        self._add(
            f'<text x="{x:.1f}" '
            f'y="{y:.1f}"{side}{named}>{for_html(drawn)}{whole}</text>',
            y + 4,
        )

    def marker(
        self,
        x: float,
        y: float,
        mark: int | Sign,
        *,
        hollow: bool = False,
        title: str = "",
        radius: float = RADIUS,
    ) -> None:
        """Draw the marker of a series: a circle, square, diamond, triangle, inverted
        triangle or hexagon; or a sign: a filled circle for what holds, a hollow one for
        what is open, a cross for what is wrong, and a dash where there is nothing to
        tell.
        """
        if isinstance(mark, int):
            name = colour(mark)
            kind = f"hollow l{name}" if hollow else f"mark f{name}"
            corners = MARKERS[mark % SERIES]
        else:
            kind = "hollow sign" if mark == "open" else "sign"
            corners = SIGNS[mark]
        outline = [(x + radius * a, y + radius * b) for a, b in corners]
        self.through(outline, kind, element="polygon", title=title)

    def svg(
        self,
        label: str,
        *,
        colours: dict[str, str] | None = None,
        kind: str = "",
        size: tuple[float, str] | None = None,
    ) -> str:
        """Return the image as SVG, with ``label`` as its accessible name.

        ``colours`` are embedded in a style of its own, for a file, whose width is
        ``size``, a number and a unit, if it is stated; None gives an element of a
        further class ``kind`` for a page that has the stylesheet of figures.
        """
        width = f"{self.width:.0f}"
        height = f"{self.height + 4:.0f}"
        named = (
            f'role="img" aria-label="{for_html(label)}" viewBox="0 0 {width} '
            f'{height}"'
        )
        body = "".join(self._parts)
        if colours is None:
            return (
                f'<svg class="plot {kind}" {named} style="--width:{width}px">'
                f"{body}</svg>"
            )
        style = re.sub(
            r"var\(--(\w+)\)", lambda match: colours[match[1]], STYLE
        )
        wide, unit = size or (self.width, "")
        high = wide * (self.height + 4) / self.width
        stated = f'width="{wide:.6g}{unit}" height="{high:.6g}{unit}"'
        paper = (
            f'<rect x="-4" y="-4" width="{self.width + 8:.0f}" '
            f'height="{self.height + 12:.0f}" fill="{colours["paper"]}"/>'
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" {stated} {named}>'
            f"<style>{style}.plot text{{font-family:Helvetica,Arial,'DejaVu "
            f"Sans',sans-serif}}"
            f"</style>{paper}{body}</svg>\n"
        )


def legend(
    canvas: Canvas,
    names: Mapping[int, str] | Mapping[Sign, str],
    y: float = 12,
) -> float:
    """Draw the marker of each series, or sign, and its name from ``y`` down; return the
    bottom."""
    left = 4.0
    for mark, name in names.items():
        needed = text_width(name) + 30
        if left > 4 and left + needed > canvas.width:
            left = 4.0
            y += 18
        canvas.marker(left + 5, y - 4, mark)
        canvas.text(left + 14, y, name, "name", room=canvas.width - left - 14)
        left += needed
    return y + 8


@dataclass(frozen=True)
class Box:
    """The plotting area: its edges in pixels, and the range of the data."""

    left: float
    right: float
    top: float
    bottom: float
    x_range: tuple[float, float]
    y_range: tuple[float, float] = (0.0, 1.0)

    def x(self, value: float) -> float:
        """Return the pixel of a value, clipped to the box."""
        return self.left + (self.right - self.left) * _part(value, self.x_range)

    def y(self, value: float) -> float:
        """Return the pixel of a value, clipped to the box."""
        return self.bottom - (self.bottom - self.top) * _part(
            value, self.y_range
        )


def _part(value: float, ends: tuple[float, float]) -> float:
    low, high = ends
    return min(1.0, max(0.0, (value - low) / (high - low)))


def tick(value: float) -> str:
    """Format −0.25 without zeros at its end."""
    return f"{value:g}".replace("-", "\u2212")


def percent_tick(value: float) -> str:
    """Format 0.5 as 50 %."""
    return f"{100 * value:g} %"


def x_axis(
    canvas: Canvas, box: Box, show: Callable[[float], str], label: str = ""
) -> None:
    """Draw ticks below the box, light grid lines and the axis label."""
    room = int(box.right - box.left) // OF_A_TICK
    for value in ticks(*box.x_range, most=min(max(2, room), 7)):
        canvas.line(box.x(value), box.top, box.x(value), box.bottom, "grid")
        canvas.text(
            box.x(value), box.bottom + 15, show(value), "small", "middle"
        )
    canvas.line(box.left, box.bottom, box.right, box.bottom, "axis")
    if label:
        half = min(text_width(label), canvas.width) / 2
        middle = (box.left + box.right) / 2
        x = min(max(middle, half), canvas.width - half)
        canvas.text(x, box.bottom + 31, label, "", "middle", room=canvas.width)


def y_axis(
    canvas: Canvas, box: Box, show: Callable[[float], str], label: str = ""
) -> None:
    """Draw ticks to the left of the box, light grid lines and, above it, the axis
    label."""
    for value in ticks(*box.y_range):
        canvas.line(box.left, box.y(value), box.right, box.y(value), "grid")
        canvas.text(box.left - 5, box.y(value) + 4, show(value), "small", "end")
    if label:
        canvas.text(2, box.top - 16, label)
