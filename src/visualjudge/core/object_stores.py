"""Read folders of an object store (``s3://bucket/folder``, ``gs://…``) in place, with fsspec (extra
``remote``).

A remote path has those methods of ``pathlib.Path`` that dataset readers call, so most readers do
not need to know that it is remote. :func:`put` uploads whole files and :func:`fetch` downloads
them. Credentials, region and endpoint come from the store's own environment variables
(``AWS_ACCESS_KEY_ID``, ``AWS_ENDPOINT_URL``, ``GOOGLE_APPLICATION_CREDENTIALS``, …) and
configuration files, never from a path.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Literal, NamedTuple, TypeVar, cast

from visualjudge.core.errors import DataError, RunError, UsageError

_URL = re.compile(r"(s3|gs):/{1,2}(?=[^/])(.*)", re.DOTALL)
"""A URL, also one whose slashes ``pathlib`` has merged."""
_PACKAGES = {"s3": "s3fs", "gs": "gcsfs"}
_BLOCK = 1 << 20
_LONGEST_REASON = 200
_SECRETS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID")
Result = TypeVar("Result")


class RemoteStat(NamedTuple):
    """Size in bytes and modification time; the other fields are those of a regular file."""

    st_size: int
    st_mtime_ns: int
    st_ctime: float
    st_mode: int = stat.S_IFREG
    st_ino: int = 0


def located(path: str | Path) -> Path:
    """Return ``path``, or a :class:`RemotePath` if it is a URL of an object store.

    Raises
    ------
    UsageError
        If the extra ``remote`` is not installed, or the URL holds credentials.
    """
    if (known := far(path)) is not None:
        return cast(Path, known)
    found = _URL.fullmatch(os.fspath(path))
    if found is None:
        return path if isinstance(path, Path) else Path(path)
    scheme, rest = found.groups()
    if "@" in rest.split("/", 1)[0]:
        raise UsageError(
            f"a {scheme}:// address must not hold credentials; use the environment variables of "
            "the store"
        )
    _store(scheme)
    return cast(Path, RemotePath(f"{scheme}:/{rest}"))


def check_local(path: str | Path, what: str) -> None:
    """Raise an error for an object store if a local folder is needed.

    Parameters
    ----------
    what
        Description of the folder, for the message.

    Raises
    ------
    UsageError
        If ``path`` is the URL of an object store.
    """
    if far(path) is not None or _URL.fullmatch(os.fspath(path)):
        raise UsageError(
            f"{what} must be a local folder, got an address of an object store; copy it with its "
            "own tool"
        )


class RemotePath(PurePosixPath):
    """A file or folder of an object store. Listings are cached, so the contents must not change
    meanwhile.
    """

    __slots__ = ()

    @property
    def url(self) -> str:
        """The URL, with its scheme."""
        text = PurePosixPath.__str__(self)
        # Parts of it are relative paths.
        return text.replace(":/", "://", 1) if _URL.match(text) else text

    def __str__(self) -> str:
        return self.url

    def resolve(self) -> RemotePath:
        """Return the path itself, as there are no links."""
        return self

    def _at(self) -> tuple[str, str]:
        scheme, _, key = self.url.partition("://")
        return scheme, key

    def _asked(self, ask: Callable[[Any, str], Result]) -> Result:
        scheme, key = self._at()
        try:
            return ask(_store(scheme), key)
        except FileNotFoundError:
            raise FileNotFoundError(2, "No such file", self.url) from None
        except Exception as error:  # each store raises its own errors
            raise _unread(self, error) from None

    def stat(self) -> RemoteStat:
        """Return size and time from the folder's listing.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        DataError
            If the store cannot be read.
        """
        found = _listed(self.parent).get(self.name)
        if found is None:
            raise FileNotFoundError(2, "No such file", self.url)
        return found

    def is_file(self) -> bool:
        """Return whether the file exists."""
        return self.name in _listed(self.parent)

    exists = is_file

    def open(self, mode: Literal["rb"] = "rb") -> BinaryIO:
        """Open the file, which is read in blocks of 1 MiB on demand."""
        return cast(
            BinaryIO, self._asked(lambda store, key: store.open(key, mode, block_size=_BLOCK))
        )

    def read_bytes(self) -> bytes:
        """Return the whole file."""
        return self._asked(lambda store, key: bytes(store.cat_file(key)))

    def read_part(self, start: int, size: int) -> bytes:
        """Return ``size`` bytes from ``start``, in one request."""
        return (
            self._asked(
                lambda store, key: bytes(store.cat_file(key, start=start, end=start + size))
            )
            if size
            else b""
        )

    @staticmethod
    def read_parts(parts: Sequence[tuple[RemotePath, int, int | None]]) -> list[bytes | DataError]:
        """Return the bytes of each (file, start, size) of one store, using several requests at a
        time.

        A size of None reads to the end. Parts that cannot be read are returned as exceptions.
        """
        if not parts:
            return []
        keys, starts = [path._at()[1] for path, _, _ in parts], [start for _, start, _ in parts]
        ends = [None if size is None else start + size for _, start, size in parts]
        found = parts[0][0]._asked(
            lambda store, _: store.cat_ranges(keys, starts, ends, on_error="return")
        )
        return [
            _unread(path, some) if isinstance(some, Exception) else bytes(some)
            for (path, _, _), some in zip(parts, found, strict=True)
        ]

    def rglob(self, pattern: Literal["*"]) -> Iterator[RemotePath]:
        """Yield all files below; nothing if the folder does not exist."""
        scheme, _ = self._at()
        with suppress(FileNotFoundError):
            for key in self._asked(lambda store, key: store.find(key)):
                yield RemotePath(f"{scheme}:/{key}")


def _unread(path: RemotePath, error: Exception) -> DataError:
    return DataError(f"{path.url}: cannot be read: {_reason(error)}")


def put(files: Sequence[tuple[Path, RemotePath]]) -> None:
    """Upload local files to a store, several at a time.

    Raises
    ------
    RunError
        If the store rejects a file.
    """
    if files:
        local, there = [str(path) for path, _ in files], [target._at()[1] for _, target in files]
        _changed(files[0][1], lambda store: store.put(local, there))


def fetch(files: Sequence[tuple[RemotePath, Path]]) -> None:
    """Download files of a store, several at a time.

    Raises
    ------
    DataError
        If a file cannot be read.
    """
    for _, target in files:
        target.parent.mkdir(parents=True, exist_ok=True)
    if files:
        there, local = [path._at()[1] for path, _ in files], [str(target) for _, target in files]
        files[0][0]._asked(lambda store, _: store.get(there, local))


def remove(files: Sequence[RemotePath]) -> None:
    """Remove files from a store.

    Raises
    ------
    RunError
        If a file cannot be removed.
    """
    if files:
        _changed(files[0], lambda store: store.rm([path._at()[1] for path in files]))


def _changed(first: RemotePath, change: Callable[[Any], object]) -> None:
    try:
        change(_store(first._at()[0]))
    except Exception as error:  # each store raises its own errors
        raise RunError(f"{first.parent}: cannot be written: {_reason(error)}") from None
    finally:
        _listed.cache_clear()


def far(path: object) -> RemotePath | None:
    """Return ``path`` if it is in an object store, else None."""
    return path if isinstance(path, RemotePath) else None


@lru_cache(maxsize=16)
def _listed(folder: RemotePath) -> dict[str, RemoteStat]:
    """Return the files directly in a folder, by name."""
    try:
        found = folder._asked(lambda store, key: store.ls(key, detail=True))
    except FileNotFoundError:
        return {}
    files = (row for row in found if row["type"] == "file")
    return {PurePosixPath(row["name"]).name: _stat(row) for row in files}


def _stat(row: dict[str, Any]) -> RemoteStat:
    written = row.get("LastModified") or row.get("mtime")
    seconds = written.timestamp() if isinstance(written, datetime) else 0.0
    return RemoteStat(int(row["size"]), int(seconds * 1e9), seconds)


def _store(scheme: str) -> Any:
    try:
        import fsspec

        return fsspec.filesystem(scheme)
    except ImportError:
        package = _PACKAGES[scheme]
        raise UsageError(
            f"{scheme}:// needs {package}: pip install 'visualjudge[remote]' {package}"
        ) from None


def _reason(error: Exception) -> str:
    """Return the type of the error and its first line, without secrets from the environment."""
    text = " ".join(str(error).split("\n", 1)[0].split())
    for secret in filter(None, map(os.environ.get, _SECRETS)):
        text = text.replace(secret, "…")
    return f"{type(error).__name__}: {text[:_LONGEST_REASON]}"
