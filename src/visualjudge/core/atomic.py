"""Files that are whole or absent: written beside their place, then renamed into it."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from visualjudge.core.errors import RunError

_NO_ROOM = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
"""Why a write fails that Python does not name the file for."""


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder; on success it takes the place of ``path``, else it
    is removed.

    Raises
    ------
    RunError
        If there cannot be a file at ``path``: a folder is there, or a file where its folder should
        be.
    """
    target = Path(path)
    scratch = _scratch(target)
    try:
        yield scratch
        scratch.chmod(0o644)
        with writing(target):
            scratch.replace(target)
    except OSError as error:
        if error.errno not in _NO_ROOM or error.filename is not None:
            raise
        raise RunError(f"{target}: cannot be written: {error.strerror}") from None
    finally:
        scratch.unlink(missing_ok=True)


def _scratch(target: Path) -> Path:
    with writing(target):
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "is a folder, not a file")
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name}.", suffix=target.suffix
        )
    os.close(handle)
    return Path(name)


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """An error of the file system becomes a :class:`RunError` that says which file was to be
    written.
    """
    try:
        yield
    except OSError as error:
        raise RunError(f"{target}: cannot be written: {error.strerror or error}") from None


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write ``content`` to ``path`` atomically."""
    with atomic_path(path) as scratch, writing(Path(path)):
        scratch.write_bytes(content)


def write_text(path: str | Path, content: str) -> None:
    """Write ``content`` to ``path`` atomically, as UTF-8."""
    write_bytes(path, content.encode())


def write_json(path: str | Path, value: Any, *, indent: bool = True) -> None:
    """Write ``value`` as JSON, atomically. NaN and infinity become null (JSON has neither)."""
    options = orjson.OPT_INDENT_2 if indent else 0
    write_bytes(path, orjson.dumps(value, option=options | orjson.OPT_SERIALIZE_NUMPY) + b"\n")
