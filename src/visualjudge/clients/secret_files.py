"""Files with the user's secrets, each with mode 0600. One secret authenticates the reply cache,
another signs the links of the studio's raters.
"""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from functools import cache
from pathlib import Path

BYTES = 32
NAME = "replies.key"


@cache
def cache_secret(folder: Path, name: str = NAME) -> bytes:
    """Return the secret ``name`` in ``folder``, creating it at the first call.

    Raises
    ------
    OSError
        If it cannot be created or read, or is readable by others.
    """
    path = folder / name
    try:
        return _read(path)
    except FileNotFoundError:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, scratch = tempfile.mkstemp(dir=folder, prefix=f".{name}.")  # mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(BYTES))
        _put(scratch, path)
    finally:
        Path(scratch).unlink(missing_ok=True)
    return _read(path)


def _put(scratch: str, path: Path) -> None:
    try:
        os.link(scratch, path)
    except FileExistsError:
        pass  # another process created it first: use its secret
    except OSError:  # the file system does not support hard links
        Path(scratch).replace(path)


def read_regular(path: Path, most: int) -> tuple[bytes, os.stat_result]:
    """Return the bytes and status of a regular file, without following links or waiting for pipes.

    Raises
    ------
    OSError
        If it does not exist, is not a regular file, or has more than ``most`` bytes.
    """
    flags = ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")
    handle = os.open(path, os.O_RDONLY | sum(getattr(os, flag, 0) for flag in flags))
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > most:
            raise OSError(f"{path}: must be a regular file of at most {most} bytes")
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(most), found
    finally:
        os.close(handle)


def _read(path: Path) -> bytes:
    content, found = read_regular(path, BYTES)
    foreign = os.name == "posix" and (found.st_uid != os.geteuid() or found.st_mode & 0o077)
    if foreign or len(content) != BYTES:
        raise OSError(
            f"{path}: must be a file of {BYTES} bytes that you alone can read (mode 0600); "
            "remove it"
        )
    return content
