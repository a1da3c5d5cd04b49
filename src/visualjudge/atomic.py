"""Files that are whole or absent: written beside their place, then renamed into it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder; on success it takes the place of ``path``, else it is removed."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=target.suffix)
    os.close(handle)
    scratch = Path(name)
    try:
        yield scratch
        scratch.chmod(0o644)
        scratch.replace(target)
    finally:
        scratch.unlink(missing_ok=True)


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write ``content`` to ``path`` atomically."""
    with atomic_path(path) as scratch:
        scratch.write_bytes(content)


def write_text(path: str | Path, content: str) -> None:
    """Write ``content`` to ``path`` atomically, as UTF-8."""
    write_bytes(path, content.encode())


def write_json(path: str | Path, value: Any, *, indent: bool = True) -> None:
    """Write ``value`` as JSON, atomically. NaN and infinity become null (JSON has neither)."""
    options = orjson.OPT_INDENT_2 if indent else 0
    write_bytes(path, orjson.dumps(value, option=options | orjson.OPT_SERIALIZE_NUMPY) + b"\n")
