"""Words that many texts hold, as one bit a text: a search of them does not read a number for each text.

The bits cover the texts that an index had when they were made; later texts are searched by the index.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]

FEWEST_TEXTS = 10_000
"""Indexes of fewer texts are searched without bits."""
_SHARE = 20
"""A word is frequent if at least one text in so many holds it."""
_MOST_WORDS = 256

SCHEMA = """
CREATE TABLE frequent (word TEXT PRIMARY KEY, bits BLOB) WITHOUT ROWID;
CREATE TABLE frequent_covers (texts INTEGER);
INSERT INTO frequent_covers VALUES (0);
"""


class FrequentWords:
    """The frequent words of a full-text index; ``covers``: the codes below it have bits."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self.covers = int(connection.execute("SELECT texts FROM frequent_covers").fetchone()[0])

    def update(self, texts: int) -> None:
        """Make the bits anew where the index has twice the texts that they cover."""
        if texts < max(FEWEST_TEXTS, 2 * self.covers):
            return
        self._db.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.words_by_term USING fts5vocab('main', 'words', 'row')"
        )
        words = self._db.execute(
            "SELECT term FROM temp.words_by_term WHERE doc >= ? ORDER BY doc DESC LIMIT ?",
            (texts // _SHARE, _MOST_WORDS),
        ).fetchall()
        self._db.execute("DELETE FROM frequent")
        for (word,) in words:
            bits = np.packbits(mask_of(self._db, f'"{word}"', 0, texts)).tobytes()
            self._db.execute("INSERT INTO frequent VALUES (?, ?)", (word, bits))
        self._db.execute("UPDATE frequent_covers SET texts = ?", (texts,))
        self.covers = texts

    def matching(self, word: str, unfinished: bool) -> list[str]:
        """The frequent words that are ``word``, or begin with it."""
        pattern = word.lower() + ("*" if unfinished else "")
        return [found for (found,) in self._db.execute("SELECT word FROM frequent WHERE word GLOB ?", (pattern,))]

    def mask(self, words: Iterable[str]) -> Mask:
        """The texts below ``covers`` that hold any of these frequent words."""
        stored = [self._db.execute("SELECT bits FROM frequent WHERE word = ?", (word,)).fetchone()[0] for word in words]
        bits = np.bitwise_or.reduce([np.frombuffer(data, np.uint8) for data in stored])
        return np.unpackbits(bits, count=self.covers).view(bool)


def mask_of(connection: sqlite3.Connection, expression: str, first: int, stop: int) -> Mask:
    """Which texts with codes from ``first`` to ``stop`` match an FTS5 expression."""
    mask = np.zeros(stop - first, dtype=bool)
    if first == stop:
        return mask
    # One string of numbers is read ten times faster than as many rows.
    statement = "SELECT group_concat(rowid) FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ?"
    found = connection.execute(statement, (expression, first + 1, stop)).fetchone()[0]
    if found:
        mask[np.fromstring(found, np.int64, sep=",") - 1 - first] = True
    return mask
