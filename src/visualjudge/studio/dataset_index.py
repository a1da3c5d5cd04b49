"""The studio's index of a dataset: one SQLite file in the user's cache with its
questions, texts and verdicts. Choosing among them is in ``selection.py``.

``question`` has a column of small integers for each criterion (their values are in
``vocabulary``), ``record`` each question as JSON, ``verdict`` a row for each verdict
that counts, and ``outcome`` what a run's verdicts on a question come to. ``prompts``
and ``replies`` are full-text indexes. The file's name changes with the questions. It is
usable while questions are read into it, those of a large dataset by other processes.
"""

import hashlib
import sqlite3
import threading
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, count, islice, takewhile
from pathlib import Path
from queue import LifoQueue
from typing import Any

import orjson

from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import DataError, RunError
from visualjudge.core.records import STATUSES, Question, Verdict
from visualjudge.core.workers import Workers
from visualjudge.dataset.fault_truth import deciding
from visualjudge.dataset.folder import (
    Dataset,
    load_dataset,
    questions_file,
    read_meta,
)
from visualjudge.dataset.json_form import (
    QUESTIONS,
    question_json,
    question_of_json,
    questions_between,
)
from visualjudge.runs.folder import RunFolder
from visualjudge.runs.journal import Line
from visualjudge.runs.verdicts import verdict_in, verdict_of
from visualjudge.vision.encodings import CATALOGUE
from visualjudge.vision.tasks import TASKS

FORMAT = "1.2.4"
NONE = "(none)"
# Size in bytes above which questions are read by other processes, while pages are
# served.
LARGE = 32 * 2**20
# Bytes of a questions.json, or questions, that are read at a time.
FIRST_STEP = 2**18
STEP = 2**21
BATCH = 2048
MARGINS = (0.5, 1.0, 2.0, 4.0)
MARGIN_NAMES = (
    "below 0.5",
    "0.5 to 1",
    "1 to 2",
    "2 to 4",
    "4 and more",
    "one option",
)
SIZES = (32, 96)
SIZE_NAMES = ("below 32 pixels", "32 to 96 pixels", "96 pixels and more", NONE)
# Criteria of a question; each is a column with the code of its values, one or several.
# The column ``codes`` has all of them, which is faster to read.
FACETS = (
    "task",
    "form",
    "encoding",
    "type",
    "subset",
    "error_type",
    "class",
    "image",
    "source",
    "probe",
    "margin",
    "answer",
    "size",
)
# Number of bytes of a text that are searched.
LONGEST = 20_000
AMONG = "IN (SELECT value FROM json_each(?))"
_CONNECTIONS = 3
_LETTERS = bytes(b if b >= 128 or chr(b).isalpha() else 32 for b in range(256))
_TOKENS = "content='', columnsize=0, tokenize='unicode61 remove_diacritics 2'"
_SCHEMA = f"""
CREATE TABLE meta (checksum TEXT, questions INTEGER, changed INTEGER);
CREATE TABLE vocabulary (facet TEXT, code INTEGER, json TEXT, PRIMARY KEY (facet, code));
CREATE TABLE record (row INTEGER PRIMARY KEY, json TEXT);
CREATE TABLE question (row INTEGER PRIMARY KEY, id TEXT UNIQUE, prompt INTEGER, difference REAL,
    options INTEGER, changed INTEGER, open_ended INTEGER, family TEXT, pair INTEGER,
    codes BLOB, {", ".join(f"of_{name} INTEGER" for name in FACETS)});
CREATE INDEX of_family ON question (family);
CREATE INDEX of_pair ON question (pair);
CREATE TABLE image (name TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE VIRTUAL TABLE prompts USING fts5(words, {_TOKENS});
CREATE TABLE run (number INTEGER PRIMARY KEY, slug TEXT UNIQUE, stamp TEXT, size INTEGER,
    last INTEGER);
CREATE TABLE verdict (number INTEGER PRIMARY KEY, run INTEGER, row INTEGER, turned INTEGER,
    repeat INTEGER, start INTEGER, checks INTEGER, status INTEGER, cause TEXT, value TEXT,
    usable INTEGER, right INTEGER, reason INTEGER,
    UNIQUE (run, row, turned, repeat));
CREATE INDEX of_run ON verdict (run, start);
CREATE VIRTUAL TABLE replies USING fts5(words, {_TOKENS});
CREATE TABLE outcome (run INTEGER, row INTEGER, outcome INTEGER, consistency INTEGER,
    asked INTEGER, answered INTEGER, right INTEGER, failed INTEGER, share REAL,
    reasons INTEGER,
    PRIMARY KEY (run, row)) WITHOUT ROWID;
CREATE TABLE mark (row INTEGER PRIMARY KEY, star INTEGER, tag INTEGER, note INTEGER);
"""
Rows = list[tuple[Any, ...]]
Values = tuple[tuple[str, ...], ...]
_Numbers = dict[str, dict[Any, int]]


