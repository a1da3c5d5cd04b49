"""A dataset's questions as a table, without one record per question: 250,000 questions load in a
second or two.

Prompts and image paths stay on disk; :func:`find` reads them again for the few questions that a
report shows.
"""

from __future__ import annotations

import json
import mmap
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from visualjudge.analysis.study_table import (
    WIRE,
    Placed,
    asked_table,
    has_truth,
    numbered,
    question_rows,
)
from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import DataError
from visualjudge.core.records import Question
from visualjudge.core.untrusted import open_file
from visualjudge.dataset.folder import META, load_dataset, read_meta
from visualjudge.dataset.json_form import QUESTIONS, question_from_wire
from visualjudge.dataset.question_storage import at, columns

PIECE = 2_000_000
LONGEST_RECORD = 2_000_000
LONGEST_BETWEEN = 100
"""Maximum number of bytes between two records at which a chunk may end."""
_BETWEEN = re.compile(rb'\}\s*,\s*(\{\s*"id"\s*:)')


def _table(path: Path) -> pl.DataFrame | None:
    """Return the rows read directly from the file in chunks; None if the slower, checking reader is
    needed.
    """
    frames = []
    try:
        for piece in _pieces(path):
            frame = _frame(piece)
            if frame is None:
                return None
            frames.append(frame)
        return pl.concat(frames)
    except (OSError, ValueError, pl.exceptions.PolarsError):
        return None


def _frame(piece: bytes) -> pl.DataFrame | None:
    """Return a chunk as a table; None unless every record has exactly one id, a string, and one
    answer.

    Polars would read a number as a string if a string is requested, and would use the first of two
    fields with the same name.
    """
    raw = pl.read_json(piece, schema=WIRE)
    if not piece.count(b'{"id":"') == piece.count(b'"answer":') == raw.height:
        return None
    known = pl.all_horizontal(
        pl.col("id", "task", "encoding", "question_type", "image_id", "answer").is_not_null()
    )
    text = pl.col("answer").cast(pl.Float64, strict=False).is_null()
    lengths = [pl.col(name).list.len() for name in ("annotation_ids", "final_scores", "sources")]
    same = pl.all_horizontal(known, *(length == lengths[0] for length in lengths)).all(
        ignore_nulls=False
    )
    checked = raw.select(texts=text.sum(), same=same)
    plain = checked.row(0) == (piece.count(b'"answer":"'), True)
    return asked_table(raw, text) if plain else None


def _pieces(path: Path) -> Iterator[bytes]:
    """Split an array of records into chunks that are arrays. Cuts are made between two records that
    begin with their id.

    A cut inside a string would yield a chunk that is not valid JSON, and the slower reader would
    then read the whole file.
    """
    rest, opened, looked_at = b"", b"", 0
    with open_file(path, "json") as file:
        while more := file.read(PIECE):
            rest += more
            cut = _BETWEEN.search(rest, max(PIECE, looked_at))
            looked_at = len(rest) - LONGEST_BETWEEN
            if cut is not None:
                yield opened + rest[: cut.start() + 1] + b"]"
                rest, opened, looked_at = rest[cut.end() - len(cut[1]) :], b"[", 0
    yield opened + rest


def read_questions(root: Path) -> tuple[pl.DataFrame, Mapping[str, Any]]:
    """Return the rows of the questions at ``root``, and ``dataset.json`` with the path and the
    questions' checksum.

    Raises
    ------
    UsageError
        If there is no dataset at ``root``.
    DataError
        If a file is not JSON, or a question lacks a field.
    """
    path = root / QUESTIONS
    near = path.is_file() and (root / META).is_file()
    table = _table(path) if near else None
    if table is None:
        dataset = load_dataset(root)
        stated = {"path": str(root), "questions_sha256": dataset.digest}
        return question_rows(dataset.questions), {**dataset.meta, **stated}
    # Hash the file itself, not the value in dataset.json: an edited file would give wrong scores.
    return table, {
        **read_meta(root),
        "path": str(root),
        "questions_sha256": file_sha256(root / QUESTIONS),
    }


