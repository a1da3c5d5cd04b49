"""Reads the verdicts of a file as rows of numbers, part by part.

A position is a byte in a journal and a row in a Parquet file.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from numpy.typing import NDArray

from visualjudge.core import jsons
from visualjudge.core.garbage_collection import paused_collector
from visualjudge.core.records import LETTERS
from visualjudge.runs.budget import PAID, token_counts
from visualjudge.studio.index import line_ranges
from visualjudge.studio.text_index import Words, words_of

if TYPE_CHECKING:
    pass

STATUSES = (
    "ok",
    "unparseable",
    "refusal",
    "truncated",
    "api_error",
    "cannot_tell",
    "ok_extracted",
    "other",
)
_STATUS_CODE = {name: code for code, name in enumerate(STATUSES)}
ORDERS = ("AB", "BA")

_ORDERINGS = tuple(
    "".join(order)
    for n in range(1, 6)
    for order in itertools.permutations(LETTERS, n)
    if n == 1 or set(order) == set(LETTERS[:n])
)
VALUES = ("tie", "both_bad", *_ORDERINGS)
VALUE_CODE = {value: code for code, value in enumerate(VALUES)}

ROW = np.dtype(
    [
        ("q", "i4"),
        ("order", "u1"),
        ("repeat", "i4"),
        ("check", "u1"),
        ("status", "u1"),
        ("value", "i2"),
        ("number", "f4"),
        ("probability", "f4"),
        ("latency", "f4"),
        ("chars", "i4"),
        ("text", "i4"),
        ("tokens_in", "i4"),
        ("tokens_out", "i4"),
        ("start", "i8"),
        ("stop", "i8"),
    ]
)
Rows = NDArray[Any]
LONG_REPLY = 400
"""Length in characters above which replies are hardly ever repeated."""
LONGEST_CAUSE = 80
"""Maximum length in characters of a failure's cause."""
LARGEST = 1e30
"""Larger numbers are treated as invalid."""
_MOST_TOKENS = 2**31 - 1
_STATED = ("id", "order", "value", "status", "repeat")
# Fields of ``more`` on which the columns of a verdict depend.
_IN_MORE = '"(purpose|paid)"'
# Their names in the index.
_FIELDS = {"probability_a": "probability", "latency_s": "latency"}


@dataclass(frozen=True, eq=False, slots=True)
class ReadPart:
    """The verdicts in a part of a file; the index fills in ``q`` and ``text`` of ``rows``.

    Attributes
    ----------
    ids
        The question id of each row.
    texts
        The words of each reply; None without one.
    stop
        The end of the last complete line.
    """

    rows: Rows
    ids: list[str]
    texts: list[Words | None]
    causes: Counter[str]
    stop: int


def end_of(path: Path) -> int:
    """Return the position after the last verdict, or 0 without a file."""
    return path.stat().st_size if path.is_file() else 0


# A line with all line breaks after it, so that a file of line breaks is one step.
_LINE = re.compile(rb".*\n+")


def ranges(path: Path, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Split the positions ``start:stop`` into parts of whole verdicts."""
    return line_ranges(path, start, stop)


def lines_of(path: Path, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
    """Return each line in this range and the position of the next; an incomplete last line is left
    out.
    """
    with path.open("rb") as journal:
        journal.seek(start)
        for found in _LINE.finditer(journal.read(stop - start)):
            yield start + found.end(), found[0]


@paused_collector()
def read_part(part: tuple[Path, int, int]) -> ReadPart:
    """Return the verdicts in ``start:stop`` of a file; an incomplete last line is left for the next
    time.
    """
    path, start, stop = part
    read = _Read(start)
    read.take(lines_of(path, start, stop))
    return read.part()


class _Read:
    """Verdicts being read; ``stop`` is the end of the last one."""

    def __init__(self, start: int) -> None:
        self.stop = start
        self.chunks: list[Rows] = []
        self.ids: list[str] = []
        self.texts: list[Words | None] = []
        self.causes = Counter[str]()

    def take(self, lines: Iterable[tuple[int, bytes]]) -> None:
        """Read lines, each given with its end position."""
        rows: list[tuple[Any, ...]] = []
        for end, line in lines:
            begin, self.stop = self.stop, end
            verdict = parsed(line)
            if verdict is None:
                continue
            if verdict.get("cause"):
                self.causes[str(verdict["cause"])[:LONGEST_CAUSE]] += 1
            row = _row(verdict, begin, end)
            if row is not None:
                rows.append(row)
                self.ids.append(verdict["id"])
                self.texts.append(_indexed(verdict.get("raw_response")))
        self.chunks.append(np.array(rows, ROW))

    def part(self) -> ReadPart:
        """Return everything read."""
        rows = np.concatenate(self.chunks) if self.chunks else np.zeros(0, ROW)
        return ReadPart(rows, self.ids, self.texts, self.causes, self.stop)


def _indexed(raw: Any) -> Words | None:
    """Return the words of a reply, or None without one."""
    if not isinstance(raw, str) or not raw:
        return None
    return words_of(raw, repeated=len(raw) < LONG_REPLY)


def parsed(line: bytes) -> dict[str, Any] | None:
    """Return the verdict of a line, or None if it is not a verdict."""
    try:
        verdict = jsons.loads(line)
    except orjson.JSONDecodeError:
        return None
    return verdict if isinstance(verdict, dict) and isinstance(verdict.get("id"), str) else None


def _row(verdict: dict[str, Any], start: int, stop: int) -> tuple[Any, ...] | None:
    """Convert a verdict to a row of ROW, or None if its order or repeat is invalid."""
    value, order, raw = (
        verdict.get("value"),
        verdict.get("order") or "AB",
        verdict.get("raw_response"),
    )
    status = str(verdict.get("status"))
    repeat = verdict.get("repeat") or 0
    if order not in ORDERS or not isinstance(repeat, int) or not 0 <= repeat < 2**31:
        return None
    return (
        -1,
        ORDERS.index(order),
        repeat,
        (verdict.get("purpose") or "question") != "question",
        _STATUS_CODE.get(status, len(STATUSES) - 1),
        VALUE_CODE.get(value, -1) if isinstance(value, str) else -1,
        _number(value),
        _number(verdict.get("probability_a")),
        _number(verdict.get("latency_s")),
        len(raw) if isinstance(raw, str) else 0,
        -1,
        *_tokens(verdict),
        start,
        stop,
    )


def _tokens(verdict: dict[str, Any]) -> tuple[int, int]:
    """Return the tokens that were paid for."""
    usage = verdict.get(PAID, verdict.get("usage"))
    tokens_in, tokens_out = token_counts(usage if isinstance(usage, dict) else None)
    return min(tokens_in or 0, _MOST_TOKENS), min(tokens_out or 0, _MOST_TOKENS)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return float("nan")
    return float(value) if abs(value) < LARGEST else float("nan")
