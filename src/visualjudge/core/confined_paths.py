"""Ensure that paths stated in an untrusted file stay in its folder.

A dataset or data folder may come from anywhere, and names its images by relative paths. This module
alone refuses ``../``, absolute paths, drive letters, links that lead outside, and anything that is
not a regular file (a FIFO, ``/dev/zero``). Two exceptions: blobs that a Hugging Face snapshot links
to, and imports that explicitly allow outside paths.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path, PurePosixPath, PureWindowsPath

from visualjudge.core.errors import DataError

LONGEST_PATH = 1024
"""Maximum length of a stated path in characters."""


_ALLOWED: ContextVar[bool] = ContextVar("outside_allowed", default=False)
_HINT: ContextVar[str] = ContextVar("how_to_allow_outside", default="")


@contextmanager
def importing(*, outside: bool) -> Iterator[None]:
    """Allow paths outside the folder within the block if ``outside`` is True; otherwise messages
    name the option that allows them.
    """
    tokens = _ALLOWED.set(outside), _HINT.set("; --allow-outside permits it")
    try:
        yield
    finally:
        _ALLOWED.reset(tokens[0])
        _HINT.reset(tokens[1])


def confined_path(root: str | Path, name: object, *, of: str = "the dataset") -> Path:
    """Return ``root / name``, a regular file inside ``root``.

    Parameters
    ----------
    root
        The folder.
    name
        Relative path as stated by a file of the folder, with ``/`` as separator.
    of
        Description of the folder, for messages.

    Raises
    ------
    DataError
        If ``name`` is not a relative path, leads outside ``root``, directly or through a link, or
        is not a regular file.
    """
    path = Path(root, _printable(name) if _ALLOWED.get() else stated_path(name, of=of))
    if not _ALLOWED.get() and not _is_at_home(os.path.realpath(path), os.path.realpath(root)):
        raise DataError(
            f"{_shown(name)} leads out of {of} through a link; files must be inside{_HINT.get()}"
        )
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        raise DataError(f"there is no file {_shown(name)} in {of}") from None
    if not stat.S_ISREG(mode):
        raise DataError(f"{_shown(name)} in {of} must be a regular file")
    return path


def stated_path(name: object, *, of: str = "the dataset") -> str:
    """Return ``name`` if it is a relative path that stays in its folder. Only the text is checked,
    not the disk.

    Raises
    ------
    DataError
        If it is not such a path.
    """
    text = _printable(name)
    if not (text[0] == "/" or ".." in text or "\\" in text or ":" in text):  # nearly all names
        return text
    windows = PureWindowsPath(text)
    outside = (
        windows.drive or windows.root or PurePosixPath(text).is_absolute() or ".." in windows.parts
    )
    if outside:
        raise DataError(
            f"{_shown(name)} leads out of {of}; a path must be relative to it, without "
            f"'..'{_HINT.get()}"
        )
    return text


def _printable(name: object) -> str:
    if not isinstance(name, str) or not name or len(name) > LONGEST_PATH or not name.isprintable():
        raise DataError(
            f"{_shown(name)} must be a relative path of at most {LONGEST_PATH} printable characters"
        )
    return name


def confined_target(root: str | Path, name: str) -> Path:
    """Return ``root / name`` for writing. No part of it below ``root`` may be a link.

    Raises
    ------
    DataError
        If a part is a link, or ``name`` leads outside of ``root``.
    """
    path = Path(root)
    for part in PurePosixPath(stated_path(name, of="the target")).parts:
        path = path / part
        if path.is_symlink():
            raise DataError(
                f"{path} must not be a link; links are not followed when writing; remove it"
            )
    return path


def own_path(folder: str | Path, name: str, *, of: str) -> Path:
    """Return ``folder / name`` in a folder that visualjudge created: a regular file, or a missing
    one. Links below ``folder`` are refused; ``folder`` itself may be a link.

    Parameters
    ----------
    of
        Description of the folder, for messages.

    Raises
    ------
    DataError
        If a part of ``name`` is a link, ``name`` leads out of ``folder``, or the path is not a
        regular file.
    """
    path, mode = Path(folder), None
    for part in PurePosixPath(stated_path(name, of=of)).parts:
        path = path / part
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            mode = None
        except (OSError, ValueError) as error:
            raise DataError(
                f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}"
            ) from None
        if mode is not None and stat.S_ISLNK(mode):
            raise DataError(
                f"{path}: must not be a link, which is not followed in {of}; put the file itself "
                "there"
            )
    if mode is not None and not stat.S_ISREG(mode):
        raise DataError(f"{path}: must be a regular file")
    return path


def _is_at_home(path: str, root: str) -> bool:
    """Return whether a resolved path is inside a resolved folder, or is a blob of the Hugging Face
    snapshot in that folder.

    The hub's cache has ``REPO/snapshots/REVISION/…`` with links into ``REPO/blobs``; both come from
    the same download.
    """
    home = Path(root)
    blobs = [
        place.parent.parent / "blobs"
        for place in (home, *home.parents)
        if place.parent.name == "snapshots"
    ]
    return any(_is_inside(path, str(folder)) for folder in (home, *blobs[:1]))


def _is_inside(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def _shown(name: object) -> str:
    text = repr(name)
    return text if len(text) <= 80 else f"{text[:79]}…{text[-1]}"
