"""The rows of a table of verdicts as questions and what judges said of them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
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
    *("item", "group", "model", "model_a", "model_b", "order", "repeat", "reply"),
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
class Answered:
    """A row: its question, the judge, what it said, and the order shown, None if unknown.

    ``lettered``: the verdict is a letter, which could refer to the order shown.
    """

    item: Item
    judge: str
    reply: Reply
    shown: Order | None
    lettered: bool


@dataclass(slots=True)
class Table:
    """The rows with their cells by role, and the user's options for reading them.

    Parameters
    ----------
    files
        Names of the files, each with the index of its first row.
    numbers
        File index of each row.
    graded
        Whether verdicts are grades, such as pass and fail.
    letters_shown
        Whether letters of verdicts refer to the order shown rather than to the columns.
    replies
        Whether replies are read.
    apart
        Items that stand in several groups, each of which has a question of its own.
    """

    files: Sequence[tuple[int, str]]
    rows: Sequence[Cells]
    numbers: Sequence[int]
    columns: Mapping[str, str]
    answers: Mapping[str, str]
    scale: Scale
    pairs: bool
    graded: bool
    judge: str
    letters_shown: bool
    replies: bool
    apart: frozenset[str]
    questions: dict[tuple[str, ...], tuple[Item, int]] = field(default_factory=dict)

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

    @property
    def names(self) -> dict[str, str]:
        """What words of the user's own mean in replies."""
        meanings = self.answers.items() if self.pairs else ()
        return {text: to for text, to in meanings if to != FAILED and not is_number(text)}

    @contextmanager
    def _cell(self, place: int, role: str) -> Iterator[None]:
        """Begin the message of an error with the place of the cell."""
        try:
            yield
        except DataError as error:
            raise DataError(f"{self.where(place, role)}{error}") from None

    def answered(self) -> Iterator[Answered]:
        """Yield what each row says."""
        for place, row in enumerate(self.rows):
            item, turned = self._question(place, row)
            shown: Order | None = None
            if self.pairs and row.get("order") is not None:
                with self._cell(place, "order"):
                    shown = order_of(row["order"], models_of(row), self.columns["order"])
            text = str(row.get("verdict")).strip()
            lettered = is_letter(text) or text in self.answers
            lettered = self.pairs and lettered and text not in models_of(row)
            value: Answer | None = None
            if "verdict" in row:
                value = self._verdict(place, row, turned, shown, lettered)
            counts = {name: self._count(place, row, role) for name, role in TOKENS.items()}
            reply = Reply(
                item.key,
                "BA" if (shown == "BA") != turned else "AB",
                value,
                row.get("reply") if self.replies else None,
                finish_reason=str(row.get("finish_reason") or "stop"),
                repeat=self._count(place, row, "repeat") or 0,
                usage={name: n for name, n in counts.items() if n is not None} or None,
            )
            yield Answered(item, str(row.get("judge") or self.judge), reply, shown, lettered)

    def _question(self, place: int, row: Cells) -> tuple[Item, bool]:
        """Return the question of a row, and whether the row has its options in the other order."""
        names = models_of(row) if self.pairs else (row.get("model"),)
        task = str(row.get("task") or TASK)
        name = row.get("item") or f"row {self.numbers[place] + 2}"
        group = [row.get("group") or ""] if name in self.apart else []
        key = (task, name, *group, *sorted(map(str, names)))
        truth = self._truth(place, row)
        if key not in self.questions:
            scores = [self.score(place, row, role) for role in ("score_a", "score_b")]
            known = [on_ten(score, self.scale) for score in scores if score is not None]
            texts = (str(row.get(role) or "") for role in ("text_a", "text_b"))
            item = Item(
                "\0".join(key),
                task,
                row.get("group") or name,
                str(row.get("request") or name),
                tuple(Option(text, source=name) for text, name in zip(texts, names, strict=False)),
                truth,
                tuple(known) if self.pairs and len(known) == 2 else None,
                TIES if self.pairs else (),
                kind="pairwise" if self.pairs else "scoring",
                scale=self.scale,
            )
            self.questions[key] = item, place
        item, first = self.questions[key]
        stored = tuple(option.source for option in item.options)
        turned = self.pairs and names != stored
        if (TURNED.get(str(truth), truth) if turned else truth) != item.answer:
            exchanged = "; model_a and model_b are exchanged here" if turned else ""
            raise DataError(
                f"{self.where(place, 'truth')} must be the same in all rows of a question; item "
                f"{name!r} has {_named(item.answer, stored)} in {self.row(first)} "
                f"and {_named(truth, names)} here{exchanged}"
            )
        return item, turned

    def _truth(self, place: int, row: Cells) -> Answer:
        if self.without_truth:
            return UNKNOWN
        if self.pairs and "truth" in row:
            with self._cell(place, "truth"):
                letter = letter_of(row["truth"], models_of(row), self.answers, "")
                if letter == FAILED:
                    raise DataError(" must be A, B, tie or both_bad, got nothing")
                return letter
        scores = []
        for role in ("score_a", "score_b") if self.pairs else ("truth",):
            score = self.score(place, row, role)
            if score is None:
                raise DataError(f"{self.where(place, role)} must be a number, got nothing")
            scores.append(score)
        if not self.pairs:
            return on_ten(scores[0], self.scale)
        return "tie" if scores[0] == scores[1] else "AB"[scores[0] < scores[1]]

    def _verdict(
        self, place: int, row: Cells, turned: bool, shown: Order | None, lettered: bool
    ) -> Answer:
        """Return the verdict of a row in the letters of the stored question, or on its scale."""
        if not self.pairs:
            score = self.score(place, row, "verdict")
            return FAILED if score is None else score
        with self._cell(place, "verdict"):
            letter = letter_of(row["verdict"], models_of(row), self.answers, "")
        if self.letters_shown and lettered and shown is None:
            raise DataError(
                f"{self.where(place, 'order')} must say which option was shown first, since "
                "--letters is shown; got nothing"
            )
        other = (self.letters_shown and lettered and shown == "BA") != turned
        return TURNED.get(letter, letter) if other else letter

    def score(self, place: int, row: Cells, role: str) -> float | None:
        """Return a score on the table's scale; None if the cell is empty."""
        value = row.get(role)
        text = str(value).strip()
        if is_missing(value) and not (self.graded and text.lower() == "failed"):
            return None
        (low, high), text = self.scale, self.answers.get(text, text)
        if text == FAILED:
            return None
        if self.graded and text.lower() in GRADES:
            return low + GRADES[text.lower()] * (high - low)
        if not is_number(text):
            point = " with a decimal point" if "," in text else ""
            raise DataError(
                f"{self.where(place, role)} must be a number{point}, got {value!r}; "
                f"--answer {shlex.quote(f'{text}=NUMBER')} says what it means, --column "
                f"{role}=NAME names another column"
            )
        number = float(text)
        if not low <= number <= high:
            likely = high < number <= 100
            hint = "--score-range 0 100 reads up to 100" if likely else "see --score-range"
            raise DataError(
                f"{self.where(place, role)} must be from {low:g} to {high:g}, got {value!r}; {hint}"
            )
        return number

    def _count(self, place: int, row: Cells, role: str) -> int | None:
        value = row.get(role)
        if value is None:
            return None
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
