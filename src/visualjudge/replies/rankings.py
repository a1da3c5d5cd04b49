"""Which order of options a reply names, best first: strings of letters, chains, lists, places in prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import permutations

from visualjudge.replies import choices, options
from visualjudge.replies.choices import CONCLUDING, DECLARED, FINAL, Claim
from visualjudge.replies.lexer import GONE, Scan, steps
from visualjudge.replies.options import ORDINALS

COMPARED = 1.0

_O = "[A-H]"
_LINK = r"(?:[>,|\-]|,?&|[,\-]?&?[dmo]{1,2})"
_CHAIN = re.compile(
    rf"(?<![A-H])(?<![A-H]=)(?:Z|{_O}(?:>{_O})+(?=,{_O}(?!>))|{_O}(?:\([buo]\))?(?:{_LINK}?{_O}(?:\([buo]\))?)+|{_O}(?:<{_O})+(?!<)|{_O}(?:\n{_O})+)(?![A-H=])"
)
_LEAD = re.compile(r"[^.\n?]{0,60}\Z")
_UPWARD = re.compile(r"u[na,>\-tO]{0,3}[b+]")
_DOWNWARD = re.compile(r"[b+M][na,>\-tOw]{0,3}u|bo?,uo?")
_BARRED = frozenset("zhfpqcWeTρ")
_HEADED = re.compile(r"[kRmsb][^:]{0,12}:[nj]?\Z|[,)]:\Z")
_TAKEN_BACK = re.compile(r"z,|(?:z,?)?c,?|c[^>?]*:")
_SO = re.compile("[smy]{1,3}")
_LABELLED = re.compile(r"(?:[kRvb]|^[jsym]{0,3}i)[wnjaOrT]{0,4}[:i=rs]{0,3}[njO:]{0,2}\Z")
_TAIL = re.compile(
    r"\Z|,?i[jmb]{0,2}[kR]|,?O[wm]?[RS]|i(?=[.\n]|\Z)|[tn]?b[na>\-t,Oo]{0,3}u|[.\n)rYyR]|,(?!h)|-(?!b|u)|\((?![^)A-H]{0,20}u|[|∨hz])|\([^)u]{0,10}b[na>\-t,Oo]{0,3}u"
)
_ENDED = re.compile(r"\Z|[\n.\-)(R]|,?(?:i[jmb]{0,2}[kR]|Ow?[RS])|[tn]?b[na>\-t,Oo]{0,3}u")
_LISTED = re.compile(
    rf"(?:(?<=\n)|^|(?<=[,.;:(|A-H]))[nRj]{{0,3}}(?:(#)[.):|\-=]{{0,2}}R?:?|(o)[n:,i.\-]{{0,2}}|R(#):?)({_O})(?![A-H])"
)
_HEADED_LINE = re.compile(rf"(?:(?<=\n)|(?<=:)(?={_O}[\-:]))({_O})(?=[\-:(,])")
_LAST_COLUMN = re.compile(rf"(?<=\n)\|?({_O})\|[^\n#]*\|(#)(?=\|?(?:\n|$))")
_PLACED = re.compile(rf"({_O})[,:i(O\-R]{{0,3}}(o)(?!n?[:i]?{_O})")
_RANKED = re.compile(rf"({_O})[|:i\-(]{{1,3}}R?:?(#)(?!\|[^\n]|[/N])")
_BEST_WORST = re.compile(
    rf"({_O})[:,iIg(OR=\-Vr|]{{0,3}}\+?([buoKkl]|g(?!n?o))(?:[nSkR]{{1,2}}(?=[,.&\n]|$))?(?![n:iw]{{0,2}}{_O})|([buo])[nk]{{0,2}}[:i=\-]{{0,2}}({_O})|([.\n,&dmi:r]{{1,5}})({_O})(?=i?(?:$|[.,&\n)d]))"
)


_COMPARATIVES = ("better", "stronger", "worse", "weaker", "poorer", "inferior")
_DUEL = re.compile(rf"({_O})([<>])(?=({_O}))")
_SCORED = re.compile(rf"({_O})[:(,i=V\-]{{1,2}}(#)[|'](#)")
_NUMBERED = re.compile(r"(?:^|\n)#[.):]")
_RESPECT = re.compile("RO[^:m]*:$")
"""Ranking by sharpness: …"""
_ASPECT = re.compile(r"O[^A-H,mskR]{0,8}[wS+](?:,[jsy]*|[jsy]+)R")
"""For colour I'd rank …"""
_SHARED = re.compile(f"{_O}[∨&]$")
Placed = tuple[int, str, re.Match[str]]


def _string(scan: Scan, match: re.Match[str]) -> str:
    return "Z" if "".join(sorted(scan.token(match.start()).upper())) == "ABCDEFGH"[: scan.n_options] else "w"


