"""The rows of a table of verdicts as questions and what judges said of them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from visualjudge.apps.adopt.answers import (
    GRADES,
    MISSING,
    Models,
    is_letter,
    is_missing,
    is_number,
    letter_of,
    order_of,
)
from visualjudge.apps.adopt.items import Item, Option, Reply, Scale, on_ten
from visualjudge.core.errors import DataError
from visualjudge.core.records import FAILED, TIES, TURNED, UNKNOWN, Answer, Order

TASK = "verdicts"
TOKENS = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
TEXTS = (
    *("item", "group", "model", "model_a", "model_b", "order", "repeat", "reply", "finish_reason"),
    *TOKENS.values(),
)
"""Roles whose cells are read as text, or as missing."""
Cells = Mapping[str, Any]


def with_texts(cells: pl.DataFrame) -> pl.DataFrame:
    """Return the cells of :data:`TEXTS` as text, and None where they say that there is none."""
    return cells.with_columns(_texts(cells[role]) for role in TEXTS if role in cells.columns)


def _texts(cells: pl.Series) -> pl.Series:
    if cells.dtype != pl.String:
        texts = [None if value is None else str(value) for value in cells]
        cells = pl.Series(cells.name, texts, pl.String)
    return cells.set(cells.str.strip_chars().str.to_lowercase().is_in(list(MISSING)), None)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of the table: its sources as stored, and the first row that states it."""

    item: Item
    models: tuple[str | None, ...]
    row: int


@dataclass(frozen=True, slots=True)
class Answered:
    """A row: its question, the judge, what it said, and the order shown, None if unknown.

    ``lettered``: the verdict is a letter, which could refer to the order shown.
    """

    asked: Asked
    judge: str
    reply: Reply
    shown: Order | None
    lettered: bool


