"""Answers in marks: boxes, tags, brackets, JSON objects, labels ("Answer: B"), lists of
options, and lines and sentences that are nothing but an answer. Short texts without a
mark are read in ``statements.py``.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from visualjudge.replies.json_answers import answers
from visualjudge.replies.statements import (
    Mark,
    Value,
    answer_pattern,
    is_label,
    is_neutral,
    stated,
)
from visualjudge.replies.words import Asked, lists, named, plain, source

MOST_MARKS = 100
NEAR = 80
AROUND = 300
"""Characters around an answer that may limit it, or state the direction of an order."""
MOST_SENTENCES = 1_000
_BRACKETS = re.compile(
    r"\[\[([^\[\]\n]{1,60})\]\]|\[([AB] ?[>=~<]{1,2} ?[^\[\]\n]{1,14})\]"
)
_BRACKETED_ORDER = re.compile(r"\[\[(?![^\]]{121})([^\n]{1,120})\]\]")
# A tag may be open at the end, where the stop word of the request was the closing one.
_FRAMES = {
    re.compile(
        r"\\(?:boxed|fbox|framebox)\s*"
        r"\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\}){0,400})\}"
    ): "box",
    re.compile(r"<\|begin_of_box\|>(.{0,400}?)<\|end_of_box\|>", re.S): "box",
    re.compile(r"<([A-Za-z_]{3,14})>([^<]{1,400})(?=<|\Z)"): "tag",
    _BRACKETS: "brackets",
    _BRACKETED_ORDER: "brackets",
}
# The period of an abbreviation ends no sentence.
_SENTENCE = re.compile(
    r"(?:\b(?:vs|e\.g|i\.e|etc|cf|resp|incl|approx|ca|max|min|no|nr|fig|bzw|z\.b)\."
    r"|[^\n.!?;]|\.(?=\d))+[.!?;]*"
)
_SHORT_LINE = re.compile(
    r"^(?=[^\n]*\w\w)([^\n]{2,60})(\s*\n)(?=[^\n–—:-]+$)", re.M
)
_LINE = re.compile(r"[^\n]+")
# A comma, a bracket or a dash ends what a sentence states; an order goes on.
_PIECE = re.compile(
    r"(?:[^,(–—-]|,(?=\d)|(?<!\s)[–—-]|[–—-](?!\s)|[–—-](?=\s*\S{1,5}\s*$))+",
    re.M,
)
# "0 to 10" beside a score
_SCALE = re.compile(r"\(?\b[01]\s?(?:[-–]|to|bis|a|à|до|到)\s?10\b\)?")
_HEADING = re.compile(r"([^\n.!;]{1,80}[^\s.!;])\s*\Z")
_ORDERED = re.compile(r"[^(]+")
_LIMITS = ("denies", "worse", "blames", "supposes", "cannot", "if")
_ITEM = re.compile(
    r"^[^\w\n]{0,8}(\d?)[^\w\n]{0,8}(?:option |image |prediction )?([A-Z])"
    r"(?=[^\w\n]*$|[^\S\n]*[:|).–—-])",
    re.M,
)


def marks_of(text: str, clean: str, asked: Asked) -> list[Mark]:
    """Return every mark that says something of the options, in order.

    ``clean`` is the same text without markup, at the same positions. A box with a
    letter of no option is left out: it may be mathematics.
    """
    objects = answers(text, asked.kind)
    marks = [*_framed(text, clean, asked), *_in_text(clean, asked)]
    marks = [
        mark
        for mark in marks
        if not any(a <= mark.start < b for _, a, b in objects)
    ]
    for answer, start, end in objects:
        content = stated(plain(answer), asked)
        if content is not None:
            marks.append(replace(content, rule="JSON", start=start, end=end))
    return sorted(marks, key=lambda mark: (mark.end, mark.start))


def _framed(text: str, clean: str, asked: Asked) -> Iterator[Mark]:
    """Yield boxes, tags and brackets: the last of each, because a reply may repeat one
    without end."""
    for form, rule in _FRAMES.items():
        if form is (_BRACKETS if asked.kind == "ranking" else _BRACKETED_ORDER):
            continue
        for frame in list(form.finditer(text))[-MOST_MARKS:]:
            if rule == "tag" and frame[1].lower() not in source()["tags"]:
                continue
            start, end = frame.span()
            content = stated(
                clean[slice(*frame.span(frame.lastindex or 1))], asked
            )
            begin = max(clean.rfind(sign, 0, start) for sign in "\n.;]") + 1
            if content is None or lists(*_LIMITS).within(clean, begin, start):
                continue
            if rule != "box" or content.cause != "unknown option":
                yield replace(content, rule=rule, start=start, end=end)


def _in_text(clean: str, asked: Asked) -> Iterator[Mark]:
    """Yield the pieces of sentences that are an answer and nothing else."""
    text = _with_labels_joined(clean, asked)
    if asked.kind == "scoring":
        text = _SCALE.sub(lambda scale: " " * len(scale[0]), text)
    form = _ORDERED if asked.kind == "ranking" else _PIECE
    forms = _LINE if asked.kind == "ranking" else _SENTENCE
    spans = list(forms.finditer(text))
    for sentence in (
        spans[:-MOST_SENTENCES][:MOST_MARKS] + spans[-MOST_SENTENCES:]
    ):
        for piece in list(form.finditer(text, *sentence.span()))[:MOST_MARKS]:
            mark = _piece(text, piece, sentence, asked)
            if mark is not None:
                yield mark


def _piece(
    text: str,
    piece: re.Match[str],
    sentence: re.Match[str],
    asked: Asked,
) -> Mark | None:
    start, end = piece.span()
    first = max(sentence.start(), start - AROUND)
    last = min(sentence.end(), end + AROUND)
    mark = stated(piece[0], asked)
    if mark is None or "?" in text[first:last]:
        return None
    behind = text[end:last].lstrip(" ,(–—-").removeprefix("the ")
    limited = (
        lists(*_LIMITS).within(text, first, start)
        or lists("if").within(behind)
        or (asked.kind == "pairwise" and lists("worse", "blames").begin(behind))
        or (mark.rule == "line" and _is_below_another(text, first, asked))
    )
    after = text[end:last].strip(" .!;)")
    goes_on = after[:1] == "," and not lists("because").begin(after, 1)
    led = text[first:start].strip(" (") or goes_on
    if mark.rule == "line" and led and not limited:
        return None
    cause = "hedge" if limited else mark.cause
    if names_another(text[end:last], mark.value, asked):
        cause = "several answers"
    return replace(
        mark,
        value=None if cause else mark.value,
        cause=cause,
        start=start,
        end=end,
    )


def _is_below_another(text: str, start: int, asked: Asked) -> bool:
    """Return whether the heading above a line asks for something else, such as
    "The loser:" or "Errors:"."""
    heading = _HEADING.search(text, max(0, start - NEAR), start)
    asks = heading[1] if heading else ""
    return lists(*_LIMITS).within(asks) or (
        asks.endswith(":") and not is_neutral(asks, asked)
    )


def names_another(after: str, value: Value | None, asked: Asked) -> bool:
    """Return whether the rest of a sentence goes on with another answer."""
    if lists("because", "than").begin(after.lstrip(" ,(–—-")):
        return False
    answer = answer_pattern(asked.letters)
    return any(other != value for other in answer.findall(named(after, asked)))


def _with_labels_joined(clean: str, asked: Asked) -> str:
    """Return the text in which a label on a line of its own is one with the next."""

    def joined(line: re.Match[str]) -> str:
        end = ":".ljust(len(line[2])) if is_label(line[1], asked) else line[2]
        return line[1] + end

    return _SHORT_LINE.sub(joined, clean)


def listed(clean: str, asked: Asked) -> Mark | None:
    """Return the order of a list below a label, or of a reply that is a numbered list
    and not in the order of the letters ("1. B: sharp")."""
    items = list(_ITEM.finditer(clean))[-len(asked.letters) :]
    order = "".join(item[2] for item in items)
    if sorted(order) != sorted(asked.letters):
        return None
    numbers = "".join(item[1] for item in items)
    counted = numbers == "123456789"[: len(order)]
    above = clean[: items[0].start()].strip().rpartition("\n")[2]
    labelled = is_label(above, asked) and (counted or not numbers)
    if labelled or (counted and not above and order != asked.letters):
        return Mark(
            order,
            None,
            "list",
            items[0].start(),
            items[-1].end(),
        )
    return None