_SPELT = re.compile(r"[A-H](?:\.[A-H])+\.?\n*|x(?:[,>\-]?x)+[.\n]*")
_SINGLE = steps(("x", "x", lambda scan, match: scan.token(match.start()).upper()), (".", r"(?<=[A-H])\.(?=[A-H])", ","))


def _last(scan: Scan, match: re.Match[str]) -> str:
    """The last of all options, after the others: as one more link of their chain."""
    named = set(re.findall(_O, scan.codes[: match.start()]))
    chained = match[0][-1] != "u" or scan.codes[match.start() - 1] in "ABCDEFGHd"
    if not chained or len(named | {match[1]}) < scan.n_options or match[1] in named or len(match[0]) < 3:
        return match[0]
    link = ">" if scan.codes[match.start() - 2] == ">" else ",d"
    return (link + match[1]).ljust(len(match[0]), GONE)[: len(match[0])]


def _above(scan: Scan, match: re.Match[str]) -> str:
    return {"above": ">", "over": ">", "below": "<"}.get(scan.token(match.start()).lower(), match[0])


def _following(scan: Scan, match: re.Match[str]) -> str:
    return "d" if scan.token(match.start()).lower() == "follows" else "I"


_BEFORE = steps(
    ("Q", r"(?:^|(?<=[:i(\n.=>kR]))Q(?=$|[\n.,)])", _string),  # lower case counts where it can be nothing else
    (">~", "[-=]{1,2}>|~", ">"),
    ("Z", "zZ,?y?(?=Z)|(?<=Z),?t{1,2}Z", ""),  # not ABC but BAC, BAC rather than ABC
    ("I", r"(?<=[A-H])I(?=[.,\n&]|$)", _following),
    ("t", "(?<=[A-H])t(?=[A-H])", _above),  # B over C over A
    ("o", ",bo,?(?=[i:])", ""),  # the order, best first, is
)
_NOTED = steps(("(", rf"(?<={_O})\([^()A-Hbuo#\n]{{0,30}}\)(?=[,.\n]|$)", ""))
_ALL_NOTED = re.compile(rf"[^A-H(]{{0,20}}{_O}\([^()A-Hbuo#\n]{{0,30}}\),{_O}\(")
_AFTER = steps(
    ("ML", r"[ML](?=[,.\n&]|$)", lambda scan, match: "b" if match[0] == "M" else "u"),  # A the most, C the least
    ("+", rf"(?<=d)\+(?={_O})", ""),  # followed closely by
    ("o", "ob", "o"),  # second best
    ("", rf"(?<={_O})(?:,?[wir]{{0,3}}(?:b[ta]?|g))(?={_O})", ">"),  # A is better than B
    ("", rf"(?<={_O})(?:,?[wir]{{0,3}}u[ta]|[iIV]J[wrO]?|[iI]?la)(?={_O})", "<"),
    ("K", rf"(?<={_O})K(?={_O})", _above),
    ("e", "(?<=>[A-H]),?&?e(?:[bg]t?|>)(?=[A-H])", ">"),  # and both beat C
    ("", r",?[&rY]{0,2}([A-H])(?:[iI]?l|u)(?=[.\n]|$)", _last),  # …, and A trails
    ("b", rf"(?<=R{_O})b(?=,?d{_O})", ""),  # I rank C highest, then B
    ("", r"([A-H])[,&]{1,2}(?=\1[<>])", ""),  # A > B, B > C
)


def prepare(scan: Scan) -> None:
    """Name options in one way, and order them by one mark."""
    scan.rewrite(_BEFORE)
    if _SPELT.fullmatch(scan.codes):
        scan.rewrite(_SINGLE)
    options.prepare(scan)
    if _DOWNWARD.search(scan.codes) or _ALL_NOTED.match(scan.codes):
        scan.rewrite(_NOTED)
    scan.rewrite(_AFTER)


def claims(scan: Scan) -> Iterator[Claim]:
    """What a reply to a ranking question states."""
    letters = sorted("ABCDEFGH"[: scan.n_options])
    for found in (_chains(scan), _lists(scan, scan.n_options), _places(scan, scan.n_options), _scored(scan)):
        for claim in found:
            if sorted(str(claim.value)) == letters:
                yield claim


def cause(codes: str) -> str:
    """Why a reply without a claim gives no order."""
    if "e" in codes or "A=B" in codes:
        return "tie"
    return "several answers" if "X" in codes or len(re.findall(_O, codes)) > 1 else "no answer"


