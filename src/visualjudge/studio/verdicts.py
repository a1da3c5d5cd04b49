"""The verdicts of a run as columns, extended as its journal grows, and what they say of each
question.

Parts of the file are read at once in several processes. A place in a journal is a byte, in a
Parquet file a row.
"""

from __future__ import annotations

import itertools
import re
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

import numpy as np
import orjson
from numpy.typing import NDArray

from visualjudge.core import jsons
from visualjudge.core.garbage_collection import paused_collector
from visualjudge.core.records import LETTERS, QuestionType
from visualjudge.dataset.engines import Engine
from visualjudge.runs.compacting import GROUP, CompactedFile
from visualjudge.runs.folder import RunFolder
from visualjudge.runs.spending import paid_counts
from visualjudge.studio.index import HERE, DatasetIndex, line_ranges, storing
from visualjudge.studio.text_index import TextIndex, Words, words_of

STATUSES = (
    "ok",
    "unparseable",
    "refusal",
    "truncated",
    "api_error",
    "cannot_tell",
    "ok_extracted",
    "other",
)
_STATUS_CODE = {name: code for code, name in enumerate(STATUSES)}
ORDERS = ("AB", "BA")

_ORDERINGS = tuple(
    "".join(order)
    for n in range(1, 6)
    for order in itertools.permutations(LETTERS, n)
    if n == 1 or set(order) == set(LETTERS[:n])
)
VALUES = ("tie", "both_bad", *_ORDERINGS)
VALUE_CODE = {value: code for code, value in enumerate(VALUES)}

ROW = np.dtype(
    [
        ("q", "i4"),
        ("order", "u1"),
        ("repeat", "i4"),
        ("check", "u1"),
        ("status", "u1"),
        ("value", "i2"),
        ("number", "f4"),
        ("probability", "f4"),
        ("latency", "f4"),
        ("chars", "i4"),
        ("text", "i4"),
        ("tokens_in", "i4"),
        ("tokens_out", "i4"),
        ("start", "i8"),
        ("stop", "i8"),
    ]
)
Rows = NDArray[Any]
FORMAT = "8"
OUTCOMES = ("not asked", "right", "mixed", "wrong", "failed", "cannot tell", "no right answer")
_OK = STATUSES.index("ok")
"""The only status whose value counts; what a second reader extracted counts as failed, as in every
figure.
"""
CONSISTENCY = (
    "not asked in both orders",
    "same answer",
    "flipped by order",
    "not answered in both orders",
)
LONG_REPLY = 400
"""Characters from which a reply is hardly ever given twice."""
CLOSE = 1.0
"""A score is right where it is at most this far off."""
_A, _B = VALUE_CODE["A"], VALUE_CODE["B"]
_SIZE = np.array(
    [0 if len(v) > 1 and v in ("tie", "both_bad") else len(v) for v in VALUES], np.int32
)


@dataclass(frozen=True, eq=False, slots=True)
class ReadPart:
    """The verdicts in a part of a file; ``q`` and ``text`` of ``rows`` are filled in by the
    index.
    """

    rows: Rows
    ids: list[str]
    """The question of each row."""
    texts: list[Words | None]
    """The words of each reply; None without one."""
    causes: Counter[str]
    stop: int
    """Where the last whole line ends."""


def end_of(path: Path) -> int:
    """The place after the last verdict; 0 without a file."""
    if not path.is_file():
        return 0
    return _compacted(path).count if path.suffix == ".parquet" else path.stat().st_size


def _compacted(path: Path) -> CompactedFile:
    """The file, opened once until it is another one."""
    return _opened(path, path.stat().st_mtime_ns)


@lru_cache(8)
def _opened(path: Path, written: int) -> CompactedFile:
    return CompactedFile(path)


_LINE = re.compile(rb"[^\n]*\n+")
"""A line with all line breaks after it: a file of line breaks is one step."""


