"""A reply as a string of codes: one character for each word or mark that can matter for an answer.

The grammars of ``choices``, ``rankings`` and ``scores`` are regular expressions over such strings: one rule holds for
every language of the lexicon, and a reply is scanned once. ``lexicon.txt`` names the codes of words and marks. A
capital from A to H is an option, ``1`` what is an option's own (``A's``), ``#`` a number, ``Z`` a string of option
letters (``BCA``), ``Q`` the same in lower
case, ``X`` a string with a letter twice, ``x`` a single letter in lower case, ``w`` an unknown word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from importlib.resources import files
from itertools import compress, count

OPTIONS = frozenset("ABCDEFGH")
GONE = "\0"
"""Stands where a rewriting takes a code away, so that places can be followed back to the text."""

_LATIN = "A-Za-zÀ-ÖØ-öø-ɏ\u1e00-\u1eff"
_OTHER = "\u0370-\u060b\u060d-\u061a\u0620-\u0963\u0970-\u1dff"
_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_DIGITS = {
    code: chr(code - 0xFEE0) for code in (*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))
}
_DIGITS |= {zero + digit: str(digit) for zero in (0x0660, 0x0966) for digit in range(10)}
_ELISION = re.compile(r"(?:qu|[ldjcnsmt])['’](.+)", re.I)
_NUMBER = re.compile(r"\d+(?:\.\d+|,\d{1,2})?(?:-ish)?")
_LONGEST_MEMO = 20_000
_BY_KIND = {"0": ("w", "#"), "5": ("W", "+")}
"""Codes that depend on whether numbers count: without and with."""


@cache
def _lexicon() -> dict[str, str]:
    """Word or mark to its code; where two kinds list a word, the first holds."""
    lines = (files(__package__) / "lexicon.txt").read_text("utf-8").splitlines()
    rows = [line.split(" : ", 1) for line in lines if line and not line.startswith("//")]
    found: dict[str, str] = {}
    for head, words in rows:
        for word in words.split():
            found.setdefault(word, "" if head[0] == "_" else head[0])
    return found


_WORD = rf"[{_LATIN}]+(?:['’][{_LATIN}]+|(?<=[a-z])-(?!to\b)[a-z]+)*"
_NUMERAL = r"\d+(?:st|nd|rd|th)\b|\d+(?:[.,]\d+)*(?:[-–][a-zA-Z]+)?|(?<![\w)\]/.])[-−–]\d+(?:[.,]\d+)*"
_ASCII = re.compile(rf"[A-Za-z]+(?:'[A-Za-z]+|(?<=[a-z])-(?!to\b)[a-z]+)*|{_NUMERAL}|\n+|[^\s\w*`$\"'{{}}\[\]\\]")
_SETTLES = (
    r"(?:settles?|decides?|tips?|tilts?|swings?) (?:it|this|that|things|the (?:balance|scales?|decision|matter"
    r"|comparison|case|question|verdict))"
)
_DROPS = ("discard", "eliminate", "rule out", "throw out", "throw away", "drop")
_SAME_AS = (
    # a word that the phrase has, what it says, the phrase
    ("reason", "so", "for (?:this|that|these|those|all these|the above) reasons?"),
    (" case", "so", "in (?:this|that|either) case"),
    ("all things considered", "so", "all things considered"),
    ("all in all", "so", "all in all"),
    ("in light of th", "so", "in light of (?:this|that|these|those)"),
    (" in mind", "so", "with (?:all )?(?:this|that|these|those) in mind"),
    (
        "based on",
        "so",
        "based on (?:all )?(?:this|that|the above|these|those)(?: points| observations| factors| errors| issues)?",
    ),
    (
        "given th",
        "so",
        "given (?:all )?(?:this|that|the above|these|those)(?: points| observations| factors| errors| issues)?",
    ),
    (
        "considering",
        "so",
        "considering (?:all )?(?:this|that|the above|these|those)(?: points| factors)?",
    ),
    ("together", "so", "putting (?:it|this|these|everything)(?: all)? together"),
    (" into ", "so", r"tak(?:ing|en) (?:\w+ ){1,3}into (?:account|consideration)"),
    ("doubt", "sure", "(?:no|without(?: a| any)?|beyond) doubts?"),
    ("question", "sure", "(?:no|without|beyond) questions?"),
    ("no contest", "sure", "no contest"),
    ("not even close", "sure", "not even close"),
    ("or so", "sure", "or so"),
    ("by a", "sure", r"by (?:a|an) (?:(?:\w+ )?(?:mile|margin)|landslide|long shot|hair|whisker|nose)"),
    ("be considered", "be", "be considered"),
    ("every", "sure", "in (?:nearly |almost )?every (?:respect|aspect|way|regard)"),
    ("rather", "prefer", "rather (?:have|take|go with)"),
    ("ive me", "prefer", "give me"),
    ("the one in", "option", "the one in"),
    ("only", "just", r"only(?= \d+(?:\.\d+)? ?(?:/|out of) ?10\b)"),
    ("d up ", "indeed", "end(?:ed)? up (?=(?:prefer|choos|pick|select|favou?r))"),
    ("strikes", "is", "strikes me as"),
    (
        "favo",
        "verdict",
        "(?:evidence|comparison|balance|this|that|everything) (?:clearly |slightly |strongly )?favou?rs",
    ),
    *((f"{noun} one", "option 1", f"{noun} one") for noun in ("option", "prediction", "image", "response")),
    *((f"{noun} two", "option 2", f"{noun} two") for noun in ("option", "prediction", "image", "response")),
    ("er quality", "better", "(?:higher|better) (?:overall )?quality"),
    ("quality", "the", r"(?:overall )?quality (?:of|in)(?= (?:(?:option|image|prediction) )?(?-i:[A-H])\b)"),
    ("any day", "sure", "any day"),
    ("hesitation", "sure", "without (?:any )?hesitation"),
    ("give it to", "choose", "give it to"),
    ("give this", "choose", "give this(?: one| round)? to"),
    ("umber", "option", r"number(?= [12] (?:is|was|looks|has|does)\b)"),
    ("favo", "verdict", rf"{_SETTLES} in(?= (?:\w+ )?[A-H]['’]s favou?r\b)"),
    ("favo", "verdict", rf"{_SETTLES} in favou?r of"),
    (" toward", "verdict", rf"{_SETTLES} towards?"),
    ("improve", "beats", "improve[sd]? (?:up)?on"),
    ("من", "of", "من(?= 10)"),
    *(
        (
            verb,
            "worse one is",
            rf"(?:the one (?:that |which )?)?i(?:['’]d|['’]ll| would| will)? {verb}\b(?: is)?(?= (?:\w+ )?[A-H]\b)",
        )
        for verb in _DROPS
    ),
    ("can ", "sure", "can (?:be )?(?:said|say|concluded?|seen?)"),
    ("respect to", "in", "with respect to"),
    ("regard", "in", "with regards? to"),
    ("in terms of", "in", "in terms of"),
    ("when it comes to", "in", "when it comes to"),
    ("as for", "in", "as for"),
    ("by ", "as", r"by(?= \w+ing\b)"),
    ("by ", "minus", r"by(?= \d)"),
    ("provided that", "if", "provided that"),
    ("as long as", "if", "as long as"),
)
_PHRASES = tuple((has, word, re.compile(rf"\b{phrase}\b", re.I)) for has, word, phrase in _SAME_AS)
"""Phrases that say no more than one word does."""
_DOTTED = re.compile(r"\b(?:e\.g\.|vs\.|i\.e\.)", re.I)


@cache
def _token() -> re.Pattern[str]:
    """Words, numbers and marks; white space and emphasis (``**``, quotes, braces) are between tokens."""
    phrases = sorted((word for word in _lexicon() if re.match(f"[{_CJK}]", word)), key=lambda word: (-len(word), word))
    return re.compile(
        rf"{_WORD}|{_NUMERAL}|\n+|(?=[{_CJK}])(?:{'|'.join(phrases)}|.)|[{_OTHER}]+"
        r"|½|[^\s\w*`$\"'“”‘’{}\[\]\\]"
    )


class _Codes(dict[str, str]):
    """The code of each token, remembered; ``numbers`` are words for numbers, where they count as such."""

    def __init__(self, numbers: bool) -> None:
        self.numbers = numbers

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
            return "#" if _NUMBER.fullmatch(token) else _lexicon().get(folded, "w")
        if len(token) > 1 and not first.isalpha():
            return "w"
        if OPTIONS.issuperset(token.upper()) and token.isascii():
            code = self._letters(token, folded)
            if code:
                return code
        code = _lexicon().get(folded)
        if code in _BY_KIND:
            return _BY_KIND[code][self.numbers]
        if len(token) == 3 and first in OPTIONS and token[1:] in ("'s", "’s"):
            return "1"
        if code is None:
            code = self._elided(folded) if len(token) > 1 else ("w" if token.isalnum() else "")
        return code

    def _letters(self, token: str, folded: str) -> str | None:
        if len(token) == 1:
            return token if token.isupper() else "x"
        if token.isupper():
            return "Z" if len(set(token)) == len(token) else "X"
        return None if folded in _lexicon() else "Q" if len(set(folded)) == len(folded) else "w"

    def _elided(self, folded: str) -> str:
        if folded.endswith(("n't", "n’t")):
            return "z"
        found = _ELISION.fullmatch(folded)
        return _lexicon().get(found[1], "w") if found else "w"


_CODES = {False: _Codes(False), True: _Codes(True)}


By = str | Callable[["Scan", re.Match[str]], str]
Step = tuple[str, re.Pattern[str], By]


def _instead(scan: Scan, by: By, match: re.Match[str]) -> str:
    return by.ljust(len(match[0]), GONE) if isinstance(by, str) else by(scan, match)


def steps(*rows: tuple[str, str, By]) -> tuple[Step, ...]:
    """Steps with their patterns compiled."""
    return tuple((needs, re.compile(pattern), by) for needs, pattern, by in rows)


def _in_one_word(text: str) -> str:
    """The text with each phrase as one word, filled up so that it keeps its length."""
    lowered = text.lower()
    for has, word, phrase in _PHRASES:
        if has in lowered:
            text = phrase.sub(partial(_filled, word), text)
    return text


def _filled(word: str, match: re.Match[str]) -> str:
    return word.ljust(len(match[0]))


class Scan:
    """One reply, scanned: ``codes`` is its string, which :meth:`rewrite` simplifies step by step."""

    def __init__(self, text: str, kind: str = "pairwise", n_options: int = 2) -> None:
        self.kind, self.n_options = kind, n_options
        ascii_only = text.isascii()
        self._text = text if ascii_only else text.translate(_DIGITS)
        if "vs." in text or ".g." in text:
            self._text = _DOTTED.sub(lambda match: match[0].replace(".", "").ljust(len(match[0])), self._text)
        self._text = _in_one_word(self._text)
        self._tokens: list[str] = (_ASCII if ascii_only else _token()).findall(self._text)
        memo = _CODES[kind == "scoring"]
        self._of_tokens = [memo[token] for token in self._tokens]
        self.codes = "".join(self._of_tokens)
        self._steps: list[str] = []
        self._followed = list(compress(count(), self._of_tokens))

    def rewrite(self, steps: Iterable[Step]) -> None:
        """Replace what each pattern matches by as many codes, and take out those that are ``GONE``.

        A step is a code that each match has ("" for any), the pattern, and what comes instead: a string, which is
        filled up with ``GONE``, or a function of the scan and the match.
        """
        for needs, pattern, by in steps:
            if needs in self.codes:
                changed = pattern.sub(partial(_instead, self, by), self.codes)
                if changed != self.codes:
                    self._steps.append(changed)
                    self.codes = changed.replace(GONE, "")

    @property
    def led(self) -> bool:
        """Whether a word stands before the first code that is left."""
        return self._places[0] > 0

    @property
    def _places(self) -> list[int]:
        """The token of each code."""
        for step in self._steps:
            self._followed = list(compress(self._followed, map(GONE.__ne__, step)))
        self._steps.clear()
        return self._followed

    def token(self, at: int) -> str:
        """The word or mark of the code at ``at``."""
        return self._tokens[self._places[at]]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where in the text the codes from ``start`` to ``end`` (exclusive) stand, as characters."""
        first, last = self._places[start], self._places[max(start, end - 1)]
        return self._offset(first), self._offset(last) + len(self._tokens[last])

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


def code_of(token: str) -> str:
    """The code of a single word, as the lexicon has it."""
    return _CODES[False][token]


def sentences(codes: str) -> Iterator[re.Match[str]]:
    """The sentences of a string of codes, with the mark that ends each."""
    return _SENTENCE.finditer(codes)


_SENTENCE = re.compile(r"([^.?\n]+)([.?\n]*)")
