"""Where a copy has a benchmark's table: people keep one table as JSON, JSON lines, Parquet or CSV."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

KINDS = ("json", "jsonl", "parquet", "arrow", "csv", "tsv")


def table_of(homes: Iterable[Path], *stems: str) -> Path | None:
    """The file of the first of ``stems`` in the first of ``homes`` that has one, whatever its format."""
    paths = (home / f"{stem}.{kind}" for home in homes for stem in stems for kind in KINDS)
    return next((path for path in paths if path.is_file()), None)


def name_of(image: Any, key: str) -> str:
    """What a field calls its image: the path in it; ``key`` where it holds pixels alone."""
    name = image.get("path") if isinstance(image, dict) else image
    return name if isinstance(name, str) and name else key
