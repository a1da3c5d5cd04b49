"""Read the records of a data folder, and check them field by field, as stored, before
conversion.

Checks are strict: a quoted number is not a number, an integer is not an identifier.
Nothing is converted or repaired silently.
"""

import json
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)

from visualjudge.core import jsons
from visualjudge.core.errors import DataError, InvalidRecord, Problem
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.records import IMAGE_MARK, Annotation, ImageRecord
from visualjudge.core.tables import table_parts
from visualjudge.core.typed_records import first_problem
from visualjudge.core.untrusted import read_file
from visualjudge.vision.faults import stated_faults
from visualjudge.vision.tasks import TASKS

FORMATS = (".json", ".jsonl", ".parquet")
_ROWS = 256
_CONTROL = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
# Maximum length of a text of a record (a prompt, an id, a source) in characters.
LONGEST_TEXT = 20_000
# Maximum length of an image_id in bytes: it becomes part of a file name, which file
# systems limit to 255.
LONGEST_NAME = 180


def _writable(text: str) -> str:
    if _CONTROL.search(text):
        raise ValueError(
            "must not contain control characters or unpaired surrogates"
        )
    return text


def _plain(text: str) -> str:
    if IMAGE_MARK in text:
        raise ValueError(
            f"contains {IMAGE_MARK!r}, which marks an image in the questions; replace "
            "it"
        )
    return _writable(text)


def _short(text: str) -> str:
    if len(text.encode()) > LONGEST_NAME:
        raise ValueError(
            f"must be at most {LONGEST_NAME} bytes long, for use in file names"
        )
    return text


def _with_faults(metadata: Json) -> Json:
    stated_faults(metadata)
    return metadata


_Filled = StringConstraints(min_length=1, max_length=LONGEST_TEXT)
Text = Annotated[
    str, StringConstraints(max_length=LONGEST_TEXT), AfterValidator(_writable)
]
Line = Annotated[str, _Filled, AfterValidator(_plain)]
Name = Annotated[str, _Filled, AfterValidator(_plain), AfterValidator(_short)]
Wire = TypeVar("Wire")
# One value of ``images/<task>.json``; sizes are compared with the file later.
_IMAGE = TypeAdapter(ImageRecord)


class AnnotationWire(
    BaseModel, strict=True, extra="ignore", allow_inf_nan=False
):
    """One entry of ``annotations/<task>_annotations.*``; unknown fields are ignored."""

    annotation_id: Name
    image_id: Name
    task: str
    class_of_interest: list[Line] | None = None
    error_type: Line | None = None
    prompt: Line | None = None
    prediction: Json
    final_score: Annotated[float, Field(ge=0, le=10)]
    source: Text | None = None
    metadata: Annotated[Json, AfterValidator(_with_faults)] | None = None


def annotation_from_wire(
    raw: Any, *, file: str, task: str, position: int
) -> Annotation:
    """Return a record of ``file``, without checking its ``prediction``.

    Parameters
    ----------
    raw
        JSON value.
    file
        Name for messages.
    task
        Task according to the file's name.
    position
        Number of the record in the file, from 0; names a record that has no usable
        ``annotation_id``.

    Raises
    ------
    InvalidRecord
        If a field is invalid; the message names the first one and the reason.
    """
    name = name_of(raw, position)
    if not isinstance(raw, Mapping):
        raise InvalidRecord(Problem(file, name, "record", "must be an object"))
    if raw.get("task") != task and "task" in raw:
        known = (
            "another task's file is the place for it"
            if raw["task"] in TASKS
            else "there is no such task"
        )
        raise InvalidRecord(
            Problem(
                file,
                name,
                "task",
                f"is {raw['task']!r} in the file of {task}: {known}",
            )
        )
    wire = _validated(AnnotationWire.model_validate, raw, file, name)
    if TASKS[task].expression and not (wire.prompt or "").strip():
        raise InvalidRecord(
            Problem(
                file,
                name,
                "prompt",
                "must contain the referring expression, got none",
            )
        )
    classes = wire.class_of_interest
    return Annotation(
        **{
            **dict(wire),
            "class_of_interest": None if classes is None else tuple(classes),
            "metadata": wire.metadata or {},
            "file": file,
        }
    )


def image_from_wire(image_id: str, raw: Any, *, file: str) -> ImageRecord:
    """Return the image record of ``image_id``.

    Raises
    ------
    InvalidRecord
        If a field is invalid; the message names the first one and the reason.
    """
    if not isinstance(raw, Mapping):
        raise InvalidRecord(
            Problem(
                file,
                image_id,
                "record",
                'must be an object such as {"file": "photo.png"}',
            )
        )
    record = _validated(
        _IMAGE.validate_python, {**raw, "image_id": image_id}, file, image_id
    )
    if record.file is None:
        address = (
            "; a url is not read: download it with `fetch` of adopt, or name a "
            "file here"
        )
        raise InvalidRecord(
            Problem(
                file,
                image_id,
                "file",
                f"is missing{address if record.url is not None else ''}",
            )
        )
    return record


def _validated(
    validate: Callable[[Any], Wire], raw: Fields, file: str, name: str
) -> Wire:
    try:
        return validate(raw)
    except ValidationError as error:
        place, reason = first_problem(error, displayed=True)
        raise InvalidRecord(
            Problem(file, name, ".".join(place) or "record", reason)
        ) from None


def name_of(raw: Any, position: int) -> str:
    """Return a record's ``annotation_id``, or its number in the file if it has none."""
    stated = raw.get("annotation_id") if isinstance(raw, Mapping) else None
    return (
        stated
        if isinstance(stated, str) and stated
        else f"record {position + 1}"
    )


def read_records(path: Path) -> list[Any]:
    """Return the records of a file in order. NaN and infinity are allowed, so that a
    later check can name their field. A line that is not JSON is a :class:`DataError` in
    its place.

    In a Parquet table, a null at any depth means a missing field, because a struct has
    the fields of all rows. Text in ``prediction`` or ``metadata`` is JSON.

    Raises
    ------
    DataError
        If the file cannot be read, or is not a JSON array.
    """
    if path.suffix == ".parquet":
        rows = (
            row for part in table_parts(path, _ROWS) for row in part.to_dicts()
        )
        return [_without_nulls(_row(row, path.name)) for row in rows]
    if path.suffix == ".jsonl":
        return [
            _line(line, path.name) for line in jsons.lines(path) if line.strip()
        ]
    text = read_file(path, "json").removeprefix(BOM_UTF8)
    try:
        content = jsons.lenient(text, path.name)
    except DataError:
        content = None
        with suppress(
            ValueError, RecursionError
        ):  # perhaps only some records are unusable
            content = json.loads(text)
        if not isinstance(content, list):
            raise
        return [
            _line(json.dumps(record).encode(), path.name) for record in content
        ]
    if not isinstance(content, list):
        hint = "; name it .jsonl if it has one record per line"
        raise DataError(
            f"{path.name}: must be a JSON "
            f"array{hint if isinstance(content, dict) else ''}"
        )
    return content


def _line(line: bytes, name: str) -> Any:
    try:
        return jsons.lenient(line, name)
    except DataError as error:
        return error


def _row(row: Json, name: str) -> Json:
    for field in ("prediction", "metadata"):
        if isinstance(row.get(field), str):
            row[field] = jsons.lenient(row[field], f"{name}: {field}")
    return row


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_nulls(item)
            for key, item in value.items()
            if item is not None
        }
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value
