"""Tables, JSON, texts and pickles of strangers, and class names by number: data.yaml of
YOLO, tables, JSON, and text files with a name per line. Files that belong together by
name are paired in ``pairing.py``; tables of *verdicts* are in ``apps/adopt/files.py``.
"""

from __future__ import annotations

import csv
import pickle
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from visualjudge.core import jsons
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.typed_records import Rows, record_of
from visualjudge.core.untrusted import BOUNDS, apart, read_file, text_lines
from visualjudge.core.yamls import read_yaml

if TYPE_CHECKING:
    import polars as pl

YAML = (".yaml", ".yml")
NUMBER_COLUMNS = (
    "id",
    "idx",
    "index",
    "value",
    "label",
    "class_id",
    "number",
    "trainid",
)
# Further fields of tables of Weights & Biases and pandas; and what to do with forms that
# are not read, by their fields: logs of other tools have `samples` beside others.
OF_TABLES = {"ncols", "nrows", "column_types", "index"}
OTHER_FORMS: dict[frozenset[str], str] = {
    frozenset(("columns", "data")): (
        "is a table of Weights & Biases or pandas, which is not read; save it as CSV "
        "(`table.get_dataframe().to_csv(FILE, index=False)`)"
    ),
    **dict.fromkeys(
        (frozenset(("samples",)), frozenset(("classes", "labels"))),
        "is an export of FiftyOne, which is not read; export COCO: "
        "`dataset.export(FOLDER, dataset_type=fiftyone.types.COCODetectionDataset, "
        "label_field=FIELD)`, once for the ground truth and once for predictions",
    ),
}
_WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})(\.0)?", re.ASCII)
NAME_COLUMNS = ("name", "class", "label_name", "class_name")


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises
    ------
    DataError
        If there is no such file, it is not JSON, or it is a form that no importer has;
        the message names the line, or the form to export instead.
    """
    value = jsons.lenient(jsons.content(path, "table"), str(path))
    for fields, form in OTHER_FORMS.items():
        if isinstance(value, dict) and value.keys() - OF_TABLES == fields:
            raise DataError(f"{path}: {form}")
    return value


class _DataOnly(pickle.Unpickler):
    """Unpickler of plain data. It rejects imported names, through which pickles could
    run code."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(
            f"it names {module}.{name}, which is not plain data"
        )


def read_pickle(path: Path) -> Any:
    """Read a pickle of plain data (lists, dicts, strings, numbers) without executing
    anything in it, apart: a few bytes of it may stand for more than fits in memory.

    Raises
    ------
    DataError
        If there is no such file, or it is larger than 1 GiB, is not a pickle, or
        contains more than plain data.
    """
    return apart(_unpickled, path, "table")


def _unpickled(path: Path) -> Any:
    content = BytesIO(read_file(path, "table"))
    try:
        value = _DataOnly(content, encoding="latin1").load()
        jsons.check(value)
    except Exception as error:  # an unpickler of a damaged file raises anything
        raise DataError(
            f"{path}: must be a pickle of plain data: "
            f"{str(error) or 'it fills the memory'}"
        ) from None
    return value


def read_table(path: Path) -> list[dict[str, Any]]:
    """Read the rows of a table with named columns: ``.csv``, ``.tsv``, ``.jsonl``, or
    ``.json`` (an array of objects).

    Raises
    ------
    DataError
        If the file is missing, malformed or has more than a million rows; the message
        names the line.
    """
    if path.suffix.lower() == ".json":
        content = read_json(path)
        rows = list(content.values()) if isinstance(content, dict) else content
        return record_of(Rows, rows, path)
    rows = list(islice(table_rows(path), BOUNDS["table"].items + 1))
    if len(rows) > BOUNDS["table"].items:
        raise DataError(
            f"{path}: must have at most {BOUNDS['table'].items:,} rows"
        )
    return rows


