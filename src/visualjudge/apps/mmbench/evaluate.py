"""Compare replies with answers: vanilla accuracy, CircularEval, and the share of
replies that could be read. The figures with intervals are in ``scores.py``.

With ``strict``, every row with an answer counts, whether or not there is a reply. A
question counts in CircularEval only if all its rotations are in the data and have
replies; otherwise it is listed as invalid. With ``vlmevalkit``, the rows of the results
file count, with the rotations that are present, as in VLMEvalKit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from visualjudge.apps.mmbench.reply_reading import (
    ChoiceReading,
    read_several,
    read_strict,
)
from visualjudge.apps.mmbench.table import (
    ROTATION,
    AnswerForm,
    Row,
    Rules,
    ScoredRow,
    Table,
)
from visualjudge.apps.mmbench.vlmevalkit_rules import (
    read_vlmevalkit,
    read_vlmevalkit_letters,
    read_vlmevalkit_list,
)
from visualjudge.core.errors import DataError

Matched = Mapping[int, str | None]
Reader = Callable[[str, Mapping[str, str]], ChoiceReading]
"""(reply, text of each option by letter) → the letters of the options that the reply
names, or None, and why.
"""
READERS: Mapping[tuple[Rules, AnswerForm], Reader] = {
    ("strict", "letter"): read_strict,
    ("strict", "letters"): read_several,
    ("strict", "list"): read_several,
    ("vlmevalkit", "letter"): read_vlmevalkit,
    ("vlmevalkit", "letters"): read_vlmevalkit_letters,
    ("vlmevalkit", "list"): read_vlmevalkit_list,
}


def reading_of(reply: str, row: Row, rules: Rules) -> ChoiceReading:
    """Return what a reply to a row names, read by the rules."""
    return READERS[rules, row.answer_form](reply, row.options)


@dataclass(frozen=True, slots=True)
class Group:
    """A question with all its rotations; ``hit`` is None if a rotation is missing
    (``missing`` names them).
    """

    index: int
    rows: tuple[ScoredRow, ...]
    hit: bool | None
    missing: tuple[int, ...] = ()

    @property
    def row(self) -> Row:
        """The row with the lowest index: where the group counts."""
        return self.rows[0].row


@dataclass(frozen=True, slots=True)
class Difference:
    """A reply that the two sets of rules read differently."""

    row: Row
    prediction: str
    strict: ChoiceReading
    vlmevalkit: ChoiceReading


@dataclass(frozen=True, slots=True)
class Slice:
    """A subset of an evaluation's rows, with the groups that belong to it."""

    rows: list[ScoredRow]
    groups: list[Group]

    def by(self, key: Callable[[Row], str]) -> dict[str, Slice]:
        """Return its parts by a field of their row, sorted by name."""
        parts = {
            name: Slice([], [])
            for name in sorted({key(line.row) for line in self.rows})
        }
        for line in self.rows:
            parts[key(line.row)].rows.append(line)
        for group in self.groups:
            parts[key(group.row)].groups.append(group)
        return parts


@dataclass(frozen=True)
class Evaluation:
    """The evaluation of one results file with one table."""

    rules: Rules
    rows: tuple[ScoredRow, ...]
    groups: tuple[Group, ...]
    differences: tuple[Difference, ...] = ()
    # Indices of replies that the table does not have.
    unknown: tuple[int, ...] = ()
    # Replies that the LLM matcher read where the rules found nothing.
    matched: int = 0

    @property
    def whole(self) -> Slice:
        """Return all rows and groups."""
        return Slice(list(self.rows), list(self.groups))

    @property
    def invalid(self) -> tuple[Group, ...]:
        """Groups that lack a rotation, in order of their index."""
        return tuple(
            sorted(
                (g for g in self.groups if g.hit is None),
                key=lambda group: group.index,
            )
        )


def evaluate(
    table: Table,
    predictions: Mapping[int, str],
    rules: Rules = "strict",
    *,
    matched: Matched | None = None,
) -> Evaluation:
    """Read every reply and compare it with the answer of its row.

    Parameters
    ----------
    predictions
        Replies by index; a missing index means no reply, ``""`` an empty one.
    matched
        Results of an LLM matcher for replies that the rules could not read, by index.

    Raises
    ------
    DataError
        If no row of the table has an answer.
    """
    if not any(row.answer for row in table.rows):
        raise DataError(
            f"{table.path}: must have answers to score against, got none (a test "
            "split?)"
        )
    kit = rules == "vlmevalkit"
    scored = {
        row.index: replace(
            _score(row, predictions.get(row.index), rules, matched or {}),
            image=table.image_text(row),
        )
        for row in table.rows
        if (row.index in predictions if kit else row.answer)
    }
    return Evaluation(
        rules,
        tuple(scored.values()),
        tuple(_groups(table, scored, rules)),
        differences=tuple(_differences(scored.values())) if kit else (),
        unknown=tuple(
            sorted(
                index for index in predictions if index not in table.by_index
            )
        ),
        matched=sum(line.why == MATCHED for line in scored.values()),
    )


MATCHED = "read by the matcher"


def _score(
    row: Row, prediction: str | None, rules: Rules, matched: Matched
) -> ScoredRow:
    if prediction is None:
        return ScoredRow(row, None, None, "no reply", False)
    reading = reading_of(prediction, row, rules)
    if reading.letter is None and matched.get(row.index) in row.options:
        reading = ChoiceReading(matched[row.index], MATCHED)
    return ScoredRow(
        row,
        prediction,
        reading.letter,
        reading.why,
        bool(row.answer) and reading.letter == row.answer,
    )


def _groups(
    table: Table, scored: Mapping[int, ScoredRow], rules: Rules
) -> Iterator[Group]:
    """Yield one group per question, with its rotations. By the strict rules, only where
    the table holds rotations, of which none may be missing; by VLMEvalKit's, none for a
    question whose original row has no reply."""
    strict = rules == "strict"
    if strict and not any(row.rotation for row in table.rows):
        return
    members: dict[int, list[ScoredRow]] = defaultdict(list)
    for _, line in sorted(scored.items()):
        members[line.row.group].append(line)
    for index, lines in members.items():
        replied = {
            line.row.rotation for line in lines if line.prediction is not None
        }
        due = range(
            max(len(line.row.options) for line in lines) if strict else 0
        )
        missing = tuple(index + k * ROTATION for k in due if k not in replied)
        if strict or index in scored:
            yield Group(
                index,
                tuple(lines),
                None if missing else all(x.hit for x in lines),
                missing,
            )


def _differences(scored: Iterable[ScoredRow]) -> Iterator[Difference]:
    for line in scored:
        if line.prediction is None:
            continue
        strict = reading_of(line.prediction, line.row, "strict")
        kit = reading_of(line.prediction, line.row, "vlmevalkit")
        if strict.letter != kit.letter:
            yield Difference(line.row, line.prediction, strict, kit)
