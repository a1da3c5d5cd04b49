"""A reply as tokens: words, numbers and marks; in scripts without spaces, each letter is a
token.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_ALONE = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Thai, kana, Chinese characters and Hangul syllables: each is a token, so phrases need no word
boundaries.
"""
_PUNCTUATION = r"""\s.,:;!?…()\[\]{}<>=/|\\^+%"“”„«»‘’'`´×·•–—−→⇒➜≻≫½±&@~、★☆⭐≈।،؛؟⁄\-"""
_LETTER = rf"[^{_PUNCTUATION}\d{_ALONE}]"
_TOKEN = re.compile(
    rf"(?P<word>\d+(?:st|nd|rd|th)\b|(?:vs|[Ee]\.g|i\.e)\.(?=\s*\w)|{_LETTER}+(?:['’\-]{_LETTER}+)*(?:\d+(?![.,\d]))?)"
    rf"|(?P<number>\d+(?:½|(?:[.,]\d+)*)|(?<![\w)])\.\d+)|(?P<mark>\n|[-=]+>|(?P<same>[^\s\w])(?P=same)*|\S)"
)
_SAME_WIDTH = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | {
    ord(odd): plain
    for odd, plain in zip(
        "।،؛؟。，；？！．≻≫≺–—−【】「」『』｜⁄", ".、;?.、;?!.>><---[][][]|/", strict=True
    )
}
_DECORATION = {ord(sign): " " for sign in '*_`#$\u200b\ufeff"“”„«»'}
"""Marks of bold, code, headings and quotes."""
_PLAIN = {code: sign.translate(_DECORATION) for code, sign in _SAME_WIDTH.items()} | _DECORATION
_CYRILLIC = {"А": "A", "В": "B", "С": "C"}
_QUOTES = ("'", "’", "‘", "´")
_GLUED = ("Option", "Image", "Model", "Prediction", "option", "image", "model")


@dataclass(slots=True)
class Word:
    """A word in lower case, a number or a mark, at characters ``start`` to ``end`` of the reply.

    ``kinds`` are the names of the lists of ``phrases.yaml`` that contain it; ``option`` is the
    letter it refers to, and ``sure`` says whether that is unambiguous (a capital A may be an
    article).
    """

    text: str
    start: int
    end: int
    kinds: frozenset[str] = frozenset()
    option: str = ""
    sure: bool = True
    number: float | None = None
    letters: str = ""
    """The letters of a word that consists of capitals A to H: "BCA"."""


def plain(text: str) -> str:
    """Return the text with a single form of each mark, and without decoration; characters keep
    their positions.
    """
    return text.translate(_PLAIN) if text else text


def tokens(text: str, start: int = 0, end: int | None = None) -> list[Word]:
    """Return the tokens of :func:`plain` text between two positions."""
    found = []
    for match in _TOKEN.finditer(text, start, len(text) if end is None else end):
        said, (at, stop) = match[0], match.span()
        if match["word"]:
            text, option, sure, letters = _word(said)
            found.append(Word(text, at, stop, frozenset(), option, sure, None, letters))
        elif match["number"]:
            found.append(Word(said, at, stop, number=_number(said)))
        elif said not in _QUOTES:
            found.append(Word("," if said == "、" else said, at, stop))
    return found


def _number(said: str) -> float:
    """Return the number given by digits with a point or a comma; thousands, or several parts, are
    beyond any scale.
    """
    if said.endswith("½"):
        return int(said[:-1]) + 0.5
    whole, _, parts = said.replace(",", ".").partition(".")
    thousands = "," in said and len(parts) == 3
    return float("inf") if "." in parts or thousands else float(f"{whole or 0}.{parts or 0}")


@lru_cache(maxsize=8192)
def _word(said: str) -> tuple[str, str, bool, str]:
    """Return text, option, whether it is sure, and letters of a word; "B" and "B's" are option B if
    capitalised.
    """
    letter = _CYRILLIC.get(said, said)[0]
    if letter in "ABCDEFGH" and (len(said) == 1 or said[1:] in ("'s", "’s", "'S", "’S")):
        return letter.lower(), letter, said != "A", ""
    if letter in "OIMPoim" and said[-1] in "ABCD" and said[:-1] in _GLUED:
        return said[-1].lower(), said[-1], True, ""
    spelt = said.replace("-", "")
    letters = (
        spelt
        if len(said) < 10 and set(spelt) <= set("ABCDEFGH") and "-" not in (said[0], said[-1])
        else ""
    )
    return said.lower().replace("’", "'"), "", True, letters
