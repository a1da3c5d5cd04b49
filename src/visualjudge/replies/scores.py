"""Which score from 0 to 10 a reply gives."""

from __future__ import annotations

import re
from collections.abc import Iterator

from visualjudge.replies.choices import BARE, CONCLUDING, DECLARED, FINAL, Claim
from visualjudge.replies.lexer import GONE, Scan, sentences, steps

HIGHEST = 10.0

WORDS: dict[str, int] = {
    word: value
    for words in (
        "zero one two three four five six seven eight nine ten",
        "cero - dos tres cuatro cinco seis siete ocho nueve diez",
        "zéro - deux trois quatre cinq six sept huit neuf dix",
        "- - zwei drei vier fünf sechs sieben acht neun zehn",
        "- - - - - - sei sette otto nove dieci",
        "零 - 两 三 四 五 六 七 八 九 -",
        "ноль - два три четыре пять шесть семь восемь девять десять",
        "- - - - - - - - - - десяти",
        "- - dois três - - seis sete oito nove dez",
    )
    for value, word in enumerate(words.split())
}

_HEAD = re.compile(r"(?:^|(?<=\n))[^\nA-Zijgv]?#[.)](?=[^\n])|(?<=\n)#[.)]$")
_ASPECT = re.compile(r"(?:z|O|rb)[^,#]{0,12}[wWTbg][^,#]{0,20},(?!y)")
"""Sentences on one aspect or on what might be: "for localization, …", "without the blur, …"."""

_START = r"(?:^|(?<=[,;(\-sy&])|(?<=~)(?=[mSs]|#U?['|])|(?<![#U]~)(?<=~))"
_NUM = r"…?(?P<n>#)(?P<half>½?)(?:U?['|](?P<of>#))?U?"
_END = r"(?=$|[.)sYym]|=[^#A-H]|:(?!z|#(?!'#))|,(?!z?:?#(?![wi])|[|∨h]|K(?!$))|[-](?!#)|r(?!b)|[Vjd]$|\((?!['p|∨hz]|#(?!i|N[^)])|[^)]{0,30}p)|[Oa](?:[nmj]|$)|'m|i[jm]?[S+]|[ti|S~]$|~(?![^.]*#)|i[rV]$|SV$|\|N|(?<=['|]#)[-(])"
_SURE = r"[jmskbnM+Ki]{0,8}"
_FORMS: tuple[tuple[str, float, str], ...] = (
    ("label", DECLARED, rf"{_START}r?{_SURE}(?:n{{1,2}}[iI])?(?:(?:c:?)?[SkU][Skn]*(?:[nkjOVm'aTr]{{0,6}}(?:[:i=]{{1,2}}|\|)\(?|[\-~Oar]|,?)|m[nk]*[:i,\-|]{{0,2}}|[Vc]:)[mjiksS:']{{0,4}}{_NUM}{_END}"),
    ("verb", DECLARED, rf"{_START}(?!aV|(?<!.)wV)[jmsnkwOrvSM%i+b'a]{{0,20}}V[nhSVwOjrm'Tb+aie:k]{{0,10}}(?<!w'){_NUM}{_END}"),
    ("said", DECLARED, rf"{_START}[sym]{{0,3}}(?:j[mnjiO]{{0,3}}(?:v[rOa]{{0,2}})?|v[rOa]{{0,2}}){_NUM}{_END}"),
    ("sum", BARE, rf"^(?!w{{1,3}}[:=])(?=.{{0,60}}[\^K\-])[^zhfq]{{0,80}}#[^zhfq=]{{0,20}}[=V]{_NUM}{_END}"),
    ("after all", BARE, rf"^[^zhfqK:]{{1,30}}(?:\(|[iK][^:zhfq]{{0,12}}:|[iIg+][^:zhfq(]{{0,12}}-){_NUM}{_END}"),
    ("after all", BARE, rf"^(?=[^:]*(?:[yzlIij][^:]|[+uW][^:]*,|,[^:]*[+uW]))[^:hfqSV]*:{_NUM}$"),
    ("after all", BARE, rf"y[^:zhfq#]{{1,60}}:m?{_NUM}m?$"),
    ("fair", BARE, rf"{_START}{_NUM}(?=i[jm]?\+$)"),
    ("noun", BARE, rf"^(?P<noun>n):{_NUM}{_END}"),
    ("is", BARE, rf"{_START}[sjmna]{{0,6}}i[jm+baKvO]{{0,3}}{_NUM}{_END}"),
    ("alone", BARE, rf"^(?:r?#N{{1,2}}[:,]?|c,?z?[,:]?|z,|r:)?(?:as|[smjyh+O=]){{0,4}}[,:(\-]{{0,3}}[h+K]?{_NUM}{_END}"),
    ("only of ten", 0.4, rf"^(?!w{{1,4}}#)(?![^:#]*w[^:#]*:)(?![^i#]*w[wT']{{0,3}}[iSV])[^zhfqKlu]{{1,60}}{_NUM}{_END}"),
    ("only of ten", 0.4, rf"^[ji][^zhfqKluNWO:#]{{0,4}}:{_NUM}$"),
    ("alone", BARE, rf"(?<=[,\-])(?:s|ri?|[sy][bjcmOV]{{0,4}})[,:]?{_NUM}{_END}|(?<![#U][,~])(?<=[,~]){_NUM.replace('?P<n>', '?P<n2>').replace('?P<half>', '?P<half2>').replace('?P<of>', '?P<of2>')}$"),
)  # fmt: skip
_RULES = tuple((rule, level, re.compile(pattern)) for rule, level, pattern in _FORMS)