def words_of(text: str) -> str:
    """Return a text as it is searched: words only, since a prediction as text is mostly
    numbers."""
    content = (
        text.encode("utf-8", "replace")[:LONGEST]
        .decode("utf-8", "ignore")
        .encode()
    )
    return b" ".join(content.translate(_LETTERS).split()).decode()


@contextmanager
def storing(path: Path) -> Iterator[None]:
    """Convert SQLite errors to :class:`RunError` with the path of the file."""
    try:
        yield
    except sqlite3.Error as error:
        raise RunError(
            f"{path}: cannot be written: {error}; set XDG_CACHE_HOME to another folder"
        ) from None


class Study:
    """The open file of the dataset at ``root``; thread-safe.

    Attributes
    ----------
    complete
        Whether all questions are in it.
    """

    def __init__(self, root: Path, path: Path) -> None:
        self.root = root
        self.path = path
        self._pool: LifoQueue[sqlite3.Connection] = LifoQueue()
        for _ in range(_CONNECTIONS):
            self._pool.put(_connected(path))
        self._writer = _connected(path)
        self._writing = threading.RLock()
        # written once all questions are in it: to count them takes half a second
        stated = self.all("SELECT checksum, questions, changed FROM meta")
        self.complete = bool(stated)
        self.checksum: str | None = None
        self.count = 0
        self.changed = 0
        if stated:
            self.checksum, self.count, self.changed = stated[0]
        self.values: dict[str, list[tuple[str, ...]]] = {
            name: [] for name in FACETS
        }
        for name, text in self.all(
            "SELECT facet, json FROM vocabulary ORDER BY facet, code"
        ):
            self.values[name].append(tuple(orjson.loads(text)))

    def all(self, statement: str, *values: Any) -> Rows:
        """Return the rows of a query."""
        connection = self._pool.get()
        try:
            return connection.execute(statement, values).fetchall()
        finally:
            self._pool.put(connection)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction, which holds the file's only write lock."""
        with self._writing, self._writer:
            self._writer.execute("BEGIN IMMEDIATE")
            yield self._writer

    def types(self) -> list[str]:
        """Return the question types, in order of appearance; pairwise without a
        question."""
        return [value for (value,) in self.values["type"]] or ["pairwise"]

    def row_of(self, identity: str) -> int | None:
        """Return the row of a question's id, or None if there is none."""
        (row,) = self.rows_of([identity])
        return None if row < 0 else row

    def rows_of(self, identities: Iterable[str]) -> list[int]:
        """Return the row of each id, or -1 if there is none."""
        names = list(identities)
        known: dict[str, int] = dict(
            self.all(
                f"SELECT id, row FROM question WHERE id {AMONG}", among(names)
            )
        )
        return [known.get(name, -1) for name in names]

    def identities(self, rows: Sequence[int]) -> list[str]:
        """Return the id of each row."""
        known: dict[int, str] = dict(
            self.all(
                f"SELECT row, id FROM question WHERE row {AMONG}", among(rows)
            )
        )
        return [known[row] for row in rows]

    def question(self, row: int) -> Question:
        """Read one question."""
        return question_of_json(
            self.all("SELECT json FROM record WHERE row = ?", row)[0][0]
        )

    def questions(
        self, identities: Iterable[str]
    ) -> Iterator[tuple[int, Question]]:
        """Read questions by id, with their rows; ids without a question are left
        out."""
        joined = (
            "SELECT row, json FROM question JOIN record USING (row) WHERE id "
            f"{AMONG}"
        )
        for row, text in self.all(joined, among(identities)):
            yield row, question_of_json(text)

    def has_image(self, name: str) -> bool:
        """Return whether a question shows the image with this name."""
        return bool(self.all("SELECT 1 FROM image WHERE name = ?", name))


