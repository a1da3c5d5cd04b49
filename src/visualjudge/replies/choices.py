"""Which of two options a reply names: the clauses that name one, by how surely they do.

Codes are those of ``lexicon.txt``. A clause is read only where every word of it is understood: what is unknown, denied,
supposed or only possible is not a choice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from visualjudge.replies.lexer import GONE, Scan, code_of, steps


@dataclass(frozen=True, slots=True)
class Claim:
    """A value that a reply states: ``level`` says how surely, ``start`` and ``end`` are places in the codes."""

    value: str | float
    level: float
    start: int
    end: int
    rule: str


FINAL, DECLARED, BARE, COMPARED, FOLLOWED = 3.0, 2.0, 1.8, 1.0, 0.8
CONCLUDING = 0.5
"""What "so" and "but" before a claim add, and "although" takes away."""


def _numbered(scan: Scan, match: re.Match[str]) -> str:
    token = scan.token(match.end() - 1)
    if match[0][0] in "wk" and scan.token(match.start()).lower() not in ("number", "answer"):
        return match[0]
    return GONE + "ABCDEFGH"[int(token) - 1] if token.isdigit() and 0 < int(token) <= scan.n_options else "ww"


def _ordinal(scan: Scan, match: re.Match[str]) -> str:
    place = ORDINALS.get(scan.token(match.start()).lower()) if scan.kind == "pairwise" else None
    if match[0][-1] == "k" and not scan.token(match.end() - 1).lower().startswith(("r", "结")):
        return match[0]  # my first choice; but: the first result
    return ("A" if place == 1 else "B").ljust(len(match[0]), GONE) if place in (1, 2) else match[0]


def _ranked(scan: Scan, match: re.Match[str]) -> str:
    place = ORDINALS.get(scan.token(match.start()).lower()) if scan.kind == "pairwise" else None
    return "b" if place == 1 else "u" if place == 2 else "o"


def _both_names(scan: Scan, match: re.Match[str]) -> str:
    same = ORDINALS.get(scan.token(match.start()).lower()) == "AB".index(match[1]) + 1
    return match[1].ljust(len(match[0]), GONE) if same else match[0]


def _may_follow_article(word: str) -> bool:
    return word[0] < "\u0250" and word not in ("daha", "tốt", "lebih", "jest")


def _rival(scan: Scan, match: re.Match[str]) -> str:
    spoken = "z" in match[0][len(match[1]) + 1 :] and scan.token(match.start(3) - 1).lower() in (
        "no",
        "❌",
        "✗",
        "✘",
        "✖",
        "👎",
    )
    return match[0] if spoken else (match[1] + match[2]).ljust(len(match[0]), GONE)


def _owned(scan: Scan, match: re.Match[str]) -> str:
    return scan.token(match.start())[0].ljust(len(match[0]), GONE)


def _compared(scan: Scan, match: re.Match[str]) -> str:
    said = match[0]
    worse = said[1] in "+b" if said[0] == "L" else said[-1] == "u"
    return ("u" if worse else "b").rjust(len(said), GONE)


_SAME_FORM = steps(
    # Bring the many ways to name an option into one: ``Option A``, ``(a)``, ``image 1``, "the first option" are A.
    ("!", "S'n?([A-H])i!", lambda scan, match: f"{match[1]}ib".ljust(len(match[0]), GONE)),
    ("S'", "S'(?=n?[A-H])", ""),
    ("'", "'", ""),
    ('"', ',?"', ""),
    (">", ">{2,3}", ">"),
    (">", "[-=]{1,2}>", "~"),
    ("c", "(?<=[A-HijI])c", ""),  # is actually
    ("", r"(?:^|(?<=\n))[-.>]+", ""),  # a bullet
    ("o", r"on?\(([AB])\)", _both_names),
    ("", r"\(([A-Hx])\)|(?<![A-H])<([A-Hx])>", lambda scan, match: GONE + match[0][1] + GONE),
    ("a", "(?<![A-H#ubx])a|a(?![A-H#ubx])", ""),
    ("x", r"(?:^|(?<=[:i(\n.=>|∨&,kRvn]))x(?=$|[\n.,)&|∨>:=])", lambda scan, match: scan.token(match.start()).upper()),
    ("x", "x", lambda scan, match: GONE if scan.token(match.start()) == "a" else "w"),
    ("1", r"1(?:[nk]|w?n|v(?=[.,\n]|$)|(?=[.,\nig]|$))", _owned),  # B's result
    ("1", "1(?=O)", _owned),
    ("1", "1", "w"),
    (
        "A",  # an article at the head of a sentence
        r"(?:^|(?<=[.:?\n(\->|]))A(?=[wnkuoMLRSmW+Tx]|b(?![I.]|$))",
        lambda scan, match: GONE if _may_follow_article(scan.token(match.end())) else "A",
    ),
    ("#", r"(?<![A-Hi])n#|(?:^|(?<=[.,\nn]))w#(?=i)|k#(?=i)", _numbered),
    ("N", "#N", ""),  # 90 % sure
    (",", ",(?=[.\n]|$)", ""),
    ("o", r"o[nk]|(?:^|(?<=[vi:tr]))o(?=$|[.\n])|(?:^|(?<=[.,\n]))o(?=i)", _ordinal),
    ("+k", r"\+(?=k)", lambda scan, match: "b" if scan.token(match.start()).lower() in ("correct", "right") else "+"),
    ("n", "n+(?=[A-H])", ""),
    ("o", "(?<=R[A-H])o|(?<=[A-H]R)o", _ranked),
    ("K", "(?<=[A-H])K(?=[A-H])", lambda scan, match: ">" if scan.token(match.start()).lower() == "above" else "K"),
    (
        "+",
        r"(?<=[A-H]i)\+(?=[.\n&,]|$)",
        lambda scan, match: "b" if scan.token(match.start()).lower() in ("correct", "right") else "+",
    ),
    ("!", "(?<=[jO])[RVSv][A-H]!(?:t[A-H])?", lambda scan, match: f"v{match[0][1]}".ljust(len(match[0]), GONE)),
    ("!", "!", "w"),
    ("f", "f(?:[jfhw]{0,4}vn?,?(?![A-H])|[jfh]{0,3}[:,])", ""),  # if I had to choose
    ("", "M+[bu]|[My][+T]|L[+bu]|(?<!I)LW|LW(?=t)", _compared),  # more accurate, less wrong
    ("b", r"(?<=i)\+[&,]{1,2}b(?=t)|b(?:[&,]{1,2}[b+]){1,4}", "b"),
    ("z", r"z[A-H][,\-]?[yi]?(?=[A-H])", ""),  # not A but B
    ("", r"(^|[^ez&|∨])([A-H])[,(]?M?[zta]{1,2}([A-H])\)?(?=$|[.,\n)rOsyY])", _rival),  # A over B
    ("", r"(?<=[A-H])\([^()A-H\n]{1,30}\)(?=[iIgul<>])|(?<=[A-H]i),[Omskwy]{0,3},", ""),  # an aside
    ("", r"([A-H])(?:,\1(?=[,.\n]|$)|\(\1\))", lambda scan, match: match[1].ljust(len(match[0]), GONE)),
    ("\n", r"(?<=:)\n|(?<=[kR])\n(?=[A-HZ\-])", ""),  # a heading and what stands under it
)


def prepare(scan: Scan) -> None:
    """Simplify the codes, so that few forms read them."""
    scan.rewrite(_SAME_FORM)


ORDINALS = {
    word: place
    for place, words in enumerate(
        (
            "former first 1st 🥇 gold 第一 第一名 第1名 第1 erste ersten première premier primera primero prima primo primeira primeiro первое первый первую",
            "latter 🥈 silver runner-up runners-up 次之 second 2nd 第二 第二名 第2名 第2 zweite zweiten deuxième segunda segundo seconda secondo второе второй вторую",
            "third 🥉 bronze 3rd 第三 第三名 第3名 第3 dritte troisième tercera tercero terza terzo terceira третье третий",
            "fourth 4th 第四 第四名 第4名 第4",
            "fifth 5th 第五 第五名 第5名 第5",
        ),
        1,
    )
    for word in words.split()
}


_O = "[A-H]"
_END = rf"(?=»|[)rsyYm]|O(?:w?m|[nT]|»)|[ibM]»|N#?»|,(?!{_O}(?:»|[,|∨&)])|[&yd]?{_O}»|[|∨hzc]|[rY][^,.?\n]{{1,60}},[iIVzly])|[-(](?![A-H]?[|∨&=hz<>c~])(?!-?[zc])(?!{_O}\)?»)(?![^()A-H]{{0,20}}\)[|∨&,]{{1,2}}{_O})(?![^()]{{0,40}}\)[^.,\n\-r:]))"
"""What may follow an option that is declared: an end, a reason, a comma that begins no list."""
_OVERALL = r"O(?:[mnTe]|[^A-H.,&\n?zhfqyY]{1,9}[,&]{1,2}(?!n?[A-H1])[wWTSM+bmnzN]|[wS+]{0,3}m)"
"""In every respect, in two respects or more."""
_AFTER = rf"(?=»|[),\-&sYyr(:m\"]|[ta]?{_O}»|[ta]{_O}(?:(?!O)|(?={_OVERALL}))|{_OVERALL}|[aO]?[wn]{{0,2}}T)(?!,?[yY&][iI]?[mc]?(?:[uW]|z(?!{_O}»)))"
"""What may follow "better": nothing that says in what respect only, nothing that turns it round."""

_WORDS = "[jsymwibnkrOTIM+]{0,40}"
_LEADS = {
    # What may stand between the beginning of a clause and the form: nothing that denies, supposes or doubts.
    "clause": f"°{_WORDS}V?",
    "subject": f"°{_WORDS}[vk]?(?<!w)",
    "I": r"°(?:[^A-H.?\nzhfqpx]{0,40}j[jmitM]{0,2}|[symwM]{0,40}(?<!w))",
    "conclusion": "°[symY]{0,8}",
    "symbol": "°[jsymkRviV]{0,8}",
    "sentence": r"\A(?:[rO][wneT&]{0,10},|r[A-H][iIVzM][^,.?\nhfqA-H]{0,12},)?(?:[Orsymwjn]{0,8}[smy])?[Orsym]?[:,]?|\A(?:[+VNnkmbjsS#TOMyw]{0,7}(?<=[+VNnkmbS]):|#N,?)",
    "it": r"(?:\A[jnsyI]{0,3}|[,:\-]s)",
    "start": r"\A",
    "any": "",
    "comma": r"(?:[,\-][sy]|(?:(?<![A-H])|(?<=∨[A-H]))~|∨[A-H](?:\([^()]*\))?:)[,:]?",
    "correction": r"\A(?:z,?|O?o)?c[,:j]{0,2}",
    "denial": r"\Az[,\-:]",
}
_FORMS: tuple[tuple[str, float, int, str, str], ...] = (
    # rule, level, winner (0: the option named, -1: the other), what may stand before, the form with the option
    ("label", DECLARED, 0, "clause", r"(?:[kR](?:[wnjkrOTIg]{1,8}[i:]|[i:=\-,>~v]{0,3}|O)|Vg|v[nk]?[i:=]{1,2}|m[nk]{0,4}[i:,\-]{1,2})[mis:jn]{0,6}(?:(?<=i)O)?(@)¶"),
    ("ranked", DECLARED, 0, "clause", r"R[nwi]{0,3}:?(@)(?:,&?|&|d|>)@»"),
    ("best", DECLARED, 0, "clause", r"(?:b[nkR]{0,4}[i:=]{0,2}|b[nkRIwTjO]{1,8}it?|\+[nkR]{1,4}[i:]{1,2})[mis:jn]{0,6}(?:(?<=i)O)?(@)¶"),
    ("best", DECLARED, 0, "clause", r"b[nk]{0,2}(@)(?=:[^.?\nA-H#]{0,120}»)"),
    ("verb", DECLARED, 0, "I", r"v[rOtk]?(@)(?:¶|(?=:(?![^.?\n]*@:)|&(?!n?@)))"),
    ("said", DECLARED, 0, "conclusion", "jM?(@)¶"),
    ("verb last", DECLARED, 0, "clause", "(@)a?[iw]?v(?=»|[,r])"),
    ("is the answer", DECLARED, 0, "subject", "(@)[iIV][jmbn]{0,4}[kv][nk]{0,4}§"),
    ("and I choose it", COMPARED, 0, "subject", "(@)[wImbn+TtiWLMSO']{1,24},?[&s]{1,2}jv(?=»|r)"),
    ("is better", COMPARED, 0, "subject", "(@)n?S?(?:[iIR]{0,2}[vO]?[mseP]?b[b+nkmT]{0,8}(?:(?<=[knT])[nw]{1,6})?i?§|bI|[IV]{1,2}[nTw]{0,4}b(?:[+bnkmTw]{0,5}(?<=[nk]))?§|i[nT]{1,2}b§|ij»)"),
    ("and is better", COMPARED, 0, "conclusion", "(@)[wImbn+LWT]{1,12}&is?m?b[nk]{0,3}§"),
    ("makes it better", COMPARED, 0, "conclusion", "I(@)[bk][nk]{0,3}»"),
    ("making it better", COMPARED, 0, "conclusion", "(@)[^A-H.?\nzhfqY:]{1,50},?rI?b[nkm]{1,3}»"),
    ("follows", FOLLOWED, 0, "subject", r"(@)(?:,[^,.A-H]{1,30},)?[mwI]{0,3}IwT[^A-H\n?:]{0,60}[.,Yy&]{1,2}n?(?!\1)@(?:,[^,.A-H]{1,30},)?[miI]{0,2}[zl]I?(?:wT|»)".replace("wT", "[wn]{0,2}T")),
    ("follows", FOLLOWED, -1, "subject", r"(@)(?:,[^,.A-H]{1,30},)?[miI]{0,2}[zl]IwT[^A-H\n?:]{0,60}[.,Yy&]{1,2}n?(?!\1)@(?:,[^,.A-H]{1,30},)?[mwI]{0,3}I(?:wT|»)".replace("wT", "[wn]{0,2}T")),
    ("is worse", COMPARED, -1, "subject", "(@)(?:[iIV]{0,2}u[nk]{0,4}i?§|l»)"),
    ("rejected", BARE, -1, "I", r"ρ[nOtkia]{0,3}[:i]?(@)(?=»|[),\-sYyr(m]|&(?!n?@))"),
    ("rejected", BARE, -1, "subject", r"(@)[iI]{1,2}ρ§"),
    ("more", COMPARED, 0, "I", r"(?:j[wvtO]{1,2}|[vIw])(@)[Mb]{1,2}»"),
    ("the worse is", COMPARED, -1, "clause", "u(?:[nkR]{0,4}i|[nk]?:)(@)¶"),
    ("not as good", COMPARED, 0, "subject", "@i?zr?[+]r?(@)(?:¶|(?=:))"),
    ("beats", COMPARED, 0, "subject", "(@)(?:gn?§|[gJ]@¶)"),
    ("rated better", COMPARED, 0, "I", "[jVvR](@)[aOr]{0,2}b[nk]{0,3}§"),
    ("rated better", COMPARED, 0, "I", "j[wVv]?(@)[aOr]{0,2}k§"),
    ("rated worse", COMPARED, -1, "I", "[jVvR](@)[aOr]{0,2}u[nk]{0,3}§"),
    ("is beaten", COMPARED, 0, "conclusion", "l(@)»"),
    ("is beaten", COMPARED, 0, "subject", "@(?:i?l[avk]?|iJ[wrO]?)(@)¶"),
    ("better than", COMPARED, 0, "clause", "(@)(?:t@[iw]?[b+]|i@Pb)i?§"),
    ("better, postposed", COMPARED, 0, "clause", "@P(@)i?bi?§"),
    ("worse than", COMPARED, 0, "clause", "@t(@)[iw]?ui?§"),
    ("worse, postposed", COMPARED, 0, "clause", "(@)P@i?ui?§"),
    ("above", DECLARED, 0, "symbol", r"(@)>@(?=»|[,(r\-])"),
    ("below", DECLARED, 0, "symbol", r"@<(@)(?=»|[,(r\-])"),
    ("it is", BARE, 0, "it", "i(@)¶"),
    ("it is", BARE, 0, "conclusion", "(@)i»"),
    ("alone", BARE, 0, "sentence", "(@)[,:]?»"),
    ("first", BARE, 0, "start", "(@)¶"),
    ("so", BARE, 0, "comma", "(@)¶"),
    ("so", BARE, 0, "start", "[sm]{1,2}(@)¶"),
    ("so", BARE, 0, "any", r"y[^A-H.?\nzhfqpuWρ]{1,25}:(@)»"),
    ("so", BARE, 0, "any", r"(?:^|(?<=[.\n?]))r[^.?\n:]{1,80},(@)»"),
    ("rather", BARE, 0, "any", r"(?:^|(?<=[.\n?]))t(@)(?:t@)?»"),
    ("no", BARE, 0, "denial", "(@)»"),
    ("corrected", BARE, 0, "correction", "(@)»"),
    ("said of each", BARE, 0, "any", r"(?:^|(?<=\n))(@):b(?=\n@:u|\Z)"),
    ("heading", 0.5, 0, "start", "(@):(?=[^A-H.?\n#z][^A-H.?\n]*»)"),
)  # fmt: skip
_SHORT = {"°": r"(?:\A|(?<=[,:;(\-ysYr])|(?<=[^A-H]&))", "»": r"(?![^.?\n])", "@": _O, "¶": _END, "§": _AFTER}


def _compiled(pattern: str) -> re.Pattern[str]:
    for short in "@¶§°»":
        pattern = pattern.replace(short, _SHORT[short])
    return re.compile(pattern)


_RULES = tuple(
    (rule, level, winner, _compiled(rf"(?:{_LEADS[lead]})\Z"), _compiled(form))
    for rule, level, winner, lead, form in _FORMS
)
_NEEDS = {
    "ranked": "R", "best": "b+", "verb": "v", "said": "j", "verb last": "v", "is the answer": "kv", "and I choose it": "v",
    "is better": "bj", "and is better": "b", "makes it better": "bk", "making it better": "r", "is worse": "ul",
    "rejected": "ρ", "more": "Mb", "the worse is": "u", "not as good": "z", "beats": "gJ", "rated better": "bk",
    "rated worse": "u", "is beaten": "lJ", "better than": "tP", "better, postposed": "P", "worse than": "t",
    "worse, postposed": "P", "above": ">", "below": "<", "follows": "zl", "rather": "t", "no": "z", "corrected": "zco",
    "said of each": "b",
}  # fmt: skip
"""Codes of which one must be there for a rule to hold: most rules are not tried on most replies."""
_NAMES_OPTION = re.compile(_O)
_OTHER = {"A": "B", "B": "A"}
_REACH = 200
"""How far a sentence is followed, so that time grows with a reply's length and not with its square."""
_SECOND = re.compile(r"(?:[A-H][,\n.]?#[.)]|[uWρ]:z\.)$")
"""The second of a list, or what follows "Loser: none."."""
_AT_LINE = ("corrected",)
_REST = re.compile(rf"[^.?\n]{{0,{_REACH}}}")


