"""Which order of options a reply names, best first: strings of letters, chains, lists, places in prose."""

from __future__ import annotations

import re
from collections.abc import Iterator

from visualjudge.replies import options
from visualjudge.replies.choices import COMPARED, CONCLUDING, DECLARED, FINAL, Claim
from visualjudge.replies.lexer import GONE, Scan, steps
from visualjudge.replies.places import BARRED, CHAIN, LAST, orders, place_of

_O = "[A-H]"
_LEAD = re.compile(r"[^.\n?]{0,60}\Z")
_UPWARD = re.compile(r"u[na,>\-tO]{0,3}[b+]|υ")
_UPWARD_AFTER = re.compile(r",?\(?[Ot]?u[na,>\-tO]{0,3}[b+](?:\)|[.\n]|$)")
_DOWNWARD = re.compile(r"[b+M][na,>\-tOwP]{0,3}u|bo?,uo?")
_HEADED = re.compile(r"[kRmsb][^:]{0,12}:[nj]?\Z|[,)]:\Z")
_TAKEN_BACK = re.compile(r"z,|(?:z,?)?c,?|c[^>?]*:")
_DIRECTED = re.compile("t?b[na>t,Oo]{0,3}u")
_DEMANDS = ("rank", "order", "sort")
"""Rank A, B and C from best to worst."""
_NAMED = re.compile("[A-HZ]")
_SO = re.compile("[smy]{1,3}|yc")
_LABELLED = re.compile(r"(?:[kRvbV]|^[jsym]{0,3}i)[wnjaOrTV]{0,4}[:i=rs]{0,3}[njO:]{0,2}\Z")
_TAIL = re.compile(
    r"\Z|,?bo|,?i[jmb]{0,2}[kR]|,?O[wm]?[RS]|i(?=[.\n]|\Z)|[tn]?b[na>\-t,Oo]{0,3}u|[.\n)rYyR]|,(?![hυ])|-(?![buυ])|\((?![^)A-H]{0,20}[uυ]|W\)|[|∨hz])|\([^)u]{0,10}b[na>\-t,Oo]{0,3}u"
)
_ENDED = re.compile(
    r"\Z|,?\(?[Ot]?u[na,>\-tO]{0,3}[b+]|,?bo|[\n.\-)(R]|,?(?:i[jmb]{0,2}[kR]|Ow?[RS])|[tn]?b[na>\-t,Oo]{0,3}u"
)
_LISTED = re.compile(
    rf"(?:(?<=\n)|^|(?<=[,.;:(|iA-H]))[nRj]{{0,3}}(?:(#)[.):|\-=iR>]{{0,3}}|(o)[nR:,i.\->]{{0,3}}|R(#)[:>]?)({_O})(?![A-H])"
)
_HEADED_LINE = re.compile(rf"(?:(?<=\n)|(?<=:)(?={_O}[\-:]))({_O})(?=[\-:(,])")
_LAST_COLUMN = re.compile(rf"(?<=\n)\|?({_O})\|[^\n#]*\|(#)(?=\|?(?:\n|$))")
_PLACED = re.compile(rf"({_O})[,:i(O\-R]{{0,3}}(o)(?!n|[:i]?{_O})")
_RANKED = re.compile(rf"({_O})[|:i\-(]{{1,3}}R?:?(#)(?!\|[^\n]|[/N])")


_SCORED = re.compile(rf"({_O})[:(,i=V\-]{{1,2}}(#)[|'](#)")
_POINTS = re.compile(rf"({_O})[:(,i=V\-]{{0,2}}(#)(?![|'N#])()")
_ONLY_POINTS = re.compile(rf"(?:{_O}[:(,i=V\-]{{0,2}}#[),.\n]*)+")
_NUMBERED = re.compile(r"(?:^|\n)#[.):]")
_RESPECT = re.compile("RO[^:m]*:$")
"""Ranking by sharpness: …"""
_ASPECT = re.compile(r"O[^A-H,mskR]{0,8}[wS+](?:,[jsy]*|[jsy]+)R")
"""For colour I'd rank …"""
Placed = tuple[int, str, re.Match[str]]


def _string(scan: Scan, match: re.Match[str]) -> str:
    return "Z" if "".join(sorted(scan.token(match.start()).upper())) == "ABCDEFGH"[: scan.n_options] else "w"


_SPELT = re.compile(r"[A-H](?:\.[A-H])+\.?\n*|[kRi:]{0,4}x(?:[,>\-]?x)+[.\n]*")
_SINGLE = steps(("x", "x", lambda scan, match: scan.token(match.start()).upper()), (".", r"(?<=[A-H])\.(?=[A-H])", ","))


def _last(scan: Scan, match: re.Match[str]) -> str:
    """The last of all options, after the others: as one more link of their chain."""
    named = set(re.findall(_O, scan.codes[: match.start()]))
    if match[0][-1] == "o" and scan.token(match.end() - 1).lower() != "last":
        return match[0]
    chained = match[0][-1] not in "uo" or scan.codes[match.start() - 1] in "ABCDEFGHd"
    if not chained or len(named | {match[1]}) < scan.n_options or match[1] in named or len(match[0]) < 3:
        return match[0]
    link = ">" if scan.codes[match.start() - 2] == ">" else ",d"
    return (link + match[1]).ljust(len(match[0]), GONE)[: len(match[0])]