def among(values: Iterable[Any]) -> str:
    """Return values as JSON, for a condition that ends with ``AMONG``."""
    return orjson.dumps(list(values)).decode()


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, check_same_thread=False, isolation_level=None, timeout=60
    )
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


# ---------------------------------------------------------------- building


def open_study(root: Path, home: Path, slug: str) -> Study:
    """Open the file of the dataset at ``root``; make an empty one if it is missing,
    damaged, out of date or not complete. :func:`read_in` fills it.

    Raises
    ------
    RunError
        If the file cannot be written.
    """
    path = (
        home
        / f"{slug}-{hashlib.sha256(_stamp(root).encode()).hexdigest()[:12]}.sqlite"
    )
    with storing(path):
        home.mkdir(parents=True, exist_ok=True)
        with suppress(
            sqlite3.DatabaseError, ValueError, KeyError
        ):  # missing or damaged
            study = Study(root, path)
            if study.complete:
                return study
        for other in (*home.glob(f"{slug}-*.sqlite*"), home / f"{slug}.sqlite"):
            other.unlink(
                missing_ok=True
            )  # of earlier questions, or of version 1.0
        with closing(_connected(path)) as connection:
            connection.executescript(_SCHEMA)
        return Study(root, path)


def _stamp(root: Path) -> str:
    stat = questions_file(root).stat()
    return f"{FORMAT} {stat.st_size} {stat.st_mtime_ns} {stat.st_ino}"


def read_in(study: Study) -> Iterator[None]:
    """Read the questions into an empty study, a part before each step.

    Raises
    ------
    DataError
        If the questions cannot be read.
    RunError
        If the file cannot be written.
    """
    if study.complete:
        return
    root = study.root
    file = questions_file(study.root)
    stamp = _stamp(study.root)
    numbers: _Numbers = {name: {} for name in (*FACETS, "prompt", "pair")}
    try:
        meta = read_meta(root)
        with (
            Workers(2 if file.stat().st_size > LARGE else 1) as workers,
            storing(study.path),
        ):
            for part in _parts(file, stamp, workers):
                _store(study, part, numbers)
                yield
            if _stamp(root) != stamp:
                raise DataError(
                    f"{file}: changed while it was read; start the studio again"
                )
            stated = meta.get("files", {}).get(QUESTIONS)
            study.checksum = (
                file_sha256(file) if file.name == QUESTIONS else stated
            )
            with study.writing() as db:
                db.execute(
                    "INSERT INTO meta VALUES (?, ?, ?)",
                    (study.checksum, study.count, study.changed),
                )
            study.complete = True
    finally:
        if not study.complete:
            for left in study.path.parent.glob(f"{study.path.name}*"):
                left.unlink(missing_ok=True)


# A question's JSON, id, words, case, images, facts, and values of each facet.
_Row = tuple[
    str, str, str, tuple[Any, ...], tuple[str, ...], tuple[Any, ...], Values
]


def _parts(file: Path, stamp: str, workers: Workers) -> Iterator[list[_Row]]:
    read = 0
    if file.name == QUESTIONS:
        starts = range(FIRST_STEP, file.stat().st_size, STEP)
        later = workers.map(
            _rows_of_lines, ((file, start, start + STEP) for start in starts)
        )
        # The first part is read here, as processes take a second to start.
        for part in chain([_rows_of_lines((file, 0, FIRST_STEP))], later):
            if part is None:
                break
            read += len(part)
            yield part
        else:
            return
    ranges = ((file.parent, stamp, k, k + BATCH) for k in count(read, BATCH))
    yield from takewhile(bool, workers.map(_rows_at, ranges))


def _rows_of_lines(place: tuple[Path, int, int]) -> list[_Row] | None:
    """Return the questions on some lines; None if there is not one on each line, or it
    is wrong."""
    try:
        return [
            _row(record, question)
            for record, question in questions_between(*place)
        ]
    except ValueError:
        return None


@lru_cache(1)
def _opened(root: Path, _stamp: str) -> Dataset:
    return load_dataset(root)


def _rows_at(place: tuple[Path, str, int, int]) -> list[_Row]:
    root, stamp, start, stop = place
    return [
        _row(question_json(question), question)
        for question in _opened(root, stamp).questions[start:stop]
    ]


