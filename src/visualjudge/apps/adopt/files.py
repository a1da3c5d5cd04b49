"""Tables, JSON and workbooks of strangers, and data frames of other libraries."""

from __future__ import annotations

import csv
import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from visualjudge.apps.adopt.items import ImageSource
from visualjudge.core import jsons
from visualjudge.core.confined_paths import confined_path
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.tables import table_parts
from visualjudge.formats.sample import check_separated, read_json, read_text

LARGEST = 1 << 30
"""Most bytes of a file, and of the members of an archive together."""
COLUMNS = 4096
ROWS_AT_ONCE = 1000
ZSTANDARD = 93
_LOCAL_HEADER = 30
LINES = (".jsonl", ".ndjson")
TABLES = (".csv", ".tsv", ".json", *LINES, ".parquet", ".arrow", ".xlsx")


def frame_of(table: Any) -> pl.DataFrame:
    """Convert a polars or pandas data frame, a mapping of columns, or a list of dictionaries to a
    polars data frame.
    """
    if isinstance(table, pl.DataFrame):
        return table
    if isinstance(table, Mapping):
        return pl.DataFrame(table, strict=False)
    if hasattr(table, "to_dict") and hasattr(table, "columns"):  # pandas, without importing it
        columns = {str(column): table[column].tolist() for column in table.columns}
        return pl.DataFrame(columns, strict=False)
    return pl.DataFrame(list(table), infer_schema_length=None, strict=False)


def contents(path: Path) -> Any:
    """Return the value of a JSON or JSONL file, any other table as a data frame, and None for an
    archive; cells of CSV and TSV are text.

    Raises
    ------
    UsageError
        If it has another extension.
    DataError
        If it cannot be read.
    """
    kind = check_file(path)
    if kind == ".eval":
        return None
    if kind not in TABLES:
        raise UsageError(f"{path}: must end in {', '.join(TABLES)} or .eval")
    if kind in (".csv", ".tsv"):
        return _separated(path, kind)
    if kind == ".json" or kind in LINES:
        return document(path)
    try:
        if kind == ".xlsx":
            return pl.read_excel(path, engine="openpyxl")
        return pl.concat(table_parts(path, ROWS_AT_ONCE))
    except Exception as error:  # whatever a library says of a stranger's bytes
        raise DataError(f"{path}: cannot be read: {' '.join(str(error).split())[:300]}") from None


def table_of(path: Path, content: Any) -> pl.DataFrame:
    """Return the contents of a file as a table."""
    if isinstance(content, pl.DataFrame):
        return content
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        raise DataError(f"{path}: must hold an array of objects")
    if content and len(content[0]) > COLUMNS:
        raise DataError(f"{path}: must have at most {COLUMNS} columns, got {len(content[0])}")
    return frame_of(content)


def check_file(path: Path) -> str:
    """Check that ``path`` is a file of at most 1 GiB, and return its suffix in lower case."""
    try:
        size = path.stat().st_size
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    if size > LARGEST:
        raise DataError(f"{path}: must have at most {LARGEST >> 20} MiB, got {size >> 20}")
    return path.suffix.lower()


def _separated(path: Path, kind: str) -> pl.DataFrame:
    """Parse a table whose cells are separated as its extension says, unless the header has only
    another separator.
    """
    text = read_text(path)
    header = text.partition("\n")[0]
    usual = "\t" if kind == ".tsv" else ","
    other = [sign for sign in ("\t", ";", ",") if sign in header]
    separator = usual if usual in header or not other else other[0]
    try:
        names, *rows = csv.reader(StringIO(text, newline=""), delimiter=separator, strict=True)
    except ValueError:
        raise DataError(f"{path}: has no header") from None
    except csv.Error as error:
        raise DataError(f"{path}: is not a table: {error}") from None
    check_separated(path, names)
    width = len(names)
    if width > COLUMNS:
        raise DataError(f"{path}: must have at most {COLUMNS} columns, got {width}")
    for number, row in enumerate(rows, 2):
        if len(row) != width and any(row):
            raise DataError(
                f"{path}: row {number}: must have {width} cells, got {len(row)}; quote cells "
                "that hold the separator"
            )
    names = [
        name if name not in names[:k] else f"{name}_duplicated_{k}" for k, name in enumerate(names)
    ]
    cells = [[cell or None for cell in row] for row in rows if any(row)]
    return pl.DataFrame(cells, schema=dict.fromkeys(names, pl.String), orient="row")


# ---------------------------------------------------------------- JSON


def parsed(text: bytes, where: str) -> Any:
    """Parse JSON at most 100 levels deep; NaN and Infinity are accepted, as in Python.

    Raises
    ------
    DataError
        If it is not JSON; the message begins with ``where``.
    """
    try:
        return jsons.loads(text)
    except orjson.JSONDecodeError as error:
        reason = error.msg
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise DataError(f"{where}: is not JSON: {reason}") from None
    if jsons.is_deep(value):
        raise DataError(f"{where}: must be at most {jsons.DEEPEST_JSON} levels deep")
    return value


