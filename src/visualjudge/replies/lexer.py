"""A reply as a string of codes: one character for each word or mark that can matter for an answer.

The grammars of ``choices``, ``rankings`` and ``scores`` are regular expressions over such strings: one rule holds for
every language of the lexicon, and a reply is scanned once. ``lexicon.txt`` names the codes of words, phrases and marks.
A capital from A to H is an option, ``1`` what is an option's own (``A's``), ``#`` a number, ``Z`` a string of option
letters (``BCA``), ``Q`` the same in lower case, ``X`` a string with a letter twice, ``x`` a single letter in lower
case, ``w`` one or more unknown words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import chain, compress, count

from visualjudge.replies.words import Phrase, derived, lexicon, misspelt

OPTIONS = frozenset("ABCDEFGH")
GONE = "\0"
"""Stands where a rewriting takes a code away, so that places can be followed back to the text."""

_LATIN = "A-Za-zÀ-ÖØ-öø-ɏ\u1e00-\u1eff"
_OTHER = "\u0370-\u060b\u060d-\u061a\u0620-\u0963\u0970-\u1dff"
_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"


class _Plain(dict[int, str]):
    """Letters and digits in ASCII for those in other shapes and scripts: Ｂ, 𝐁, Ⓑ, ٧."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        plain = str(unicodedata.digit(char, "")) or unicodedata.normalize("NFKC", char)
        self[code] = found = plain if len(plain) == 1 and plain.isascii() and plain.isalnum() else char
        return found


_PLAIN = _Plain({ord("’"): "'", ord("º"): "º", ord("ª"): "ª", ord("🅰"): "A", ord("🅱"): "B"})
_ELISION = re.compile(r"(?:qu|[ldjcnsmt])'(.+)", re.I)
_NUMBER = re.compile(r"\d+(?:\.\d+|,\d{1,2})?(?:-ish)?")
_LONGEST_MEMO, _LONGEST_CHUNK = 20_000, 40
KINDS = ("pairwise", "ranking", "scoring")
_BY_KIND = {
    "0": ("w", "w", "#"),
    "2": ("", "", "V"),
    "3": ("g", "g", "V"),
    "4": ("I", "d", "w"),
    "5": ("W", "W", "+"),
    "6": ("O", "O", "K"),
    "7": ("z", "z", ""),
    "8": ("v", "v", "V"),
    "9": ("u", "o", "w"),
    "$": ("v", "v", "S"),
    "%": ("h", "h", "w"),
    "¹": ("k", "o", "w"),
    "⊕": ("w", "w", "w"),
    "⊖": ("w", "w", "w"),
    "⊘": ("w", "w", "w"),
    "⊙": ("", "", ""),
}
"""Codes that depend on the question: pairwise, ranking, scoring."""


_WORD = rf"[{_LATIN}]+(?:'[{_LATIN}]+|(?<=[a-z])-(?!to\b)[a-z]+)*"
_NUMERAL = r"\d+(?:st|nd|rd|th)\b|\d+(?:[.,]\d+)*(?:[-–][a-zA-Z]+)?|(?<![\w)\]/.])[-−–]\d+(?:[.,]\d+)*"
_DOTTED = r"(?:vs|e\.g|E\.g|i\.e)\."
_ASCII = re.compile(rf"{_DOTTED}|[A-Za-z]+(?:'[A-Za-z]+|(?<=[a-z])-(?!to\b)[a-z]+)*|{_NUMERAL}|[^\s\w*`$\"'{{}}\[\]\\]")


@cache
def _token() -> re.Pattern[str]:
    """Words, numbers and marks; white space and emphasis (``**``, quotes, braces) are between tokens."""
    phrases = sorted(
        (word for word in lexicon()[0] if re.match(f"[{_CJK}]", word)), key=lambda word: (-len(word), word)
    )
    return re.compile(
        rf"{_DOTTED}|{_WORD}|{_NUMERAL}|(?=[{_CJK}])(?:{'|'.join(phrases)}|.)|[{_OTHER}]+"
        r"|½|[^\s\w*`$\"'“”‘’{}\[\]\\]"
    )


class _Tokens(dict[str, tuple[str, ...]]):
    """The tokens of what stands between two blanks, remembered: few such chunks are new in a reply."""

    def __missing__(self, chunk: str) -> tuple[str, ...]:
        found = tuple((_ASCII if chunk.isascii() else _token()).findall(chunk))
        if len(chunk) <= _LONGEST_CHUNK:
            if len(self) > _LONGEST_MEMO:
                self.clear()
            self[chunk] = found
        return found