def _row(record: bytes, question: Question) -> _Row:
    return (
        record.decode(),
        question.id,
        words_of(question.prompt),
        # Questions about the same options, however they are shown, are one case.
        (
            question.task,
            question.question_type,
            question.image_id,
            *sorted(question.annotation_ids),
        ),
        question.images,
        (
            difference_of(question),
            len(question.final_scores),
            question.changed,
            not question.has_answer,
            question.probe and question.probe.group,
        ),
        _values(question),
    )


def _store(study: Study, part: Sequence[_Row], numbers: _Numbers) -> None:
    """Write a part to the file; ``numbers`` has the codes of the values before it."""
    prompts = numbers["prompt"]
    cases = numbers["pair"]
    rows = []
    texts = []
    records = []
    images = set[str]()
    for row, (
        record,
        identity,
        words,
        case,
        image_names,
        facts,
        values,
    ) in enumerate(part, study.count):
        new = len(prompts)
        number = prompts.setdefault(hash(words), new)
        if number == new:
            texts.append((number, words))
        named = zip(FACETS, values, strict=True)
        codes = [
            numbers[name].setdefault(v, len(numbers[name])) for name, v in named
        ]
        pair = cases.setdefault(hash(case), len(cases))
        rows.append(
            (
                row,
                identity,
                number,
                *facts,
                pair,
                array("I", codes).tobytes(),
                *codes,
            )
        )
        records.append((row, record))
        images.update(image_names)
    added = []
    for name in FACETS:
        known = study.values[name]
        fresh = list(islice(numbers[name], len(known), None))
        more = enumerate(fresh, len(known))
        added += [
            (name, code, orjson.dumps(values_of).decode())
            for code, values_of in more
        ]
        known += fresh
    marks = ", ".join("?" * (10 + len(FACETS)))
    with study.writing() as db:
        try:
            db.executemany(f"INSERT INTO question VALUES ({marks})", rows)
        except sqlite3.IntegrityError:
            raise DataError(
                f"{study.root}: questions: id: must be unique"
            ) from None
        db.executemany("INSERT INTO vocabulary VALUES (?, ?, ?)", added)
        db.executemany("INSERT INTO record VALUES (?, ?)", records)
        db.executemany(
            "INSERT INTO prompts (rowid, words) VALUES (?, ?)", texts
        )
        db.executemany("INSERT OR IGNORE INTO image VALUES (?)", zip(images))
    study.changed += sum(row[5] for row in rows)
    study.count += len(rows)


def difference_of(question: Question) -> float | None:
    """Return the difference between the best and the worst option; None for a single
    option."""
    scores = question.final_scores
    return max(scores) - min(scores) if len(scores) > 1 else None


def _values(question: Question) -> Values:
    """Return the values of each facet."""
    probe = question.probe
    margin = difference_of(question)
    return (
        (question.task,),
        (shown_as(question) or "text",),
        (f"{question.task}/{question.encoding}",),
        (question.question_type,),
        _distinct(question.subset),
        (question.error_type or NONE,),
        _distinct(question.class_of_interest),
        (question.image_id,),
        _distinct(source or NONE for source in question.sources),
        (NONE if probe is None else probe.name,),
        (
            MARGIN_NAMES[
                -1 if margin is None else sum(margin >= m for m in MARGINS)
            ],
        ),
        (_answer(question),),
        (_size(question),),
    )


def shown_as(question: Question) -> str | None:
    """Return how an encoding shows predictions: pixel, combo or text; None if it is not
    ours."""
    task = TASKS.get(question.task)
    row = CATALOGUE.get((task.type, question.encoding)) if task else None
    return None if row is None else row.kind


def _distinct(values: Iterable[str] | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values or ())) or (NONE,)


def _answer(question: Question) -> str:
    if not question.has_answer:
        return NONE
    if isinstance(question.answer, str):
        return question.answer
    low = min(int(question.answer), 9)
    return f"{low} to {low + 1}"


def _size(question: Question) -> str:
    """Return how large the costliest error is, as in the report; by the sides of
    COCO's small and large objects."""
    facts = deciding(question, None)
    if facts is None or not facts.area:
        return NONE
    return SIZE_NAMES[sum(facts.area**0.5 >= side for side in SIZES)]


