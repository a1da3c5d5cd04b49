"""A run's verdicts in the study's file: taken in as the journal grows, summed up by
question."""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, get_args

from visualjudge.core.records import QuestionType, Verdict
from visualjudge.runs.folder import RunFolder
from visualjudge.runs.journal import Line
from visualjudge.runs.verdicts import verdict_in, verdict_of
from visualjudge.studio.study import (
    MARGINS,
    STATUSES,
    Study,
    storing,
    words_of,
)

OUTCOMES = (
    "not asked",
    "right",
    "mixed",
    "wrong",
    "failed",
    "cannot tell",
    "no right answer",
)
CONSISTENCY = (
    "not asked in both orders",
    "same answer",
    "flipped by order",
    "not answered in both orders",
)
_BATCH = 2000
_UNSURE = STATUSES.index("cannot_tell")
_LEAN = "(value = 'A') - (value = 'B')"
# Code of a question on which no verdict puts two options in the wrong order.
NO_WRONG = len(MARGINS) + 1
_WRONG_CODE = " + ".join(f"(wrong >= {margin})" for margin in MARGINS)
# Values of "right, and for the right reason?" by bit; a question has those of all its
# verdicts.
REASONS = (
    "right, right reason",
    "right, wrong reason",
    "wrong, right reason",
    "wrong, wrong reason",
)
_REASONS = " | ".join(
    f"(max(reason = {reason} AND right = {right}) << {bit})"
    for bit, (right, reason) in enumerate(((1, 1), (1, 0), (0, 1), (0, 0)))
)
# The verdicts that a report counts: not on copies made by probes, nor to check a rater.
_COUNTED = (
    "FROM verdict JOIN question USING (row) WHERE run = ? AND NOT checks AND "
    "NOT changed"
)
# One order agrees with the other if the majority of repeats leans the same way; a tie
# is its own. A share of scores is of those that could be read, as in the report.
_SUM_UP = f"""
INSERT OR REPLACE INTO outcome
SELECT run, row,
    CASE WHEN failed THEN 4 WHEN asked = unsure THEN 5 WHEN open_ended THEN 6
        WHEN rights = asked - unsure THEN 1 WHEN rights = 0 THEN 3 ELSE 2 END,
    CASE WHEN NOT ordered OR asked_ba = 0 OR asked_ba = asked THEN 0
        WHEN read_ab = 0 OR read_ba = 0 THEN 3
        WHEN (lean_ab > 0) - (lean_ab < 0) = (lean_ba > 0) - (lean_ba < 0) THEN 1 ELSE 2 END,
    iif(open_ended, 0, iif(options = 1, answered, asked)), iif(open_ended, 0, answered), rights,
    failed, iif(open_ended, NULL, rights * 1.0 / asked), wrong, ifnull({_WRONG_CODE}, {NO_WRONG}),
    ifnull(reasons, 0)
FROM (SELECT run, row, open_ended, options, ? AS ordered, count(*) AS asked,
        sum(usable) AS answered, sum(status = {_UNSURE}) AS unsure,
        sum(NOT usable AND status <> {_UNSURE}) AS failed,
        sum(right) AS rights, max(wrong) AS wrong, {_REASONS} AS reasons,
        sum(turned) AS asked_ba, sum(usable AND NOT turned) AS read_ab,
        sum(usable AND turned) AS read_ba, sum(iif(usable AND NOT turned, {_LEAN}, 0)) AS lean_ab,
        sum(iif(usable AND turned, {_LEAN}, 0)) AS lean_ba
    FROM verdict JOIN question USING (row) WHERE run = ? AND NOT checks AND row IN ("""
# The outcome of one verdict, as a place in OUTCOMES.
_OUTCOME = f"""CASE WHEN status = {_UNSURE} THEN 5 WHEN NOT usable THEN 4 WHEN open_ended THEN 6
    WHEN right THEN 1 ELSE 3 END"""


@dataclass(frozen=True, slots=True)
class Share:
    """Right verdicts on one question type, among those that accuracy counts.

    Attributes
    ----------
    answered
        Verdicts that could be read; without any, no accuracy is given.
    """

    question_type: str
    right: int
    verdicts: int
    answered: int


@dataclass(frozen=True, slots=True)
class Totals:
    """A run's verdicts that are counted: not those that only check a rater, nor those
    on copies made by probes; ``read`` are all that were read.
    """

    read: int
    verdicts: int
    failed: int
    shares: tuple[Share, ...]
    causes: tuple[tuple[str, int], ...]


