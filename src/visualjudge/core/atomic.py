"""Files that are whole or absent: written beside their place, then renamed into it."""

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
    scratch = _name_beside(target)
    try:
        _create(
            scratch, target
        )  # inside, so that Ctrl-C cannot come between the file and its removal
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
    """A hidden name in the folder of ``target``, which is made where it is not there."""
    with writing(target):
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "is a folder, not a file")
        target.parent.mkdir(parents=True, exist_ok=True)
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}{target.suffix}")


def _create(scratch: Path, target: Path) -> None:
    """An empty file that only its owner can read; no file of that name, nor a link, is opened."""
    with writing(target):
        os.close(os.open(scratch, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


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
