"""The index of a dataset: an SQLite file in the user's cache, rebuilt when the questions change.

It holds a column of small integers for each criterion, the position of each record in the file, the
names of the images, and a full-text index of the prompts. The questions stay in their files, so
memory use is about a hundred bytes per question, independent of prompts and images. Parts of a
large dataset are read in parallel by several processes.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import DataError, RunError
from visualjudge.core.garbage_collection import paused_collector
from visualjudge.core.records import UNKNOWN, Answer, Question
from visualjudge.core.workers import Workers
from visualjudge.dataset.folder import load_dataset, questions_file
from visualjudge.runs.journal import LONGEST_LINE
from visualjudge.studio.text_index import TextIndex, Words, words_of

NONE = "(none)"
NAN = float("nan")
SINGLE = ("task", "encoding", "type", "error_type", "image", "answer", "probe", "group")
"""Facets with one value for each question."""
MULTIPLE = ("subset", "class", "source")
"""Facets with any number of values for each question."""
STEP = 2**20
"""Size of a part in bytes."""
HERE = Workers()
LARGE = 32 * 2**20
"""Size in bytes above which other processes save more time than they take to start, and above which
a first index is built while pages are served.
"""
_MOST_PROCESSES = 4
# Number of questions in a part that is not a range of bytes.
_QUESTIONS = 4000
FORMAT = "11"
_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE question (row INTEGER PRIMARY KEY, id TEXT UNIQUE);
CREATE TABLE image (name TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE vocabulary (facet TEXT, code INTEGER, value TEXT,
    PRIMARY KEY (facet, code)) WITHOUT ROWID;
CREATE TABLE column_ (name TEXT PRIMARY KEY, dtype TEXT, data BLOB);
"""
_ADD_QUESTIONS = "INSERT OR IGNORE INTO question SELECT ? + key, value FROM json_each(?)"
_ROWS_OF = """
SELECT group_concat(ifnull((SELECT row FROM question WHERE id = value), -1)) FROM json_each(?)
"""
Codes = NDArray[np.int32]


def engine_for(files: Iterable[Path]) -> Workers:
    """Return the engine for reading these files: other processes if the files are large and there
    are enough cores.

    One core reads and one writes the full-text index in any case. On two cores, other processes
    cost a third more CPU (for startup and for passing texts between them) and save little
    time.
    """
    size, cores = sum(path.stat().st_size for path in files if path.is_file()), os.cpu_count() or 1
    return HERE if size < LARGE or cores <= 2 else Workers(min(_MOST_PROCESSES, cores))


