"""A dataset's questions as sharded Parquet: typed columns, and what else gives ``questions.json`` back unchanged."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from visualjudge import jsons
from visualjudge.columnar import parquet_height, parquet_parts, parquet_rows, parquet_schema
from visualjudge.confine import confined_path
from visualjudge.dataset.json_form import BETWEEN, FIRST
from visualjudge.dataset.question_wire import TUPLES, question_from_wire, question_to_wire
from visualjudge.dataset.stored import BATCH, Batch, Stored
from visualjudge.digests import file_sha256
from visualjudge.errors import DataError
from visualjudge.records import OptionFeatures, Question

if TYPE_CHECKING:
    import polars as pl

FOLDER = "questions"
INDEX = f"{FOLDER}/index.json"
VERSION = 1
ROWS_A_GROUP = 2048
ROWS_A_FRAME = 50_000
PIECE = 512
"""Rows that become Python objects at once."""
_NULLABLE = ("class_of_interest", "ties")
_TEXTS = ("id", "task", "encoding", "question_type", "image_id", "error_type", "prompt", "answer")
_TEXT_LISTS = ("subset", "class_of_interest", "annotation_ids", "sources", "images")


@cache
def schema() -> pl.Schema:
    """The columns. ``answer`` is text: of a scoring question, its number.

    ``json`` holds a question's bytes in ``questions.json`` where its fields do not give them, ``before`` the bytes that
    stand before it where these are not a comma and a line break; both are null in what ``build`` writes.
    """
    import polars as pl

    text, real, whole = pl.String(), pl.Float64(), pl.Int64()
    option = {"severity": real, "text_chars": whole, "png_bytes": whole, "count": whole, "area": real}
    span = pl.List(whole)
    return pl.Schema(
        {
            **dict.fromkeys(_TEXTS, text),
            **dict.fromkeys(_TEXT_LISTS, pl.List(text)),
            "final_scores": pl.List(real),
            "features": pl.List(pl.Struct(option)),
            "spans": pl.Struct({"options": pl.List(span), "original": span, "final": span}),
            "ties": pl.List(text),
            "json": pl.Binary(),
            "before": pl.Binary(),
        }
    )


# ---------------------------------------------------------------- reading


class ParquetQuestions(Stored):
    """The questions of the dataset at ``root``, read a row group at a time.

    Raises
    ------
    DataError
        If the index or a shard cannot be read, or a shard is not the one that the index states.
    """

    def __init__(self, root: Path) -> None:
        index = _index(root)
        self.digest: str = index["questions_sha256"]
        self.after = bytes.fromhex(index["after"])
        self.shards = [_shard(root, name, stated) for name, stated in index["shards"].items()]
        self._plain: bool = index["plain"]
        self._first: list[int] = []
        self._count = 0
        for path in self.shards:
            self._note(path)
        self._group: tuple[int, Any] = (0, None)
        self._piece: tuple[int, list[dict[str, Any]]] = (-1, [])

    def __getstate__(self) -> dict[str, Any]:
        """In another process: nothing is read."""
        return {**self.__dict__, "_group": (0, None), "_piece": (-1, [])}

    def _note(self, path: Path) -> None:
        if parquet_schema(path) != schema():
            raise DataError(f"{path}: must have the columns of a dataset's questions; convert the dataset again")
        self._first.append(self._count)
        self._count += parquet_height(path)

    def __len__(self) -> int:
        return self._count

    def at(self, positions: Iterable[int]) -> Iterator[Question]:
        """The questions at ``positions``."""
        for k in positions:
            first, rows = self._piece
            if not first <= k < first + len(rows):
                first, rows = self._piece = self._read(k)
            yield question_of(rows[k - first], k)

    def _read(self, position: int) -> tuple[int, list[dict[str, Any]]]:
        """Some rows, with that of ``position`` among them, and where they begin; a row group is kept as columns."""
        first, group = self._group
        if group is None or not first <= position < first + group.height:
            shard = bisect_right(self._first, position) - 1
            inside = (position - self._first[shard]) // ROWS_A_GROUP * ROWS_A_GROUP
            group = parquet_rows(self.shards[shard], inside, ROWS_A_GROUP)
            first = self._first[shard] + inside
            self._group = first, group
        start = (position - first) // PIECE * PIECE
        return first + start, group.slice(start, PIECE).to_dicts()

    def columns(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """The values of some fields, the other columns left unread."""
        if not self._plain:
            yield from super().columns(*names)
            return
        for batch in self.batches(*names):
            yield from zip(*batch, strict=True)

    def batches(self, *names: str) -> Iterator[Batch]:
        """The same, many questions at a time."""
        if not self._plain:
            yield from super().batches(*names)
            return
        wanted = dict.fromkeys([*names, *(["question_type"] if "answer" in names else [])])
        stored = [name for name in wanted if name in schema()] or ["id"]  # what has no column is in no plain row
        for path in self.shards:
            for part in parquet_parts(path, BATCH, stored):
                read = {name: part[name].to_list() for name in stored}
                yield tuple(_values(read, name, part.height) for name in names)

    def frames(self, *names: str) -> Iterator[pl.DataFrame] | None:
        """Those of some columns that are there, as they are stored; None where they alone do not give the questions."""
        stored = [name for name in names if name in schema()]
        parts = (parquet_parts(path, ROWS_A_FRAME, stored) for path in self.shards)
        return chain.from_iterable(parts) if self._plain else None

    def distinct(self, name: str) -> Iterator[Iterable[Any]]:
        """The items of a field that is an array, in parts; each part names an item once."""
        if not self._plain:
            yield from super().distinct(name)
            return
        for path in self.shards:
            for part in parquet_parts(path, BATCH, [name]):
                values = part[name]
                yield values.filter(values.list.len() > 0).explode().unique().to_list()

    def json(self) -> Iterator[bytes]:
        """``questions.json``, in parts."""
        number = 0
        for path in self.shards:
            for part in parquet_parts(path, PIECE):
                for row in part.to_dicts():
                    yield (BETWEEN if number else FIRST) if row["before"] is None else row["before"]
                    yield _bytes(row, number)
                    number += 1
        yield self.after


def json_digest(stored: ParquetQuestions) -> str:
    """SHA-256 of the ``questions.json`` that the rows give."""
    digest = hashlib.sha256()
    for part in stored.json():
        digest.update(part)
    return digest.hexdigest()


def _index(root: Path) -> dict[str, Any]:
    path = confined_path(root, INDEX)
    try:
        index = jsons.loads(path.read_bytes())
        kinds = {"questions_sha256": str, "after": str, "shards": dict, "plain": bool}
        if index["version"] != VERSION or not all(isinstance(index[name], kind) for name, kind in kinds.items()):
            raise ValueError("not an index of this version")
        bytes.fromhex(index["after"])
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise DataError(f"{path}: must be the index of a dataset in the Parquet form: {error}") from None
    return index  # type: ignore[no-any-return]


def _shard(root: Path, name: str, stated: object) -> Path:
    path = confined_path(root, f"{FOLDER}/{name}")
    if file_sha256(path) != stated:
        raise DataError(f"{path}: its SHA-256 is not the one in {INDEX}; convert the dataset again")
    return path


def question_of(row: dict[str, Any], position: int = 0) -> Question:
    """The question of a row."""
    if row.get("json") is not None:
        return question_from_wire(jsons.loads(row["json"]), position)
    return question_from_wire({**row, "answer": _value(row, "answer")}, position)


def _bytes(row: dict[str, Any], position: int) -> bytes:
    stored: bytes | None = row["json"]
    return orjson.dumps(question_to_wire(question_of(row, position))) if stored is None else stored


def _values(read: dict[str, list[Any]], name: str, rows: int) -> list[Any]:
    """A column as :class:`Question` has it."""
    if name in _TEXTS and name != "answer":
        return read[name]
    if name == "answer":
        kinds = read["question_type"]
        return [_value({"answer": a, "question_type": k}, name) for a, k in zip(read[name], kinds, strict=True)]
    if name in TUPLES:
        return list(map(tuple, read[name]))
    return [_value({name: value}, name) for value in read.get(name, [None] * rows)]


def _value(row: dict[str, Any], name: str) -> Any:
    """A field as :class:`Question` has it."""
    value: Any = row.get(name)
    if name == "answer":
        return float(value) if row["question_type"] == "scoring" else value
    if name == "features":
        return None if value is None else tuple(OptionFeatures(**option) for option in value)
    return tuple(value) if name in TUPLES or (name in _NULLABLE and value is not None) else value
