"""The door for strangers' bytes: files inside a folder, without links, within the
bounds of their kind. What the bytes mean is read in ``jsons.py``, ``yamls.py``,
``parquet.py`` and ``workbooks.py``; limits on images are in
``vision/raster/limits.py``.

A dataset, a data folder, a table or a log may come from anywhere, and names its files
by relative paths. This module alone refuses ``../``, absolute paths, drive letters,
links that lead outside, and anything that is not a regular file (a FIFO,
``/dev/zero``). Two exceptions: blobs that a Hugging Face snapshot links to, and imports
that explicitly allow outside paths.
"""

from __future__ import annotations

import os
import pickle
import re
import stat
import subprocess
import sys
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING, AnyStr, BinaryIO, Literal, TypeVar

from visualjudge.core.errors import DataError

if TYPE_CHECKING:
    from zipfile import ZipFile

Result = TypeVar("Result")
MIB = 1 << 20
# Maximum length of a stated path in characters.
LONGEST_PATH = 1024
# Bytes of a file for each line, or each object and array of JSON, in it; a small file
# may have less.
BYTES_AN_OBJECT = 32
# How a file of Windows may begin.
UTF_16 = (BOM_UTF16_LE, BOM_UTF16_BE)
# Absolute paths, drives and steps upwards, on any system.
_LEADS_OUT = re.compile(r"^[/\\]|^[A-Za-z]:|(^|[/\\])\.\.([/\\]|$)")
# Memory and CPU time of a process that reads a stranger's file; for each MiB of the
# file, 32 MiB and a second more.
MEMORY_APART = 512 * MIB
SECONDS_APART = 15


@dataclass(frozen=True, slots=True)
class Bound:
    """The bounds of a kind of input; 0 = none of its own."""

    # Bytes of a file or a body.
    size: int = 0
    # Bytes of a line, or of a value of JSON.
    line: int = 0
    # Bytes that it may hold once decompressed.
    unpacked: int = 0
    # Levels of nesting.
    depth: int = 0
    # Values, cells, pixels or rows × columns.
    items: int = 0


Kind = Literal[
    "json",
    "record",
    "description",
    "manifest",
    "yaml",
    "xml",
    "table",
    "workbook",
    "zip",
    "parquet",
    "image",
    "array",
    "model",
    "reply",
    "body",
]
BOUNDS: dict[Kind, Bound] = {
    # as deep is any JSON
    "json": Bound(4096 * MIB, line=128 * MIB, depth=200, items=1_500_000),
    "record": Bound(line=32 * MIB),  # a line of JSON
    "description": Bound(256 * MIB),  # dataset.json
    "manifest": Bound(16 * MIB),  # run.json
    "yaml": Bound(4 * MIB, depth=64, items=100_000),
    "xml": Bound(16 * MIB),
    "table": Bound(1024 * MIB, line=32 * MIB, items=1_000_000),
    "workbook": Bound(64 * MIB, unpacked=MEMORY_APART),
    "zip": Bound(1024 * MIB, unpacked=1024 * MIB),
    "parquet": Bound(64 << 30, items=20_000_000),
    "image": Bound(256 * MIB, items=120_000_000),
    "array": Bound(4096 * MIB, unpacked=4096 * MIB),
    "model": Bound(4 * MIB),
    "reply": Bound(1 * MIB),
    "body": Bound(16 * MIB, items=500_000),
}

# Whether an import may read outside the folder; None = this is no import.
_OUTSIDE: ContextVar[bool | None] = ContextVar("outside", default=None)
# Device and number of each file that was opened here, but for images: no command
# overwrites these.
READ: set[tuple[int, int]] = set()


@contextmanager
def importing(*, outside: bool) -> Iterator[None]:
    """Allow paths outside the folder within the block if ``outside`` is True; otherwise
    messages name the option that allows them.
    """
    token = _OUTSIDE.set(outside)
    try:
        yield
    finally:
        _OUTSIDE.reset(token)


