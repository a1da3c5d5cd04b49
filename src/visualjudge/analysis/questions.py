"""A dataset's questions as a table, without a record for each: a quarter of a million fit in a second or two.

Prompts and image paths are left on disk; :func:`find` reads them again for the few questions that a report shows.
"""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from visualjudge.analysis.join import Asked, asked_table, question_table
from visualjudge.dataset.folder import META, QUESTIONS, load_dataset, question_from_wire
from visualjudge.errors import DataError
from visualjudge.records import Question

_TEXTS = ("id", "task", "encoding", "question_type", "image_id")
_ARRAYS = ("annotation_ids", "final_scores", "sources")


@contextmanager
def paused_collector() -> Iterator[None]:
    """No garbage collection: it would look at every record again and again, and none is garbage yet."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _plain(raw: Any) -> bool:
    """Whether the file's records are as the tool writes them; anything else is left to the careful reader."""
    return (
        isinstance(raw, list)
        and all(type(q) is dict for q in raw)
        and all(type(q.get(name)) is str for q in raw for name in _TEXTS)
        and all(len(q["sources"]) == len(q["final_scores"]) == len(q["annotation_ids"]) for q in raw)
    )


def _table(path: Path) -> pl.DataFrame | None:
    """The table straight from the file; None where it needs the careful reader."""
    try:
        raw = orjson.loads(path.read_bytes())
        if not _plain(raw):
            return None
        return asked_table(Asked(lambda name: _column(raw, name), dict.get))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, pl.exceptions.PolarsError):
        return None


def _column(raw: list[dict[str, Any]], name: str) -> list[Any]:
    return [q.get(name) for q in raw] if name == "features" else [q[name] for q in raw]


def read_questions(root: Path) -> tuple[pl.DataFrame, Mapping[str, Any]]:
    """The questions of the dataset at ``root``, and ``dataset.json`` with the path and the questions' checksum.

    Raises
    ------
    UsageError
        If there is no dataset at ``root``.
    DataError
        If a file is not JSON, or a question lacks a field.
    """
    with paused_collector():
        path = root / QUESTIONS
        table = _table(path) if path.is_file() and (root / META).is_file() else None
        if table is None:
            dataset = load_dataset(root)
            return question_table(dataset.questions), {**dataset.meta, **_stated(root)}
    meta = orjson.loads((root / META).read_bytes())
    if not isinstance(meta, dict):
        raise DataError(f"{root / META}: must hold an object")
    return table, {**meta, **_stated(root)}


def _stated(root: Path) -> dict[str, Any]:
    """SHA-256 of the file as it is, not as dataset.json states it: an edited file would score verdicts wrongly."""
    path = root / QUESTIONS
    if not path.is_file():
        return {"path": str(root)}
    with path.open("rb") as file:
        return {"path": str(root), "questions_sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def merged(roots: Sequence[Path]) -> tuple[pl.DataFrame, Mapping[str, Any]]:
    """The questions of several datasets, each once, and what the first dataset says of itself.

    Raises
    ------
    DataError
        If two datasets hold different questions under one id.
    """
    table, meta = read_questions(roots[0])
    for root in roots[1:]:
        other, _ = read_questions(root)
        _refuse_others(table, other, root, roots[0])
        table = pl.concat([table, other.join(table, on="id", how="anti", maintain_order="left")])
    codes = table["image"].rank("dense").cast(pl.Int64) - 1 if len(roots) > 1 else table["cluster"]
    return table.with_columns(codes.alias("cluster")), meta


def _refuse_others(table: pl.DataFrame, other: pl.DataFrame, root: Path, first: Path) -> None:
    truth = ["answer", "truth", "annotations", "scores"]
    both = table.select("id", *truth).join(other.select("id", *truth), on="id", suffix="_other")
    same = pl.all_horizontal(pl.col(name).eq_missing(pl.col(f"{name}_other")) for name in truth)
    unlike = both.filter(~same)["id"]
    if unlike.len():
        raise DataError(f"{root}: question {unlike[0]} is another one in {first}: report the runs apart")


def find(roots: Sequence[Path], ids: Sequence[str]) -> dict[str, Question]:
    """The whole records of a few questions."""
    wanted, out = set(ids), dict[str, Question]()
    for root in roots:
        if wanted - out.keys():
            with paused_collector():
                out |= _found(root, wanted - out.keys())
    return out


def _found(root: Path, wanted: set[str]) -> dict[str, Question]:
    path = root / QUESTIONS
    if not path.is_file():
        return {q.id: q for q in load_dataset(root).questions if q.id in wanted}
    raw = orjson.loads(path.read_bytes())
    return {str(item["id"]): question_from_wire(item, k) for k, item in enumerate(raw) if item["id"] in wanted}
