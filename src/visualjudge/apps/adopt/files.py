"""Tables, JSON and workbooks of strangers, and data frames of other libraries."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

import polars as pl

from visualjudge.apps.adopt.items import ImageSource
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.tables import table_parts
from visualjudge.core.untrusted import Kind, apart, archive, check_file, confined_path, open_file
from visualjudge.core.workbooks import workbook_rows
from visualjudge.formats.sample import read_json, read_table

COLUMNS = 4096
ROWS_AT_ONCE = 100_000
MOST_TEXT, MOST_RATIO = 256 << 20, 64
"""Most bytes of the texts of a table: these, or so many times those of its file."""
ZSTANDARD = 93
KINDS: Mapping[str, Kind] = {
    **dict.fromkeys((".csv", ".tsv", ".jsonl"), "table"),
    ".json": "json",
    ".parquet": "parquet",
    ".arrow": "parquet",
    ".xlsx": "workbook",
    ".eval": "zip",
}
"""Files by their suffix, as the kinds of input that have a bound."""
TABLES = tuple(suffix for suffix in KINDS if suffix != ".eval")


def frame_of(table: Any) -> pl.DataFrame:
    """Convert a polars or pandas data frame, a mapping of columns, or a list of dictionaries to a
    polars data frame; empty texts are missing.
    """
    if hasattr(table, "to_dict") and not isinstance(table, pl.DataFrame):  # pandas, not imported
        table = {str(column): table[column].tolist() for column in table.columns}
    if not isinstance(table, pl.DataFrame | Mapping):
        table = [dict(row) for row in table]
        if table and len(table[0]) > COLUMNS:
            raise DataError(f"a table must have at most {COLUMNS} columns, got {len(table[0])}")
    frame = pl.DataFrame(table, strict=False, infer_schema_length=None)
    return frame.with_columns(pl.col(pl.String).replace("", None))


def contents(path: Path) -> Any:
    """Return the value of a JSON file, the rows of a table, a data frame of Parquet and Arrow,
    and None for an archive; cells of CSV and TSV are text.

    Raises
    ------
    UsageError
        If it has another extension.
    DataError
        If it cannot be read, or is larger than its kind may be.
    """
    suffix = path.suffix.lower()
    if suffix not in KINDS:
        raise UsageError(f"{path}: must end in {', '.join(KINDS)}")
    check_file(path, KINDS[suffix])
    if suffix in (".parquet", ".arrow"):
        apart(_check_text, path, "parquet")
        return pl.concat(table_parts(path, ROWS_AT_ONCE))
    if suffix == ".xlsx":
        return [row for row in workbook_rows(path) if row]
    if suffix == ".eval":
        return None
    return read_json(path) if suffix == ".json" else read_table(path)


def _check_text(path: Path) -> None:
    """Read a table once, and refuse it if its texts would fill the memory."""
    left = most = max(MOST_TEXT, MOST_RATIO * path.stat().st_size)
    for part in table_parts(path, ROWS_AT_ONCE):
        words = pl.col(pl.String, pl.Categorical).cast(pl.String)
        texts = part.select(words.str.len_bytes().cast(pl.Int64).sum())
        left -= int(sum(texts.row(0))) if texts.width else 0
        if left < 0:
            raise DataError(f"{path}: must have at most {most >> 20} MiB of text")


class Row(dict[str, Any]):
    """A record, with its file and its position there, from 1."""

    __slots__ = ("number", "path")

    def __init__(self, values: Any, path: Path, number: int) -> None:
        if not isinstance(values, dict):
            raise DataError(f"{path}: record {number}: must be an object")
        super().__init__(values)
        self.path, self.number = path, number

    def fault(self, name: str, reason: str) -> DataError:
        """Return an error that says what is wrong with a field."""
        return DataError(f"{self.path}: record {self.number}: {name}: {reason}")

    def need(self, name: str) -> Any:
        """Return a field; raise an error if the record lacks it."""
        if self.get(name) is None:
            raise self.fault(name, "is missing")
        return self[name]

    def one_of(self, name: str, known: Mapping[str, str]) -> str:
        """Return the meaning of a field; raise an error if it is none of the ``known`` values."""
        value = self.need(name)
        if not isinstance(value, str) or value not in known:
            raise self.fault(name, f"must be one of {', '.join(known)}, got {value!r}")
        return known[value]


def records(path: Path) -> list[Row]:
    """Return the rows of a table; raise an error if the file cannot be read or holds others."""
    values = contents(path)
    values = values.to_dicts() if isinstance(values, pl.DataFrame) else values
    if not isinstance(values, list):
        raise DataError(f"{path}: must hold an array of objects")
    return [Row(value, path, number) for number, value in enumerate(values, 1)]


def at(value: Any, *paths: str) -> Any:
    """Return the first value at one of the ``paths``, or None. A path is a name, or names and list
    indices joined by dots.

    Examples
    --------
    >>> at({"run": {"ids": [7]}, "b": 1}, "run.id", "run.ids.0"), at({"a.b": 1}, "a.b")
    (7, 1)
    """
    for path in paths:
        inner = value
        for step in (path,) if isinstance(value, dict) and path in value else path.split("."):
            if isinstance(inner, list):
                inner = inner[int(step)] if step.isdigit() and int(step) < len(inner) else None
            else:
                inner = inner.get(step) if isinstance(inner, dict) else None
        if inner is not None:
            return inner
    return None


def members(path: Path, form: re.Pattern[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each member of a zip file whose name matches ``form``.

    Raises
    ------
    DataError
        If it is no zip file, or its members cannot be unpacked.
    UsageError
        If one is compressed with Zstandard, which needs Python 3.14 or the extra ``logs``.
    """
    with archive(path, "zip") as zipped:
        for member in zipped.infolist():
            if form.fullmatch(member.filename):
                yield member.filename, _content(zipped, member, path)


