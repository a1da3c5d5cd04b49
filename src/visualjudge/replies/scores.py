"""Which score from 0 to 10 a reply gives."""

from __future__ import annotations

import re
from collections.abc import Iterator

from visualjudge.replies.choices import _THAT, BARE, CONCLUDING, DECLARED, FINAL, Claim
from visualjudge.replies.lexer import GONE, Scan, sentences

HIGHEST = 10.0

_BULLET = re.compile(r"(?:^|(?<=\n))(?:[\->|]+(?=[^\n#])|-+(?=#))")
_HEAD = re.compile(r"(?:^|(?<=\n))[^\n]?#[.)](?=[^\n#])")
_SCALE = re.compile(r"\(?t?(?:O?[Nn]['nOt]{0,2})?[:m]?#(?P<sign>[-a…])#N?\)?|#[=:(]u[,a)&]{0,2}(?P<ends>#)[=:(]b\)?")
_OF_TEN = re.compile(r"(?<=[Skm])\(?['|]?#(?=\)?[:i])\)?")
_RIVAL = re.compile(r"(?<=#)t{1,2}#(?=$|[.,\n])|z#,?y(?=#)|z#,(?=#)")
_OF_WHICH = re.compile(r"#U?@(?=#)")
_TITLE = re.compile(r"(?<=[:S])\n(?=[#\-])")
_LETTER = re.compile(r"x|(?:^|(?<=[.\n?]))A(?!:)|Q")

_ASPECT = re.compile(r"(?:z|O|rb)[^,#]{0,12}[wWTbg][^,#]{0,20},")
"""Sentences on one aspect or on what might be: "for localization, …", "without the blur, …"."""
_ARROW = re.compile("[-=]>")
_AND_A_HALF = re.compile("#&½")
_SAME = re.compile(r"#U?\(#\)|<#>")

_START = r"(?:^|(?<=[,;(\-sy&])|(?<![#U]~)(?<=~))"
_NUM = r"…?(?P<n>#)(?P<half>½?)(?:U?['|](?P<of>#)n?)?U?"
_END = r"(?=$|[.):sYym]|,(?!z?#|[|∨hK])|[-](?!#)|r|V$|\((?![p|∨hz#]|[^)]{0,30}p)|[Oa][nmj]|'[nm]|i[jm]?[S+]|[ti|]$)"
_SURE = r"[jmskbn+]{0,8}"
_FORMS: tuple[tuple[str, float, str], ...] = (
    ("label", DECLARED, rf"{_START}{_SURE}(?:[SkU][Skn]*(?:[nkjOVm'aTr]{{0,6}}[:i=]{{1,2}}\(?|[\-~]|,?)|m[nk]*[:i,\-|]{{0,2}}|V:)[mjikS:']{{0,4}}{_NUM}{_END}"),
    ("verb", DECLARED, rf"{_START}[jmsnkTwOrvSM%i+b'a]{{0,20}}V[nhSVwOjrm'Tb+aie:]{{0,10}}(?<!w'){_NUM}{_END}"),
    ("said", DECLARED, rf"{_START}[sym]{{0,3}}j[mnjiO]{{0,3}}(?:v[rO]?)?{_NUM}{_END}"),
    ("noun", BARE, rf"^(?P<noun>n):{_NUM}{_END}"),
    ("is", BARE, rf"{_START}[sjmnT]{{0,6}}i[jm+b]{{0,3}}{_NUM}{_END}"),
    ("is the score", DECLARED, rf"^{_NUM}i[jm]{{0,3}}S(?=$|[.,r])"),
    ("alone", BARE, rf"^[smjyh+]{{0,3}}[,:(]?[h+K]?{_NUM}{_END}"),
    ("alone", BARE, rf"(?<=[,\-])s[,:]?{_NUM}{_END}|(?<![#U][,~])(?<=[,~]){_NUM.replace('?P<n>', '?P<n2>').replace('?P<half>', '?P<half2>').replace('?P<of>', '?P<of2>')}$"),
)  # fmt: skip
_RULES = tuple((rule, level, re.compile(pattern)) for rule, level, pattern in _FORMS)


