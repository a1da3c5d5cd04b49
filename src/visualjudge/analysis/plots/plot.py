"""A plot: its finding and its caption, one sentence each, its data, and its drawing at
any width. Its forms are in ``forest.py``, ``points.py`` and ``ranking.py``.
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import polars as pl

from visualjudge.analysis.plots.canvas import DARK, LIGHT, STYLE, Canvas
from visualjudge.arguments import checked
from visualjudge.core.errors import UsageError, must_end_in
from visualjudge.core.escaping import for_csv, for_html
from visualjudge.core.output_files import OutputFile

WIDE = 560.0
NARROW = 336.0
"""Widths of a figure on a screen, in pixels: it is drawn at both, and the page shows
the one that has room.
"""
PRINTED = {"86": 86.0, "178": 178.0}
"""Widths of a figure in a paper, in millimetres: of a column, and of two."""
PIXELS = 72 / 25.4 * 12 / 8
"""Pixels a millimetre, at which letters of 12 pixels are 8 points high."""
DOTS = 300
"""Dots an inch of a PNG file for a paper."""
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
        """Return a standalone SVG file, ``width`` pixels wide, with its colours
        included."""
        return self.draw(width).svg(self.finding, colours=LIGHT)

    def printed(self, millimetres: float, *, in_points: bool = False) -> str:
        """Return a standalone SVG file of this width, with letters of 8 points."""
        size = (
            (millimetres / 25.4 * 72, "") if in_points else (millimetres, "mm")
        )
        canvas = self.draw(millimetres * PIXELS)
        return canvas.svg(self.finding, colours=LIGHT, size=size)

    def inline(self) -> str:
        """Return two SVG elements for a page with the stylesheet of figures, of which
        it shows the one that has room.
        """
        sizes = {"full": WIDE, "narrow": NARROW}
        return "".join(
            self.draw(width).svg(self.finding, kind=kind)
            for kind, width in sizes.items()
        )

    @property
    def links(self) -> dict[str, str]:
        """Return its data, and its drawing as wide as a column, as data URIs by file
        name."""
        return {
            f"{self.name}.csv": data_uri(self.csv, "text/csv"),
            f"{self.name}.svg": data_uri(
                self.printed(PRINTED["86"]), "image/svg+xml"
            ),
        }

    @property
    def paper_links(self) -> dict[str, str]:
        """Return its drawing as PDF and PNG, as wide as a column, as data URIs by file
        name; nothing without the extra ``paper``.
        """
        if find_spec("vl_convert") is None:
            return {}
        svg = self.printed(PRINTED["86"], in_points=True)
        kinds = {".pdf": "application/pdf", ".png": "image/png"}
        return {
            f"{self.name}{suffix}": data_uri(converted(svg, suffix), kind)
            for suffix, kind in kinds.items()
        }

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

    @checked
    def save(
        self, path: str | Path, *, millimetres: float = PRINTED["86"]
    ) -> Path:
        """Write the figure as ``.svg``, ``.pdf`` or ``.png``, as wide as a column of a
        paper or another number of ``millimetres``, or its data as ``.csv``.

        Raises
        ------
        UsageError
            If the name ends in anything else; for PDF and PNG without the extra
            ``paper``.
        """
        target = Path(path)
        must_end_in("path", target, [".svg", ".pdf", ".png", ".csv"])
        suffix = target.suffix.lower()
        content: str | bytes = self.csv
        if suffix in (".pdf", ".png"):
            content = converted(
                self.printed(millimetres, in_points=True), suffix
            )
        elif suffix == ".svg":
            content = self.printed(millimetres)
        OutputFile(target).write(content)
        return target

    def _repr_html_(self) -> str:
        return (
            "<figure "
            f'style="background:{LIGHT["paper"]};color:{LIGHT["ink"]};padding:12px">'
            f"<p><strong>{for_html(self.finding)}</strong></p>{self.svg()}"
            f"<figcaption>{for_html(f'{self.caption} {self.reading}')}</figcaption></figure>"
        )


def data_uri(content: str | bytes, kind: str) -> str:
    """Return a file as the address of a link."""
    data = content.encode() if isinstance(content, str) else content
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def converted(svg: str, suffix: str) -> bytes:
    """Return an SVG file, in points, as ``.pdf`` or ``.png``.

    Raises
    ------
    UsageError
        If vl-convert is not installed.
    """
    try:
        import vl_convert
    except ImportError:
        raise UsageError(
            f"{suffix} of figures needs vl-convert: pip install 'visualjudge[paper]'"
        ) from None
    if suffix == ".pdf":
        return bytes(vl_convert.svg_to_pdf(svg))
    return bytes(vl_convert.svg_to_png(svg, ppi=DOTS))


@dataclass(frozen=True)
class LeftOut:
    """A plot that is not drawn, and the reason."""

    name: str
    reason: str


_SCROLL = (
    ".wide{--b:var(--paper);background:linear-gradient(90deg,var(--b) 40%,transparent) "
    "0/36px 100% no-repeat local,linear-gradient(270deg,var(--b) 40%,transparent) "
    "100%/36px 100% no-repeat local,linear-gradient(90deg,var(--line),transparent) "
    "0/12px 100% no-repeat,linear-gradient(270deg,var(--line),transparent) 100%/12px "
    "100% no-repeat var(--b)}@media screen{.wide :is(td,th):first-child{position:sticky;left:0;"
    "z-index:1;background:var(--b)}}@media screen and (min-width:561px){.keys{--k:138px}"
    ".keys :is(td,th):first-child{min-width:var(--k);max-width:var(--k);width:var(--k);"
    "overflow-wrap:anywhere}.keys :is(td,th):nth-child(2){position:sticky;left:var(--k);"
    "z-index:1;background:var(--b)}}@media screen and (min-width:1100px)"
    "{:not(.beside)>details>.keys{--k:236px}}"
)
"""A table wider than its page has a shade at the edge that hides more columns; the
columns that identify a row stay in place, on a narrow page only the first.
"""
FIGURES_ON_PAGES = STYLE + (
    ".plot{display:block;width:100%;max-width:calc(1.25*var(--width));height:auto}"
    ".drawn{container-type:inline-size;min-width:0}.plot.narrow{display:none}"
    "@container (max-width:559px){.plot.full{display:none}.plot.narrow{display:block}}"
    ".reading>summary{cursor:pointer}@media print{.reading>summary,.csv{display:none}}"
    + _SCROLL
)
BEHIND = ("#f6f6f3", "#121210")
"""Background of a page's figures: light, dark."""


def page_style(own: str) -> str:
    """Return the stylesheet of a page with inline figures: the colours of both themes
    as variables (paper is light), the figures, and the page's ``own`` rules.
    """
    light, dark = (
        ";".join(
            f"--{name}:{value}"
            for name, value in {**colours, "page": behind}.items()
        )
        for colours, behind in zip((LIGHT, DARK), BEHIND, strict=True)
    )
    themes = (
        f":root{{color-scheme:light dark;{light}}}@media screen and "
        f"(prefers-color-scheme:dark){{:root{{{dark}}}}}"
    )
    return f"{themes}\n{FIGURES_ON_PAGES}\n{own}"
