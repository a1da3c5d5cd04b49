"""A dataset for other tools: Hugging Face parquet, VLMEvalKit TSV, ShareGPT and TRL JSONL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from visualjudge.dataset.exports.jsonl import export_sharegpt, export_trl
from visualjudge.dataset.exports.parquet import export_parquet
from visualjudge.dataset.exports.vlmevalkit import export_vlmevalkit
from visualjudge.dataset.folder import Dataset
from visualjudge.errors import UsageError

Tick = Callable[[int, int], None]
FORMATS: dict[str, Callable[[Dataset, Path, Tick], list[Path]]] = {
    "parquet": export_parquet,
    "vlmevalkit": export_vlmevalkit,
    "sharegpt": export_sharegpt,
    "trl": export_trl,
}


def export(dataset: Dataset, name: str, out: str | Path, tick: Tick = lambda done, total: None) -> list[Path]:
    """Write ``dataset`` in the format called ``name`` to ``out``; the files that were written.

    Raises
    ------
    UsageError
        If there is no such format.
    DataError
        If a picture of the dataset is missing.
    """
    if name not in FORMATS:
        raise UsageError(f"unknown format {name!r}; one of: {', '.join(FORMATS)}")
    return FORMATS[name](dataset, Path(out), tick)
