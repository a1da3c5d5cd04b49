"""The door for strangers' bytes: files inside a folder, without links, within the
bounds of their kind.

A dataset, a data folder, a table or a log may come from anywhere, and names its files
by relative paths. This module alone refuses ``../``, absolute paths, drive letters,
links that lead outside, and anything that is not a regular file (a FIFO,
``/dev/zero``). Two exceptions: blobs that a Hugging Face snapshot links to, and imports
that explicitly allow outside paths.
"""

from __future__ import annotations

import os
import pickle
import stat
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from io import BufferedReader, FileIO
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, BinaryIO, Literal, TypeVar

from visualjudge.core.errors import DataError

if TYPE_CHECKING:
    from zipfile import ZipFile

Result = TypeVar("Result")
MIB = 1 << 20
# Maximum length of a stated path in characters.
LONGEST_PATH = 1024
# Memory, beyond what its libraries take, and CPU time of a process that reads a
# stranger's file; for each MiB of the file, 32 MiB (of addresses, not all used) and a
# second more.
MEMORY_APART = 512 * MIB
SECONDS_APART = 15


@dataclass(frozen=True, slots=True)
class Bound:
    """The bounds of a kind of input; 0 = none of its own."""

    # Bytes of a file, a line or a body.
    size: int
    # Bytes that it may hold once decompressed.
    unpacked: int = 0
    # Levels of nesting.
    depth: int = 0
    # Values, cells, pixels or rows × columns.
    items: int = 0


Kind = Literal[
    "json", "record", "description", "manifest", "yaml", "xml", "table", "workbook", "zip",
    "parquet", "image", "array", "model", "reply", "body", "log",
]  # fmt: skip
BOUNDS: dict[Kind, Bound] = {
    "json": Bound(4096 * MIB, depth=100),  # as deep is any JSON
    "record": Bound(32 * MIB),  # a line of JSON, or one element of an array
    "description": Bound(256 * MIB),  # dataset.json
    "manifest": Bound(16 * MIB),  # run.json
    "yaml": Bound(4 * MIB, depth=64, items=100_000),
    "xml": Bound(16 * MIB),
    "table": Bound(1024 * MIB),
    "workbook": Bound(64 * MIB, unpacked=MEMORY_APART),
    "zip": Bound(1024 * MIB, unpacked=1024 * MIB),
    "parquet": Bound(64 << 30, items=20_000_000),
    "image": Bound(256 * MIB, items=120_000_000),
    "array": Bound(4096 * MIB, unpacked=4096 * MIB),
    "model": Bound(4 * MIB),
    "reply": Bound(1 * MIB),
    "body": Bound(16 * MIB, items=1_000_000),
    "log": Bound(64 * MIB),  # a line of a journal
}

_ALLOWED: ContextVar[bool] = ContextVar("outside_allowed", default=False)
_HINT: ContextVar[str] = ContextVar("how_to_allow_outside", default="")


@contextmanager
def importing(*, outside: bool) -> Iterator[None]:
    """Allow paths outside the folder within the block if ``outside`` is True; otherwise
    messages name the option that allows them.
    """
    tokens = _ALLOWED.set(outside), _HINT.set("; --allow-outside permits it")
    try:
        yield
    finally:
        _ALLOWED.reset(tokens[0])
        _HINT.reset(tokens[1])


# Device and number of each file that was opened here, but for images: no command
# overwrites these.
READ: set[tuple[int, int]] = set()
# Kinds whose bound holds for each line of a file, which may be of any size.
ENDLESS: frozenset[Kind] = frozenset({"record", "log"})
# Kinds of which no line, if a reader asks for lines, is longer than a record.
LINES: frozenset[Kind] = frozenset({"record", "table"})


def open_file(path: Path, kind: Kind) -> BinaryIO:
    """Open a file of a user or a stranger for reading.

    Raises
    ------
    DataError
        As :func:`check_file` does.
    """
    with _readable(path):
        # Nothing that may be there, such as a pipe, makes this wait.
        flags = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        handle = os.open(path, os.O_RDONLY | flags)
    try:
        _check(path, os.fstat(handle), kind)
    except BaseException:
        os.close(handle)
        raise
    return _Lines(path, handle) if kind in LINES else os.fdopen(handle, "rb")


