"""Full-text search over prompts and replies, using SQLite's FTS5.

A text is reduced to its words before indexing: digits and punctuation are dropped, since a
prediction in text form is mostly numbers. The rest is often the same for many questions, and each
distinct text is indexed once. Frequent words also have a bitmap with one bit per text.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Self

import numpy as np
import orjson
from numpy.typing import NDArray

Mask = NDArray[np.bool_]

FEWEST_TEXTS = 10_000
"""Indexes with fewer texts are searched without bitmaps."""
# A word is frequent if at least one text in this many contains it; rarer words are found in a few
# milliseconds anyway.
_SHARE = 8
_MOST_WORDS = 16
LONGEST = 20_000
"""Number of bytes of a text that are indexed."""
_BATCH = 4000
# One text in this many is sampled to find the frequent words: scanning the index takes ten times
# as long.
_SAMPLED = 64
_REMEMBERED = 400_000
_KEPT = bytes(b if b >= 128 or chr(b).isalpha() else 32 for b in range(256))
_WORD = re.compile(r'"[^"]+"|\S+')
_SCHEMA = """
CREATE TABLE text (digest INTEGER PRIMARY KEY, code INTEGER);
CREATE VIRTUAL TABLE words USING fts5(body, content='', columnsize=0,
    tokenize='unicode61 remove_diacritics 2');
INSERT INTO words (words, rank) VALUES ('hashsize', 16777216);
INSERT INTO words (words, rank) VALUES ('automerge', 0);
INSERT INTO words (words, rank) VALUES ('crisismerge', 64);
CREATE TABLE frequent (word TEXT PRIMARY KEY, bits BLOB) WITHOUT ROWID;
CREATE TABLE size (texts INTEGER, covered INTEGER);
INSERT INTO size VALUES (0, 0);
"""
# The texts are one value and their places numbers: JSON would escape them and read them back.
_ADD_WORDS = """
INSERT INTO words (rowid, body)
SELECT ? + key, CAST(substr(?, value >> 16, value & 65535) AS TEXT) FROM json_each(?)
"""
Words = tuple[int | None, bytes]
"""The words of a text in UTF-8, after their digest; None for a text that is hardly repeated."""
NOT_SHARED: AbstractContextManager[Any] = nullcontext()
# Shared by all indexes: a second one would only wait for a core.
_THREADS = ThreadPoolExecutor(2, "studio-index")


class StatementThread:
    """Runs statements in its own thread, one at a time, while the caller prepares the next.

    SQLite releases the GIL, but only within one step of a statement. Rows are therefore passed as a
    JSON array that the statement unpacks (``json_each``), so that a batch is one step and both
    threads run in parallel. No other code may use the connection before ``settle``.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._running: Future[None] | None = None

    def run(self, *statements: tuple[str, tuple[Any, ...]]) -> None:
        """Start statements after the previous ones; list values are passed as JSON."""
        given = [
            (text, tuple(orjson.dumps(v).decode() if isinstance(v, list) else v for v in values))
            for text, values in statements
        ]
        self.settle()
        self._running = _THREADS.submit(self._execute, given)

    def settle(self) -> None:
        """Wait until everything has run.

        Raises
        ------
        sqlite3.Error
            If a statement failed.
        """
        running, self._running = self._running, None
        if running is not None:
            running.result()

    def _execute(self, statements: Sequence[tuple[str, tuple[Any, ...]]]) -> None:
        for text, values in statements:
            self._db.execute(text, values)


