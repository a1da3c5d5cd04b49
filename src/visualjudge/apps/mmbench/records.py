"""The records of multiple choice: a row of the data, a model's reply to it, and how the reply was read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

ROTATION = 1_000_000
"""A question's k-th rotation has the question's index plus k times this."""

Rules = Literal["strict", "vlmevalkit"]


@dataclass(frozen=True, slots=True)
class Row:
    """One question of a table. Cells are text as the file has it; a blank cell is ``""``.

    ``options`` maps the letter of each option that is not blank to its text, in letter order. ``image_index`` is the
    index whose image the row shares, None where the row holds its own; ``offset`` is the record's place in the file
    in bytes, ``line`` its first line, counted from 1.
    """

    index: int
    question: str
    hint: str
    options: Mapping[str, str]
    answer: str
    category: str
    l2_category: str
    split: str
    image_index: int | None
    offset: int
    line: int

    @property
    def group(self) -> int:
        """The index of the question that this row is a rotation of."""
        return self.index % ROTATION

    @property
    def rotation(self) -> int:
        """Which rotation it is; 0 is the question itself."""
        return self.index // ROTATION


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """One row with its reply; ``prediction`` is None where nobody replied."""

    row: Row
    prediction: str | None
    extracted: str | None
    why: str
    hit: bool