_TOKENS = _Tokens()


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    for number, line in enumerate(text.split("\n")):
        if number and tokens and tokens[-1] != "\n":
            tokens.append("\n")
        tokens.extend(chain.from_iterable(map(_TOKENS.__getitem__, line.split())))
    return tokens


def _of_kind(code: str, kind: int) -> str:
    return _BY_KIND[code][kind] if code in _BY_KIND else code


class _Codes(dict[str, str]):
    """The code of each token for a kind of question, remembered."""

    def __init__(self, kind: int) -> None:
        self.kind = kind

    def __missing__(self, token: str) -> str:
        if len(self) > _LONGEST_MEMO:
            self.clear()
        self[token] = code = self._code(token)
        return code

    def _code(self, token: str) -> str:
        first, folded = token[0], token.lower()
        if first == "\n":
            return "\n"
        if first.isdigit():
            return "#" if _NUMBER.fullmatch(token) else lexicon()[0].get(folded, "w")
        if len(token) > 1 and not first.isalpha():
            return "w"
        if OPTIONS.issuperset(token.upper()) and token.isascii() and (code := self._letters(token, folded)):
            return code
        if first in OPTIONS and token[1:2] == "'" and (token[2:] == "s" or _TURKISH.fullmatch(token, 2)):
            return "1" if token[2:] == "s" else first
        found = lexicon()[0].get(folded)
        if found is not None:
            return _of_kind(found, self.kind)
        if token[-1] in OPTIONS and lexicon()[0].get(folded[:-1], "w") in "nk" and token[-2].islower():
            return token[-1]
        return self._elided(folded) if len(token) > 1 else ("w" if token.isalnum() else "")

    def _letters(self, token: str, folded: str) -> str | None:
        if len(token) == 1:
            return token if token.isupper() else "x"
        if token.isupper():
            return "Z" if len(set(token)) == len(token) else "X"
        if folded in lexicon()[0]:
            return None
        return "Q" if self.kind == KINDS.index("ranking") and len(set(folded)) == len(folded) else "w"

    def _elided(self, folded: str) -> str:
        if folded.endswith("n't"):
            return "z"
        found = _ELISION.fullmatch(folded)
        if found:
            return lexicon()[0].get(found[1], "w")
        return misspelt().get(folded) or _of_kind(derived(folded), self.kind) if len(folded) > 3 else "w"


_TURKISH = re.compile("[yd]?[iıuüeaoö]r?|t[iı]r|n?[iı]n")
"""Endings of cases that change nothing: B'yi seçiyorum."""

_CODES = {kind: _Codes(number) for number, kind in enumerate(KINDS)}


_CYRILLIC = re.compile(r"(?:(?<=[а-яё,:—–>*-] )|(?<=[(*>:]))[АБВГДСЕ](?!\w)")


def _latin(text: str) -> str:
    """The text with Cyrillic letters that name options as Latin ones, by their order (А Б В) or their looks (А В С)."""
    letters = {found[0] for found in _CYRILLIC.finditer(text)}
    if not letters:
        return text
    latin = dict(zip("АБВГД" if letters & set("БГД") else "АВСDЕ", "ABCDE", strict=True))
    return _CYRILLIC.sub(lambda match: latin.get(match[0], match[0]), text)


By = str | Callable[["Scan", re.Match[str]], str]
Step = tuple[str, re.Pattern[str], By]


def _instead(scan: Scan, by: By, match: re.Match[str]) -> str:
    return by.ljust(len(match[0]), GONE) if isinstance(by, str) else by(scan, match)


def steps(*rows: tuple[str, str, By]) -> tuple[Step, ...]:
    """Steps with their patterns compiled."""
    return tuple((needs, re.compile(pattern), by) for needs, pattern, by in rows)


