"""Full-text search over prompts and replies, by SQLite's FTS5.

A text is reduced to its words before it is indexed: digits and punctuation go, since a prediction in text form is
mostly numbers. What is left is often the same for many questions, and each distinct text is indexed once.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from typing import Self

import numpy as np
from numpy.typing import NDArray

from visualjudge.studio.behind import Behind

LONGEST = 20_000
"""Bytes of a text that are indexed."""
_BATCH = 4000
_REMEMBERED = 400_000
_KEPT = bytes(b if b >= 128 or chr(b).isalpha() else 32 for b in range(256))
_WORD = re.compile(r'"[^"]+"|\S+')
_SCHEMA = """
CREATE TABLE text (digest INTEGER PRIMARY KEY, code INTEGER);
CREATE VIRTUAL TABLE words USING fts5(body, content='', tokenize='unicode61 remove_diacritics 2');
INSERT INTO words (words, rank) VALUES ('hashsize', 16777216);
"""


Words = tuple[int, str]
"""The words of a text, after a digest of them."""


def words_of(text: str) -> Words:
    """A text as it is indexed."""
    words = _words(text)
    digest = int.from_bytes(hashlib.blake2b(words, digest_size=8).digest(), "big", signed=True)
    return digest, words.decode("utf-8", "ignore")


class TextIndex:
    """Codes of distinct texts, and which of them hold given words."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._next = int(connection.execute("SELECT count(*) FROM text").fetchone()[0])
        self._recent: dict[int, int] = {}
        self._recent_is_all = self._next == 0
        self._waiting: list[tuple[int, str]] = []
        self.behind = Behind(connection)

    @classmethod
    def create(cls, connection: sqlite3.Connection) -> Self:
        """A new, empty index in the tables ``text`` and ``words``."""
        connection.executescript(_SCHEMA)
        return cls(connection)

    def add(self, text: Words) -> int:
        """The code of a text; one that was added before keeps its code."""
        digest, words = text
        code = self._recent.get(digest)
        if code is None:
            found = None
            if not self._recent_is_all:
                self.behind.settle()
                found = self._db.execute("SELECT code FROM text WHERE digest = ?", (digest,)).fetchone()
            code = int(found[0]) if found else self._insert(digest, words)
            self._recent[digest] = code
        return code

    def _insert(self, digest: int, words: str) -> int:
        code, self._next = self._next, self._next + 1
        self._waiting.append((digest, words))
        if len(self._waiting) >= _BATCH:
            self._write()
        return code

    def _write(self) -> None:
        waiting, self._waiting = self._waiting, []
        first = self._next - len(waiting)
        self.behind.run(
            ("INSERT INTO text SELECT value, ? + key FROM json_each(?)", (first, [digest for digest, _ in waiting])),
            (
                "INSERT INTO words (rowid, body) SELECT ? + key, value FROM json_each(?)",
                (first + 1, [words for _, words in waiting]),
            ),
        )

    def flush(self) -> None:
        """Write what was added; to be called before the connection commits or is used."""
        if self._waiting:
            self._write()
        self.behind.settle()
        if len(self._recent) > _REMEMBERED:
            self.forget()

    def forget(self) -> None:
        """Give back the memory for the texts that were added: from now on they are looked up in the index."""
        self._recent.clear()
        self._recent_is_all = False

    def search(self, query: str) -> NDArray[np.int64]:
        """Codes of the texts with all words of ``query``; the last word may be unfinished, "quoted words" adjoin."""
        expression = fts_expression(query)
        if not expression:
            return np.zeros(0, np.int64)
        # One string of numbers is read ten times faster than as many rows.
        found = self._db.execute("SELECT group_concat(rowid) FROM words WHERE words MATCH ?", (expression,)).fetchone()[
            0
        ]
        return np.fromstring(found, np.int64, sep=",") - 1 if found else np.zeros(0, np.int64)


def fts_expression(query: str) -> str:
    """A user's words as an FTS5 expression in which nothing is an operator; empty where no word is left."""
    found = [(match.startswith('"'), words) for match in _WORD.findall(query[:1000]) if (words := _words(match))]
    terms = [f'"{words.decode("utf-8", "ignore")}"' for _, words in found]
    if found and not found[-1][0]:
        terms[-1] += "*"  # the last word may be unfinished
    return " AND ".join(terms)


def _words(text: str) -> bytes:
    plain = text.encode("utf-8", "replace")[:LONGEST].translate(_KEPT)
    return b" ".join(plain.split())
