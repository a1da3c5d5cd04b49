"""Answers in the sentences of the last paragraph, by the phrases of ``phrases.yaml``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from visualjudge.replies.marks import Mark
from visualjudge.replies.values import BOTH_BAD, TIE, stated
from visualjudge.replies.words import Asked, Word, source, words

LONGEST_PARAGRAPH = 4_000
LONGEST_GAP = 5
_STOPS = frozenset(".!?;\n")
_BREAKS = frozenset(",:()-–—")
_OTHER = {"A": "B", "B": "A"}
_STEP = re.compile(r"\{[^}]+\}|…|[^\s{}…]+")
_KEEPS = ("so", "better", "worse", "is", "chooses", "bad", "tie", "denies", "answer", "is better")
_AND = frozenset(("and", "und", "et", "y", "e", "и"))
_OF_PLACES = (
    "best",
    "worst",
    "middle",
    "first",
    "second",
    "place",
    "is",
    "filler",
    "noun",
    "so",
    "order",
)
# The kind of a phrase, and its words and lists in order.
Phrase = tuple[str, tuple[str, ...]]


@cache
def phrases() -> Mapping[str, Sequence[Phrase]]:
    """Return the phrases of the file by their first step, longest first."""
    rows = [
        (kind, tuple(_STEP.findall(text)))
        for kind, texts in source()["phrases"].items()
        for text in texts
    ]
    first: dict[str, list[Phrase]] = {}
    for kind, steps in sorted(rows, key=lambda row: -len(row[1])):
        first.setdefault(steps[0], []).append((kind, steps))
    return first


def sentences(text: str, asked: Asked, start: int, end: int | None = None) -> list[list[Word]]:
    """Return the sentences between two positions."""
    said: list[list[Word]] = [[]]
    stop = min(len(text) if end is None else end, start + LONGEST_PARAGRAPH)
    for word in words(text, asked, start, stop):
        said[-1].append(word)
        if word.text in _STOPS:
            said.append([])
    return said if said[-1] else said[:-1]


def last_paragraph(text: str) -> int:
    """Return where the last paragraph begins."""
    stop = len(text.rstrip())
    return max(text.rfind("\n\n", 0, stop), stop - LONGEST_PARAGRAPH, 0)


def retracts(said: Iterable[Sequence[Word]]) -> bool:
    """Return whether a sentence takes back what stands before."""
    return any(map(_takes_back, said))


def _takes_back(said: Sequence[Word]) -> bool:
    return any(word.of("retracts") for word in [w for w in said if w.text[0].isalnum()][:2])


def read_sentences(found: Sequence[Sequence[Word]], asked: Asked) -> Mark:
    """Return the answer of sentences, or the cause why there is none."""
    claims, cause = list[Mark](), "no answer"
    for said in found:
        claims = [] if _takes_back(said) else claims
        if any(word.of("supposes", "if") for word in said) and any(w.option for w in said):
            cause = "hedge"
        if said[-1].text != "?":
            claims += _ranked(said, asked) if asked.kind == "ranking" else _claims(said, asked)
            listed = (
                said is not found[0] and len(found[-2]) == 2 and found[-2][0].number is not None
            )
            last = stated(said, asked) if said is found[-1] and not listed else None
            if last is not None and last.bare and last.value is not None:
                claims.append(Mark(last.value, None, last.start, last.end, "line"))
    values = {claim.value for claim in claims if not (claims[-1].final and claim is not claims[-1])}
    if len(values) == 1:
        return claims[-1]
    return Mark(None, "tie" if TIE in values else "several answers" if values else cause)


# Return what one sentence states; ``final`` is what follows "but" or "so".
def _claims(said: Sequence[Word], asked: Asked) -> list[Mark]:
    kept = [
        word
        for word in said
        if word.option
        or word.number is not None
        or word.of(*_KEEPS)
        or not (word.of("filler", "noun") or word.text == "'")
    ]
    claims, at = list[Mark](), 0
    while at < len(kept):
        phrase, end, value = _match(kept, at, asked)
        stands = value is not None and _stands(phrase, kept, at, end)
        if stands and value is not None:
            final = any(word.of("but", "so") for word in kept[max(0, at - 2) : at + 1])
            claims.append(Mark(value, None, kept[at].start, kept[end - 1].end, phrase, final))
        at = end if stands else at + 1
    return claims


# Return the kind, the end and the value of the longest phrase at a word.
def _match(kept: Sequence[Word], at: int, asked: Asked) -> tuple[str, int, str | float | None]:
    word = kept[at]
    firsts = ("{X}", "{Y}") if word.option else (word.text, *(f"{{{kind}}}" for kind in word.kinds))
    rows = [row for first in firsts for row in phrases().get(first, ())]
    for kind, steps in sorted(rows, key=lambda row: -len(row[1])) if rows else ():
        slots: dict[str, Word] = {}
        end = _fits(steps, kept, at, slots)
        if end is not None and (asked.kind == "scoring") == (kind == "scores"):
            value = _value(kind, slots, asked)
            if value is not None:
                return kind, end, value
    return "", at, None


# Return the end of the steps at a word, and fill their slots.
def _fits(
    steps: Sequence[str], kept: Sequence[Word], at: int, slots: dict[str, Word]
) -> int | None:
    for n, step in enumerate(steps):
        if step == "…":
            ahead = range(at, min(at + LONGEST_GAP, len(kept)))
            ends = (_fits(steps[n + 1 :], kept, k, slots) for k in ahead if _is_gap(kept[at:k]))
            return next((end for end in ends if end is not None), None)
        if at >= len(kept):
            return None
        word, name = kept[at], step.strip("{}")
        if name in ("X", "Y", "n"):
            taken = word.option in [one.option for one in slots.values()]
            if (word.number is None) if name == "n" else (not word.option or taken):
                return None
            slots[name] = word
        elif word.option or not (word.of(name) if step[0] == "{" else word.text == step):
            return None
        at += 1
    return at


def _is_gap(gap: Sequence[Word]) -> bool:
    return not any(w.option or w.number is not None or w.text in _BREAKS | _STOPS for w in gap)


def _value(kind: str, slots: dict[str, Word], asked: Asked) -> str | float | None:
    if kind == "scores":
        number = slots["n"].number or 0.0
        return number if number <= 10 else None
    if kind in ("ties", "bad"):
        return (TIE if kind == "ties" else BOTH_BAD) if asked.kind == "pairwise" else None
    return (
        slots["X"].option
        if "X" in slots
        else _OTHER.get(slots["Y"].option)
        if asked.letters == "AB"
        else None
    )


# Return whether nothing denies a phrase, makes it conditional or continues its last word.
def _stands(kind: str, kept: Sequence[Word], at: int, end: int) -> bool:
    bounds = [n for n, word in enumerate(kept[:at]) if word.of("but", "so") or word.text in ":;"]
    lead, rest = kept[bounds[-1] + 1 if bounds else 0 : at], kept[end:]
    if any(word.of("denies", "supposes", "if", "worse") for word in lead):
        return False
    if any(word.of("if") for word in rest) or any(word.of("worse") for word in rest[:5]):
        return False
    if kind == "scores":
        beside = ("noun", "because", "score", "points", "of ten", "so", "but")
        ends = not rest or not rest[0].text[0].isalnum() or rest[0].of(*beside)
        return ends and all(word.number in (None, 10.0) for word in rest)
    if (
        not rest
        or rest[0].text in _STOPS | _BREAKS
        or (rest[0].text in _AND and not rest[1].option)
    ):
        return True
    follows = ("answer", "noun") if kind == "compares" else ("limits", "answer", "better")
    if rest[0].of("limits") and any(word.option for word in rest):
        return False
    return not rest[0].option and rest[0].of("than", "because", "but", "so", *follows)


# Return the order of a sentence that only names options and their places.
def _ranked(said: Sequence[Word], asked: Asked) -> list[Mark]:
    kept = [word for word in said if word.text not in _STOPS]
    parts = [list[Word]()]
    for word in kept:
        if word.text in _BREAKS or word.of("then") or word.text in _AND:
            parts.append([])
        elif not (word.option or word.of(*_OF_PLACES)):
            return []
        parts[-1].append(word)
    named = [part for part in parts if any(word.option for word in part)]
    options = "".join(word.option for word in kept)
    places = [_place(part, len(asked.letters)) for part in named]
    if sorted(options) != sorted(asked.letters) or len(named) != len(options) or not any(places):
        return []
    for order, due in ((options, range(1, 9)), (options[::-1], range(len(options), 0, -1))):
        if all(place in (0, k) for place, k in zip(places, due, strict=False)):
            return [Mark(order, None, kept[0].start, kept[-1].end, "placed")]
    return []


# Return the place that the words beside an option state, or 0.
def _place(part: Sequence[Word], n: int) -> int:
    for names, place in ((("worst",), n), (("best", "first"), 1), (("second",), 2)):
        if any(word.of(*names) for word in part):
            return place
    return 0
