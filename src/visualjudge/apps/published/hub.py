"""A benchmark from the Hugging Face Hub as the files of a local copy, where the user asks for it."""

from __future__ import annotations

from pathlib import Path

from visualjudge.apps.published.items import Benchmark
from visualjudge.core.errors import UsageError


def fetch(row: Benchmark, folder: Path) -> Path:
    """Download ``row`` with the ``datasets`` library into ``folder/[<part>/]<split>.parquet``, images as bytes.

    Raises
    ------
    UsageError
        If the benchmark is not on the Hub in a form that its reader takes, ``datasets`` is not installed, or the
        download fails.
    """
    if row.hub is None:
        raise UsageError(f"--hub: {row.name} is not on the Hub in a form that can be read; see {row.source}")
    try:
        import datasets
    except ImportError:
        raise UsageError("--hub: needs the datasets library; run: pip install datasets") from None
    try:
        parts = {part: datasets.load_dataset(row.hub, part) for part in row.hub_parts}
    except Exception as error:  # whatever the library and the network raise
        raise UsageError(f"--hub: {row.hub} cannot be read: {' '.join(str(error).split())[:300]}") from None
    for part, splits in parts.items():
        home = folder / (part or "")
        home.mkdir(exist_ok=True)
        for name, rows in splits.items():
            rows.to_parquet(str(home / f"{name}.parquet"))
    return folder
