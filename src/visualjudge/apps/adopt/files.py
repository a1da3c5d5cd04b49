"""Files of strangers as rows, and the images that rows name. What the rows mean is in
``roles.py`` and ``meaning.py``; logs of tools are in ``logs/``.
"""

import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from visualjudge.apps.adopt.adopted_question import ImageSource, Scale
from visualjudge.core import jsons
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.parquet import check_table, table_parts
from visualjudge.core.typed_records import Rows, record_of
from visualjudge.core.untrusted import (
    BOUNDS,
    Kind,
    apart,
    archive,
    blocks,
    check_file,
    confined_path,
)
from visualjudge.core.workbooks import MOST_COLUMNS, workbook_rows
from visualjudge.formats.tables import read_json, read_table

ROWS_AT_ONCE = 50_000
MOST_ROWS = BOUNDS["table"].items
MOST_CELLS = BOUNDS["parquet"].items
MOST_VALUES = 7 * MOST_ROWS
BYTES_A_VALUE = 12
"""Values of JSON that are read into memory; more if they have so many bytes each, as
texts have. An array counts as two, an object as three.
"""
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
PARTS = re.compile(r"header\.json|samples/.*\.json")
BULKY = ("messages", "events", "attachments", "store")
"""Fields of a sample of Inspect that no verdict needs, and that are most of it."""


class Row(dict[str, Any]):
    """A record, the place where it stands (file and row), and the names of its fields
    there."""

    __slots__ = ("names", "place")

    def __init__(
        self, values: Mapping[str, Any], place: str, names: Mapping[str, str]
    ) -> None:
        super().__init__(values)
        self.place = place
        self.names = names

    def fault(self, name: str, reason: object) -> DataError:
        """Return an error that says what is wrong with a field."""
        return DataError(f"{self.place}: {self.names.get(name, name)} {reason}")

    def need(self, name: str) -> Any:
        """Return a field; raise an error if the record lacks it."""
        if self.get(name) is None:
            raise self.fault(name, "is missing")
        return self[name]

    def one_of(self, name: str, known: Mapping[str, str]) -> str:
        """Return the meaning of a field; raise an error if it is none of the ``known``
        values."""
        value = self.need(name)
        if not isinstance(value, str) or value not in known:
            raise self.fault(
                name, f"must be one of {', '.join(known)}, got {value!r}"
            )
        return known[value]


PlacedRows = list[tuple[str, dict[str, Any]]]


@dataclass(slots=True)
class Records:
    """Rows of cells, each with its place.

    ``name`` is that of the file, or of the first of several; ``scale`` that of a log's
    grades. ``header`` has the name of every column, and whether it holds lists or
    objects.
    """

    name: str
    rows: PlacedRows
    scale: Scale | None
    header: Mapping[str, bool]


def contents(path: Path) -> Any:
    """Return the value of a JSON file or of a log of Inspect, and the rows of a table;
    cells of CSV and TSV are text.

    Raises
    ------
    UsageError
        If it has another extension.
    DataError
        If it cannot be read, or is larger than its kind may be.
    """
    suffix = path.suffix.lower()
    if suffix not in KINDS or path.is_dir():
        raise UsageError(
            f"{path}: must be a file that ends in {', '.join(KINDS)}"
        )
    check_file(path, KINDS[suffix])
    if suffix == ".xlsx":
        with archive(path, "workbook") as members:
            sheets = [
                name
                for name in members.namelist()
                if re.fullmatch(r"xl/worksheets/[^/]*\.xml", name)
            ]
        if len(sheets) > 1:
            warnings.warn(
                f"{path}: the first of {len(sheets)} sheets is read",
                stacklevel=2,
            )
        return [row for row in workbook_rows(path) if row]
    if suffix == ".eval":
        return apart(_inspect_log, path, "zip")
    if suffix in (".json", ".jsonl"):
        _check_values(path)
    if suffix == ".json":
        return read_json(path)
    if suffix in (".parquet", ".arrow"):
        check_table(path)
        rows = list[Any]()
        for part in table_parts(path, ROWS_AT_ONCE):
            check_rows(path, len(rows) + part.height, part.width)
            rows += part.iter_rows(named=True)
        return rows
    return read_table(path)


