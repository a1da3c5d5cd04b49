"""Rows of a pipeline: JSON lines, each checked; an invalid row does not affect the
others. Lines of results are in ``results.py``.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson
from pydantic import BaseModel, Field, StrictStr, ValidationError

from visualjudge.core import jsons
from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import DataError, Problem
from visualjudge.core.typed_records import first_problem
from visualjudge.core.untrusted import BOUNDS
from visualjudge.formats.samples import warn_once

MOST_IMAGES = 100
"""Maximum number of edited images in a row."""


class RowFile(BaseModel, extra="allow", hide_input_in_errors=True):
    """One line of the input: the judge's input, and the key of its result; without one,
    its number counts from 1.
    """

    key: StrictStr | int | None = None
    instruction: StrictStr
    input_image: StrictStr = Field(min_length=1)
    edited_images: list[StrictStr] = Field(min_length=1, max_length=MOST_IMAGES)


@dataclass(frozen=True, slots=True)
class Row:
    """A row, with images as absolute paths or URLs; ``numbered``: it states no key."""

    key: str | int
    instruction: str
    input_image: str
    edited_images: tuple[str, ...]
    numbered: bool = False

    def as_input(self) -> dict[str, Any]:
        """Return the input of a judge module."""
        return {
            "instruction": self.instruction,
            "input_image": self.input_image,
            "edited_images": list(self.edited_images),
        }


DOUBTS: Mapping[str, Callable[[Row], bool]] = {
    "key: there is none, so it has its number": lambda row: row.numbered,
    "instruction: is empty": lambda row: not row.instruction.strip(),
    "input_image, edited_images: one image is named twice": lambda row: (
        len({row.input_image, *row.edited_images}) <= len(row.edited_images)
    ),
}
"""What is judged, but hardly meant."""


def read_rows(path: str | Path) -> tuple[list[Row], list[Problem]]:
    """Read a JSONL file. Return the valid rows, and the problems of the others.

    Image paths are relative to the file's folder. Rows without a key are numbered, with
    a warning.

    Raises
    ------
    DataError
        If the file does not exist, has no rows or over a million, or one is too long.
    """
    file = Path(path)
    rows: dict[str, Row] = {}
    problems: list[Problem] = []
    lines = (
        (k, line) for k, line in enumerate(jsons.lines(file), 1) if line.strip()
    )
    for place, (number, line) in enumerate(lines, 1):
        row = _row(line, file, number, place)
        if isinstance(row, Row) and str(row.key) in rows:
            row = Problem(
                str(file),
                f"line {number}",
                "key",
                f"{row.key!r} also occurs in an earlier line",
            )
        if isinstance(row, Row):
            rows[str(row.key)] = row
        else:
            problems.append(row)
        if place > BOUNDS["table"].items:
            raise DataError(
                f"{file}: must have at most {BOUNDS['table'].items:,} rows"
            )
    if not rows and (not problems or problems[0].field == "row"):
        first = problems[0].reason if problems else "is not there"
        raise DataError(
            f"{file}: must hold one JSON object per line, such as "
            '{"key": "1", "instruction": "…", "input_image": "in.png", '
            f'"edited_images": ["a.png", "b.png"]}}; its first line {first}'
        )
    for doubt, doubtful in DOUBTS.items():
        warn_once(
            file,
            doubt,
            [f"row {row.key}" for row in rows.values() if doubtful(row)],
        )
    return list(rows.values()), problems


def _row(line: bytes, file: Path, number: int, place: int) -> Row | Problem:
    where = f"line {number}"
    try:
        value = jsons.loads(line)
    except ValueError as error:
        return Problem(str(file), where, "row", f"is not JSON: {error}")
    if isinstance(value, dict) and "key" in value:
        where += f" ({str(value['key'])[:80]})"
    try:
        row = RowFile.model_validate(value)
    except ValidationError as error:
        field, reason = first_problem(error)
        return Problem(str(file), where, ".".join(field[:2]) or "row", reason)
    images = [
        image if _is_url(image) else str(file.parent / image)
        for image in (row.input_image, *row.edited_images)
    ]
    key = place if row.key is None else row.key
    return Row(
        key,
        row.instruction,
        images[0],
        tuple(images[1:]),
        numbered=row.key is None,
    )


def _is_url(image: str) -> bool:
    return image.partition(":")[0].lower() in ("http", "https", "data", "file")


def checksum(row: Row) -> str:
    """Return the SHA-256 of the instruction and of each image's bytes (for a URL, the
    URL)."""
    images = map(_image_digest, (row.input_image, *row.edited_images))
    return hashlib.sha256(orjson.dumps([row.instruction, *images])).hexdigest()


def _image_digest(image: str) -> str:
    if _is_url(image):
        return hashlib.sha256(image.encode(errors="surrogatepass")).hexdigest()
    try:
        stat = Path(image).stat()
        return _file_digest(image, stat.st_mtime_ns, stat.st_size)
    except (OSError, ValueError):
        return "unreadable"


@lru_cache(maxsize=4096)
def _file_digest(image: str, _written: int, _size: int) -> str:
    """Return the SHA-256 of a file; cached, because rows often share their source."""
    return file_sha256(Path(image))
