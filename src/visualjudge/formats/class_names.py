"""Class names by number: data.yaml of YOLO, tables, JSON, and text files with a name
per line."""

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.yamls import read_yaml
from visualjudge.formats.pairing import IMAGE_SUFFIXES
from visualjudge.formats.tables import read_json, read_table, read_text

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
_WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})(\.0)?", re.ASCII)
NAME_COLUMNS = ("name", "class", "label_name", "class_name")


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
        lines = enumerate(read_text(path).splitlines())
        content = {
            number: line.strip() for number, line in lines if line.strip()
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
            key = int(str(number))
        except ValueError:
            raise DataError(
                f"{path}: row {place}: needs a whole number in id (or idx, value) and "
                "a name"
            ) from None
        if not name or key in table:
            reason = f"id: {key} occurs twice" if name else "name: is empty"
            raise DataError(f"{path}: row {place}: {reason}")
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
