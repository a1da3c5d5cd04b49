"""The rows of a table of verdicts as questions and what judges said of them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from visualjudge.apps.adopt.answers import (
    GRADES,
    LETTER_OF,
    Models,
    is_answer,
    is_missing,
    is_number,
    letter_of,
    order_of,
)
from visualjudge.apps.adopt.columns import RATER
from visualjudge.apps.adopt.confidence import ROLE, confidence_of, form_of
from visualjudge.apps.adopt.criteria import TRUE, values_of
from visualjudge.apps.adopt.files import Row
from visualjudge.apps.adopt.items import Item, Option, Reply, Scale, on_ten
from visualjudge.core.records import (
    FAILED,
    TIES,
    TURNED,
    UNKNOWN,
    Answer,
    Order,
)
from visualjudge.judges.panel import majority
from visualjudge.prompts.rubric import Rubric

TASK = "verdicts"
FAILURE = -1
"""What many tools write where a reply could not be read."""
TOKENS = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
TEXTS = (
    *(
        "item",
        "group",
        "model",
        "model_a",
        "model_b",
        "order",
        "repeat",
        "reply",
    ),
    *TOKENS.values(),
)
"""Roles whose cells are text, or missing."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What a row says: its question, the judge, the reply, and the order shown, None if
    unknown."""

    row: Row
    item: Item
    judge: str
    reply: Reply
    shown: Order | None


@dataclass(slots=True)
class Table:
    """Rows with their cells by role, and how to read them.

    Parameters
    ----------
    name
        Name of the file, or of the first of several.
    columns
        The column of each role.
    answers
        Meaning of values: the user's, and of grades.
    judge
        The judge of rows that name none.
    replies
        Whether replies are read.
    rubric
        The criteria of columns.
    """

    name: str
    rows: Sequence[Row]
    columns: Mapping[str, str]
    answers: Mapping[str, str]
    scale: Scale
    pairs: bool
    judge: str
    replies: bool
    rubric: Rubric | None = None
    questions: dict[tuple[str, ...], tuple[Item, Row]] = field(
        default_factory=dict
    )
    groups: dict[tuple[str, str], str] = field(default_factory=dict)
    """The first group of each task and item."""
    in_several: set[str] = field(default_factory=set)
    """Items that stand in several groups, each of which has a question of its own."""

    @property
    def without_truth(self) -> bool:
        """Whether no column holds a truth."""
        scored = set(self.columns) >= {"score_a", "score_b"}
        return not ("truth" in self.columns or scored or self.raters)

    @property
    def raters(self) -> list[str]:
        """The roles of people's votes."""
        return [role for role in self.columns if role.startswith(RATER)]

    @property
    def names(self) -> dict[str, str]:
        """What words of the user's own mean in replies."""
        meanings = self.answers.items() if self.pairs else ()
        return {
            text: to
            for text, to in meanings
            if to != FAILED and not is_number(text)
        }

    def answered(self) -> Iterator[Answered]:
        """Yield what each row says."""
        form = form_of(self.rows) if ROLE in self.columns else "probabilities"
        for row in self.rows:
            item, turned = self._question(row)
            order = None
            if self.pairs and row.get("order") is not None:
                order = self._order(row)
            counts = {name: _count(row, role) for name, role in TOKENS.items()}
            reply = Reply(
                item.key,
                "BA" if (order == "BA") != turned else "AB",
                self._verdict(row, turned) if "verdict" in row else None,
                row.get("reply") if self.replies else None,
                finish_reason=str(row.get("finish_reason") or "stop"),
                repeat=_count(row, "repeat") or 0,
                usage={name: n for name, n in counts.items() if n is not None}
                or None,
                confidence=confidence_of(row, form),
                criteria=values_of(self.rubric, row, turned),
            )
            judge = str(row.get("judge") or self.judge).strip()
            yield Answered(row, item, judge, reply, order)

    def _question(self, row: Row) -> tuple[Item, bool]:
        """Return the question of a row, and whether the row has its options in the
        other order."""
        names = models_of(row) if self.pairs else (row.get("model"),)
        task = str(row.get("task") or TASK)
        name = row.get("item") or row.place.removeprefix(f"{self.name}: ")
        group = row.get("group") or ""
        first = self.groups.setdefault((task, name), group) if group else group
        if group != first:
            self.in_several.add(name)
        key = (task, name, *({group} - {first}), *sorted(map(str, names)))
        truth = self._truth(row)
        if key not in self.questions:
            self.questions[key] = self._item(row, key, truth), row
        item, before = self.questions[key]
        stored = tuple(option.source for option in item.options)
        turned = self.pairs and names != stored
        if (TURNED.get(str(truth), truth) if turned else truth) != item.answer:
            exchanged = (
                "; model_a and model_b are exchanged here" if turned else ""
            )
            raise row.fault(
                "truth",
                f"must be the same in all rows of a question; item {name!r} has "
                f"{_named(item.answer, stored)} in {before.place} and "
                f"{_named(truth, names)} here{exchanged}",
            )
        if values_of(self.rubric, row, turned, TRUE) != item.criteria:
            raise row.fault(
                "truth",
                "of each criterion must be the same in all rows of a question; item "
                f"{name!r} has others in {before.place}",
            )
        return item, turned

    def _item(self, row: Row, key: Sequence[str], truth: Answer) -> Item:
        names = models_of(row) if self.pairs else (row.get("model"),)
        scores = [self.score(row, role) for role in ("score_a", "score_b")]
        known = [
            on_ten(score, self.scale) for score in scores if score is not None
        ]
        texts = (str(row.get(role) or "") for role in ("text_a", "text_b"))
        return Item(
            "\0".join(key),
            key[0],
            row.get("group") or key[1],
            str(row.get("request") or key[1]),
            tuple(
                Option(text, source=name)
                for text, name in zip(texts, names, strict=False)
            ),
            truth,
            tuple(known) if self.pairs and len(known) == 2 else None,
            TIES if self.pairs else (),
            kind="pairwise" if self.pairs else "scoring",
            scale=self.scale,
            criteria=values_of(self.rubric, row, False, TRUE),
            votes=self._votes(row),
        )

    def _truth(self, row: Row) -> Answer:
        if self.without_truth:
            return UNKNOWN
        if self.raters and "truth" not in self.columns:
            return of_votes(self._votes(row))
        if self.pairs and "truth" in row:
            return self._letter(row, "truth")
        roles = ("score_a", "score_b") if self.pairs else ("truth",)
        scores = {role: self.score(row, role) for role in roles}
        known = [score for score in scores.values() if score is not None]
        if len(known) < len(roles):
            lacking = next(role for role in roles if scores[role] is None)
            raise row.fault(lacking, "must be a number, got nothing")
        if not self.pairs:
            return on_ten(known[0], self.scale)
        return "tie" if known[0] == known[1] else "AB"[known[0] < known[1]]

    def _votes(self, row: Row) -> tuple[Answer, ...]:
        """Return what people said of a row's question, without empty cells."""
        if self.pairs:
            letters = [self._letter(row, role) for role in self.raters]
            return tuple(letter for letter in letters if letter != FAILED)
        scores = [self.score(row, role) for role in self.raters]
        return tuple(
            on_ten(score, self.scale) for score in scores if score is not None
        )

    def _verdict(self, row: Row, turned: bool) -> Answer:
        if self.pairs:
            letter = self._letter(row, "verdict")
            return TURNED.get(letter, letter) if turned else letter
        score = self.score(row, "verdict")
        return FAILED if score is None else score

    def _letter(self, row: Row, role: str) -> str:
        try:
            return letter_of(row.get(role), models_of(row), self.answers)
        except ValueError as error:
            raise row.fault(role, error) from None

    def _order(self, row: Row) -> Order:
        try:
            return order_of(row["order"], models_of(row), self.columns["order"])
        except ValueError as error:
            raise row.fault("order", error) from None

    def score(self, row: Row, role: str) -> float | None:
        """Return a score on the table's scale; None if the cell is empty."""
        low, high = self.scale
        value = row.get(role)
        text = meaning(value, self.answers)
        if is_missing(text):
            return None
        if not is_number(text):
            point = " with a decimal point" if "," in text else ""
            raise row.fault(
                role,
                f"must be a number{point}, got {value!r}; --answer "
                f"{shlex.quote(f'{text}=NUMBER')} says what it means, --column "
                f"{role}=NAME names another column",
            )
        number = float(text)
        if not low <= number <= high:
            likely = f"--score-range 0 {10 if number <= 10 else 100} reads it"
            hint = likely if high < number <= 100 else "see --score-range"
            if number == FAILURE:
                hint = (
                    f"--answer {FAILURE}={FAILED} reads it as a failed verdict"
                )
            raise row.fault(
                role, f"must be from {low:g} to {high:g}, got {value!r}; {hint}"
            )
        return number