# ---------------------------------------------------------------- verdicts

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
    "first place in both orders",
    "second place in both orders",
)
# Lines of a journal that are read at a time.
VERDICTS = 2000
_UNSURE = STATUSES.index("cannot_tell")
_LEAN = "(value = 'A') - (value = 'B')"
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
        WHEN (lean_ab > 0) - (lean_ab < 0) = (lean_ba > 0) - (lean_ba < 0) THEN 1
        WHEN lean_ab > 0 AND lean_ba < 0 THEN 4 WHEN lean_ab < 0 AND lean_ba > 0 THEN 5
        ELSE 2 END,
    iif(open_ended, 0, iif(options = 1, answered, asked)), iif(open_ended, 0, answered), rights,
    failed, iif(open_ended, NULL, rights * 1.0 / asked), ifnull(reasons, 0)
FROM (SELECT run, row, open_ended, options, ? AS ordered, count(*) AS asked,
        sum(usable) AS answered, sum(status = {_UNSURE}) AS unsure,
        sum(NOT usable AND status <> {_UNSURE}) AS failed,
        sum(right) AS rights, {_REASONS} AS reasons,
        sum(turned) AS asked_ba, sum(usable AND NOT turned) AS read_ab,
        sum(usable AND turned) AS read_ba, sum(iif(usable AND NOT turned, {_LEAN}, 0)) AS lean_ab,
        sum(iif(usable AND turned, {_LEAN}, 0)) AS lean_ba
    FROM verdict JOIN question USING (row) WHERE run = ? AND NOT checks AND row IN ("""
# The outcome of one verdict, as a place in OUTCOMES.
_OUTCOME = f"""CASE WHEN status = {_UNSURE} THEN 5 WHEN NOT usable THEN 4 WHEN open_ended THEN 6
    WHEN right THEN 1 ELSE 3 END"""


@dataclass(frozen=True, slots=True)
class Totals:
    """A run's verdicts that are counted: not those that only check a rater, nor those
    on copies made by probes; ``read`` are all that were read.
    """

    read: int
    verdicts: int
    failed: int
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
            stamp, size, last = db.execute(
                "SELECT stamp, size, last FROM run WHERE number = ?",
                (self.number,),
            ).fetchone()
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
            lines = list(islice(unread, 0 if last is None else 1, VERDICTS))
            whole = [line for line in lines if not line.cut]
            self._store(db, whole)
            if whole:
                last = whole[-1].start
                db.execute(
                    "UPDATE run SET last = ? WHERE number = ?",
                    (last, self.number),
                )
            if len(lines) < VERDICTS - 1:
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
        from visualjudge.studio.answers_of_runs import (
            Answered,  # loads the analysis
        )

        read = dict[int, Verdict]()
        for line in lines:
            if (verdict := verdict_in(line)) is not None:
                read[line.start] = verdict
        asked = self.study.questions({row.id for row in read.values()})
        answered = Answered(self.study.root, asked, self.folder, read)
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
        db.execute(
            f"{_SUM_UP}{some}) GROUP BY row)",
            (answered.orders_compare, self.number),
        )

    # ---------------------------------------------------------------- what they say

    def totals(self) -> Totals:
        """Return the run's verdicts in all."""
        known = self._totals
        if known is None or known[0] != self.generation:
            known = self._totals = (self.generation, self._summed())
        return known[1]

    def _summed(self) -> Totals:
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
        return Totals(read, verdicts, failed, tuple(causes))

    def of_question(self, row: int) -> Iterator[tuple[Verdict, str]]:
        """Return the verdicts on one question with their outcomes, in journal order."""
        return self._read(
            "run = ? AND row = ? ORDER BY number", self.number, row
        )

    def newest(
        self, cause: str | None, start: int, count: int
    ) -> Iterator[tuple[Verdict, str]]:
        """Return some verdicts, newest first: all (None), or the failed ones that are
        counted, of one cause or any ("").
        """
        where = (
            "run = ?1 AND (?2 IS NULL OR NOT usable AND NOT checks AND NOT changed AND "
            "?2 IN (cause, '')) ORDER BY start DESC LIMIT ?3 OFFSET ?4"
        )
        return self._read(where, self.number, cause, count, start)

    def _read(self, where: str, *values: Any) -> Iterator[tuple[Verdict, str]]:
        rows = self.study.all(
            f"SELECT start, {_OUTCOME} FROM verdict JOIN question USING (row) WHERE "
            f"{where}",
            *values,
        )
        for start, outcome in rows:
            yield verdict_of(self.folder.record_at(start)), OUTCOMES[outcome]