def _scale(scan: Scan, match: re.Match[str]) -> str:
    first, second = match.start() + match[0].index("#"), match.start() + match[0].rindex("#")
    ends = {number(scan, first), number(scan, second)} in ({0, HIGHEST}, {1, HIGHEST})
    return GONE * len(match[0]) if ends else match[0]


def _ends(scan: Scan, match: re.Match[str]) -> str:
    """With 10 for perfect and 0 for garbage: …"""
    at = [match.start() + found.start() for found in re.finditer("#", match[0])]
    return GONE * len(match[0]) if {number(scan, place) for place in at} == {0, HIGHEST} else match[0]


def _of_ten(scan: Scan, match: re.Match[str]) -> str:
    at = match.start() + match[0].index("#")
    return GONE * len(match[0]) if number(scan, at) == HIGHEST else match[0]


def _on_ten_points(scan: Scan, match: re.Match[str]) -> str:
    scale = scan.token(match.start() + 1).lower() in ("10-point", "ten-point", "11-point")
    return GONE * len(match[0]) if scale else match[0]


def _of_ten_before(scan: Scan, match: re.Match[str]) -> str:
    return match[0] if scan.token(match.end() - 1).lower() == "of" else _of_ten(scan, match)


def _only_one(scan: Scan, match: re.Match[str]) -> str:
    return GONE * len(match[0]) if number(scan, match.start() + 1) == number(scan, match.end() - 2) == 1 else match[0]


_REVISED = frozenset(
    [
        "revised",
        "adjusted",
        "corrected",
        "updated",
        "changed",
        "lowered",
        "raised",
        "amended",
        "reduced",
        "increased",
        "bumped",
        "rounded",
    ]
)


def _revised(scan: Scan, match: re.Match[str]) -> str:
    """6, revised to 7."""
    if scan.token(match.start(1)).lower() not in _REVISED:
        return match[0]
    return GONE * (match.end(1) + 1 - match.start()) + match[0][match.end(1) + 1 - match.start() :].replace(")", GONE)


def _half(scan: Scan, match: re.Match[str]) -> str:
    ends = number(scan, match.start()), number(scan, match.end() - 1)
    return "½".ljust(len(match[0]), GONE) if ends == (1, 2) else match[0]


def _same(scan: Scan, match: re.Match[str]) -> str:
    if match[0] == "<#>":
        return GONE + "#" + GONE
    alike = number(scan, match.start()) == number(scan, match.end() - 2)
    return "#".ljust(len(match[0]), GONE) if alike else match[0]


def _described(scan: Scan, match: re.Match[str]) -> str:
    """A generous 7: an article, one word and the number."""
    at, end = scan.places(match.start(), match.end() - 1)
    return GONE * (len(match[0]) - 1) + "#" if scan.token(match.start()) in "Aa" and end - at == 2 else match[0]


