"""Which of two options a reply names: the clauses that name one, by how surely they do.

Codes are those of ``lexicon.txt``. A clause is read only where every word of it is understood: what is unknown, denied,
supposed or only possible is not a choice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from visualjudge.replies import clauses
from visualjudge.replies.lexer import Scan, code_of
from visualjudge.replies.options import prepare as prepare


@dataclass(frozen=True, slots=True)
class Claim:
    """A value that a reply states: ``level`` says how surely, ``start`` and ``end`` are places in the codes."""

    value: str | float
    level: float
    start: int
    end: int
    rule: str


FINAL, DECLARED, BARE, COMPARED, FOLLOWED, SAID = 3.0, 2.0, 1.8, 1.0, 0.8, 0.3
CONCLUDING = 0.5
"""What "so" and "but" before a claim add, and "although" takes away."""


_O = "[A-H]"
_END = rf"(?=»|[)rsyYm]|O(?:w?m|[nT]|»)|[ibMjt]»|N#?»|\|(?:N|\n|»)|,(?!{_O}(?:»|[,|∨&)])|[&yd]?{_O}»|[|∨hzc]|[rY][^,.?\n]{{1,60}},[iIVzly])|[-(](?![A-H]?[|∨&=hz<>c~])(?!-?[zc])(?!{_O}\)?»)(?![^()A-H]{{0,20}}\)[|∨&,]{{1,2}}{_O})(?![^()]{{0,40}}\)[^.,\n\-r:]))"
"""What may follow an option that is declared: an end, a reason, a comma that begins no list."""
_EXPLAINED = rf"(?<=[i:bkR-]{_O}):(?![^?]{{0,200}}{_O}[:=\-(])(?![z#A-H])"
"""What may follow an option that a verb or a colon declares: "my choice is A: …"."""
_OVERALL = r"O(?:[mnTe]|[^A-H.,&\n?zhfqyY]{1,9}[,&]{1,2}(?!n?[A-H1])[wWTSM+bmnzN]|[wS+]{0,3}m)"
"""In every respect, in two respects or more."""
_AFTER = rf"(?=»|[),\-&sYyr(:m\"]|(?:tO?|a)?{_O}»|[ta]{_O}(?:(?!O)|(?={_OVERALL}))|{_OVERALL}|[aOr]?[wn]{{0,2}}T)(?!,?[yY&][iI]?[mc]?(?:[uW]|z(?!{_O}»)))"
"""What may follow "better": nothing that says in what respect only, nothing that turns it round."""

_WORDS = "[jsymwibnkrOTIM+]{0,40}"
_LEADS = {
    # What may stand between the beginning of a clause and the form: nothing that denies, supposes or doubts.
    "clause": f"°{_WORDS}V?",
    "subject": f"°{_WORDS}[vk]?(?<!w)(?<!wO)",
    "I": r"°(?:[^A-H.?\nzhfqpx]{0,40}j[jmitMva]{0,3}|r[A-H][^A-H.?\nzhfqpy]{1,25}j[jm]{0,2}|[symwM#\-]{0,40}(?<!w))",
    "conclusion": "°[symY]{0,8}",
    "symbol": "°[jsymkRviV]{0,8}",
    "sentence": r"\A(?:(?:r[wneT&]{0,10}|O[neT&]{0,8}),|r[A-H][iIVzM][^,.?\nhfqA-H]{0,12},)?(?:[Orsymwjn]{0,8}[smy])?[Orsym]?[:,]?|\A(?:[+VNnkmbjsS#TOMyw]{0,7}(?<=[+VNnkmbS]):|#N,?|(?:[km]{1,2}:)?[wVn+]{1,3},)",
    "it": r"(?:\A(?:z,|[jnsyI]{0,3})|[,:\-][sy]?)",
    "start": r"\A",
    "any": "",
    "comma": r"(?:[,\-A-H]&?[sy]|(?:(?<![A-H])|(?<=∨[A-H]))~|∨[A-H](?:\([^()]*\))?:)[,:]?",
    "correction": r"(?:\A|[~\-])(?:z,?|O?o)?j?c[,:jpwz]{0,4}",
    "denial": r"(?:\A|-)z[,\-:]",
    "anything": r"°[^A-H.?\nzehfqp]{0,40}",
    "conceded": r"\A[^A-H.?\nhfq]{0,40}",
}
_FORMS: tuple[tuple[str, float, int, str, str], ...] = (
    # rule, level, winner (0: the option named, -1: the other), what may stand before, the form with the option
    ("label", DECLARED, 0, "clause", r"(?:[kR](?:[wnjkrOTIgV]{1,8}[i:]|[i:=\-,>~v]{0,3}|O)|Vg|v[nk]?[i:=]{1,2}|m[nk]{0,4}[i:,\-|]{1,2})[mis:jn]{0,6}(?:(?<=i)O)?(@)(?:¶|ː)"),
    ("ranked", DECLARED, 0, "clause", r"R[nwi]{0,3}:?(@)(?:,&?|&|d|>)@»"),
    ("best", DECLARED, 0, "clause", r"(?:b[nkR]{0,4}[i:=]{0,2}|b[nkRIwTjO]{1,8}it?|n[nj]?[jOtwIvr]{0,4}[vMbg][wMbn]{0,2}i|\+[nkR]{1,4}[i:]{1,2})[mis:jn]{0,6}(?:(?<=i)O)?(@)(?:¶|ː)"),
    ("best", DECLARED, 0, "clause", r"b[nk]{1,2}i(?:[wIVp]?[OJ])(@)»"),
    ("verb", DECLARED, 0, "I", r"v[rOtksM]?(@)>?(?:¶|(?=:(?![^?\n]*@:)|&(?!n?@)))"),
    ("said", DECLARED, 0, "conclusion", r"jM?(@)(?:¶|(?=:(?![^?\n]*@:)))"),
    ("verb last", DECLARED, 0, "clause", "(@)n?a?[iw]?v(?=i?»|[,r])"),
    ("is the answer", DECLARED, 0, "subject", "(@)[iIV][jmbn]{0,4}[kv][nk]{0,4}§"),
    ("is better", COMPARED, 0, "subject", "(@)M?(?:ni|n{1,2})?S?(?:[iIRw]{0,2}[vO]?[mseP]?b(?:[b+nkmT]{0,8}(?:(?<=[knT])[nw]{1,6})?|w{1,2}n)i?§|bI[nT]{0,4}§|[IV]{1,2}[nTw]{0,4}b(?:[+bnkmTw]{0,5}(?<=[nk]))?§|i[nT]{1,2}b§|ij»)"),
    ("but it is better", COMPARED, 0, "conceded", r"(@)[^A-H.?\nfq]{1,40},?y[jsm]?(?:i?[sm]{0,2}b[nk]{0,3}§|g@?»)"),
    ("settles", DECLARED, 0, "anything", r"(?:τn?|[VR](?=@[aOr]{0,2}[kg]§))(@)(?:¶|[aOr]{0,2}[kg])"),
    ("makes it better", COMPARED, 0, "conclusion", "I(@)[bk][nk]{0,3}»"),
    ("and so it is", COMPARED, 0, "conclusion", r"(@)(?:[^A-H.?\nzhfqYy:ulρ]|t@){1,50},?(?:[s&]{1,2}(?:jv|i[jsm]{0,2}b[nk]{0,3}|g[nk]?)§|r(?:I?b[nkm]{1,3}|g)»)"),
    ("is worse", COMPARED, -1, "subject", "(@)(?:[iIV]{0,2}u[nk]{0,4}i?§|l»)"),
    ("rejected", BARE, -1, "I", r"ρ[nOtkia]{0,3}[:i]?(@)(?=»|[),\-sYyr(m]|&(?!n?@))"),
    ("more", COMPARED, 0, "I", r"(?:j[wvtO]{1,2}|[vIw])(@)[Mb]{1,2}(?:t@)?»"),
    ("the worse is", COMPARED, -1, "clause", "u(?:[nkR]{0,4}i|[nk]?:)(@)¶"),
    ("not as good", COMPARED, 0, "subject", "@i?zp?r?[+]r?(@)(?:¶|(?=:))"),
    ("not as good", COMPARED, 0, "subject", r"@[zl](@)\+»"),
    ("beats", COMPARED, 0, "subject", "(@)(?:i?n?gn?§|i?[gJ]t?@¶)"),
    ("outdoes", COMPARED, 0, "subject", "(@)(?:i?n?γ§|i?γt?@¶)"),
    ("rated better", COMPARED, 0, "I", "(?:j[wVv]?|[VvRS])(@)[aOr]{0,2}b[nk]{0,3}§"),
    ("rated better", COMPARED, 0, "I", "j[wVv]?(@)[aOr]{0,2}[kg]§"),
    ("is beaten", COMPARED, 0, "subject", "@(?:[wn]{0,3}i?l[avkt]?|[iIV]J[wrO]?)(@)(?:¶|:)"),
    ("better than", COMPARED, 0, "clause", "(@)(?:t@[iw]?[b+]|i?@PT?b)i?§"),
    ("better, postposed", COMPARED, 0, "clause", "@P(@)i?T?bi?§"),
    ("worse than", COMPARED, 0, "clause", "@t(@)[iw]?ui?§"),
    ("worse than, postposed", COMPARED, 0, "clause", "@i?(@)Pui?§"),
    ("worse, postposed", COMPARED, 0, "clause", "(@)P@i?ui?§"),
    ("above", DECLARED, 0, "symbol", r"(@)>{1,2}@(?=»|[,(r\-])"),
    ("below", DECLARED, 0, "symbol", r"@<{1,2}(@)(?=»|[,(r\-])"),
    ("is sharper", FOLLOWED, 0, "subject", r"(@)n?(?:[iI]{0,2}m?\+(?:[,&]{1,2}\+)*|bI[nTw]{1,3})(?:t@)?»"),
    ("it is", BARE, 0, "it", "i(@)¶"),
    ("it is", BARE, 0, "conclusion", "(@)i»"),
    ("alone", BARE, 0, "sentence", "(@)[,:]?d?»"),
    ("first", BARE, 0, "start", "(@)¶"),
    ("so", BARE, 0, "comma", "(@)¶"),
    ("so", BARE, 0, "any", r"(@)(?<![^.,\n?]@)s»"),
    ("so", BARE, 0, "start", "&?[sm]{1,2}:?(@)¶"),
    ("so", BARE, 0, "any", r"(?:^|(?<=[.\n?]))[^A-H.?\n:zhfqpuWρ]{0,40}[iIV][^A-H.?\n:zhfqpuWρ]{0,30}:(@)»"),
    ("so", BARE, 0, "any", r"y[^A-H.?\nzhfqpuWρ]{1,25}[:,](@)»"),
    ("so", BARE, 0, "any", r"r(?<![^.\n?]r)[^.?\n:]{1,80}(?:,|:(?!@[^?]{0,200}[yYzc]))(@)»"),
    ("rather", BARE, 0, "any", r"t(?<![^.\n?]t)(@)(?:t@)?»"),
    ("no", BARE, 0, "denial", "(@)(?:»|:)"),
    ("corrected", BARE, 0, "correction", "(@)»"),
    ("corrected", BARE, 0, "any", "c[^A-H.?\nzhfq]{1,40}[,:](@)»"),
    ("said of each", BARE, 0, "any", r"(@)(?<![^\n]@):b\Z"),
    ("said of each", BARE, 0, "any", r"(@)[:=\-(i]{1,2}[b+][nk]{0,2}\)?[,\n&yY]{1,2}@[:=\-(i]{0,2}(?:[uW]|z[b+])[nk]{0,2}\)?»"),
    ("said of each", COMPARED, 0, "any", r"(@)[^A-H.?\nzhfqulWρ]{0,12}[+T][^A-H.?\nzhfqulWρ]{0,12}[.,y&Y]{1,3}(?!\1)@[iI]?z»"),
    ("said of each", BARE, -1, "any", r"(@)[:=\-(i]{1,2}(?:[uW]|z[b+])[nk]{0,2}\)?[,\n&yY]{1,2}@[:=\-(i]{0,2}[b+][nk]{0,2}\)?»"),
    ("does a better job", COMPARED, 0, "subject", r"(@)[iIV]?β(?:t@)?(?:§|(?=O?[^A-H.?\nzu]{0,40}»))"),
    ("and so it loses", COMPARED, -1, "conclusion", r"(@)[^A-H.?\nzhfqYy:bgρ]{1,50},?[s&]{1,2}(?:i[jsm]{0,2}u[nk]{0,3}|l)§"),
    ("heading", 0.5, 0, "start", r"(@):(?=[^A-H.?\n#z][^A-H.?\n]*[.\n]*\Z)"),
)  # fmt: skip
_SHORT = {
    "°": r"(?:\A&?|(?<=[,:;(|\-ysYr])|(?<=[^A-H]&))",
    "ː": _EXPLAINED,
    "»": r"(?![^.?\n])",
    "@": _O,
    "¶": _END,
    "§": _AFTER,
}


def _compiled(pattern: str) -> re.Pattern[str]:
    for short in "@¶§ː°»":
        pattern = pattern.replace(short, _SHORT[short])
    return re.compile(pattern)


_RULES = tuple(
    (rule, level, winner, _compiled(rf"(?:{_LEADS[lead]})\Z"), _compiled(form), form[:3] == "(@)", form[-4:] == "(@)»")
    for rule, level, winner, lead, form in _FORMS
)
_AT_OPTION = _compiled(
    "@(?:" + "|".join(re.sub(r"\(@\)|\(\?!\\1\)@", "@", form[3:]) for *_, form in _FORMS if form[:3] == "(@)") + ")"
)
"""What some form that begins with an option matches: most options of a long reply begin none."""
_CLOSES = _compiled("@»")
_NEEDS = {
    "label": "kRVvm", "ranked": "R", "best": "b+vMg", "verb": "v", "said": "j", "makes it better": "bk", "rejected": "ρ", "more": "Mb",
    "the worse is": "u", "not as good": "zl", "rated better": "bkg", "is beaten": "lJ", "better, postposed": "P",
    "worse than": "t", "below": "<", "rather": "t", "corrected": "c", "settles": "τVR",
}  # fmt: skip
"""Codes of which one must be there for a rule to hold: most rules are not tried on most replies."""
_NAMES_OPTION = re.compile(_O)
_OTHER = {"A": "B", "B": "A"}
_REACH = 200
"""How far a sentence is followed, so that time grows with a reply's length and not with its square."""
_LAST_WORDS = ("heading", "is sharper")
"""Rules that hold where no option is named afterwards and nothing speaks for the other."""
_COMPARATIVE = ("er", "ее", "че")