class _Lines(BufferedReader):
    """A file of which no line is longer than a record may be."""

    def __init__(self, path: Path, handle: int) -> None:
        super().__init__(FileIO(handle))
        self._path = path
        self._number = 0

    def readline(self, size: int | None = -1) -> bytes:
        most = BOUNDS["record"].size
        line = super().readline(most + 1 if size is None or size < 0 else size)
        self._number += line.endswith(b"\n")
        if len(line) > most and (size is None or size < 0):
            raise DataError(
                f"{self._path}: line {self._number + 1}: must have at most "
                f"{most // MIB} MiB"
            )
        return line

    def __next__(self) -> bytes:
        if line := self.readline():
            return line
        raise StopIteration


def read_file(path: Path, kind: Kind) -> bytes:
    """Return the bytes of a file of a user or a stranger.

    Raises
    ------
    DataError
        As :func:`check_file` does.
    """
    with open_file(path, kind) as file, _readable(path):
        return file.read()


def check_file(path: Path, kind: Kind) -> None:
    """Check that a file can be read within the bound of its kind.

    Raises
    ------
    DataError
        If there is no such file, it is not a regular file, or it is larger.
    """
    with _readable(path):
        status = path.stat()
    _check(path, status, kind)


def _check(path: Path, status: os.stat_result, kind: Kind) -> None:
    if kind not in ("image", "array"):
        READ.add((status.st_dev, status.st_ino))
    most = BOUNDS[kind].size
    if stat.S_ISDIR(status.st_mode):
        raise DataError(f"{path}: must be a file, got a folder")
    if not stat.S_ISREG(status.st_mode):
        raise DataError(f"{path}: must be a regular file")
    if status.st_size > most and kind not in ENDLESS:
        raise DataError(
            f"{path}: must have at most {most // MIB} MiB, got "
            f"{status.st_size / MIB:.2f} MiB"
        )


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path}: cannot be read: {reason}") from None


@contextmanager
def archive(path: Path, kind: Kind) -> Iterator[ZipFile]:
    """Open a zip file whose members hold no more than its kind may. zipfile reads no
    more of a member than is stated. Zstandard needs Python 3.14 or the extra ``logs``.

    Raises
    ------
    DataError
        If it is no such file, here or when a member is read.
    """
    try:
        from backports.zstd import zipfile
    except ImportError:
        import zipfile  # type: ignore[no-redef]
    try:
        with open_file(path, kind) as file, zipfile.ZipFile(file) as zipped:
            size = sum(member.file_size for member in zipped.infolist())
            most = BOUNDS[kind].unpacked
            if size > most:
                raise DataError(
                    f"{path}: must have at most {most // MIB} MiB unpacked, got "
                    f"{size // MIB} MiB"
                )
            yield zipped  # type: ignore[misc, unused-ignore]
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        RuntimeError,
        ValueError,
        OSError,
    ) as error:
        # RuntimeError: encrypted, or (NotImplementedError) an unknown compression.
        hint = "; for Zstandard run: pip install 'visualjudge[logs]'"
        more = hint if isinstance(error, NotImplementedError) else ""
        raise DataError(f"{path}: cannot be unpacked: {error}{more}") from None


def apart(function: Callable[[Path], Result], path: Path, kind: Kind) -> Result:
    """Return ``function(path)``, called in a process with little memory and time: a few
    kilobytes of a stranger may unpack to gigabytes inside a library. The result is
    pickled.

    Raises
    ------
    DataError
        If it needs more, or ``function`` raises it.
    """
    check_file(path, kind)
    size = path.stat().st_size
    memory = MEMORY_APART + 32 * size
    seconds = SECONDS_APART + size // MIB
    # No process of multiprocessing, which would run the user's script again. Each
    # thread of glibc's malloc reserves 64 MiB of addresses, which would count as
    # memory.
    own = {
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "MALLOC_ARENA_MAX": "2",
    }
    done = subprocess.run(
        [
            sys.executable,
            "-P",
            "-c",
            f"from {__name__} import answer; answer()",
        ],
        input=pickle.dumps((memory, seconds, function, path)),
        env={**os.environ, **own, "POLARS_MAX_THREADS": "2"},
        capture_output=True,
        check=False,
    )
    if done.returncode or not done.stdout:
        raise DataError(
            f"{path}: takes more than {memory // MIB} MiB of memory or {seconds} s to "
            "read"
        )
    result: Result | DataError = pickle.loads(done.stdout)
    if isinstance(result, DataError):
        raise result
    return result