class RunVerdicts:
    """The verdicts of the run at ``root``; ``refresh`` takes in new ones."""

    def __init__(self, study: Study, root: Path, slug: str) -> None:
        self.study = study
        self.folder = RunFolder(root)
        self.generation = 0
        """Increases whenever a refresh finds new verdicts."""
        self._reading = threading.Lock()
        self._seen: tuple[str, int] | None = None
        self._totals: tuple[int, Totals] | None = None
        with storing(study.path), study.writing() as db:
            db.execute("INSERT OR IGNORE INTO run (slug) VALUES (?)", (slug,))
            self.number = int(
                db.execute(
                    "SELECT number FROM run WHERE slug = ?", (slug,)
                ).fetchone()[0]
            )

    # ---------------------------------------------------------------- keeping up

    def refresh(
        self, stopped: threading.Event | None = None, *, wait: bool = True
    ) -> None:
        """Take in the new lines of the journal; an incomplete last line is left for the
        next time.

        Without ``wait``, return at once if another thread is reading.
        """
        if not self._reading.acquire(blocking=wait):
            return
        try:
            with storing(self.study.path):
                while self._take_some() and not (stopped and stopped.is_set()):
                    self.generation += 1
        finally:
            self._reading.release()

    def _take_some(self) -> bool:
        """Take in some lines in one transaction; return whether there may be more."""
        path = self.folder.journal_path
        stat = path.stat() if path.is_file() else None
        now = (
            f"{path.name} {0 if stat is None else stat.st_ino}",
            stat.st_size if stat else 0,
        )
        if now == self._seen:
            return False
        with self.study.writing() as db:
            known = "SELECT stamp, size, last FROM run WHERE number = ?"
            stamp, size, last = db.execute(known, (self.number,)).fetchone()
            if (
                stamp != now[0] or now[1] < size
            ):  # a resumed run writes another file
                self._forget(db, now[0])
                last = None
                size = 0
            if size == now[1] or stat is None:
                self._seen = now
                return bool(stamp != now[0])
            unread = self.folder.lines(last or 0)
            lines = list(islice(unread, 0 if last is None else 1, _BATCH))
            whole = [line for line in lines if not line.cut]
            self._store(db, whole)
            if whole:
                last = whole[-1].start
                db.execute(
                    "UPDATE run SET last = ? WHERE number = ?",
                    (last, self.number),
                )
            if len(lines) < _BATCH - 1:
                self._seen = now
                db.execute(
                    "UPDATE run SET size = ? WHERE number = ?",
                    (now[1], self.number),
                )
                return bool(whole)
        return True

    def _forget(self, db: sqlite3.Connection, stamp: str) -> None:
        for table in ("verdict", "outcome"):
            db.execute(f"DELETE FROM {table} WHERE run = ?", (self.number,))
        reset = (
            "UPDATE run SET stamp = ?, size = 0, last = NULL WHERE number = ?"
        )
        db.execute(reset, (stamp, self.number))

    def _store(self, db: sqlite3.Connection, lines: Sequence[Line]) -> None:
        from visualjudge.studio.answered import Answered  # loads the analysis

        read = dict[int, Verdict]()
        for line in lines:
            if (verdict := verdict_in(line)) is not None:
                read[line.start] = verdict
        answered = Answered(self.study, self.folder, read)
        ((number,),) = db.execute(
            "SELECT ifnull(max(number), 0) + 1 FROM verdict"
        )
        rows = [
            (number + k, self.number, *row)
            for k, row in enumerate(answered.rows())
        ]
        marks = ", ".join("?" * len(rows[0])) if rows else ""
        replies = (
            (number, words_of(read[start].raw_response or ""))
            for number, _, _, _, _, start, *_ in rows
        )
        db.executemany(f"INSERT OR REPLACE INTO verdict VALUES ({marks})", rows)
        db.executemany(
            "INSERT INTO replies (rowid, words) VALUES (?, ?)", replies
        )
        some = ", ".join({str(row) for _, _, row, *_ in rows})
        values = (answered.orders_compare, self.number)
        db.execute(f"{_SUM_UP}{some}) GROUP BY row)", values)

    # ---------------------------------------------------------------- what they say

    def totals(self) -> Totals:
        """Return the run's verdicts in all."""
        known = self._totals
        if known is None or known[0] != self.generation:
            known = self._totals = (self.generation, self._summed())
        return known[1]

    def _summed(self) -> Totals:
        kinds = self.study.types()
        sums = self.study.all(
            "SELECT of_type, sum(right), sum(asked), sum(answered) FROM outcome JOIN "
            "question USING (row) WHERE run = ? AND NOT changed GROUP BY of_type "
            "HAVING sum(asked)",
            self.number,
        )
        shares = {
            kinds[code]: Share(kinds[code], *counts) for code, *counts in sums
        }
        ((verdicts, failed),) = self.study.all(
            f"SELECT count(*), ifnull(sum(NOT usable), 0) {_COUNTED}",
            self.number,
        )
        ((read,),) = self.study.all(
            "SELECT count(*) FROM verdict WHERE run = ?", self.number
        )
        causes = self.study.all(
            f"SELECT cause, count(*) {_COUNTED} AND cause IS NOT NULL GROUP BY cause "
            "ORDER BY count(*) DESC, cause LIMIT 6",
            self.number,
        )
        return Totals(
            read,
            verdicts,
            failed,
            tuple(
                shares[kind]
                for kind in get_args(QuestionType)
                if kind in shares
            ),
            tuple(causes),
        )

    def of_question(self, row: int) -> Iterator[tuple[Verdict, str]]:
        """Return the verdicts on one question with their outcomes, in journal order."""
        return self._read(
            "run = ? AND row = ? ORDER BY number", self.number, row
        )

    def latest(self, count: int) -> Iterator[tuple[Verdict, str]]:
        """Return the last ``count`` verdicts with their outcomes, newest first."""
        return self._read(
            "run = ? ORDER BY start DESC LIMIT ?", self.number, count
        )

    def failures(
        self, cause: str, start: int, count: int
    ) -> Iterator[tuple[Verdict, str]]:
        """Return some failed verdicts that are counted, of one cause or all ("")."""
        where = (
            "run = ? AND NOT usable AND NOT checks AND NOT changed AND ? IN (cause, "
            "'') ORDER BY start LIMIT ? OFFSET ?"
        )
        return self._read(where, self.number, cause, count, start)

    def _read(self, where: str, *values: Any) -> Iterator[tuple[Verdict, str]]:
        joined = "FROM verdict JOIN question USING (row) WHERE"
        rows = self.study.all(
            f"SELECT start, {_OUTCOME} {joined} {where}", *values
        )
        for start, outcome in rows:
            yield verdict_of(self.folder.record_at(start)), OUTCOMES[outcome]
