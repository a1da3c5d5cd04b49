"""Write a folder next to its destination, then rename it in one step, under a lock."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from visualjudge.core.atomic import room_for
from visualjudge.core.errors import UsageError
from visualjudge.core.locks import free, locked
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
            f"`out` must be a local folder, got {target}; copy the folder with the "
            "store's own tool"
        )
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not force:
        raise UsageError(f"{target} already exists; `force` replaces a dataset")
    if not (target / LAST).is_file():
        raise UsageError(f"{target}: is not a dataset; it will not be replaced")


@contextmanager
def staged(target: Path) -> Iterator[Path]:
    """Yield a folder next to ``target`` that is renamed to it if the block succeeds and
    removed otherwise.

    Its lock is released when the process ends, so a folder left by a killed process has
    a free lock and is removed by the next one. If a kill came between the two renames
    of a replacement, the older folder is restored.

    Raises
    ------
    Locked
        If another process is writing ``target``.
    """
    stage, aside = (
        target.with_name(f".{target.name}.{kind}")
        for kind in ("partial", "replaced")
    )
    lock = locked(stage)
    try:
        if aside.exists() and not target.exists():
            aside.rename(target)
        _remove(stage, aside)
        with room_for(target):
            stage.mkdir()
            yield stage
        if target.exists():
            target.rename(aside)
        stage.rename(target)
        _remove(aside)
    finally:
        _remove(stage)
        free(stage, lock)


def _remove(*folders: Path) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
