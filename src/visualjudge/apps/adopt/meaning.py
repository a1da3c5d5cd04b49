"""Third step: the rows of a table as questions and verdicts. Which column is what is in
``roles.py``; writing is in ``write.py``.
"""

import re
import shlex
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from sys import intern
from typing import Any

from visualjudge.analysis.figure_text import NO_TASK
from visualjudge.apps.adopt.adopted_question import (
    TEN,
    UNIT,
    Item,
    Option,
    Origin,
    Reply,
    Scale,
    on_ten,
)
from visualjudge.apps.adopt.cell_spellings import (
    GRADES,
    LETTER_OF,
    Models,
    is_answer,
    is_missing,
    is_number,
    letter_of,
    order_of,
    written_number,
)
from visualjudge.apps.adopt.confidence import ROLE, confidence_of, form_of
from visualjudge.apps.adopt.criteria import TRUE, rubric_of_rows, values_of
from visualjudge.apps.adopt.files import Records, Row
from visualjudge.apps.adopt.roles import RATER
from visualjudge.core.errors import DataError, UsageError, check_score_range
from visualjudge.core.jsons import Json
from visualjudge.core.plurals import pluralize
from visualjudge.core.records import (
    FAILED,
    TIES,
    TURNED,
    UNKNOWN,
    Answer,
    Order,
    Verdict,
)
from visualjudge.formats.outputs import warn_of_range
from visualjudge.formats.tables import whole
from visualjudge.judges.panel import majority
from visualjudge.prompts.rubric import Rubric
from visualjudge.replies import read_reply
from visualjudge.replies.criteria import split_criteria

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
NUMBERED = ("item", "group", "repeat")
"""Roles whose cells may be numbers, which data frames write as 1.0 beside a gap."""
FEW = 5
"""Number of duplicates that a message names."""
CHOICE = re.compile("winner|prefer|choice|chosen")
"""Names of columns that say which option was chosen."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What a row says: its question, the judge, the reply and its verdict, and the order
    shown, None if unknown."""

    row: Row
    item: Item
    judge: str
    reply: Reply
    shown: Order | None
    verdict: Verdict


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
    left_out
        Number of rows without a truth, which ``rows`` omits.
    letters
        The letter of the column of each source, by its name in lower case.
    """

    name: str
    rows: Sequence[Row]
    columns: Mapping[str, str]
    answers: Mapping[str, str]
    scale: Scale
    pairs: bool
    judge: str
    replies: bool
    rubric: Rubric | None
    left_out: int
    letters: Mapping[str, str]
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

    @property
    def origin(self) -> Origin:
        """Where the study comes from."""
        scale = {} if self.pairs else {"score_range": self.scale}
        askable = {"text_a", "text_b"} if self.pairs else {"text_a"}
        return Origin(
            "adopted",
            self.name,
            self.name,
            labels_only=not askable <= set(self.columns),
            left_out=self.left_out,
            options={"columns": dict(self.columns), **scale},
            rubric=self.rubric,
        )

    def items(self, judged: Sequence[Answered]) -> Iterator[Item]:
        """Yield the questions, with the ties that any of them or of the verdicts has."""
        items = [item for item, _ in self.questions.values()]
        answers = {entry.verdict.value for entry in judged} | {
            item.answer for item in items
        }
        ties = TIES if "both_bad" in answers else TIES[: "tie" in answers]
        for item in items:
            yield replace(item, ties=ties if self.pairs else ())

    def answered(self) -> Iterator[Answered]:
        """Yield what each row says."""
        origin = self.origin
        names = self.names
        form = form_of(self.rows) if ROLE in self.columns else "probabilities"
        for row in self.rows:
            item, turned = self._question(row)
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
            yield Answered(
                row,
                item,
                judge,
                reply,
                order,
                verdict_of(origin, item, reply, names),
            )

    def _question(self, row: Row) -> tuple[Item, bool]:
        """Return the question of a row, and whether the row has its options in the
        other order."""
        names = models_of(row) if self.pairs else (row.get("model"),)
        task = str(row.get("task") or NO_TASK)
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
        scores = [self._ten(row, role) for role in ("score_a", "score_b")]
        known = [score for score in scores if score is not None]
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
        scores = []
        for role in roles:
            score = self._ten(row, role)
            if score is None:
                raise row.fault(role, "must be a number, got nothing")
            scores.append(score)
        if not self.pairs:
            return scores[0]
        return "tie" if scores[0] == scores[1] else "AB"[scores[0] < scores[1]]

    def _votes(self, row: Row) -> tuple[Answer, ...]:
        """Return what people said of a row's question, without empty cells."""
        read = self._letter if self.pairs else self._ten
        votes = [read(row, role) for role in self.raters]
        return tuple(vote for vote in votes if vote not in (None, FAILED))

    def _verdict(self, row: Row, turned: bool) -> Answer:
        if self.pairs:
            letter = self._letter(row, "verdict")
            return TURNED.get(letter, letter) if turned else letter
        score = self.score(row, "verdict")
        return FAILED if score is None else score

    def _letter(self, row: Row, role: str) -> str:
        try:
            return letter_of(
                row.get(role), models_of(row), self.answers, self.letters
            )
        except ValueError as error:
            raise row.fault(role, error) from None

    def _order(self, row: Row) -> Order | None:
        if not self.pairs or row.get("order") is None:
            return None
        try:
            return order_of(
                row["order"],
                models_of(row),
                self.columns["order"],
                self.letters,
            )
        except ValueError as error:
            raise row.fault("order", error) from None

    def _ten(self, row: Row, role: str) -> float | None:
        score = self.score(row, role)
        return None if score is None else on_ten(score, self.scale)

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
                f"must be a number{point}, got {value!r}; `answers` "
                f"{shlex.quote(f'{text}=NUMBER')} says what it means, `score_range` "
                f"the scale of 80 % and 4/5, `columns` {role}=NAME another column",
            )
        number = float(text)
        if not low <= number <= high:
            hint = (
                f"`score_range` 0 {10 if number <= 10 else 100} reads it"
                if high < number <= 100
                else "see `score_range`"
            )
            if number == FAILURE and role == "verdict":
                hint = (
                    f"`answers` {FAILURE}={FAILED} reads it as a failed verdict"
                )
            raise row.fault(
                role,
                f"must be from {low:g} to {high:g}, got {value!r}; {hint}; if it stands "
                "for no score, empty such cells",
            )
        return number


