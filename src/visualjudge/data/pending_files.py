"""Files staged in a hidden folder inside a data folder, until the import is known to be valid."""

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
    """Files staged for the data folder ``root`` until :meth:`move` is called.

    If a different file of the same name exists or is staged, the new file's name ends in a part of
    its content's hash.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._is_new = not root.exists()
        self._stage: Path | None = None

    def folder(self) -> Path:
        """Return the hidden folder, created at first use."""
        if self._stage is None:
            self._root.mkdir(parents=True, exist_ok=True)
            self._stage = Path(tempfile.mkdtemp(prefix=".import-", dir=self._root))
            (self._stage / FILES).mkdir()
        return self._stage

    def at(self, name: str) -> Path:
        """Return the current path of the file ``name`` (relative to the data folder), staged or
        final.
        """
        waiting = None if self._stage is None else self._stage / name
        return waiting if waiting is not None and waiting.exists() else self._root / name

    def copy(self, path: Path, stem: str) -> str:
        """Copy a file under a name that begins with ``stem``. Return its path relative to the data
        folder."""
        return self.write(path.read_bytes(), stem, path.suffix.lower())

    def write(self, content: bytes, stem: str, suffix: str) -> str:
        """Write a file under a name that begins with ``stem``. Return its path relative to the data
        folder."""
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
        """Move the files to their final places."""
        if self._stage is not None:
            for path in [path for path in self._stage.rglob("*") if path.is_file()]:
                target = self._root / path.relative_to(self._stage)
                target.parent.mkdir(parents=True, exist_ok=True)
                path.replace(target)
        self.discard()

    def discard(self) -> None:
        """Remove staged files, and the data folder if it was created for them."""
        if self._stage is not None:
            shutil.rmtree(self._stage, ignore_errors=True)
            self._stage = None
        if self._is_new:
            with suppress(OSError):  # missing or not empty
                self._root.rmdir()


def stem_of(text: str) -> str:
    """Return the path in a data folder, without its suffix, of a file named after ``text``."""
    return f"{FILES}/{slug(text)}"


def slug(text: str) -> str:
    """Return a file name's stem made from any text: letters, digits, ``. _ -``; long ones are
    shortened with a hash.

    Texts that differ only in other characters give different stems.
    """
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", text).lstrip(".")
    if plain == text and 0 < len(plain) <= LONGEST_STEM:
        return plain
    digest = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:10]
    return f"{plain[: LONGEST_STEM - 11]}-{digest}"
