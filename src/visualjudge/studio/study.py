"""The SQLite file of one dataset in the user's cache: its questions, texts and verdicts.

``question`` has a column of small integers for each criterion (their values are in
``vocabulary``), ``record`` each question as JSON, ``verdict`` a row for each verdict that counts,
and ``outcome`` what a run's verdicts on a question come to. ``prompts`` and ``replies`` are
full-text indexes. The file's name changes with the questions; a large dataset is read by another
process, so that memory stays small.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from queue import LifoQueue
from typing import Any

import orjson

from visualjudge.core.answers import has_answer
from visualjudge.core.errors import DataError, RunError
from visualjudge.core.records import Question
from visualjudge.core.workers import Workers
from visualjudge.dataset.folder import load_dataset, questions_file
from visualjudge.dataset.json_form import question_from_wire, question_to_wire
from visualjudge.vision.encodings import CATALOGUE
from visualjudge.vision.tasks import TASKS

FORMAT = "1.1.3"
NONE = "(none)"
# Size in bytes above which questions are read by another process, while pages are served.
LARGE = 32 * 2**20
MARGINS = (0.5, 1.0, 2.0, 4.0)
MARGIN_NAMES = ("below 0.5", "0.5 to 1", "1 to 2", "2 to 4", "4 and more", "one option")
# Criteria of a question; each is a column with the code of its values, one or several. The column
# ``codes`` has all of them, which is faster to read.
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
    "group",
    "margin",
    "answer",
)
# Number of bytes of a text that are searched.
LONGEST = 20_000
AMONG = "IN (SELECT value FROM json_each(?))"
_BATCH = 2000
_CONNECTIONS = 3
_LETTERS = bytes(b if b >= 128 or chr(b).isalpha() else 32 for b in range(256))
_TOKENS = "content='', columnsize=0, tokenize='unicode61 remove_diacritics 2'"
_SCHEMA = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE vocabulary (facet TEXT, code INTEGER, json TEXT, PRIMARY KEY (facet, code));
CREATE TABLE record (row INTEGER PRIMARY KEY, json TEXT);
CREATE TABLE question (row INTEGER PRIMARY KEY, id TEXT UNIQUE, prompt INTEGER, difference REAL,
    options INTEGER, changed INTEGER, open_ended INTEGER, pair INTEGER,
    codes BLOB, {", ".join(f"of_{name} INTEGER" for name in FACETS)});
CREATE INDEX of_group ON question (of_group);
CREATE INDEX of_pair ON question (pair);
CREATE TABLE image (name TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE VIRTUAL TABLE prompts USING fts5(words, {_TOKENS});
CREATE TABLE run (number INTEGER PRIMARY KEY, slug TEXT UNIQUE, stamp TEXT, size INTEGER,
    last INTEGER);
CREATE TABLE verdict (number INTEGER PRIMARY KEY, run INTEGER, row INTEGER, turned INTEGER,
    repeat INTEGER, start INTEGER, checks INTEGER, status INTEGER, cause TEXT, value TEXT,
    usable INTEGER, right INTEGER, wrong REAL, UNIQUE (run, row, turned, repeat));
CREATE INDEX of_run ON verdict (run, start);
CREATE VIRTUAL TABLE replies USING fts5(words, {_TOKENS});
CREATE TABLE outcome (run INTEGER, row INTEGER, outcome INTEGER, consistency INTEGER,
    asked INTEGER, answered INTEGER, right INTEGER, failed INTEGER, share REAL,
    wrong REAL, of_wrong INTEGER, PRIMARY KEY (run, row)) WITHOUT ROWID;
CREATE TABLE mark (row INTEGER PRIMARY KEY, star INTEGER, tag INTEGER, note INTEGER);
"""
Rows = list[tuple[Any, ...]]


