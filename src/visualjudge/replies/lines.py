"""Replies, first lines and last lines that are nothing but the answer, lists of
options, and which way round an order stands.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from visualjudge.replies.marks import Mark, answering
from visualjudge.replies.values import is_label, order_of, stated
from visualjudge.replies.words import Asked, Word, may_hold, words

_LINE = re.compile(r"[^\n]+")
SHORT = 120
MOST_LINES = 200


def read_lines(
    raw: str, clean: str, alone: Sequence[Mark], asked: Asked
) -> Mark | None:
    """Return the answer of a first or last line that is nothing else; None without
    one."""
    lines = [line for line in _LINE.finditer(clean) if not line[0].isspace()]
    if (
        asked.kind == "ranking"
        and len(lines) < MOST_LINES
        and (listed := _listed(clean, lines, asked))
    ):
        return listed
    ends = [mark for mark in alone if _at_an_end(raw, lines, mark)]
    if ends and len({(mark.value, mark.cause) for mark in alone}) > 1:
        return Mark(None, "several answers")
    return ends[-1] if ends else None


def _at_an_end(raw: str, lines: Sequence[re.Match[str]], mark: Mark) -> bool:
    """Return whether a mark is on the last line, or on the first and no heading or list
    item."""
    if mark.start >= lines[-1].start():
        return True
    head, below = (
        raw[line.start() : line.end()].lstrip() for line in lines[:2]
    )
    heads = (
        head[:1] in "#-+•"
        or head[:2] == "* "
        or (below[:1] in "#-+•*" and ":" in below)
    )
    return mark.end <= lines[0].end() and not heads


def _listed(
    clean: str, lines: Sequence[re.Match[str]], asked: Asked
) -> Mark | None:
    """Return the order of a reply that is nothing else, or of a list below a label, or
    of a list of places ("1. B: sharp") that is not in the order of the letters."""
    whole = (
        stated(words(clean.strip(), asked), asked)
        if len(clean.strip()) < SHORT
        else None
    )
    if (
        whole is not None
        and whole.bare
        and whole.value
        and (whole.labelled or all(word.text != ":" for word in whole.led_by))
    ):
        at = len(clean) - len(clean.lstrip())
        return Mark(whole.value, None, at + whole.start, at + whole.end, "line")
    heads = [
        _head(
            answering(
                clean, asked, line.start(), min(line.end(), line.start() + 60)
            )
        )
        for line in lines
    ]
    items = [n for n, head in enumerate(heads) if head][-len(asked.letters) :]
    answer = (
        order_of([heads[n][-1] for n in items], asked)
        if len(items) == len(asked.letters)
        else None
    )
    places = [
        word.number
        for n in items
        for word in heads[n]
        if word.number is not None
    ]
    if (
        answer is None or answer[0] is None or places != sorted(places)
    ):  # counted down to the best
        return None
    before = lines[items[0] - 1] if items[0] else None
    labelled = before is not None and is_label(
        words(clean, asked, *before.span()), asked
    )
    numbered = all(
        any(w.number is not None or w.of("place") for w in heads[n])
        for n in items
    )
    if labelled or (numbered and before is None and answer[0] != asked.letters):
        return Mark(
            answer[0],
            None,
            heads[items[0]][-1].start,
            heads[items[-1]][-1].end,
            "list",
        )
    return None


def _head(phrase: Sequence[Word]) -> Sequence[Word]:
    """Return the words of a list item up to its option, or nothing."""
    at = next((n for n, word in enumerate(phrase) if word.option), len(phrase))
    beside = all(
        not w.text[0].isalnum() or w.number is not None or w.of("noun", "place")
        for w in phrase[:at]
    )
    ends = (
        at + 1 >= len(phrase)
        or phrase[at + 1].text in ":-–—.,;|()"
        or phrase[at + 1].of("noun")
    )
    return phrase[: at + 1] if at < len(phrase) and beside and ends else ()


# Characters around an order in which its direction may be stated.
BEFORE = 300
AFTER = 80
_DIRECTIONS = ("worst", "best", "rising", "falling")


def best_first(clean: str, mark: Mark, asked: Asked) -> Mark:
    """Return an order, without a value if words or signs around it say worst first.

    The first word of a direction decides: "best to worst" is best first, "worst first"
    is not.
    """
    if not isinstance(mark.value, str):
        return mark
    behind = clean[mark.end : mark.end + AFTER].partition("\n")[0]
    begin = max(0, mark.start - BEFORE)
    around = clean[begin : mark.end + len(behind)]
    if "<" not in around and not may_hold(around, *_DIRECTIONS):
        return mark
    directions = [
        word
        for word in words(clean, asked, begin, mark.end + len(behind))
        if word.text[0] == "<" or word.of(*_DIRECTIONS)
    ]
    upward = directions and not directions[0].of("best", "falling")
    downward = any(word.of("falling") for word in directions)
    if upward or (downward and any(word.of("rising") for word in directions)):
        return replace(mark, value=None, cause="several answers")
    return mark