def table_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a ``.csv``, ``.tsv`` or ``.jsonl`` file as they are read.

    Raises
    ------
    DataError
        As :func:`read_table` does.
    """
    suffix = path.suffix.lower()
    if suffix == ".jsonl":
        for number, line in enumerate(text_lines(path), 1):
            if line.strip():
                yield record_of(
                    jsons.Json,
                    jsons.lenient(line, str(path), number),
                    f"{path}: line {number}",
                    hint="; an array of objects is a .json file",
                )
    elif suffix in (".csv", ".tsv"):
        yield from _separated(path, "\t" if suffix == ".tsv" else ",")
    else:
        raise UsageError(
            f"{path}: a table must be a .csv, .tsv, .jsonl or .json file"
        )


def read_texts(path: Path) -> pl.DataFrame:
    """Read a table as a data frame of text.

    Raises
    ------
    DataError
        As :func:`read_table` does, or if it has no rows.
    """
    import polars as pl

    rows = [
        {
            name: None if cell is None else str(cell)
            for name, cell in row.items()
        }
        for row in read_table(path)
    ]
    if not rows:
        raise DataError(f"{path}: has no rows")
    return pl.DataFrame(rows, infer_schema_length=None)


def _separated(path: Path, delimiter: str) -> Iterator[dict[str, Any]]:
    lines = text_lines(path)
    header = next(lines, "")
    other = [
        sign
        for sign in ("\t", ";", ",")
        if sign in header and delimiter not in header
    ]
    table = csv.DictReader(
        chain([header], lines),
        delimiter=other[0] if other else delimiter,
        strict=True,
    )
    try:
        names = [name for name in table.fieldnames or () if name.strip()]
        if len(set(names)) < len(names):
            raise DataError(
                f"{path}: a header must name a column once, got {', '.join(names)}; "
                "is the first row a header?"
            )
        for number, row in enumerate(table, 2):
            if None in row or None in row.values():
                raise DataError(
                    f"{path}: row {number}: must have as many cells as the header"
                )
            yield row
    except csv.Error as error:
        raise DataError(f"{path}: is not a table: {error}") from None


def class_table(path: Path) -> dict[int, str]:
    """Read class names by number.

    The file is a CSV or TSV table with a column of numbers (id, idx, index, value, …)
    and one of names (name, class); JSON, ``{"1": "road"}`` or an array of such rows;
    ``names`` in data.yaml (list or mapping); or a text file with one name per line,
    counted from 0.

    A name such as ADE20K's ``person;individual;someone`` is shortened to the part
    before the first ``;``, unless another class begins with the same part.

    Raises
    ------
    UsageError
        If ``path`` is a folder or an image.
    DataError
        If a row has no number or name, or a number occurs twice.
    """
    from visualjudge.formats.pairing import IMAGE_SUFFIXES

    suffix = path.suffix.lower()
    if path.is_dir() or suffix in IMAGE_SUFFIXES:
        raise UsageError(
            "`classes` must be a file of class names, such as one name per line, got "
            f"the {'folder' if path.is_dir() else 'image'} {path}"
        )
    if suffix in YAML:
        content = read_yaml(path)
        content = content.get("names") if isinstance(content, dict) else None
    elif suffix in (".csv", ".tsv", ".json"):
        content = read_json(path) if suffix == ".json" else read_table(path)
    else:
        content = {
            number: line.strip()
            for number, line in enumerate(text_lines(path))
            if line.strip()
        }
    table: dict[int, str] = {}
    for place, row in enumerate(_rows(content, path), 1):
        number = _cell(row, NUMBER_COLUMNS)
        name = _cell(row, NAME_COLUMNS)
        other = _cell(row, ("trainid",))
        if other is not None and str(other) != str(
            number
        ):  # as those of Cityscapes
            raise DataError(
                f"{path}: row {place}: id and trainId must be the same, got {number} "
                f"and {other}; remove the column that the label maps do not use"
            )
        try:
            key = int(str(whole(number)))
        except ValueError:
            raise DataError(
                f"{path}: row {place}: must have a whole number in id (or idx, value) "
                "and a name, below a header with these names"
            ) from None
        if not name or key in table:
            raise DataError(
                f"{path}: row {place}: "
                + (f"id: {key} occurs twice" if name else "name: is empty")
            )
        table[key] = str(name).strip()
    short = {
        value: name.partition(";")[0].strip() for value, name in table.items()
    }
    times = Counter(short.values())
    return {
        value: short[value] if times[short[value]] == 1 else table[value]
        for value in table
    }


def _rows(content: Any, path: Path) -> list[Mapping[Any, Any]]:
    """Return rows of a number and a name, whatever their form."""
    if isinstance(content, list) and all(
        isinstance(item, str) for item in content
    ):
        content = dict(enumerate(content))
    if isinstance(content, Mapping):
        return [
            {"id": number, "name": name} for number, name in content.items()
        ]
    if not isinstance(content, list) or not all(
        isinstance(item, Mapping) for item in content
    ):
        raise DataError(
            f'{path}: must be a class table such as {{"1": "road"}}'
        )
    return content


def _cell(row: Mapping[Any, Any], columns: tuple[str, ...]) -> Any:
    cells = {
        str(column).strip().lower(): value for column, value in row.items()
    }
    return next((cells[name] for name in columns if name in cells), None)


def first_row(path: str | Path) -> int:
    """Return the number of a table's first record: 2 below a header."""
    return 2 if Path(path).suffix.lower() in (".csv", ".tsv", ".xlsx") else 1


def whole(value: Any) -> Any:
    """Return a whole number for one that is written 99.0, as data frames do, or as
    text; other values unchanged.
    """
    if type(value) is int:  # nearly all
        return value
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value.partition(".")[0])
    return (
        int(value) if isinstance(value, float) and value.is_integer() else value
    )


def class_name(
    number: Any, names: Mapping[int, str], field: str = "class"
) -> str:
    """Return the name of class ``number``. Negative numbers, which mean "no label"
    elsewhere, are no classes.
    """
    key = whole(number)
    if isinstance(key, bool) or not isinstance(key, int) or key not in names:
        known = (
            f"{min(names)} to {max(names)}"
            if names
            else "of which there are none"
        )
        raise DataError(
            f"{field}: must be the number of a class name, {known}, got {key!r:.40}"
        )
    return names[key]
