"""A dataset's questions as sharded Parquet: typed columns, and what else gives ``questions.json`` back unchanged."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from visualjudge.core import jsons
from visualjudge.core.columnar import parquet_height, parquet_parts, parquet_rows, parquet_schema
from visualjudge.core.confine import confined_path
from visualjudge.core.digests import file_sha256
from visualjudge.core.errors import DataError
from visualjudge.core.records import Question
from visualjudge.dataset.from_columns import questions_of, values_of
from visualjudge.dataset.json_form import BETWEEN, FIRST
from visualjudge.dataset.question_wire import question_from_wire, question_to_wire
from visualjudge.dataset.stored import BATCH, Batch, Stored

if TYPE_CHECKING:
    import polars as pl

FOLDER = "questions"
INDEX = f"{FOLDER}/index.json"
VERSION = 1
ROWS_A_GROUP = 2048
ROWS_A_FRAME = 50_000
PIECE = 1024
"""Rows that become Python objects at once."""
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
        self._piece: tuple[int, Sequence[Question]] = (-1, [])

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
            first, some = self._piece
            if not first <= k < first + len(some):
                first, some = self._piece = self._read(k)
            yield some[k - first]

    def _read(self, position: int) -> tuple[int, Sequence[Question]]:
        """Some questions, with ``position`` among them, and where they begin; a row group is kept as columns."""
        first, group = self._group
        if group is None or not first <= position < first + group.height:
            shard = bisect_right(self._first, position) - 1
            inside = (position - self._first[shard]) // ROWS_A_GROUP * ROWS_A_GROUP
            group = parquet_rows(self.shards[shard], inside, ROWS_A_GROUP)
            first = self._first[shard] + inside
            self._group = first, group
        start = (position - first) // PIECE * PIECE
        return first + start, _questions(group.slice(start, PIECE), first + start)

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
                yield tuple(_values(path, part, name) for name in names)

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


def _questions(rows: pl.DataFrame, first: int) -> list[Question]:
    """Rows that cannot be read together are read one by one: one of them may have bytes of its own, or be none."""
    together = questions_of(rows)
    return [question_of(row, first + k) for k, row in enumerate(rows.to_dicts())] if together is None else together


def question_of(row: dict[str, Any], position: int = 0) -> Question:
    """The question of a row."""
    if row.get("json") is not None:
        return question_from_wire(jsons.loads(row["json"]), position)
    answer = float(row["answer"]) if row["question_type"] == "scoring" else row["answer"]
    return question_from_wire({**row, "answer": answer}, position)


def _bytes(row: dict[str, Any], position: int) -> bytes:
    stored: bytes | None = row["json"]
    return orjson.dumps(question_to_wire(question_of(row, position))) if stored is None else stored


def _values(path: Path, rows: pl.DataFrame, name: str) -> Sequence[Any]:
    try:
        return values_of(rows, name)
    except (TypeError, ValueError) as error:
        raise DataError(f"{path}: {error}; convert the dataset again") from None
