"""Write files atomically: to a temporary file in the same folder, which is then
renamed. Which files of a user may be overwritten is decided in ``output_files.py``.
"""

import errno
import os
import platform
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from visualjudge.core.errors import RunError

# In the names of new files: which machine writes them, in front of its process.
_HOST = f"{zlib.crc32(platform.node().encode()):08x}-"
# Errors of a write for which Python does not name the file.
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder. On success it replaces ``path``;
    otherwise it is removed.

    Raises
    ------
    RunError
        If ``path`` is a folder, or its parent is a file.
    """
    target = Path(path)
    scratch = new_scratch(target)
    try:
        with room_for(target):
            yield scratch
            scratch.chmod(0o644)
            with writing(target):
                scratch.replace(target)
    finally:
        scratch.unlink(missing_ok=True)


def new_scratch(target: Path) -> Path:
    """Return a new, empty file in the folder of ``target``, which is made if it is
    missing.

    Raises
    ------
    RunError
        If ``target`` is a folder, or its parent is a file.
    """
    with writing(target):
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "is a folder, not a file")
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_left(target.parent)
        # Only its owner can read it while it is written.
        handle, name = tempfile.mkstemp(
            target.suffix,
            f".{target.name}.{_HOST}{os.getpid()}.",
            target.parent,
        )
    try:
        os.close(handle)
    except BaseException:
        Path(name).unlink()
        raise
    return Path(name)


@cache
def _remove_left(folder: Path) -> None:
    """Remove what killed processes of this machine left of their writes to files in
    ``folder``, before the first write there."""
    if os.name != "posix":  # elsewhere a process cannot be looked for
        return
    for left in folder.glob(f".*.{_HOST}*"):
        process = left.name.partition(f".{_HOST}")[2].partition(".")[0]
        try:
            os.kill(int(process), 0)
        except ProcessLookupError:
            left.unlink(missing_ok=True)
        except (OSError, ValueError, OverflowError):
            continue  # another user's process, or another file


@contextmanager
def room_for(target: Path) -> Iterator[None]:
    """Turn the error of a full disk, for which Python does not name the file, into a
    :class:`RunError` that names ``target``."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise RunError(
            f"{target}: cannot be written: {error.strerror}"
        ) from None


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Turn errors of the file system into a :class:`RunError` that names the file."""
    try:
        yield
    except OSError as error:
        raise RunError(
            f"{target}: cannot be written: {error.strerror or error}"
        ) from None


def write_bytes(path: str | Path, content: bytes) -> None:
    with atomic_path(path) as scratch, writing(Path(path)):
        scratch.write_bytes(content)


def write_json(path: str | Path, value: Any, *, indent: bool = True) -> None:
    """Write ``value`` as JSON, atomically. NaN and infinity, which JSON lacks, become
    null."""
    write_bytes(path, json_bytes(value, indent=indent))


def json_bytes(value: Any, *, indent: bool = True) -> bytes:
    """Return ``value`` as a JSON text with a line end."""
    return orjson.dumps(
        value,
        option=orjson.OPT_SERIALIZE_NUMPY
        | orjson.OPT_APPEND_NEWLINE
        | (orjson.OPT_INDENT_2 if indent else 0),
    )
