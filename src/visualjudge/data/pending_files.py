"""Files on their way into a data folder: in a hidden folder inside it, until the import is known to
fit.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from visualjudge.core.atomic import writing

FILES = "files"
LONGEST_STEM = 100


class WaitingFiles:
    """Files for the data folder ``root``; they stand there once :meth:`move` is called.

    Names are chosen by what lies in the folder and what waits: another file of a name stays, and
    the new one's name then ends in a part of its content's hash.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._is_new = not root.exists()
        self._stage: Path | None = None

    def folder(self) -> Path:
        """The hidden folder, made when it is needed first."""
        if self._stage is None:
            self._root.mkdir(parents=True, exist_ok=True)
            self._stage = Path(tempfile.mkdtemp(prefix=".import-", dir=self._root))
            (self._stage / FILES).mkdir()
        return self._stage

    def at(self, name: str) -> Path:
        """Where the file ``name`` (relative to the data folder) lies now: still waiting, or in its
        place.
        """
        waiting = None if self._stage is None else self._stage / name
        return waiting if waiting is not None and waiting.exists() else self._root / name

    def copy(self, path: Path, stem: str) -> str:
        """Copy a file under about the name ``stem``; its path relative to the data folder."""
        return self.write(path.read_bytes(), stem, path.suffix.lower())

    def write(self, content: bytes, stem: str, suffix: str) -> str:
        """Write a file under about the name ``stem``; its path relative to the data folder."""
        name = stem_of(stem) + suffix
        there = self.at(name)
        if there.exists():
            if there.read_bytes() == content:
                return name
            name = f"{stem_of(stem)}-{hashlib.sha256(content).hexdigest()[:12]}{suffix}"
            if self.at(name).exists():
                return name
        path = self.folder() / name
        with writing(path):
            path.write_bytes(content)
        return name

    def move(self) -> None:
        """Put the files into their places."""
        if self._stage is not None:
            for path in [path for path in self._stage.rglob("*") if path.is_file()]:
                target = self._root / path.relative_to(self._stage)
                target.parent.mkdir(parents=True, exist_ok=True)
                path.replace(target)
        self.discard()

    def discard(self) -> None:
        """Remove the files that still wait, and the data folder where they were all that it was
        made for.
        """
        if self._stage is not None:
            shutil.rmtree(self._stage, ignore_errors=True)
            self._stage = None
        if self._is_new:
            with suppress(OSError):  # it is not there, or not empty
                self._root.rmdir()


def stem_of(text: str) -> str:
    """Path in a data folder, without its suffix, of a file that is named after ``text``."""
    return f"{FILES}/{slug(text)}"


def slug(text: str) -> str:
    """A file name's stem out of any text: letters, digits, ``. _ -``; shortened with a hash where
    it is long.

    Texts that differ only in other characters give different stems.
    """
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", text).lstrip(".")
    if plain == text and 0 < len(plain) <= LONGEST_STEM:
        return plain
    digest = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:10]
    return f"{plain[: LONGEST_STEM - 11]}-{digest}"
