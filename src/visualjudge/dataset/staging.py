"""A folder that is written beside its place and takes its name in one move, under a lock."""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from visualjudge.locks import FileLock, Locked

_HERE = -100  # AT_FDCWD
_EXCHANGE = 2  # RENAME_EXCHANGE


@contextmanager
def staged(target: Path) -> Iterator[Path]:
    """A folder beside ``target`` that takes its name when the block ends well and is removed when it does not.

    Its lock goes with the process: what a killed one left behind is known by its lock being free, and is removed by the
    next. A process id would name somebody else after a restart in a container. Where a kill came between the two
    renames of a replacement, the older folder gets its name back.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    _tidy(target)
    token = secrets.token_hex(4)
    stage, aside = _stage(target, token), target.with_name(f".{target.name}.replaced-{token}")
    lock = FileLock(stage)
    try:
        stage.mkdir()
        yield stage
        _put(stage, target, aside)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        _drop(lock, stage)


def _stage(target: Path, token: str) -> Path:
    return target.with_name(f".{target.name}.partial-{token}")


def _drop(lock: FileLock, stage: Path) -> None:
    stage.with_name(f".{stage.name}.lock").unlink(missing_ok=True)
    lock.release()


def _tidy(target: Path) -> None:
    """Put right what killed processes left."""
    name = target.name
    left_over = [path for kind in ("partial", "replaced") for path in target.parent.glob(f".{name}.{kind}-*")]
    for token in sorted({path.name.rpartition("-")[2] for path in left_over}):
        stage, aside = _stage(target, token), target.with_name(f".{name}.replaced-{token}")
        try:
            lock = FileLock(stage)
        except Locked:
            continue  # somebody is at work there
        if aside.exists() and not target.exists():
            aside.rename(target)
        for left in (stage, aside):
            shutil.rmtree(left, ignore_errors=True)
        _drop(lock, stage)


def _put(stage: Path, target: Path, aside: Path) -> None:
    if not target.exists():
        stage.rename(target)
    elif not _exchanged(stage, target):  # where it worked, the older folder is the stage now, and is removed as such
        target.rename(aside)
        stage.rename(target)
        shutil.rmtree(aside, ignore_errors=True)


def _exchanged(one: Path, other: Path) -> bool:
    """Swap two names in one step, where the system can (Linux)."""
    if sys.platform != "linux":
        return False
    try:
        swap = ctypes.CDLL(None).renameat2
    except (OSError, AttributeError):
        return False
    return bool(swap(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)
