"""Answers in marks: boxes, tags, brackets, JSON objects, labels ("Answer: B") and
"7/10"."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from visualjudge.replies.json_answers import answers
from visualjudge.replies.values import BREAKS, Value, is_label, stated
from visualjudge.replies.words import (
    TOKEN,
    Asked,
    Word,
    holds,
    known_words,
    lists,
    plain,
    source,
    words,
)

LONGEST_HEAD = 90
NEAR = 40
SHORT = 80
MOST_SENTENCES = 1_000
MOST_MARKS = 100
_BOX = re.compile(
    r"\\(?:boxed|fbox|framebox)\s*\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\}){0,400})\}"
)
_BEGUN_BOX = re.compile(r"<\|begin_of_box\|>(.{0,400}?)<\|end_of_box\|>", re.S)
# A tag may be open at the end, where the stop word of the request was the closing one.
_TAG = re.compile(r"<([A-Za-z_]{3,14})>([^<]{1,400})(?=<|\Z)")
_BRACKETS = re.compile(
    r"\[\[([^\[\]\n]{1,60})\]\]|\[([AB] ?[>=~<]{1,2} ?[^\[\]\n]{1,14})\]"
)
_BRACKETED_ORDER = re.compile(r"\[\[(?![^\]]{121})([^\n]{1,120})\]\]")
_FRAMES = {
    _BOX: "box",
    _BEGUN_BOX: "box",
    _TAG: "tag",
    _BRACKETS: "brackets",
    _BRACKETED_ORDER: "brackets",
}
# Lists whose words may stand behind an answer: a noun, a reason, a scale, a link of an
# order.
_FOLLOWING = frozenset(
    [
        "noun",
        "because",
        "so",
        "than",
        "then",
        "best",
        "worst",
        "first",
        "second",
        "place",
        "to",
    ]
).union(["middle", "points", "of ten"])
_OUT_OF_TEN = re.compile(
    r"\d(?<![\d.,/(-]\d)\d?(?:[.,]\d+)? ?(?:/|out of|von|sur|из) ?10\b(?![.,/]?\d)"
)
# A comma ends a sentence where a label follows it: "…, answer: B".
_SENTENCE = re.compile(
    r"(?:\.(?=\d))?(?:[^\n.!?;,。！？]+|,(?! \w{2}[^\n,.!?;:]{1,40}:))+"
    r"(?:[.!?;](?!\s)[^\n.!?;。！？]*)*[.!?;,。！？]*"
)
_ITEM = re.compile(r"\s*\d+\S\s* ")
_ENDS = re.compile(r"[ .|-]*(?=\n|\Z)")
_SAYS = re.compile(
    r"[A-Z\d](?:(?<=\d)|(?<![A-Za-z\u00c0-\u1fff\d].)[A-E]{0,4}(?![A-Za-z\u00c0-\u1fff\d]))"
)


@dataclass(frozen=True, slots=True)
class Mark:
    """An answer at characters ``start`` to ``end``; without a value, ``cause`` says
    why.

    ``final`` outranks others of its paragraph; ``prose`` is the tier.
    """

    value: Value | None
    cause: str | None
    start: int = 0
    end: int = 0
    rule: str = ""
    final: bool = False
    prose: bool = False


def marks_of(
    text: str, clean: str, earlier: Sequence[Mark], asked: Asked, since: int
) -> list[Mark]:
    """Return every mark that ends behind ``since`` and says something of the options,
    in order.

    ``clean`` is the same text without markup, at the same positions, ``earlier`` its
    statements. A box with a letter of no option has neither value nor cause: it may be
    mathematics.
    """
    objects = answers(text, asked.kind)
    labelled = [mark for mark in earlier if mark.rule == "label"]
    labelled += (
        _out_of_ten(clean, asked, since) if asked.kind == "scoring" else ()
    )
    for start, end, opened, closed, rule in _framed(text, asked, since):
        statement = stated(words(clean, asked, opened, closed), asked)
        if statement is not None:
            cause = (
                None
                if rule == "box" and statement.cause == "unknown option"
                else statement.cause
            )
            labelled.append(Mark(statement.value, cause, start, end, rule))
    labelled = [
        mark
        for mark in labelled
        if not any(a <= mark.start < b for _, a, b in objects)
    ]
    for answer, start, end in objects:
        if (
            statement := stated(words(plain(answer), asked), asked)
        ) is not None:
            labelled.append(
                Mark(statement.value, statement.cause, start, end, "JSON")
            )
    labelled.sort(key=lambda mark: (mark.end, mark.start))
    ends = [0, *(mark.end for mark in labelled)]
    return [
        m
        for m, end in zip(labelled, ends, strict=False)
        if not _denied(clean, m, end, asked)
    ]


def _framed(
    text: str, asked: Asked, since: int
) -> Iterator[tuple[int, int, int, int, str]]:
    """Yield boxes, tags and brackets (start, end, start and end of the content, rule):
    the last of each, because a reply may repeat one without end."""
    for form, rule in _FRAMES.items():
        if form is (_BRACKETS if asked.kind == "ranking" else _BRACKETED_ORDER):
            continue
        for frame in list(form.finditer(text))[-MOST_MARKS:]:
            if frame.end() > since and (
                rule != "tag" or frame[1].lower() in source()["tags"]
            ):
                yield *frame.span(), *frame.span(frame.lastindex or 1), rule


def _spans(clean: str, asked: Asked, line: int) -> list[tuple[int, int]]:
    """Return where sentences from a line on begin and end, without numbers of lists and
    rules of tables."""
    numbered = asked.kind == "scoring" or bool(asked.names)
    beside = " .:-|" if numbered else " .:-|0123456789"
    spans = [
        sentence.span() for sentence in _SENTENCE.finditer(clean, max(line, 0))
    ]
    return [
        (begin, end)
        for begin, end in spans[:-MOST_SENTENCES][:100]
        + spans[-MOST_SENTENCES:]
        if clean[begin:end].strip(beside)
        and not (numbered and _ITEM.fullmatch(clean, begin, end + 1))
    ]


def statements(
    clean: str, asked: Asked, since: int, until: int
) -> list[tuple[Mark, bool]]:
    """Return the sentences that begin between two positions and are an answer, or a
    label and an answer (rule ``label``), each with whether it is a whole line; a label
    on a line of its own belongs to the next line.
    """
    spans = _spans(
        clean, asked, clean.rfind("\n", 0, len(clean[: max(since, 0)].rstrip()))
    )
    if since >= 0 and not (spans and spans[0][0] < since):
        spans = _spans(clean, asked, 0)
    statements_made = list[tuple[Mark, bool]]()
    label = list[Word]()
    first = max(0, bisect_left(spans, (since, 0)) - 1)
    for begin, end in spans[first : bisect_left(spans, (until, 0))]:
        phrase = answering(clean, asked, begin, end)
        answer = stated([*label, *phrase], asked) if phrase else None
        if answer is not None and begin > since:
            before = clean[clean.rfind("\n", 0, begin) + 1 : begin]
            labelled = answer.labelled and (answer.bare or not label)
            if labelled or not any(word.text == ":" for word in answer.led_by):
                start = answer.led_by[0].start if labelled else answer.start
                place = start, answer.end, "label" if labelled else "line"
                final = holds(answer.led_by, "final")
                alone = (
                    answer.bare
                    and not before.strip(" .|-")
                    and _ENDS.match(clean, end)
                )
                statements_made.append(
                    (
                        Mark(answer.value, answer.cause, *place, final),
                        bool(alone),
                    )
                )
        label = (
            [*phrase, Word("\n", end, end)]
            if phrase and is_label(phrase, asked)
            else []
        )
    return statements_made


def answering(clean: str, asked: Asked, begin: int, end: int) -> list[Word]:
    """Return the words of a sentence, or nothing where those around its first letter or
    number show at once that it is no answer."""
    says = _SAYS.search(clean, begin, min(end, begin + LONGEST_HEAD))
    reached = says.end() if says else end
    if (says is None and end - begin > SHORT) or clean[
        reached : reached + 2
    ].lower() == "'s":
        return []
    after = TOKEN.search(clean, reached, end)
    if after is not None and not (
        _may_follow(after[1]) or (says and says[0] == "I")
    ):
        return []
    known = all(
        _is_known(token[1]) or token[1].lower() in asked.names
        for token in TOKEN.finditer(clean, begin, says.start() if says else end)
    )
    return words(clean, asked, begin, min(end, reached + NEAR)) if known else []


@lru_cache(4096)
def _may_follow(part: str) -> bool:
    odd = (
        len(part) < 2 or not part.isalpha() or part in ("or", "and", "percent")
    )
    return odd or bool(
        lists().get(part.lower(), {"": set()}).get("", _FOLLOWING) & _FOLLOWING
    )


@lru_cache(4096)
def _is_known(part: str) -> bool:
    """Return whether a word begins an entry of a list, or is a letter or a mark."""
    return (
        len(part) < 2
        or not part.isalpha()
        or part.lower() in known_words()
        or set(part) <= set("ABCDE")
    )


def _out_of_ten(clean: str, asked: Asked, since: int) -> Iterator[Mark]:
    """Yield "7/10" where it is neither a share of things nor the score of one
    quality."""
    late = (
        fraction
        for fraction in _OUT_OF_TEN.finditer(clean)
        if fraction.end() > since
    )
    for fraction in list(late)[-MOST_MARKS:] if "10" in clean else ():
        begin = max(
            clean.rfind("\n", 0, fraction.start()) + 1,
            fraction.start() - LONGEST_HEAD,
        )
        before = words(clean, asked, begin, fraction.start())
        clause = max(
            (n for n, word in enumerate(before) if word.text in ",.;"),
            default=-1,
        )
        named = any(word.text == ":" for word in before[clause + 1 :])
        answer = stated(
            words(clean, asked, fraction.start(), fraction.end() + NEAR), asked
        )
        counted = holds(before[clause + 1 :], "counts")
        if (
            answer is not None
            and not counted
            and (not named or is_label(before[clause + 1 :], asked))
        ):
            yield Mark(
                answer.value,
                answer.cause,
                fraction.start(),
                answer.end,
                "out of ten",
            )


def _denied(clean: str, mark: Mark, after: int, asked: Asked) -> bool:
    """Return whether the words of its clause before a mark deny it: "not [[A]]", "the
    worse is"."""
    begin = max(clean.rfind("\n", 0, mark.start), mark.start - NEAR, after)
    before = words(clean, asked, begin, mark.start)
    before = before[:-1] if before[-1:] and before[-1].text == ":" else before
    bounds = [
        n
        for n, w in enumerate(before)
        if w.text in BREAKS | {"?"} or w.of("but", "so")
    ]
    clause = before[bounds[-1] :] if bounds else before
    denied = holds(clause, "denies", "worse", "blames", "supposes", "cannot")
    return denied or (mark.rule == "label" and holds(before, "if"))