class Scan:
    """One reply, scanned: ``codes`` is its string, which :meth:`rewrite` simplifies step by step."""

    def __init__(self, text: str, kind: str = "pairwise", n_options: int = 2) -> None:
        self.kind, self.n_options = kind, n_options
        self._text = text if text.isascii() else _latin(text.translate(_PLAIN))
        self._tokens = _tokens(self._text)
        codes = list(map(_CODES[kind].__getitem__, self._tokens))
        self._join(codes)
        if kind == "pairwise":
            for at in compress(count(), map("a".__eq__, self._tokens[:-1])):
                if codes[at + 1] in _AFTER_ARTICLE:
                    codes[at] = ""
        self.codes = "".join(codes)
        self._of_tokens = codes
        self._followed: list[int] | None = None
        self._steps: list[str] = []
        if "ww" in self.codes:
            self._steps.append(_UNKNOWN.sub(GONE, self.codes))
            self.codes = self._steps[0].replace(GONE, "")

    def _join(self, codes: list[str]) -> None:
        """Give each phrase the code that it has as a whole, in the place of its first word; the longest one counts."""
        tokens, phrases = self._tokens, lexicon()[1]
        stop, last = 0, len(tokens)
        begun = list(compress(count(), map(phrases.__contains__, tokens[:-1])))
        for at in [at for at in begun if tokens[at + 1] in phrases[tokens[at]].next]:
            node: Phrase | None = phrases[tokens[at]]
            end, found = at + 1, None
            while node and at >= stop and end < last and (node := node.next.get(tokens[end])):
                end += 1
                if node.code is not None:
                    found = end, node.code
            if found:
                stop = found[0]
                codes[at:stop] = [_of_kind(found[1], KINDS.index(self.kind)), *[""] * (stop - at - 1)]

    def rewrite(self, steps: Iterable[Step]) -> None:
        """Replace what each pattern matches by as many codes, and take out those that are ``GONE``.

        A step is the codes of which each match has one ("" for any), the pattern, and what comes instead: a string,
        which is filled up with ``GONE``, or a function of the scan and the match.
        """
        there = set(self.codes)
        for needs, pattern, by in steps:
            if (not needs or not there.isdisjoint(needs)) and pattern.search(self.codes):
                changed = pattern.sub(partial(_instead, self, by), self.codes)
                if changed != self.codes:
                    self._steps.append(changed)
                    self.codes = changed.replace(GONE, "")
                    there = set(self.codes)

    @property
    def led(self) -> bool:
        """Whether a word stands before the first code that is left."""
        return self._places[0] > 0

    @property
    def _places(self) -> list[int]:
        """The token of each code."""
        if self._followed is None:
            self._followed = list(compress(count(), self._of_tokens))
        for step in self._steps:
            self._followed = list(compress(self._followed, step.encode("utf-16-le")[::2]))  # the low byte of GONE is 0
        self._steps.clear()
        return self._followed

    def token(self, at: int) -> str:
        """The word or mark of the code at ``at``."""
        return self._tokens[self._places[at]]

    def words_between(self, start: int, end: int) -> list[str]:
        """The words, in lower case, between those of two codes; from the beginning where ``start`` is -1, to the end
        where ``end`` is the number of codes.
        """
        places = self._places
        first = places[start] if start >= 0 else -1
        last = places[end] if end < len(places) else len(self._tokens)
        return [token.lower() for token in self._tokens[first + 1 : last]]

    def places(self, *codes: int) -> tuple[int, ...]:
        """Which word or mark of the reply each code at ``codes`` is."""
        return tuple(self._places[at] for at in codes)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where in the text the codes from ``start`` to ``end`` (exclusive) stand, as characters."""
        first, last = self._places[start], self._places[max(start, end - 1)]
        begin = at = self._offset(first)
        for token in self._tokens[first : last + 1]:
            at = self._text.index(token, at) + len(token)
        return begin, at

    def _offset(self, number: int) -> int:
        """Where the token of this number begins: looked for from the nearer end, since answers stand there."""
        if number < len(self._tokens) / 2:
            at = 0
            for token in self._tokens[:number]:
                at = self._text.index(token, at) + len(token)
            return self._text.index(self._tokens[number], at)
        at = len(self._text)
        for token in reversed(self._tokens[number:]):
            at = self._text.rindex(token, 0, at)
        return at


_AFTER_ARTICLE = frozenset("wn+bWukTRSmMLo#")
_UNKNOWN = re.compile("(?<=w)w")


def code_of(token: str) -> str:
    """The code of a single word, as the lexicon has it."""
    return _CODES["pairwise"][token]


def sentences(codes: str) -> Iterator[re.Match[str]]:
    """The sentences of a string of codes, with the mark that ends each."""
    return _SENTENCE.finditer(codes)


_SENTENCE = re.compile(r"([^.?\n]+)([.?\n]*)")
