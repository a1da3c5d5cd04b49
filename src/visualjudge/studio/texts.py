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

LONGEST = 20_000
"""Bytes of a text that are indexed."""
_KEPT = bytes(b if b >= 128 or chr(b).isalpha() else 32 for b in range(256))
_WORD = re.compile(r'"[^"]+"|\S+')
_SCHEMA = """
CREATE TABLE text (digest BLOB PRIMARY KEY, code INTEGER) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(body, content='', tokenize='unicode61 remove_diacritics 2');
"""


class TextIndex:
    """Codes of distinct texts, and which of them hold given words."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._next = int(connection.execute("SELECT count(*) FROM text").fetchone()[0])
        self._recent: dict[bytes, int] = {}

    @classmethod
    def create(cls, connection: sqlite3.Connection) -> Self:
        """A new, empty index in the tables ``text`` and ``words``."""
        connection.executescript(_SCHEMA)
        return cls(connection)

    def add(self, text: str) -> int:
        """The code of a text; one that was added before keeps its code."""
        words = _words(text)
        digest = hashlib.blake2b(words, digest_size=12).digest()
        code = self._recent.get(digest)
        if code is None:
            found = self._db.execute("SELECT code FROM text WHERE digest = ?", (digest,)).fetchone()
            code = int(found[0]) if found else self._insert(digest, words)
            if len(self._recent) > 100_000:
                self._recent.clear()
            self._recent[digest] = code
        return code

    def _insert(self, digest: bytes, words: bytes) -> int:
        code, self._next = self._next, self._next + 1
        self._db.execute("INSERT INTO text VALUES (?, ?)", (digest, code))
        self._db.execute("INSERT INTO words (rowid, body) VALUES (?, ?)", (code + 1, words.decode("utf-8", "ignore")))
        return code

    def search(self, query: str) -> NDArray[np.int64]:
        """Codes of the texts with all words of ``query``; the last word may be unfinished, "quoted words" adjoin."""
        expression = fts_expression(query)
        if not expression:
            return np.zeros(0, np.int64)
        found = self._db.execute("SELECT rowid FROM words WHERE words MATCH ?", (expression,)).fetchall()
        return np.fromiter((row[0] - 1 for row in found), np.int64, len(found))


def fts_expression(query: str) -> str:
    """A user's words as an FTS5 expression in which nothing is an operator; empty where no word is left."""
    terms = []
    for match in _WORD.findall(query[:1000]):
        words = _words(match).decode("utf-8", "ignore")
        if words:
            terms.append(f'"{words}"' + ("" if match.startswith('"') else "*"))
    return " AND ".join(terms)


def _words(text: str) -> bytes:
    plain = text.encode("utf-8", "replace")[:LONGEST].translate(_KEPT)
    return b" ".join(plain.split())
