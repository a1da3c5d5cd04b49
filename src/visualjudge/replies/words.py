"""A reply as words that know their lists; ``words.yaml`` has the lists."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import yaml

# A letter of a script that writes blanks between words; in the others each letter is a
# word.
_LETTER = r"[^\W\d_\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
# Group 1 is the token: a blank before it costs less than a search from the blank on.
TOKEN = re.compile(
    rf" ?({_LETTER}+|\n|\d+(?:[.,]\d+)*|(?<!\w)\.\d+|[<>=~]+|[-–—]+>|\S)"
)
_SAME_WIDTH = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | {
    ord(odd): plain
    for odd, plain in zip(
        "।،؛؟。、≻≫≺【】「」『』｜⁄’‘´½", ".,;?.;>>>[][][]|/'''+", strict=True
    )
}
_PLAIN = _SAME_WIDTH | {
    ord(sign): " " for sign in '*_`#$\u200b\ufeff"“”„«»•👍✅'
}
_CYRILLIC = {"А": "A", "В": "B", "С": "C"}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a reply may answer: one of the letters, an order of them, or a number.

    ``names`` are other words of answers, in lower case: ``{"left": "A", "c": "tie"}``.
    """

    kind: str
    letters: str
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Word:
    """A word, number or mark at characters ``start`` to ``end``, in lower case.

    ``option`` is the answer that it names (a letter, or of ``names``), ``unknown`` says
    that it is a letter of no option, ``kinds`` are the lists that hold it.
    """

    text: str
    start: int = 0
    end: int = 0
    option: str = ""
    unknown: bool = False
    number: float | None = None
    kinds: frozenset[str] = frozenset()

    def of(self, *lists: str) -> bool:
        """Return whether one of the lists holds the word."""
        return bool(self.kinds) and not self.kinds.isdisjoint(lists)


def holds(phrase: Iterable[Word], *lists: str) -> bool:
    """Return whether one of the lists holds any of the words."""
    return any(word.of(*lists) for word in phrase)


def plain(text: str) -> str:
    """Return the text with one form of each mark and without decoration, at the same
    positions."""
    return text.translate(_PLAIN)


def words(
    text: str,
    asked: Asked,
    start: int = 0,
    end: int | None = None,
) -> list[Word]:
    """Return the words of :func:`plain` text; an entry of several words is one word."""
    spoken = [
        _word(match, text, asked)
        for match in TOKEN.finditer(
            text, start, len(text) if end is None else end
        )
    ]
    merged = []
    at = 0
    tree = lists()
    while at < len(spoken):
        word = spoken[at]
        at += 1
        node = tree.get(word.text)
        if node and not word.option and not word.unknown:
            at, word.kinds = _longest(spoken, at, node)
            word.end = spoken[at - 1].end
            number, option = _stands_for(word.kinds)
            word.number = word.number if number is None else number
            word.option = option if asked.letters == "AB" else ""
        merged.append(word)
    return merged


def _word(
    match: re.Match[str],
    text: str,
    asked: Asked,
) -> Word:
    token = match[1]
    (start, end) = match.span(1)
    lowered, number, letter = (
        _alone if len(token) < 40 else _alone.__wrapped__
    )(token)
    if lowered in asked.names:
        return Word(lowered, start, end, asked.names[lowered])
    if not letter or _is_part(text, start, end, asked.letters):
        return Word(lowered, start, end, number=number)
    known = letter in asked.letters
    unknown = bool(asked.letters) and not known and letter != "I"
    return Word(
        lowered,
        start,
        end,
        letter if known else "",
        unknown and end - start == 1,
    )


@lru_cache(8192)
def _alone(text: str) -> tuple[str, float | None, str]:
    """Return what a word says wherever it stands: itself in lower case, its number, and
    its letter."""
    lowered = text.lower()
    if text[-1].isdecimal():
        parts = re.split("[.,]", text)
        beyond = len(parts) > 2 or (
            "," in text and len(parts[1]) == 3
        )  # "1,000"
        return lowered, float("inf" if beyond else ".".join(parts)), ""
    letter = _CYRILLIC.get(text, text)[-1]  # "OptionB"
    lone = len(text) == 1 or lowered[:-1] in ("option", "image", "model")
    return lowered, None, letter if lone and "A" <= letter <= "Z" else ""


def _is_part(text: str, start: int, end: int, letters: str) -> bool:
    before = text[max(0, start - 2) : start].rjust(2)
    after = text[end : end + 2].ljust(2)
    joined = after[0] in "-.'&+" and (after[1].isalpha() or after == "++")
    led = (
        before[1] in "-.'&" and before[0].isalpha() and before[0] not in letters
    )
    return (joined and after.lower() != "'s" and after[1] not in letters) or led


def _longest(
    phrase: Sequence[Word],
    at: int,
    node: dict[str, Any],
) -> tuple[int, frozenset[str]]:
    """Return the end of the longest entry of a word and those from ``at`` on, and the
    lists with it."""
    end = at
    kinds = node.get("", frozenset())
    while (
        at < len(phrase) and not phrase[at].option and phrase[at].text in node
    ):
        node = node[phrase[at].text]
        at += 1
        if "" in node:
            end = at
            kinds = node[""]
    return end, kinds


@cache
def _stands_for(kinds: frozenset[str]) -> tuple[float | None, str]:
    """Return the number and the option of lists such as "number 7" and "option A"."""
    meanings = {kind[:7]: kind[7:] for kind in kinds}
    return float(
        meanings["number "]
    ) if "number " in meanings else None, meanings.get("option ", "")


@cache
def source() -> Mapping[str, Any]:
    """Return ``words.yaml`` as parsed; YAML's own words for true and false stay
    words."""
    text = (files(__package__) / "words.yaml").read_text("utf-8")
    return yaml.load(text, getattr(yaml, "CBaseLoader", yaml.BaseLoader))  # type: ignore[no-any-return]


def may_hold(text: str, *lists: str) -> bool:
    """Return whether a text may hold an entry of lists: one is in it without blanks."""
    return any(
        map("".join(text.lower().split()).__contains__, _entries(*lists))
    )


@cache
def _entries(*lists: str) -> Sequence[str]:
    entries = (entry for name in lists for entry in source()["words"][name])
    return ["".join(plain(entry.lower()).split()) for entry in entries]


@cache
def known_words() -> frozenset[str]:
    """Return every word of an entry of a list."""
    return frozenset(TOKEN.findall(plain(str(source()["words"]).lower())))


@cache
def lists() -> dict[str, Any]:
    """Return the entries of all lists as a tree of words, with the names of lists under
    ``""``."""
    root: dict[str, Any] = {}
    for name, entries in source()["words"].items():
        for entry in entries:
            node = root
            for part in TOKEN.findall(plain(entry.lower())):
                node = node.setdefault(part, {})
            node[""] = node.get("", frozenset()) | {name}
    return root
