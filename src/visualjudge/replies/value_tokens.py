"""Scores and orders as single tokens: "7/10" becomes the token ``{n}``, "B > A > C" the token
``{order}``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from visualjudge.replies.tokens import Word

GREATEST = 10.0
_OPEN = frozenset(("-", "±", "<", ">", "~", "/", "+", "^", "=", "%", "½", "<=", ">=", "to", "×"))
"""Marks that make the number next to them a range, a difference or a proportion."""
_LINKS = frozenset(
    (
        ",",
        "→",
        ">",
        "-",
        "|",
        "/",
        "->",
        "=>",
        ">>",
        ">>>",
        "--",
        "than",
        "which",
        "most",
        "then",
        "&",
    )
)
_TO = (
    r"\s*(?:a |an )?(?:possible |total |maximum )?(?:of "
    r")?\s*(?P<top>\d+|five|hundred|four|three|six|seven)\b"
)
_OUT_OF = re.compile(rf"(?:\bout\s+of|/|÷|\bmax(?:imum)?\b\s*:?|\d\s*-){_TO}", re.I)
_SCALE = re.compile(
    r"\b(?:scale|range)\b[^\n\d.]{0,20}\d+\s*(?:-|to|and)\s*(?P<top>\d+)\b"
    r"|\d\s*-\s*(?P<of>\d+) (?:point )?scale",
    re.I,
)


def other_scale(text: str, start: int, end: int) -> bool:
    """Return whether the words around a score name a scale that does not end at ten."""
    begin = max(text.rfind("\n", 0, start) + 1, start - 100)
    stop = re.compile(r"[.,;:\n](?!\d)").search(text, end, end + 60)
    line = text[begin : stop.start() if stop else end + 60]
    tops = [match["top"] for match in _OUT_OF.finditer(line)]
    tops += [match["top"] or match["of"] for match in _SCALE.finditer(text[-2_000:])]
    return any(top not in ("10", None) for top in tops)


def with_scores(said: Sequence[Word]) -> list[Word]:
    """Return the tokens with each score as one token of kind ``n``; other numbers remain
    numbers.
    """
    out, at = list[Word](), 0
    said = _without_scale(said)
    while at < len(said):
        found = _score_at(said, at)
        if found is None:
            out.append(said[at])
            at += 1
            continue
        value, end = found
        text = " ".join(one.text for one in said[at:end])
        out.append(Word(text, said[at].start, said[end - 1].end, frozenset(("n",)), number=value))
        at = end
    return out


def _without_scale(said: Sequence[Word]) -> Sequence[Word]:
    """Return the tokens with "(0-10)" and "0 to 10", which state the scale of a score, as one token
    of kind ``scale``.
    """
    out: list[Word] = []
    for token in said:
        out.append(token)
        scale = [one.number for one in out[-3:]] in ([0.0, None, GREATEST], [1.0, None, GREATEST])
        if scale and out[-2].text in ("-", "to") and (len(out) < 4 or out[-4].text != ":"):
            out[-3:] = [Word("0 to 10", out[-3].start, token.end, frozenset(("scale",)))]
        elif (
            token.text == ")" and len(out) > 2 and out[-3].text == "(" and "scale" in out[-2].kinds
        ):
            out[-3:] = [out[-2]]
    return out


def _number(token: Word) -> float | None:
    """Return the number that a token states, in digits or as a word ("seven")."""
    if token.number is not None:
        return token.number
    return next((float(kind[7:]) for kind in token.kinds if kind.startswith("number ")), None)


def _score_at(said: Sequence[Word], at: int) -> tuple[float, int] | None:
    """Return the score that starts with the number at token ``at``, and its end.

    "7", "7/10" and "7 out of 10" are scores; "7-8", "7 to 8", "7 %", "7 boxes", "-7" and "7/5" are
    not.
    """
    number, before = _number(said[at]), said[at - 1] if at else None
    if number is None or not 0 <= number <= GREATEST:
        return None
    earlier = said[at - 2] if at > 1 else None
    if before and before.text == "-" and before.end < said[at].start:  # "Score - 7"
        before = None if earlier and earlier.kinds & {"score", "answer"} else before
    if before and (before.text in _OPEN - {"=", "~"} or "bounds" in before.kinds):
        return None
    if before and before.text in ("=", "~") and earlier and earlier.text in _OPEN:
        return None
    after = said[at + 1 : at + 3]
    if not after:
        return number, at + 1
    if after[0].text == "/":
        return (number, at + 3) if len(after) > 1 and after[1].number == GREATEST else None
    if "points" in after[0].kinds and "other scale" not in after[0].kinds:
        return number, at + 2
    dash = after[0].text == "-" and said[at].end < after[0].start
    if dash and len(after) > 1 and after[1].number is None:
        return number, at + 1
    other = after[0].kinds & {"other scale", "supposes"} or _number(after[0]) is not None
    return None if other or after[0].text in _OPEN else (number, at + 1)


def with_orders(said: Sequence[Word], n_options: int) -> list[Word]:
    """Return the tokens with each order of all options as one token: "BCA", "B > C > A", "B, then
    C, then A".

    Its kind is ``order``, with "compared" if more than commas links the options, and "upward" if
    "<" does.
    """
    out, at = list[Word](), 0
    said = _without_notes(said)
    if len(said) == 1 and is_whole(said[0].text.upper(), n_options):
        said[0].letters = said[0].text.upper()
    while at < len(said):
        end = _end_of_chain(said, at) if said[at].option else at + 1
        links = [token for token in said[at:end] if not token.option]
        letters = _letters(said[at:end], links, n_options) if said[at].option else said[at].letters
        if is_whole(letters, n_options):
            upward = any(set(token.text) == {"<"} for token in links)
            compared = not said[at].option or any(
                token.text[0] in ">-<=→" or token.kinds & {"then", "better", "beats"}
                for token in links
            )
            downward = any(token.text[0] == ">" for token in links)
            flags = {
                "spelt": not said[at].option,
                "compared": compared,
                "upward": upward,
                "downward": downward,
            }
            kinds = {"order", *(flag for flag, holds in flags.items() if holds)}
            order = letters[::-1] if upward else letters
            out.append(
                Word(order, said[at].start, said[end - 1].end, frozenset(kinds), letters=order)
            )
        else:
            out += said[at:end]
        at = end
    return out


def _without_notes(said: Sequence[Word]) -> Sequence[Word]:
    """Return the tokens without "(best)" beside the first option and "(worst)" beside the last;
    "(B)" becomes "B".
    """
    options = [at for at, token in enumerate(said) if token.option]
    dropped: set[int] = set()
    for at in range(1, len(said) - 1) if options else ():
        if (said[at - 1].text, said[at + 1].text) != ("(", ")"):
            continue
        first, last = at - 2 <= options[0] <= at + 2, at - 2 <= options[-1] <= at + 2
        noted = ("best" in said[at].kinds and first) or ("worst" in said[at].kinds and last)
        dropped |= {at - 1, at + 1} if said[at].option else {at - 1, at, at + 1} if noted else set()
    return [token for at, token in enumerate(said) if at not in dropped]


def is_whole(letters: str, n_options: int) -> bool:
    """Return whether the letters name each option once."""
    return "".join(sorted(letters)) == "ABCDEFGH"[:n_options]


def _end_of_chain(said: Sequence[Word], at: int) -> int:
    """Return the end of the chain of options that begins at token ``at``."""
    end = at + 1
    for after in range(at + 1, len(said)):
        token = said[after]
        if token.option:
            end = after + 1
        elif token.text not in _LINKS and set(token.text) != {"<"}:
            compares = (
                "better" in token.kinds
                and after + 1 < len(said)
                and said[after + 1].text in ("than", "to")
            )
            leads = end == at + 1 and token.kinds & {"ranking", "best", "place 1"}
            if not (compares or leads or token.kinds & {"then", "and", "is", "beats"}):
                break
    return end


def _letters(chain: Sequence[Word], links: Sequence[Word], n_options: int) -> str:
    """Return the options of a chain in order; nothing if its links contradict one another."""
    signs = {token.text[0] for token in links}
    kinds = frozenset[str]().union(*(token.kinds for token in links))
    mixed = ">" in signs and "," in signs
    listed = kinds & {"better", "beats"} and "and" in kinds and "," not in signs
    if (
        mixed
        or listed
        or ("<" in signs and signs != {"<"})
        or ("better" in kinds and "as a whole" not in kinds)
    ):
        return ""
    named = [token.option for token in chain if token.option]
    return "".join(letter for n, letter in enumerate(named) if n == 0 or named[n - 1] != letter)


def direction_of(said: Iterable[Word]) -> str:
    """Return "down" if words say best first, "up" if worst first, "?" if they only blame, and
    otherwise nothing.
    """
    kinds = frozenset[str]().union(*(token.kinds for token in said))
    if "best first" in kinds or "worst first" in kinds:
        return (
            "?"
            if {"best first", "worst first"} <= kinds
            else "down"
            if "best first" in kinds
            else "up"
        )
    return "?" if kinds & {"worst", "worse", "last", "blame"} else ""