def _count(row: Row, role: str) -> int | None:
    value = row.get(role)
    if value is None:
        return None
    number = float(value) if is_number(value) else -1.0
    if not (0 <= number < 2**53 and number.is_integer()):
        raise row.fault(
            role, f"must be a whole number from 0, got {str(value)[:40]!r}"
        )
    return int(number)


def models_of(row: Row) -> Models:
    """Return the two sources of a pairwise row."""
    return row.get("model_a"), row.get("model_b")


def meaning(value: Any, answers: Mapping[str, str]) -> str:
    """Return the text of a cell, or what the user says that it means."""
    text = str(value).strip()
    return answers.get(text, text)


def of_votes(votes: Sequence[Answer]) -> Answer:
    """Return the mean of scores, or the choice of most; a tie if two have as many."""
    numbers = [vote for vote in votes if not isinstance(vote, str)]
    if numbers:
        return round(sum(numbers) / len(numbers), 9)
    return majority(votes, "pairwise") or "tie"


def _named(answer: Answer, models: tuple[str | None, ...]) -> str:
    """Return an answer for a message: a letter with the source that it means."""
    model = models["AB".index(answer)] if answer in ("A", "B") else None
    return repr(answer) if model is None else f"{answer!r} ({model})"


def is_pairs(
    columns: Mapping[str, str], verdicts: set[str], truths: set[str]
) -> bool:
    """Return whether the verdicts choose between two options: both sources are named,
    or no verdict (without verdicts, no truth) is a number or a grade.
    """
    if {"model_b", "text_b"} & set(columns) or any(map(is_answer, verdicts)):
        return True
    # "7,5", "75%" and "8/10" are scores, too
    numbers = (
        value.replace(",", ".").strip("% ").partition("/")[0]
        for value in verdicts - {"0"}
    )
    if any(is_number(value) and value not in LETTER_OF for value in numbers):
        return False  # 7 is a score, whatever the truth is
    return not all(
        is_number(value) or value.lower() in GRADES
        for value in truths or verdicts
    )
