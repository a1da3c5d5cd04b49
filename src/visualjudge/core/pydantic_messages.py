"""Convert pydantic's messages to this project's wording."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

_WORDS = {
    "missing": "the field is missing",
    "string_type": "must be a string",
    "string_too_short": "must not be empty",
    "list_type": "must be a list",
    "too_short": "must not be empty",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
}
_LONGEST = 40


def first_problem(
    error: ValidationError, raw: Any = None
) -> tuple[tuple[str, ...], str]:
    """Return the path of the first problem within the record, and its message.

    Parameters
    ----------
    raw
        The record, if it may be shown: the message then includes the field's value if it is short.
    """
    first = error.errors(include_url=False, include_context=False, include_input=False)[
        0
    ]
    place = tuple(map(str, first["loc"]))
    reason = first["msg"].removeprefix("Value error, ")
    said = _WORDS.get(
        first["type"],
        f"{reason[0].lower()}{reason[1:]}".replace("input should be", "must be"),
    )
    said = said.replace("less than or equal to", "at most").replace(
        "greater than or equal to", "at least"
    )
    shown = (
        repr(raw[".".join(place)])
        if isinstance(raw, dict) and ".".join(place) in raw
        else ""
    )
    return place, said + (f", got {shown}" if 0 < len(shown) <= _LONGEST else "")
