"""A plot: its finding and its caption, one sentence each, its data, and its drawing at any
width.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from visualjudge.analysis.plots.canvas import DARK, LIGHT, STYLE, Canvas
from visualjudge.core.errors import must_end_in
from visualjudge.core.escaping import for_csv, for_html
from visualjudge.core.outputs import OutputFile

WIDE = 720.0
"""Width of a figure on a screen, in pixels."""
Cell = str | float | int | None


@dataclass(frozen=True, eq=False)
class Plot:
    """A drawing and the data behind it; displays itself in a notebook."""

    name: str
    finding: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    draw: Callable[[float], Canvas]
    reading: str = ""
    """How to read its marks, folded below the caption on a page."""

    def svg(self, width: float = WIDE) -> str:
        """Return a standalone SVG file, ``width`` pixels wide, with its colours included."""
        return self.draw(width).svg(self.finding, colours=LIGHT)

    def inline(self) -> str:
        """Return an SVG element for a page with the stylesheet of figures."""
        return self.draw(WIDE).svg(self.finding)

    @property
    def csv_link(self) -> str:
        """Return the data as a data URI for a link."""
        return "data:text/csv;base64," + base64.b64encode(self.csv.encode()).decode()

    @property
    def csv(self) -> str:
        """Return the data as CSV with a header and unrounded numbers."""
        return for_csv(
            pl.DataFrame(
                self.rows,
                self.columns,
                orient="row",
                strict=False,
                infer_schema_length=None,
            )
        ).write_csv()

    def save(self, path: str | Path) -> Path:
        """Write the figure as ``.svg`` or its data as ``.csv``.

        Raises
        ------
        UsageError
            If the name ends in anything else.
        """
        target = Path(path)
        must_end_in("path", target, [".svg", ".csv"])
        content = self.csv if target.suffix.lower() == ".csv" else self.svg()
        OutputFile(target).write(content)
        return target

    def _repr_html_(self) -> str:
        return (
            f'<figure style="background:{LIGHT["paper"]};color:{LIGHT["ink"]};padding:12px">'
            f"<p><strong>{for_html(self.finding)}</strong></p>{self.svg()}"
            f"<figcaption>{for_html(f'{self.caption} {self.reading}')}</figcaption></figure>"
        )


def unbroken(text: str) -> str:
    """Keep numbers, their intervals and their % signs on one line."""
    return re.sub(
        r"(?<=\d) (?=%)|(?<=[≥≤±]) (?=\d)|(?<=\d) to (?=[\d\u2212])",
        lambda m: m[0].replace(" ", "\u00a0"),
        text,
    )


@dataclass(frozen=True)
class LeftOut:
    """A plot that is not drawn, and the reason."""

    name: str
    reason: str


_SCROLL = (
    ".wide{--b:var(--paper);background:"
    "linear-gradient(90deg,var(--b) 40%,transparent) 0/36px 100% no-repeat local,"
    "linear-gradient(270deg,var(--b) 40%,transparent) 100%/36px 100% no-repeat local,"
    "linear-gradient(90deg,var(--soft),transparent) 0/7px 100% no-repeat,"
    "linear-gradient(270deg,var(--soft),transparent) 100%/7px 100% no-repeat var(--b)}"
    "@media screen{.wide td:first-child,.wide th:first-child,.keys td:nth-child(2),"
    ".keys th:nth-child(2){position:sticky;left:0;z-index:1;background:var(--b)}"
    ".keys td:first-child,.keys th:first-child{min-width:138px;max-width:138px;width:138px;"
    "overflow-wrap:anywhere}"
    ".keys td:nth-child(2),.keys th:nth-child(2){left:138px}}"
)
"""A table wider than its page has a shade at the edge that hides more columns; the columns that
identify a row stay in place.
"""
FIGURES_ON_PAGES = STYLE + (
    ".plot{display:block;width:100%;max-width:var(--width);height:auto}"
    ".reading>summary{cursor:pointer}@media print{.reading>summary,.csv{display:none}}"
    + _SCROLL
)
BEHIND = ("#f6f6f3", "#121210")
"""Background of a page's figures: light, dark."""


def page_style(own: str) -> str:
    """Return the stylesheet of a page with inline figures: the colours of both themes as variables
    (paper is light), the figures, and the page's ``own`` rules.
    """
    light, dark = (
        ";".join(
            f"--{name}:{value}" for name, value in {**colours, "page": behind}.items()
        )
        for colours, behind in zip((LIGHT, DARK), BEHIND, strict=True)
    )
    themes = (
        f":root{{color-scheme:light dark;{light}}}@media screen and "
        f"(prefers-color-scheme:dark){{:root{{{dark}}}}}"
    )
    return f"{themes}\n{FIGURES_ON_PAGES}\n{own}"