def _concludes(scan: Scan, match: re.Match[str], option: str) -> bool:
    praised = re.compile(rf"{_OTHER[option]}(?:[^A-H.?\n]{{0,20}}[+bgM]|:(?!z))").search(scan.codes)
    return not praised and not _NAMES_OPTION.search(scan.codes, match.end())


def _compares(scan: Scan, match: re.Match[str]) -> bool:
    said = range(match.start(), match.end())
    return all(scan.token(at).lower().endswith(_COMPARATIVE) for at in said if scan.codes[at] == "+")


_SECOND = re.compile(r"(?:[A-H][,\n.]?#[.)]|[uWρ]:z\.)$")
"""The second of a list, or what follows "Loser: none."."""

_REST = re.compile(rf"[^.?\n]{{0,{_REACH}}}")


def claims(scan: Scan) -> Iterator[Claim]:
    """What a reply to a pairwise question states."""
    codes = scan.codes
    if not _NAMES_OPTION.search(codes):
        return
    found, there, closes = [], set(codes), _CLOSES.search(codes)
    begun = [match.start() for match in _NAMES_OPTION.finditer(codes) if _AT_OPTION.match(codes, match.start())]
    for rule, level, winner, lead, form, begins, ends in _RULES:
        if (rule in _NEEDS and there.isdisjoint(_NEEDS[rule])) or (ends and not closes):
            continue
        for match in _matches(form, codes, begun) if begins else form.finditer(codes):
            claim = _claim(codes, rule, level, winner, lead, match)
            if (
                claim
                and not (rule == "heading" and scan.led)
                and (rule not in _LAST_WORDS or _concludes(scan, match, str(claim.value)))
                and (rule != "is sharper" or _compares(scan, match))
            ):
                found.append(claim)
    if found:
        yield from _weighed(scan, found)
    elif said := clauses.preferred(scan):
        yield Claim(said, SAID, 0, len(codes), "clauses")


