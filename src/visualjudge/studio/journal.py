"""The verdicts of a run as rows of numbers; parts of the file are read at once in several processes.

A place in a journal is a byte, in a Parquet file of verdicts a row.
"""

from __future__ import annotations

import io
import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from visualjudge.core import jsons
from visualjudge.core.records import LETTERS
from visualjudge.runs.compacting import GROUP, CompactedFile
from visualjudge.runs.spending import paid_counts
from visualjudge.studio.parts import line_ranges
from visualjudge.studio.texts import Words, words_of

STATUSES = ("ok", "unparseable", "refusal", "truncated", "api_error", "cannot_tell", "ok_extracted", "other")
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


@dataclass(frozen=True, eq=False, slots=True)
class Taken:
    """The verdicts in a part of a file; ``q`` and ``text`` of ``rows`` are filled in by the index."""

    rows: Rows
    ids: list[str]
    """The question of each row."""
    texts: list[Words | None]
    """The words of each reply; None without one."""
    causes: Counter[str]
    stop: int
    """Where the last whole line ends."""


def end_of(path: Path) -> int:
    """The place after the last verdict; 0 without a file."""
    if not path.is_file():
        return 0
    return _compacted(path).count if path.suffix == ".parquet" else path.stat().st_size


def _compacted(path: Path) -> CompactedFile:
    """The file, opened once until it is another one."""
    return _opened(path, path.stat().st_mtime_ns)


@lru_cache(8)
def _opened(path: Path, written: int) -> CompactedFile:
    return CompactedFile(path)


def ranges(path: Path, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """The places ``start:stop`` in parts of whole verdicts."""
    if path.suffix == ".parquet":
        return ((first, min(first + GROUP, stop)) for first in range(start, stop, GROUP))
    return line_ranges(path, start, stop)


def lines_of(path: Path, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
    """Each line of these places, and where the next begins; a last line without an end is left out."""
    if path.suffix == ".parquet":
        yield from ((line.number, line.raw) for line in _compacted(path).lines(start, stop))
        return
    with path.open("rb") as journal:
        journal.seek(start)
        for line in io.BytesIO(journal.read(stop - start)):
            if not line.endswith(b"\n"):
                return
            start += len(line)
            yield start, line


def taken_from(part: tuple[Path, int, int]) -> Taken:
    """The verdicts in the places ``start:stop`` of a file; a last line without an end is left for the next time."""
    path, start, stop = part
    rows, ids, causes = list[tuple[Any, ...]](), list[str](), Counter[str]()
    texts: list[Words | None] = []
    for end, line in lines_of(path, start, stop):
        begin, start = start, end
        verdict = parsed(line)
        if verdict is None:
            continue
        if verdict.get("cause"):
            causes[str(verdict["cause"])[:80]] += 1
        row = _row(verdict, begin, start)
        if row is not None:
            raw = verdict.get("raw_response")
            rows.append(row)
            ids.append(verdict["id"])
            texts.append(words_of(raw) if raw and isinstance(raw, str) else None)
    return Taken(np.array(rows, ROW), ids, texts, causes, start)


def parsed(line: bytes) -> dict[str, Any] | None:
    """The verdict of a line; None if the line is not a verdict."""
    try:
        verdict = jsons.loads(line)
    except orjson.JSONDecodeError:
        return None
    return verdict if isinstance(verdict, dict) and isinstance(verdict.get("id"), str) else None


def _row(verdict: dict[str, Any], start: int, stop: int) -> tuple[Any, ...] | None:
    """A verdict as a row of ROW; None if its order or repeat is not valid."""
    value, order, raw = verdict.get("value"), verdict.get("order") or "AB", verdict.get("raw_response")
    status = str(verdict.get("status"))
    repeat = verdict.get("repeat") or 0
    if order not in ORDERS or not isinstance(repeat, int) or not 0 <= repeat < 2**31:
        return None
    return (
        -1,
        ORDERS.index(order),
        repeat,
        (verdict.get("purpose") or "question") != "question",
        STATUSES.index(status) if status in STATUSES else len(STATUSES) - 1,
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
    """Those that were paid for."""
    tokens_in, tokens_out = paid_counts(verdict)
    return min(tokens_in or 0, 2**31 - 1), min(tokens_out or 0, 2**31 - 1)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return float("nan")
    return float(value) if abs(value) < 1e30 else float("nan")
