"""Criteria in a reply: the member ``criteria`` of its JSON object, read apart from the
answer. The rubrics are in ``prompts/rubric.py``.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import orjson

from visualjudge.core.records import FAILED, LETTERS
from visualjudge.prompts.rubric import (
    LARGEST_PLACE,
    NONE,
    Asked,
    Criterion,
    Scale,
)
from visualjudge.replies.json_answers import DECODER, objects
from visualjudge.replies.stripped_text import without_thoughts
from visualjudge.vision.encodings import numbers_items

FIELD = "criteria"
_MEMBER = re.compile(rf'(,\s*)?"{FIELD}"\s*:\s*')
_OPTIONS = {
    **{
        f"{noun}{letter}".lower(): letter
        for noun in ("", "option ", "image ")
        for letter in LETTERS[:2]
    },
    "tie": "tie",
}
_YES_NO = {"yes": "yes", "no": "no", "true": "yes", "false": "no"}


def split_criteria(text: str) -> tuple[str, Mapping[str, Any]]:
    """Return a reply without the members ``criteria`` of its objects, and the last of
    them; the same reply and nothing if it has none. What is left is read as any reply.
    """
    spoken = without_thoughts(text)
    values: Mapping[str, Any] = MappingProxyType({})
    pieces = []
    at = 0
    for start, end, value in objects(spoken) if FIELD in spoken else ():
        if isinstance(value.get(FIELD), dict):
            values = value.pop(FIELD)
            pieces += [text[at:start], _without(text[start:end], value)]
            at = end
    return "".join((*pieces, text[at:])), values


def _without(text: str, value: Mapping[str, Any]) -> str:
    """Return an object's text without its member, with the other members, ``value``, as
    they stand: their lines matter to readers. Written anew where it is malformed.
    """
    for member in _MEMBER.finditer(text) if value else ():
        try:
            end = DECODER.raw_decode(text, member.end())[1]
            behind = (
                text[end:] if member[1] else re.sub(r"^\s*,\s*", "", text[end:])
            )
            rest = text[: member.start()] + behind
            if orjson.loads(rest).keys() == value.keys():
                return rest
        except (ValueError, RecursionError):
            continue
    return orjson.dumps(value).decode() if value else ""


def read_criterion(criterion: Criterion, value: Any, question: Asked) -> Any:
    """Return the value of a criterion: "yes" or "no", "A", "B" or "tie", a word of the
    choice, a number, [x1, y1, x2, y2] in 0..1000, the number of an item or "none";
    "Failed" if it is none of its form.
    """
    form = criterion.answer
    if isinstance(form, Scale):
        return _number(value, *form.scale)
    if form == "place":
        item = _number(value, 1, LARGEST_PLACE)
        numbered = item != FAILED and numbers_items(
            question.task, question.encoding
        )
        return int(item) if numbered and item % 1 == 0 else _place(value)
    text = _plain(value)
    if form == "yes_no":
        return _YES_NO.get(text, FAILED)
    if form == "option":
        return _OPTIONS.get(text, FAILED)
    words = {_plain(word): word for word in criterion.words(question.task)}
    return words.get(text, FAILED)


def _plain(value: Any) -> str:
    return re.sub(r"[\s_-]+", " ", str(value)).strip(" .").lower()


def _number(value: Any, low: float, high: float) -> Any:
    if isinstance(value, bool):
        return FAILED
    try:
        number = float(value)
    except (TypeError, ValueError):
        return FAILED
    return number if low <= number <= high else FAILED


def _place(value: Any) -> Any:
    if value is None or _plain(value) in (NONE, "null"):
        return NONE
    if not isinstance(value, list) or len(value) != 4:
        return FAILED
    corners = [_number(corner, 0, LARGEST_PLACE) for corner in value]
    if FAILED in corners:
        return FAILED
    x1, y1, x2, y2 = corners
    # all below 1: shares of the image, which are not the form that was asked for
    return corners if x1 < x2 and y1 < y2 and max(corners) > 1 else FAILED


def read_criteria(
    criteria: tuple[Criterion, ...],
    values: Mapping[str, Any],
    question: Asked,
    stored: Callable[[Any], Any],
) -> dict[str, Any]:
    """Return the value of each criterion by id; ``stored`` turns letters back."""
    read = {
        criterion.id: read_criterion(
            criterion, values.get(criterion.id, FAILED), question
        )
        for criterion in criteria
    }
    options = {
        criterion.id for criterion in criteria if criterion.answer == "option"
    }
    return {
        name: stored(value) if name in options else value
        for name, value in read.items()
    }