def meaning_of(
    records: Records,
    roles: Mapping[str, str],
    *,
    answers: Mapping[str, str],
    score_range: Scale | None,
    judge: str,
    replies: bool,
) -> Table:
    """Decide what the cells of a table mean: whether it holds pairs or scores, the scale,
    and the rows with a truth.

    Raises
    ------
    UsageError
        If ``answers`` or ``score_range`` cannot be meant.
    DataError
        If no row has a truth, or none a verdict.
    """
    for spelling, to in answers.items():
        if to not in ("A", "B", *TIES, FAILED) and not is_number(to):
            raise UsageError(
                f"`answers` {spelling} must be A, B, tie, both_bad, Failed or a number, "
                f"got {to!r}"
            )
    check_score_range(score_range)
    rows = [
        _row(*records.rows.pop(), roles) for _ in range(len(records.rows))
    ]  # frees each that is read
    rows.reverse()
    known = (
        ["truth"]
        if "truth" in roles
        else [role for role in roles if role.startswith(RATER)]
    )
    verdicts = _values(rows, ["verdict"], answers)
    truths = _values(rows, known, answers)
    pairs = is_pairs(roles, verdicts, truths) or (
        not (verdicts or truths) and _end_in_letters(rows)
    )
    scale = score_range or records.scale
    column = roles.get("verdict", "")
    counted = bool(verdicts) and all(
        is_number(value) and float(value) in (0, 1, 2) for value in verdicts
    )
    if counted and not (pairs or scale) and CHOICE.search(column.lower()):
        raise DataError(
            f"{records.name}: {column}: its numbers may be choices or scores; "
            "`answers` 1=A `answers` 2=B reads choices (0=A 1=B where they begin at 0), "
            "`score_range` 0 1 scores"
        )
    spelt = {
        str(row.get(role)).strip()
        for row in rows
        for role in ("verdict", *known)
        if not pairs
    }
    # Beside numbers, "failed" is no grade: it says that there is no score.
    passed = not {"pass", "passed"}.isdisjoint(map(str.lower, spelt))
    grades = [
        text
        for text in spelt
        if text.lower() in GRADES and (passed or not is_missing(text))
    ]
    low, high = scale or (UNIT if grades else TEN)
    meant = {
        text: repr(low + GRADES[text.lower()] * (high - low)) for text in grades
    } | {
        text: number
        for text in spelt
        if not is_number(text) and (number := written_number(text, high))
    }
    meant |= answers
    labelled = [
        row
        for row in rows
        if not known
        or any(not is_missing(meaning(row.get(role), meant)) for role in known)
    ]
    if not labelled:
        raise DataError(
            f"{records.name}: {roles[known[0]]}: no row has a truth; remove the column to "
            "adopt the verdicts without one, or fill it in for some rows drawn at "
            "random: those without are left out"
        )
    if not (replies and "reply" in roles) and all(
        is_missing(row.get("verdict")) for row in rows
    ):
        raise DataError(
            f"{records.name}: {roles['verdict']}: no row has a verdict"
        )
    if roles.keys() & {"verdict", *known} and not (pairs or grades):
        _check_ranges(records.name, labelled, roles, known, scale)
    return Table(
        records.name,
        labelled,
        roles,
        meant,
        (low, high),
        pairs,
        judge,
        replies,
        rubric_of_rows(labelled, roles, pairs=pairs),
        len(rows) - len(labelled),
        {
            roles[role].lower(): letter
            for role, letter in (("model_a", "A"), ("model_b", "B"))
            if role in roles
        },
    )


