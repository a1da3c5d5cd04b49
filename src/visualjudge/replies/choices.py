"""Which of two options a reply names: the clauses that name one, by how surely they do.

Codes are those of ``lexicon.txt``. A clause is read only where every word of it is understood: what is unknown, denied,
supposed or only possible is not a choice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from visualjudge.replies.lexer import GONE, Scan


@dataclass(frozen=True, slots=True)
class Claim:
    """A value that a reply states: ``level`` says how surely, ``start`` and ``end`` are places in the codes."""

    value: str | float
    level: float
    start: int
    end: int
    rule: str


FINAL, DECLARED, BARE, COMPARED = 3.0, 2.0, 1.8, 1.0
CONCLUDING = 0.5
"""What "so" and "but" before a claim add, and "although" takes away."""

_PARENTHESES = re.compile(r"\(([A-Hx])\)")
_NOUN = re.compile(r"n+(?=[A-H])")
_LOWER = re.compile(r"(?:^|(?<=[:i(\n.=>|∨&,kRvn]))x(?=$|[\n.,)&|∨>:=])")
_LOWER_A = re.compile("x")
_NUMBERED = re.compile(r"n#")
_ORDINAL = re.compile(r"on|(?:^|(?<=[vi:]))o(?=$|[.,\n])|(?:^|(?<=[.,\n]))o(?=i)")
_ARTICLE = re.compile(r"(?:^|(?<=[.:?\n(\->|]))A(?=[wnkbuoMLRSmW+Tx])")
_TO = re.compile(r"(?<![A-H#ubx])a|a(?![A-H#ubx])")
_FORCED = re.compile(r"f[jfhw]{0,4}v,?(?![A-H])")
_MORE = re.compile(r"M+[bu]|[My][+T]")
_THAT = re.compile(r',?"')
_LESS = re.compile(r"L[+bWu]")
_BOTH_BETTER = re.compile(r"b(?:[&,]{1,2}[b+]){1,4}")
_RIVAL = re.compile(r"(^|[^ez&|∨])([A-H])[,(]?[zta]{1,2}([A-H])\)?(?=$|[.,\n)rOsyY])")
_NOT_BUT = re.compile(r"z[A-H][,\-]?[yi]?(?=[A-H])")
_TITLE = re.compile(r"(?<=:)\n|(?<=[kR])\n(?=[A-HZ\-])")
_OF = re.compile("'")
_ARROW = re.compile(r">{2,3}")
_NO_DOUBT = re.compile("zx?z")
_MOST_LIKELY = re.compile("M(?=[A-H])")
_ACTUALLY = re.compile("(?<=[A-HijI])c")
_BULLET = re.compile(r"(?:^|(?<=\n))[-.>]+")


def prepare(scan: Scan, n_options: int) -> None:
    """Bring the many ways to name an option into one: ``Option A``, ``(a)``, ``image 1``, "the first option" are A."""

    def numbered(match: re.Match[str]) -> str:
        token = scan.token(match.end() - 1)
        return GONE + "ABCDEFGH"[int(token) - 1] if token.isdigit() and 0 < int(token) <= n_options else "ww"

    def ordinal(match: re.Match[str]) -> str:
        place = ORDINALS.get(scan.token(match.start()).lower())
        return ("A" if place == 1 else "B") + GONE * (len(match[0]) - 1) if place in (1, 2) else match[0]

    def lower(match: re.Match[str]) -> str:
        return scan.token(match.start()).upper()

    def rival(match: re.Match[str]) -> str:
        spoken = "z" in match[0][2:] and scan.token(match.start(3) - 1).lower() == "no"
        return match[0] if spoken else match[1] + match[2] + GONE * (len(match[0]) - len(match[1]) - 1)

    def article(match: re.Match[str]) -> str:
        return GONE if scan.token(match.end())[0] < "\u0250" else match[0]

    def no_doubt(match: re.Match[str]) -> str:
        return GONE * len(match[0]) if scan.token(match.end() - 1).lower() == "doubt" else match[0]

    scan.rewrite("'", _OF, GONE)
    scan.rewrite('"', _THAT, _gone)
    scan.rewrite(">", _ARROW, lambda match: ">" + GONE * (len(match[0]) - 1))
    scan.rewrite("z", _NO_DOUBT, no_doubt)
    scan.rewrite("M", _MOST_LIKELY, GONE)
    scan.rewrite("c", _ACTUALLY, GONE)
    scan.rewrite("", _BULLET, _gone)
    scan.rewrite("(", _PARENTHESES, rf"{GONE}\1{GONE}")
    scan.rewrite("a", _TO, GONE)
    scan.rewrite("x", _LOWER, lower)
    scan.rewrite("x", _LOWER_A, lambda match: GONE if scan.token(match.start()) == "a" else "w")
    scan.rewrite("n#", _NUMBERED, numbered)
    if n_options == 2:
        scan.rewrite("o", _ORDINAL, ordinal)
    scan.rewrite("A", _ARTICLE, article)
    scan.rewrite("n", _NOUN, _gone)
    scan.rewrite("f", _FORCED, _gone)
    scan.rewrite("", _MORE, lambda match: GONE * (len(match[0]) - 1) + ("u" if match[0][-1] == "u" else "b"))
    scan.rewrite("L", _LESS, lambda match: GONE + ("u" if match[0][1] in "+b" else "b"))
    scan.rewrite("b", _BOTH_BETTER, lambda match: "b" + GONE * (len(match[0]) - 1))
    scan.rewrite("z", _NOT_BUT, _gone)
    scan.rewrite("", _RIVAL, rival)
    scan.rewrite("\n", _TITLE, GONE)


def _gone(match: re.Match[str]) -> str:
    return GONE * len(match[0])


ORDINALS = {
    word: place
    for place, words in enumerate(
        (
            "former first 1st 第一 erste ersten première premier primera primero prima primo primeira primeiro первое первый первую",
            "latter second 2nd 第二 zweite zweiten deuxième segunda segundo seconda secondo второе второй вторую",
            "third 3rd 第三 dritte troisième tercera tercero terza terzo terceira третье третий",
            "fourth 4th 第四",
            "fifth 5th 第五",
        ),
        1,
    )
    for word in words.split()
}


_O = "[A-H]"
_END = rf"(?=»|[)rsyYm]|O(?:[nmT]|»)|[ibM]»|,(?!{_O}(?:»|[,|∨&)])|[&y]?{_O}»|[|∨hzc])|[-(](?![A-H]?[|∨&=hz<>c~])(?!-?[zc])(?!{_O}\)?»))"
"""What may follow an option that is declared: an end, a reason, a comma that begins no list."""
_AFTER = rf"(?=»|[),\-&sYyr(:m]|[ta]?{_O}»|[ta]{_O}|O[mn])(?!,?[yY&][iI]?[mc]?[uWz])"
"""What may follow "better": nothing that says in what respect only, nothing that turns it round."""

_WORDS = "[jsymwibnkrOTIeM+]{0,40}"
_LEADS = {
    # What may stand between the beginning of a clause and the form: nothing that denies, supposes or doubts.
    "clause": f"°{_WORDS}",
    "subject": f"°{_WORDS}[vk]?(?<!w)",
    "I": rf"°(?:{_WORDS}j[jmi]?|[symw]{{0,40}}(?<!w))",
    "conclusion": "°[symY]{0,8}",
    "symbol": "°[jsymkRvi]{0,8}",
    "sentence": r"\A(?:[rO][wneT&]{0,10},)?(?:[Orsymwjn]{0,8}[smy])?[Orsym]?[:,]?",
    "it": r"\A[jnsy]{0,3}",
    "start": r"\A",
    "comma": r"[,\-][sy][,:]?",
    "correction": r"\A(?:z,)?c[,:j]{0,2}",
}
_FORMS: tuple[tuple[str, float, int, str, str], ...] = (
    # rule, level, winner (0: the option named, -1: the other), what may stand before, the form with the option
    ("label", DECLARED, 0, "clause", r"(?:[kR](?:[wnjkrOT]{1,8}[i:]|[i:=\-,>]{0,3}|O)|v[nk]?[i:]{1,2}|m[nk]{0,4}[i:,]{1,2})[mis:jn]{0,6}(@)¶"),
    ("best", DECLARED, 0, "clause", r"(?:b[nkR]{0,4}[i:]{0,2}|b[nkRIwTj]{1,8}i|\+[nkR]{1,4}[i:]{1,2})[mis:jn]{0,6}(@)¶"),
    ("verb", DECLARED, 0, "I", "v[rOtk]?(@)¶"),
    ("said", DECLARED, 0, "conclusion", "j(@)¶"),
    ("verb last", DECLARED, 0, "clause", "(@)[iw]?v(?=»|[,r])"),
    ("is the answer", DECLARED, 0, "subject", "(@)[iIV][jmbn]{0,4}[kv][nk]{0,4}§"),
    ("is better", COMPARED, 0, "subject", "(@)n?(?:[iI]{0,2}[mseP]?b[b+nkmT]{0,8}(?:(?<=k)[nw]{1,6})?i?§|bI|I[nTw]{1,4}b§)"),
    ("and is better", COMPARED, 0, "conclusion", "(@)[wImbn+]{1,12}&im?b[nk]{0,3}§"),
    ("making it better", COMPARED, 0, "conclusion", "(@)[wInOTM+&ms]{1,24},?rb[nkm]{1,3}»"),
    ("is worse", COMPARED, -1, "subject", "(@)[iIV]{0,2}u[nk]{0,4}i?§"),
    ("the worse is", COMPARED, -1, "clause", "u[nkR]{1,4}i(@)¶"),
    ("not as good", COMPARED, 0, "subject", "@i?zr?[+]r?(@)¶"),
    ("beats", COMPARED, 0, "subject", "(@)(?:g§|[gJ]@¶)"),
    ("is beaten", COMPARED, 0, "subject", "@(?:l[avk]?|iJ[wr]?)(@)¶"),
    ("better than", COMPARED, 0, "clause", "(@)(?:t@[iw]?[b+]|i@Pb)i?§"),
    ("better, postposed", COMPARED, 0, "clause", "@P(@)i?bi?§"),
    ("worse than", COMPARED, 0, "clause", "@t(@)[iw]?ui?§"),
    ("worse, postposed", COMPARED, 0, "clause", "(@)P@i?ui?§"),
    ("above", DECLARED, 0, "symbol", r"(@)>@(?=»|[,(r\-])"),
    ("below", DECLARED, 0, "symbol", r"@<(@)(?=»|[,(r\-])"),
    ("it is", BARE, 0, "it", "i(@)¶"),
    ("list", DECLARED, 0, "start", r"#[.)](@)\n#[.)]@»"),
    ("it is", BARE, 0, "conclusion", "(@)i»"),
    ("noun", BARE, 0, "start", "n:(@)¶"),
    ("alone", BARE, 0, "sentence", "(@)[,:]?»"),
    ("first", BARE, 0, "start", "(@)¶"),
    ("line", BARE, 0, "start", r"(@)(?=,?r|-(?![A-H>]|[zc])|\((?![A-H|∨&=hz]))"),
    ("so", BARE, 0, "comma", "(@)¶"),
    ("corrected", BARE, 0, "correction", "(@)»"),
    ("heading", 0.5, 0, "start", "(@):(?=[^A-H.?\n]+»)"),
)  # fmt: skip
_SHORT = {"°": r"(?:\A|(?<=[,:;(\-ysYr])|(?<=[^A-H]&))", "»": r"(?![^.?\n])", "@": _O, "¶": _END, "§": _AFTER}


def _compiled(pattern: str) -> re.Pattern[str]:
    for short in "@¶§°»":
        pattern = pattern.replace(short, _SHORT[short])
    return re.compile(pattern)


_RULES = tuple(
    (rule, level, winner, _compiled(_LEADS[lead] + r"\Z"), _compiled(form))
    for rule, level, winner, lead, form in _FORMS
)
_NAMES_OPTION = re.compile(_O)
_OTHER = {"A": "B", "B": "A"}
_REACH = 200
"""How far a sentence is followed, so that time grows with a reply's length and not with its square."""
_AT_LINE = ("corrected", "line")
_REST = re.compile(rf"[^.?\n]{{0,{_REACH}}}")


def claims(scan: Scan, n_options: int = 2) -> Iterator[Claim]:
    """What a reply to a pairwise question states."""
    codes = scan.codes
    if not _NAMES_OPTION.search(codes):
        return
    for rule, level, winner, lead, form in _RULES:
        for match in form.finditer(codes):
            claim = _claim(codes, rule, level, winner, lead, match)
            if claim:
                yield claim


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
    supposed = after.find("f")
    if "f" in before or "f" in match[0] or (supposed >= 0 and (level < BARE or "," not in after[:supposed])):
        return None
    start -= len(before) - found.start()
    return Claim(option, level + _weight(before, found.start(), before + match[0]), start, end, rule)


def sentence_before(codes: str, start: int) -> str:
    """The codes of the sentence that stand before ``start``; a mark at their head where the sentence is too long."""
    reach = max(0, start - _REACH)
    begin = max(codes.rfind(mark, reach, start) for mark in ".?\n") + 1
    return codes[begin:start] if begin or not reach else "…" + codes[reach:start]


_HEADED = re.compile("[km][kmn]{0,3}:$")


def _weight(before: str, start: int, said: str) -> float:
    """What the words around a claim add to it."""
    if said[0] == "Y" and "," not in before[:start]:
        return -CONCLUDING
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
