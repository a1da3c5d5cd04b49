"""The rows of a table as questions and verdicts."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import polars as pl

from visualjudge.apps.adopting.answers import (
    GRADES,
    MISSING,
    Models,
    is_letter,
    is_missing,
    is_number,
    letter_of,
    order_of,
)
from visualjudge.apps.published.reading import Item, Option
from visualjudge.core.errors import DataError
from visualjudge.core.records import FAILED, TURNED, UNKNOWN, Answer, Order, Verdict

TASK = "verdicts"
TOKENS = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
TEXTS = (
    *("item", "group", "model", "model_a", "model_b", "order", "repeat", "reply"),
    *TOKENS.values(),
)
"""Roles whose cells are read as text, or as missing."""


def with_texts(taken: pl.DataFrame) -> pl.DataFrame:
    """Return the cells of :data:`TEXTS` as text, and None where they say that there is none."""
    return taken.with_columns(_texts(taken[role]) for role in TEXTS if role in taken.columns)


def _texts(cells: pl.Series) -> pl.Series:
    if cells.dtype != pl.String:
        told = [None if value is None else str(value) for value in cells]
        cells = pl.Series(cells.name, told, pl.String)
    return cells.set(cells.str.strip_chars().str.to_lowercase().is_in(list(MISSING)), None)


@dataclass(slots=True)
class Asked:
    """One question of the table: its sources as stored, and the first row that states it."""

    id: str
    item: Item
    models: tuple[str | None, ...]
    row: int


@dataclass(slots=True)
class Table:
    """The rows with their cells by role, and the user's options for reading them."""

    files: Sequence[tuple[int, str]]
    """Names of the files, each with the index of its first row."""
    rows: Sequence[Mapping[str, Any]]
    numbers: Sequence[int]
    """File index of each row."""
    columns: Mapping[str, str]
    answers: Mapping[str, str]
    scale: tuple[float, float]
    pairs: bool
    graded: bool
    """Whether verdicts are grades, such as pass and fail."""
    letters_shown: bool = False
    """Whether letters of verdicts refer to the order shown rather than to the columns."""
    questions: dict[tuple[Any, ...], Asked] = field(default_factory=dict)
    letters: dict[tuple[Any, Models], str] = field(default_factory=dict)
    """Meanings of the cells read so far."""
    lettered: dict[tuple[Any, Models], bool] = field(default_factory=dict)
    orders: dict[tuple[Any, Models], Order] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the name of the file, or of the first of several."""
        return self.files[0][1] if len(self.files) == 1 else f"{self.files[0][1]} and others"

    @property
    def without_truth(self) -> bool:
        """Return whether no column holds a truth."""
        return "truth" not in self.columns and not set(self.columns) >= {"score_a", "score_b"}

    def row(self, place: int) -> str:
        """Return file and row for a message; the header is row 1."""
        first, name = max(file for file in self.files if file[0] <= self.numbers[place])
        return f"{name}: row {self.numbers[place] - first + 2}"

    def where(self, place: int, role: str) -> str:
        """Return file, row and column for a message."""
        return f"{self.row(place)}: {self.columns.get(role, role)}"

    def letter(self, value: Any, models: Models, place: int, role: str) -> str:
        """Return the answer in a cell of a pair; "Failed" if there is none."""
        key = value, models
        if key not in self.letters:
            try:
                self.letters[key] = letter_of(value, models, self.answers, "")
            except DataError as error:
                raise DataError(f"{self.where(place, role)}{error}") from None
        return self.letters[key]

    def score(self, value: Any, place: int, role: str) -> float | None:
        """Return a cell on the table's scale as a score from 0 to 10; None if it is empty."""
        text = str(value).strip()
        if is_missing(value) and not (self.graded and text.lower() == "failed"):
            return None
        low, high = self.scale
        text = self.answers.get(text, text)
        if self.graded and text.lower() in GRADES:
            number = low + GRADES[text.lower()] * (high - low)
        elif is_number(text):
            number = float(text)
        elif is_number(text.replace(",", ".")):
            raise DataError(
                f"{self.where(place, role)} must be a number with a decimal point, got {value!r}; "
                "replace the commas"
            )
        else:
            raise DataError(
                f"{self.where(place, role)} must be a number, got {value!r}; --answer "
                f"{shlex.quote(f'{text}=NUMBER')} says what it means, --column {role}=NAME names "
                "another column"
            )
        if not low <= number <= high:
            raise DataError(
                f"{self.where(place, role)} must be from {low:g} to {high:g}, got {value!r}; see "
                "--score-range"
            )
        return round((number - low) / (high - low) * 10, 9)


def count_of(table: Table, place: int, row: Mapping[str, Any], role: str) -> int:
    """Return a count from a cell; 0 if it is empty."""
    value = row.get(role)
    if value is None:
        return 0
    number = float(value) if is_number(value) else -1.0
    if number < 0 or number != int(number):
        raise DataError(f"{table.where(place, role)} must be a whole number from 0, got {value!r}")
    return int(number)


def asked_of(table: Table, place: int, row: Mapping[str, Any]) -> tuple[Asked, bool]:
    """Return the question of a row, and whether the row has its options in the other order."""
    names = sources_of(table, row)
    task = str(row.get("task") or TASK)
    item = row.get("item") or f"row {table.numbers[place] + 2}"
    key = (task, item, _sorted(names))
    known = table.questions.get(key)
    turned = known is not None and table.pairs and names != known.models
    truth = _truth(table, place, row, names)
    if known is None:
        made = _item(table, place, row, task, item, key, truth)
        known = Asked(_identity(made.key), made, names, place)
        table.questions[key] = known
    elif (TURNED.get(str(truth), truth) if turned else truth) != known.item.answer:
        exchanged = "; model_a and model_b are exchanged here" if turned else ""
        raise DataError(
            f"{table.where(place, 'truth')} must be the same in all rows of a question; item "
            f"{item!r} has {_named(known.item.answer, known.models)} in {table.row(known.row)} "
            f"and {_named(truth, names)} here{exchanged}"
        )
    return known, turned


