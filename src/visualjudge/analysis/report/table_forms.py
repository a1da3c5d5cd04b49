"""Tables of a report as CSV, Markdown and LaTeX (packages booktabs and graphicx). For
terminals and pages they are in ``core/text_tables.py``; ``save_all.py`` writes the
files.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from visualjudge.analysis.plots.plot import data_uri
from visualjudge.core.escaping import for_cell, for_latex, for_markdown
from visualjudge.core.text_tables import Styled, Table

MOST_UPRIGHT = 8
"""Number of columns above which LaTeX turns the titles."""
COLUMN = 48
PAGE = 100
"""Characters of a line, with two between columns, up to which LaTeX sets a table in one
column of two, or across the page without making it smaller.
"""


def as_csv(tables: Sequence[Table]) -> str:
    """Return the tables below each other; the first column has the title of each."""
    header: tuple[str, ...] = ()
    lines = []
    for table in tables:
        if table.columns != header:
            header = table.columns
            lines.append(("Table", *header))
        lines += [(table.title, *row) for row in table.rows]
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerows(map(for_cell, line) for line in lines)
    return text.getvalue()


def as_markdown(tables: Sequence[Table]) -> str:
    """Return the tables with their titles above and their notes below."""
    return "\n".join(chain.from_iterable(map(_markdown, tables)))


def _markdown(table: Table) -> list[str]:
    title = [f"**{for_markdown(table.title)}**\n"] if table.title else []
    return [
        *title,
        _piped(map(for_markdown, table.columns)),
        _piped("---:" if right else "---" for right in table.to_the_right),
        *(_piped(map(for_markdown, row)) for row in table.rows),
        "",
        *(f"{for_markdown(note)}\n" for note in table.notes),
    ]


def _piped(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def as_latex(tables: Sequence[Table]) -> str:
    """Return a float for each table: its title as the caption, its notes below. The
    second line of a cell is a line of its own.
    """
    head = "% needs \\usepackage{booktabs,graphicx}"
    return "\n".join([head, *chain.from_iterable(map(_latex, tables))]) + "\n"


def _latex(table: Table) -> list[str]:
    turned = len(table.columns) > MOST_UPRIGHT
    width = _characters(table, turned)
    star = "*" if turned or width > COLUMN else ""
    sides = "".join("r" if right else "l" for right in table.to_the_right)
    titles = [for_latex(title) for title in table.columns]
    if turned:
        names = titles[table.keys :]
        titles[table.keys :] = [
            rf"\rotatebox{{90}}{{{name}}}" for name in names
        ]
    return [
        rf"\begin{{table{star}}}",
        r"\centering\small",
        rf"\caption{{{for_latex(table.title)}}}",
        r"\resizebox{\textwidth}{!}{%" if turned or width > PAGE else "{%",
        rf"\begin{{tabular}}{{{sides}}}",
        r"\toprule",
        _ended(titles),
        r"\midrule",
        *chain.from_iterable(map(_rows, table.rows)),
        r"\bottomrule",
        r"\end{tabular}}",
        *(rf"\par\footnotesize {for_latex(note)}" for note in table.notes),
        rf"\end{{table{star}}}",
    ]


def _characters(table: Table, turned: bool) -> int:
    """Return the length of a line in characters; turned titles take no room."""
    rows = table.rows if turned else (table.columns, *table.rows)
    cells = ([getattr(cell, "first", cell) for cell in row] for row in rows)
    return sum(2 + max(map(len, column)) for column in zip(*cells, strict=True))


def _rows(row: Sequence[str]) -> Iterator[str]:
    """Yield the first lines of the cells, and their second lines, if there are any, in
    small."""
    yield _ended(for_latex(getattr(cell, "first", cell)) for cell in row)
    below = [cell.below if isinstance(cell, Styled) else "" for cell in row]
    if any(below):
        yield _ended(
            text and rf"\scriptsize {for_latex(text)}" for text in below
        )
        yield r"\addlinespace"


def _ended(cells: Sequence[str] | Iterator[str]) -> str:
    return " & ".join(cells) + r" \\"


WRITERS = {".csv": as_csv, ".md": as_markdown, ".tex": as_latex}
"""What writes the tables to a file, by its suffix."""


def links(table: Table, name: str, title: str) -> dict[str, str]:
    """Return the table as each format, as data URIs by file name; ``title`` is that of
    a table without one.
    """
    return {
        f"{name}{suffix}": data_uri(
            writer([replace(table, title=table.title or title)]), "text/plain"
        )
        for suffix, writer in WRITERS.items()
    }