def _chains(scan: Scan) -> Iterator[Claim]:
    """``BCA``, ``B > C > A``, "B, then C, then A", "C is better than B, which is better than A"."""
    codes = scan.codes
    for chain in _CHAIN.finditer(codes):
        lead = codes[max(0, chain.start() - 60) : chain.start()]
        lead = lead[max(lead.rfind("."), lead.rfind("\n"), lead.rfind("?")) + 1 :]
        if (
            lead[:1] in "zc"
            and lead
            and codes[chain.start() - len(lead) - 1 : chain.start() - len(lead)] not in ("", "\n")
            and not _TAKEN_BACK.fullmatch(lead)
        ):
            continue
        after = codes[chain.end() : chain.end() + 30]
        if not _may_end(codes, chain, lead, after):
            continue
        said = chain[0]
        if ">" in said and set(said) & set(",|&-d"):
            continue
        letters = scan.token(chain.start()).upper().replace("-", "") if said == "Z" else "".join(re.findall(_O, said))
        level = _level(lead, said, whole=_ENDED.match(after) is not None)
        if said[1:4] == "(u)" and said[-3:] == "(b)" and said.count("(") == 2:
            letters, said = letters[::-1], letters[0] + "(b)" + letters[1:]
        if "(" in said and (said[1:4] != "(b)" or said.count("(b)") > 1 or "(u)" in said[:-3]):
            continue
        if "(" in said:
            level = level or DECLARED
        if level is None or (letters == "".join(sorted(letters)) and _enumerates(lead, said)):
            continue
        upward = bool(_UPWARD.search(lead))
        if upward and ">" in said:
            continue
        yield Claim(letters[::-1] if upward or "<" in said else letters, level, chain.start(), chain.end(), "chain")


def _may_end(codes: str, chain: re.Match[str], lead: str, after: str) -> bool:
    """Whether what follows a chain lets it stand: no question, no other chain after "or"."""
    reason = (chain[0] == "Z" or "R" in lead) and re.match(":[^\n]", after)
    one_of_two = re.match(r"[.\n]?∨", after) or re.search(r"∨\n?$", codes[: chain.start()][-2:])
    return bool((_TAIL.match(after) or reason) and not one_of_two and not re.match(r"[^\n.]{0,30}\?", after))


def _enumerates(lead: str, said: str) -> bool:
    """Whether a chain in alphabetical order may only name the options: "Options: A, B, C", "I will rank A, B and C"."""
    return "n:" in lead or lead == "R" or ("&" in said and (not lead or lead.endswith("jR")))


def _level(lead: str, said: str, *, whole: bool) -> float | None:
    """How surely a chain is the answer, by what stands before it in its sentence; None if it is not one."""
    if _RESPECT.search(lead):
        return COMPARED
    if _ASPECT.match(lead):
        return None
    directed = bool(_UPWARD.search(lead) or _DOWNWARD.search(lead))
    clause = re.split(r"[,;]", lead)[-1] if not directed else lead
    if "q" in lead or "f" in lead:
        return None
    barred = _BARRED - {"T"} if directed else _BARRED | {"u"}
    if not barred.isdisjoint(clause) and not _TAKEN_BACK.fullmatch(lead):
        return None
    weight = CONCLUDING if "s" in lead or "y" in lead or ">" in lead[-1:] else 0.0
    weight += FINAL - DECLARED if "m" in lead else 0.0
    if (
        _TAKEN_BACK.fullmatch(lead)
        or _SO.fullmatch(clause)
        or lead.rstrip("j" if said == "Z" else "nj") in ("", "-", "(")
        or lead[-1:] == ">"
    ):
        return DECLARED + weight if whole or said == "Z" or ">" in said else None
    if ":" in lead[-3:]:
        return DECLARED + weight if directed or _HEADED.search(lead) else None
    if _LABELLED.search(lead) or directed:
        return DECLARED + weight
    if said == "Z" and lead[-1:] == ",":
        return COMPARED + weight
    if lead[-1:] == "O":
        return None
    return COMPARED + weight if set(said) & set(">d") and "w" not in lead.rpartition(",")[2] else None


def _scored(scan: Scan) -> Iterator[Claim]:
    """``B: 8.5/10, A: 7/10, C: 4/10``: a score for each option, no two alike."""
    found = [] if _NUMBERED.search(scan.codes) else list(_SCORED.finditer(scan.codes))
    scores = {match[1]: scan.token(match.start(2)) for match in found}
    scales = {scan.token(match.start(3)) for match in found}
    if len(scores) == len(found) == scan.n_options == len(set(scores.values())) and len(scales) == 1:
        order = sorted(scores, key=lambda letter: -float(scores[letter].replace(",", ".")))
        yield Claim("".join(order), DECLARED - CONCLUDING, found[0].start(), found[-1].end(), "scores")