@contextmanager
def decoding(path: Path, kind: Kind) -> Iterator[BinaryIO]:
    """Open a file of a user or a stranger: for a decoder, which seeks in it. Other
    modules get what is in it.

    Raises
    ------
    DataError
        As :func:`check_file` does.
    """
    with _readable(path):
        file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115
    with file:
        status = os.fstat(file.fileno())
        if kind not in ("image", "array"):
            READ.add((status.st_dev, status.st_ino))
        most = BOUNDS[kind].size
        if not stat.S_ISREG(status.st_mode):
            raise DataError(f"{path}: must be a regular file")
        if 0 < most < status.st_size:
            raise DataError(
                f"{path}: must have at most {most // MIB} MiB, got "
                f"{status.st_size / MIB:.2f} MiB"
            )
        yield file


def _without_waiting(path: str, flags: int) -> int:
    """Open what may be a pipe, which nobody writes to."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def lines(path: Path, kind: Kind, start: int = 0) -> Iterator[bytes]:
    """Yield the lines of a file with their ends, from the one that begins at byte
    ``start``; numbers in messages count from there.

    Raises
    ------
    DataError
        As :func:`check_file` does, or if a line is longer than its kind allows.
    """
    with decoding(path, kind) as file, _readable(path):
        if file.read(2) in UTF_16:
            raise DataError(f"{path}: must be UTF-8, got UTF-16")
        file.seek(start)
        yield from _bounded(path, kind, file)


def text_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a table with their ends. It is UTF-8, or UTF-16 that begins
    with a byte order mark, as Windows writes it.

    Raises
    ------
    DataError
        As :func:`lines` does, or if it has another encoding.
    """
    with decoding(path, "table") as file:
        encoding = "utf-16" if file.read(2) in UTF_16 else "utf-8-sig"
        file.seek(0)
        with TextIOWrapper(file, encoding, newline="") as text:
            try:
                yield from _bounded(path, "table", text)
            except UnicodeDecodeError as error:
                place = file.tell() - len(error.object) + error.start
                raise DataError(
                    f"{path}: must be UTF-8, got an invalid byte at {place}; save it "
                    "as UTF-8"
                ) from None


