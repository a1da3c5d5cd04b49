"""A run's verdicts in the study's file: taken in as the journal grows, summed up by question."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, get_args

from visualjudge.core.answers import has_answer, is_right, is_usable
from visualjudge.core.records import LETTERS, Question, QuestionType, Status, Verdict
from visualjudge.runs.folder import RunFolder
from visualjudge.runs.verdicts import verdict_of
from visualjudge.studio.study import MARGINS, Study, storing, words_of

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
STATUSES = get_args(Status)
# Maximum length in characters of a failure's cause.
LONGEST_CAUSE = 80
_BATCH = 2000
_UNSURE = STATUSES.index("cannot_tell")
_LEAN = "(value = 'A') - (value = 'B')"
# Code of a question on which no verdict puts two options in the wrong order.
NO_WRONG = len(MARGINS) + 1
_WRONG_CODE = " + ".join(f"(wrong >= {margin})" for margin in MARGINS)
# The verdicts that a report counts: not on copies made by probes, nor to check a rater.
_COUNTED = "FROM verdict JOIN question USING (row) WHERE run = ? AND NOT checks AND NOT changed"
# One order agrees with the other if the majority of repeats leans the same way; a tie is its own.
_SUM_UP = f"""
INSERT OR REPLACE INTO outcome
SELECT run, row,
    CASE WHEN failed THEN 4 WHEN asked = unsure THEN 5 WHEN open_ended THEN 6
        WHEN rights = asked - unsure THEN 1 WHEN rights = 0 THEN 3 ELSE 2 END,
    CASE WHEN asked_ba = 0 OR asked_ba = asked THEN 0 WHEN read_ab = 0 OR read_ba = 0 THEN 3
        WHEN (lean_ab > 0) - (lean_ab < 0) = (lean_ba > 0) - (lean_ba < 0) THEN 1 ELSE 2 END,
    iif(open_ended, 0, asked), iif(open_ended, 0, answered), rights, failed,
    iif(open_ended, NULL, rights * 1.0 / asked), wrong, ifnull({_WRONG_CODE}, {NO_WRONG})
