"""Hugging Face ``datasets`` parquet with embedded images; ``load_dataset(folder)``
reads it, offline too. Our own Parquet form is in ``dataset/parquet_form.py``.

Columns are the fields of a question. ``images`` is a list of images (bytes and name, as
stored by the library's Image feature). ``answer`` is text for all question types;
``answer_score`` is the number of a scoring question. The library reads the types from
the file's footer; its old and new versions both support "Sequence".
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path

import polars as pl

from visualjudge.core.jsons import Json
from visualjudge.core.output_files import OutputFile
from visualjudge.core.parquet import write_parquet
from visualjudge.core.records import Question
from visualjudge.core.untrusted import confined_target
from visualjudge.dataset.exports.media import (
    answer_text,
    image_bytes,
    image_place,
)
from visualjudge.dataset.folder import Dataset

ROWS = 64
"""Questions per row group: about 50 MB of 640×480 images in memory at a time."""
BYTES_A_GROUP = 64 << 20
"""Approximate size of a row group, if the images of a question are large."""
SPLIT = "test"
FILE = f"data/{SPLIT}.parquet"

_TEXTS = (
    "id",
    "task",
    "encoding",
    "question_type",
    "image_id",
    "error_type",
    "prompt",
    "answer",
)
_TEXT_LISTS = ("subset", "class_of_interest", "annotation_ids", "sources")
_OPTION = {
    "severity": "float64",
    "text_chars": "int64",
    "png_bytes": "int64",
    "count": "int64",
    "area": "float64",
}
_KINDS: dict[str, pl.DataType] = {
    "float64": pl.Float64(),
    "int64": pl.Int64(),
    "string": pl.String(),
}


def export_parquet(
    dataset: Dataset, out: Path, tick: Callable[[int, int], None]
) -> list[Path]:
    """Write ``out/data/test.parquet`` and ``out/README.md``. Image bytes are copied
    from the dataset.
    """
    path = confined_target(out, FILE)
    rows = max(1, min(ROWS, BYTES_A_GROUP // max(_sizes(dataset))))
    with (
        OutputFile(out / "README.md", "`out`").scratch() as card_scratch,
        OutputFile(path, "`out`").scratch() as scratch,
    ):
        card_scratch.write_bytes(_card(dataset).encode())
        write_parquet(
            scratch,
            _frames(dataset, rows, tick),
            schema(),
            rows_a_group=rows,
            metadata={
                "huggingface": json.dumps({"info": {"features": hf_features()}})
            },
        )
    return [path, out / "README.md"]


def _sizes(dataset: Dataset) -> Iterator[int]:
    """Yield the bytes of the images of each question."""
    size = cache(lambda name: image_place(dataset, name).stat().st_size)
    for question in dataset.questions:
        yield max(1, sum(map(size, question.images)))


def schema() -> pl.Schema:
    return pl.Schema(
        {
            **dict.fromkeys(_TEXTS, pl.String()),
            **dict.fromkeys(_TEXT_LISTS, pl.List(pl.String())),
            "final_scores": pl.List(pl.Float64()),
            "answer_score": pl.Float64(),
            "features": pl.List(
                pl.Struct(
                    {name: _KINDS[kind] for name, kind in _OPTION.items()}
                )
            ),
            "images": pl.List(
                pl.Struct({"bytes": pl.Binary(), "path": pl.String()})
            ),
        }
    )


def hf_features() -> Json:
    """Return the features as serialised by the ``datasets`` library."""
    value = {
        kind: {"dtype": kind, "_type": "Value"}
        for kind in ("string", "float64", "int64")
    }
    many = {
        kind: {"feature": value[kind], "_type": "Sequence"} for kind in value
    }
    collected: Json = dict.fromkeys(_TEXTS, value["string"])
    collected |= dict.fromkeys(_TEXT_LISTS, many["string"])
    collected["final_scores"] = many["float64"]
    collected["answer_score"] = value["float64"]
    collected["features"] = [
        {name: value[kind] for name, kind in _OPTION.items()}
    ]
    collected["images"] = {"feature": {"_type": "Image"}, "_type": "Sequence"}
    return collected


def _row(dataset: Dataset, question: Question) -> Json:
    row = asdict(question)
    row["answer"] = answer_text(question.answer)
    row["answer_score"] = (
        None if isinstance(question.answer, str) else float(question.answer)
    )
    row["features"] = row["features"] or []
    row["images"] = [
        {"bytes": image_bytes(dataset, path), "path": Path(path).name}
        for path in question.images
    ]
    return row


def _frames(
    dataset: Dataset, rows: int, tick: Callable[[int, int], None]
) -> Iterator[pl.DataFrame]:
    for start in range(0, len(dataset), rows):
        some = [
            _row(dataset, question)
            for question in dataset.questions[start : start + rows]
        ]
        yield pl.DataFrame(
            [
                pl.Series(name, [row[name] for row in some], kind)
                for name, kind in schema().items()
            ]
        )
        tick(start + len(some), len(dataset))


def _card(dataset: Dataset) -> str:
    counts = dataset.meta.get("counts", {}).get("by_question_type", {})
    counted = ", ".join(f"{count} {name}" for name, count in counts.items())
    return (
        "---\n"
        "configs:\n- config_name: default\n  data_files:\n"
        f"  - split: {SPLIT}\n    path: {FILE}\n"
        "---\n\n"
        f"Judge questions made by visualjudge: {counted}. Seed "
        f"{dataset.meta.get('seed')}, "
        f"SHA-256 of questions.json {dataset.checksum}.\n"
    )