def _matches(form: re.Pattern[str], codes: str, places: Iterable[int]) -> Iterator[re.Match[str]]:
    """The matches that begin at one of these places, as ``finditer`` gives them."""
    end = 0
    for place in places:
        if place >= end and (match := form.match(codes, place)):
            end = match.end()
            yield match


def _claim(
    codes: str, rule: str, level: float, winner: int, lead: re.Pattern[str], match: re.Match[str]
) -> Claim | None:
    """What a match says, unless what stands before it denies it, or its sentence asks, supposes or gives an example."""
    start, end = match.span()
    before = sentence_before(codes, start)
    found = lead.search(before, max(0, len(before) - 45))
    option = match[match.lastindex or 1] if winner == 0 else _OTHER.get(match[1], "")
    if found is None or option not in _OTHER:
        return None
    after = _REST.match(codes, end)[0]  # type: ignore[index]
    stop = end + len(after)
    if codes[stop : stop + 1] == "?" or "q" in before or "q" in after:
        return None
    asked = start - len(before)
    plainly = rule in _ANSWERS and not before.strip("jsmyi")
    blamed = plainly and _BLAMING.search(codes, max(0, asked - _REACH), asked)
    if blamed or (rule == "first" and _NAMES_OPTION.search(codes, 0, start)):
        return None
    if rule in ("alone", "first") and _SECOND.search(codes, 0, start):
        return None
    supposed = after.find("f")
    counted = before.rpartition(",y")[2] if rule == "so" else before  # if sharpness counted, A, but …, so B
    if "f" in counted or "f" in match[0] or (supposed >= 0 and (level < BARE or "," not in after[:supposed])):
        return None
    if (level < BARE or rule in ("verb", "is the answer")) and _ASPECT.search(before[: found.end()]):
        return None
    if (_PARTIAL.match(before) and ":" in before + match[0]) or (winner and _BOTH.search(before)):
        return None
    if level < BARE and (_WITHOUT.match(before) or (after[:1] != ":" and _RESTRICTED.search(after))):
        return None
    if "Y" in (before[found.start() :][:1], match[0][:1]):
        return None
    start -= len(before) - found.start()
    return Claim(option, level + _weight(before, found.start(), before + match[0]), start, end, rule)