FROM (SELECT run, row, open_ended, count(*) AS asked, sum(usable) AS answered,
        sum(status = {_UNSURE}) AS unsure, sum(NOT usable AND status <> {_UNSURE}) AS failed,
        sum(right) AS rights, max(wrong) AS wrong,
        sum(turned) AS asked_ba, sum(usable AND NOT turned) AS read_ab,
        sum(usable AND turned) AS read_ba, sum(iif(usable AND NOT turned, {_LEAN}, 0)) AS lean_ab,
        sum(iif(usable AND turned, {_LEAN}, 0)) AS lean_ba
    FROM verdict JOIN question USING (row) WHERE run = ? AND NOT checks AND row IN ("""


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
    """A run's verdicts in all, without those that only check a rater."""

    verdicts: int
    failed: int
    shares: tuple[Share, ...]
    causes: tuple[tuple[str, int], ...]


def wrong_difference(question: Question, verdict: Verdict) -> float | None:
    """Return the largest difference of the scores of two options that a wrong verdict puts in the
    wrong order; None for a score.
    """
    scores = question.final_scores
    value = verdict.value
    if len(scores) < 2 or not isinstance(value, str):
        return None
    if question.question_type == "pairwise":
        return max(scores) - min(scores)
    placed = [scores[LETTERS.index(letter)] for letter in value]
    return max(score - min(placed[: k + 1]) for k, score in enumerate(placed))


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
                db.execute("SELECT number FROM run WHERE slug = ?", (slug,)).fetchone()[
                    0
                ]
            )

    # ---------------------------------------------------------------- keeping up

    def refresh(
        self, stopped: threading.Event | None = None, *, wait: bool = True
    ) -> None:
        """Take in the new lines of the journal; an incomplete last line is left for the next time.

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
            if stamp != now[0] or now[1] < size:  # a resumed run writes another file
                self._forget(db, now[0])
                last = None
                size = 0
            if size == now[1] or stat is None:
                self._seen = now
                return bool(stamp != now[0])
            found = self.folder.lines(last or 0)
            lines = list(islice(found, 0 if last is None else 1, _BATCH))
            whole = [line for line in lines if not line.partial]
            self._store(db, whole)
            if whole:
                last = whole[-1].start
                db.execute(
                    "UPDATE run SET last = ? WHERE number = ?", (last, self.number)
                )
            if len(lines) < _BATCH - 1:
                self._seen = now
                db.execute(
                    "UPDATE run SET size = ? WHERE number = ?", (now[1], self.number)
                )
                return bool(whole)
        return True

    def _forget(self, db: sqlite3.Connection, stamp: str) -> None:
        for table in ("verdict", "outcome"):
            db.execute(f"DELETE FROM {table} WHERE run = ?", (self.number,))
        reset = "UPDATE run SET stamp = ?, size = 0, last = NULL WHERE number = ?"
        db.execute(reset, (stamp, self.number))

    def _store(self, db: sqlite3.Connection, lines: Sequence[Any]) -> None:
        found = [
            (line.start, line.verdict) for line in lines if line.verdict is not None
        ]
        asked = {
            q.id: (row, q) for row, q in self.study.questions({v.id for _, v in found})
        }
        known = [(start, v) for start, v in found if v.id in asked]
        counted = self._counted([q for _, q in asked.values()], known)
        number = db.execute("SELECT ifnull(max(number), 0) FROM verdict").fetchone()[0]
        rows = []
        words = []
        for start, verdict in known:
            number += 1
            row = _row(*asked[verdict.id], verdict, start, counted.get(start))
            rows.append((number, self.number, *row))
            if verdict.raw_response:
                words.append((number, words_of(verdict.raw_response)))
        marks = ", ".join("?" * 13)
        db.executemany(f"INSERT OR REPLACE INTO verdict VALUES ({marks})", rows)
        db.executemany("INSERT INTO replies (rowid, words) VALUES (?, ?)", words)
        changed = {row for _, _, row, *_ in rows}
        some = ", ".join(map(str, changed))
        db.execute(f"{_SUM_UP}{some}) GROUP BY row)", (self.number,))

    def _counted(
        self, asked: Sequence[Question], found: Sequence[tuple[int, Verdict]]
    ) -> dict[int, tuple[bool, bool | None]]:
        """Return whether each verdict that counts is usable, and right (None but for pairs), by its
        place in the journal: as the table of answers has them.
        """
        import polars as pl

        from visualjudge.analysis.answers import join
        from visualjudge.analysis.load import counted_of
        from visualjudge.analysis.study_table import Run, question_table, verdict_table

        starts = pl.Series("offset", [start for start, _ in found], dtype=pl.Int64)
        verdicts = verdict_table(verdict for _, verdict in found).with_columns(starts)
        answered = join(question_table(asked), verdicts)
        path = self.folder.path
        info = self.folder.manifest()
        rows = (
            counted_of(Run(path.name, path, info, answered))
            .select("offset", "usable", "right")
            .iter_rows()
        )
        return {start: (usable, right) for start, usable, right in rows}

    # ---------------------------------------------------------------- what they say

    def totals(self) -> Totals:
        """Return the run's verdicts in all."""
        known = self._totals
        if known is None or known[0] != self.generation:
            known = self._totals = (self.generation, self._summed())
        return known[1]

    def _summed(self) -> Totals:
        kinds = self.study.types()
        found = self.study.all(
            "SELECT of_type, sum(right), sum(asked), sum(answered) FROM outcome JOIN question "
            "USING (row) WHERE run = ? AND NOT changed GROUP BY of_type HAVING sum(asked)",
            self.number,
        )
        shares = {kinds[code]: Share(kinds[code], *counts) for code, *counts in found}
        ((verdicts, failed),) = self.study.all(
            f"SELECT count(*), ifnull(sum(NOT usable AND status <> {_UNSURE}), 0) "
            f"{_COUNTED}",
            self.number,
        )
        causes = self.study.all(
            f"SELECT cause, count(*) {_COUNTED} AND cause IS NOT NULL "
            "GROUP BY cause ORDER BY count(*) DESC, cause LIMIT 6",
            self.number,
        )
        return Totals(
            verdicts,
            failed,
            tuple(shares[kind] for kind in get_args(QuestionType) if kind in shares),
            tuple(causes),
        )

    def of_question(self, row: int) -> Iterator[Verdict]:
        """Return the verdicts on one question, in journal order."""
        found = "SELECT start FROM verdict WHERE run = ? AND row = ? ORDER BY number"
        return self._at(self.study.all(found, self.number, row))

    def latest(self, count: int) -> Iterator[Verdict]:
        """Return the last ``count`` verdicts, newest first."""
        found = "SELECT start FROM verdict WHERE run = ? ORDER BY start DESC LIMIT ?"
        return self._at(self.study.all(found, self.number, count))

    def _at(self, starts: Sequence[tuple[int]]) -> Iterator[Verdict]:
        return (verdict_of(self.folder.record_at(start)) for (start,) in starts)


def _row(
    row: int,
    question: Question,
    verdict: Verdict,
    start: int,
    counted: tuple[bool, bool | None] | None,
) -> tuple[Any, ...]:
    usable, right = counted or (is_usable(question, verdict), None)
    if right is None or not has_answer(question):
        right = is_right(question, verdict)
    wrong = usable and not right and has_answer(question)
    value = verdict.value
    return (
        row,
        verdict.order == "BA",
        verdict.repeat,
        start,
        counted is None,
        STATUSES.index(verdict.status),
        verdict.cause[:LONGEST_CAUSE] if verdict.cause else None,
        value if isinstance(value, str) else f"{value:g}",
        usable,
        right,
        wrong_difference(question, verdict) if wrong else None,
    )
