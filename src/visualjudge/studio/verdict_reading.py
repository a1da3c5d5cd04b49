"""Reads the verdicts of a file as rows of numbers, part by part.

A position is a byte in a journal and a row in a Parquet file.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from numpy.typing import NDArray

from visualjudge.core import jsons
from visualjudge.core.garbage_collection import paused_collector
from visualjudge.core.records import LETTERS
from visualjudge.runs.compacting import GROUP, CompactedFile
from visualjudge.runs.spending import paid_counts
from visualjudge.studio.index import line_ranges
from visualjudge.studio.text_index import Words, words_of

if TYPE_CHECKING:
    import polars as pl

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
    if not path.is_file():
        return 0
    return _compacted(path).count if path.suffix == ".parquet" else path.stat().st_size


def _compacted(path: Path) -> CompactedFile:
    """Open the file once, until it is replaced."""
    return _opened(path, path.stat().st_mtime_ns)


@lru_cache(8)
def _opened(path: Path, written: int) -> CompactedFile:
    return CompactedFile(path)


# A line with all line breaks after it, so that a file of line breaks is one step.
_LINE = re.compile(rb".*\n+")


def ranges(path: Path, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Split the positions ``start:stop`` into parts of whole verdicts."""
    if path.suffix == ".parquet":
        return ((first, min(first + GROUP, stop)) for first in range(start, stop, GROUP))
    return line_ranges(path, start, stop)


def lines_of(path: Path, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
    """Return each line in this range and the position of the next; an incomplete last line is left
    out.
    """
    if path.suffix == ".parquet":
        yield from ((line.number, line.raw) for line in _compacted(path).lines(start, stop))
        return
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
    if path.suffix != ".parquet":
        read.take(lines_of(path, start, stop))
        return read.part()
    for first, frame in _compacted(path).frames(start, stop):
        if _has_plain_columns(frame):
            read.take_columns(first, frame)
        else:
            read.take(lines_of(path, first, first + frame.height))
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

    def take_columns(self, first: int, frame: pl.DataFrame) -> None:
        """Read rows of a Parquet file that :func:`_has_plain_columns` accepts, three times as fast
        as line by line.

        ``first`` is the number of the first row.
        """
        self.stop = first + frame.height
        rows = np.zeros(frame.height, ROW)
        rows["q"] = rows["text"] = -1
        rows["start"] = np.arange(first, self.stop)
        rows["stop"] = rows["start"] + 1
        rows["order"] = _coded(frame["order"], {name: code for code, name in enumerate(ORDERS)}, 0)
        rows["status"] = _coded(frame["status"], _STATUS_CODE, len(STATUSES) - 1)
        none = frame["value"].clear(frame.height)  # a number has its own column
        said = frame["value"].zip_with(frame["number"].is_null(), none)
        rows["value"] = _coded(said, VALUE_CODE, -1)
        rows["repeat"] = frame["repeat"].to_numpy()
        rows["chars"] = frame["raw_response"].str.len_chars().fill_null(0).to_numpy()
        for name in ("number", "probability_a", "latency_s"):
            rows[_FIELDS.get(name, name)] = _real(frame[name])
        for name in ("tokens_in", "tokens_out"):
            rows[name] = frame[name].fill_null(0).clip(0, _MOST_TOKENS).to_numpy()
        self.chunks.append(rows)
        self.ids += frame["id"].to_list()
        self.texts += map(_indexed, frame["raw_response"].to_list())
        self.causes += Counter(
            cause[:LONGEST_CAUSE] for cause in frame["cause"].drop_nulls() if cause
        )

    def part(self) -> ReadPart:
        """Return everything read."""
        rows = np.concatenate(self.chunks) if self.chunks else np.zeros(0, ROW)
        return ReadPart(rows, self.ids, self.texts, self.causes, self.stop)


def _has_plain_columns(frame: pl.DataFrame) -> bool:
    """Return whether the columns alone give the verdicts, with nothing missing or stored
    elsewhere.
    """
    if frame["json"].null_count() < frame.height or any(
        frame[name].null_count() for name in _STATED
    ):
        return False
    if (frame["repeat"] < 0).any() or not frame["order"].is_in(ORDERS).all():
        return False
    return not frame["more"].str.contains(_IN_MORE).any()


def _coded(column: pl.Series, codes: Mapping[str, int], other: int) -> NDArray[np.int32]:
    """Return the code of each text; ``other`` for null and for a text without a code."""
    import polars as pl

    names, numbers = list(codes), list(codes.values())
    found = column.replace_strict(names, numbers, default=other, return_dtype=pl.Int32)
    return np.asarray(found.fill_null(other).to_numpy())


def _real(column: pl.Series) -> NDArray[np.float64]:
    found = np.array(column.fill_null(float("nan")).to_numpy(), dtype=np.float64)
    found[~(np.abs(found) < LARGEST)] = np.nan
    return found


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
    tokens_in, tokens_out = paid_counts(verdict)
    return min(tokens_in or 0, _MOST_TOKENS), min(tokens_out or 0, _MOST_TOKENS)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return float("nan")
    return float(value) if abs(value) < LARGEST else float("nan")