def prepare(scan: Scan, n_options: int = 0) -> None:
    """Take out what is no score: the numbers of a list, the scale, a rejected score."""

    def head(match: re.Match[str]) -> str:
        return GONE * len(match[0]) if listed else match[0]

    def scale(match: re.Match[str]) -> str:
        first = match.start() + match[0].index("#")
        second = match.start() + match[0].rindex("#")
        ends = number(scan, first) in (0, 1) and number(scan, second) == HIGHEST
        return GONE * len(match[0]) if ends else match[0]

    def of_ten(match: re.Match[str]) -> str:
        at = match.start() + match[0].index("#")
        return GONE * len(match[0]) if number(scan, at) == HIGHEST else match[0]

    def same(match: re.Match[str]) -> str:
        if match[0] == "<#>":
            return GONE + "#" + GONE
        alike = number(scan, match.start()) == number(scan, match.end() - 2)
        return "#" + GONE * (len(match[0]) - 1) if alike else match[0]

    scan.rewrite("", _LETTER, lambda match: GONE if scan.token(match.start()) in "Aa" else "w")
    scan.rewrite('"', _THAT, _gone)
    scan.rewrite("", _ARROW, "~" + GONE)
    scan.rewrite("½", _AND_A_HALF, f"#{GONE}½")
    scan.rewrite("#", _SAME, same)
    heads = [number(scan, match.end() - 2) for match in _HEAD.finditer(scan.codes)]
    listed = heads[:1] == [1]
    scan.rewrite("#", _HEAD, head)
    scan.rewrite("", _BULLET, _gone)
    scan.rewrite("#", _SCALE, scale)
    scan.rewrite("#", _OF_TEN, of_ten)
    scan.rewrite("@", _OF_WHICH, _gone)
    scan.rewrite("#", _RIVAL, _gone)
    scan.rewrite("\n", _TITLE, GONE)


def number(scan: Scan, at: int) -> float:
    """The value of the number at ``at``: 7.5, 7,5 and seven; -1 for what is too long for a score."""
    token = scan.token(at).lower().replace(",", ".")
    try:
        return float(token)
    except ValueError:
        return float(WORDS.get(token, -1))


WORDS = {
    word: value
    for words in (
        "zero - two three four five six seven eight nine ten",
        "cero - dos tres cuatro cinco seis siete ocho nueve diez",
        "zéro - deux trois quatre cinq six sept huit neuf dix",
        "- - zwei drei vier fünf sechs sieben acht neun zehn",
        "- - - - - - sei sette otto nove dieci",
    )
    for value, word in enumerate(words.split())
}


def claims(scan: Scan, n_options: int = 0) -> Iterator[Claim]:
    """What a reply to a scoring question states, sentence by sentence."""
    for sentence in sentences(scan.codes):
        said = sentence[1]
        if "#" not in said or "?" in sentence[2][:1] or "q" in said or "f" in said or _ASPECT.match(said):
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
    if names["of" + suffix] and number(scan, at + match.start("of" + suffix)) != HIGHEST:
        return None
    if not 0 <= value <= HIGHEST:
        return None
    bound = said.find("K", match.start(), start)
    if bound >= 0 and (value != HIGHEST or scan.token(at + bound).lower() != "perfect"):
        return None
    if names.get("noun") and (not names["of"] or scan.token(at + match.start()).lower() not in _WHOLE):
        return None
    lead = said[max(0, match.start() - 1) : start]
    weight = FINAL - DECLARED if "m" in lead else 0.0
    weight += CONCLUDING if "s" in lead or "y" in lead else 0.0
    return Claim(value, level + weight, at + start, at + match.end(), rule)


_WHOLE = ("prediction", "image", "result", "output")


def cause(codes: str) -> str:
    """Why a reply without a claim gives no score."""
    if re.search(r"#N|['|]#", codes):
        return "other scale"
    if "h" in codes and "#" in codes:
        return "hedge"
    return "several answers" if codes.count("#") > 1 else "other scale" if "#" in codes else "no answer"


def _gone(match: re.Match[str]) -> str:
    return GONE * len(match[0])
