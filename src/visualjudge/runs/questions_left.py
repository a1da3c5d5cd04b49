"""Determine what a run has left to ask and which questions its verdicts answer, with eight bytes
per ask and per verdict. A question is read when it is asked.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from visualjudge.core import jsons
from visualjudge.core.errors import DataError
from visualjudge.core.records import BoolArray, IntArray, Order, Question
from visualjudge.dataset.question_storage import at, columns
from visualjudge.judges.base import ORDERS, Ask
from visualjudge.runs.compacting import CompactedFile
from visualjudge.runs.journal import SMALL, Block, blocks
from visualjudge.runs.verdict_lines import MOST_REPEATS


@dataclass(frozen=True)
class Todo:
    """Asks in the order of their questions, read lazily; calling it starts again.

    The number of an ask is ``position · 2 · repeats + order · repeats + repeat``, with the position
    of its question in ``questions`` and 0 or 1 for the order AB or BA.
    """

    questions: Sequence[Question]
    repeats: int
    numbers: Sequence[int]
    total: int
    """Number of asks, including answered ones."""

    def __call__(self) -> Iterator[Ask]:
        return self.asks(self.numbers)

    def asks(self, numbers: Iterable[int]) -> Iterator[Ask]:
        """Yield the asks with these numbers; fastest in ascending order."""
        place, known = 0, -1

        def places() -> Iterator[int]:
            while True:
                yield place

        questions = at(self.questions, places())
        for number in numbers:
            place, rest = divmod(number, 2 * self.repeats)
            if place != known:
                question, known = next(questions), place
            yield Ask(question, ORDERS[rest // self.repeats], rest % self.repeats)


def left_of(
    questions: Sequence[Question], *, swap: bool, repeats: int, done: Answered | None = None
) -> Todo:
    """Return the asks left of ``questions``, reading only the columns needed and no question."""
    asked: list[tuple[Order, int]] = [
        (order, k) for order in ORDERS[: 1 + swap] for k in range(repeats)
    ]
    numbers, total, first = array("q"), 0, 0
    names = ("question_type", "id") if done else ("question_type",)
    for kinds, *ids in [tuple(zip(*columns(questions, *names), strict=True))] if questions else []:
        wanted = np.ones((len(kinds), len(asked)), np.bool_)
        if swap:
            wanted[np.array(kinds) != "pairwise", repeats:] = False
        total += int(wanted.sum())
        if done:
            wanted &= ~done.holds(ids[0], asked)
        places, which = np.nonzero(wanted)
        numbers.frombytes(((first + places) * 2 * repeats + which).astype(np.int64).tobytes())
        first += len(kinds)
    return Todo(questions, repeats, numbers, total)


_TEXTS = ("id", "order", "status", "cause", "error")
_TURNED, _AGAIN = 0x1E3779B97F4A7C15, 0x42B2AE3D27D4EB4F
"""Values added to the hash of an id for the order BA and for each repeat, modulo 2**64."""


@dataclass
class Answered:
    """The verdicts of a run. Only the hash of each key is kept, as there may be ten million."""

    hashes: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    """Sorted hashes."""
    statuses: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    error: str | None = None
    """The message of the last line with an error."""

    def holds(self, ids: Sequence[str], asked: Sequence[tuple[Order, int]]) -> BoolArray:
        """Return whether there is a verdict, with a row per id and a column per (order, repeat)."""
        orders, repeats = zip(*asked, strict=True)
        wanted = _names(ids)[:, None] + _shifts(orders, repeats)
        places = np.minimum(np.searchsorted(self.hashes, wanted), len(self.hashes) - 1)
        return np.asarray(self.hashes[places] == wanted)

    def __len__(self) -> int:
        return len(self.hashes)


def answered(path: Path, *, without: str | None = None) -> Answered:
    """Read a journal, or the Parquet file made from it, without verdicts of the status ``without``.

    Raises
    ------
    DataError
        If a line is not a JSON object.
    """
    known, parts = Answered(), _compacted(path) if path.suffix == ".parquet" else _journalled(path)
    hashes = [_noted(known, columns, without) for columns in parts]
    ordered = np.sort(np.concatenate([known.hashes, *hashes]))
    known.hashes = ordered[np.append(ordered[:1] == ordered[:1], ordered[1:] != ordered[:-1])]
    return known


def _compacted(path: Path) -> Iterator[list[list[Any]]]:
    for part in CompactedFile(path).parts("id", "order", "status", "cause", "more", "repeat"):
        *columns, more, repeats = (column.to_list() for column in part)
        errors = [
            orjson.loads(text).get("error") if text and '"error":' in text else None
            for text in more
        ]
        yield [*columns, [error if isinstance(error, str) else None for error in errors], repeats]


def _journalled(path: Path) -> Iterator[list[list[Any]]]:
    many = path.stat().st_size >= SMALL
    return (_columns(path, block, many) for block in blocks(path))


def _columns(journal: Path, block: Block, many: bool) -> list[list[Any]]:
    """Return id, order, status, cause, error and repeat of the lines."""
    plain = many and block.content.count(b'{"id":"') == block.content.count(b"\n")
    table = block.table(_TEXTS, ("repeat",)) if plain else None
    if table is not None:
        return [table[name].to_list() for name in (*_TEXTS, "repeat")]
    try:
        records = [jsons.loads(raw) for raw in block.content.split(b"\n") if raw.strip()]
        columns = [[record.get(name) for record in records] for name in (*_TEXTS, "repeat")]
    except (orjson.JSONDecodeError, AttributeError):
        raise DataError(
            f"{journal}: a line must be a JSON object; --resume asks its question again"
        ) from None
    for name, column in zip((*_TEXTS, "repeat"), columns, strict=True):
        if not {int if name == "repeat" else str, type(None)}.issuperset(map(type, column)):
            raise DataError(
                f"{journal}: {name} must be {'a whole number' if name == 'repeat' else 'text'} "
                "in each line"
            )
    if any(not 0 <= (repeat or 0) < MOST_REPEATS for repeat in columns[-1]):
        raise DataError(f"{journal}: repeat must be from 0 to {MOST_REPEATS - 1} in each line")
    return columns


def _noted(known: Answered, columns: list[list[Any]], without: str | None) -> IntArray:
    """Count the lines and return the hashes of their keys."""
    if not {None, without}.isdisjoint(columns[2]) or None in columns[0]:
        kept = [
            id_ is not None and status not in (None, without)
            for id_, _, status, *_ in zip(*columns, strict=True)
        ]
        columns = [list(compress(column, kept)) for column in columns]
    ids, orders, statuses, causes, errors, repeats = columns
    known.statuses.update(statuses)
    known.causes.update(filter(None, causes))
    known.error = next(filter(None, reversed(errors)), known.error)
    return _names(ids) + _shifts(orders, repeats)


def _names(ids: Sequence[str]) -> IntArray:
    return np.fromiter(map(hash, ids), np.int64, len(ids))


def _shifts(orders: Sequence[str | None], repeats: Sequence[int | None]) -> IntArray:
    found = np.zeros(len(orders), np.int64)
    if "BA" in orders:
        found += np.fromiter((order == "BA" for order in orders), np.int64, len(orders)) * _TURNED
    if any(repeats):
        found += np.fromiter((repeat or 0 for repeat in repeats), np.int64, len(repeats)) * _AGAIN
    return found