def _in_last_place(scan: Scan, match: re.Match[str]) -> str:
    """A, then C, and in last place B."""
    named = set(re.findall(_O, scan.codes[: match.start()]))
    last = scan.token(match.start() + match[0].index("o")).lower() in LAST
    whole = match[1] not in named and len(named) == scan.n_options - 1
    return (",d" + match[1]).ljust(len(match[0]), GONE) if last and whole and len(match[0]) > 2 else match[0]


def _above(scan: Scan, match: re.Match[str]) -> str:
    return {"above": ">", "over": ">", "below": "<"}.get(scan.token(match.start()).lower(), match[0])


def _semicolon(scan: Scan, match: re.Match[str]) -> str:
    return "," if scan.token(match.start()) in ";；" else "."


def _following(scan: Scan, match: re.Match[str]) -> str:
    return "d" if scan.token(match.start()).lower() == "follows" else "I"


_BEFORE = steps(
    ("Q", r"(?:^|(?<=[:i(\n.=>kR]))Q(?=$|[\n.,)])", _string),  # lower case counts where it can be nothing else
    (">~", "[-=]{1,2}>|~", ">"),
    ("Z", "zZ[.,]?y?[iI]?(?=Z)|(?<=Z),?t{1,2}Z", ""),  # not ABC but BAC, BAC rather than ABC
    ("I", r"(?<=[A-H])I(?=[.,\n&]|$)", _following),
    ("\n", r"(?<=[A-H])\n>\n(?=[A-H])", ">"),
    (".", r"(?<=[A-H])\.(?=[A-H][.\n]*(?:[A-H]|$))", _semicolon),
    ("t", "(?<=[A-H])t(?=[A-H])", _above),  # B over C over A
    ("o", ",bo,?(?=[i:])", ""),  # the order, best first, is
)
_NOTED = steps(("(", rf"(?<={_O})\([^()A-Hbuo#\n]{{0,30}}\)(?=[,.\n]|$)", ""))
_ALL_NOTED = re.compile(rf"[^A-H(]{{0,20}}{_O}\([^()A-Hbuo#\n]{{0,30}}\),{_O}\(")
_AFTER = steps(
    ("ML", r"[ML](?=[,.\n&]|$)", lambda scan, match: "b" if match[0] == "M" else "u"),  # A the most, C the least
    ("+", rf"(?<=d)\+(?={_O})|\+(?=d{_O})", ""),  # followed closely by
    ("o", "ob", "o"),  # second best
    ("d", "(?<=d)b(?=[nk]{0,2}[:iA-H])", ""),  # the next best is
    ("T", rf"(?<={_O}ib)n?T(?=,?&?d{_O})", ""),  # C is closest to the original, followed by
    ("o", rf"(?<={_O}),?[&r]?[Ow]?oR?({_O})(?=[.\n]|$)", _in_last_place),
    ("", rf"(?<={_O})(?:,?[wir]{{0,3}}(?:b[ta]?|g))(?={_O})", ">"),  # A is better than B
    ("", rf"(?<={_O})(?:,?[wir]{{0,3}}u[ta]|[iIV]J[wrO]?|[iI]?la)(?={_O})", "<"),
    ("K", rf"(?<={_O})K(?={_O})", _above),
    ("e", "(?<=>[A-H]),?&?e(?:[bg]t?|>)(?=[A-H])", ">"),  # and both beat C
    ("", r",?[&rY]{0,2}([A-H])(?:[iI]?[lod]|u)(?=[.\n]|$)", _last),  # …, and A trails
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
    for found in (_chains(scan), _lists(scan, scan.n_options), orders(scan, scan.n_options), _scored(scan)):
        for claim in found:
            if sorted(str(claim.value)) == letters:
                yield claim


def is_incomplete(scan: Scan) -> bool:
    """Whether only some of the options are named, and placed: "The best is B, the worst is D" of four."""
    named, codes = re.findall(_O, scan.codes), set(scan.codes)
    once = len(named) == len(set(named)) and set(named) < set("ABCDEFGH"[: scan.n_options])
    return once and bool(named) and bool(codes & set("bu>")) and codes.isdisjoint("z∨hfqe?")


def cause(codes: str) -> str:
    """Why a reply without a claim gives no order."""
    if "e" in codes or "A=B" in codes:
        return "tie"
    return "several answers" if "X" in codes or len(re.findall(_O, codes)) > 1 else "no answer"


def _chains(scan: Scan) -> Iterator[Claim]:
    """``BCA``, ``B > C > A``, "B, then C, then A", "C is better than B, which is better than A"."""
    codes = scan.codes
    for chain in CHAIN.finditer(codes):
        lead = codes[max(0, chain.start() - 60) : chain.start()]
        lead = lead[max(lead.rfind("."), lead.rfind("\n"), lead.rfind("?")) + 1 :]
        after = codes[chain.end() : chain.end() + 30]
        said = chain[0]
        if (
            _doubted(codes, chain, lead)
            or not _may_end(codes, chain, lead, after)
            or (">" in said and set(said) & set(",|&-d"))
            or (lead == "R" and _DIRECTED.match(after) and scan.token(chain.start() - 1).lower() in _DEMANDS)
        ):
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
        upward = bool(_UPWARD.search(_NAMED.split(lead)[-1]) or _UPWARD_AFTER.match(after))
        if upward and ">" in said:
            continue
        yield Claim(letters[::-1] if upward or "<" in said else letters, level, chain.start(), chain.end(), "chain")


def _doubted(codes: str, chain: re.Match[str], lead: str) -> bool:
    """Whether the sentence of a chain begins with a denial or a second thought that does not lead to the chain."""
    before = codes[chain.start() - len(lead) - 1 : chain.start() - len(lead)]
    begins = bool(lead) and lead[0] in "zc" and before not in ("", "\n")
    return begins and not _TAKEN_BACK.fullmatch(lead) and not _SO.fullmatch(re.split("[,;]", lead)[-1])


def _may_end(codes: str, chain: re.Match[str], lead: str, after: str) -> bool:
    """Whether what follows a chain lets it stand: no question, no other chain after "or"."""
    reason = (chain[0] == "Z" or "R" in lead) and re.match(":[^\n]", after)
    one_of_two = re.match(r"[.\n]?∨", after) or re.search(r"∨\n?$", codes[: chain.start()][-2:])
    return bool(
        (_TAIL.match(after) or _UPWARD_AFTER.match(after) or reason)
        and not one_of_two
        and not re.match(r"[^\n.]{0,30}\?", after)
    )


def _enumerates(lead: str, said: str) -> bool:
    """Whether a chain in alphabetical order may only name the options: "Options: A, B, C", "I will rank A, B and C"."""
    return "n:" in lead or lead == "R" or ("&" in said and (not lead or lead.endswith("jR")))


def _level(lead: str, said: str, *, whole: bool) -> float | None:
    """How surely a chain is the answer, by what stands before it in its sentence; None if it is not one."""
    if _RESPECT.search(lead):
        return COMPARED
    if _ASPECT.match(lead):
        return None
    last = _NAMED.split(lead)[-1]
    directed = bool(_UPWARD.search(last) or _DOWNWARD.search(last))
    clause = re.split(r"[,;]", lead)[-1] if not directed else lead
    if "q" in lead or "f" in lead:
        return None
    barred = BARRED - {"T"} if directed else BARRED | {"u"}
    if not barred.isdisjoint(clause) and not _TAKEN_BACK.fullmatch(lead) and not _SO.fullmatch(clause):
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
    if _LABELLED.search(lead) or directed or lead == "R,":
        return DECLARED + weight
    if said == "Z" and lead[-1:] == ",":
        return COMPARED + weight
    if lead[-1:] == "O":
        return None
    return COMPARED + weight if set(said) & set(">d") and "w" not in lead.rpartition(",")[2] else None


def _scored(scan: Scan) -> Iterator[Claim]:
    """``B: 8.5/10, A: 7/10, C: 4/10``: a score for each option, no two alike."""
    form = _SCORED if _SCORED.search(scan.codes) else _POINTS
    found = [] if _NUMBERED.search(scan.codes) else list(form.finditer(scan.codes))
    scores = {match[1]: scan.token(match.start(2)) for match in found}
    scales = {scan.token(match.start(3)) if match[3] else "" for match in found}
    if len(scores) == len(found) == scan.n_options == len(set(scores.values())) and len(scales) == 1:
        order = sorted(scores, key=lambda letter: -float(scores[letter].replace(",", ".")))
        if (
            form is _POINTS
            and "S" not in scan.codes
            and (order != list(scores) or not _ONLY_POINTS.fullmatch(scan.codes))
        ):
            return
        yield Claim("".join(order), DECLARED - CONCLUDING, found[0].start(), found[-1].end(), "scores")


def _lists(scan: Scan, n_options: int) -> Iterator[Claim]:
    """Numbered lines, ordinals, a table of ranks."""
    codes = scan.codes
    found = []
    for match in _LISTED.finditer(codes):
        at = match.start(1) if match[1] else match.start(2) if match[2] else match.start(3)
        place = place_of(scan, at, n_options)
        if place:
            found.append((place, match[4], match))
    claim = _listed(codes, found, n_options)
    if claim is None:
        for pattern in (_PLACED, _RANKED) if set("Ro|") & set(codes) else ():
            pairs = [(place_of(scan, m.start(2), n_options), m[1], m) for m in pattern.finditer(codes)]
            claim = claim or _listed(codes, [pair for pair in pairs if pair[0]], n_options)
    if claim is None and "R|" in codes:  # the last column of a table
        rows = [(place_of(scan, m.start(2), n_options), m[1], m) for m in _LAST_COLUMN.finditer(codes)]
        claim = _listed(codes, rows, n_options)
    if claim is None:  # A (1), C (2), B (3)
        rows = [(place_of(scan, m.start(2), n_options), m[1], m) for m in _RANKED.finditer(codes)]
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
