"""What a rater answered, checked: letters as shown become letters as stored; nothing is guessed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from visualjudge.core.errors import DataError
from visualjudge.core.records import FAILED, Answer, QuestionType, Status
from visualjudge.studio.people.plan import Slot

LONGEST_NOTE = 4000
LONGEST_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class Given:
    """An answer in stored letters; ``value`` is "Failed" with status ``cannot_tell`` where the rater could not tell."""

    value: Answer
    status: Status
    note: str | None
    seconds: float


def read_answer(raw: Mapping[str, Any], slot: Slot, kind: QuestionType) -> Given:
    """The answer in the body of a request.

    Raises
    ------
    DataError
        If it does not fit the question; the message names the field.
    """
    note, seconds = raw.get("note"), raw.get("seconds")
    if note is not None and (not isinstance(note, str) or len(note) > LONGEST_NOTE):
        raise DataError(f"note must be a text of at most {LONGEST_NOTE} characters")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= LONGEST_SECONDS:
        raise DataError(f"seconds must be a number from 0 to {LONGEST_SECONDS:.0f}, got {seconds!r}")
    told = (note or "").strip() or None
    if raw.get("cannot_tell") is True:
        return Given(FAILED, "cannot_tell", told, round(float(seconds), 2))
    return Given(_value(raw.get("value"), slot, kind), "ok", told, round(float(seconds), 2))


def _value(value: Any, slot: Slot, kind: QuestionType) -> Answer:
    letters = "ABCDE"[: len(slot.shown)]
    if kind == "scoring":
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 10:
            raise DataError(f"value must be a number from 0 to 10, got {value!r}")
        return float(value)
    if kind == "pairwise":
        if value not in ("A", "B"):
            raise DataError(f"value must be A or B, got {value!r}")
        return slot.shown[letters.index(value)]
    if not isinstance(value, str) or sorted(value) != list(letters):
        raise DataError(f"value must rank {', '.join(letters)}, got {value!r}")
    return "".join(slot.shown[letters.index(letter)] for letter in value)


def as_shown(value: Answer, slot: Slot) -> Answer:
    """A stored answer in the letters that the rater was shown."""
    if not isinstance(value, str) or value == FAILED:
        return value
    return "".join("ABCDE"[slot.shown.index(letter)] for letter in value if letter in slot.shown)
