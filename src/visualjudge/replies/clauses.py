"""Which of two options a reply only praises while it only blames the other: "A keeps the fur, B smears it".

The least trusted way to read a reply, for those that state nothing else. Each clause counts for the option that it
names, or that the clause before is about, by the sign of its words; all of them must agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from visualjudge.replies.lexer import OPTIONS, Scan
from visualjudge.replies.words import meaning

_BARRED = frozenset("hfqcpe?%=<>|Z")
"""Codes of what is supposed, asked, taken back or said of both."""
_BOTH = re.compile(r"[A-H][&∨|/]n?[A-H]|[A-H][,\-]{1,2}n?[A-H](?![^.\n,]*[+WubgI])")
_CLAUSE = re.compile(r"([.\n,&yY:-]*)([^.\n,&yY:-]+)(:?)")
_THAN = re.compile("[tP][nO]{0,2}(?=[A-H])")
_LONGEST = 160
_SIGN = {"+": 1, "b": 1, "g": 1, "β": 1, "⊕": 1, "W": -1, "u": -1, "l": -1, "ρ": -1, "⊖": -1}
_TURNS = frozenset("zL⊘")
"""No, fewer, removes: what follows counts the other way round."""
_UNSEEN = frozenset("⊕⊖⊘⊙")
"""Codes that the other rules do not tell from unknown words."""
_DOUBTFUL = frozenset("bug")
"""Better, worse and wins: where no rule reads them, they are meant in some other way."""
_PREDICATE = frozenset("iIVvwnlzLW+Mbu:T")
_OBJECT_OF = frozenset("glJγv")
_OTHER = {"A": "B", "B": "A"}
_OPEN = frozenset(
    [
        *("provides", "provide", "offers", "produces", "delivers", "presents", "yields", "represents", "depicts"),
        *("has", "had", "have", "hat", "tiene", "makes", "make", "made", "shows", "show", "contains", "commits"),
        *("exhibits", "displays", "reads", "detects"),
    ]
)
"""Verbs that say nothing of what follows."""
_HERE = frozenset(("it", "its", "it's", "they", "their", "them"))


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a stretch of codes that count."""

    signs: list[int]
    kept: bool = False
    turns: int = 0
    compares: bool = False

    def sign(self) -> int | None:
        """1 for praise, -1 for blame, 0 for neither, None where both are said."""
        signs = set(self.signs) or ({1} if self.kept else set())
        if len(signs) > 1:
            return None
        return signs.pop() * (-1) ** self.turns if signs else 0


_UNCLEAR = _Words([1, -1])
Opinion = tuple[str | None, int | None, bool]
"""An option, 1 for praise or -1 for blame, and whether it is compared; None where that is not clear."""


def preferred(scan: Scan) -> str | None:
    """The option that only praise falls on, where only blame falls on the other."""
    codes = scan.codes
    if len(codes) > _LONGEST or not _BARRED.isdisjoint(codes) or _BOTH.search(codes):
        return None
    said = set[tuple[str, int]]()
    compared = False
    for option, sign, compares in _opinions(scan):
        if sign is None or option not in _OTHER:
            return None
        said.add((option, sign))
        compared |= compares
    for option, other in _OTHER.items():
        praise, blame = (option, 1), (other, -1)
        if said == {praise, blame} or (compared and said and said <= {praise, blame}):
            return option
    return None


def _opinions(scan: Scan) -> Iterator[Opinion]:
    """What each clause that praises or blames says."""
    codes, option, last, headed, silent = scan.codes, None, 0, False, False
    for clause in _CLAUSE.finditer(codes):
        start, end = clause.span(2)
        named = [at for at in range(start, end) if codes[at] in OPTIONS]
        goes_on = headed or not {".", "\n"} & set(clause[1]) or _is_of_it(scan, start)
        if not named and not goes_on:
            option = None
        than = _THAN.search(codes, start, end)
        if ("y" in clause[1] and (not named or codes[named[0]] == option)) or not _is_said(codes, start, named, than):
            yield None, None, False
        elif named and (len(named) == 2 or not than):
            option, headed = codes[named[0]], bool(clause[3])
        words = _predicate(scan, start, end, named, than)
        sign = words.sign()
        if sign == 0 and words.turns and named and not codes[named[0] + 1 : end].strip("zijI"):
            sign = -last  # B does not
        elif sign == 0 and "Iz" in clause[2]:
            sign = -1  # B has no sail
        last = sign or 0
        silent = sign == 0 and (silent or bool(named))
        if sign != 0:
            yield from _counted_for(codes[named[-1]] if than else option, sign, words, compared=than is not None)
    if silent:
        yield None, None, False  # the last word on an option says nothing of it


def _counted_for(option: str | None, sign: int | None, words: _Words, *, compared: bool) -> Iterator[Opinion]:
    """What a clause says of its option; of both where it compares another one with ``option``."""
    if not compared:
        yield option, sign, words.compares
        return
    yield _OTHER.get(option or ""), sign, True
    yield option, -sign if sign else None, True


def _is_said(codes: str, start: int, named: list[int], than: re.Match[str] | None) -> bool:
    """Whether a clause says something of the one option that it names, or compares two; or names none."""
    if not named or (than and len(named) == 1):
        return True
    first = named[0]
    if len(named) > 1:
        return len(named) == 2 and than is not None and first < than.start()
    lone = not codes[start:first].strip("#()mjso") and codes[first + 1 : first + 2] not in _PREDICATE
    return not lone and codes[first - 1 : first] not in _OBJECT_OF


def _is_of_it(scan: Scan, start: int) -> bool:
    """Whether a clause begins with a pronoun, so that it goes on about the same option."""
    return not _HERE.isdisjoint(scan.words_between(start - 1, start)[-2:])


def _predicate(scan: Scan, start: int, end: int, named: list[int], than: re.Match[str] | None) -> _Words:
    """The words of what is said of an option, else of what stands before it: "the skin in A is pale", "noise in A"."""
    said = scan.codes[start:end]
    if than and ("z" in said or scan.codes[named[-1] + 1 : named[-1] + 2] == "O"):
        return _UNCLEAR  # no better than B; better than B in colour
    if not than and not _DOUBTFUL.isdisjoint(said):
        return _UNCLEAR
    after = _counted(scan, named[0] if named else start, named[1] if len(named) > 1 else end)
    if not named or named[0] == start:
        return after
    before = _counted(scan, start, named[0])
    chosen = after if after.signs or (after.kept and not before.signs) else before
    if before.turns and chosen is after:
        return _UNCLEAR  # I doubt that A is sharp
    return _Words(chosen.signs, chosen.kept, before.turns + after.turns, before.compares or after.compares)


def _counted(scan: Scan, start: int, end: int) -> _Words:
    signs, kept, turns, compares = [], False, 0, False
    for at in range(start, end):
        code, token = scan.codes[at], scan.token(at).lower()
        beside = (meaning(word) for word in scan.words_between(at, at + 1))
        compares |= code in ("L", "M") or (token in ("only", "one") and scan.codes[at - 1] == "i")
        for one in (meaning(token) if code == "w" else code, *(said for said in beside if said in _UNSEEN)):
            turns += one in _TURNS
            kept |= one == "⊙" or (one == "I" and token not in _OPEN)
            signs += [_SIGN[one]] if one in _SIGN else []
    return _Words(signs, kept, turns, compares)
