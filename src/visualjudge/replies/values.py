"""The value that a short text states: the content of a mark, of a label, or a line."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from visualjudge.replies.words import Asked, Word, holds

Value = str | float
# A value, or the cause why there is none, and the index of the word after it.
Found = tuple[Value | None, str | None, int] | None
TIE = "tie"
BOTH_BAD = "both_bad"
GREATEST = 10.0
# Marks that end an answer.
BREAKS = frozenset(",;:.!-–—\n(")
# Marks that may lead an answer.
_AROUND = (
    BREAKS
    | frozenset("=<>~≈→[]{}()|/'\\")
    | {"boxed", "text", "textbf", "mathrm", "->"}
)
_CLOSE = frozenset(")]}'|\\")
_SIGNS = frozenset("<>=~")
_ALSO = frozenset(
    (
        "or",
        "and",
        "/",
        "|",
        "+",
        "&",
        ",",
        "oder",
        "und",
        "ou",
        "et",
        "或",
        "和",
    )
)
_LABELS = {
    "pairwise": ("answer",),
    "choice": ("answer",),
    "ranking": ("order", "to", "foremost", "rising", "falling"),
    "scoring": ("score",),
}
_BESIDE = ("noun", "filler", "is", "so", "final", "retracts")
_OF_ORDERS = ("best", "worst", "to", "foremost", "rising", "falling", "place")
_LEADING = {
    kind: frozenset((*labels, *_BESIDE)) for kind, labels in _LABELS.items()
}
_LEADING["ranking"] |= {*_OF_ORDERS}
_BETWEEN = ("noun", "filler", "then", "middle", "first", "second")
_NOTHING = Word("")


@dataclass(frozen=True, slots=True)
class Stated:
    """A value, or the cause why what seems to be an answer has none, at characters
    ``start`` to ``end``.

    ``led_by`` are the words before it, which change no answer, and ``rest`` those
    behind it; ``labelled`` says that those before it are a label.
    """

    value: Value | None
    cause: str | None
    start: int
    end: int
    led_by: Sequence[Word]
    rest: Sequence[Word]
    labelled: bool

    @property
    def bare(self) -> bool:
        """Whether nothing but marks follows, or a reason."""
        rest = [word for word in self.rest if word.text not in ",.!;>"]
        aside = rest[:1] and (
            rest[0].text == "("
            or rest[0].of("because", "than")
            or rest[0].text == "not"
        )
        explained = (
            isinstance(self.value, float)
            and rest[:1]
            and rest[0].text in ":-–—"
        )
        blamed = holds(rest[:6], "worse", "blames")
        return not rest or (
            not blamed
            and bool(
                aside or (explained and all(w.number is None for w in rest))
            )
        )


def stated(phrase: Sequence[Word], asked: Asked) -> Stated | None:
    """Return the answer that a text states, or None if it names none.

    Only words that change no answer may lead it (labels, nouns, fillers), and it must
    end where it ends: at a mark, or before a reason.
    """
    wording = without_scale(phrase, asked)
    at = _lead(wording, asked)
    if any(word.text == "?" for word in phrase) or at is None:
        return None
    answer = {"scoring": _score, "ranking": order_of}.get(asked.kind, _letter)(
        wording[at:], asked
    )
    if answer is None:
        return None
    value, cause, stop = answer
    while at + stop < len(wording) and wording[at + stop].text in _CLOSE:
        stop += 1
    lead = wording[:at]
    rest = wording[at + stop :]
    end = wording[at + stop - 1].end
    label = next(
        (n for n, word in enumerate(lead) if word.of(*_LABELS[asked.kind])),
        len(lead),
    )
    labelled = any(
        word.text in ":=-–—→\n" or word.of("is") for word in lead[label + 1 :]
    )
    return Stated(value, cause, wording[at].start, end, lead, rest, labelled)


def is_label(phrase: Sequence[Word], asked: Asked) -> bool:
    """Return whether words are a label and nothing else."""
    rest = without_scale(phrase, asked)
    return holds(rest, *_LABELS[asked.kind]) and all(
        _may_lead(w, asked) for w in rest
    )


def _may_lead(word: Word, asked: Asked) -> bool:
    """Return whether a word before an answer changes none."""
    if (
        word.option
        or word.unknown
        or (word.number is not None and asked.kind != "ranking")
    ):
        return False
    listed = not word.kinds.isdisjoint(_LEADING[asked.kind])
    return listed or word.text in _AROUND or word.number is not None


def _lead(phrase: Sequence[Word], asked: Asked) -> int | None:
    """Return the index of the answer: the first word that is not of those that may lead
    it."""
    lead = next(
        (n for n, word in enumerate(phrase) if not _may_lead(word, asked)),
        len(phrase),
    )
    ties = (
        n for n, word in enumerate(phrase[: lead + 1]) if word.of("tie", "bad")
    )
    at = min(lead, next(ties, lead)) if asked.kind == "pairwise" else lead
    if at < len(phrase):
        before = phrase[at - 1] if at and asked.kind == "scoring" else _NOTHING
        counted = before.of("noun") and not before.of("score", "filler")
        signed = before.text in ("-", "–") and before.end == phrase[at].start
        return (
            None
            if counted or signed or before.text in ("<", ">", "<=", ">=")
            else at
        )
    # "b." and "option a": the letter may be a word that changes no answer
    last = max(
        (n for n, word in enumerate(phrase) if word.text.isalpha()), default=0
    )
    small = (
        phrase
        and len(phrase[last].text) == 1
        and phrase[last].text.upper() in asked.letters
    )
    return last if small else None


def _letter(phrase: Sequence[Word], asked: Asked) -> Found:
    first = phrase[0]
    if not first.option and first.of("tie", "bad") and asked.kind == "pairwise":
        ends = all(
            w.of("tie", "bad", "noun", "filler", "is") or w.text in BREAKS
            for w in phrase[1:]
        )
        return (
            (BOTH_BAD if first.of("bad") else TIE, None, len(phrase))
            if ends
            else None
        )
    letter = first.option or first.text.upper()
    rest = [
        word
        for word in phrase[1:]
        if word.text not in _CLOSE and (word.option or not word.of("noun"))
    ]
    if letter not in (*asked.letters, TIE, BOTH_BAD):
        return (
            (None, "unknown option", 1)
            if first.unknown and _ends(rest)
            else None
        )
    after, then = [*rest, _NOTHING, _NOTHING][:2]
    if set(after.text) <= _SIGNS and then.option and after.text:
        return _compared(letter, rest, asked)
    if after.text in _ALSO and then.option not in ("", letter):
        return None, "several answers", 2
    ends = (
        after.text != ":"
        and _ends(rest)
        and not names_another(("", letter), rest)
    )
    return (letter, None, 1) if ends else None


def _ends(rest: Sequence[Word]) -> bool:
    """Return whether an answer ends here: nothing, a mark or a reason follows."""
    after, then = [*rest, _NOTHING, _NOTHING][:2]
    closed = after.text in BREAKS or (after.text == ">" and not then.text)
    set_aside = after.of("than") and (then.option or then.of("noun", "filler"))
    return not rest or closed or bool(set_aside) or after.of("because", "so")


def names_another(named: Collection[str], rest: Sequence[Word]) -> bool:
    """Return whether the sentence goes on with another option that is not set aside:
    "A, B"."""
    ends = (
        word.text in (*".\n;", "not") or word.of("because", "than")
        for word in rest
    )
    stop = next((n for n, end in enumerate(ends) if end), len(rest))
    return any(word.option not in named for word in rest[:stop])


def _compared(letter: str, rest: Sequence[Word], asked: Asked) -> Found:
    """Return the value of "A > B", "A = B = Bad" and their like."""
    sign = rest[0].text
    other = rest[1].option
    graded = (
        len(rest) > 3
        and rest[2].text in _SIGNS
        and rest[3].text in ("good", "bad")
    )
    behind = rest[4 if graded else 2 :]
    goes_on = bool(behind) and behind[0].text not in BREAKS
    if (
        other == letter
        or len(asked.letters) > 2
        or len(set(sign)) > 1
        or goes_on
    ):
        return None, "several answers", 3
    if sign[0] in "=~":
        return (
            BOTH_BAD if graded and rest[3].text == "bad" else TIE,
            None,
            len(rest) + 1,
        )
    return letter if sign[0] == ">" else other, None, 3


def without_scale(phrase: Sequence[Word], asked: Asked) -> Sequence[Word]:
    """Return the words without the scale of a score: "(0-10)", "out of 10" before
    it."""
    for at in range(
        len(phrase) - 2
        if asked.kind == "scoring" and any(w.number == GREATEST for w in phrase)
        else 0
    ):
        low, link, high = phrase[at : at + 3]
        spans = low.number in (0, 1) and (link.text in "-–" or link.of("to"))
        ahead = low.of("of ten") and link.number == GREATEST and at < 3
        if ahead or (spans and high.number == GREATEST):
            return [*phrase[:at], *phrase[at + 3 - ahead :]]
    return phrase


def _score(phrase: Sequence[Word], _asked: Asked) -> Found:
    number = phrase[0].number
    after, then = [*phrase[1:], _NOTHING, _NOTHING][:2]
    if number is None:
        return None
    scaled = then.number is not None and (
        after.text == "/" or after.of("of ten")
    )
    at = 3 if scaled else 1
    at += sum(word.of("points") for word in phrase[at : at + 1])
    over = number > GREATEST or (scaled and then.number != GREATEST)
    after, then = [*phrase[at:], _NOTHING, _NOTHING][:2]
    if over or after.text in ("%", "/", "+", "percent"):
        return None, "other scale", at
    ranges = after.text in _ALSO or after.of("to") or after.text in "-–"
    aside = (
        any(w.number is not None for w in phrase[at : at + 8])
        and after.text == "("
    )
    if (
        aside
        or (then.number is not None and ranges)
        or "or" in [w.text for w in phrase[at : at + 2]]
    ):
        return None, "several answers", at
    return (
        (number, None, at)
        if _ends([w for w in phrase[at:] if w.text not in _CLOSE])
        else None
    )


def order_of(phrase: Sequence[Word], asked: Asked) -> Found:
    """Return the order that options and links state, as written."""
    spelt = phrase[0].text.upper()
    if sorted(spelt) == sorted(asked.letters) and not phrase[0].kinds:
        return spelt, None, 1
    stop = next(
        (n for n, word in enumerate(phrase) if not _links(word)), len(phrase)
    )
    letters = [n for n, word in enumerate(phrase[:stop]) if word.option][
        : len(asked.letters)
    ]
    if len(letters) < 2:
        return None
    at = letters[-1] + 1
    rest = [word for word in phrase[at:] if word.text not in _CLOSE]
    order = "".join(phrase[n].option for n in letters)
    signs = {
        word.text[0]
        for word in phrase[:at]
        if word.text and set(word.text) <= _SIGNS
    }
    mixed = bool(signs) and any(word.text == "," for word in phrase[:at])
    places = [word.number for word in phrase[:at] if word.number is not None]
    if places and places not in (
        [*range(1, len(order) + 1)],
        [*range(2, len(order) + 1)],
    ):
        return None
    goes_on = (
        any(w.option or w.unknown for w in rest[1:2]) and rest[0].text != "("
    )
    if any(word.unknown for word in phrase[at : stop + 1]) or (
        goes_on and rest[1].unknown
    ):
        return None, "unknown option", at
    if (
        len(set(order)) < len(order)
        or goes_on
        or signs - {">", "<"}
        or len(signs) > 1
        or mixed
    ):
        return None, "several answers", at
    if not (_ends(rest) or rest[0].of("best", "worst", "first")):
        return None
    return (
        (order, None, at)
        if len(order) == len(asked.letters)
        else (None, "incomplete", at)
    )


def _links(word: Word) -> bool:
    named = (
        word.option
        or word.number is not None
        or word.of(*_OF_ORDERS, *_BETWEEN)
    )
    return (
        bool(named)
        or word.text in _AROUND | {"and", "&"}
        or set(word.text) <= _SIGNS
    )