def claims(scan: Scan) -> Iterator[Claim]:
    """What a reply to a pairwise question states."""
    codes = scan.codes
    if not _NAMES_OPTION.search(codes):
        return
    found, there = [], set(codes)
    for rule, level, winner, lead, form in _RULES:
        if rule in _NEEDS and there.isdisjoint(_NEEDS[rule]):
            continue
        for match in form.finditer(codes):
            claim = _claim(codes, rule, level, winner, lead, match)
            if claim and not (rule == "heading" and scan.led):
                found.append(claim)
    yield from _weighed(scan, found)


def _claim(
    codes: str, rule: str, level: float, winner: int, lead: re.Pattern[str], match: re.Match[str]
) -> Claim | None:
    """What a match says, unless what stands before it denies it, or its sentence asks, supposes or gives an example."""
    start, end = match.span()
    before = sentence_before(codes, start)
    found = lead.search(before, max(0, len(before) - 45))
    option = match[1] if winner == 0 else _OTHER.get(match[1], "")
    if found is None or option not in _OTHER:
        return None
    after = _REST.match(codes, end)[0]  # type: ignore[index]
    stop = end + len(after)
    if codes[stop : stop + 1] == "?" or "q" in before or "q" in after:
        return None
    new_line = codes[start - len(before) - 1 : start - len(before)] in ("", "\n")
    if (rule in _AT_LINE and not new_line) or (rule == "first" and start):
        return None
    if rule == "alone" and _SECOND.search(codes, 0, start):
        return None
    supposed = after.find("f")
    if "f" in before or "f" in match[0] or (supposed >= 0 and (level < BARE or "," not in after[:supposed])):
        return None
    if (level < BARE or rule in ("verb", "is the answer")) and _ASPECT.search(before[: found.end()]):
        return None
    if level < BARE and (_WITHOUT.match(before) or _RESTRICTED.search(after)):
        return None
    if before[found.start() :][:1] == "Y" or (match[0][:1] == "Y"):
        return None
    start -= len(before) - found.start()
    return Claim(option, level + _weight(before, found.start(), before + match[0]), start, end, rule)


