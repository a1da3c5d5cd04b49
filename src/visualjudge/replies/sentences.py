"""Answers in the sentences of the last paragraph, by the phrases of ``phrases.yaml``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import islice, pairwise

from visualjudge.core.records import TURNED
from visualjudge.replies.marks import Mark
from visualjudge.replies.values import (
    BOTH_BAD,
    GREATEST,
    TIE,
    names_another,
    stated,
    without_scale,
)
from visualjudge.replies.words import Asked, Word, holds, may_hold, plain, source, words

LONGEST_PARAGRAPH, LONGEST_REFUSAL, LONGEST_GAP = 2_000, 1_000, 5
_STOPS = frozenset(".!?\n")
_BREAKS = frozenset(",;:()-–—")
_ASPECTS = ("for", "in", "regarding", "concerning")
_STEP = re.compile(r"\{[^}]+\}|…|[^\s{}…]+")
_KEEPS = frozenset(
    (
        "so",
        "better",
        "worse",
        "is",
        "chooses",
        "bad",
        "tie",
        "denies",
        "answer",
        "is better",
    )
) | {"limits"}
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
    "to",
)
# The kind of a phrase, and its words and lists in order.
Phrase = tuple[str, tuple[str, ...]]


# Return the phrases of the file that begin with each step; every first and second step is a key.
@cache
def phrases() -> Mapping[str, Sequence[Phrase]]:
    rows = [
        (kind, tuple(_STEP.findall(text)))
        for kind, texts in source()["phrases"].items()
        for text in texts
    ]
    heads = {step for _, steps in rows for step in steps[:2]}
    return {head: [row for row in rows if row[1][0] == head] for head in heads}


# Return the sentences between two positions.
def sentences(
    text: str, asked: Asked, start: int, end: int | None = None
) -> list[list[Word]]:
    said = words(text, asked, start, min(start + LONGEST_PARAGRAPH, end or len(text)))
    ends = [n for n, word in enumerate(said, 1) if word.text in _STOPS]
    return [said[a:b] for a, b in pairwise([0, *ends, len(said)]) if a < b]


# Return whether a sentence takes back what stands before.
def retracts(found: Iterable[Sequence[Word]]) -> bool:
    named = (
        islice((word for word in said if word.text[0].isalnum()), 2) for said in found
    )
    return any(word.of("retracts") for first in named for word in first)


# Return the answer of sentences, or the cause why there is none.
def read_sentences(found: Sequence[Sequence[Word]], asked: Asked) -> Mark:
    claims, cause = list[Mark](), "no answer"
    for said in found:
        claims = [] if retracts([said]) else claims
        if any(w.option for w in said) and holds(said, "supposes", "if"):
            cause = "hedge"
        if said[-1].text != "?":
            claims += (
                _ranked(said, asked)
                if asked.kind == "ranking"
                else _claims(said, asked)
            )
    claims += _last(found, asked)
    values = {
        claim.value
        for claim in claims
        if not (claims[-1].final and claim is not claims[-1])
    }
    if len(values) == 1:
        return claims[-1]
    return Mark(
        None, "tie" if TIE in values else "several answers" if values else cause
    )


# Return the answer that the last sentence is, unless it answers a question or ends a list.
def _last(found: Sequence[Sequence[Word]], asked: Asked) -> list[Mark]:
    one = stated(found[-1], asked) if found else None
    before = found[-2] if len(found) > 1 else [Word("."), Word(".")]
    listed = (len(before) < 5 and any(word.option for word in before)) or stated(
        before, asked
    )
    numbered = len(before) > 1 and before[-2].number is not None
    if one is None or one.value is None or listed or numbered or before[-1].text == "?":
        return []
    opened = any(word.text == ":" for word in one.led_by) and not one.labelled
    return (
        [Mark(one.value, None, one.start, one.end, "line")]
        if one.bare and not opened
        else []
    )


# Return what one sentence states; ``final`` is what follows "but" or "so".
def _claims(said: Sequence[Word], asked: Asked) -> list[Mark]:
    named = ("chooses", "compares") if any(word.option for word in said) else ()
    forms = {"scoring": ("scores",), "pairwise": (*named, "ties", "bad")}.get(
        asked.kind, named
    )
    kept = [
        word
        for word in without_scale(said, asked)
        if word.option
        or word.number is not None
        or not word.kinds.isdisjoint(_KEEPS)
        or not (word.of("filler", "noun") or word.text == "'")
    ]
    claims, at = list[Mark](), 0
    steps = [_steps(bool(word.option), word.text, word.kinds) for word in kept] + [()]
    while at < len(kept):
        rows = _rows(forms, steps[at], steps[at + 1])
        claim = next(filter(None, (_claim(row, kept, at, asked) for row in rows)), None)
        claims += [claim[0]] if claim else []
        at = claim[1] if claim else at + 1
    return claims


# Return the first and second steps of phrases that a word fits.
@lru_cache(4096)
def _steps(option: bool, text: str, kinds: frozenset[str]) -> Sequence[str]:
    fits = (
        ("{X}", "{Y}")
        if option
        else ("{n}", text, *(f"{{{kind}}}" for kind in sorted(kinds)))
    )
    return tuple(step for step in fits if step in phrases())


# Return the phrases of some kinds whose first two steps are among these, longest first.
@lru_cache(4096)
def _rows(
    forms: Sequence[str], first: Sequence[str], second: Sequence[str]
) -> Sequence[Phrase]:
    return sorted(
        (
            row
            for one in first
            for row in phrases().get(one, ())
            if row[0] in forms and row[1][1] in (*second, "…")
        ),
        key=lambda row: -len(row[1]),
    )


# Return what a phrase states at a word, and where it ends.
def _claim(
    row: Phrase, kept: Sequence[Word], at: int, asked: Asked
) -> tuple[Mark, int] | None:
    kind, steps = row
    slots: dict[str, Word] = {}
    end = _fits(steps, kept, at, slots)
    other = (
        TURNED.get(slots["Y"].option)
        if "Y" in slots and asked.letters == "AB"
        else None
    )
    letter = slots["X"].option if "X" in slots else other
    number = slots["n"].number if "n" in slots else None
    tie = {"ties": TIE, "bad": BOTH_BAD}.get(kind)
    value = tie or (number if letter is None else letter)
    if end is None or value is None or not _stands(kind, kept, at, end):
        return None
    final = holds(kept[max(0, at - 2) : at + 1], "but", "so")
    return Mark(value, None, kept[at].start, kept[end - 1].end, kind, final), end


# Return the end of the steps at a word, and fill their slots. "…" ends at an option, a number or a
# mark.
def _fits(
    steps: Sequence[str], kept: Sequence[Word], at: int, slots: dict[str, Word]
) -> int | None:
    for n, step in enumerate(steps):
        if step == "…":
            ends = (w.option or w.number is not None or not w.kinds for w in kept[at:])
            longest = next((k for k, end in enumerate(ends) if end), len(kept) - at)
            gaps = range(min(LONGEST_GAP, longest) + 1)
            return next(
                filter(
                    None, (_fits(steps[n + 1 :], kept, at + k, slots) for k in gaps)
                ),
                None,
            )
        word, name = kept[at] if at < len(kept) else Word(""), step.strip("{}")
        fits = (
            word.number is not None and word.number <= GREATEST
            if name == "n"
            else word.option not in ("", *(one.option for one in slots.values()))
            if name in ("X", "Y")
            else not word.option
            and (word.of(name) if step[0] == "{" else word.text == step)
        )
        if not fits:
            return None
        slots[name] = word
        at += 1
    return at


# Return whether nothing denies a phrase, makes it conditional or continues its last word.
def _stands(kind: str, kept: Sequence[Word], at: int, end: int) -> bool:
    bounds = [
        n
        for n, word in enumerate(kept[: at + 1])
        if (word.of("but", "so") and not word.of("summary")) or word.text in ":;"
    ]
    lead, rest = kept[bounds[-1] + 1 if bounds else 0 : at], kept[end:]
    against = ("denies", "supposes", "if", "worse", "blames", "cannot")
    denied = holds(lead, *against) or holds(kept[at:end], "supposes")
    limited = holds(rest, "if") or holds(rest[:5], "worse", "blames")
    part = kept[at].option and any(
        w.text.isalpha() and not w.kinds for w in kept[at - 1 : at]
    )
    aspect = any(word.text in _ASPECTS and not word.of("so") for word in lead[:1])
    named = {"", *(word.option for word in kept[at:end])}
    others = any(word.option not in named for word in lead) or names_another(
        named, rest
    )
    if denied or limited or part or aspect or others:
        return False
    if kind == "scores":
        beside = ("noun", "because", "score", "points", "of ten", "so", "but")
        alone = all(word.number in (None, 10.0) for word in rest)
        return alone and (
            not rest or not rest[0].text[0].isalnum() or rest[0].of(*beside)
        )
    joined = bool(rest) and rest[0].of("then") and not any(w.option for w in rest[1:2])
    hyphened = rest[:1] and rest[0].text == "-" and rest[0].start == kept[end - 1].end
    ends = not rest or (rest[0].text in (_STOPS | _BREAKS) - {":"} and not hyphened)
    if ends or joined or _concludes(kept[at:end], rest):
        return True
    follows = (
        ("answer", "noun") if kind == "compares" else ("limits", "answer", "better")
    )
    than = rest[0].of("than") and not rest[0].of("because")
    away = rest[0].option or (
        rest[0].of("limits") and any(word.option for word in rest)
    )
    if away or (than and not any(word.option for word in rest[1:4])):
        return False
    return rest[0].of("than", "because", "but", "so", *follows)


# Return whether a phrase is the conclusion "so B has a better …", whatever it is better in.
def _concludes(own: Sequence[Word], rest: Sequence[Word]) -> bool:
    bare = (word.option and not rest[n - 1].of("than") for n, word in enumerate(rest))
    opened = own[0].of("so") and holds(own, "has")
    return opened and not any(bare) and not holds(rest, "denies", "but", "supposes")


# Return the order of a sentence that only names options and their places.
def _ranked(said: Sequence[Word], asked: Asked) -> list[Mark]:
    kept = [word for word in said if word.text not in _STOPS]
    parts = [list[Word]()]
    for word in kept:
        links = word.text in _BREAKS or word.of("then")
        if not (links or word.option or word.of(*_OF_PLACES)):
            return []
        parts += [[]] if links else []
        parts[-1].append(word)
    named = [part for part in parts if any(word.option for word in part)]
    options = "".join(word.option for word in kept)
    names = {"worst": len(asked.letters), "best": 1, "first": 1, "second": 2}
    places = [
        max((names[name] for w in part for name in w.kinds & names.keys()), default=0)
        for part in named
    ]
    asks = kept[:1] and kept[0].text in ("rank", "order", "sort")
    whole = sorted(options) == sorted(asked.letters) and len(named) == len(options)
    if asks or not whole or not any(places):
        return []
    down = all(place in (0, n) for n, place in enumerate(places, 1))
    up = all(place in (0, len(options) + 1 - n) for n, place in enumerate(places, 1))
    order = options if down else options[::-1] if up else None
    return [Mark(order, None, kept[0].start, kept[-1].end, "placed")] if order else []


def is_refusal(text: str) -> bool:
    """Return whether any sentence declines ("cannot … help", a policy); indecision is none."""
    begin = plain(text[:LONGEST_REFUSAL])
    return may_hold(begin, "cannot", "declines") and any(
        map(_declines, sentences(begin, Asked("", ""), 0))
    )


def _declines(said: Sequence[Word]) -> bool:
    cannot = next((n for n, word in enumerate(said) if word.of("cannot")), len(said))
    after = {kind for word in said[cannot:] for kind in word.kinds}
    sorry = bool(after) and holds(said[:cannot], "sorry")
    helps = (sorry or "helps" in after) and "undecided" not in after
    return helps or holds(said, "declines")
