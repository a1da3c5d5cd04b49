"""Columns of criteria: ``criterion.NAME`` holds what a judge said besides its verdict,
``truth.NAME`` what is right. Their form follows from their values. Confidence is in
``confidence.py``; criteria in replies are in ``replies/criteria.py``.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import orjson
from pydantic import ValidationError

from visualjudge.apps.adopt.cell_spellings import is_missing, is_number
from visualjudge.apps.adopt.files import Row
from visualjudge.core.errors import DataError
from visualjudge.core.jsons import Json
from visualjudge.core.records import TURNED
from visualjudge.core.typed_records import first_problem
from visualjudge.prompts.rubric import OTHER, Comparison, Criterion, Rubric
from visualjudge.replies.criteria import read_criterion

SAID = "criterion."
TRUE = "truth."
MOST_WORDS = 50
"""Maximum number of words of a choice; a column with more holds sentences."""
ANY = Comparison("pairwise")
_PLACE = re.compile(r"\[.*\]")


def rubric_of_rows(
    rows: Sequence[Row], roles: Mapping[str, str], *, pairs: bool
) -> Rubric | None:
    """Return the criteria of the columns; None without any.

    Raises
    ------
    DataError
        If a name is not that of a criterion, or a column holds sentences.
    """
    names = [role.removeprefix(SAID) for role in roles if role.startswith(SAID)]
    criteria = [_criterion(rows, roles, name, pairs) for name in names]
    return Rubric("adopted@v1", tuple(criteria)) if criteria else None


def _criterion(
    rows: Sequence[Row], roles: Mapping[str, str], name: str, pairs: bool
) -> Criterion:
    cells = [row.get(prefix + name) for prefix in (SAID, TRUE) for row in rows]
    values = [_value(cell) for cell in cells if not is_missing(cell)]
    column = roles[SAID + name]
    try:
        return Criterion(id=name, ask=column, answer=_form(values, pairs))
    except ValidationError as error:
        raise DataError(
            f"{rows[0].place}: {column}: {first_problem(error)[1]}"
        ) from None


def _value(cell: Any) -> Any:
    """Return a cell, whose places may be written as text."""
    if isinstance(cell, str) and _PLACE.fullmatch(cell.strip()):
        with suppress(orjson.JSONDecodeError):
            return orjson.loads(cell)
    return cell


def _form(values: Sequence[Any], pairs: bool) -> Any:
    """Return the form of an answer in which every value can be read."""
    if any(isinstance(value, list) for value in values):
        return "place"
    for form in ("option", "yes_no") if pairs else ("yes_no",):
        known = Criterion(id="x", ask="x", answer=form)
        if all(
            read_criterion(known, value, ANY) != "Failed" for value in values
        ):
            return form
    if all(is_number(value) for value in values):
        numbers = [float(value) for value in values]
        return {"scale": (min(numbers), max(numbers))}
    words = list(dict.fromkeys(str(value).strip() for value in values))
    if len(words) > MOST_WORDS:
        raise DataError(
            f"columns of criteria must have at most {MOST_WORDS} different words, got "
            f"{len(words)}, such as {words[0][:40]!r}"
        )
    return {"choice": words if len(words) > 1 else [*words, OTHER]}


def values_of(
    rubric: Rubric | None, row: Row, turned: bool, prefix: str = SAID
) -> Json | None:
    """Return the values of a row's criteria, with letters of the stored question, which
    has the options of the row in the other order if ``turned``; None without any.
    """
    values: Json = {}
    for criterion in rubric.criteria if rubric else ():
        cell = row.get(prefix + criterion.id)
        if is_missing(cell):
            continue
        value = read_criterion(criterion, _value(cell), ANY)
        if turned and criterion.answer == "option":
            value = TURNED.get(value, value)
        values[criterion.id] = value
    return values or None