def _lists(scan: Scan, n_options: int) -> Iterator[Claim]:
    """Numbered lines, ordinals, a table of ranks."""
    codes = scan.codes
    found = []
    for match in _LISTED.finditer(codes):
        at = match.start(1) if match[1] else match.start(2) if match[2] else match.start(3)
        place = _place(scan, at, n_options)
        if place:
            found.append((place, match[4], match))
    claim = _listed(codes, found, n_options)
    if claim is None:
        for pattern in (_PLACED, _RANKED) if set("Ro|") & set(codes) else ():
            pairs = [(_place(scan, m.start(2), n_options), m[1], m) for m in pattern.finditer(codes)]
            claim = claim or _listed(codes, [pair for pair in pairs if pair[0]], n_options)
    if claim is None and "R|" in codes:  # the last column of a table
        rows = [(_place(scan, m.start(2), n_options), m[1], m) for m in _LAST_COLUMN.finditer(codes)]
        claim = _listed(codes, rows, n_options)
    if claim is None:  # A (1), C (2), B (3)
        rows = [(_place(scan, m.start(2), n_options), m[1], m) for m in _RANKED.finditer(codes)]
        claim = _listed(codes, rows, n_options) if rows == sorted(rows, key=lambda row: row[0]) else None
    if claim is None and _DOWNWARD.search(codes):
        rows = [(number, match[1], match) for number, match in enumerate(_HEADED_LINE.finditer(codes), 1)]
        claim = _listed(codes, rows, n_options)
    if claim:
        yield claim


def _listed(codes: str, found: list[Placed], n_options: int) -> Claim | None:
    if len(found) != n_options or sorted(place for place, *_ in found) != list(range(1, n_options + 1)):
        return None
    ordered = sorted(found, key=lambda row: row[0])
    letters = "".join(letter for _, letter, *_ in ordered)
    first, last = found[0][2], found[-1][2]
    counted_down = found[0][0] != 1 and first[0][0] == "#"
    ends = [match.end() for *_, match in found]
    stops = [match.start() for *_, match in found[1:]] + [len(codes)]
    rests = [codes[end:stop].split("\n")[0] for end, stop in zip(ends, stops, strict=True)]
    told = any(rest.strip(".\n)(,") for rest in rests)
    head = codes[: first.start()]
    enumerated = told and letters == "".join(sorted(letters)) and all(rest[:1] in set(":wIi") for rest in rests)
    if "q" in head.rpartition("\n")[2] or any("q" in rest for rest in rests):
        return None
    if counted_down or (enumerated and not re.search(r"[Rb]", head)):
        return None
    for (place, *_), rest in zip(found, rests, strict=True):
        if (place != 1 and "b" in rest[:4] and "bt" not in rest) or (place != n_options and "u" in rest[:4]):
            return None
    if _UPWARD.search(head[-40:]):
        letters = letters[::-1]
    return Claim(letters, DECLARED - CONCLUDING, first.start(), last.end(), "list")


def _place(scan: Scan, at: int, n_options: int) -> int:
    token = scan.token(at).lower()
    if token.isdigit():
        return int(token)
    if token in ("last", "最后", "dernier"):
        return n_options
    return 2 if token == "middle" and n_options == 3 else ORDINALS.get(token, 0)


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
    return bool(_BARRED.intersection(_CLAUSE.split(codes[max(0, start - reach) : start])[-1]))


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


def _places(scan: Scan, n_options: int) -> Iterator[Claim]:
    """ "B is best, followed by A, and C is the worst"; "C is the worst. A is better than B"."""
    codes = scan.codes
    if "uo" in codes or n_options > _MOST:  # "worst first"
        return
    facts = _Facts(codes, "ABCDEFGH"[:n_options])
    if not _placed(scan, facts):
        return
    for match in _DUEL.finditer(codes):
        lead = choices.sentence_before(codes, match.start())
        barred = _BARRED.intersection(_CLAUSE.split(lead)[-1]) or {"f", "q"}.intersection(lead)
        if not barred and not _SUPPOSED.match(codes, match.end()):
            facts.above.add((match[1], match[3]) if match[2] == ">" else (match[3], match[1]))
            facts.spans.append((match.start(), match.end() + 1))
    order = facts.order() if facts.spans else None
    if order:
        start, end = min(facts.spans)[0], max(stop for _, stop in facts.spans)
        yield Claim(order, COMPARED, start, end, "places")
        for row in _CHAIN.finditer(codes, end):  # all options in a row, which takes back what was said before
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
            place = _place_of(scan, at, n_options)
        shared = match[1] and _SHARED.search(codes, 0, match.start())
        if shared or not place or _doubted(codes, match.start()) or not facts.place(letter, place, match.span()):
            return False
        last, end = place, match.end()
        first = first or place
    return True


def _place_of(scan: Scan, at: int, n_options: int) -> int:
    """The place that a word gives: best 1, worst the last, between (of three) 2."""
    said = {"b": 1, "g": 1, "k": 1, "u": n_options, "l": n_options, "K": 2 if n_options == 3 else 0}
    return said.get(scan.codes[at]) or _place(scan, at, n_options)