_ASPECT = re.compile(r"(?:^|[,&(:])[sym]{0,2}O(?![^A-H,]{0,9}[m&])[^A-H,]{0,8}[wWT+Sgo][^A-H,]{0,8},[mj]{0,3}$")
"""In terms of sharpness, …"""
_BLAMING = re.compile(r"[uWlρzL][^.?\n]*\?$")
"""Which has more errors?"""
_ANSWERS = ("alone", "first", "said", "it is")
_PARTIAL = re.compile("[#.)\\-]*[bkg][nk]?O(?![^:]*[mT])")
"""Best on edges: …"""
_WITHOUT = re.compile("[ys]?z[^A-H,]{1,12},$")
"""Without the blur, …"""
_BOTH = re.compile(r"[A-H][iIV]{0,2}[ul][,&]{1,2}n?\Z")
"""A fails and B … too."""
_RESTRICTED = re.compile(
    r"y[^.?\n]{0,80}(?:[zWuL]|[A-H](?!i\+))|Y[^.?\n]{0,80}[A-H][^.?\nzulW]{0,12}(?:[bMgkv]|(?<!i)\+)|(?<![A-H]i)z\Z|,n?[A-H][rO]"
)
"""… but it fails to, … while B"""
_OUTDOES = re.compile(rf"({_O})n?γ")
_SHARPER = re.compile(rf"(?<!Y)({_O})n?[iI]{{1,2}}m?([+b])")


