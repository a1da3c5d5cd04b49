"""Write a folder next to its destination, then rename it in one step, under a lock."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from visualjudge.core.errors import UsageError
from visualjudge.core.locks import FileLock, Locked
from visualjudge.core.tables import is_remote

LAST = "dataset.json"


def check_target(target: Path, force: bool) -> None:
    """Check whether a dataset may be written at ``target``.

    Raises
    ------
    UsageError
        If the target exists, unless it is an older dataset and ``force`` is given.
    """
    if is_remote(target):
        raise UsageError(
            f"--out must be a local folder, got {target}; copy the folder with the store's own tool"
        )
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not force:
        raise UsageError(f"{target} already exists; --force (force=True) replaces a dataset")
    if not (target / LAST).is_file():
        raise UsageError(f"{target}: is not a dataset; it will not be replaced")


@contextmanager
def staged(target: Path) -> Iterator[Path]:
    """Yield a folder next to ``target`` that is renamed to it if the block succeeds and removed
    otherwise.

    Its lock is released when the process ends, so folders left by killed processes have free locks
    and are removed by the next process. (Process ids would be reused after a container restart.) If
    a kill came between the two renames of a replacement, the older folder is restored.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_left_over(target)
    token = secrets.token_hex(4)
    stage, aside = _stage(target, token), target.with_name(f".{target.name}.replaced-{token}")
    lock = FileLock(stage)
    try:
        stage.mkdir()
        yield stage
        _move_into_place(stage, target, aside)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        _release(lock, stage)


def _stage(target: Path, token: str) -> Path:
    return target.with_name(f".{target.name}.partial-{token}")


def _release(lock: FileLock, stage: Path) -> None:
    stage.with_name(f".{stage.name}.lock").unlink(missing_ok=True)
    lock.release()


def _remove_left_over(target: Path) -> None:
    """Clean up after killed processes."""
    name = target.name
    left_over = [
        path for kind in ("partial", "replaced") for path in target.parent.glob(f".{name}.{kind}-*")
    ]
    for token in sorted({path.name.rpartition("-")[2] for path in left_over}):
        stage, aside = _stage(target, token), target.with_name(f".{name}.replaced-{token}")
        try:
            lock = FileLock(stage)
        except Locked:
            continue  # another process is using it
        if aside.exists() and not target.exists():
            aside.rename(target)
        for left in (stage, aside):
            shutil.rmtree(left, ignore_errors=True)
        _release(lock, stage)


def _move_into_place(stage: Path, target: Path, aside: Path) -> None:
    if target.exists():
        target.rename(aside)  # a kill between the renames is put right by the next process
    stage.rename(target)
    shutil.rmtree(aside, ignore_errors=True)
