"""Read JSON from untrusted files, with limits on size and depth. YAML is read in
``yamls.py``, Parquet in ``parquet.py``; all files are opened by ``untrusted.py``.

orjson reads 1,024 levels but writes 254, and Python's ``repr`` and ``str``, which
messages use, fail near 1,000. The limit ensures that every value read can be shown and
written again, inside of other values.
"""

import re
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
    BYTES_AN_OBJECT,
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
# A number that may be larger than a float: jiter reads it as infinity.
_LARGE = re.compile(rb"[eE]\+?\d{3}|\d{300}")
_OPENING = b"{["
_TOO_MANY = (
    f"{BOUNDS['json'].items:,} objects and arrays, more if they have "
    f"{BYTES_AN_OBJECT} bytes each"
)


def lines(path: Path) -> Iterator[bytes]:
    """Return the lines of a file, without line ends and byte order marks.

    Raises
    ------
    DataError
        If the file cannot be read, or a line is longer than a record may be.
    """
    return (
        line.removeprefix(BOM_UTF8).rstrip(b"\r\n")
        for line in untrusted.lines(path, "record")
    )


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
        opened += sum(map(block.count, _OPENING))
        length = 0 if b"," in block else length + len(block)
        if length > bound.line or opened > _most_opened(mib * MIB):
            raise DataError(
                f"{path}: must have at most {bound.line // MIB} MiB a value, and "
                f"{_TOO_MANY}"
            )
    return read_file(path, kind)


def _most_opened(size: int) -> int:
    """Return how many objects and arrays, which take far more memory than their bytes,
    may be in ``size`` bytes."""
    return max(BOUNDS["json"].items, size // BYTES_AN_OBJECT)


def read(path: Path, kind: Kind, hint: str = "") -> Any:
    """Return the value of a JSON file, in which no NaN or infinity may stand; ``hint``
    follows the message that it is not JSON.

    Raises
    ------
    DataError
        If it cannot be read, is larger than its kind may be, or is not JSON.
    """
    return lenient(content(path, kind), str(path), nan=False, hint=hint)


def loads(text: bytes | str) -> Any:
    """Return the value of a JSON text, which may begin with a byte order mark, as
    editors of Windows write it.

    Raises
    ------
    ValueError
        If it is not JSON, is more than 200 levels deep, or has more objects and arrays
        than a file.
    """
    raw = (
        text
        if isinstance(text, bytes)
        else text.encode("utf-8", "surrogatepass")
    ).removeprefix(BOM_UTF8)
    opened = sum(map(raw.count, _OPENING))
    if opened > _most_opened(len(raw)):
        raise ValueError(f"must have at most {_TOO_MANY}")
    value = orjson.loads(raw)
    if opened > DEEPEST_JSON:
        check(value)
    return value


def lenient(
    text: bytes | str,
    where: str,
    line: int | None = None,
    *,
    nan: bool = True,
    hint: str = "",
) -> Any:
    """Return the value of a JSON text in which NaN and infinity may stand, so that a
    later check can name their field. It takes less memory than :func:`loads`.

    Parameters
    ----------
    where, line
        The file, and the line of it that the text is, for the message.
    nan
        Whether NaN and infinity may stand in it.
    hint
        End of the message.

    Raises
    ------
    DataError
        If it is not JSON, is nested too deeply, or contains a value that cannot be
        written as JSON again: an integer of more than 64 bits.
    """
    try:
        # A copy of a large file is needed only if it has another encoding.
        if isinstance(text, bytes) and detect_encoding(text) != "utf-8":
            text = text.decode(detect_encoding(text)).encode()
        if not nan and isinstance(text, bytes) and _LARGE.search(text):
            orjson.loads(text)
        value = from_json(text, allow_inf_nan=nan)
        check(value)
    except ValueError as error:
        reason, _, spot = str(error)[:300].partition(" at line ")
        number = line or spot.partition(" ")[0]
        begin = text[:99].lstrip()[:24]
        if begin[:1] not in ("[", "{", b"[", b"{"):
            reason = (
                dict.fromkeys(("", b""), "it is empty")
                | dict.fromkeys(("PK", b"PK"), "it is a ZIP archive; unpack it")
            ).get(begin[:2], f"it begins with {repr(begin).removeprefix('b')}")
        elif reason.startswith("trailing characters") and line is None:
            reason += "; JSON lines must become one array"
        raise DataError(
            f"{where}{f': line {number}' if number else ''}: is not JSON: "
            f"{reason}{hint}"
        ) from None
    return value


def check(value: Any) -> None:
    """Check that a value can be shown and written, inside of other values.

    Raises
    ------
    ValueError
        If it is more than 200 levels deep, or holds an integer of more than 64 bits.
    """
    for _ in range(254 - DEEPEST_JSON):  # which is what orjson writes
        value = [value]
    try:
        orjson.dumps(value, lambda _: None, orjson.OPT_NON_STR_KEYS)
    except TypeError:
        raise ValueError(
            f"must be at most {DEEPEST_JSON} levels deep, with integers of at most 64 "
            "bits"
        ) from None
