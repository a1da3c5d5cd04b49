"""Checksums of files."""

from __future__ import annotations

import hashlib
from typing import Any, Protocol


class Openable(Protocol):
    """A file by its path, or an image inside a shard."""

    def open(self, mode: Any, /) -> Any:
        """Its bytes as a file."""
        ...


def file_sha256(file: Openable) -> str:
    """SHA-256 of the bytes of a file, as 64 hexadecimal digits; the file is read in parts.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
