"""Select questions of a dataset by field, by condition, or as a sample balanced over
tasks and encodings. The studio's selections are in ``studio/selection.py``.
"""

import operator
import re
from array import array
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import fields
from difflib import get_close_matches
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from visualjudge.core.errors import DataError, UsageError, one_of
from visualjudge.core.records import Question
from visualjudge.core.seeding import rng_for
from visualjudge.core.untrusted import text_lines
from visualjudge.dataset.question_storage import Positions, View, columns
from visualjudge.options import Choice, Selection
from visualjudge.vision.encodings import CATALOGUE

Condition = Callable[[Question], bool]
Cell = tuple[Any, ...]
"""Task, encoding and question type."""
_CELL_PARTS = 3
_CONDITION = re.compile(
    r"\s*([A-Za-z_]+)\s*(!=|>=|<=|=|>|<|~)\s*(.*?)\s*", re.DOTALL
)
_ORDERED: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
}
_NULL = "null"
_WORD = re.compile("[a-z]+|[0-9]+")


def margin(question: Question) -> float | None:
    """Return the smallest difference between the scores of two options (0 to 10), or
    None for a scoring question.
    """
    scores = sorted(question.final_scores)
    return min((high - low for low, high in pairwise(scores)), default=None)


_DERIVED: dict[str, Callable[[Question], Any]] = {
    "margin": margin,
    "type": lambda question: question.question_type,
    "n_options": lambda question: len(question.annotation_ids),
    "source": lambda question: question.sources,
}
_HIDDEN = {"features", "spans", "probe", "faults"}
FIELDS = (
    *(field.name for field in fields(Question) if field.name not in _HIDDEN),
    *_DERIVED,
)
"""Fields that a condition may use."""


def read_ids(path: Path) -> tuple[str, ...]:
    """Read the ids in a file, one per line.

    Raises
    ------
    UsageError
        If the file cannot be read or contains no ids.
    """
    try:
        ids = tuple(
            dict.fromkeys(filter(None, map(str.strip, text_lines(path))))
        )
    except DataError as error:
        raise UsageError(
            f"`questions`: {path}: must be a text file of ids, one per line: {error}"
        ) from None
    if not ids:
        raise UsageError(f"`questions`: {path}: must contain at least one id")
    return ids


def chosen(
    questions: Sequence[Question], choice: Selection
) -> Sequence[Question]:
    """Return the questions of a part or choice, in order. For a dataset on disk, only
    their positions are stored.

    Raises
    ------
    UsageError
        If a name occurs in no question, a condition is invalid, or no question is left.
    """
    positions = _fitting(questions, choice)
    if isinstance(choice, Choice):
        if choice.sample is not None:
            positions = sample_positions(
                questions, positions, choice.sample, choice.seed
            )
        positions = positions[: choice.limit]
    if questions and not positions:
        for text in choice.where:
            _refuse_where_none_fits(questions, text)
        raise UsageError(
            "no question of the dataset matches all of `tasks`, `encodings`, `types`, "
            "`subsets`, `where` and `questions`"
        )
    return View(questions, lambda _: positions)


def _fitting(questions: Sequence[Question], choice: Selection) -> Positions:
    conditions = [condition(text) for text in choice.where]
    named: dict[str, tuple[str, Sequence[str]]] = {
        "`tasks`": ("task", choice.tasks),
        "`encodings`": ("encoding", choice.encodings),
        "`types`": ("question_type", choice.types),
    }
    if isinstance(choice, Choice):
        listed = (
            read_ids(choice.questions)
            if choice.questions is not None
            else choice.ids or ()
        )
        named |= {
            "`subsets`": ("subset", choice.subsets),
            "`questions`": ("id", listed),
        }
    for option, (field, values) in named.items():
        if values:
            known = dict.fromkeys(
                name
                for (value,) in columns(questions, field)
                for name in _as_tuple(value)
            )
            for value in values:
                if value not in known:
                    meant = (
                        stem_named(value, known)
                        if option == "`encodings`"
                        else value
                    )
                    raise UsageError(
                        f"{option} must be {one_of(meant, known)}, got "
                        f"{value!r:.80}; the dataset has no others"
                    )
            conditions.append(has_value(field, frozenset(values)))
    if not conditions:
        return range(len(questions))
    fitting = (
        k
        for k, q in enumerate(questions)
        if all(fits(q) for fits in conditions)
    )
    return array("q", fitting)