_ASPECT = re.compile(r"(?:^|[,&(:])[sym]{0,2}O[^A-H,]{0,8}[wWT+Sgo][^A-H,]{0,8},[smj]{0,3}$")
"""In terms of sharpness, …"""
_WITHOUT = re.compile("[ys]?z[^A-H,]{1,12},$")
"""Without the blur, …"""
_RESTRICTED = re.compile(r"y[^.?\n]{0,80}(?:[zWuL]|[A-H](?!i\+))|Y[^.?\n]{0,80}[A-H](?!i\+)|(?<![A-H]i)z\Z")
"""… but it fails to, … while B"""
_SHARPER = re.compile(rf"(?<!Y)({_O})n?[iI]{{1,2}}m?([+b])")


_LISTING = re.compile(r"#[.)][AB](?![.])[^\n]{0,80}\n#[.)][AB]|A[.:)][wn+&]{1,12}[.,|\n]{0,2}B[.:)](?=[wn+])")
"""Options spelled out: "A. cat B. dog"."""
_LINE = re.compile(r"(?:^|(?<=\n))[kn]?([AB]):?\n(?=[^.?\n]*[^.?\nA-H])")


def _without_headings(scan: Scan, claims: list[Claim]) -> list[Claim]:
    """Without an option that only heads a part of the reply, where the other heads one as well, or heads a listing."""
    lines = list(_LINE.finditer(scan.codes))
    heads = {match.start(1) for match in lines} if {match[1] for match in lines} == {"A", "B"} else set()
    spelt = [match.span() for match in _LISTING.finditer(scan.codes)]
    return [
        claim
        for claim in claims
        if heads.isdisjoint(range(claim.start, claim.end))
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


def _weighed(scan: Scan, claims: list[Claim]) -> list[Claim]:
    """Without comparisons in one respect ("B is more natural") where another option leads in another ("A is sharper")."""
    claims = _without_parts(scan, _without_headings(scan, claims))
    leads = {m[1] for m in _SHARPER.finditer(scan.codes) if scan.token(m.start(2)).lower().endswith("er")}
    if not leads:
        return claims
    return [
        claim for claim in claims if claim.level != COMPARED or not (leads - {claim.value}) or _is_overall(scan, claim)
    ]


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
    weight = CONCLUDING if "s" in lead or "y" in lead else 0.0
    if _HEADED.search(before[:start]):
        return weight + DECLARED - COMPARED
    return weight + (FINAL - DECLARED if "m" in lead else 0.0)


_TIE = re.compile(r"e|nA[=~]B|A=B")


def cause(codes: str) -> str:
    """Why a reply without a claim names no option."""
    if _TIE.search(codes):
        return "tie"
    if "h" in codes and _NAMES_OPTION.search(codes):
        return "hedge"
    return "several answers" if _SEVERAL.search(codes) else "no answer"


_SEVERAL = re.compile(rf"{_O}(?:[,|∨&]|h){_O}|X|Z")
