"""Read members of zip files, including Zstandard, which Python supports from version 3.14."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from visualjudge.core.errors import DataError, UsageError

LARGEST = 256 << 20
"""Maximum size of an unpacked member in bytes."""
ZSTANDARD = 93
_LOCAL_HEADER = 30


def members(path: Path, form: re.Pattern[str], *names: str) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each member whose name is in ``names`` or matches ``form``.

    Raises
    ------
    DataError
        If one is larger than 256 MiB, or cannot be unpacked.
    UsageError
        If one is compressed with Zstandard, which needs Python 3.14 or the extra ``logs``.
    zipfile.BadZipFile
        If the file is not a zip file.
    """
    with zipfile.ZipFile(path) as archive, path.open("rb") as file:
        for member in archive.infolist():
            if member.filename not in names and not form.fullmatch(member.filename):
                continue
            if member.file_size > LARGEST:
                raise DataError(f"{path}: {member.filename}: must have at most {LARGEST >> 20} MiB")
            try:
                yield member.filename, archive.read(member)
            except NotImplementedError:
                if member.compress_type != ZSTANDARD:
                    raise DataError(
                        f"{path}: {member.filename}: uses an unsupported compression"
                    ) from None
                file.seek(member.header_offset)
                head = file.read(_LOCAL_HEADER)
                lengths = (int.from_bytes(head[at : at + 2], "little") for at in (26, 28))
                file.seek(sum(lengths), 1)
                packed = file.read(member.compress_size)
                yield member.filename, _unpacked(packed, member.file_size, path, member.filename)


def _unpacked(packed: bytes, size: int, path: Path, name: str) -> bytes:
    try:
        import zstandard
    except ImportError:
        raise UsageError(
            f"{path}: is compressed with Zstandard; run: pip install 'visualjudge[logs]'"
        ) from None
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as stream:
            content: bytes = stream.read(size + 1)
    except zstandard.ZstdError as error:
        raise DataError(f"{path}: {name}: cannot be unpacked: {error}") from None
    if len(content) != size:
        raise DataError(f"{path}: {name}: must have {size} bytes unpacked, got {len(content)}")
    return content
