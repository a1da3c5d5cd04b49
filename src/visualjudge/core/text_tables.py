"""Tables for terminals and HTML. All values are escaped, and tables are safe in
spreadsheet programs. Files of tables are in ``parquet.py``; columns of figures, in
``analysis/table_layout.py``.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from textwrap import wrap

GAP = "  "
# Width, in columns, of the narrowest supported terminal.
NARROWEST = 60

# Longest word of a name that is not broken, in columns.
LONGEST_WORD = 28

# Maximum number of characters of a number, which never wraps; longer digit strings are
# names.
LONGEST_NUMBER = 16

# A bar of characters, which never wraps.
DRAWN = re.compile("[·─│●○]+|")

NUMBER = re.compile(r"[-+\u2212–]?[\d.,]*( ?%)?")


# Blanks within a number, its sign, its unit and its interval, and before a mark.
HELD = re.compile(
    r"(?<=\d) (?=[%×]|points?\b)|(?<=[≥≤±×]) (?=\w)"
    r"|(?<=[\d%]) (?:to|of) (?=[\d\u2212])| (?=\*$)"
)
# Stands for such a blank while lines are wrapped.
NO_BREAK = "\x1f"


def unbroken(text: str, blank: str = "\u00a0") -> str:
    """Return ``text`` with ``blank`` where no line may end: within numbers with their
    intervals and units.
    """
    return HELD.sub(lambda match: match[0].replace(" ", blank), text)


def screen_width() -> int:
    """Return the width of the terminal, or ``COLUMNS``; without either, a width that
    fits any table.
    """
    if not sys.stdout.isatty() and not os.environ.get("COLUMNS", "").isdigit():
        return sys.maxsize
    return max(shutil.get_terminal_size().columns, NARROWEST)


def folded(sentence: str, width: int | None = None) -> str:
    """Return ``sentence`` as lines of at most ``width`` characters (default: the
    terminal's). Longer words are not split, nor numbers from their units.
    """
    room = screen_width() if width is None else width
    margin = len(sentence) - len(sentence.lstrip())
    return "\n".join(
        wrap(
            unbroken(sentence),
            room,
            subsequent_indent=" " * 2 * margin,
            break_long_words=False,
            break_on_hyphens=False,
        )
    ).replace("\u00a0", " ")


class Styled(str):
    """A cell with extra content in HTML: a state with its icon and colour, a link, and
    a second line in small letters, which other formats append.

    Examples
    --------
    >>> Styled("yes", below="of 12 images", state="pass", icon="✓")
    'yes; of 12 images'
    """

    first: str
    below: str
    state: str
    icon: str
    link: str

    def __new__(
        cls,
        first: str,
        *,
        below: str = "",
        state: str = "",
        icon: str = "",
        link: str = "",
    ) -> Styled:
        """Create a cell; ``state`` is the CSS class of the first line, ``icon`` the
        symbol before it, ``link`` the address to which it leads.
        """
        made = super().__new__(cls, f"{first}; {below}" if below else first)
        vars(made).update(
            first=first, below=below, state=state, icon=icon, link=link
        )
        return made


@dataclass(frozen=True)
class Table:
    """Cells as text, and the notes below them."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    title: str = ""
    # Number of leading columns that identify a row.
    keys: int = 1
    # Right-aligned columns; None = those that contain only numbers.
    numeric: tuple[bool, ...] | None = None
    # Rows that HTML shows in bold.
    marked: frozenset[int] = frozenset()

    @property
    def to_the_right(self) -> Sequence[bool]:
        """Whether each column is aligned to the right."""
        if self.numeric is not None:
            return self.numeric
        return [
            all(
                len(row[i]) <= LONGEST_NUMBER and NUMBER.fullmatch(row[i])
                for row in self.rows
            )
            for i in range(len(self.columns))
        ]

    def text(self, width: int | None = None) -> str:
        """Return aligned columns within ``width`` (default: the terminal's; without a
        terminal, as wide as the cells).

        Names wrap onto further lines; numbers and intervals never do. Columns that do not fit follow
        below, with the keys repeated. Within a width, a value that all rows have is
        stated once, below.
        """
        numeric = self.to_the_right
        floors = [self._floor(i, number) for i, number in enumerate(numeric)]
        room = screen_width() if width is None else width
        same = self._same() if room < sys.maxsize else []
        parts = [
            "\n".join(self._lines(part, floors, room))
            for part in self._parts(floors, room, same)
        ]
        stated = [f"{self.columns[i]}: {self.rows[0][i]}" for i in same]
        notes = [f"The same in all rows: {'; '.join(stated)}."] * bool(stated)
        return "\n".join(
            [
                *filter(None, [self.title]),
                "\n\n".join(parts),
                *(folded(note, room) for note in [*notes, *self.notes]),
            ]
        )

    def _same(self) -> list[int]:
        """Return the columns, but the keys, in which all of several rows agree."""
        columns = range(self.keys, len(self.columns))
        return [
            i
            for i in columns
            if len(self.rows) > 1 and len({row[i] for row in self.rows}) == 1
        ]

    def _lines(
        self, part: Sequence[int], floors: Sequence[int], room: int
    ) -> Iterator[str]:
        """Yield some columns as lines, the widest names wrapped until the columns
        fit."""
        numeric = self.to_the_right
        rows = [[line[i] for i in part] for line in (self.columns, *self.rows)]
        widths = [
            max(1, *map(len, column)) for column in zip(*rows, strict=True)
        ]
        room -= len(GAP) * (len(part) - 1)
        while sum(widths) > room and (
            wide := [k for k, i in enumerate(part) if widths[k] > floors[i]]
        ):
            widths[max(wide, key=widths.__getitem__)] -= 1
        for row in rows:
            cells = [
                wrap(unbroken(cell, NO_BREAK), width, break_on_hyphens=False)
                or [""]
                for cell, width in zip(row, widths, strict=True)
            ]
            for line in zip_longest(*cells, fillvalue=""):
                aligned = (
                    cell.rjust(width) if numeric[i] else cell.ljust(width)
                    for i, cell, width in zip(part, line, widths, strict=True)
                )
                yield GAP.join(aligned).replace(NO_BREAK, " ").rstrip()

    def _floor(self, column: int, number: bool) -> int:
        cells = [row[column] for row in self.rows]
        longest = max(map(len, cells), default=0)
        whole = number or all(map(DRAWN.fullmatch, cells))
        words = [
            len(word)
            for cell in cells
            for word in unbroken(cell, NO_BREAK).split(" ")
        ]
        return max(
            longest if whole else min(max(words, default=0), LONGEST_WORD),
            *map(len, self.columns[column].split()),
            1,
        )

    def _parts(
        self, floors: Sequence[int], room: int, without: Sequence[int]
    ) -> list[list[int]]:
        keys = [*range(self.keys)]
        parts = [[*keys]]
        for column in range(self.keys, len(floors)):
            if column in without:
                continue
            width = sum(
                floors[i] + len(GAP) for i in (*parts[-1], column)
            ) - len(GAP)
            if width > room and len(parts[-1]) > len(keys):
                parts.append([*keys])
            parts[-1].append(column)
        return parts

    def html(self) -> str:
        """Return an HTML table that can be scrolled with the keyboard, and its notes.
        Pages style ``wide`` (around the table), ``keys`` (two columns identify a row),
        ``n`` (numbers) and ``hit`` (marked rows).
        """
        from visualjudge.core.page_templates import environment

        return (
            environment("visualjudge", "core")
            .get_template("table.html.j2")
            .render(table=self, right=self.to_the_right, unbroken=unbroken)
        )
