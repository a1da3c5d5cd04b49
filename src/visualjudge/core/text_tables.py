"""Tables of text for a terminal, Markdown, LaTeX and HTML, with all values escaped."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap

GAP = "  "
NARROWEST = 60
"""Columns of the narrowest terminal that tables are made for."""

LEAST_NAME = 12
"""Columns that a folded name keeps."""

LONGEST_NUMBER = 16
"""Characters up to which digits are a number, which never breaks; longer ones name something."""

NUMBER = re.compile(r"[-+\u2212–]?[\d.,]*( ?%)?")


def screen_width() -> int:
    """Return the width of the terminal, or ``COLUMNS``; without either, a width that any table
    fits.
    """
    if not sys.stdout.isatty() and not os.environ.get("COLUMNS", "").isdigit():
        return sys.maxsize
    return max(shutil.get_terminal_size().columns, NARROWEST)


def folded(sentence: str, width: int | None = None) -> str:
    """Return ``sentence`` in lines of at most ``width`` characters (default: the terminal's);
    longer words are not broken.
    """
    room = screen_width() if width is None else width
    return "\n".join(wrap(sentence, room, break_long_words=False, break_on_hyphens=False))


def _is_number(cell: str) -> bool:
    return len(cell) <= LONGEST_NUMBER and NUMBER.fullmatch(cell) is not None


def _fitted(widths: Sequence[int], floors: Sequence[int], room: int) -> list[int]:
    """Return widths that fit ``room``, narrowing the widest column first, none below its
    minimum.
    """
    found = list(widths)
    while sum(found) > max(room, sum(floors)):
        found[
            max((i for i, floor in enumerate(floors) if found[i] > floor), key=lambda i: found[i])
        ] -= 1
    return found


def _aligned(
    cells: Sequence[Sequence[str]], widths: Sequence[int], numeric: Sequence[bool]
) -> list[str]:
    """Return lines of columns: numbers right-aligned, names left-aligned and wrapped."""
    lines = []
    for row in cells:
        parts = [wrap(cell, width) or [""] for cell, width in zip(row, widths, strict=True)]
        for k in range(max(map(len, parts))):
            shown = [part[k] if k < len(part) else "" for part in parts]
            padded = [
                cell.rjust(width) if number else cell.ljust(width)
                for cell, width, number in zip(shown, widths, numeric, strict=True)
            ]
            lines.append(GAP.join(padded).rstrip())
    return lines


def markdown_text(value: object) -> str:
    """Return a text on one line with HTML and Markdown's marks of tables, links and images
    escaped.
    """
    line = escape(" ".join(str(value).split()), quote=False)
    return line.replace("|", "\\|").replace("](", "]\\(")


LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "\u2212": "$-$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "±": r"$\pm$",
    "τ": r"$\tau$",
    "ρ": r"$\rho$",
    "α": r"$\alpha$",
    "ω": r"$\omega$",
    "∞": r"$\infty$",
    "·": r"$\cdot$",
    "–": "--",
    "’": "'",
    "“": "``",
    "”": "''",
}


def latex_text(value: str) -> str:
    """Return a text escaped for LaTeX, with Greek letters and signs as mathematics."""
    return "".join(LATEX.get(character, character) for character in " ".join(value.split()))


@dataclass(frozen=True)
class Table:
    """Cells as text, and the sentences below them."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    title: str = ""
    keys: int = 1
    """How many columns, from the first, tell the rows apart."""

    def text(self, width: int | None = None) -> str:
        """Return aligned columns within ``width`` (default: the terminal's; without a terminal, as
        wide as the cells).

        Names wrap onto further lines; numbers never do. Columns that do not fit follow below, after
        the keys.
        """
        numeric = [all(_is_number(row[i]) for row in self.rows) for i in range(len(self.columns))]
        floors = [self._floor(i, number) for i, number in enumerate(numeric)]
        room = screen_width() if width is None else width
        body: list[str] = []
        for part in self._parts(floors, room):
            cells = [[line[i] for i in part] for line in (self.columns, *self.rows)]
            widths = [max(1, *map(len, column)) for column in zip(*cells, strict=True)]
            fitted = _fitted(widths, [floors[i] for i in part], room - len(GAP) * (len(part) - 1))
            body += [*([""] if body else []), *_aligned(cells, fitted, [numeric[i] for i in part])]
        return "\n".join(
            [
                *([self.title] if self.title else []),
                *body,
                *(folded(note, room) for note in self.notes),
            ]
        )

    def _floor(self, column: int, number: bool) -> int:
        """Return the minimum width of a column: whole numbers, ``LEAST_NAME`` of a name, and each
        word of the heading.
        """
        longest = max((len(row[column]) for row in self.rows), default=0)
        return max(
            longest if number else min(longest, LEAST_NAME),
            *map(len, self.columns[column].split()),
            1,
        )

    def _parts(self, floors: Sequence[int], room: int) -> list[list[int]]:
        """Yield groups of columns that fit side by side, each beginning with the keys."""
        keys = [*range(self.keys)]
        parts = [keys]
        for column in range(self.keys, len(floors)):
            together = [*parts[-1], column]
            if (
                len(parts[-1]) > len(keys)
                and sum(floors[i] + len(GAP) for i in together) - len(GAP) > room
            ):
                parts.append([*keys, column])
            else:
                parts[-1] = together
        return parts

    def markdown(self) -> str:
        """Return a Markdown table with all texts escaped."""
        head, *body = (
            "| " + " | ".join(map(markdown_text, row)) + " |" for row in (self.columns, *self.rows)
        )
        title = [f"### {markdown_text(self.title)}", ""] if self.title else []
        notes = (f"{markdown_text(note)}\n" for note in self.notes)
        return "\n".join([*title, head, "|" + "---|" * len(self.columns), *body, "", *notes])

    def latex(self) -> str:
        """Return a ``tabular`` environment for the package booktabs; notes are comments below
        it.
        """
        numeric = [all(_is_number(row[i]) for row in self.rows) for i in range(len(self.columns))]
        head, *body = (
            " & ".join(map(latex_text, row)) + r" \\" for row in (self.columns, *self.rows)
        )
        sides = "".join("r" if number else "l" for number in numeric)
        lines = [
            rf"\begin{{tabular}}{{{sides}}}",
            r"\toprule",
            head,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
        ]
        return "\n".join([*lines, *(f"% {' '.join(note.split())}" for note in self.notes)]) + "\n"

    def html(self) -> str:
        """Return a table element, which can be scrolled with the keyboard, and its notes."""
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self.rows
        )
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        title = f"<h3>{escape(self.title)}</h3>" if self.title else ""
        return (
            f"{title}<table "
            f'tabindex="0"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}'
        )