def _bounded(path: Path, kind: Kind, file: IO[AnyStr]) -> Iterator[AnyStr]:
    most = BOUNDS[kind].line or BOUNDS[kind].size
    many = BOUNDS["json"].items
    size = 0
    for number, line in enumerate(
        iter(partial(file.readline, most + 1), file.read(0)), 1
    ):
        size += len(line)
        if len(line) > most or number > max(many, size // BYTES_AN_OBJECT):
            raise DataError(
                f"{path}: line {number}: must have at most {most // MIB} MiB, and "
                f"follow {many:,} lines, more if they have {BYTES_AN_OBJECT} bytes each"
            )
        yield line


def read_file(path: Path, kind: Kind, start: int = 0, size: int = -1) -> bytes:
    """Return the bytes of a file of a user or a stranger, or ``size`` of them.

    Raises
    ------
    DataError
        As :func:`check_file` does.
    """
    with decoding(path, kind) as file, _readable(path):
        file.seek(start)
        return file.read(size)


def blocks(path: Path, kind: Kind) -> Iterator[bytes]:
    """Yield the bytes of a file, 1 MiB at a time.

    Raises
    ------
    DataError
        As :func:`check_file` does.
    """
    with decoding(path, kind) as file, _readable(path):
        yield from iter(lambda: file.read(MIB), b"")


def check_file(path: Path, kind: Kind) -> None:
    """Check that a file can be read within the bound of its kind.

    Raises
    ------
    DataError
        If there is no such file, it is not a regular file, or it is larger.
    """
    with decoding(path, kind):
        pass


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
        with decoding(path, kind) as file:
            # zipfile makes half a kilobyte of each entry before it can be asked
            if (zipfile._EndRecData(file) or [0] * 6)[5] > 16 * MIB:  # type: ignore[attr-defined]
                raise DataError(
                    f"{path}: must list its files in at most 16 MiB"
                )
            with zipfile.ZipFile(file) as zipped:
                size = sum(member.file_size for member in zipped.infolist())
                if size > BOUNDS[kind].unpacked:
                    raise DataError(
                        f"{path}: must have at most {BOUNDS[kind].unpacked // MIB} MiB "
                        f"unpacked, got {size // MIB} MiB"
                    )
                yield zipped  # type: ignore[misc, unused-ignore]
    except DataError:
        raise
    except Exception as error:  # each decoder of a member has its own
        # NotImplementedError: an unknown compression.
        raise DataError(
            f"{path}: cannot be unpacked: {error}"
            + (
                "; for Zstandard run: pip install 'visualjudge[logs]'"
                if isinstance(error, NotImplementedError)
                else "; is it damaged, or another kind of file?"
            )
        ) from None


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
    # No process of multiprocessing, which would run the user's script again.
    done = subprocess.run(
        [
            sys.executable,
            "-P",
            "-c",
            f"from {__name__} import answer; answer()",
        ],
        input=pickle.dumps((memory, seconds, function, path)),
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "POLARS_MAX_THREADS": "2",
        },
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
    # imports its modules first
    memory, seconds, function, path = pickle.load(sys.stdin.buffer)
    with suppress(ImportError):  # Windows has no such limits
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    try:
        result = function(path)
    except DataError as error:
        result = error
    pickle.dump(result, sys.stdout.buffer)


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
    outside = bool(_OUTSIDE.get())
    path = Path(root, stated_path(name, of=of, outside=outside))
    if not outside and not _is_at_home(
        os.path.realpath(path), os.path.realpath(root)
    ):
        raise DataError(
            f"{name!r:.80} leads out of {of} through a link; files must be "
            f"inside{_hint()}"
        )
    if not os.path.isfile(path):  # noqa: PTH113 - nor one that is out of reach
        raise DataError(f"there is no file {name!r:.80} in {of}")
    return path


def stated_path(
    name: object, *, of: str = "the dataset", outside: bool = False
) -> str:
    """Return ``name`` if it is a relative path that stays in its folder, or may lead
    ``outside``. Only the text is checked, not the disk.

    Raises
    ------
    DataError
        If it is not such a path.
    """
    text = name if isinstance(name, str) else ""
    if (
        not 0 < len(text) <= LONGEST_PATH
        or not text.isprintable()
        or (_LEADS_OUT.search(text) and not outside)
    ):
        raise DataError(
            f"{name!r:.80} leads out of {of}, or is no path; it must be relative, "
            f"without '..', of at most {LONGEST_PATH} printable characters{_hint()}"
        )
    return text


def _hint() -> str:
    return "" if _OUTSIDE.get() is None else "; `allow_outside` permits it"


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
    inside = stated_path(name, of=of)
    path = Path(root, inside)
    if Path(os.path.realpath(path)) != Path(os.path.realpath(root), inside):
        raise DataError(
            f"{path}: no part of {inside} may be a link; links are not followed in "
            f"{of}; put the file itself there"
        )
    if os.path.lexists(path) and not path.is_file():
        raise DataError(f"{path}: must be a regular file")
    return path


def _is_at_home(path: str, root: str) -> bool:
    """Return whether a resolved path is inside a resolved folder, or is a blob of the
    Hugging Face snapshot in that folder.

    The hub's cache has ``REPO/snapshots/REVISION/…`` with links into ``REPO/blobs``;
    both come from the same download.
    """
    repository, snapshot, _ = root.rpartition("/snapshots/")
    return any(
        Path(path).is_relative_to(folder)
        for folder in (root, f"{repository}/blobs" if snapshot else root)
    )
