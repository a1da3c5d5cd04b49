"""What a short text states once the words that say nothing are taken out of it: a
letter, an order or a score; nothing if any other word is left. Marks around an answer
are read in ``marked_answers.py``.
"""

import re
from dataclasses import dataclass
from functools import cache

from visualjudge.replies.words import (
    BOTH_BAD,
    LETTER,
    SIGNS,
    TIE,
    Asked,
    Entries,
    lists,
    named,
)

Value = str | float
# A value, or the cause why what seems to be an answer has none.
Result = tuple[Value | None, str | None] | None
LONGEST = 160
SEVERAL = (None, "several answers")
UNKNOWN = (None, "unknown option")
_BESIDE = ("noun", "filler", "is", "so", "final")
LABELS = {
    "pairwise": ("answer",),
    "choice": ("answer",),
    "ranking": ("order", "to", "foremost", "rising", "falling"),
    "scoring": ("score",),
}
_CLAIMS = {
    "pairwise": ("chooses", "better", "wins", "choice"),
    "choice": ("chooses", "better", "choice"),
    "ranking": ("best", "worst"),
    "scoring": ("rates", "points"),
}
_IN_ORDERS = ("first", "second", "place", "then")
_MARKS = " \t\n.,:;!()[]{}'|/\\=→~<>–—≈-"
_SEVERAL = re.compile(
    r"(?:[^\W\d_a-z]|[\W\d]|\b(?:or|and|oder|und|ou|et)\b|或|和)+"
)
# "a" beside the other letter, as in "a|b" and "b a", is no article
_ARTICLE = re.compile(
    r"(?<![\w'])A(?= (?!or |and )[a-z])"
    r"|(?<![\w'])a(?=\W+b(?![\w']))|(?<=(?<![\w'])b\W)a(?![\w'])"
)
THAN = "\ue002"
_COMPARED = re.compile(
    rf"(.)\s*(>+|{THAN}|<+|=+|~+)\s*(.)(?:\s*=\s*(good|bad))?"
)
_DIRECTED = ("best", "worst", "foremost", "rising", "falling")
_ORDER = re.compile(r"[A-Z\d\s.,:;()\[\]→>|/–—-]+")
_NUMBER = r"(\d+(?:\.\d+|,\d\d?)?|[.,]\d+)"
_SCORE = re.compile(
    rf"(?:[\s:;=()\[\]{{}}|~≈.,]|[–—-]\s)*?{_NUMBER}(?:\s*/\s*{_NUMBER})?"
    r"[\s.,:;!)\]}|]*"
)


@dataclass(frozen=True, slots=True)
class Mark:
    """An answer at characters ``start`` to ``end``; without a value, ``cause`` says
    why. ``rule`` is "label" ("Answer: B", "7/10"), "sentence" (a word of choosing is
    beside it), "line" (nothing is), or the name of a frame.
    """

    value: Value | None
    cause: str | None
    rule: str = ""
    start: int = 0
    end: int = 0


def stated(text: str, asked: Asked) -> Mark | None:
    """Return what :func:`~visualjudge.replies.words.plain` text states; None if it has
    a word that might change it."""
    if len(text) > LONGEST or "?" in text:
        return None
    spoken = _prepared(text, asked)
    first = answer_pattern(asked.letters).search(spoken)
    answer = first.start() if first else len(spoken)
    rest = _neutral(asked).replaced(spoken)
    read = {"scoring": _score, "ranking": _order}.get(asked.kind, _letter)
    result = read(rest, asked)
    if (
        result is None
        and _SEVERAL.fullmatch(rest)
        and len(answer_pattern(asked.letters).findall(rest)) > 1
    ):
        result = SEVERAL
    directed = asked.kind == "ranking" and lists(*_DIRECTED).within(
        spoken.partition("(")[0], answer
    )
    if result is None or directed or _counts(spoken, asked):
        return None
    claimed = (
        "sentence" if lists(*_CLAIMS[asked.kind]).within(spoken) else "line"
    )
    rule = "label" if _is_labelled(spoken, answer, asked) else claimed
    return Mark(*result, rule)