def _content(zipped: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> bytes:
    if member.compress_type != ZSTANDARD:
        return zipped.read(member)
    try:
        import zstandard
    except ImportError:
        raise UsageError(
            f"{path}: is compressed with Zstandard; run: pip install 'visualjudge[logs]'"
        ) from None
    with open_file(path, "zip") as file:
        file.seek(member.header_offset)
        head = file.read(30)  # of the local header, whose name and extra field precede the content
        lengths = (int.from_bytes(head[start : start + 2], "little") for start in (26, 28))
        file.seek(sum(lengths), 1)
        packed = file.read(member.compress_size)
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as stream:
            content: bytes = stream.read(member.file_size + 1)
    except zstandard.ZstdError as error:
        raise DataError(f"{path}: {member.filename}: cannot be unpacked: {error}") from None
    if len(content) != member.file_size:
        size = f"must have {member.file_size} bytes unpacked, got {len(content)}"
        raise DataError(f"{path}: {member.filename}: {size}")
    return content


def first_tables(homes: Iterable[Path], *patterns: str) -> list[Path]:
    """Return the tables that match the first pattern with any match, in the first such folder; a
    pattern that ends in ".*" matches a table in any format.
    """
    for home in homes:
        for pattern in patterns:
            if paths := sorted(path for path in home.glob(pattern) if path.suffix in TABLES):
                return paths
    return []


class Images:
    """Images of rows: bytes as they are, names as files below ``homes``. ``missing`` counts the
    images not there.
    """

    def __init__(self, *homes: Path) -> None:
        self.homes = homes
        self.missing = 0

    def all(self, *values: Any) -> tuple[ImageSource, ...]:
        """Return the images that fields contain (``bytes``, or the ``{"bytes", "path"}`` of the
        datasets library) or name, in order, without those that are missing.
        """
        images = []
        for value in values:
            inner = (value.get("bytes") or value.get("path")) if isinstance(value, dict) else value
            image = inner if isinstance(inner, bytes) else file_in(self.homes, inner)
            self.missing += image is None
            images += [] if image is None else [image]
        return tuple(images)


def file_in(homes: Iterable[Path], name: Any) -> Path | None:
    """Return the first file of this name in one of these folders; of an address, the end
    of its path may be there.
    """
    for home in homes:
        for end in _ends(str(name)):
            try:
                return confined_path(home, end, of="the copy")
            except DataError:
                continue
    return None


def _ends(name: str) -> list[str]:
    parts = PurePosixPath(unquote(urlsplit(name).path)).parts if "://" in name else ()
    return ["/".join(parts[k:]) for k in range(1, len(parts))] or [name]


def name_of(image: Any, key: str) -> str:
    """Return the path in a field with an image, or ``key`` if it contains only pixels."""
    name = image.get("path") if isinstance(image, dict) else image
    return name if isinstance(name, str) and name else key