def _check_ranges(
    name: str,
    rows: Sequence[Row],
    roles: Mapping[str, str],
    known: Sequence[str],
    scale: Scale | None,
) -> None:
    """Warn where scores look like another range than ``scale`` (0 to 10 unless it is
    stated), or those of the judge and of the truth like two."""
    ends = {}
    for role in sorted({"verdict", *known} & set(roles)):
        numbers = [float(row[role]) for row in rows if is_number(row[role])]
        ends[role] = min(numbers, default=0.0), max(numbers, default=0.0)
        if scale is None and role in ("verdict", "truth"):
            warn_of_range(f"{name}: {roles[role]}", numbers, TEN)
    least = min(ends, key=lambda role: ends[role][1])
    most = max(ends, key=lambda role: ends[role][1])
    start, top = ends[least]
    first, last = ends[most]
    # as a judge that counts from 0 does, and people who count from 1
    counted = (start, first, last - top) == (0, 1, 1) and last < TEN[1]
    if len(rows) > FEW and (0 < 2 * top <= last or counted):
        warnings.warn(
            f"{name}: {roles[most]} goes from {first:g} up to {last:g} and "
            f"{roles[least]} from {start:g} up to {top:g}, but one range is read for "
            "both; bring them to one range in the table first, if they have two",
            stacklevel=3,
        )


def _row(
    place: str, record: Mapping[str, Any], roles: Mapping[str, str]
) -> Row:
    cells = {role: record.get(column) for role, column in roles.items()}
    for role in TEXTS:
        if role in cells:
            cell = cells[role]
            counted = role in NUMBERED or not isinstance(cell, str)
            name = str(whole(cell) if counted else cell)
            # in memory once, as most names are those of other rows
            stripped = name if role == "reply" else name.strip()
            cells[role] = None if is_missing(name) else intern(stripped)
    return Row(
        {role: None if cell == "" else cell for role, cell in cells.items()},
        place,
        roles,
    )


def _values(
    rows: Sequence[Row], roles: Sequence[str], answers: Mapping[str, str]
) -> set[str]:
    texts = {meaning(row.get(role), answers) for row in rows for role in roles}
    return {text for text in texts if not is_missing(text)}


