"""An order from what a reply says of single options: "B is best, followed by A, and C is the worst"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import permutations

from visualjudge.replies import choices
from visualjudge.replies.choices import COMPARED, Claim
from visualjudge.replies.lexer import Scan
from visualjudge.replies.options import ORDINALS

_O = "[A-H]"
_LINK = r"(?:[>,|\-]|,?&|[,\-]?&?[dmo]{1,2})"
CHAIN = re.compile(
    rf"(?<![A-H])(?<![A-H]=)(?:Z|{_O}(?:>{_O})+(?=,{_O}(?!>))|{_O}(?:\([buo]\))?(?:{_LINK}?{_O}(?:\([buo]\))?)+|{_O}(?:<{_O})+(?!<)|{_O}(?:\n{_O})+)(?![A-H=])"
)
BARRED = frozenset("zhfpqcWeTρ")
_BEST_WORST = re.compile(
    rf"({_O})[:,iIg(OR=\-Vr|]{{0,3}}\+?([buKkl]|o(?!n)|g(?!n?o))(?:[nSkR]{{1,2}}(?=[,.&\n]|$))?(?![n:iw]{{0,2}}{_O})|(?<![at>PA-H])(?<![A-H]i)([buo])[nk]{{0,2}}[:i=\-]{{0,2}}({_O})|([.\n,&dmi:r]{{1,5}})({_O})(?=i?(?:$|[.,&\n)d]))"
)

_COMPARATIVES = ("better", "stronger", "worse", "weaker", "poorer", "inferior", "ahead")
_DUEL = re.compile(rf"({_O})([<>])(?=({_O}))")
_BOTH = re.compile(rf"({_O})>{_O}(?:&({_O})(?=[.,\n]|$)|[y&,]{{1,2}}i?u[ta]?({_O}))")
"""C beats A and B; C is better than A but worse than B."""
_SHARED = re.compile(f"{_O}[∨&]$")


def place_of(scan: Scan, at: int, n_options: int) -> int:
    """The place that a number or an ordinal names; 0 for none."""
    token = scan.token(at).lower()
    if token.isdigit():
        return int(token)
    if token in LAST:
        return n_options
    return 2 if token in _MIDDLE and n_options == 3 else ORDINALS.get(token, 0)


LAST = ("last", "最后", "dernier", "последнем")
_MIDDLE = ("middle", "mid", "medium", "middling", "посередине", "intermedia", "mittlere")


_SENTENCE_END = re.compile("[.\n]")
_HEADING = re.compile(r"(?:[b+][na,>\-tOw]{0,3}u|u[na,>\-tOw]{0,3}[b+])[^A-H.\n]{0,8}:")
_CLAUSE = re.compile(r"[,.\n&;]")


def _unheaded(codes: str) -> Iterator[re.Match[str]]:
    """What is said of single options, but for the sentence that "best to worst:" heads."""
    headed = [(match.start(), _SENTENCE_END.search(codes, match.end())) for match in _HEADING.finditer(codes)]
    for match in _BEST_WORST.finditer(codes):
        if not any(start <= match.start() and (not stop or match.start() < stop.start()) for start, stop in headed):
            yield match


def _doubted(codes: str, start: int, reach: int = 8) -> bool:
    """Whether the clause that a statement stands in denies, supposes or asks."""
    return bool(BARRED.intersection(_CLAUSE.split(codes[max(0, start - reach) : start])[-1]))


class _Facts:
    """What a reply says of options: places, and which is above which; they may leave one order."""

    def __init__(self, codes: str, letters: str) -> None:
        self.letters, self.places, self.spans = letters, dict[str, int](), list[tuple[int, int]]()
        self.above, self.better = set[tuple[str, str]](), list[tuple[str, bool]]()
        self.tied, self.doubtful = "e" in codes, "z" in codes or "∨" in codes

    def place(self, letter: str, place: int, span: tuple[int, int]) -> bool:
        """Note a place; False where another was said."""
        self.spans.append(span)
        return self.places.setdefault(letter, place) == place

    def order(self) -> str | None:
        """The one order that fits, if what is said names or compares all options but one."""
        free = [letter for letter in self.letters if letter not in self.places]
        compared = {letter for pair in self.above for letter in pair}
        if len(free) == 2 < len(self.letters):
            other = dict(zip(free, free[::-1], strict=True))
            self.above |= {(x, other[x]) if up else (other[x], x) for x, up in self.better if x in other}
        elif not compared and free and not self._suffices(free):
            return None
        fitting = (order for order in permutations(self.letters) if self._fits(order))
        found = next(fitting, None)
        return "".join(found) if found and next(fitting, None) is None else None

    def _suffices(self, free: list[str]) -> bool:
        """Whether the one option of which nothing was said is surely the one left."""
        named = set(self.places.values())
        ends = {1, len(self.letters)}
        sure = ends <= named or (not self.doubtful and bool(ends & named))
        return len(free) == 1 and len(self.letters) > 2 and sure and not self.tied

    def _fits(self, order: tuple[str, ...]) -> bool:
        at = {letter: number for number, letter in enumerate(order, 1)}
        return all(at.get(letter) == place for letter, place in self.places.items()) and all(
            at.get(x, 0) < at.get(y, 0) for x, y in self.above
        )


_ENDS = re.compile(r"[.,\n]|$")
_SUPPOSED = re.compile(r"[^.\n]{0,60}[fq?]|[>A-H]{0,12}iW")
_MOST = 6
"""Options up to which orders are tried one by one."""


def orders(scan: Scan, n_options: int) -> Iterator[Claim]:
    """ "B is best, followed by A, and C is the worst"; "C is the worst. A is better than B"."""
    codes = scan.codes
    if "uo" in codes or "υ" in codes or n_options > _MOST:  # "worst first"
        return
    facts = _Facts(codes, "ABCDEFGH"[:n_options])
    if not _placed(scan, facts):
        return
    for match in _DUEL.finditer(codes):
        lead = choices.sentence_before(codes, match.start())
        barred = BARRED.intersection(_CLAUSE.split(lead)[-1]) or {"f", "q"}.intersection(lead)
        if not barred and not _SUPPOSED.match(codes, match.end()):
            facts.above.add((match[1], match[3]) if match[2] == ">" else (match[3], match[1]))
            facts.spans.append((match.start(), match.end() + 1))
    for match in _BOTH.finditer(codes):
        facts.above.add((match[1], match[2]) if match[2] else (match[3], match[1]))
    order = facts.order() if facts.spans else None
    if order:
        start, end = min(facts.spans)[0], max(stop for _, stop in facts.spans)
        yield Claim(order, COMPARED, start, end, "places")
        for row in CHAIN.finditer(codes, end):  # all options in a row, which takes back what was said before
            letters = "".join(re.findall(_O, row[0]))[:: -1 if "<" in row[0] else 1]
            if letters != order:
                yield Claim(letters, COMPARED, row.start(), row.end(), "places")


def _placed(scan: Scan, facts: _Facts) -> bool:
    """Note the places that are said; False where they contradict each other or one is denied."""
    codes, n_options = scan.codes, scan.n_options
    last = first = end = 0
    for match in _unheaded(codes):
        if match[6]:
            follows = "d" in match[5] or not set(match[5]) & set(".\n:")
            letter, place = match[6], last + (-1 if first == n_options else 1)
            if not (last and match.start() == end and follows) or place > n_options:
                continue
        else:
            letter, at = match[1] or match[4], match.start(2) if match[2] else match.start(3)
            if scan.token(at).lower() in _COMPARATIVES:
                facts.better += [(letter, codes[at] == "b")] if _ENDS.match(codes, match.end()) else []
                continue
            place = _said_place(scan, at, n_options)
        if "q" in choices.sentence_before(codes, match.start()):
            return False
        shared = match[1] and _SHARED.search(codes, 0, match.start())
        if shared or not place or _doubted(codes, match.start()) or not facts.place(letter, place, match.span()):
            return False
        last, end = place, match.end()
        first = first or place
    return True


def _said_place(scan: Scan, at: int, n_options: int) -> int:
    """The place that a word gives: best 1, worst the last, between (of three) 2."""
    said = {"b": 1, "g": 1, "k": 1, "u": n_options, "l": n_options, "K": 2 if n_options == 3 else 0}
    return said.get(scan.codes[at]) or place_of(scan, at, n_options)