def ranges(path: Path, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """The places ``start:stop`` in parts of whole verdicts."""
    if path.suffix == ".parquet":
        return ((first, min(first + GROUP, stop)) for first in range(start, stop, GROUP))
    return line_ranges(path, start, stop)


def lines_of(path: Path, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
    """Each line of these places, and where the next begins; a last line without an end is left
    out.
    """
    if path.suffix == ".parquet":
        yield from ((line.number, line.raw) for line in _compacted(path).lines(start, stop))
        return
    with path.open("rb") as journal:
        journal.seek(start)
        for found in _LINE.finditer(journal.read(stop - start)):
            yield start + found.end(), found[0]


@paused_collector()
def read_part(part: tuple[Path, int, int]) -> ReadPart:
    """The verdicts in the places ``start:stop`` of a file; a last line without an end is left for
    the next time.
    """
    path, start, stop = part
    rows, ids, causes = list[tuple[Any, ...]](), list[str](), Counter[str]()
    texts: list[Words | None] = []
    for end, line in lines_of(path, start, stop):
        begin, start = start, end
        verdict = parsed(line)
        if verdict is None:
            continue
        if verdict.get("cause"):
            causes[str(verdict["cause"])[:80]] += 1
        row = _row(verdict, begin, start)
        if row is not None:
            rows.append(row)
            ids.append(verdict["id"])
            texts.append(_indexed(verdict.get("raw_response")))
    return ReadPart(np.array(rows, ROW), ids, texts, causes, start)


def _indexed(raw: Any) -> Words | None:
    """The words of a reply; None without one."""
    if not isinstance(raw, str) or not raw:
        return None
    return words_of(raw, repeated=len(raw) < LONG_REPLY)


def parsed(line: bytes) -> dict[str, Any] | None:
    """The verdict of a line; None if the line is not a verdict."""
    try:
        verdict = jsons.loads(line)
    except orjson.JSONDecodeError:
        return None
    return verdict if isinstance(verdict, dict) and isinstance(verdict.get("id"), str) else None


def _row(verdict: dict[str, Any], start: int, stop: int) -> tuple[Any, ...] | None:
    """A verdict as a row of ROW; None if its order or repeat is not valid."""
    value, order, raw = (
        verdict.get("value"),
        verdict.get("order") or "AB",
        verdict.get("raw_response"),
    )
    status = str(verdict.get("status"))
    repeat = verdict.get("repeat") or 0
    if order not in ORDERS or not isinstance(repeat, int) or not 0 <= repeat < 2**31:
        return None
    return (
        -1,
        ORDERS.index(order),
        repeat,
        (verdict.get("purpose") or "question") != "question",
        _STATUS_CODE.get(status, len(STATUSES) - 1),
        VALUE_CODE.get(value, -1) if isinstance(value, str) else -1,
        _number(value),
        _number(verdict.get("probability_a")),
        _number(verdict.get("latency_s")),
        len(raw) if isinstance(raw, str) else 0,
        -1,
        *_tokens(verdict),
        start,
        stop,
    )


def _tokens(verdict: dict[str, Any]) -> tuple[int, int]:
    """Those that were paid for."""
    tokens_in, tokens_out = paid_counts(verdict)
    return min(tokens_in or 0, 2**31 - 1), min(tokens_out or 0, 2**31 - 1)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return float("nan")
    return float(value) if abs(value) < 1e30 else float("nan")


@dataclass(frozen=True, slots=True)
class Share:
    """Right verdicts on one question type, among all that its accuracy counts: as :class:`Summary`
    sums them.
    """

    question_type: str
    right: int
    verdicts: int
    answered: int
    """Those that could be read; where there are none, nothing is said of how often the judge is
    right.
    """


@dataclass(frozen=True, eq=False, slots=True)
class Summary:
    """What a run says of each question of the dataset; every array has one entry a question."""

    outcome: NDArray[np.int32]
    """Code into OUTCOMES."""
    statuses: NDArray[np.uint16]
    """One bit for each status of STATUSES that occurs."""
    consistency: NDArray[np.int32]
    """Code into CONSISTENCY."""
    asked: NDArray[np.int32]
    """Verdicts that accuracy counts; those that only check a rater are left out."""
    answered: NDArray[np.int32]
    """Those of ``asked`` that could be read."""
    right: NDArray[np.int32]
    """Those of ``asked`` that are right; a failed one is not."""
    share_right: NDArray[np.float32]
    """Right verdicts among all; NaN where undefined."""
    confidence: NDArray[np.float32]
    """Probability of the answer given, mean over verdicts; NaN where the backend does not tell."""
    latency: NDArray[np.float32]
    chars: NDArray[np.int32]
    """Characters of the longest reply."""
    value: NDArray[np.int32]
    """Code into VALUES of the first usable verdict, -1 if not found."""
    number: NDArray[np.float32]
    """The first usable verdict where it is a score, else NaN."""
    verdicts: int
    shares: tuple[Share, ...]
    """By question type. What a probe has changed and what only checks a rater is left out."""
    failed: int


class RunIndex:
    """One run's verdicts. ``refresh`` takes in what was written since."""

    def __init__(self, journal: Path, dataset: DatasetIndex, path: Path) -> None:
        self.journal = journal
        self.generation = 0
        """Grows whenever a refresh found something."""
        self._dataset = dataset
        self._path = path
        self._lock = threading.Lock()
        self.causes: Counter[str] = Counter()
        """How often each cause of a failure stands in the journal."""
        with storing(path):
            self._db, self._rows, self._read = self._opened()
            self._texts = TextIndex(self._db)
        self._summary: Summary | None = None
        self._columns: tuple[Rows, Rows] | None = None

    # ---------------------------------------------------------------- keeping up

    def _opened(self) -> tuple[sqlite3.Connection, Rows, int]:
        """The stored index where it belongs to this journal and dataset, else an empty one."""
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
        """Another journal in the same place (a resumed run rewrites it) is another file."""
        inode = self.journal.stat().st_ino if self.journal.is_file() else 0
        return f"{FORMAT}:{inode}:{self._dataset.checksum}"

    def refresh(self, engine: Engine = HERE) -> None:
        """Take in the lines that the journal has gained; a last line without an end waits for the
        next time.
        """
        with self._lock, storing(self._path):
            self.journal = RunFolder(
                self.journal.parent
            ).verdicts_path  # a run is compacted while it is looked at
            size = end_of(self.journal)
            stamp = str(
                self._db.execute("SELECT value FROM meta WHERE name = 'stamp'").fetchone()[0]
            )
            if size < self._read or stamp != self._stamp():
                self._db.close()
                self._db, self._rows, self._read = self._opened()
                self._texts = TextIndex(self._db)
                self._changed()
            if self._read < size:
                parts = [(self.journal, *part) for part in ranges(self.journal, self._read, size)]
                for taken in engine.map(read_part, parts):
                    self._take(taken)
                with self._db:
                    self._texts.complete()
                self._texts.forget()

    def _take(self, taken: ReadPart) -> None:
        if taken.stop == self._read:  # nothing but the beginning of a line
            return
        places = np.array(self._dataset.rows_of(taken.ids), np.int32)
        known = np.flatnonzero(places >= 0)
        chunk = taken.rows[known]
        chunk["q"] = places[known]
        chunk["text"] = [
            -1 if (text := taken.texts[k]) is None else self._texts.add(text) for k in known
        ]
        causes = self.causes + taken.causes
        with self._db:
            self._texts.flush()
            self._db.execute(
                "UPDATE meta SET value = ? WHERE name = 'causes'", (orjson.dumps(causes).decode(),)
            )
            self._db.execute("INSERT INTO chunk (data) VALUES (?)", (chunk.tobytes(),))
            self._db.execute("UPDATE meta SET value = ? WHERE name = 'read'", (str(taken.stop),))
        self.causes, self._rows, self._read = (
            causes,
            np.concatenate([self._rows, chunk]),
            taken.stop,
        )
        self._changed()

    def _changed(self) -> None:
        self._summary = self._columns = None
        self.generation += 1

    # ---------------------------------------------------------------- what it says

    @property
    def rows(self) -> Rows:
        """The verdicts that count: the last one of each question, order and repeat."""
        rows = self._rows
        if not rows.size:
            return rows
        key = (
            (rows["q"].astype(np.int64) << 33)
            | (rows["order"].astype(np.int64) << 32)
            | rows["repeat"]
        )
        _, last = np.unique(key[::-1], return_index=True)
        return rows if last.size == rows.size else rows[np.sort(rows.size - 1 - last)]

    @property
    def total(self) -> int:
        """Lines taken in so far, those asked again included."""
        return int(self._rows.size)

    @property
    def tokens(self) -> tuple[int, int]:
        """Prompt and reply tokens that were paid for; verdicts that were asked again are paid for
        too.
        """
        return int(self._rows["tokens_in"].sum(dtype="i8")), int(
            self._rows["tokens_out"].sum(dtype="i8")
        )

    def summary(self) -> Summary:
        """What the run says of each question."""
        known = self._summary
        if known is None:
            known = self._summary = _summary(self.rows, self._dataset)
        return known

    def of_question(self, row: int) -> Iterator[dict[str, Any]]:
        """The whole verdicts on one question, in the journal's order."""
        rows = self.rows
        return self._verdicts(rows[rows["q"] == row])

    def latest(self, count: int) -> Iterator[dict[str, Any]]:
        """The last ``count`` verdicts, newest first."""
        return self._verdicts(self._rows[-count:][::-1])

    def _verdicts(self, rows: Rows) -> Iterator[dict[str, Any]]:
        """The whole verdicts of these rows, read from the file."""
        for entry in rows:
            for _, line in lines_of(self.journal, int(entry["start"]), int(entry["stop"])):
                verdict = parsed(line)
                if verdict is not None:
                    yield verdict

    def search(self, query: str) -> NDArray[np.bool_]:
        """Which questions have a reply with all words of ``query``."""
        with self._lock:
            known = np.append(self._texts.search(query), False)  # the last entry is for no text
            text, q = self._replies()
        mask = np.zeros(self._dataset.columns.count, dtype=bool)
        mask[q[known[text]]] = True
        return mask

    def _replies(self) -> tuple[Rows, Rows]:
        """Text and question of each verdict, side by side in memory: several times as fast as
        within ROW.
        """
        rows, known = self._rows, self._columns
        if known is None or known[0].size != rows.size:
            known = self._columns = (rows["text"].copy(), rows["q"].copy())
        return known


def usable(rows: Rows, dataset: DatasetIndex) -> NDArray[np.bool_]:
    """Which verdicts fit their question: a letter, a permutation of its letters, a number from 0 to
    10.
    """
    columns, q = dataset.columns, rows["q"]
    kinds = columns.vocabulary.get("type", ())
    kind = columns.single["type"][q] if q.size else np.zeros(0, np.int32)
    size = np.where(rows["value"] >= 0, _SIZE[rows["value"]], -1)

    def is_of(name: str) -> Any:
        return kind == (kinds.index(name) if name in kinds else -1)

    fits = (
        is_of("pairwise") & ((size == 1) & (rows["value"] <= VALUE_CODE["B"]) | (size == 0))
    ) | (is_of("ranking") & (size == columns.options[q]))
    scored = is_of("scoring") & (rows["number"] >= 0) & (rows["number"] <= 10)
    return np.asarray((fits | scored) & (rows["status"] == _OK))


def _right(rows: Rows, dataset: DatasetIndex, good: NDArray[np.bool_]) -> NDArray[np.bool_]:
    columns, q = dataset.columns, rows["q"]
    answers = np.array(
        [VALUE_CODE.get(a, -2) for a in columns.vocabulary.get("answer", ())] or [-2], np.int32
    )
    exact = rows["value"] == (answers[columns.single["answer"][q]] if q.size else np.zeros(0))
    close = np.abs(rows["number"] - columns.truth[q]) <= CLOSE
    return np.asarray(
        good & np.where(np.isnan(columns.truth[q]), exact, close) & (columns.open_ended[q] == 0)
    )


def _shares(
    rows: Rows, dataset: DatasetIndex, good: NDArray[np.bool_], right: NDArray[np.bool_]
) -> tuple[Share, ...]:
    columns, q = dataset.columns, rows["q"]
    counts = (rows["check"] == 0) & (columns.changed[q] == 0)
    names = columns.vocabulary.get("type", ())
    tallies = [
        np.bincount(columns.single["type"][q[chosen]], minlength=len(names)).tolist()
        for chosen in (counts & right, counts, counts & good)
    ]
    found = {
        name: Share(name, *tally) for name, *tally in zip(names, *tallies, strict=True) if tally[1]
    }
    return tuple(found[name] for name in get_args(QuestionType) if name in found)


def _mean(rows: Rows, values: NDArray[Any], n: int) -> NDArray[np.float32]:
    known = np.isfinite(values)
    count = np.bincount(rows["q"][known], minlength=n)
    total = np.bincount(rows["q"][known], weights=values[known], minlength=n)
    mean = np.divide(total, count, out=np.full(n, np.nan), where=count > 0)
    return np.asarray(mean, dtype=np.float32)


def _summary(rows: Rows, dataset: DatasetIndex) -> Summary:
    n, q = dataset.columns.count, rows["q"]
    good = usable(rows, dataset)
    right = _right(rows, dataset, good)
    unsure = rows["status"] == STATUSES.index("cannot_tell")
    asked, rights = np.bincount(q, minlength=n), np.bincount(q[right], minlength=n)
    failed = np.bincount(q[~good & ~unsure], minlength=n)
    told = asked - np.bincount(q[unsure], minlength=n)
    open_ended = dataset.columns.open_ended == 1
    outcome = np.select(
        [asked == 0, failed > 0, told == 0, open_ended, rights == told, rights == 0],
        [0, 4, 5, 6, 1, 3],
        default=2,
    ).astype(np.int32)
    counted = (rows["check"] == 0) & ~open_ended[q]
    statuses = np.zeros(n, np.uint16)
    np.bitwise_or.at(statuses, q, np.left_shift(1, rows["status"]).astype(np.uint16))
    chars = np.zeros(n, np.int32)
    np.maximum.at(chars, q, rows["chars"])
    value, number = np.full(n, -1, np.int32), np.full(n, np.nan, np.float32)
    value[q[good][::-1]] = rows["value"][good][::-1]
    number[q[good][::-1]] = rows["number"][good][::-1]
    p = rows["probability"]
    return Summary(
        outcome=outcome,
        statuses=statuses,
        consistency=_consistency(rows, good, n),
        asked=np.bincount(q[counted], minlength=n).astype(np.int32),
        answered=np.bincount(q[counted & good], minlength=n).astype(np.int32),
        right=np.bincount(q[counted & right], minlength=n).astype(np.int32),
        share_right=np.divide(
            rights, asked, out=np.full(n, np.nan), where=(asked > 0) & ~open_ended
        ).astype(np.float32),
        confidence=_mean(rows, np.maximum(p, 1 - p), n),
        latency=_mean(rows, rows["latency"], n),
        chars=chars,
        value=value,
        number=number,
        verdicts=int(rows.size),
        shares=_shares(rows, dataset, good, right),
        failed=int((~good & ~unsure).sum()),
    )


def _consistency(rows: Rows, good: NDArray[np.bool_], n: int) -> NDArray[np.int32]:
    """Whether the answer is the same in both orders: the majority over repeats where there are
    several.

    A tie is neither letter, so it is the same answer as another tie alone.
    """
    letters = good & (rows["value"] >= 0) & (_SIZE[rows["value"]] <= 1)
    lean, asked = [], []
    for order in (0, 1):
        of_order = rows["order"] == order
        asked.append(np.bincount(rows["q"][of_order], minlength=n))
        chosen = letters & of_order
        q = rows["q"][chosen]
        count = np.bincount(q, minlength=n)
        values = rows["value"][chosen]
        letter = (values == _A).astype(np.int32) - (values == _B)
        lean.append((count, np.bincount(q, weights=letter, minlength=n)))
    (n_ab, ab), (n_ba, ba) = lean
    states = [np.minimum(*asked) == 0, np.minimum(n_ab, n_ba) == 0, np.sign(ab) == np.sign(ba)]
    return np.select(states, [0, 3, 1], default=2).astype(np.int32)