def answer() -> None:
    """In the process: call what stdin says within its limits, and write the result to
    stdout."""
    memory, seconds, function, path = pickle.load(
        sys.stdin.buffer
    )  # imports its modules first
    _limit(memory, seconds)
    try:
        result = function(path)
    except DataError as error:
        result = error
    pickle.dump(result, sys.stdout.buffer)


def _limit(memory: int, seconds: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    import polars as pl

    pl.select(1)  # starts its threads, whose stacks are not the file's
    statm = Path("/proc/self/statm")
    pages = int(statm.read_text().split()[0]) if statm.exists() else 0
    memory += pages * resource.getpagesize() if pages else 4 * MEMORY_APART
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


# ---------------------------------------------------------------- paths


def confined_path(
    root: str | Path, name: object, *, of: str = "the dataset"
) -> Path:
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
        If ``name`` is not a relative path, leads outside ``root``, directly or through
        a link, or is not a regular file.
    """
    path = Path(
        root, _printable(name) if _ALLOWED.get() else stated_path(name, of=of)
    )
    if not _ALLOWED.get() and not _is_at_home(
        os.path.realpath(path), os.path.realpath(root)
    ):
        raise DataError(
            f"{_displayed(name)} leads out of {of} through a link; files must be "
            f"inside{_HINT.get()}"
        )
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        raise DataError(
            f"there is no file {_displayed(name)} in {of}"
        ) from None
    if not stat.S_ISREG(mode):
        raise DataError(f"{_displayed(name)} in {of} must be a regular file")
    return path


def stated_path(name: object, *, of: str = "the dataset") -> str:
    """Return ``name`` if it is a relative path that stays in its folder. Only the text
    is checked, not the disk.

    Raises
    ------
    DataError
        If it is not such a path.
    """
    text = _printable(name)
    if not (
        text[0] == "/" or ".." in text or "\\" in text or ":" in text
    ):  # nearly all names
        return text
    windows = PureWindowsPath(text)
    outside = (
        windows.drive
        or windows.root
        or PurePosixPath(text).is_absolute()
        or ".." in windows.parts
    )
    if outside:
        raise DataError(
            f"{_displayed(name)} leads out of {of}; a path must be relative to it, "
            f"without '..'{_HINT.get()}"
        )
    return text


def _printable(name: object) -> str:
    if (
        not isinstance(name, str)
        or not name
        or len(name) > LONGEST_PATH
        or not name.isprintable()
    ):
        raise DataError(
            f"{_displayed(name)} must be a relative path of at most {LONGEST_PATH} "
            "printable characters"
        )
    return name


def confined_target(
    root: str | Path, name: str, *, of: str = "the target"
) -> Path:
    """Return ``root / name`` for writing, or for reading in a folder that visualjudge
    made: a regular file, or a missing one. No part of it below ``root`` may be a link;
    ``root`` itself may.

    Raises
    ------
    DataError
        If a part is a link, ``name`` leads outside of ``root``, or it is not a regular
        file.
    """
    path = Path(root)
    mode = None
    for part in PurePosixPath(stated_path(name, of=of)).parts:
        path = path / part
        mode = path.lstat().st_mode if os.path.lexists(path) else None
        if mode is not None and stat.S_ISLNK(mode):
            raise DataError(
                f"{path}: must not be a link; links are not followed in {of}; put the "
                "file itself there"
            )
    if mode is not None and not stat.S_ISREG(mode):
        raise DataError(f"{path}: must be a regular file")
    return path


def _is_at_home(path: str, root: str) -> bool:
    """Return whether a resolved path is inside a resolved folder, or is a blob of the
    Hugging Face snapshot in that folder.

    The hub's cache has ``REPO/snapshots/REVISION/…`` with links into ``REPO/blobs``;
    both come from the same download.
    """
    home = Path(root)
    blobs = [
        place.parent.parent / "blobs"
        for place in (home, *home.parents)
        if place.parent.name == "snapshots"
    ]
    return any(
        Path(path).is_relative_to(folder) for folder in (home, *blobs[:1])
    )


def _displayed(name: object) -> str:
    text = repr(name)
    return text if len(text) <= 80 else f"{text[:79]}…{text[-1]}"