_LISTING = re.compile(r"#[.)][AB](?![.])[^\n]{0,80}\n#[.)][AB]|A[.:)][wn+&]{1,12}[.,|\n]{0,2}B[.:)](?=[wn+])")
"""Options spelled out: "A. cat B. dog"."""
_HEAD = re.compile(r"(?:^|(?<=[.\n]))n?([AB])[:\-)](?=[^.?\nA-H]{1,60}(?:[.\n]|$))")
_LINE = re.compile(r"(?:^|(?<=\n))[kn]?([AB]):?\n(?=[^.?\n]*[^.?\nA-H])")


def _without_headings(scan: Scan, claims: list[Claim]) -> list[Claim]:
    """Without an option that only heads a part of the reply, where the other heads one as well, or heads a listing."""
    lines = list(_LINE.finditer(scan.codes))
    heads = {match.start(1) for match in lines} if {match[1] for match in lines} == {"A", "B"} else set()
    each = len({match[1] for match in _HEAD.finditer(scan.codes)}) > 1
    spelt = [match.span() for match in _LISTING.finditer(scan.codes)]
    return [
        claim
        for claim in claims
        if heads.isdisjoint(range(claim.start, claim.end))
        and not (each and claim.rule == "first")
        and (claim.level >= DECLARED or not any(start < claim.end <= end for start, end in spelt))
    ]