def is_label(text: str, asked: Asked) -> bool:
    """Return whether a text is a label and nothing else."""
    return lists(*LABELS[asked.kind]).within(text) and is_neutral(text, asked)


def is_neutral(text: str, asked: Asked) -> bool:
    """Return whether no word of a text changes an answer."""
    return not _neutral(asked).replaced(text).strip(_MARKS)


def _neutral(asked: Asked) -> Entries:
    return lists(*_BESIDE, *LABELS[asked.kind], *_CLAIMS[asked.kind])


def _prepared(text: str, asked: Asked) -> str:
    """Return the text with signs for words: "than" is one, "out of" is "/"."""
    if asked.kind == "scoring":
        return lists("of ten").replaced(text.replace("A ", "a "), "/")
    if asked.kind == "ranking":
        return text
    verbs = lists("is", "wins", "beats", "than", "because")
    text = _ARTICLE.sub(
        lambda a: "A" if a[0] == "a" or verbs.begin(text, a.end()) else "@",
        text,
    )
    return lists("than", "beats").replaced(named(text, asked), THAN)


def _counts(spoken: str, asked: Asked) -> bool:
    """Return whether a number counts or numbers things: "5 boxes", "image 3"."""
    return asked.kind == "scoring" and any(
        re.match(r"\s*\d", spoken[end:]) or re.search(r"\d\s*$", spoken[:start])
        for start, end in lists("noun").spans(spoken)
        if not lists("score").within(spoken, start, end)
    )


@cache
def answer_pattern(letters: str) -> re.Pattern[str]:
    """Return what finds an answer of :func:`named` text: a lone letter, a sign, or a
    number where there are no letters."""
    if not letters:
        return re.compile(r"\d")
    signs = "".join(SIGNS.values())
    return re.compile(
        rf"(?<!{LETTER})[{letters}](?!{LETTER}|['’-]\w)|[{signs}]"
    )


def _is_labelled(spoken: str, answer: int, asked: Asked) -> bool:
    if asked.kind == "scoring" and re.search(r"\d\s*/", spoken):
        return True
    labels = lists(*LABELS[asked.kind]).spans(spoken, 0, answer)
    end = next((end for _, end in labels), answer)
    between = spoken[end:answer]
    return lists("is").within(between) or bool(re.search("[:=–—→-]", between))


def _letter(rest: str, asked: Asked) -> Result:
    text = rest.strip(_MARKS)
    options = asked.letters + "".join(SIGNS.values())
    if len(set(text) - set(" .,:;!|/()-–\n")) == 1:
        text = text[:1]
        letter = text if text in options else text.upper()
        names = {sign: name for name, sign in SIGNS.items()}
        if letter in options:
            return names.get(letter, letter), None
        return UNKNOWN if text.isalpha() and text.isupper() else None
    compared = _COMPARED.fullmatch(text)
    if compared is None or sorted((compared[1], compared[3])) != [
        *asked.letters
    ]:
        return None
    first, sign, second, grade = compared.groups()
    if sign[0] in "=~":
        return BOTH_BAD if grade == "bad" else TIE, None
    return second if sign[0] == "<" else first, None


def _order(rest: str, asked: Asked) -> Result:
    """Return the order as it is written."""
    text = lists(*_IN_ORDERS).replaced(rest).strip(_MARKS)
    letters = re.sub(r"[^A-Z]", "", text)
    spelt = text == letters and len(text) == len(asked.letters)
    if len(letters) < 2 or not (spelt or _ORDER.fullmatch(text)):
        return None
    places = [int(number) for number in re.findall(r"\d+", text)]
    if places and places != [*range(1, len(letters) + 1)]:
        return None
    if not set(letters) <= set(asked.letters):
        return UNKNOWN
    if len(set(letters)) < len(letters) or (">" in text and "," in text):
        return SEVERAL
    whole = len(letters) == len(asked.letters)
    return (letters, None) if whole else (None, "incomplete")


def _score(rest: str, _asked: Asked) -> Result:
    score = _SCORE.fullmatch(rest)
    if score is None:
        return None
    value, scale = (
        float((n or "10").replace(",", ".")) for n in score.groups()
    )
    return (value, None) if value <= scale == 10 else (None, "other scale")