class FrequentWords:
    """The frequent words of a full-text index; texts with codes below ``covers`` have bitmaps."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self.covers = int(connection.execute("SELECT covered FROM size").fetchone()[0])
        self._sample = Counter[bytes]()
        self._sampled = 0

    def see(self, words: bytes) -> None:
        """Add a text to the sample for choosing the frequent words."""
        self._sampled += 1
        self._sample.update({word for word in words.lower().split() if word.isalpha()})

    def update(self, texts: int, lock: AbstractContextManager[Any]) -> None:
        """Recompute the bitmaps if the index has twice the texts they cover, with ``lock`` held for
        one word at a time.

        Frequent words are estimated from the sample; a wrong estimate affects only the speed.
        """
        if texts < max(FEWEST_TEXTS, 2 * self.covers) or not self._sampled:
            return
        found = self._sample.most_common(_MOST_WORDS)
        words = [word.decode() for word, count in found if count * _SHARE >= self._sampled]
        bits = dict[str, bytes]()
        for word in words:
            with lock:
                bits[word] = np.packbits(mask_of(self._db, f'"{word}"', 0, texts)).tobytes()
        with lock:
            self._db.execute("DELETE FROM frequent")
            self._db.executemany("INSERT INTO frequent VALUES (?, ?)", bits.items())
            self._db.execute("UPDATE size SET covered = ?", (texts,))
            self.covers = texts

    def matching(self, word: str, unfinished: bool) -> list[str]:
        """Return the frequent words equal to ``word`` or, if unfinished, starting with it."""
        pattern = word.lower() + ("*" if unfinished else "")
        return [
            found
            for (found,) in self._db.execute(
                "SELECT word FROM frequent WHERE word GLOB ?", (pattern,)
            )
        ]

    def mask(self, words: Iterable[str]) -> Mask:
        """Return which texts below ``covers`` contain any of these frequent words."""
        stored = [
            self._db.execute("SELECT bits FROM frequent WHERE word = ?", (word,)).fetchone()[0]
            for word in words
        ]
        bits = np.bitwise_or.reduce([np.frombuffer(data, np.uint8) for data in stored])
        return np.unpackbits(bits, count=self.covers).view(bool)


def mask_of(connection: sqlite3.Connection, expression: str, first: int, stop: int) -> Mask:
    """Return which texts with codes from ``first`` to ``stop`` match an FTS5 expression."""
    mask = np.zeros(stop - first, dtype=bool)
    if first == stop:
        return mask
    # Reading one string of numbers is ten times faster than reading the rows.
    statement = (
        "SELECT group_concat(rowid) FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ?"
    )
    found = connection.execute(statement, (expression, first + 1, stop)).fetchone()[0]
    if found:
        mask[np.fromstring(found, np.int64, sep=",") - 1 - first] = True
    return mask


def words_of(text: str, *, repeated: bool = True) -> Words:
    """Return a text as indexed; those that are often ``repeated`` are merged, even if they differ
    in numbers and punctuation.
    """
    if not repeated:
        return None, _letters(text)
    words = _words(text)
    digest = int.from_bytes(hashlib.blake2b(words, digest_size=8).digest(), "big", signed=True)
    return digest, words


class TextIndex:
    """Codes of distinct texts, and a search for the texts that contain given words."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._next = int(connection.execute("SELECT texts FROM size").fetchone()[0])
        self._recent: dict[int, int] = {}
        self._recent_is_all = self._next == 0
        self._waiting: list[Words] = []
        self.statements = StatementThread(connection)
        self._frequent = FrequentWords(connection)

    @classmethod
    def create(cls, connection: sqlite3.Connection) -> Self:
        """Create an empty index in the tables ``text`` and ``words``."""
        connection.executescript(_SCHEMA)
        return cls(connection)

    def add(self, text: Words) -> int:
        """Return the code of a text; a known text with a digest keeps its code."""
        digest = text[0]
        if digest is None:
            return self._insert(text)
        code = self._recent.get(digest)
        if code is None:
            found = None
            if not self._recent_is_all:
                self.statements.settle()
                found = self._db.execute(
                    "SELECT code FROM text WHERE digest = ?", (digest,)
                ).fetchone()
            code = int(found[0]) if found else self._insert(text)
            self._recent[digest] = code
        return code

    def _insert(self, text: Words) -> int:
        code, self._next = self._next, self._next + 1
        if code % _SAMPLED == 0:
            self._frequent.see(text[1])
        self._waiting.append(text)
        if len(self._waiting) >= _BATCH:
            self._write()
        return code

    def _write(self) -> None:
        waiting, self._waiting = self._waiting, []
        first = self._next - len(waiting)
        sizes = [len(words) for _, words in waiting]
        places = [
            stop - size + 1 << 16 | size
            for stop, size in zip(accumulate(sizes), sizes, strict=True)
        ]
        self.statements.run(
            (
                "INSERT INTO text SELECT value, ? + key FROM json_each(?) WHERE value IS NOT NULL",
                (first, [digest for digest, _ in waiting]),
            ),
            (_ADD_WORDS, (first + 1, b"".join([words for _, words in waiting]), places)),
            ("UPDATE size SET texts = ?", (self._next,)),
        )

    def flush(self) -> None:
        """Write what was added; call this before the connection commits or is used."""
        if self._waiting:
            self._write()
        self.statements.settle()
        if len(self._recent) > _REMEMBERED:
            self.forget()

    def complete(self, lock: AbstractContextManager[Any] = NOT_SHARED) -> None:
        """Update the frequent words after a flush, with ``lock`` held while the connection is used;
        call this before the connection commits.
        """
        self._frequent.update(self._next, lock)

    def forget(self) -> None:
        """Free the memory for added texts; later ones are looked up in the index."""
        self._recent.clear()
        self._recent_is_all = False

    def search(self, query: str) -> Mask:
        """Return which texts, by code, contain all words of ``query``; the last word may be
        unfinished, "quoted words" must be adjacent.
        """
        found = [
            (match, words.decode())
            for match in _WORD.findall(query[:1000])
            if (words := _words(match))
        ]
        last = len(found) - 1
        terms = [
            Term(words, k == last and not match.startswith('"'))
            for k, (match, words) in enumerate(found)
        ]
        if not terms:
            return np.zeros(self._next, dtype=bool)
        covered = self._frequent.covers
        later = mask_of(self._db, _all_of(terms), covered, self._next)
        return np.concatenate([self._covered(terms), later]) if covered else later

    def _covered(self, terms: Sequence[Term]) -> Mask:
        """Return the matches among the texts that have bitmaps."""
        covered, masks, rare = self._frequent.covers, [], []
        for term in terms:
            frequent = self._frequent.matching(term.words, term.unfinished) if term.is_plain else []
            if frequent:
                mask = self._frequent.mask(frequent)
                if term.unfinished:
                    others = " OR ".join(f'"{word}"' for word in frequent)
                    mask |= mask_of(self._db, f"{term} NOT ({others})", 0, covered)
                masks.append(mask)
            else:
                rare.append(term)
        if rare:
            masks.append(mask_of(self._db, _all_of(rare), 0, covered))
        return np.asarray(np.logical_and.reduce(masks))


@dataclass(frozen=True, slots=True)
class Term:
    """One word of a query, or several adjacent ones; ``unfinished`` matches any word with this
    beginning.
    """

    words: str
    unfinished: bool = False

    @property
    def is_plain(self) -> bool:
        """Return whether the index stores the word unchanged except for its case."""
        return self.words.isascii() and self.words.isalpha()

    def __str__(self) -> str:
        """Return an FTS5 expression without operators."""
        return f'"{self.words}"' + "*" * self.unfinished


def _all_of(terms: Sequence[Term]) -> str:
    """Return an FTS5 expression without operators that requires all terms."""
    return " AND ".join(map(str, terms))


def _words(text: str) -> bytes:
    return b" ".join(_letters(text).split())


def _letters(text: str) -> bytes:
    """Replace everything except letters with spaces."""
    content = text.encode("utf-8", "replace")
    if len(content) > LONGEST:
        content = content[:LONGEST].decode("utf-8", "ignore").encode()  # whole characters
    return content.translate(_KEPT)