def _named(answer: Answer, models: tuple[str | None, ...]) -> str:
    """Return an answer for a message: a letter with the source that it means."""
    model = models["AB".index(answer)] if answer in ("A", "B") else None
    return repr(answer) if model is None else f"{answer!r} ({model})"


def _truth(
    table: Table, place: int, row: Mapping[str, Any], names: tuple[str | None, ...]
) -> Answer:
    if table.without_truth:
        return UNKNOWN
    if not table.pairs:
        score = table.score(row.get("truth"), place, "truth")
        if score is None:
            raise DataError(f"{table.where(place, 'truth')} must be a number, got nothing")
        return score
    if "truth" in row:
        letter = table.letter(row["truth"], (names[0], names[1]), place, "truth")
        if letter == FAILED:
            raise DataError(
                f"{table.where(place, 'truth')} must be A, B, tie or both_bad, got nothing"
            )
        return letter
    a, b = (table.score(row.get(role), place, role) for role in ("score_a", "score_b"))
    if a is None or b is None:
        raise DataError(
            f"{table.where(place, 'score_a' if a is None else 'score_b')} must be a number, got "
            "nothing"
        )
    return "tie" if a == b else "A" if a > b else "B"


def _item(
    table: Table,
    place: int,
    row: Mapping[str, Any],
    task: str,
    item: str,
    key: tuple[Any, ...],
    truth: Answer,
) -> Item:
    models = sources_of(table, row)
    texts = (row.get("text_a"), row.get("text_b")) if table.pairs else (row.get("text_a"),)
    scores = (
        tuple(table.score(row.get(role), place, role) for role in ("score_a", "score_b"))
        if table.pairs and "score_a" in row
        else ()
    )
    return Item(
        key="\0".join((task, item, *key[2])),
        task=task,
        cluster=row.get("group") or item,
        request=str(row.get("request") or item),
        options=tuple(
            Option(str(text or ""), source=model) for model, text in zip(models, texts, strict=True)
        ),
        answer=truth,
        scores=tuple(score for score in scores if score is not None)
        if scores and None not in scores
        else None,
        kind="pairwise" if table.pairs else "scoring",
    )


def shown_order(table: Table, place: int, row: Mapping[str, Any]) -> Order | None:
    """Return the order in which the row's options were shown; None if unknown."""
    stated = row.get("order")
    if not table.pairs or stated is None:
        return None
    key = stated, models_of(row)
    if key not in table.orders:
        try:
            table.orders[key] = order_of(*key, table.columns["order"])
        except DataError as error:
            raise DataError(f"{table.where(place, 'order')}{error}") from None
    return table.orders[key]


def models_of(row: Mapping[str, Any]) -> Models:
    """Return the two sources of a pairwise row."""
    return row.get("model_a"), row.get("model_b")


def sources_of(table: Table, row: Mapping[str, Any]) -> tuple[str | None, ...]:
    """Return the sources of a row's options."""
    return models_of(row) if table.pairs else (row.get("model"),)


@lru_cache(maxsize=4096)
def _sorted(names: tuple[str | None, ...]) -> tuple[str, ...]:
    """Return sorted names; tables name few sources in many rows."""
    return tuple(sorted(map(str, names)))


def verdict_of(
    table: Table,
    place: int,
    row: Mapping[str, Any],
    asked: Asked,
    order: Order,
    repeat: int,
    turned: bool,
    shown: Order | None,
) -> Verdict:
    """Return the table's own verdict in the letters of the stored question; ``shown`` is the order
    of the row.
    """
    value: Answer | None
    if table.pairs:
        models = (
            (asked.models[1], asked.models[0]) if turned else (asked.models[0], asked.models[1])
        )
        said = table.letter(row["verdict"], models, place, "verdict")
        if table.letters_shown and is_lettered(table, row):
            if shown is None:
                raise DataError(
                    f"{table.where(place, 'order')} must say which option was shown first, since "
                    "--letters is shown; got nothing"
                )
            said = TURNED.get(said, said) if shown == "BA" else said
        value = TURNED.get(said, said) if turned else said
    else:
        value = table.score(row["verdict"], place, "verdict")
    tokens = {
        name: count_of(table, place, row, role)
        for name, role in TOKENS.items()
        if row.get(role) is not None
    }
    failed = value is None or value == FAILED
    return Verdict(
        asked.id,
        order,
        FAILED if value is None else value,
        "unparseable" if failed else "ok",
        row.get("reply"),
        tokens or None,
        repeat=repeat,
        cause="not read by its authors" if failed else None,
    )


def is_lettered(table: Table, row: Mapping[str, Any]) -> bool:
    """Return whether the verdict of a row is a letter, which may refer to a position."""
    key = row["verdict"], models_of(row)
    if key not in table.lettered:
        text = str(key[0]).strip()
        table.lettered[key] = (is_letter(text) or text in table.answers) and text not in key[1]
    return table.lettered[key]


def _identity(key: str) -> str:
    """Return the id of the question with this key."""
    return hashlib.sha256(key.encode()).hexdigest()[:16]
