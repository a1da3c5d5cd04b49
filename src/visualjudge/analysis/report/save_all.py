"""``report --figures``: each plot as SVG, PDF and PNG in two widths, each table as CSV,
Markdown and LaTeX. One table as text is in ``table_forms.py``; the tables of a paper,
in ``paper_tables.py``.
"""

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from visualjudge.analysis.figures.section import Section
from visualjudge.analysis.plots.plot import PRINTED, Plot
from visualjudge.analysis.report.page import drawn, sections
from visualjudge.analysis.report.table_forms import WRITERS
from visualjudge.analysis.results import Analysis
from visualjudge.core.output_files import OutputFile

NO_CONVERTER = (
    "PDF and PNG of figures need vl-convert: pip install "
    "'visualjudge[paper]'; SVG is written"
)


def save_all(analysis: Analysis, folder: Path) -> list[str]:
    """Write every plot and every table; return what the user should know."""
    converts = find_spec("vl_convert") is not None
    suffixes = [".svg", ".pdf", ".png"] if converts else [".svg"]
    for plot in drawn(analysis).values():
        if not isinstance(plot, Plot):
            continue
        plot.save(folder / f"{plot.name}.csv")
        for width, millimetres in PRINTED.items():
            for suffix in suffixes:
                path = folder / f"{plot.name}-{width}mm{suffix}"
                plot.save(path, millimetres=millimetres)
    for section in sections(analysis):
        for name, content in _tables(section):
            OutputFile(folder / "tables" / name).write(content)
    return [] if converts else [NO_CONVERTER]


def _tables(section: Section) -> Iterator[tuple[str, str]]:
    for k, table in enumerate(section.tables, 1):
        for suffix, writer in WRITERS.items():
            yield (
                f"{section.anchor}-{k}{suffix}",
                writer([replace(table, title=table.title or section.title)]),
            )
