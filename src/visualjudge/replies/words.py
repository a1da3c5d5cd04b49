"""The words of ``words.yaml`` as patterns, and a reply's text as they expect it. The
sentences that they make up are in ``statements.py``.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

TIE = "tie"
BOTH_BAD = "both_bad"
# Signs that stand for answers that are no letter, within a text.
SIGNS = {TIE: "\ue000", BOTH_BAD: "\ue001"}
# A letter of a script that writes blanks between words; in the others each letter is a
# word.
LETTER = r"[^\W\d_\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
TOKEN = re.compile(rf"{LETTER}+|\d+|\S")
_WORD = re.compile(LETTER + "{2,}")
_PLAIN = (
    {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    | {
        ord(odd): plain
        for odd, plain in zip(
            "।،؛؟。、≻≫≺【】「」『』｜⁄’‘´½≥≤",
            ".,;?.,>>>[][][]|/'''+><",
            strict=True,
        )
    }
    | {ord(sign): " " for sign in '*_`#$\u200b\ufeff"“”„«»•👍✅'}
)
_SELF = re.compile(r"(?<![\w'])I(?=' ?[a-z]| [a-z])")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a reply may answer: one of the letters, an order of them, or a number.

    ``names`` are other words of answers, in lower case: ``{"left": "A", "c": "tie"}``.
    """

    kind: str
    letters: str
    names: Mapping[str, str] = field(default_factory=dict)


@cache
def source() -> Mapping[str, Any]:
    """Return ``words.yaml`` as parsed; YAML's own words for true and false stay
    words."""
    text = (files(__package__) / "words.yaml").read_text("utf-8")
    return yaml.load(  # type: ignore[no-any-return]
        text,
        getattr(yaml, "CBaseLoader", yaml.BaseLoader),
    )


def plain(text: str) -> str:
    """Return the text in lower case but for lone letters, with one form of each mark
    and without decoration, at the same positions."""
    return _WORD.sub(_lowered, _SELF.sub("i", text.translate(_PLAIN)))


def _lowered(match: re.Match[str]) -> str:
    lowered = match[0].lower()
    as_long = len(lowered) == len(match[0])
    spelt = match[0].isupper() and set(match[0]) <= set("ABCDE")
    return lowered if as_long and not spelt else match[0]


class Entries:
    """Entries of lists, of one word or several, that are looked for in :func:`plain`
    text; the longest at a place counts."""

    def __init__(self, entries: Iterable[str]) -> None:
        self._known = {tuple(TOKEN.findall(plain(entry))) for entry in entries}
        self._longest = Counter[str]()
        for words in self._known:
            self._longest[words[0]] = max(self._longest[words[0]], len(words))

    def spans(
        self,
        text: str,
        start: int = 0,
        end: int | None = None,
    ) -> Iterator[tuple[int, int]]:
        """Yield the start and end of each entry."""
        until = len(text) if end is None else end
        tokens = list(TOKEN.finditer(text, start, until))
        at = 0
        while at < len(tokens):
            size = self._longest[tokens[at][0]]
            words = tuple(token[0] for token in tokens[at : at + size])
            while words and words not in self._known:
                words = words[:-1]
            if words:
                last = tokens[at + len(words) - 1]
                yield tokens[at].start(), last.end()
            at += len(words) or 1

    def within(
        self,
        text: str,
        start: int = 0,
        end: int | None = None,
    ) -> bool:
        """Return whether any entry stands between two positions."""
        return next(self.spans(text, start, end), None) is not None

    def begin(self, text: str, at: int = 0) -> bool:
        """Return whether the first word is or begins an entry."""
        start = next((start for start, _ in self.spans(text, at)), len(text))
        return start < len(text) and not text[at:start].strip()

    def replaced(self, text: str, sign: str = " ") -> str:
        """Return the text with a sign for each entry, at the same positions."""
        pieces = []
        at = 0
        for start, end in self.spans(text):
            pieces += [text[at:start], sign.ljust(end - start)]
            at = end
        return "".join((*pieces, text[at:]))


@cache
def lists(*names: str) -> Entries:
    """Return the entries of lists of ``words.yaml``."""
    return Entries(entry for name in names for entry in source()["words"][name])


def named(text: str, asked: Asked) -> str:
    """Return :func:`plain` text in which words that name an answer are its letter, sign
    or number, at the same positions."""
    meant = [
        (
            Entries([name.upper() if len(name) == 1 else name]),
            SIGNS.get(answer, answer),
        )
        for name, answer in asked.names.items()
    ]
    if asked.kind == "pairwise":
        meant += [(lists(f"option {letter}"), letter) for letter in "AB"]
        meant += [(lists("bad"), SIGNS[BOTH_BAD]), (lists("tie"), SIGNS[TIE])]
    for words, sign in meant:
        text = words.replaced(text, sign)
    return text
