"""A data folder of an object store, copied for as long as a command reads it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from visualjudge.core.confine import confined_target
from visualjudge.core.errors import UsageError
from visualjudge.core.remote import RemotePath, fetch

TOGETHER = 64
"""Files that are fetched at once."""
Tick = Callable[[int, int], None]


class FetchedFolder:
    """A local copy of all files below ``source``, in the folder for temporary files; :meth:`remove` it after use.

    Predictions and images are looked into several times, each time a few bytes: from a store, each look would be a
    request.

    Raises
    ------
    UsageError
        If there is no data folder at ``source``.
    DataError
        If it cannot be read, or a file's name leads out of it.
    """

    def __init__(self, source: RemotePath, tick: Tick) -> None:
        files = sorted(source.rglob("*"))
        names = [path.relative_to(source).as_posix() for path in files]
        if not any(name.startswith("annotations/") for name in names):
            raise UsageError(f"{source} is not a data folder: folder 'annotations' not found")
        self._folder = tempfile.TemporaryDirectory(prefix="visualjudge_")
        self.root = Path(self._folder.name)
        pairs = [(path, confined_target(self.root, name)) for path, name in zip(files, names, strict=True)]
        for start in range(0, len(pairs), TOGETHER):
            fetch(pairs[start : start + TOGETHER])
            tick(min(start + TOGETHER, len(pairs)), len(pairs))

    def remove(self) -> None:
        """Remove the copy."""
        self._folder.cleanup()
