"""A run's verdicts as a table. Lines are parsed many at once; a block with a line that is not plain, line by line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import orjson
import polars as pl

from visualjudge import jsons
from visualjudge.analysis.join import VERDICT_SCHEMA, published_of
from visualjudge.analysis.questions import paused_collector
from visualjudge.errors import DataError
from visualjudge.judges.asks import verdict_of
from visualjudge.records import Status
from visualjudge.runs.folder import RunFolder
from visualjudge.runs.tokens import token_counts

BLOCK = 50_000
STATUSES = frozenset(get_args(Status))
NUMBERS = frozenset({type(None), int, float})


@dataclass(frozen=True, eq=False)
class Block:
    """Lines of a journal: their bytes, where each starts, and its number."""

    raw: list[bytes]
    starts: list[int]
    numbers: list[int]


def blocks(path: Path) -> Iterator[Block]:
    """The lines that are not blank, in blocks."""
    block, start = Block([], [], []), 0
    with path.open("rb") as journal:
        for number, raw in enumerate(journal, 1):
            if raw.strip():
                block.raw.append(raw)
                block.starts.append(start)
                block.numbers.append(number)
            start += len(raw)
            if len(block.raw) >= BLOCK:
                yield block
                block = Block([], [], [])
    yield block


def _plain(records: list[Any], count: int) -> bool:
    """Whether every line is a verdict with fields of the right kind, as the tool writes them."""
    return (
        len(records) == count
        and {type(v) for v in records} <= {dict}
        and {type(v["id"]) for v in records} <= {str}
        and {type(v["value"]) for v in records} <= {str, int, float}
        and {v["status"] for v in records} <= STATUSES
        and {v.get("order") for v in records} <= {"AB", "BA"}
        and {type(v.get("repeat", 0)) for v in records} <= {int}
        and all(0 <= v.get("repeat", 0) < 1000 for v in records)
        and {type(v.get(name)) for name in ("probability_a", "latency_s") for v in records} <= NUMBERS
        and {type(v.get("cause")) for v in records} <= {type(None), str}
    )


def _tokens(usage: Any) -> tuple[int | None, int | None]:
    return token_counts(usage) if isinstance(usage, Mapping) else (None, None)


def _quick(block: Block) -> pl.DataFrame | None:
    """The block as a table; None where a line needs a closer look."""
    try:
        records = orjson.loads(b"[" + b",".join(block.raw) + b"]")
        if not _plain(records, len(block.raw)):
            return None
    except (ValueError, KeyError, TypeError):
        return None
    values, tokens = [v["value"] for v in records], [_tokens(v.get("usage")) for v in records]
    published = [published_of(v) for v in records]
    columns: dict[str, Sequence[Any]] = {
        "id": [v["id"] for v in records],
        "order": [v["order"] for v in records],
        "repeat": [v.get("repeat", 0) for v in records],
        "text": [v if type(v) is str else None for v in values],
        "number": [None if type(v) is str else float(v) for v in values],
        "status": [v["status"] for v in records],
        "probability_a": [v.get("probability_a") for v in records],
        "latency_s": [v.get("latency_s") for v in records],
        "tokens_in": [pair[0] for pair in tokens],
        "tokens_out": [pair[1] for pair in tokens],
        "offset": block.starts,
        "said_cause": [v.get("cause") for v in records],
        "published_value": [pair[0] for pair in published],
        "published_right": [pair[1] for pair in published],
    }
    return pl.DataFrame(
        [pl.Series(name, columns[name], dtype=kind, strict=False) for name, kind in VERDICT_SCHEMA.items()]
    )


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
    for raw, start, number in zip(block.raw, block.starts, block.numbers, strict=True):
        try:
            v = verdict_of(jsons.loads(raw))
        except (KeyError, ValueError, TypeError, AttributeError):
            notes.left_out(number, raw.endswith(b"\n"))
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
    table = pl.concat(frames)
    kept = table.unique(["id", "order", "repeat"], keep="last", maintain_order=True)
    if kept.height < table.height:
        again = table.height - kept.height
        notes.warnings.append(f"{path}: {again} verdicts were asked again; the last one of each counts")
    return kept, notes.problems, notes.warnings
