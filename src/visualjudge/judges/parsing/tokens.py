"""A reply as tokens: words of the lexicon, option letters, numbers, punctuation, line breaks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from typing import Generic, TypeVar

from visualjudge.judges.parsing.lexicon import Refusal, Term, answer_phrases, number_words, refusal_phrases

T = TypeVar("T", bound=Enum)


class Kind(Enum):
    """What a token is."""

    LETTER = auto()
    """One of the letters A..H on its own, which may be an option, or an article, or a word of some language."""
    LETTERS = auto()
    """Two to eight of the letters A..H in one word, which may be a ranking."""
    NUMBER = auto()
    WORD = auto()
    MARK = auto()
    BREAK = auto()


@dataclass(frozen=True, slots=True)
class Token(Generic[T]):
    """``term`` is the lexicon's, ``value`` a number's; ``first`` marks the first token of a line."""

    kind: Kind
    text: str
    term: T | None = None
    value: float = float("nan")
    first: bool = False
    line: int = 0

    def mark(self, *marks: str) -> bool:
        """Whether this is one of these punctuation marks."""
        return self.kind is Kind.MARK and self.text in marks


# One lexer for everything: the alternatives are tried in this order.
_LEXER = re.compile(
    r"(?P<BREAK>\n)"
    r"|(?P<SPACE>[^\S\n]+|[*`#_~$\\]+)"
    r"|(?P<NUMBER>(?:(?<![\w)\]])[+\-])?(?:(?<!\d[.,])\d++(?:[.,]\d++)?+|\.\d++)(?![A-Za-z¼-¾]|[.,]\d|-[A-Za-z]))"
    r"|(?P<CJK>[\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])"
    r"|(?P<WORD>[^\W_\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+(?:'[^\W\d_]+)*)"
    r"|(?P<MARK>[^\w\s])"
)
# Typography to plain marks; the rest of the full-width forms is shifted by the constant distance to ASCII.
_PLAIN = str.maketrans(
    {
        "。": ".",
        "、": ", ",  # never a decimal comma
        "「": '"',
        "」": '"',
        "『": '"',
        "』": '"',
        "【": "[",
        "】": "]",
        "“": '"',
        "”": '"',
        "«": '"',
        "»": '"',
        "„": '"',
        "’": "'",
        "‘": "'",
        "–": "-",
        "—": " - ",
        "−": "-",
        "±": "-",
        "→": ">",
        "≻": ">",
        "›": ">",
        "≺": "<",
        "⪯": "<",
        "≼": "<",
        "‹": "<",
        "←": "<",
        "⇐": "<",
        "⇒": ">",
        "≥": "=<",
        "≤": "<",
        "×": "^",
        "÷": "/",
        "≈": " ",
        "…": ".",
        "¿": " ",
        "¡": " ",
        "؟": "?",
        "،": ",",
        "।": ".",
        "\u00a0": " ",
        "\u200b": "",
        "\u200d": "",
        "\ufe0f": "",
        "\ufeff": "",
        "\r": "",
        **{chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
        "，": ", ",
    }
)
_BOUND = re.compile(r"> *(?:=<? *\d|\d+(?:[.,]\d+)?[^\S\n]*(?:[^.)\d\s]|\n|\Z))")
"""``> 8`` and ``>= 8`` at the head of a line are as well a bound as a quotation; ``> 1. …`` is a quotation."""
_LONGEST = 8  # atoms in a phrase
_OPTIONS = frozenset("ABCDEFGH")


@dataclass(frozen=True, slots=True)
class _Atom:
    kind: str
    text: str
    first: bool
    line: int

    @property
    def folded(self) -> str:
        return self.text.lower()


@cache
def _table(refusals: bool) -> Mapping[tuple[str, ...], Enum]:
    """Phrases as tuples of folded atoms; the term that is listed first takes a phrase that two list."""
    rows: Sequence[tuple[str, Enum]] = refusal_phrases() if refusals else answer_phrases()
    table: dict[tuple[str, ...], Enum] = {}
    for phrase, term in rows:
        table.setdefault(tuple(atom.folded for atom in _atoms(phrase)), term)
    return table


def _atoms(text: str) -> list[_Atom]:
    atoms: list[_Atom] = []
    first, line = True, 0
    text = text.translate(_PLAIN)
    for match in _LEXER.finditer(text):
        kind = str(match.lastgroup)
        if kind == "SPACE" or (kind == "MARK" and not match[0].isascii()):  # emoji and the like say nothing
            continue
        edge = first and kind == "MARK" and match[0] in "-•+>|"  # a bullet, a quotation, a table's edge
        if edge and not _BOUND.match(text, match.start()):
            continue
        atoms.append(_Atom(kind, match[0], first, line))
        first = kind == "BREAK"
        line += kind == "BREAK"
    return atoms


def _phrase_at(atoms: list[_Atom], start: int, table: Mapping[tuple[str, ...], Enum]) -> tuple[int, Enum | None]:
    """Number of atoms of the longest phrase that begins here, and its term."""
    for length in range(min(_LONGEST, len(atoms) - start), 0, -1):
        term = table.get(tuple(atom.folded for atom in atoms[start : start + length]))
        if term is not None:
            return length, term
    return 1, None


def _single(atom: _Atom, term: Enum | None) -> Token[Enum]:
    """The token of one atom; a single letter keeps its letter, whatever word of another language it may be."""
    text, kind, value = atom.text, Kind.WORD, float("nan")
    if atom.kind == "BREAK":
        kind = Kind.BREAK
    elif atom.kind == "MARK":
        kind = Kind.MARK
    elif atom.kind == "NUMBER":
        kind, value = Kind.NUMBER, _number(text)
    elif text.upper() in _OPTIONS:
        kind = Kind.LETTER
    elif 2 <= len(text) <= len(_OPTIONS) and (text.isupper() or term is None) and set(text.upper()) <= _OPTIONS:
        kind = Kind.LETTERS
    elif term is None and text.lower() in number_words():
        kind, value = Kind.NUMBER, number_words()[text.lower()]
    return Token(kind, text, term, value, atom.first, atom.line)


def _number(text: str) -> float:
    """7.5, 7,5 and -3 as numbers; 1,000 is a thousand."""
    whole, comma, decimals = text.partition(",")
    return float(whole + decimals if len(decimals) == 3 else whole + ("." if comma else "") + decimals)


def _scan(text: str, table: Mapping[tuple[str, ...], Enum]) -> Iterator[Token[Enum]]:
    atoms, at = _atoms(text), 0
    while at < len(atoms):
        length, term = _phrase_at(atoms, at, table)
        atom = atoms[at]
        if length == 1:
            yield _single(atom, term)
        else:
            words = ("" if atom.kind == "CJK" else " ").join(each.text for each in atoms[at : at + length])
            yield Token(Kind.WORD, words, term, first=atom.first, line=atom.line)
        at += length


def tokens_of(text: str) -> list[Token[Term]]:
    """The tokens of a reply, by the grammar's lexicon."""
    return list(_scan(text, _table(False)))  # type: ignore[arg-type]


def refusal_tokens_of(text: str) -> list[Token[Refusal]]:
    """The tokens of a reply, by the lexicon of refusals."""
    return list(_scan(text, _table(True)))  # type: ignore[arg-type]