@dataclass(slots=True)
class Table:
    """The rows with their cells by role, and the user's options for reading them."""

    files: Sequence[tuple[int, str]]
    """Names of the files, each with the index of its first row."""
    rows: Sequence[Cells]
    numbers: Sequence[int]
    """File index of each row."""
    columns: Mapping[str, str]
    answers: Mapping[str, str]
    scale: Scale
    pairs: bool
    graded: bool
    """Whether verdicts are grades, such as pass and fail."""
    judge: str
    letters_shown: bool = False
    """Whether letters of verdicts refer to the order shown rather than to the columns."""
    replies: bool = True
    """Whether replies are read, so that they need no verdict beside them."""
    apart: frozenset[str] = frozenset()
    """Items that stand in several groups, each of which has a question of its own."""
    questions: dict[tuple[str, ...], Asked] = field(default_factory=dict)
    _cells: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    """Meanings of the cells read so far."""

    @property
    def name(self) -> str:
        """The name of the file, or of the first of several."""
        return self.files[0][1] if len(self.files) == 1 else f"{self.files[0][1]} and others"

    @property
    def without_truth(self) -> bool:
        """Whether no column holds a truth."""
        return "truth" not in self.columns and not set(self.columns) >= {"score_a", "score_b"}

    def row(self, place: int) -> str:
        """Return file and row for a message; the header is row 1."""
        first, name = max(file for file in self.files if file[0] <= self.numbers[place])
        return f"{name}: row {self.numbers[place] - first + 2}"

    def where(self, place: int, role: str) -> str:
        """Return file, row and column for a message."""
        return f"{self.row(place)}: {self.columns.get(role, role)}"

    def answered(self) -> Iterator[Answered]:
        """Yield what each row says."""
        for place, row in enumerate(self.rows):
            asked, turned = self._asked(place, row)
            shown = self._shown(place, row)
            lettered = self.pairs and self._is_lettered(row)
            order: Order = "BA" if (shown == "BA") != turned else "AB"
            tokens = {
                name: self._count(place, row, role)
                for name, role in TOKENS.items()
                if row.get(role)
            }
            reply = Reply(
                asked.item.key,
                order,
                self._verdict(place, row, asked, turned, shown, lettered),
                row.get("reply") if self.replies else None,
                finish_reason=row.get("finish_reason") or "stop",
                repeat=self._count(place, row, "repeat") if row.get("repeat") is not None else 0,
                usage=tokens or None,
            )
            yield Answered(asked, str(row.get("judge") or self.judge), reply, shown, lettered)

    # ------------------------------------------------------------ questions

    def _asked(self, place: int, row: Cells) -> tuple[Asked, bool]:
        """Return the question of a row, and whether the row has its options in the other order."""
        names = models_of(row) if self.pairs else (row.get("model"),)
        task = str(row.get("task") or TASK)
        item = row.get("item") or f"row {self.numbers[place] + 2}"
        group = [row.get("group") or ""] if item in self.apart else []
        key = (task, item, *group, *sorted(map(str, names)))
        truth = self._truth(place, row, names)
        known = self.questions.get(key)
        if known is None:
            made = self._item(place, row, "\0".join(key), truth)
            self.questions[key] = known = Asked(made, names, place)
            return known, False
        turned = self.pairs and names != known.models
        if (TURNED.get(str(truth), truth) if turned else truth) != known.item.answer:
            exchanged = "; model_a and model_b are exchanged here" if turned else ""
            raise DataError(
                f"{self.where(place, 'truth')} must be the same in all rows of a question; item "
                f"{item!r} has {_named(known.item.answer, known.models)} in {self.row(known.row)} "
                f"and {_named(truth, names)} here{exchanged}"
            )
        return known, turned

    def _item(self, place: int, row: Cells, key: str, truth: Answer) -> Item:
        sides = ("_a", "_b") if self.pairs else ("_a",)
        names = models_of(row) if self.pairs else (row.get("model"),)
        item = row.get("item") or f"row {self.numbers[place] + 2}"
        texts = (str(row.get(f"text{side}") or "") for side in sides)
        scores = [self.score(row.get(f"score{side}"), place, f"score{side}") for side in sides]
        known = [on_ten(score, self.scale) for score in scores if score is not None]
        return Item(
            key=key,
            task=str(row.get("task") or TASK),
            cluster=row.get("group") or item,
            request=str(row.get("request") or item),
            options=tuple(
                Option(text, source=name) for text, name in zip(texts, names, strict=True)
            ),
            answer=truth,
            scores=tuple(known) if self.pairs and len(known) == 2 else None,
            ties=TIES if self.pairs else (),
            kind="pairwise" if self.pairs else "scoring",
            scale=self.scale,
        )

    def _truth(self, place: int, row: Cells, names: tuple[str | None, ...]) -> Answer:
        if self.without_truth:
            return UNKNOWN
        if self.pairs and "truth" in row:
            letter = self._letter(row["truth"], (names[0], names[1]), place, "truth")
            if letter == FAILED:
                where = self.where(place, "truth")
                raise DataError(f"{where} must be A, B, tie or both_bad, got nothing")
            return letter
        roles = ("score_a", "score_b") if self.pairs else ("truth",)
        scores = []
        for role in roles:
            score = self.score(row.get(role), place, role)
            if score is None:
                raise DataError(f"{self.where(place, role)} must be a number, got nothing")
            scores.append(score)
        if not self.pairs:
            return on_ten(scores[0], self.scale)
        return "tie" if scores[0] == scores[1] else "AB"[scores[0] < scores[1]]

    # ------------------------------------------------------------ cells

    def _verdict(
        self,
        place: int,
        row: Cells,
        asked: Asked,
        turned: bool,
        shown: Order | None,
        lettered: bool,
    ) -> Answer | None:
        """Return the verdict of a row in the letters of the stored question, or on its scale."""
        if not self.pairs:
            return self.score(row.get("verdict"), place, "verdict")
        models = models_of(row)
        letter = self._letter(row.get("verdict"), models, place, "verdict")
        if self.letters_shown and lettered:
            if shown is None:
                raise DataError(
                    f"{self.where(place, 'order')} must say which option was shown first, since "
                    "--letters is shown; got nothing"
                )
            letter = TURNED.get(letter, letter) if shown == "BA" else letter
        return TURNED.get(letter, letter) if turned else letter

    def _letter(self, value: Any, models: Models, place: int, role: str) -> str:
        """Return the answer in a cell of a pair; "Failed" if there is none."""
        letter: str = self._once(letter_of, (value, models), place, role, (self.answers, ""))
        return letter

    def _shown(self, place: int, row: Cells) -> Order | None:
        """Return the order in which the row's options were shown; None if unknown."""
        if not self.pairs or row.get("order") is None:
            return None
        key = row["order"], models_of(row)
        order: Order = self._once(order_of, key, place, "order", (self.columns["order"],))
        return order

    def _once(
        self,
        meaning: Callable[..., Any],
        key: tuple[Any, Models],
        place: int,
        role: str,
        options: tuple[Any, ...],
    ) -> Any:
        """Return what a cell means; equal cells are read once."""
        found = self._cells.get((meaning, *key))
        if found is None:
            try:
                found = self._cells[meaning, *key] = meaning(*key, *options)
            except DataError as error:
                raise DataError(f"{self.where(place, role)}{error}") from None
        return found

    def _is_lettered(self, row: Cells) -> bool:
        """Return whether the verdict of a row is a letter, which may refer to a position."""
        text = str(row.get("verdict")).strip()
        return (is_letter(text) or text in self.answers) and text not in models_of(row)

    def score(self, value: Any, place: int, role: str) -> float | None:
        """Return a score on the table's scale; None if the cell is empty."""
        text = str(value).strip()
        if is_missing(value) and not (self.graded and text.lower() == "failed"):
            return None
        low, high = self.scale
        text = self.answers.get(text, text)
        if text == FAILED:
            return None
        if self.graded and text.lower() in GRADES:
            return low + GRADES[text.lower()] * (high - low)
        where = self.where(place, role)
        if not is_number(text):
            comma = is_number(text.replace(",", "."))
            raise DataError(
                f"{where} must be a number with a decimal point, got {value!r}; replace the commas"
                if comma
                else f"{where} must be a number, got {value!r}; --answer "
                f"{shlex.quote(f'{text}=NUMBER')} says what it means, --column {role}=NAME names "
                "another column"
            )
        number = float(text)
        if not low <= number <= high:
            likely = "--score-range 0 100 reads scores up to 100"
            hint = likely if high < number <= 100 else "see --score-range"
            raise DataError(f"{where} must be from {low:g} to {high:g}, got {value!r}; {hint}")
        return number

    def _count(self, place: int, row: Cells, role: str) -> int:
        value = row[role]
        number = float(value) if is_number(value) else -1.0
        if number < 0 or number != int(number):
            raise DataError(
                f"{self.where(place, role)} must be a whole number from 0, got {value!r}"
            )
        return int(number)


def models_of(row: Cells) -> Models:
    """Return the two sources of a pairwise row."""
    return row.get("model_a"), row.get("model_b")


def _named(answer: Answer, models: tuple[str | None, ...]) -> str:
    """Return an answer for a message: a letter with the source that it means."""
    model = models["AB".index(answer)] if answer in ("A", "B") else None
    return repr(answer) if model is None else f"{answer!r} ({model})"