def stem_named(text: str, stems: Collection[str]) -> str:
    """Return the encoding among ``stems`` whose title and style have most words of
    ``text``, as 0305 those of ``boxes+xyxy``; ``text`` itself if none has one, or it is
    nearly a stem.
    """
    if get_close_matches(text, stems, 1):
        return text
    wanted = set(_WORD.findall(text.lower()))
    best = text
    most = 0.0
    for row in CATALOGUE.values():
        own = set(_WORD.findall(f"{row.stem} {row.title} {row.style}".lower()))
        fit = len(wanted & own) + ("+" in text and row.kind == "combo") / 2
        if row.stem in stems and wanted & own and fit > most:
            best = row.stem
            most = fit
    return best


def sample_positions(
    questions: Sequence[Question],
    positions: Positions,
    number: int,
    seed: int = 42,
) -> Positions:
    """Draw ``number`` of ``positions`` so that tasks have equal shares, as do encodings
    and types within a task. Return them in ascending order.

    If a task, encoding or type has too few questions, the others fill its share. The
    same seed draws the same questions, and a larger number includes those of a smaller
    one.
    """
    shared: dict[Cell, Cell] = {}
    cells = [
        shared.setdefault(cell, cell)
        for cell in columns(questions, "task", "encoding", "question_type")
    ]
    shuffled = [
        positions[k]
        for k in rng_for(seed, "sample of questions").permutation(
            len(positions)
        )
    ]
    return array("q", sorted(islice(_in_turn(shuffled, cells), number)))


def _in_turn(
    positions: Sequence[int], cells: Sequence[Cell], depth: int = 0
) -> Iterator[int]:
    """Yield one position per group in turn until all are drawn. Within a group, the
    next part of the cell is treated in the same way.
    """
    if depth == _CELL_PARTS:
        yield from positions
        return
    groups: dict[str, list[int]] = defaultdict(list)
    for position in positions:
        groups[cells[position][depth]].append(position)
    waiting = deque(
        _in_turn(group, cells, depth + 1) for group in groups.values()
    )
    while waiting:
        first = waiting.popleft()
        for position in islice(first, 1):
            yield position
            waiting.append(first)


def condition(text: str) -> Condition:
    """Parse the condition ``FIELD=VALUE``; also ``!=``, ``<``, ``<=``, ``>``, ``>=``
    and ``~`` (contains).

    A field with several values (``sources``, ``annotation_ids`` …) matches if any of
    them does, and ``!=`` if none is equal. ``null`` stands for a missing value.

    Raises
    ------
    UsageError
        If there is no such field, or a number is compared with another type.
    """
    field, sign, value = _parsed(text)
    if field not in FIELDS:
        raise UsageError(
            f"`where` must name {one_of(field, FIELDS)}, got {field!r}"
        )
    number = _as_number(value)
    if sign in _ORDERED and number is None:
        raise UsageError(
            f"`where` {text}: {sign} must be followed by a number, got {value!r}"
        )
    fits = partial(_fits, sign, value, number)
    if sign == "!=":
        return lambda question: all(map(fits, _values(question, field)))
    return lambda question: any(map(fits, _values(question, field)))


def _refuse_where_none_fits(questions: Sequence[Question], text: str) -> None:
    """Raise an error with the field's values if no question fits the condition."""
    if not any(map(condition(text), questions)):
        field, _, value = _parsed(text)
        known = sorted(
            {
                str(item)
                for question in questions
                for item in _values(question, field)
            }
        )
        raise UsageError(
            f"`where` {text}: no question fits; {field} must be {one_of(value, known)}"
        )


def has_value(field: str, value: Any) -> Condition:
    """Return the condition that a field has the value, or one of a list of values.

    Raises
    ------
    UsageError
        If there is no such field.
    """
    if field not in FIELDS:
        raise UsageError(
            f"filter must name {one_of(field, FIELDS)}, got {field!r}"
        )
    wanted = (
        value if isinstance(value, list | tuple | set | frozenset) else [value]
    )
    return lambda question: any(
        item in wanted for item in _values(question, field)
    )


def _parsed(text: str) -> tuple[str, str, str]:
    parsed = _CONDITION.fullmatch(text)
    if parsed is None:
        raise UsageError(
            f"`where` must be FIELD=VALUE (or !=, <, <=, >, >=, ~), got {text!r}"
        )
    return parsed[1], parsed[2], parsed[3]


def _values(question: Question, field: str) -> tuple[Any, ...]:
    return _as_tuple(
        _DERIVED[field](question)
        if field in _DERIVED
        else getattr(question, field)
    )


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _fits(sign: str, value: str, number: float | None, item: Any) -> bool:
    if sign in _ORDERED:
        known = _as_number(item)
        return (
            known is not None
            and number is not None
            and _ORDERED[sign](known, number)
        )
    if sign == "~":
        return item is not None and value.lower() in str(item).lower()
    if value == _NULL or item is None:
        equal = value == _NULL and item is None
    else:
        equal = str(item) == value or (
            isinstance(item, int | float) and item == number
        )
    return equal is (sign == "=")


def _as_number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