def words_of(text: str) -> str:
    """Return a text as it is searched: words only, since a prediction as text is mostly numbers."""
    content = text.encode("utf-8", "replace")[:LONGEST].decode("utf-8", "ignore").encode()
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
    """The open file of the dataset at ``root``; thread-safe."""

    def __init__(self, root: Path, path: Path) -> None:
        self.root, self.path = root, path
        self._pool: LifoQueue[sqlite3.Connection] = LifoQueue()
        for _ in range(_CONNECTIONS):
            self._pool.put(_connected(path))
        self._writer = _connected(path)
        self._writing = threading.RLock()
        self.checksum = str(self.all("SELECT value FROM meta WHERE name = 'checksum'")[0][0])
        self.count: int = self.all("SELECT count(*) FROM question")[0][0]
        self.values: dict[str, list[tuple[str, ...]]] = {name: [] for name in FACETS}
        for name, text in self.all("SELECT facet, json FROM vocabulary ORDER BY facet, code"):
            self.values[name].append(tuple(orjson.loads(text)))
        self.has_probes = bool(self.all("SELECT 1 FROM question WHERE changed LIMIT 1"))

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
        """Return the question types, in order of appearance; pairwise without a question."""
        return [value for (value,) in self.values["type"]] or ["pairwise"]

    def row_of(self, identity: str) -> int | None:
        """Return the row of a question's id, or None if there is none."""
        (row,) = self.rows_of([identity])
        return None if row < 0 else row

    def rows_of(self, identities: Iterable[str]) -> list[int]:
        """Return the row of each id, or -1 if there is none."""
        names = list(identities)
        known: dict[str, int] = dict(
            self.all(f"SELECT id, row FROM question WHERE id {AMONG}", among(names))
        )
        return [known.get(name, -1) for name in names]

    def identities(self, rows: Sequence[int]) -> list[str]:
        """Return the id of each row."""
        known: dict[int, str] = dict(
            self.all(f"SELECT row, id FROM question WHERE row {AMONG}", among(rows))
        )
        return [known[row] for row in rows]

    def question(self, row: int) -> Question:
        """Read one question."""
        return _question(self.all("SELECT json FROM record WHERE row = ?", row)[0][0])

    def questions(self, identities: Iterable[str]) -> Iterator[tuple[int, Question]]:
        """Read questions by id, with their rows; ids without a question are left out."""
        joined = f"SELECT row, json FROM question JOIN record USING (row) WHERE id {AMONG}"
        for row, text in self.all(joined, among(identities)):
            yield row, _question(text)

    def has_image(self, name: str) -> bool:
        """Return whether a question shows the image with this name."""
        return bool(self.all("SELECT 1 FROM image WHERE name = ?", name))


def among(values: Iterable[Any]) -> str:
    """Return values as JSON, for a condition that ends with ``AMONG``."""
    return orjson.dumps(list(values)).decode()


def _question(text: str) -> Question:
    return question_from_wire(orjson.loads(text))


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=60)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


# ---------------------------------------------------------------- building


def open_study(root: Path, home: Path, slug: str) -> Study:
    """Open the file of the dataset at ``root``; build it if it is missing, damaged or out of date.

    Raises
    ------
    DataError
        If the questions cannot be read.
    RunError
        If the file cannot be written.
    """
    stat = questions_file(root).stat()
    stamp = f"{FORMAT} {stat.st_size} {stat.st_mtime_ns} {stat.st_ino}"
    path = home / f"{slug}-{hashlib.sha256(stamp.encode()).hexdigest()[:12]}.sqlite"
    with storing(path):
        home.mkdir(parents=True, exist_ok=True)
        if path.is_file():
            with suppress(sqlite3.DatabaseError, IndexError, ValueError, KeyError):  # damaged
                return Study(root, path)
        for other in (*home.glob(f"{slug}-*.sqlite*"), home / f"{slug}.sqlite"):
            other.unlink(missing_ok=True)  # of earlier questions, or of version 1.0
        large = stat.st_size > LARGE
        with Workers(2 if large else 1) as workers:
            next(iter(workers.map(_build, [(root, path, scratch_of(path))])))
        return Study(root, path)


def scratch_of(path: Path) -> Path:
    """Return the name under which this process builds a file, so that nobody opens a part of it."""
    return path.with_suffix(f".{os.getpid()}.{threading.get_native_id()}.part")


def forget_scratch(home: Path) -> None:
    """Remove what this process has not finished building."""
    for scratch in home.glob(f"*.{os.getpid()}.*.part"):
        scratch.unlink(missing_ok=True)


