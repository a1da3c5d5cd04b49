"""Read JSON from untrusted files, with limits on size and depth.

orjson reads 1,024 levels but writes 254, and Python's ``repr`` and ``str``, which
messages use, fail near 1,000. The limit ensures that every value read can be shown and
written again, inside of other values.
"""

from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from json import detect_encoding
from pathlib import Path
from typing import Any

import orjson
from pydantic_core import from_json

from visualjudge.core import untrusted
from visualjudge.core.errors import DataError
from visualjudge.core.untrusted import (
    BOUNDS,
    MIB,
    Kind,
    blocks,
    read_file,
)

# A JSON object, and one that is only read.
Json = dict[str, Any]
Fields = Mapping[str, Any]
# Maximum depth of nested lists and objects.
DEEPEST_JSON = BOUNDS["json"].depth
# Bytes of a JSON file for each object and array in it; a small file may have less.
BYTES_AN_OBJECT = 24


def lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, without line ends and byte order marks.

    Raises
    ------
    DataError
        If the file cannot be read, or a line is longer than a record may be.
    """
    for line in untrusted.lines(path, "record"):
        yield line.removeprefix(BOM_UTF8).rstrip(b"\r\n")


def content(path: Path, kind: Kind) -> bytes:
    """Return the text of a JSON file.

    Raises
    ------
    DataError
        If it cannot be read, is larger than its kind may be, or a value in it is longer
        than one may be: before the memory is filled.
    """
    bound = BOUNDS["json"]
    opened = 0
    length = 0
    for mib, block in enumerate(blocks(path, kind), 1):
        opened += block.count(b"{") + block.count(b"[")
        length = 0 if b"," in block else length + len(block)
        if length > bound.line or opened > max(
            bound.items, mib * MIB // BYTES_AN_OBJECT
        ):
            raise DataError(
                f"{path}: must have at most {bound.line // MIB} MiB a value, and "
                f"{bound.items:,} objects and arrays, more if they have "
                f"{BYTES_AN_OBJECT} bytes each"
            )
    return read_file(path, kind)


def read(path: Path, kind: Kind, hint: str = "") -> Any:
    """Return the value of a JSON file; ``hint`` follows the message that it is not
    JSON.

    Raises
    ------
    DataError
        If it cannot be read, is larger than its kind may be, or is not JSON.
    """
    try:
        return loads(content(path, kind))
    except orjson.JSONDecodeError as error:
        raise DataError(f"{path}: must be JSON: {error}{hint}") from None


def loads(text: bytes | str) -> Any:
    """Return the value of a JSON text, which may begin with a byte order mark, as
    editors of Windows write it.

    Raises
    ------
    orjson.JSONDecodeError
        If it is not JSON, or is more than 200 levels deep.
    """
    raw = (
        text
        if isinstance(text, bytes)
        else text.encode("utf-8", "surrogatepass")
    ).removeprefix(BOM_UTF8)
    value = orjson.loads(raw)
    if raw.count(b"[") + raw.count(b"{") > DEEPEST_JSON and is_deep(value):
        raise orjson.JSONDecodeError(
            f"must be at most {DEEPEST_JSON} levels deep", "", 0
        )
    return value


def lenient(text: bytes | str, where: str, line: int | None = None) -> Any:
    """Return the value of a JSON text in which NaN and infinity may stand, so that a
    later check can name their field.

    Parameters
    ----------
    where, line
        The file, and the line of it that the text is, for the message.

    Raises
    ------
    DataError
        If it is not JSON, is nested too deeply, or contains a value that cannot be
        written as JSON again: an integer of more than 64 bits.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode(detect_encoding(text))
        value = from_json(text)
        orjson.dumps(value)
    except (ValueError, TypeError) as error:
        reason, _, spot = str(error)[:300].partition(" at line ")
        number = line or spot.partition(" ")[0]
        begin = text.lstrip()[:24]
        if begin[:1] not in ("[", "{", b"[", b"{"):
            reason = f"it begins with {begin!r}" if begin else "it is empty"
        elif reason.startswith("trailing characters") and line is None:
            reason += "; JSON lines must become one array"
        raise DataError(
            f"{where}{f': line {number}' if number else ''}: is not JSON: {reason}"
        ) from None
    return value


def is_deep(value: Any) -> bool:
    """Return whether a value of lists and objects has more than 200 levels."""
    for _ in range(254 - DEEPEST_JSON):  # which is what orjson writes
        value = [value]
    try:
        orjson.dumps(value, lambda _: None, orjson.OPT_NON_STR_KEYS)
    except TypeError:
        return True
    return False
