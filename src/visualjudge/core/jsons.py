"""Read JSON from untrusted files, with limits on size and depth.

orjson reads 1,024 levels but writes 254, and Python's ``repr`` and ``str``, which
messages use, fail near 1,000. The limit ensures that every value read can be shown and
written again.
"""

from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from contextlib import suppress
from json import detect_encoding
from pathlib import Path
from typing import Any

import orjson
from pydantic_core import from_json

from visualjudge.core import untrusted
from visualjudge.core.errors import DataError
from visualjudge.core.untrusted import BOUNDS, Kind, read_file

# A JSON object, and one that is only read.
Json = dict[str, Any]
Fields = Mapping[str, Any]
# Maximum depth of nested lists and objects.
DEEPEST_JSON = BOUNDS["json"].depth
# Maximum size of a record, or of a line with one, in bytes.
LONGEST_RECORD = BOUNDS["record"].line
_CONTAINERS = frozenset({list, dict, tuple})


def lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, without line ends and byte order mark.

    Raises
    ------
    DataError
        If the file cannot be read, or a line is longer than a record may be.
    """
    for number, line in enumerate(untrusted.lines(path, "record")):
        own = line if number else line.removeprefix(BOM_UTF8)
        yield own.rstrip(b"\r\n")


def read(path: Path, kind: Kind, hint: str = "") -> Any:
    """Return the value of a JSON file; ``hint`` follows the message that it is not
    JSON.

    Raises
    ------
    DataError
        If it cannot be read, is larger than its kind may be, or is not JSON.
    """
    try:
        return loads(read_file(path, kind))
    except orjson.JSONDecodeError as error:
        raise DataError(f"{path}: must be JSON: {error}{hint}") from None


def loads(text: bytes | str) -> Any:
    """Return the value of a JSON text.

    Raises
    ------
    orjson.JSONDecodeError
        If it is not JSON, or is more than 200 levels deep.
    """
    value = orjson.loads(text)
    opening = (
        text.count(b"[") + text.count(b"{")
        if isinstance(text, bytes)
        else text.count("[") + text.count("{")
    )
    if opening > DEEPEST_JSON and is_deep(value):
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
    with suppress(orjson.JSONDecodeError):
        return loads(text)
    try:
        if isinstance(text, bytes):
            text = text.decode(detect_encoding(text))
        value = from_json(text)
        orjson.dumps(value)
    except (ValueError, TypeError) as error:
        reason, _, spot = str(error)[:300].partition(" at line ")
        number = line or spot.partition(" ")[0]
        place = f"{where}: line {number}" if number else where
        if reason.startswith("trailing characters") and line is None:
            reason += "; JSON lines must become one array"
        raise DataError(f"{place}: is not JSON: {reason}") from None
    return value


def is_deep(value: Any) -> bool:
    """Return whether a value of lists and objects has more than 200 levels. Each object
    is visited once.
    """
    level = [value] if type(value) in _CONTAINERS else []
    for _ in range(DEEPEST_JSON):
        inner = {
            id(item): item
            for outer in level
            for item in (outer.values() if type(outer) is dict else outer)
            if type(item) in _CONTAINERS
        }
        level = list(inner.values())
        if not level:
            return False
    return True
