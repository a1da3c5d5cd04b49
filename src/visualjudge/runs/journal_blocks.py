"""A journal read in blocks of whole lines, which are parsed together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from visualjudge.core.errors import DataError

if TYPE_CHECKING:
    import polars as pl

LONGEST_LINE = 64 << 20
"""Bytes of a line: what is kept of a reply, whose body has at most half as many."""
SMALL = 4_000_000
"""A journal of fewer bytes is parsed line by line: importing what parses many at once would take
longer.
"""


@dataclass(frozen=True, eq=False)
class Block:
    """Whole lines of a journal, the offset of the first and its number from 1; or a last line
    without a line feed.
    """

    content: bytes
    offset: int
    number: int
    cut: bool = False

    def table(self, texts: tuple[str, ...], whole: tuple[str, ...] = ()) -> pl.DataFrame | None:
        """Return these fields of its lines as strings and integers, or None if a line is not a
        plain JSON object.
        """
        import polars as pl

        schema = {**dict.fromkeys(texts, pl.String), **dict.fromkeys(whole, pl.Int64)}
        try:
            found = pl.read_ndjson(self.content, schema=schema)
        except pl.exceptions.PolarsError:
            return None
        return found if found.height == self.content.count(b"\n") + self.cut else None


def check_length(path: Path, number: int, line: bytes) -> None:
    """Raise DataError if a line, or the part read so far, is longer than allowed."""
    if len(line) > LONGEST_LINE:
        raise DataError(f"{path}: line {number}: must have at most {LONGEST_LINE >> 20} MiB")


def blocks(path: Path, size: int = 1_000_000) -> Iterator[Block]:
    """Yield blocks of about ``size`` bytes; a last line without a line feed comes last, alone.

    Raises
    ------
    DataError
        If a line is longer than allowed.
    """
    rest, offset, number = b"", 0, 1
    with path.open("rb") as journal:
        while piece := journal.read(size):
            content = rest + piece
            end = content.rfind(b"\n") + 1
            if end:
                yield Block(content[:end], offset, number)
                number += content.count(b"\n", 0, end)
            rest, offset = content[end:], offset + end
            check_length(path, number, rest)
    if rest:
        yield Block(rest, offset, number, cut=True)