def line_ranges(path: Path, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Split the bytes ``start:stop`` into ranges of about STEP bytes that end at a line."""
    with path.open("rb") as file:
        while start < stop:
            file.seek(min(start + STEP, stop))
            if len(file.readline(LONGEST_LINE + 1)) > LONGEST_LINE:
                raise DataError(f"{path}: a line must have at most {LONGEST_LINE >> 20} MiB")
            begin, start = start, min(file.tell(), stop)
            yield begin, start


class _Codes(dict[str, int]):
    """A code for each value, in order of appearance."""

    def __missing__(self, value: str) -> int:
        self[value] = code = len(self)
        return code


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """Consecutive questions of the dataset; codes and rows count from 0 in each part.

    Attributes
    ----------
    ids
        Of each question.
    multiple
        Rows and codes.
    """

    ids: list[str]
    images: set[str]
    texts: list[Words]
    codes: dict[str, _Codes]
    single: dict[str, Codes]
    columns: dict[str, NDArray[Any]]
    multiple: dict[str, tuple[Codes, Codes]]


def parts(questions: Iterable[Question]) -> Iterator[Part]:
    """Return all questions in order.

    Raises
    ------
    DataError
        If one cannot be read.
    """
    left = iter(questions)
    while (part := _next_part(left)).ids:
        yield part


@paused_collector()
def _next_part(left: Iterator[Question]) -> Part:
    return part_of(list(islice(left, _QUESTIONS)))


def part_of(questions: Sequence[Question]) -> Part:
    """Convert questions to columns."""
    codes = {name: _Codes() for name in (*SINGLE, *MULTIPLE)}
    scores = [question.final_scores for question in questions]
    return Part(
        ids=[question.id for question in questions],
        images=set(chain.from_iterable(question.images for question in questions)),
        texts=[words_of(question.prompt) for question in questions],
        codes=codes,
        single={
            name: np.array(list(map(codes[name].__getitem__, values)), np.int32)
            for name, values in _single(questions).items()
        },
        columns={
            "options": np.array([len(question.annotation_ids) for question in questions], np.int32),
            "length": np.array([len(question.prompt) for question in questions], np.int32),
            "changed": np.array([_is_changed(question) for question in questions], np.int32),
            "open_ended": np.array([not has_answer(question) for question in questions], np.int32),
            "margin": np.array(
                [max(s) - min(s) if len(s) > 1 else NAN for s in scores], np.float32
            ),
            "truth": np.array([_number(question.answer) for question in questions], np.float32),
            "scores": np.fromiter(chain.from_iterable(scores), np.float32),
        },
        multiple={
            name: _pairs(codes[name], values) for name, values in _multiple(questions).items()
        },
    )


def _pairs(codes: _Codes, values: Sequence[Sequence[str]]) -> tuple[Codes, Codes]:
    """Return the row and code of each distinct value."""
    distinct = [dict.fromkeys(some) if len(some) > 1 else some for some in values]
    rows = np.repeat(np.arange(len(distinct), dtype=np.int32), list(map(len, distinct)))
    return rows, np.array(list(map(codes.__getitem__, chain.from_iterable(distinct))), np.int32)


def has_answer(question: Question) -> bool:
    """Return whether one answer is right and known; not so in some questions of probes, and where
    nobody stated the truth.
    """
    if question.answer == UNKNOWN:
        return False
    return question.probe is None or question.probe.expected == "answer"


def no_answer(question: Question) -> str:
    """Return the words in place of the right answer of a question without one."""
    return "not known" if question.answer == UNKNOWN else "no answer is right"


def _is_changed(question: Question) -> bool:
    return question.probe is not None and question.probe.design != "control"


def _number(answer: Answer) -> float:
    return NAN if isinstance(answer, str) else float(answer)


def _single(questions: Sequence[Question]) -> dict[str, list[str]]:
    probes = [question.probe for question in questions]
    return {
        "task": [question.task for question in questions],
        "encoding": [f"{question.task}/{question.encoding}" for question in questions],
        "type": [question.question_type for question in questions],
        "error_type": [question.error_type or NONE for question in questions],
        "image": [str(question.image_id) for question in questions],
        "answer": [_answer(question) for question in questions],
        "probe": [NONE if probe is None else probe.name for probe in probes],
        "group": [NONE if probe is None else probe.group for probe in probes],
    }


def _multiple(questions: Sequence[Question]) -> dict[str, list[Sequence[str]]]:
    return {
        "subset": [question.subset or (NONE,) for question in questions],
        "class": [question.class_of_interest or (NONE,) for question in questions],
        "source": [
            [source or NONE for source in question.sources] or (NONE,) for question in questions
        ],
    }


def _answer(question: Question) -> str:
    if not has_answer(question):
        return NONE
    answer = question.answer
    return answer if isinstance(answer, str) else _bin(answer)


def _bin(answer: float) -> str:
    low = min(int(answer), 9)
    return f"{low} to {low + 1}"


@dataclass(frozen=True, eq=False, slots=True)
class Columns:
    """The columns held in memory: one entry for each question, or in ``multiple`` for each pair of
    question and value.

    ``single`` and ``multiple`` hold codes into ``vocabulary``; ``multiple[name]`` is (rows, codes),
    sorted by row.

    Attributes
    ----------
    margin
        Difference between the highest and the lowest score; NaN for a question with one option.
    truth
        The answer if it is a number, else NaN.
    scores
        The scores of all options, question after question.
    length
        Length of the prompt in characters.
    changed
        1 if a probe has changed the question, so that its answer does not count for accuracy.
    open_ended
        1 if no answer is right, such as when both options are the same.
    text
        Code of the prompt's words in the full-text index.
    start, stop
        The numbers with which the question is read from its file.
    """

    count: int
    single: Mapping[str, Codes]
    multiple: Mapping[str, tuple[Codes, Codes]]
    vocabulary: Mapping[str, tuple[str, ...]]
    margin: NDArray[np.float32]
    truth: NDArray[np.float32]
    scores: NDArray[np.float32]
    options: NDArray[np.int32]
    length: NDArray[np.int32]
    changed: NDArray[np.int32]
    open_ended: NDArray[np.int32]
    text: Codes


class DatasetIndex:
    """The open index of one dataset; thread-safe."""

    def __init__(self, root: Path, connection: sqlite3.Connection) -> None:
        self.root = root
        self.checksum = str(_meta(connection, "checksum"))
        self._db = connection
        self._lock = threading.Lock()
        self._questions = load_dataset(root).questions
        self.columns = _load(connection)
        self.texts = TextIndex(connection)

    def row_of(self, identity: str) -> int | None:
        """Return the row of a question's id, or None if not found."""
        found = self._one("SELECT row FROM question WHERE id = ?", identity)
        return None if found is None else int(found[0])

    def rows_of(self, identities: Iterable[str]) -> list[int]:
        """Return the row of each id, or -1 if not found."""
        # SQLite's JSON functions truncate text at NUL
        wanted = [None if "\0" in name else name for name in identities]
        with self._lock:
            found = self._db.execute(_ROWS_OF, (orjson.dumps(wanted).decode(),)).fetchone()[0]
        return list(map(int, found.split(","))) if found else []

    def identities(self, rows: Iterable[int]) -> list[str]:
        """Return the id of each row."""
        with self._lock:
            ask = self._db.cursor()
            return [
                ask.execute("SELECT id FROM question WHERE row = ?", (int(row),)).fetchone()[0]
                for row in rows
            ]

    def question(self, row: int) -> Question:
        """Read one question from the dataset.

        Raises
        ------
        DataError
            If the dataset has changed since the index was opened.
        """
        return self._questions[row]

    def has_image(self, name: str) -> bool:
        """Return whether a question shows the image with this name."""
        return self._one("SELECT 1 FROM image WHERE name = ?", name) is not None

    def search(self, query: str) -> NDArray[np.bool_]:
        """Return which questions have all words of ``query`` in their prompt, or have it as id."""
        with self._lock:
            mask = self.texts.search(query)[self.columns.text]
        row = self.row_of(query.strip())
        if row is not None:
            mask[row] = True
        return np.asarray(mask)

    def _one(self, statement: str, value: Any) -> tuple[Any, ...] | None:
        with self._lock:
            found: tuple[Any, ...] | None = self._db.execute(statement, (value,)).fetchone()
        return found


def open_index(
    root: Path,
    home: Path,
    slug: str,
    engine: Workers = HERE,
    tick: Callable[[float], None] = lambda share: None,
) -> DatasetIndex:
    """Open the index of the dataset at ``root``; build it if it is missing or its questions have
    changed.

    Parameters
    ----------
    tick
        Called with the share of questions read, while an index is built.

    Raises
    ------
    DataError
        If the questions cannot be read.
    RunError
        If the index cannot be written.
    """
    path = home / f"{slug}.sqlite"
    with storing(path):
        home.mkdir(parents=True, exist_ok=True)
        stat = questions_file(root).stat()
        # Recognises an unchanged file without reading it.
        stamp = f"{stat.st_size}:{stat.st_mtime_ns}:{stat.st_ino}"
        if not _is_current(path, stamp):
            checksum = file_sha256(questions_file(root))
            if not _is_current(path, None, checksum):
                _build(root, path, checksum, engine, tick)
            _put_stamp(path, stamp)
        try:
            return DatasetIndex(root, _connected(path))
        except (sqlite3.DatabaseError, KeyError, ValueError, TypeError):  # damaged after the header
            _build(root, path, file_sha256(questions_file(root)), engine, tick)
            return DatasetIndex(root, _connected(path))


@contextmanager
def storing(path: Path) -> Iterator[None]:
    """Convert SQLite errors to :class:`RunError` with the path of the index."""
    try:
        yield
    except sqlite3.Error as error:
        raise RunError(
            f"{path}: cannot be written: {error}; set XDG_CACHE_HOME to another folder"
        ) from None


def _connected(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, check_same_thread=False)


def _put_stamp(path: Path, stamp: str) -> None:
    with closing(_connected(path)) as connection, connection:
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('stamp', ?)", (stamp,))


def _is_current(path: Path, stamp: str | None, checksum: str | None = None) -> bool:
    """Return whether the index at ``path`` is complete, has this format, and matches the questions
    with this stamp or checksum.
    """
    if not path.is_file():
        return False
    connection = sqlite3.connect(path)
    try:
        wanted = ("stamp", stamp) if checksum is None else ("checksum", checksum)
        return _meta(connection, "format") == FORMAT and _meta(connection, wanted[0]) == wanted[1]
    except sqlite3.DatabaseError:
        return False
    finally:
        connection.close()


def _meta(connection: sqlite3.Connection, name: str) -> str | None:
    found = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return None if found is None else str(found[0])


# ---------------------------------------------------------------- building


def _build(
    root: Path, path: Path, checksum: str, engine: Workers, tick: Callable[[float], None]
) -> None:
    """Write the index to a temporary file, then rename it, so that another studio never reads a
    partial one.
    """
    scratch = path.with_suffix(f".{threading.get_native_id()}.part")
    scratch.unlink(missing_ok=True)
    connection = sqlite3.connect(scratch, check_same_thread=False)
    try:
        connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + _SCHEMA)
        builder = _Builder(connection)
        try:
            questions = load_dataset(root).questions
            for part in parts(questions):
                builder.add(part)
                tick(builder.count / max(len(questions), 1))
            builder.finish()
        finally:
            builder.texts.statements.settle()  # a connection must not be closed while in use
        connection.executemany(
            "INSERT INTO meta VALUES (?, ?)", [("format", FORMAT), ("checksum", checksum)]
        )
        connection.commit()
        connection.close()
        scratch.replace(path)
    finally:
        connection.close()
        scratch.unlink(missing_ok=True)


