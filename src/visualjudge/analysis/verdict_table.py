"""A run's verdicts as a table. Lines are parsed in blocks; a block with an unusual line is parsed
line by line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
import polars as pl

from visualjudge.analysis.study_table import VERDICT_SCHEMA, ColumnTypes, published_of
from visualjudge.core import jsons
from visualjudge.core.garbage_collection import paused_collector
from visualjudge.core.records import IntArray, Status
from visualjudge.runs.budget import MOST, PROMPT, REPLY, TOTAL, token_counts
from visualjudge.runs.compacting import CompactedFile
from visualjudge.runs.folder import RunFolder
from visualjudge.runs.journal import Block, blocks
from visualjudge.runs.verdict_lines import verdict_of

PIECE = 8_000_000
STATUSES = frozenset(get_args(Status))
NEWLINE = 10


def _starts(block: Block) -> IntArray:
    """Return the offset of each line in the journal."""
    ends = np.flatnonzero(np.frombuffer(block.content, np.uint8) == NEWLINE)
    return np.concatenate([[0], ends + 1])[: ends.size + block.cut].astype(np.int64) + block.offset


def _quick(block: Block) -> pl.DataFrame | None:
    """Return the block as a table; None unless every line is a verdict as visualjudge writes it."""
    starts = _starts(block)
    if not _plain(block.content, starts.size):
        return None
    try:
        raw = pl.read_ndjson(block.content, schema=_WIRE)
        if raw.height != starts.size or not _holds(raw, block.content):
            return None
        return raw.select(
            "id",
            "order",
            repeat=pl.col("repeat").fill_null(0),
            text=pl.when(_IS_TEXT).then("value"),
            number=pl.when(~_IS_TEXT).then("value").cast(pl.Float64),
            status="status",
            probability_a="probability_a",
            latency_s="latency_s",
            tokens_in=_tokens(PROMPT),
            tokens_out=_tokens_out(),
            offset=pl.Series(starts),
            said_cause="cause",
            published_value=pl.lit(None, pl.String),
            published_right=pl.lit(None, pl.Boolean),
            read_by="read_by",
        ).cast(pl.Schema(VERDICT_SCHEMA))
    except pl.exceptions.PolarsError:
        return None


_WIRE: ColumnTypes = {
    **dict.fromkeys(("id", "order", "value", "status", "cause", "read_by"), pl.String),
    "repeat": pl.Int64,
    **dict.fromkeys(("probability_a", "latency_s"), pl.Float64),
    "usage": pl.Struct(dict.fromkeys((*PROMPT, *REPLY, *TOTAL), pl.Int64)),
}
_IS_TEXT = pl.col("value").cast(pl.Float64, strict=False).is_null()


def _plain(content: bytes, lines: int) -> bool:
    """Return whether each line has exactly one id, a string, and one value. Polars would use the
    first of two fields and would read a number as a string.

    Additional fields of published replies, and unpaired surrogates, which Polars reads as null, are
    left to the slower reader.
    """
    once = all(content.count(mark) == lines for mark in (b'{"id":"', b'"id":', b'"value":'))
    return once and b'"published_' not in content and b"\\ud" not in content


def _holds(raw: pl.DataFrame, content: bytes) -> bool:
    """Return whether the values have the right types: the number of strings equals the number of
    quoted values, names are known, and counts are in range.
    """
    counts = [
        pl.col("usage").struct.field(name).is_between(0, MOST) for name in (*PROMPT, *REPLY, *TOTAL)
    ]
    found = raw.select(
        texts=_IS_TEXT.sum(),
        holds=pl.col("order").is_in(["AB", "BA"]).all(ignore_nulls=False)
        & pl.col("status").is_in(sorted(STATUSES)).all(ignore_nulls=False)
        & pl.col("repeat").is_between(0, 999).all()
        & pl.all_horizontal(count.all() for count in counts),
        repeats=pl.col("repeat").count(),
    )
    texts, holds, repeats = found.row(0)
    return bool(
        holds and texts == content.count(b'"value":"') and repeats == content.count(b'"repeat":')
    )


def _tokens(names: Sequence[str]) -> pl.Expr:
    return pl.coalesce(pl.col("usage").struct.field(name) for name in names)


def _tokens_out() -> pl.Expr:
    """See :func:`~visualjudge.clients.reply_fields.whole_output`."""
    reply, beside = _tokens(REPLY), _tokens(TOTAL) - _tokens(PROMPT)
    return pl.max_horizontal(reply, pl.when(beside >= 0).then(beside))


MOST_TOLD = 100
"""Maximum number of invalid lines that are named; the others are counted."""


@dataclass
class _Notes:
    """Messages about the lines that are left out."""

    path: Path
    problems: list[str]
    warnings: list[str]
    more: int = 0
    """Number of invalid lines in addition to those in ``problems``."""

    def left_out(self, number: int, whole: bool) -> None:
        said = (
            "is no verdict, left out"
            if whole
            else "cut short, left out; finish the run with --resume"
        )
        if len(self.problems) < MOST_TOLD:
            (self.problems if whole else self.warnings).append(
                f"{self.path}: line {number}: {said}"
            )
        else:
            self.more += 1


def _careful(block: Block, notes: _Notes) -> pl.DataFrame:
    """Parse the block line by line."""
    rows = []
    starts = _starts(block).tolist()
    lines = block.content.split(b"\n")[: len(starts)]
    for number, (raw, start) in enumerate(zip(lines, starts, strict=True), block.number):
        if not raw.strip():
            continue
        try:
            v = verdict_of(jsons.loads(raw))
        except (KeyError, ValueError, TypeError, AttributeError):
            notes.left_out(number, not block.cut)
            continue
        text, value = (v.value, None) if isinstance(v.value, str) else (None, float(v.value))
        known = (v.id, v.order, v.repeat, text, value, v.status, v.probability_a, v.latency_s)
        rows.append(
            (
                *known,
                *token_counts(v.usage),
                start,
                v.cause,
                *published_of(v.extra),
                v.extra.get("read_by"),
            )
        )
    return pl.DataFrame(rows, schema=VERDICT_SCHEMA, orient="row")


def _journalled(path: Path, notes: _Notes) -> pl.DataFrame:
    frames = []
    for block in blocks(path, PIECE):
        found = _quick(block)
        frames.append(_careful(block, notes) if found is None else found)
    return pl.concat(frames) if frames else pl.DataFrame(schema=VERDICT_SCHEMA)


def _compacted(path: Path, notes: _Notes) -> pl.DataFrame:
    """Read a Parquet file of verdicts; row numbers serve as offsets."""
    stored, frames = CompactedFile(path), [pl.DataFrame(schema=VERDICT_SCHEMA)]
    for part in stored.parts(*_STORED, "value", "number", "cause", "more"):
        if part["more"].str.contains('"published_', literal=True).any():
            frames = [_careful(Block(b"".join(line.raw for line in stored.lines()), 0, 1), notes)]
            break
        frames.append(_as_read(part.rechunk()))
    return pl.concat(frames).with_columns(offset=pl.int_range(pl.len(), dtype=pl.Int64))


def _as_read(part: pl.DataFrame) -> pl.DataFrame:
    """Convert stored columns to VERDICT_SCHEMA."""
    read = part.select(
        *_STORED,
        text=pl.when(pl.col("number").is_null()).then("value"),
        number="number",
        offset=pl.lit(None, pl.Int64),
        said_cause="cause",
        published_value=pl.lit(None, pl.String),
        published_right=pl.lit(None, pl.Boolean),
        read_by=pl.col("more").str.extract(r'"read_by":"(marked|prose)"'),
    )
    return read.select(*VERDICT_SCHEMA).cast(pl.Schema(VERDICT_SCHEMA))


_STORED = (
    "id",
    "order",
    "repeat",
    "status",
    "probability_a",
    "latency_s",
    "tokens_in",
    "tokens_out",
)


def read_verdicts(folder: Path) -> tuple[pl.DataFrame, list[str], list[str]]:
    """Return the verdicts of a run folder, its problems and its warnings.

    A truncated last line (a killed run) is a warning; any other unreadable line is a problem. If
    there are several verdicts for one question, order and repeat, the last one counts (a resumed
    run asks failed questions again).

    Raises
    ------
    DataError
        If there is no file of verdicts.
    """
    run = RunFolder(folder)
    path = run.existing_verdicts_path()
    notes = _Notes(path, [], [])
    with paused_collector():
        table = _compacted(path, notes) if run.is_compacted else _journalled(path, notes)
    if notes.more:
        notes.problems.append(f"{path}: {notes.more} more lines are no verdicts, left out")
    found = _lasts(table)
    if again := table.height - found.height:
        notes.warnings.append(
            f"{path}: {again} verdicts were asked again; the last one of each counts"
        )
    return found, notes.problems, notes.warnings


def _lasts(table: pl.DataFrame) -> pl.DataFrame:
    """Return the last verdict for each question, order and repeat. If all hashes differ, no key
    occurs twice.
    """
    keys = ["id", "order", "repeat"]
    if table.select(pl.struct(keys).hash().n_unique()).item() == table.height:
        return table
    return table.unique(keys, keep="last", maintain_order=True)