def _check_values(path: Path) -> None:
    most = max(MOST_VALUES, path.stat().st_size // BYTES_A_VALUE)
    count = 0
    quotes = 0
    names = 0
    rest = b""
    for block in blocks(path, "table"):
        text = (rest + block).replace(rb"\\", b"")
        rest = text[-1:] if text.endswith(b"\\") else b""
        pieces = text.replace(rb"\"", b"").split(b'"')
        outside = b"".join(pieces[quotes % 2 :: 2])
        count += (
            outside.count(b",")
            + 2 * outside.count(b"[")
            + 3 * outside.count(b"{")
        )
        quotes += len(pieces) - 1
        names = outside.rpartition(b"}")[2].count(b":") + (
            0 if b"}" in outside else names
        )
        if count > most or names > MOST_ROWS:
            raise DataError(
                f"{path}: must have at most {MOST_VALUES:,} values, {MOST_ROWS:,} "
                "of them in an object"
            )


def check_rows(path: Path, count: int, width: int = 0) -> None:
    """Refuse a table of more rows, columns or cells than are read into memory."""
    if count > MOST_ROWS or width > MOST_COLUMNS or count * width > MOST_CELLS:
        raise DataError(
            f"{path}: must have at most {MOST_ROWS:,} rows, {MOST_COLUMNS:,} columns "
            f"and {MOST_CELLS:,} cells; adopt some judges or items at a time"
        )


def _inspect_log(path: Path) -> dict[str, Any]:
    with archive(path, "zip") as members:
        names = [name for name in members.namelist() if PARTS.fullmatch(name)]
        parts = {name: _part(name, members.read(name)) for name in names}
    if "header.json" not in parts:
        raise DataError(
            f"{path}: must be a finished log of Inspect, got one without header.json: "
            "the evaluation is running, or was stopped"
        )
    return {**parts.pop("header.json"), "samples": list(parts.values())}


def _part(name: str, content: bytes) -> dict[str, Any]:
    value = record_of(jsons.Json, jsons.lenient(content, name), name)
    return {name: field for name, field in value.items() if name not in BULKY}


def records(path: Path, values: Any = None) -> list[Row]:
    """Return the rows of a table, or of the ``values`` that were in it.

    Raises
    ------
    DataError
        If the file cannot be read, or holds something else.
    """
    rows = record_of(Rows, contents(path) if values is None else values, path)
    return [
        Row(row, f"{path}: record {number}", {})
        for number, row in enumerate(rows, 1)
    ]


def at(value: Any, *paths: str) -> Any:
    """Return the first value at one of the ``paths``, or None. A path is a name, or
    names and list indices joined by dots.

    Examples
    --------
    >>> at({"run": {"ids": [7]}, "b": 1}, "run.id", "run.ids.0"), at({"a.b": 1}, "a.b")
    (7, 1)
    """
    for path in paths:
        inner = value
        for step in (
            (path,)
            if isinstance(value, dict) and path in value
            else path.split(".")
        ):
            if isinstance(inner, list):
                inner = (
                    inner[int(step)]
                    if step.isdigit() and int(step) < len(inner)
                    else None
                )
            else:
                inner = inner.get(step) if isinstance(inner, dict) else None
        if inner is not None:
            return inner
    return None


def log_row(known: Mapping[str, Any], *more: Any) -> dict[str, Any]:
    """Return a row of the ``known`` fields and the plain values of further objects, so
    that users can name one as the truth. A further field whose name is taken becomes
    ``metadata.NAME``.

    Examples
    --------
    >>> log_row({"item": "1", "reply": None}, {"item": "x", "human": 3, "tags": ["y"]})
    {'item': '1', 'metadata.item': 'x', 'human': 3}
    """
    row = {name: value for name, value in known.items() if value is not None}
    for fields in more:
        for name, value in fields.items() if isinstance(fields, dict) else ():
            if isinstance(value, str | int | float | bool):
                row[f"metadata.{name}" if name in known else name] = value
    return row


def texts_of(value: Any) -> list[str]:
    """Return the texts of nested lists, and of the parts of a message, in order."""
    if isinstance(value, list):
        return [text for inner in value for text in texts_of(inner)]
    if isinstance(value, dict):
        return texts_of(value.get("text", value.get("content")))
    return [value] if isinstance(value, str) else []


def first_tables(homes: Iterable[Path], *patterns: str) -> list[Path]:
    """Return the tables that match the first pattern with any match, in the first such
    folder; a pattern that ends in ".*" matches a table in any format.
    """
    for home in homes:
        for pattern in patterns:
            if paths := sorted(
                path for path in home.glob(pattern) if path.suffix in TABLES
            ):
                return paths
    return []


class Images:
    """Images of rows: bytes as they are, names as files below ``homes``. ``missing``
    counts the images not there.
    """

    def __init__(self, *homes: Path) -> None:
        self.homes = homes
        self.missing = 0

    def all(self, *values: Any) -> tuple[ImageSource, ...]:
        """Return the images that fields contain (``bytes``, or the ``{"bytes",
        "path"}`` of the datasets library) or name, in order, without those that are
        missing.
        """
        images = []
        for value in values:
            inner = (
                (value.get("bytes") or value.get("path"))
                if isinstance(value, dict)
                else value
            )
            images.append(
                inner
                if isinstance(inner, bytes)
                else file_in(self.homes, inner)
            )
        self.missing += images.count(None)
        return tuple(image for image in images if image is not None)


def file_in(homes: Iterable[Path], name: Any) -> Path | None:
    """Return the first file of this name in one of these folders; of an address, the
    end of its path may be there.
    """
    text = str(name)
    # The host comes first. urlsplit raises an error of its own for some texts.
    parts = PurePosixPath(
        unquote(re.split("[?#]", text.partition("://")[2])[0])
    ).parts
    for home in homes:
        for end in ["/".join(parts[k:]) for k in range(1, len(parts))] or [
            text
        ]:
            try:
                return confined_path(home, end, of="the copy")
            except DataError:
                continue
    return None
