"""A finished run's verdicts as one Parquet file with typed columns, from which the journal can be
restored byte by byte.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from visualjudge.core import jsons
from visualjudge.core.atomic import atomic_path
from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import DataError
from visualjudge.core.records import Verdict
from visualjudge.core.tables import (
    parquet_schema,
    scan,
    table_metadata,
    table_parts,
    write_parquet,
)
from visualjudge.runs.budget import token_counts
from visualjudge.runs.journal import Line, read_lines
from visualjudge.runs.verdict_lines import verdict_line, verdict_of

if TYPE_CHECKING:
    import polars as pl

GROUP = 4096
"""Rows per row group, which is always read as a whole."""
PART = 100_000
_DIGEST = "journal_sha256"
_LARGEST = 2**63 - 1


@cache
def schema() -> pl.Schema:
    """Return the columns. There is one row per line of the journal.

    ``value`` is text; if it is a number, ``number`` holds it too. ``tokens_in`` and ``tokens_out``
    are read from ``usage``. ``more`` holds the other fields of a line as JSON, such as ``rule``.
    ``json`` holds the line itself if it cannot be restored from the columns; it is null for lines
    that this package wrote.
    """
    import polars as pl

    text, real, whole = pl.String(), pl.Float64(), pl.Int64()
    return pl.Schema(
        {
            **dict.fromkeys(("id", "order", "value"), text),
            "number": real,
            **dict.fromkeys(("status", "cause", "raw_response"), text),
            "usage": pl.List(pl.Struct({"name": text, "count": whole})),
            **dict.fromkeys(("tokens_in", "tokens_out"), whole),
            **dict.fromkeys(("latency_s", "probability_a", "expected_score"), real),
            "repeat": pl.Int32(),
            "more": text,
            "json": pl.Binary(),
        }
    )


# ---------------------------------------------------------------- writing


def compact(journal: Path, target: Path) -> None:
    """Write the verdicts of a journal to ``target``, atomically, after checking that they can be
    restored.

    Raises
    ------
    DataError
        If a line is not a verdict, or the journal's bytes cannot be restored from the file.
    RunError
        If the file cannot be written.
    """
    digest = file_sha256(journal)
    with atomic_path(target) as scratch:
        write_parquet(
            scratch, _frames(journal), schema(), rows_a_group=GROUP, metadata={_DIGEST: digest}
        )
        _sync(scratch)
        if _digest(read_compacted(scratch)) != digest:
            raise DataError(
                f"{journal}: must contain one verdict per line and end with a line break"
            )


def expand(source: Path, journal: Path) -> None:
    """Write the journal that ``source`` was made from, atomically.

    Raises
    ------
    DataError
        If the verdicts differ from those that were compacted.
    RunError
        If the journal cannot be written.
    """
    stored = CompactedFile(source)
    with atomic_path(journal) as scratch:
        with scratch.open("wb") as file:
            digest = _digest(stored.lines(), file.write)
            file.flush()
            os.fsync(file.fileno())
        if digest != stored.digest:
            raise DataError(f"{source}: its verdicts differ from the journal that it was made from")


def _sync(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _digest(lines: Iterable[Line], write: Any = None) -> str:
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.raw)
        if write is not None:
            write(line.raw)
    return digest.hexdigest()


def _frames(journal: Path) -> Iterator[pl.DataFrame]:
    import polars as pl

    lines = read_lines(journal)
    while some := list(islice(lines, GROUP)):
        try:
            yield pl.DataFrame([_row(journal, line) for line in some], schema())
        except (pl.exceptions.PolarsError, OverflowError, UnicodeEncodeError) as error:
            numbers = f"{some[0].number} to {some[-1].number}"
            raise DataError(
                f"{journal}: lines {numbers}: a field does not fit its column: {error}"
            ) from None


def _row(journal: Path, line: Line) -> dict[str, Any]:
    try:
        verdict = verdict_of(line.record or {})
    except (KeyError, ValueError, TypeError):
        raise DataError(
            f"{journal}: line {line.number} is not a verdict; --resume removes partial lines"
        ) from None
    tokens_in, tokens_out = token_counts(verdict.usage) if verdict.usage else (None, None)
    text = isinstance(verdict.value, str)
    row = {
        "id": verdict.id,
        "order": verdict.order,
        "value": verdict.value if text else orjson.dumps(verdict.value).decode(),
        "number": None if text else float(verdict.value),
        "status": verdict.status,
        "cause": verdict.cause,
        "raw_response": verdict.raw_response,
        "usage": _counts(verdict.usage),
        "tokens_in": tokens_in,
        "tokens_out": tokens_out,
        "latency_s": _real(verdict.latency_s),
        "probability_a": _real(verdict.probability_a),
        "expected_score": _real(verdict.expected_score),
        "repeat": verdict.repeat,
        "more": orjson.dumps(verdict.extra).decode() if verdict.extra else None,
        "json": None,
    }
    raw = line.raw.removesuffix(b"\n")
    return row if _bytes(row) == raw else {**row, "json": raw}


def _real(value: float | None) -> float | None:
    return None if value is None else float(value)


def _counts(usage: Any) -> list[dict[str, Any]] | None:
    """Return the counts as a column holds them, or None if it cannot."""
    if usage is None or not all(
        type(count) is int and abs(count) <= _LARGEST for count in usage.values()
    ):
        return None
    return [{"name": name, "count": count} for name, count in usage.items()]


# ---------------------------------------------------------------- reading


class CompactedFile:
    """The verdicts of a Parquet file, read one row group at a time.

    Raises
    ------
    DataError
        If it is not such a file.
    """

    def __init__(self, path: Path) -> None:
        if parquet_schema(path) != schema():
            raise DataError(f"{path}: must have the columns of a run's verdicts")
        self._path = path
        self._group: tuple[int, pl.DataFrame] | None = None
        self.count = scan(path).select(pl.len()).collect().item()
        if self.count > path.stat().st_size:
            raise DataError(f"{path}: must have at most one verdict per byte, got {self.count:,}")

    @property
    def digest(self) -> str | None:
        """SHA-256 of the original journal."""
        return table_metadata(self._path).get(_DIGEST)

    def lines(self, start: int = 0, stop: int | None = None) -> Iterator[Line]:
        """Yield some rows as lines of a journal; each starts at its row number."""
        for first, part in self.frames(start, stop):
            rows = enumerate(part.to_dicts(), first)
            yield from (self._line(row, number) for number, row in rows)

    def frames(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, pl.DataFrame]]:
        """Yield the number of the first row and some rows as columns, a bounded number at a
        time.
        """
        end = self.count if stop is None else min(stop, self.count)
        for first in range(start // GROUP * GROUP, end, GROUP):
            low, high = max(start, first), min(end, first + GROUP)
            yield low, self._read(first).slice(low - first, high - low)

    def _line(self, row: dict[str, Any], number: int) -> Line:
        try:
            return _line(row, number)
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise DataError(f"{self._path}: row {number}: must be a verdict: {error}") from None

    def _read(self, first: int) -> pl.DataFrame:
        """Return the row group that begins with row ``first``. The last one is cached, because
        neighbouring rows are often read.
        """
        group = self._group
        if group is None or group[0] != first:
            group = self._group = first, scan(self._path).slice(first, GROUP).collect()
        return group[1]

    def parts(self, *names: str) -> Iterator[pl.DataFrame]:
        """Yield some columns, many rows at a time."""
        return table_parts(self._path, PART, names)


def read_compacted(path: Path) -> Iterator[Line]:
    """Yield all verdicts of a Parquet file, as lines of a journal."""
    return CompactedFile(path).lines()


def _line(row: dict[str, Any], number: int) -> Line:
    if row["json"] is not None:
        return Line(number + 1, number, row["json"] + b"\n", jsons.loads(row["json"]))
    record = _record(row)
    return Line(number + 1, number, orjson.dumps(record) + b"\n", record)


def _bytes(row: dict[str, Any]) -> bytes:
    """Return the line that the columns describe."""
    return orjson.dumps(_record(row))


def _record(row: dict[str, Any]) -> dict[str, Any]:
    names = (
        "id",
        "order",
        "status",
        "raw_response",
        "latency_s",
        "repeat",
        "probability_a",
        "expected_score",
        "cause",
    )
    return verdict_line(
        Verdict(
            **{name: row[name] for name in names},
            value=row["value"] if row["number"] is None else orjson.loads(row["value"]),
            usage=None
            if row["usage"] is None
            else {item["name"]: item["count"] for item in row["usage"]},
            extra=orjson.loads(row["more"]) if row["more"] is not None else {},
        )
    )