def _build(place: tuple[Path, Path, Path]) -> None:
    root, path, scratch = place
    connection = sqlite3.connect(scratch, isolation_level=None)
    try:
        connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN")
        for statement in _SCHEMA.split(";"):
            connection.execute(statement)
        _fill(connection, root)
        connection.execute("COMMIT")
        connection.close()
        with suppress(FileExistsError):  # another studio was first
            os.link(scratch, path)
    finally:
        connection.close()
        scratch.unlink(missing_ok=True)


def _fill(db: sqlite3.Connection, root: Path) -> None:
    dataset = load_dataset(root)
    codes: dict[str, dict[tuple[str, ...], int]] = {name: {} for name in FACETS}
    prompts: dict[int, int] = {}
    pairs: dict[int, int] = {}
    left = enumerate(dataset.questions)
    while batch := list(islice(left, _BATCH)):
        rows, texts, records = [], [], []
        for row, question in batch:
            words = words_of(question.prompt)
            new = len(prompts)
            number = prompts.setdefault(hash(words), new)
            if number == new:
                texts.append((number, words))
            own = _codes(codes, question)
            probe, options = question.probe, len(question.final_scores)
            changed = probe is not None and probe.design != "control"
            facts = (difference_of(question), options, changed, not has_answer(question))
            pair = pairs.setdefault(_same_case(question), len(pairs))
            stored = array("I", own.values()).tobytes(), *own.values()
            rows.append((row, question.id, number, *facts, pair, *stored))
            records.append((row, orjson.dumps(question_to_wire(question)).decode()))
        marks = ", ".join("?" * len(rows[0]))
        try:
            db.executemany(f"INSERT INTO question VALUES ({marks})", rows)
        except sqlite3.IntegrityError:
            raise DataError(f"{root}: questions: id: must be unique") from None
        db.executemany("INSERT INTO record VALUES (?, ?)", records)
        db.executemany("INSERT INTO prompts (rowid, words) VALUES (?, ?)", texts)
        images = {(name,) for _, question in batch for name in question.images}
        db.executemany("INSERT OR IGNORE INTO image VALUES (?)", images)
    for name, known in codes.items():
        db.executemany(
            "INSERT INTO vocabulary VALUES (?, ?, ?)",
            ((name, code, orjson.dumps(values).decode()) for values, code in known.items()),
        )
    db.execute("INSERT INTO meta VALUES ('checksum', ?)", (dataset.digest,))


def _same_case(question: Question) -> int:
    """Return a number that questions about the same options share, however they are shown."""
    options = tuple(sorted(question.annotation_ids))
    return hash((question.task, question.question_type, question.image_id, options))


def difference_of(question: Question) -> float | None:
    """Return the difference between the best and the worst option; None for a single option."""
    scores = question.final_scores
    return max(scores) - min(scores) if len(scores) > 1 else None


def _codes(codes: Mapping[str, dict[tuple[str, ...], int]], question: Question) -> dict[str, int]:
    values = _values(question)
    return {name: known.setdefault(values[name], len(known)) for name, known in codes.items()}


def _values(question: Question) -> dict[str, tuple[str, ...]]:
    probe, margin = question.probe, difference_of(question)
    return {
        "task": (question.task,),
        "form": (shown_as(question) or "text",),
        "encoding": (f"{question.task}/{question.encoding}",),
        "type": (question.question_type,),
        "subset": _distinct(question.subset),
        "error_type": (question.error_type or NONE,),
        "class": _distinct(question.class_of_interest),
        "image": (question.image_id,),
        "source": _distinct(source or NONE for source in question.sources),
        "probe": (NONE if probe is None else probe.name,),
        "group": (NONE if probe is None else probe.group,),
        "margin": (MARGIN_NAMES[-1 if margin is None else sum(margin >= m for m in MARGINS)],),
        "answer": (_answer(question),),
    }


def shown_as(question: Question) -> str | None:
    """Return how an encoding shows predictions: pixel, combo or text; None if it is not ours."""
    task = TASKS.get(question.task)
    row = CATALOGUE.get((task.type, question.encoding)) if task else None
    return None if row is None else row.kind


def _distinct(values: Iterable[str] | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values or ())) or (NONE,)


def _answer(question: Question) -> str:
    if not has_answer(question):
        return NONE
    if isinstance(question.answer, str):
        return question.answer
    low = min(int(question.answer), 9)
    return f"{low} to {low + 1}"
