"""Checksums of files. A dataset's checksums are checked in ``dataset/validate.py``."""

import hashlib
from typing import Any


def file_sha256(file: Any) -> str:
    """Return the SHA-256 of a file as 64 hexadecimal digits, reading it in parts.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