_FIRST = steps(
    ("xA", "(?:^|(?<=[^w#]))[xA]w#", _described),
    ("", r"x|(?:^|(?<=[.\n?]))A(?!:)|Q", lambda scan, match: GONE if scan.token(match.start()) in "Aa" else "w"),
    ('"', ',?"', ""),
    (">", "[-=]>", "~"),
    ("½", "#&½", lambda scan, match: f"#{GONE}½"),
    ("#", r"#U?\(#\)|<#>", _same),  # seven (7)
)
_LIST = steps(("#", _HEAD.pattern, ""))
_THEN = steps(
    ("", r"(?:^|(?<=\n))(?:[\->|]+(?=[^\n#=])|-+(?=#))", ""),  # a bullet
    (
        "#",
        r"\(?t?(?:O?[Nn]['nOt]{0,2})?[:m]?#(?:[-a…]|\.{2,3})#N?\)?|#[=:(]u[,a)&]{0,2}#[=:(]b\)?|\(#[=:(]b[,a)&]{0,2}#[=:(][wu]\)",
        _scale,
    ),
    ("#", r"(?:(?<=[Skm])\(?['|]?|^\(?['|])#(?=\)?(?:[:,]|i[^.#]{0,8}#))\)?", _of_ten),  # score out of 10: 7
    ("|", r"(?<=\|)#N\|", ""),  # a weight in a table
    (
        "a",
        r"(?<=[SV])t#a(?=#)",
        lambda scan, match: match[0] if number(scan, match.start() + 1) in (0, 1) else GONE * 3,
    ),
    ("t", "(?<=#)t(?=#)", "'"),  # 7 over 10
    ("O", "(?<=#)O(?=#[.]?$)", lambda scan, match: "'" if scan.token(match.start()).lower() in ("em", "on") else "O"),
    ("K", "K#&#[:,](?=#)", ""),  # between 5 and 7: 6
    ("e", "e#z#", ""),  # neither 5 nor 7
    ("#", r"#(?:'#)?[,(\-]{0,2}([mVcw])a#(?:'#)?\)?(?=[.\n]|$)", _revised),
    ("(", r"(?<=#)\(z#\)", ""),
    ("'", "^'#,?(?=j)", _of_ten),  # out of ten I'd give
    ("f", "f#iK[^#,]{0,10}(?:&#i[^,#]{1,8})?,", _of_ten),  # if 10 is perfect
    ("n", r"^n(?=(?:'#)?[.]?$)", lambda scan, match: "#" if scan.token(match.start()).lower() == "one" else "n"),
    ("", r"(?:^|(?<=[\n.,]))[^\n.#]{0,8}#[^#\n|']{1,12}#[^#\n]{0,8}:(?=#)", _ends),
    ("n", r"(?:^|(?<=\n))n#'#[:\-](?=#[|'])", _only_one),  # option 1 of 1: 7/10
    ("T", r"(?:^|(?<=[.\n]))[tra]{1,3}T[O(]#(?:[|']#)?\)?,(?=[^.\n]*#)", _of_ten),  # relative to the original at 10,
    ("O", "^O(?=[ij#])", ""),  # on the scale from 0 to 10, this is
    ("I", "I", lambda scan, match: "i" if scan.token(match.start()).lower() in ("makes", "make") else "I"),
    ("f", "f(?:[jfah]{0,4}[vV]|O)[^#,:]{0,8}[,:]i?(?=[#ji])", ""),  # if I had to give a score
    ("@", "#U?@(?=#)", ""),
    ("(", r"\((?:#N|'#)\)", _of_ten),
    ("n", r"(?<=\n)n(?=:)", lambda scan, match: "c" if scan.token(match.start()).lower() == "edit" else "n"),
    ("S", r"(?<=S)[|]#", _of_ten),  # a form that was not filled in: [score]/10
    ("N", "ON{1,2}(?=$|[.,)])", _on_ten_points),
    ("P", "#U?'P(?=#)", _of_ten),
    ("N", "ON'#(?=$|[.,)])", _of_ten),  # on a scale of 10
    ("'", "#'(?=#(?:$|[.,V]))", _of_ten_before),  # 10 üzerinden 7
    ("#", r"(?<=#)#[|]#", _half),
    (
        "#",
        r"(?<=#),?[tz]{1,2}'?#(?=$|[.,\n])|(?:z#[,&]{0,2}){1,3}[yt:](?=#)|(?:z#[,&\-]{1,2}){1,3}(?=#)|#,z,(?=#)|z#,?(?:MO?|b)(?=#)",
        "",
    ),  # 7 rather than 8, not 8 but 7
)


