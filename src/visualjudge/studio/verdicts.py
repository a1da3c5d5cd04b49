"""The verdicts of a run, in an index that is extended as its journal grows.

Parts of the file are read in parallel by several processes.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from visualjudge.core.workers import Workers
from visualjudge.runs.folder import RunFolder
from visualjudge.studio.index import HERE, DatasetIndex, storing
from visualjudge.studio.summary import Summary, summary_of
from visualjudge.studio.text_index import TextIndex
from visualjudge.studio.verdict_reading import (
    ROW,
    ReadPart,
    Rows,
    end_of,
    lines_of,
    parsed,
    ranges,
    read_part,
)

FORMAT = "9"
TOLD_EVERY_S = 4.0
TOLD_SHARE = 0.1
"""Minimum interval between recomputations while a long journal is read, and the minimum share of it
that is new.
"""


class RunIndex:
    """One run's verdicts; ``refresh`` reads new ones."""

    def __init__(self, journal: Path, dataset: DatasetIndex, path: Path) -> None:
        self.journal = journal
        self.generation = 0
        """Increases whenever a refresh finds new verdicts."""
        self._dataset = dataset
        self._path = path
        self.behind: float | None = None
        """Share of the journal read while far behind; None when up to date."""
        self._told = 0.0
        self._reading = threading.Lock()
        self._lock = threading.Lock()
        self.causes: Counter[str] = Counter()
        """Number of occurrences of each cause of failure in the journal."""
        with storing(path):
            self._db, self._rows, self._read = self._opened()
            self._texts = TextIndex(self._db)
        self._fresh: list[ReadPart] = []
        """Parts read but not stored yet."""
        self._counting: tuple[Rows, Rows] | None = None
        self._summary: Summary | None = None
        self._columns: tuple[Rows, Rows] | None = None

    # ---------------------------------------------------------------- keeping up

    def _opened(self) -> tuple[sqlite3.Connection, Rows, int]:
        """Return the stored index if it belongs to this journal and dataset, else an empty one."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        stamp = self._stamp()
        db = sqlite3.connect(self._path, check_same_thread=False)
        try:
            stored = dict(db.execute("SELECT name, value FROM meta"))
            rows = [
                np.frombuffer(data, ROW)
                for (data,) in db.execute("SELECT data FROM chunk ORDER BY number")
            ]
            read = int(stored["read"])
            self.causes = Counter(orjson.loads(stored["causes"]))
            if stored["stamp"] == stamp and read <= end_of(self.journal):
                return db, np.concatenate(rows) if rows else np.zeros(0, ROW), read
        except (sqlite3.DatabaseError, KeyError, ValueError):
            pass
        db.close()
        self._path.unlink(missing_ok=True)
        db = sqlite3.connect(self._path, check_same_thread=False)
        db.executescript(
            "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT);"
            "CREATE TABLE chunk (number INTEGER PRIMARY KEY, data BLOB);"
        )
        TextIndex.create(db)
        db.executemany(
            "INSERT INTO meta VALUES (?, ?)", [("stamp", stamp), ("read", "0"), ("causes", "{}")]
        )
        db.commit()
        self.causes = Counter()
        return db, np.zeros(0, ROW), 0

    def _stamp(self) -> str:
        """Identify the journal; one rewritten by a resumed run counts as a different file."""
        inode = self.journal.stat().st_ino if self.journal.is_file() else 0
        return f"{FORMAT}:{inode}:{self._dataset.checksum}"

    def refresh(self, engine: Workers = HERE, *, wait: bool = True) -> None:
        """Read the new lines of the journal; an incomplete last line is left for the next
        time.

        Between two parts of the journal, other threads see the verdicts so far. Without ``wait``,
        return at once if another thread is reading lines.
        """
        if not wait and self.behind is not None:  # left to the thread that indexes everything
            return
        if not self._reading.acquire(blocking=wait):
            return
        try:
            with storing(self._path):
                try:
                    self._refresh(engine)
                except Exception:
                    self._forget_fresh()
                    raise
        finally:
            self.behind = None
            self._reading.release()

    def _refresh(self, engine: Workers) -> None:
        with self._lock:
            self.journal = RunFolder(
                self.journal.parent
            ).verdicts_path  # a run may be compacted while it is open
            size = end_of(self.journal)
            stamp = str(
                self._db.execute("SELECT value FROM meta WHERE name = 'stamp'").fetchone()[0]
            )
            if size < self._read or stamp != self._stamp():
                self._db.close()
                self._db, self._rows, self._read = self._opened()
                self._texts = TextIndex(self._db)
                self._changed()
            before = self._read
            parts = [(self.journal, *part) for part in ranges(self.journal, before, size)]
        for taken in engine.map(read_part, parts):
            with self._lock:
                self._take(taken)
                self.behind = taken.stop / size if len(parts) > 1 else None
                waited = time.monotonic() - self._told > TOLD_EVERY_S
                if waited and taken.stop - self._read > TOLD_SHARE * size:
                    self._keep()
        if self._read == before and not self._fresh:  # only an incomplete line
            return
        self._texts.complete(self._lock)
        with self._lock:
            self._texts.forget()
            if self._fresh:
                self._keep()

    def _take(self, taken: ReadPart) -> None:
        if taken.stop == self._read:  # only an incomplete line
            return
        places = np.array(self._dataset.rows_of(taken.ids), np.int32)
        known = np.flatnonzero(places >= 0)
        chunk = taken.rows[known]
        chunk["q"] = places[known]
        chunk["text"] = [
            -1 if (text := taken.texts[k]) is None else self._texts.add(text) for k in known
        ]
        self._texts.flush()
        self._fresh.append(replace(taken, rows=chunk, ids=[], texts=[]))

    def _keep(self) -> None:
        """Store the fresh parts and show them. Each commit adds a segment to the full-text index,
        which slows down searches.
        """
        rows, stop = np.concatenate([part.rows for part in self._fresh]), self._fresh[-1].stop
        causes = sum((part.causes for part in self._fresh), self.causes)
        stored = {"causes": orjson.dumps(causes).decode(), "read": str(stop)}
        with self._db:
            self._db.execute("INSERT INTO chunk (data) VALUES (?)", (rows.tobytes(),))
            for name, value in stored.items():
                self._db.execute("UPDATE meta SET value = ? WHERE name = ?", (value, name))
        self._fresh = []
        self.causes, self._read = causes, stop
        self._rows = np.concatenate([self._rows, rows])
        self._changed()

    def _forget_fresh(self) -> None:
        """Drop the parts that are not stored; they are read again by the next refresh."""
        with self._lock:
            self._fresh = []
            self._db.rollback()
            self._texts = TextIndex(self._db)

    def _changed(self) -> None:
        self._counting = self._summary = self._columns = None
        self._told = time.monotonic()
        self.generation += 1

    # ---------------------------------------------------------------- what it says

    @property
    def rows(self) -> Rows:
        """Return the verdicts that count: the last one of each question, order and repeat."""
        rows, known = self._rows, self._counting
        if known is None or known[0] is not rows:
            known = self._counting = rows, _last_of_each(rows)
        return known[1]

    @property
    def total(self) -> int:
        """Return the number of lines read so far, including repeated requests."""
        return int(self._rows.size)

    @property
    def tokens(self) -> tuple[int, int]:
        """Return the prompt and reply tokens that were paid for, including repeated requests."""
        return int(self._rows["tokens_in"].sum(dtype="i8")), int(
            self._rows["tokens_out"].sum(dtype="i8")
        )

    def summary(self) -> Summary:
        """Return the run's results by question."""
        known = self._summary
        if known is None:
            known = self._summary = summary_of(self.rows, self._dataset)
        return known

    def of_question(self, row: int) -> Iterator[dict[str, Any]]:
        """Return the full verdicts on one question, in journal order."""
        rows = self.rows
        return self._verdicts(rows[rows["q"] == row])

    def latest(self, count: int) -> Iterator[dict[str, Any]]:
        """Return the last ``count`` verdicts, newest first."""
        return self._verdicts(self._rows[-count:][::-1])

    def _verdicts(self, rows: Rows) -> Iterator[dict[str, Any]]:
        """Read the full verdicts of these rows from the file."""
        for entry in rows:
            for _, line in lines_of(self.journal, int(entry["start"]), int(entry["stop"])):
                verdict = parsed(line)
                if verdict is not None:
                    yield verdict

    def search(self, query: str) -> NDArray[np.bool_]:
        """Return which questions have a reply with all words of ``query``."""
        with self._lock:
            known = np.append(self._texts.search(query), False)  # the last entry stands for no text
            text, q = self._replies()
        mask = np.zeros(self._dataset.columns.count, dtype=bool)
        mask[q[known[text]]] = True
        return mask

    def _replies(self) -> tuple[Rows, Rows]:
        """Return the text and question of each verdict as contiguous arrays, several times as fast
        as within ROW.
        """
        rows, known = self._rows, self._columns
        if known is None or known[0].size != rows.size:
            known = self._columns = (rows["text"].copy(), rows["q"].copy())
        return known


def _last_of_each(rows: Rows) -> Rows:
    """Return the last verdict of each question, order and repeat."""
    key = (
        (rows["q"].astype(np.int64) << 33) | (rows["order"].astype(np.int64) << 32) | rows["repeat"]
    )
    _, last = np.unique(key[::-1], return_index=True)
    return rows if last.size == rows.size else rows[np.sort(rows.size - 1 - last)]