class _Builder:
    """Combines parts; the vocabularies grow as values appear."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.db = connection
        self.texts = TextIndex.create(connection)
        self.codes = {name: dict[str, int]() for name in (*SINGLE, *MULTIPLE)}
        self.columns: dict[str, list[NDArray[Any]]] = {}
        self.count = 0

    def add(self, part: Part) -> None:
        """Add the next questions."""
        for name in part.ids:
            if "\0" in name:  # SQLite's JSON functions truncate text at NUL
                raise DataError(f"questions: id: must hold no NUL character, got {name!r:.80}")
        first, self.count = self.count, self.count + len(part.ids)
        codes = {name: self._codes(name, words) for name, words in part.codes.items()}
        columns = part.columns | {name: codes[name][part.single[name]] for name in SINGLE}
        columns["text"] = np.fromiter(map(self.texts.add, part.texts), np.int32)
        for name, (rows, local) in part.multiple.items():
            columns |= {f"{name}.rows": rows + first, f"{name}.codes": codes[name][local]}
        for name, column in columns.items():
            self.columns.setdefault(name, []).append(column)
        self.texts.flush()
        self.texts.statements.run(
            (_ADD_QUESTIONS, (first, part.ids)),
            ("INSERT OR IGNORE INTO image SELECT value FROM json_each(?)", (sorted(part.images),)),
        )

    def _codes(self, name: str, words: Iterable[str]) -> Codes:
        """Return the code of each word of a part."""
        known = self.codes[name]
        return np.array([known.setdefault(word, len(known)) for word in words], np.int32)

    def finish(self) -> None:
        """Write the remaining data."""
        self.texts.flush()
        self.texts.complete()
        words = [
            (name, code, value)
            for name, known in self.codes.items()
            for value, code in known.items()
        ]
        self.db.executemany("INSERT INTO vocabulary VALUES (?, ?, ?)", words)
        for name, parts_ in self.columns.items():
            column = np.concatenate(parts_)
            stored = (name, column.dtype.newbyteorder("<").str, column.tobytes())
            self.db.execute("INSERT INTO column_ VALUES (?, ?, ?)", stored)


def _load(connection: sqlite3.Connection) -> Columns:
    stored = {
        name: (dtype, data) for name, dtype, data in connection.execute("SELECT * FROM column_")
    }
    words: dict[str, list[str]] = {}
    for facet, value in connection.execute(
        "SELECT facet, value FROM vocabulary ORDER BY facet, code"
    ):
        words.setdefault(facet, []).append(value)

    def column(name: str) -> NDArray[Any]:
        dtype, data = stored[name]
        return np.frombuffer(data, dtype=dtype)

    return Columns(
        count=len(column("text")),
        single={name: column(name) for name in SINGLE},
        multiple={name: (column(f"{name}.rows"), column(f"{name}.codes")) for name in MULTIPLE},
        vocabulary={name: tuple(values) for name, values in words.items()},
        margin=column("margin"),
        truth=column("truth"),
        scores=column("scores"),
        options=column("options"),
        length=column("length"),
        changed=column("changed"),
        open_ended=column("open_ended"),
        text=column("text"),
    )