def distinct(table: Table, drop: bool) -> list[Answered]:
    """Return what the rows say, each answer once.

    ``drop``: leave out rows that repeat an answer.

    Raises
    ------
    DataError
        If rows repeat an answer, or contradict it.
    """
    judged: dict[tuple[Any, ...], Answered] = {}
    again: list[Row] = []
    order = "the order shown (`columns` order=NAME), " if table.pairs else ""
    how = (
        f"name a column that tells them apart: {order}the judge (`columns` "
        "judge=NAME), the repeat (`columns` repeat=NAME) or the item (`columns` "
        "item=NAME)"
    )
    for answered in table.answered():
        reply = answered.reply
        key = (answered.judge, reply.key, reply.order, reply.repeat)
        first = judged.setdefault(key, answered)
        if first is answered:
            continue
        again.append(answered.row)
        if drop and answered.verdict.value != first.verdict.value:
            raise answered.row.fault(
                "verdict",
                f"must be that of {first.row.place}, where {first.judge} answered "
                f"{first.verdict.value!r} to the same question, got "
                f"{answered.verdict.value!r}; {how}",
            )
    if again and not drop:
        rows = ", ".join(row.place.rpartition("row ")[2] for row in again[:FEW])
        raise DataError(
            f"{again[0].place}: {pluralize(len(again), 'row')} (row "
            f"{rows}{', …' if len(again) > FEW else ''}) answer a question that the "
            "judge has answered before; `drop_duplicates` leaves out rows that are "
            f"there twice, or {how}"
        )
    return list(judged.values())


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
    """Return the mean of scores, or the choice of most; unknown if two have as many."""
    numbers = [vote for vote in votes if not isinstance(vote, str)]
    return (
        round(sum(numbers) / len(numbers), 9)
        if numbers
        else majority(votes, "pairwise") or UNKNOWN
    )


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
        value.replace(",", ".").strip("% ★⭐").partition("/")[0]
        for value in verdicts - {"0"}
    )
    if any(is_number(value) and value not in LETTER_OF for value in numbers):
        return False  # 7 is a score, whatever the truth is
    return not all(
        is_number(value) or value.lower() in GRADES
        for value in truths or verdicts
    )


def _end_in_letters(rows: Sequence[Row]) -> bool:
    """Return whether most replies end with the letter of an option, or a tie."""
    words = [re.findall(r"\w+", str(row.get("reply"))) for row in rows]
    chosen = [own for own in words if own and is_answer(own[-1])]
    return 2 * len(chosen) > len(rows)


def verdict_of(
    origin: Origin,
    item: Item,
    reply: Reply,
    names: Mapping[str, str] | None = None,
) -> Verdict:
    """Return our reading of a reply, with that of its authors beside it; only theirs if
    there is no text. ``names`` are further answers of the judge (``--answer C=tie``).
    """
    stated = FAILED if reply.value is None else _on_ten(reply.value, item)
    failed = stated == FAILED
    theirs = Verdict(
        origin.id_of(item),
        reply.order,
        stated,
        "unparseable" if failed else "ok",
        reply.text,
        reply.usage,
        repeat=reply.repeat,
        cause="not read by its authors" if failed else None,
        criteria=reply.criteria,
    )
    counted = reply.value if reply.counted is None else reply.counted
    if origin.backend != "published" and reply.text is None:
        counted = None
    known: Json = {
        "published_value": None
        if counted is None
        else str(_on_ten(counted, item)),
        "published_right": reply.right,
        "confidence": reply.confidence,
    }
    extra = {name: fact for name, fact in known.items() if fact is not None}
    if reply.text is None:
        return replace(theirs, extra=extra)
    pair = item.kind == "pairwise"
    text = (
        reply.text if reply.criteria is None else split_criteria(reply.text)[0]
    )
    reading = read_reply(
        text,
        item.kind,
        len(item.options),
        finish_reason=reply.finish_reason,
        ties=item.ties,
        names=(names or {}) if pair else {},
    )
    low, high = item.scale
    if not isinstance(reading.value, str) and not low <= reading.value <= high:
        reading = replace(
            reading, value=FAILED, status="unparseable", cause="other scale"
        )
    value = (
        TURNED.get(str(reading.value), reading.value)
        if reply.order == "BA"
        else _on_ten(reading.value, item)
    )
    if reading.rule:
        extra |= {"rule": reading.rule, "read_by": reading.read_by}
    return replace(
        theirs,
        value=value,
        status=reading.status,
        cause=reading.cause,
        extra=extra,
    )


def _on_ten(value: Answer, item: Item) -> Answer:
    return value if isinstance(value, str) else on_ten(value, item.scale)
