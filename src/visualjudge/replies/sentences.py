"""Sentences: one that is nothing but a choice or a score, one that takes an answer
back, and one that declines.
"""

from collections.abc import Iterable, Sequence
from itertools import islice, pairwise

from visualjudge.replies.marks import Mark
from visualjudge.replies.values import GREATEST, Value, without_scale
from visualjudge.replies.words import Asked, Word, holds, may_hold, plain, words

LONGEST_PARAGRAPH = 2_000
LONGEST_REFUSAL = 1_000
_STOPS = frozenset(".!?\n")
_ENDS_OF_CLAIMS = frozenset(",;(")
_BESIDE = ("noun", "filler", "is", "so", "final")
_CHOOSES = (
    "chooses",
    "better",
    "is better",
    "wins",
    "choice",
    "beats",
    "so",
    "answer",
)
_RATES = ("rates", "score", "so")
_LIMITS = ("if", "supposes", "but", "worse", "blames", "retracts")


def sentences(
    text: str,
    asked: Asked,
    start: int,
    end: int | None = None,
) -> list[list[Word]]:
    """Return the sentences between two positions, at most ``LONGEST_PARAGRAPH``
    characters."""
    last = min(start + LONGEST_PARAGRAPH, end or len(text))
    spoken = words(text, asked, start, last)
    ends = [n for n, word in enumerate(spoken, 1) if word.text in _STOPS]
    return [spoken[a:b] for a, b in pairwise([0, *ends, len(spoken)]) if a < b]


def retracts(phrases: Iterable[Sequence[Word]]) -> bool:
    """Return whether one of the first two words of a sentence takes back what stands
    before."""
    for sentence in phrases:
        begins = islice(
            (word for word in sentence if word.text[0].isalnum()), 2
        )
        if holds(begins, "retracts"):
            return True
    return False


def read_sentences(phrases: Sequence[Sequence[Word]], asked: Asked) -> Mark:
    """Return the answer that plain sentences agree on, or the cause why there is
    none."""
    claims = list[Mark]()
    cause = "no answer"
    for sentence in phrases:
        if retracts([sentence]):
            claims = []
        if any(word.option for word in sentence) and holds(
            sentence, "supposes", "if"
        ):
            cause = "hedge"
        claim = _claim(sentence, asked)
        if claim is not None:
            claims.append(claim)
        elif claims and _prefers_another(sentence, claims[-1].value):
            claims.append(Mark(None, "several answers"))
    if len({claim.value for claim in claims}) == 1:
        return claims[-1]
    return Mark(None, "several answers" if claims else cause)


def _prefers_another(sentence: Sequence[Word], value: Value | None) -> bool:
    another = any(word.option not in ("", value) for word in sentence)
    return another and holds(sentence, *_CHOOSES)


def _claim(sentence: Sequence[Word], asked: Asked) -> Mark | None:
    """Return what a sentence states if each of its words is one that a choice or a
    score is made of.
    """
    own = [
        word
        for word in without_scale(sentence, asked)
        if word.text not in _STOPS
    ]
    if sentence[-1].text == "?" or asked.kind == "ranking":
        return None
    first = next(
        (n for n, word in enumerate(own) if _answers(word, asked)), None
    )
    if first is None:
        return None
    ends = (
        n
        for n, word in enumerate(own)
        if n > first and (word.text in _ENDS_OF_CLAIMS or word.of("because"))
    )
    end = next(ends, len(own))
    if holds(own[end:], *_LIMITS):
        return None
    if asked.kind == "scoring":
        return _score(own, first, end)
    return _choice(own, first, end)


def _answers(word: Word, asked: Asked) -> bool:
    return (
        word.number is not None
        if asked.kind == "scoring"
        else bool(word.option)
    )


def _score(own: Sequence[Word], first: int, end: int) -> Mark | None:
    number = own[first].number
    single = all(word.number in (None, GREATEST) for word in own[first + 1 :])
    scored = all(
        word.number is not None
        or word.of(*_BESIDE, *_RATES, "points", "of ten")
        for word in own[:end]
        if word.text not in ",:/"
    )
    if number is None or number > GREATEST or not (single and scored):
        return None
    if not holds(own[:end], *_RATES):
        return None
    return Mark(
        number,
        None,
        own[0].start,
        own[end - 1].end,
        "sentence",
    )


def _choice(own: Sequence[Word], first: int, end: int) -> Mark | None:
    """Return the option that a claim names first; another may only follow "than"."""
    option = own[first].option
    than = False
    for word in own[:end]:
        than = than or word.of("than", "beats")
        if word.option:
            allowed = word.option == option or than
        else:
            allowed = word.text in ",:" or word.of("than", *_BESIDE, *_CHOOSES)
        if not allowed or word.of(*_LIMITS):
            return None
    explained = holds(own[end : end + 2], "because")
    if not explained and any(
        word.option not in ("", option) for word in own[end:]
    ):
        return None
    if not holds(own[:end], *_CHOOSES):
        return None
    return Mark(
        option,
        None,
        own[0].start,
        own[end - 1].end,
        "sentence",
    )


def is_refusal(text: str) -> bool:
    """Return whether any sentence declines ("cannot … help", a policy); indecision is
    none."""
    begin = plain(text[:LONGEST_REFUSAL])
    return may_hold(begin, "cannot", "declines") and any(
        map(_declines, sentences(begin, Asked("", ""), 0))
    )


def _declines(sentence: Sequence[Word]) -> bool:
    cannot = (n for n, word in enumerate(sentence) if word.of("cannot"))
    at = next(cannot, len(sentence))
    after = {kind for word in sentence[at:] for kind in word.kinds}
    sorry = bool(after) and holds(sentence[:at], "sorry")
    helps = (sorry or "helps" in after) and "undecided" not in after
    return helps or holds(sentence, "declines")
