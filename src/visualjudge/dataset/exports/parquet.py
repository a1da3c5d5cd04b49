"""Hugging Face ``datasets`` parquet with embedded images; ``load_dataset(folder)`` reads it, offline too.

Columns are a question's fields. ``images`` is a list of images (bytes and name, as the library's Image feature stores
them). ``answer`` is text for every type of question, ``answer_score`` the number of a scoring question.
The library finds the types in the schema's metadata; "Sequence" is understood by its old and new versions alike.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from visualjudge.atomic import atomic_path, write_text
from visualjudge.confine import confined_target
from visualjudge.dataset.exports.media import answer_text, image_bytes
from visualjudge.dataset.folder import Dataset
from visualjudge.records import Question

ROWS = 64
"""Questions of a row group: some 50 MB of images of 640×480 before the next is written."""
ROWS_A_FILE = 2048
SPLIT = "test"

_TEXTS = ("id", "task", "encoding", "question_type", "image_id", "error_type", "prompt", "answer")
_TEXT_LISTS = ("subset", "class_of_interest", "annotation_ids", "sources")
_OPTION = {"severity": "float64", "text_chars": "int64", "png_bytes": "int64", "count": "int64", "area": "float64"}
_ARROW = {"float64": pa.float64(), "int64": pa.int64(), "string": pa.string()}


def export_parquet(dataset: Dataset, out: Path, tick: Callable[[int, int], None]) -> list[Path]:
    """Write ``out/data/test-0000k-of-0000n.parquet`` and ``out/README.md``; image bytes are those of the dataset."""
    questions = dataset.questions
    starts = range(0, max(1, len(questions)), ROWS_A_FILE)
    files = []
    for k, start in enumerate(starts):
        path = confined_target(out, "data") / f"{SPLIT}-{k:05d}-of-{len(starts):05d}.parquet"
        with atomic_path(path) as scratch, pq.ParquetWriter(scratch, schema(), compression="zstd") as writer:
            for rows in _chunks(questions[start : start + ROWS_A_FILE]):
                writer.write_table(pa.Table.from_pylist([_row(dataset, q) for q in rows], schema=schema()))
                tick(min(start + len(rows), len(questions)), len(questions))
        files.append(path)
    for stale in set((out / "data").glob(f"{SPLIT}-?????-of-?????.parquet")) - set(files):
        stale.unlink()  # of an earlier export to this folder: the library would read it as a part of this one
    write_text(out / "README.md", _card(dataset))
    return [*files, out / "README.md"]


def schema() -> pa.Schema:
    """The table's schema with the ``datasets`` features in its metadata."""
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    option = pa.struct([(name, _ARROW[kind]) for name, kind in _OPTION.items()])
    fields = [pa.field(name, pa.string()) for name in _TEXTS]
    fields += [pa.field(name, pa.list_(pa.string())) for name in _TEXT_LISTS]
    fields += [
        pa.field("final_scores", pa.list_(pa.float64())),
        pa.field("answer_score", pa.float64()),
        pa.field("features", pa.list_(option)),
        pa.field("images", pa.list_(image)),
    ]
    info = {"info": {"features": hf_features()}}
    return pa.schema(fields, metadata={"huggingface": json.dumps(info)})


def hf_features() -> dict[str, Any]:
    """The features as the ``datasets`` library serialises them."""
    value = {kind: {"dtype": kind, "_type": "Value"} for kind in ("string", "float64", "int64")}
    many = {kind: {"feature": value[kind], "_type": "Sequence"} for kind in value}
    found: dict[str, Any] = dict.fromkeys(_TEXTS, value["string"])
    found |= dict.fromkeys(_TEXT_LISTS, many["string"])
    found["final_scores"] = many["float64"]
    found["answer_score"] = value["float64"]
    found["features"] = [{name: value[kind] for name, kind in _OPTION.items()}]
    found["images"] = {"feature": {"_type": "Image"}, "_type": "Sequence"}
    return found


def _row(dataset: Dataset, question: Question) -> dict[str, Any]:
    row = asdict(question)
    row["answer"] = answer_text(question.answer)
    row["answer_score"] = None if isinstance(question.answer, str) else float(question.answer)
    row["features"] = row["features"] or []
    row["images"] = [{"bytes": image_bytes(dataset, path), "path": Path(path).name} for path in question.images]
    return row


def _chunks(questions: Sequence[Question]) -> Iterator[Sequence[Question]]:
    for start in range(0, len(questions), ROWS):
        yield questions[start : start + ROWS]


def _card(dataset: Dataset) -> str:
    """A dataset card: the part between the rules tells the library which files are which split."""
    counts = dataset.meta.get("counts", {}).get("by_question_type", {})
    told = ", ".join(f"{count} {name}" for name, count in counts.items())
    return (
        "---\n"
        "configs:\n- config_name: default\n  data_files:\n"
        f"  - split: {SPLIT}\n    path: data/{SPLIT}-*\n"
        "---\n\n"
        f"Judge questions made by visualjudge: {told}. Seed {dataset.meta.get('seed')}, "
        f"SHA-256 of questions.json {dataset.checksum}.\n"
    )
