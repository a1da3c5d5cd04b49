"""The SQLite file of one dataset in the user's cache: its questions, texts and
verdicts.

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
from functools import lru_cache
from itertools import chain, count, islice, takewhile
from pathlib import Path
from queue import LifoQueue
from typing import Any, get_args

import orjson

from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import DataError, RunError
from visualjudge.core.records import Question, Status
from visualjudge.core.workers import Workers
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
from visualjudge.vision.encodings import CATALOGUE
from visualjudge.vision.tasks import TASKS

FORMAT = "1.2.0"
NONE = "(none)"
# Size in bytes above which questions are read by other processes, while pages are
# served.
LARGE = 32 * 2**20
# Bytes of a questions.json, or questions, that are read at a time.
FIRST_STEP = 2**18
STEP = 2**21
BATCH = 2048
STATUSES = get_args(Status)
MARGINS = (0.5, 1.0, 2.0, 4.0)
MARGIN_NAMES = (
    "below 0.5",
    "0.5 to 1",
    "1 to 2",
    "2 to 4",
    "4 and more",
    "one option",
)
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
    "group",
    "margin",
    "answer",
)
# Number of bytes of a text that are searched.
LONGEST = 20_000
AMONG = "IN (SELECT value FROM json_each(?))"
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
    usable INTEGER, right INTEGER, wrong REAL, reason INTEGER,
    UNIQUE (run, row, turned, repeat));
CREATE INDEX of_run ON verdict (run, start);
CREATE VIRTUAL TABLE replies USING fts5(words, {_TOKENS});
CREATE TABLE outcome (run INTEGER, row INTEGER, outcome INTEGER, consistency INTEGER,
    asked INTEGER, answered INTEGER, right INTEGER, failed INTEGER, share REAL,
    wrong REAL, of_wrong INTEGER, reasons INTEGER,
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
        stated = self.all("SELECT value FROM meta WHERE name = 'checksum'")
        self.complete = bool(stated)
        self.checksum: str | None = stated[0][0] if stated else None
        self.count: int = self.all("SELECT count(*) FROM question")[0][0]
        self.values: dict[str, list[tuple[str, ...]]] = {
            name: [] for name in FACETS
        }
        for name, text in self.all(
            "SELECT facet, json FROM vocabulary ORDER BY facet, code"
        ):
            self.values[name].append(tuple(orjson.loads(text)))
        ((self.changed,),) = self.all(
            "SELECT ifnull(sum(changed), 0) FROM question"
        )

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
                    "INSERT INTO meta VALUES ('checksum', ?)", (study.checksum,)
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
    changed = question.probe is not None and question.probe.design != "control"
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
            changed,
            not question.has_answer,
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
    marks = ", ".join("?" * (9 + len(FACETS)))
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
        (NONE if probe is None else probe.group,),
        (
            MARGIN_NAMES[
                -1 if margin is None else sum(margin >= m for m in MARGINS)
            ],
        ),
        (_answer(question),),
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