def merged(roots: Sequence[Path]) -> tuple[pl.DataFrame, Mapping[str, Any]]:
    """Return the questions of several datasets without duplicates, the metadata of the first
    dataset, and the benchmark and digest of each.

    Raises
    ------
    DataError
        If two datasets hold different questions under one id, or one dataset holds two, or if only
        some answers of a dataset are known.
    """
    table, meta = _read(roots[0])
    benchmarks, digests = [meta.get("benchmark")], {roots[0]: meta.get("questions_sha256")}
    if len(roots) > 1:
        table = _of(table, meta, roots[0])
    for root in roots[1:]:
        read, said = _read(root)
        other = _of(read, said, root)
        benchmarks.append(said.get("benchmark"))
        digests[root] = said.get("questions_sha256")
        _refuse_others(table, other, root, roots[0])
        table = pl.concat([table, other.join(table, on="id", how="anti", maintain_order="left")])
    named = [said for said in benchmarks if said]
    return numbered(table, " and ".join(map(str, roots))), {
        **meta,
        "benchmarks": named,
        "digests": digests,
    }


def _read(root: Path) -> tuple[pl.DataFrame, Mapping[str, Any]]:
    table, meta = read_questions(root)
    unknown = table.filter(~has_truth())["id"]
    if 0 < unknown.len() < table.height:
        raise DataError(
            f"{root}: question {unknown[0]}: answer: must be known, as in other questions of the "
            "dataset, got 'unknown'"
        )
    return table, meta


def _of(table: pl.DataFrame, meta: Mapping[str, Any], root: Path) -> pl.DataFrame:
    """Add the name of the benchmark that the questions come from, else the name of the dataset's
    folder.
    """
    stated = meta.get("benchmark")
    name = stated.get("name") if isinstance(stated, Mapping) else None
    return table.with_columns(benchmark=pl.lit(str(name or root.name)))


def _refuse_others(table: pl.DataFrame, other: pl.DataFrame, root: Path, first: Path) -> None:
    truth = ["answer", "truth", "annotations", "scores"]
    both = table.select("id", *truth).join(other.select("id", *truth), on="id", suffix="_other")
    same = pl.all_horizontal(pl.col(name).eq_missing(pl.col(f"{name}_other")) for name in truth)
    unlike = both.filter(~same)["id"]
    if unlike.len():
        raise DataError(
            f"{root}: question {unlike[0]} differs from the one in {first}; report on the runs "
            "separately"
        )


def find(roots: Sequence[Path], ids: Sequence[str]) -> dict[str, Placed]:
    """Read the complete records of a few questions, each with its dataset."""
    wanted, out = set(ids), dict[str, Placed]()
    for root in roots:
        if wanted - out.keys():
            found = _found(root, wanted - out.keys())
            out |= {name: Placed(one, root) for name, one in found.items()}
    return out


def _found(root: Path, wanted: set[str]) -> dict[str, Question]:
    path = root / QUESTIONS
    if path.is_file():
        with (
            open_file(path, "json") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            near = {name: _near(content, name) for name in wanted}
        if all(near.values()):
            return {name: question_from_wire(raw) for name, raw in near.items()}
    questions = load_dataset(root).questions
    places = [place for place, (name,) in enumerate(columns(questions, "id")) if name in wanted]
    return {question.id: question for question in at(questions, places)}


def _near(content: mmap.mmap, name: str) -> dict[str, Any] | None:
    """Return the record that begins with this id, if the file has the layout that visualjudge
    writes.
    """
    start = content.find(b'{"id":' + orjson.dumps(name))
    if start < 0:
        return None
    try:
        text = content[start : start + LONGEST_RECORD].decode("utf-8", "ignore")
        found, _ = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
