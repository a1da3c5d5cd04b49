"""Locks between processes, on POSIX and Windows. They are released whenever the process
ends. The lock file of a gate is another thing: ``apps/gate/lock.py``.
"""

from pathlib import Path
from typing import Any

from visualjudge.core.errors import RunError


def locked(path: str | Path) -> Any:
    """Return the acquired lock of ``path``, which need not exist: a file
    ``.<name>.lock`` beside it, of the library filelock.

    Raises
    ------
    RunError
        If another process, or another lock of this one, holds it, or the lock file
        cannot be created, or is a link.
    """
    import filelock  # takes long, as it imports asyncio

    place = Path(path)
    beside = place.with_name(f".{place.name}.lock")
    # Opening it would empty its target.
    if beside.is_symlink() or (beside.exists() and not beside.is_file()):
        raise RunError(
            f"{beside}: must be a regular file, not a link; remove it"
        )
    lock = filelock.FileLock(beside, thread_local=False)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except filelock.Timeout:
        raise RunError(
            f"{place} is being written by another process; wait for it or choose "
            "another `out`"
        ) from None
    except OSError as error:
        raise RunError(
            f"{place}: cannot be written: {error.strerror or error}"
        ) from None
    return lock


def free(path: Path, lock: Any) -> None:
    """Release a lock of :func:`locked`, and remove its file."""
    lock.release()
    path.with_name(f".{path.name}.lock").unlink(missing_ok=True)
