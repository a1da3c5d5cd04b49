"""A dataset as one Parquet file, ``dataset.parquet``
(:mod:`visualjudge.core.image_storage` states its rows), and the questions of the
Parquet form of version 1.0, ``questions/part-*.parquet``. The usual form is in
``json_form.py``; the export for the ``datasets`` library, in ``exports/parquet.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from visualjudge.core.errors import DataError
from visualjudge.core.image_storage import PACKED, Place, bytes_of
from visualjudge.core.parquet import is_remote, readable, scan, write_parquet
from visualjudge.core.records import Question
from visualjudge.dataset.json_form import question_from_wire
from visualjudge.dataset.question_storage import Stored

if TYPE_CHECKING:
    import polars as pl

FOLDER = "questions"
"""The folder of the questions in version 1.0."""
SHARDS = f"{FOLDER}/part-*.parquet"
TYPED = ("id", "task", "encoding", "question_type")
PIECE = 1024
"""Number of questions in memory at a time."""
BYTES_A_GROUP = 16 << 20
"""Approximate size of a row group. Reading an image unpacks a whole group."""


class ParquetQuestions(Stored):
    """The questions in Parquet files, read a piece at a time.

    Raises
    ------
    DataError
        If a file cannot be read.
    """

    def __init__(self, root: Path) -> None:
        self.files = question_files(root)
        self._counts = list(map(_count, self.files))
        self._piece: tuple[int, Sequence[Question]] = (0, ())

    def __len__(self) -> int:
        return sum(self._counts)

    def at(self, positions: Iterable[int]) -> Iterator[Question]:
        """Return the questions at ``positions``."""
        for k in positions:
            first, some = self._piece
            if not first <= k < first + len(some):
                first, some = self._piece = self._read(k)
            yield some[k - first]

    def _read(self, position: int) -> tuple[int, Sequence[Question]]:
        before = 0
        for path, count in zip(self.files, self._counts, strict=True):
            if position < before + count:
                start = (position - before) // PIECE * PIECE
                stop = min(start + PIECE, count)
                return before + start, _questions(
                    path, start, stop - start, before
                )
            before += count
        raise IndexError(position)


def question_files(root: Path) -> list[Path]:
    if is_remote(root) or (root / PACKED).is_file():
        return [root / PACKED]
    return sorted(root.glob(SHARDS))


def _count(path: Path) -> int:
    import polars as pl

    with readable(path):
        return int(scan(path).select(pl.col("id").count()).collect().item())


def _questions(
    path: Path, start: int, count: int, before: int
) -> list[Question]:
    with readable(path):
        rows = scan(path).slice(start, count)
        if path.name != PACKED:
            return [
                question_from_wire(_wire_of_1_0(row), before + k)
                for k, row in enumerate(
                    rows.collect().iter_rows(named=True), start
                )
            ]
        texts: list[Any] = (
            rows.select("question").collect()["question"].to_list()
        )
    return [
        question_from_wire(_parsed(text), start + k)
        for k, text in enumerate(texts)
    ]


def _parsed(text: Any) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise DataError(f"question: must be JSON: {error}") from None


def _wire_of_1_0(row: dict[str, Any]) -> Any:
    if row.get("json") is not None:
        return _parsed(row["json"])
    if row.get("question_type") == "scoring":
        row["answer"] = _parsed(row["answer"])
    return row


# ---------------------------------------------------------------- writing


def write_packed(
    path: Path, questions: Iterable[bytes], files: Sequence[tuple[str, Place]]
) -> None:
    """Write a dataset as one Parquet file.

    Parameters
    ----------
    questions
        The JSON of each question.
    files
        The name of each file in the dataset, and where it is now.

    Raises
    ------
    DataError
        If a file cannot be read.
    RunError
        If the Parquet file cannot be written.
    """
    sizes = [place.stat().st_size for _, place in files]
    mean = max(1, sum(sizes) // max(1, len(sizes)))
    rows = min(max(BYTES_A_GROUP // mean, 8), PIECE)
    frames = _frames(
        iter(questions), list(zip(files, sizes, strict=True)), rows
    )
    write_parquet(path, frames, _schema(), rows_a_group=rows)


def _schema() -> dict[str, pl.DataType]:
    import polars as pl

    return {
        **dict.fromkeys((*TYPED, "question", "file"), pl.String()),
        "size": pl.Int64(),
        "bytes": pl.Binary(),
    }


def _frames(
    questions: Iterator[bytes],
    files: Sequence[tuple[tuple[str, Place], int]],
    rows: int,
) -> Iterator[pl.DataFrame]:
    import polars as pl

    schema = _schema()
    empty = pl.DataFrame(schema=schema)
    while some := [line.decode() for line in islice(questions, PIECE)]:
        typed = pl.Struct(dict.fromkeys(TYPED, pl.String()))
        texts = pl.DataFrame({"question": some})
        decoded = texts.with_columns(
            typed=pl.col("question").str.json_decode(typed)
        )
        yield pl.concat([empty, decoded.unnest("typed")], how="diagonal")
    for start in range(0, len(files), rows):
        contents = [
            {"file": name, "size": size, "bytes": bytes_of(place)}
            for (name, place), size in files[start : start + rows]
        ]
        kinds = {name: schema[name] for name in ("file", "size", "bytes")}
        yield pl.concat(
            [empty, pl.DataFrame(contents, schema=kinds)], how="diagonal"
        )
