"""Write a folder next to its destination, then rename it in one step, under a lock.

For an object store, files are written to a temporary folder and uploaded; ``dataset.json``, without
which the dataset is not readable, comes last.
"""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from visualjudge.core.errors import DataError, RunError, UsageError
from visualjudge.core.locks import FileLock, Locked
from visualjudge.core.object_stores import RemotePath, far, located, put, remove

LAST = "dataset.json"
UNDER_WAY = ".partial"
"""A marker file in an object store while a folder is being uploaded."""
_HERE = -100  # AT_FDCWD
_EXCHANGE = 2  # RENAME_EXCHANGE


def check_target(target: Path, force: bool) -> None:
    """Check whether a dataset may be written at ``target``.

    Raises
    ------
    UsageError
        If the target exists, unless it is an older dataset and ``force`` is given.
    """
    if (store := far(target)) is not None:
        _check_store(store, force=force)
        return
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not force:
        raise UsageError(f"{target} already exists; --force (force=True) replaces a dataset")
    if not (target / LAST).is_file():
        raise UsageError(f"{target}: is not a dataset; it will not be replaced")


def _check_store(target: RemotePath, *, force: bool) -> None:
    if force:
        raise UsageError(
            f"{target}: --force replaces local folders only; remove it with the store's own tool"
        )
    if (target / UNDER_WAY).exists():
        raise UsageError(
            f"{target}: another command is writing there or was killed; if it was killed, "
            "remove it with the store's own tool"
        )
    if any(target.rglob("*")):
        raise UsageError(f"{target} already exists; remove it with the store's own tool")


@dataclass(frozen=True, slots=True)
class Stage:
    """A folder to write to. Call ``done`` with each file that is no longer needed, as it may be
    uploaded and removed at once.
    """

    root: Path
    done: Callable[[Path], None]


@contextmanager
def staged(target: Path) -> Iterator[Path]:
    """Yield a folder whose files appear at ``target`` if the block succeeds, and are removed
    otherwise.
    """
    with stage_of(target) as stage:
        yield stage.root


@contextmanager
def stage_of(target: Path) -> Iterator[Stage]:
    """Yield a stage, from which finished files may be moved before the end.

    Raises
    ------
    UsageError
        If the target in an object store is not empty.
    RunError
        If an object store rejects a file.
    """
    store = far(located(target))
    if store is not None:
        with _uploaded(store) as stage:
            yield stage
        return
    with _local_stage(target) as root:
        yield Stage(root, lambda path: None)


# ---------------------------------------------------------------- into an object store


@contextmanager
def _uploaded(target: RemotePath) -> Iterator[Stage]:
    _check_store(target, force=False)
    with tempfile.TemporaryDirectory(prefix="visualjudge_") as folder:
        upload = _Upload(Path(folder), target)
        try:
            upload.begin()
            yield Stage(upload.root, upload.send)
            upload.finish()
        except BaseException:
            upload.undo()
            raise


class _Upload:
    """Uploads from ``root`` to ``target``. Each file is removed from ``root`` once uploaded."""

    def __init__(self, root: Path, target: RemotePath) -> None:
        self.root = root
        self.target = target
        self.sent: list[RemotePath] = []

    def begin(self) -> None:
        """Check, before any work, that the store is writable."""
        (self.root / UNDER_WAY).touch()
        self.send(self.root / UNDER_WAY)

    def send(self, *paths: Path) -> None:
        places = [self.target / path.relative_to(self.root).as_posix() for path in paths]
        self.sent += places
        put(list(zip(paths, places, strict=True)))
        for path in paths:
            path.unlink()

    def finish(self) -> None:
        last = self.root / LAST
        self.send(*sorted(path for path in self.root.rglob("*") if path.is_file() and path != last))
        if last.exists():
            self.send(last)
        remove([self.target / UNDER_WAY])

    def undo(self) -> None:
        """Remove the uploaded files, as far as the store allows."""
        with suppress(RunError, DataError, OSError):
            arrived = set(self.target.rglob("*"))
            remove([path for path in self.sent if path in arrived])


# ---------------------------------------------------------------- in a local folder


@contextmanager
def _local_stage(target: Path) -> Iterator[Path]:
    """Yield a folder next to ``target`` that is renamed if the block succeeds and removed
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
    if not target.exists():
        stage.rename(target)
    # If the exchange worked, the stage is now the older folder, and is removed.
    elif not _exchanged(stage, target):
        target.rename(aside)
        stage.rename(target)
        shutil.rmtree(aside, ignore_errors=True)


def _exchanged(one: Path, other: Path) -> bool:
    """Swap two names in one step, if the system supports it (Linux)."""
    if sys.platform != "linux":
        return False
    try:
        swap = ctypes.CDLL(None).renameat2
    except (OSError, AttributeError):
        return False
    return bool(swap(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)