def prepare(scan: Scan) -> None:
    """Take out what is no score: the numbers of a list, the scale, a rejected score."""
    scan.rewrite(_FIRST)
    heads = (number(scan, match.end() - 2) for match in _HEAD.finditer(scan.codes))
    if next(heads, 0) == 1:
        scan.rewrite(_LIST)
    scan.rewrite(_THEN)


def number(scan: Scan, at: int) -> float:
    """The value of the number at ``at``: 7.5, 7,5 and seven; -1 for what is too long for a score."""
    token = scan.token(at).lower().replace(",", ".").removesuffix("-ish")
    try:
        return float(token)
    except ValueError:
        return float(WORDS.get(token, -1))


_GUESS = re.compile(r"[hmj]{0,2}#(?:'#)?\?[.\n]*")
"""Maybe a 6?"""


def claims(scan: Scan) -> Iterator[Claim]:
    """What a reply to a scoring question states, sentence by sentence."""
    for sentence in sentences(scan.codes):
        said = sentence[1]
        asks = "?" in sentence[2][:1] and not _GUESS.fullmatch(scan.codes)
        if "#" not in said or asks or "q" in said or "f" in said or _ASPECT.match(said):
            continue
        for rule, level, pattern in _RULES:
            for match in pattern.finditer(said):
                claim = _claim(scan, rule, level, match, sentence.start(), said)
                if claim:
                    yield claim


def _claim(scan: Scan, rule: str, level: float, match: re.Match[str], at: int, said: str) -> Claim | None:
    names = match.groupdict()
    suffix = "2" if names["n"] is None and names.get("n2") else ""
    start = match.start("n" + suffix)
    value = number(scan, at + start) + (0.5 if names["half" + suffix] else 0)
    if _is_explained(said[match.end() :], value):
        return None
    if names["of" + suffix] and number(scan, at + match.start("of" + suffix)) != HIGHEST:
        return None
    if rule == "only of ten" and (not names["of"] or len(_OF_ANY.findall(scan.codes)) > 1):
        return None
    if rule == "is" and _is_of_others(scan, said, match, at):
        return None
    if not 0 <= value <= HIGHEST:
        return (
            Claim(OFF_SCALE, level, at + start, at + match.end(), rule)
            if rule == "label" and _GRADED.search(match[0])
            else None
        )
    bound = said.find("K", match.start(), start)
    if bound >= 0 and rule != "sum":
        perfect = scan.token(at + bound).lower() == "perfect"
        earned = value == HIGHEST and {"i", "k"}.isdisjoint(said[bound:start])
        if not perfect or not (earned or rule == "after all"):
            return None
    if (
        names.get("noun")
        and scan.token(at + match.start()).lower() not in _SAID
        and (not names["of"] or scan.token(at + match.start()).lower() not in _WHOLE)
    ):
        return None
    lead = said[max(0, match.start() - 1) : start]
    weight = FINAL - DECLARED if "m" in lead else 0.0
    weight += CONCLUDING if "s" in lead or "y" in lead else 0.0
    return Claim(value, level + weight, at + start, at + match.end(), rule)


def _is_explained(after: str, value: float) -> bool:
    """Whether what follows makes a number an end of the scale: "10 = best", "7, the minimum"."""
    return (after[:1] == "=" and value in (0, HIGHEST)) or (after == ",K" and value != HIGHEST)


def _is_of_others(scan: Scan, said: str, match: re.Match[str], at: int) -> bool:
    """Whether "is" makes no score of a number: "they are 7", "it would be a 9 with the tail"."""
    words = scan.words_between(at + match.start() - 1, at + match.start("n"))
    return "are" in words or (said[match.end() :][:1] == "r" and not _WOULD.isdisjoint(words))


_WOULD = frozenset(("would", "it'd", "that'd", "this'd"))
OFF_SCALE = "off scale"
_GRADED = re.compile(r"S|m[:=i]|#U")
_OF_ANY = re.compile(r"#U?['|]#")
_SAID = ("response", "output", "prediction")
_WHOLE = ("prediction", "image", "result", "output")


def cause(codes: str) -> str:
    """Why a reply without a claim gives no score."""
    if re.search(r"#N|['|]#", codes):
        return "other scale"
    if "h" in codes and "#" in codes:
        return "hedge"
    return "several answers" if codes.count("#") > 1 else "other scale" if "#" in codes else "no answer"
