"""Write files atomically: to a temporary file in the same folder, which is then renamed."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from visualjudge.core.errors import RunError

_NO_ROOM = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
"""Errors of a write for which Python does not name the file."""


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder. On success it replaces ``path``; otherwise it is
    removed.

    Raises
    ------
    RunError
        If ``path`` is a folder, or its parent is a file.
    """
    target = Path(path)
    scratch = _name_beside(target)
    try:
        _create(scratch, target)  # inside the try, so that Ctrl-C cannot prevent the removal
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


def _name_beside(target: Path) -> Path:
    with writing(target):
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "is a folder, not a file")
        target.parent.mkdir(parents=True, exist_ok=True)
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}{target.suffix}")


def _create(scratch: Path, target: Path) -> None:
    # Only its owner can read it; it fails if the name exists, even as a link.
    with writing(target):
        os.close(os.open(scratch, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Turn errors of the file system into a :class:`RunError` that names the file."""
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
    """Write ``value`` as JSON, atomically. NaN and infinity, which JSON lacks, become null."""
    options = orjson.OPT_INDENT_2 if indent else 0
    write_bytes(path, orjson.dumps(value, option=options | orjson.OPT_SERIALIZE_NUMPY) + b"\n")
