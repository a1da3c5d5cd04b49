"""A run's verdicts as a table. Lines are parsed many at once; a block with a line that is not plain, line by line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import orjson
import polars as pl

from visualjudge import jsons
from visualjudge.analysis.join import VERDICT_SCHEMA, published_of
from visualjudge.analysis.questions import paused_collector
from visualjudge.errors import DataError
from visualjudge.judges.asks import verdict_of
from visualjudge.records import IntArray, Status
from visualjudge.runs.folder import RunFolder
from visualjudge.runs.tokens import token_columns, token_counts

PIECE = 1_000_000
STATUSES = frozenset(get_args(Status))
NUMBERS = frozenset({type(None), int, float})
NEWLINE = 10


@dataclass(frozen=True, eq=False)
class Block:
    """Whole lines of a journal, where the first starts, its number, and whether the last one lacks its end."""

    content: bytes
    offset: int
    number: int
    cut: bool = False

    @property
    def starts(self) -> IntArray:
        """Where each line starts in the journal."""
        ends = np.flatnonzero(np.frombuffer(self.content, np.uint8) == NEWLINE)
        return np.concatenate([[0], ends + 1])[: ends.size + self.cut].astype(np.int64) + self.offset


def blocks(path: Path) -> Iterator[Block]:
    """The journal in pieces of whole lines."""
    rest, offset, number = b"", 0, 1
    with path.open("rb") as journal:
        while piece := journal.read(PIECE):
            content = rest + piece
            end = content.rfind(b"\n") + 1
            if end:
                yield Block(content[:end], offset, number)
                number += content.count(b"\n", 0, end)
            rest, offset = content[end:], offset + end
    if rest:
        yield Block(rest, offset, number, cut=True)


@dataclass(frozen=True, eq=False)
class _Columns:
    """Records by column; a field that no record has is not looked for in each."""

    records: list[dict[str, Any]]
    names: frozenset[str]

    def of(self, name: str, default: Any = None) -> list[Any]:
        """One field of every record."""
        if name not in self.names:
            return [default] * len(self.records)
        return [record.get(name, default) for record in self.records]


def _types(values: list[Any]) -> set[type]:
    return set(map(type, values))


def _plain(columns: Mapping[str, list[Any]]) -> bool:
    """Whether every line is a verdict with fields of the right kind, as the tool writes them."""
    return (
        _types(columns["id"]) <= {str}
        and _types(columns["value"]) <= {str, int, float}
        and set(columns["status"]) <= STATUSES
        and set(columns["order"]) <= {"AB", "BA"}
        and _types(columns["repeat"]) <= {int}
        and all(0 <= repeat < 1000 for repeat in set(columns["repeat"]))
        and _types(columns["probability_a"]) | _types(columns["latency_s"]) <= NUMBERS
        and _types(columns["said_cause"]) <= {type(None), str}
    )


def _quick(block: Block) -> pl.DataFrame | None:
    """The block as a table; None where a line needs a closer look."""
    starts = block.starts
    try:
        lines = block.content if block.cut else block.content[:-1]
        records = orjson.loads(b"[" + lines.replace(b"\n", b",") + b"]")
        if len(records) != starts.size or _types(records) != {dict}:
            return None
        fields = _Columns(records, frozenset().union(*records))
        columns = _columns(fields)
        if not _plain(columns):
            return None
    except (ValueError, KeyError, TypeError):
        return None
    columns["offset"] = starts
    return pl.DataFrame(
        [pl.Series(name, columns[name], dtype=kind, strict=False) for name, kind in VERDICT_SCHEMA.items()]
    )


def _columns(fields: _Columns) -> dict[str, Any]:
    values = fields.of("value")
    tokens = token_columns(fields.of("usage")) if "usage" in fields.names else (None, None)
    nothing = [None] * len(values)
    return {
        "id": fields.of("id"),
        "order": fields.of("order"),
        "repeat": fields.of("repeat", 0),
        "value": values,
        "text": [v if type(v) is str else None for v in values],
        "number": [None if type(v) is str else float(v) for v in values],
        "status": fields.of("status"),
        "probability_a": fields.of("probability_a"),
        "latency_s": fields.of("latency_s"),
        "tokens_in": tokens[0] or nothing,
        "tokens_out": tokens[1] or nothing,
        "said_cause": fields.of("cause"),
        "published_value": [v if type(v) is str else None for v in fields.of("published_value")],
        "published_right": [v if type(v) is bool else None for v in fields.of("published_right")],
    }


@dataclass
class _Notes:
    """What is said of the lines that are left out."""

    path: Path
    problems: list[str]
    warnings: list[str]

    def left_out(self, number: int, whole: bool) -> None:
        said = "is no verdict, left out" if whole else "cut short, left out; finish the run with --resume"
        (self.problems if whole else self.warnings).append(f"{self.path}: line {number}: {said}")


def _careful(block: Block, notes: _Notes) -> pl.DataFrame:
    """The block line by line."""
    rows = []
    lines = block.content.split(b"\n")[: block.starts.size]
    for number, (raw, start) in enumerate(zip(lines, block.starts.tolist(), strict=True), block.number):
        if not raw.strip():
            continue
        try:
            v = verdict_of(jsons.loads(raw))
        except (KeyError, ValueError, TypeError, AttributeError):
            notes.left_out(number, not block.cut)
            continue
        text, value = (v.value, None) if isinstance(v.value, str) else (None, float(v.value))
        known = (v.id, v.order, v.repeat, text, value, v.status, v.probability_a, v.latency_s)
        rows.append((*known, *token_counts(v.usage), start, v.cause, *published_of(v.extra)))
    return pl.DataFrame(rows, schema=VERDICT_SCHEMA, orient="row")


def read_verdicts(folder: Path) -> tuple[pl.DataFrame, list[str], list[str]]:
    """The verdicts of a run folder, its problems, its warnings.

    A last line that was cut short (a killed run) is a warning; any other unreadable line is a problem. Of several
    verdicts for one question, order and repeat the last holds (a resumed run asks failed ones again).

    Raises
    ------
    DataError
        If there is no ``verdicts.jsonl``.
    """
    path = RunFolder(folder).journal_path
    if not path.is_file():
        raise DataError(f"{path}: no such file; name a folder that `visualjudge judge --out` wrote")
    notes = _Notes(path, [], [])
    with paused_collector():
        frames = []
        for block in blocks(path):
            found = _quick(block)
            frames.append(_careful(block, notes) if found is None else found)
    table = pl.concat(frames) if frames else pl.DataFrame(schema=VERDICT_SCHEMA)
    kept = table.unique(["id", "order", "repeat"], keep="last", maintain_order=True)
    if kept.height < table.height:
        again = table.height - kept.height
        notes.warnings.append(f"{path}: {again} verdicts were asked again; the last one of each counts")
    return kept, notes.problems, notes.warnings