def _without_parts(scan: Scan, claims: list[Claim]) -> list[Claim]:
    """Without the results on single criteria ("Advantage: A", "Advantage: B"), where the last line declares the whole."""
    said: dict[str, set[str | float]] = {}
    words = []
    for claim in claims:
        found = re.compile("[kbvg]").search(scan.codes, claim.start, claim.end) if claim.level >= BARE else None
        words.append(scan.token(found.start()).lower() if found else "")
        said.setdefault(words[-1], set()).add(claim.value)
    last = max(range(len(claims)), key=lambda n: claims[n].start, default=0)
    torn = {word for word, values in said.items() if word and len(values) > 1}
    if not torn or not words[last] or words[last] in torn or "\n" in scan.codes[claims[last].end :].rstrip("\n."):
        return claims
    return [claim for claim, word in zip(claims, words, strict=True) if word not in torn]


_PART = re.compile(r"(?:^|(?<=[.\n,]))[w+WO]{1,2}:(?=[A-H])")
"""Sharpness: B is better."""


def _weighed(scan: Scan, claims: list[Claim]) -> list[Claim]:
    """Without comparisons in one respect ("B is more natural") where another option leads in another ("A is sharper")."""
    claims = _without_parts(scan, _without_headings(scan, claims))
    parts = {match.end() for match in _PART.finditer(scan.codes)}
    if len(parts) > 1:
        claims = [claim for claim in claims if claim.start not in parts]
    if len(set(_OUTDOES.findall(scan.codes))) > 1:  # each in one respect
        claims = [claim for claim in claims if claim.rule != "outdoes"]
    leads = {m[1] for m in _SHARPER.finditer(scan.codes) if scan.token(m.start(2)).lower().endswith("er")}
    if not leads:
        return claims
    single = [claim for claim in claims if claim.level == COMPARED and not _is_overall(scan, claim)]
    torn = len({claim.value for claim in single}) > 1
    return [claim for claim in claims if claim not in single or not (torn or leads - {claim.value})]


def _is_overall(scan: Scan, claim: Claim) -> bool:
    at = scan.codes.find("b", claim.start, claim.end)
    return at < 0 or code_of(scan.token(at)) == "b"


def sentence_before(codes: str, start: int) -> str:
    """The codes of the sentence that stand before ``start``; a mark at their head where the sentence is too long."""
    reach = max(0, start - _REACH)
    begin = max(codes.rfind(mark, reach, start) for mark in ".?\n") + 1
    return codes[begin:start] if begin or not reach else "…" + codes[reach:start]


_HEADED = re.compile("[km][kmn]{0,3}:$")


def _weight(before: str, start: int, said: str) -> float:
    """What the words around a claim add to it."""
    lead = said[max(0, start - 2) :]
    weight = CONCLUDING if "s" in lead or "y" in lead else -CONCLUDING if before[:start][-1:] == "Y" else 0.0
    if _HEADED.search(before[:start]):
        return weight + DECLARED - COMPARED
    return weight + (FINAL - DECLARED if "m" in lead else 0.0)


_TIE = re.compile(r"e(?![^?]*y[^?]*[A-HMbu+])|nA[=~]B|A=B")


def cause(codes: str) -> str:
    """Why a reply without a claim names no option."""
    if _TIE.search(codes):
        return "tie"
    if "h" in codes and _NAMES_OPTION.search(codes):
        return "hedge"
    return "several answers" if _SEVERAL.search(codes) else "no answer"


_SEVERAL = re.compile(rf"{_O}(?:[,|∨&]|h){_O}|X|Z")
