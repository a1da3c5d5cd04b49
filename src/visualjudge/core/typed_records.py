"""What is read from a file, checked against the type of a record: pydantic finds the
fault, this module words it. The types themselves are in ``records.py`` and beside what
uses them; JSON is parsed in ``jsons.py``.
"""

from functools import cache
from typing import Annotated, Any, TypeVar, cast

from pydantic import Field, InstanceOf, TypeAdapter, ValidationError

from visualjudge.core.errors import DataError

Record = TypeVar("Record")
# Objects with any fields.
Rows = Annotated[list[InstanceOf[dict[str, Any]]], Field(fail_fast=True)]

_WORDS = {
    "missing": "the field is missing",
    "string_type": "must be a string",
    "string_too_short": "must not be empty",
    "list_type": "must be a list",
    "too_short": "must not be empty",
    "dict_type": "must be an object",
    "is_instance_of": "must be an object",
    "model_type": "must be an object",
    "dataclass_type": "must be an object",
    **dict.fromkeys(
        ("int_type", "int_parsing", "int_from_float"), "must be a whole number"
    ),
    **dict.fromkeys(("float_type", "float_parsing"), "must be a number"),
    "finite_number": "must be a finite number",
}
_LONGEST = 40
_adapter: Any = cache(TypeAdapter)


def record_of(
    kind: type[Record], value: Any, where: object, *, hint: str = ""
) -> Record:
    """Return a value of a file as a record of its ``kind``; its types must be exact.

    Parameters
    ----------
    value
        What JSON or YAML holds, returned as it is once it is checked; bytes are JSON.
    where
        The file, for messages, which end in ``hint``.

    Raises
    ------
    DataError
        If a field is missing, or it or the whole has another type.
    """
    try:
        if isinstance(value, bytes):
            return cast(
                "Record", _adapter(kind).validate_json(value, strict=True)
            )
        _adapter(kind).validate_python(value, strict=True)
    except ValidationError as error:
        # pydantic writes all of them to tell the first, a kilobyte each
        if (faults := error.error_count()) > 10_000:
            raise DataError(
                f"{where}: must have values of the right types, got {faults:,} others"
            ) from None
        place, reason = first_problem(error, displayed=True)
        raise DataError(
            ": ".join((str(where), *place, reason)) + hint
        ) from None
    return cast("Record", value)


def first_problem(
    error: ValidationError, *, displayed: bool = False
) -> tuple[tuple[str, ...], str]:
    """Return the path of the first problem within the record, and its message, with the
    value if it may be ``displayed`` and is short.
    """
    first = error.errors(include_url=False, include_context=False)[0]
    reason = first["msg"].removeprefix("Value error, ")
    reason = (
        f"{reason[0].lower()}{reason[1:]}".replace("input should be", "must be")
        .replace("less than or equal to", "at most")
        .replace("greater than or equal to", "at least")
    )
    reason = _WORDS.get(first["type"], reason)
    got = (
        repr(first["input"]) if displayed and first["type"] != "missing" else ""
    )
    return tuple(map(str, first["loc"])), reason + (
        f", got {got}" if 0 < len(got) <= _LONGEST else ""
    )
