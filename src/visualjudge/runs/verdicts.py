"""Verdicts in the file ``verdicts.jsonl``: the one writer and the one reader of a line.

A run of version 1.0 may be compacted in ``verdicts.parquet``, which is read here too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_args

import orjson

from visualjudge.core import jsons
from visualjudge.core.atomic import atomic_path
from visualjudge.core.errors import DataError
from visualjudge.core.records import Served, Status, Verdict
from visualjudge.core.tables import scan
from visualjudge.core.untrusted import open_file
from visualjudge.judges.base import ORDERS
from visualjudge.runs.journal import Line, read_lines

MOST_REPEATS = 1_000_000
_STATUSES = frozenset(get_args(Status))
_OWN = ("id", "order", "value", "status", "raw_response", "usage", "latency_s", "repeat")
_OPTIONAL = ("probability_a", "expected_score", "cause")
_SERVED = ("served_model", "fingerprint", "provider")
_KNOWN = frozenset((*_OWN, *_OPTIONAL, *_SERVED))
_ROWS = 4096


class VerdictLine(NamedTuple):
    """One line of a run's verdicts. ``verdict`` is None if the line cannot be read; ``partial``
    tells that a kill cut it.

    ``start`` is the offset of its first byte, or its row of ``verdicts.parquet``.
    """

    number: int
    start: int
    verdict: Verdict | None
    partial: bool = False


def read_verdicts(path: Path, start: int = 0) -> Iterator[VerdictLine]:
    """Yield every line of a run's verdicts from the one at ``start``, readable or not."""
    read = _compacted if path.suffix == ".parquet" else read_lines
    for line in read(path, start):
        try:
            verdict = None if line.record is None else verdict_of(line.record)
        except (KeyError, ValueError, TypeError):
            verdict = None
        yield VerdictLine(line.number, line.start, verdict, verdict is None and not line.whole)


def record_at(path: Path, start: int) -> dict[str, Any]:
    """Return the line that begins at byte or row ``start``; empty if it is not a JSON object."""
    if path.suffix == ".parquet":
        return next(_compacted(path, start, start + 1)).record or {}
    with open_file(path, "log") as journal:
        journal.seek(start)
        record = jsons.loads(journal.readline())
    return record if isinstance(record, dict) else {}


def verdict_line(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as a line of ``verdicts.jsonl``: seven fields that are always present,
    ``served_model`` and ``fingerprint`` if a server answered, and others if not empty.
    """
    line: dict[str, Any] = {
        "id": verdict.id,
        "order": verdict.order,
        "value": verdict.value,
        "status": verdict.status,
        "raw_response": verdict.raw_response,
        "usage": None if verdict.usage is None else dict(verdict.usage),
        "latency_s": verdict.latency_s,
    }
    if verdict.served is not None:
        line |= {"served_model": verdict.served.model, "fingerprint": verdict.served.fingerprint}
    optional = {
        "provider": None if verdict.served is None else verdict.served.provider,
        "repeat": verdict.repeat or None,
        "probability_a": verdict.probability_a,
        "expected_score": verdict.expected_score,
        "cause": verdict.cause,
        **verdict.extra,
    }
    return line | {name: value for name, value in optional.items() if value is not None}


def verdict_of(line: Mapping[str, Any]) -> Verdict:
    """Return the verdict of a line; lines of other tools may lack ``order``.

    Raises
    ------
    KeyError
        If a field is missing.
    ValueError
        If a field has the wrong type.
    """
    order, value, usage = line.get("order") or "AB", line["value"], line.get("usage")
    repeat = line.get("repeat") or 0
    served = [_text(line.get(name)) for name in _SERVED]
    if (
        not isinstance(line["id"], str)
        or order not in ORDERS
        or not (isinstance(value, str) or _is_number(value))
        or line["status"] not in _STATUSES
        or type(repeat) is not int
        or not 0 <= repeat < MOST_REPEATS
    ):
        raise ValueError(line)
    return Verdict(
        id=line["id"],
        order=order,
        value=value,
        status=line["status"],
        raw_response=_text(line.get("raw_response")),
        usage=usage if isinstance(usage, Mapping) else None,
        latency_s=_number(line.get("latency_s")),
        repeat=repeat,
        probability_a=_number(line.get("probability_a")),
        expected_score=_number(line.get("expected_score")),
        cause=_text(line.get("cause")),
        served=Served(*served) if any(name in line for name in _SERVED) else None,
        extra={name: item for name, item in line.items() if name not in _KNOWN},
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError(value)
    return value


def _number(value: Any) -> float | None:
    if value is not None and not _is_number(value):
        raise ValueError(value)
    return value  # type: ignore[no-any-return]


# ---------------------------------------------------------------- verdicts.parquet of 1.0


def expand(source: Path, journal: Path) -> None:
    """Write the verdicts of ``verdicts.parquet`` to a journal."""
    with atomic_path(journal) as scratch, scratch.open("wb") as file:
        file.writelines(line.raw for line in _compacted(source))


def _compacted(path: Path, start: int = 0, stop: int | None = None) -> Iterator[Line]:
    # Yield rows as lines of a journal: ``json`` holds the line where the columns cannot.
    import polars as pl

    try:
        rows = scan(path)
        end = rows.select(pl.len()).collect().item() if stop is None else stop
        for first in range(start, end, _ROWS):
            part = rows.slice(first, min(_ROWS, end - first)).collect()
            for number, row in enumerate(part.iter_rows(named=True), first):
                raw = row["json"] or orjson.dumps(_record(row))
                yield Line(number + 1, number, raw + b"\n", orjson.loads(raw))
    except (pl.exceptions.PolarsError, KeyError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"{path}: must have the columns of a run's verdicts: {reason}") from None


def _record(row: dict[str, Any]) -> dict[str, Any]:
    counts = row["usage"]
    named = {name: row[name] for name in (*_OWN, *_OPTIONAL)}
    named["value"] = row["value"] if row["number"] is None else orjson.loads(row["value"])
    named["usage"] = None if counts is None else {one["name"]: one["count"] for one in counts}
    extra = orjson.loads(row["more"]) if row["more"] is not None else {}
    return verdict_line(verdict_of({**named, **extra}))