def document(path: Path) -> Any:
    """Return the value of a JSON file, or the values of the lines of a JSONL file."""
    if check_file(path) not in LINES:
        return read_json(path)
    lines = enumerate(jsons.lines(path), 1)
    return [parsed(line, f"{path}: line {number}") for number, line in lines if line.strip()]


class Row(dict[str, Any]):
    """A record, with its file and its position there, from 1.

    Raises
    ------
    DataError
        If ``values`` is not an object.
    """

    __slots__ = ("number", "path")

    def __init__(self, values: Any, path: Path, number: int) -> None:
        if not isinstance(values, dict):
            raise DataError(f"{path}: record {number}: must be an object")
        super().__init__(values)
        self.path = path
        self.number = number

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
    """Return the rows of a table: a JSON array of objects, JSON lines, CSV or TSV with a header,
    Parquet, Arrow, or the first sheet of a workbook.

    Raises
    ------
    DataError
        If the file cannot be read, or a record is not an object.
    """
    kind = check_file(path)
    values: Iterable[Any]
    if kind in (".parquet", ".arrow"):
        parts = table_parts(path, ROWS_AT_ONCE)
        values = (row for part in parts for row in part.iter_rows(named=True))
    elif kind == ".json" or kind in LINES:
        values = document(path)
        if not isinstance(values, list):
            raise DataError(f"{path}: must hold an array of objects")
    else:
        values = contents(path).iter_rows(named=True)
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


# ---------------------------------------------------------------- archives


def members(path: Path, form: re.Pattern[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each member of a zip file whose name matches ``form``.

    Raises
    ------
    DataError
        If it is no zip file, or its members cannot be unpacked or have more than 1 GiB together.
    UsageError
        If one is compressed with Zstandard, which needs Python 3.14 or the extra ``logs``.
    """
    check_file(path)
    left = LARGEST
    try:
        with zipfile.ZipFile(path) as archive, path.open("rb") as file:
            for member in archive.infolist():
                if not form.fullmatch(member.filename):
                    continue
                left -= member.file_size
                if left < 0:
                    raise DataError(f"{path}: must have at most {LARGEST >> 20} MiB unpacked")
                if member.compress_type == ZSTANDARD:
                    file.seek(member.header_offset)
                    head = file.read(_LOCAL_HEADER)
                    lengths = (int.from_bytes(head[at : at + 2], "little") for at in (26, 28))
                    file.seek(sum(lengths), 1)
                    content = _unpacked(file.read(member.compress_size), member, path)
                else:
                    content = archive.read(member)
                yield member.filename, content
    except (zipfile.BadZipFile, RuntimeError, OSError, EOFError, ValueError) as error:
        # RuntimeError: encrypted; NotImplementedError, one of them: an unknown compression.
        raise DataError(f"{path}: cannot be unpacked: {error}") from None


def _unpacked(packed: bytes, member: zipfile.ZipInfo, path: Path) -> bytes:
    try:
        import zstandard
    except ImportError:
        raise UsageError(
            f"{path}: is compressed with Zstandard; run: pip install 'visualjudge[logs]'"
        ) from None
    size = member.file_size
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as stream:
            content: bytes = stream.read(size + 1)
    except zstandard.ZstdError as error:
        raise DataError(f"{path}: {member.filename}: cannot be unpacked: {error}") from None
    if len(content) != size:
        raise DataError(
            f"{path}: {member.filename}: must have {size} bytes unpacked, got {len(content)}"
        )
    return content


# ---------------------------------------------------------------- folders


def first_tables(homes: Iterable[Path], *patterns: str) -> list[Path]:
    """Return the files that match the first pattern with any match, in the first such folder."""
    for home in homes:
        for pattern in patterns:
            if paths := sorted(path for path in home.glob(pattern) if path.suffix in TABLES):
                return paths
    return []


def kinds_of(*stems: str) -> tuple[str, ...]:
    """Return the names of a table in each format in which copies keep one."""
    kinds = ("json", "jsonl", "parquet", "arrow", "csv", "tsv")
    return tuple(f"{stem}.{kind}" for stem in stems for kind in kinds)


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
            image = inner if isinstance(inner, bytes) else self._file(inner)
            self.missing += image is None
            images += [] if image is None else [image]
        return tuple(images)

    def _file(self, name: Any) -> Path | None:
        for home in self.homes:
            try:
                return confined_path(home, name, of="the copy")
            except DataError:
                continue
        return None


def name_of(image: Any, key: str) -> str:
    """Return the name that a field gives its image: its path, or ``key`` if it contains only
    pixels.
    """
    name = image.get("path") if isinstance(image, dict) else image
    return name if isinstance(name, str) and name else key
