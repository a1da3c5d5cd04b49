"""Read a reply: its value, or the cause why it has none."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, cast

from visualjudge.core.finish_reasons import finish_of
from visualjudge.core.records import (
    FAILED,
    LETTERS,
    QuestionType as QuestionType,
)
from visualjudge.core.untrusted import BOUNDS
from visualjudge.options import Tiers
from visualjudge.replies.lines import best_first, read_lines
from visualjudge.replies.marks import Mark, marks_of, statements
from visualjudge.replies.sentences import (
    LONGEST_PARAGRAPH,
    is_refusal,
    read_sentences,
    retracts,
    sentences,
)
from visualjudge.replies.stripped_text import without_markup, without_thoughts
from visualjudge.replies.values import BOTH_BAD, TIE
from visualjudge.replies.words import Asked, plain

Status = Literal["ok", "unparseable", "refusal", "truncated", "api_error"]
Cause = Literal[
    "tie",
    "several answers",
    "unknown option",
    "incomplete",
    "no answer",
    "hedge",
    "other scale",
    "cut",
    "declined",
    "failed call",
    "too long",
]
_TOP = re.compile(
    r"(?:out of|/|max(?:imum)?\b:?|\d ?-|\d to) ?(?:a )?(?:possible )?(\d+)\b(?!\.\d)"
)
_SCALE = re.compile(
    r"scale\b[^\n\d]{0,20}\d+\s*(?:-|to|–)\s*(\d+)\b|\d-(\d+) scale", re.I
)
_ITEM = re.compile(r" *\d{1,2}[.)] ")
# Maximum number of characters; a longer reply is not read.
LONGEST_REPLY = BOUNDS["reply"].size
LONGEST_AFTER = 2_000
NEAR = 40
SHORT = 60


@dataclass(frozen=True, slots=True)
class Reading:
    """Result of reading a reply.

    ``value`` is a letter, a string of letters, a number from 0 to 10, ``"tie"`` or
    ``"both_bad"`` where these are allowed, or ``"Failed"``; ``status`` is the kind of
    failure and ``cause`` the reason. ``span`` is the position of the answer in the
    reply (characters, end exclusive), ``rule`` the rule that read it, and ``read_by``
    the tier: ``"marked"`` (JSON, boxes, "Answer: B", a line that is only the answer) or
    ``"prose"`` (sentences).
    """

    value: str | float
    status: Status
    cause: Cause | None = None
    span: tuple[int, int] | None = None
    rule: str | None = None
    read_by: Literal["marked", "prose"] | None = None


_ENDED = {
    "error": Reading(FAILED, "api_error", "failed call"),
    "length": Reading(FAILED, "truncated", "cut"),
    "refusal": Reading(FAILED, "refusal", "declined"),
}


def read_reply(
    text: str,
    question_type: QuestionType,
    n_options: int = 2,
    *,
    finish_reason: str = "stop",
    ties: Collection[str] = (),
    names: Mapping[str, str] = MappingProxyType({}),
    read: Tiers = "all",
) -> Reading:
    """Return the value that a reply states.

    Parameters
    ----------
    text
        The reply as received, including thoughts and markup.
    question_type, n_options
        ``"pairwise"``, ``"ranking"`` or ``"scoring"``, and the number of options in a
        ranking.
    finish_reason
        Why the reply ended, in any provider's words; a reply that was cut is never
        read.
    ties
        The answers among ``"tie"`` and ``"both_bad"`` that the question allows.
    names
        Other words of the answers, such as ``{"left": "A", "right": "B"}`` or ``{"C":
        "tie"}``.
    read
        ``"marked"``: do not read sentences.

    Examples
    --------
    >>> import visualjudge as vj
    >>> vj.read_reply("Option A misses the dog, so I prefer B.", "pairwise").value
    'B'
    """
    letters = {"pairwise": "AB", "ranking": LETTERS[:n_options], "scoring": ""}
    if question_type not in letters:
        raise ValueError(
            f"question_type must be one of {[*letters]}, got {question_type!r}"
        )
    return _ENDED.get(finish_of(finish_reason)) or (
        _read if len(text) <= SHORT else _read.__wrapped__
    )(
        text,
        question_type,
        letters[question_type],
        tuple(names.items()),
        tuple(ties),
        read == "all",
    )


@lru_cache(1024)
def _read(
    text: str,
    kind: str,
    letters: str,
    names: tuple[tuple[str, str], ...],
    ties: tuple[str, ...],
    prose: bool,
) -> Reading:
    """Most replies of a run that are short are the same few."""
    if len(text) > LONGEST_REPLY:
        return Reading(FAILED, "unparseable", "too long")
    spoken = without_thoughts(text)
    asked = Asked(
        kind, letters, {name.lower(): answer for name, answer in names}
    )
    mark = answer_in(spoken, asked, prose=prose)
    refused_tie = mark.value in (TIE, BOTH_BAD) and mark.value not in ties
    if mark.value is not None and not refused_tie:
        return Reading(
            mark.value,
            "ok",
            span=(mark.start, mark.end),
            rule=mark.rule,
            read_by="prose" if mark.prose else "marked",
        )
    if not refused_tie and is_refusal(spoken):
        return Reading(FAILED, "refusal", "declined")
    cause = "cut" if text.strip() and not spoken.strip() else mark.cause
    return Reading(
        FAILED, "unparseable", "tie" if refused_tie else cast("Cause", cause)
    )


def answer_in(spoken: str, asked: Asked, *, prose: bool = True) -> Mark:
    """Return the answer of a reply without its thoughts; without a value, it has a
    cause."""
    clean = plain(without_markup(spoken))
    end = len(clean.rstrip())
    begin = clean.rfind("\n\n", 0, end)
    mark = _in_marks(spoken, clean, asked, begin)
    if mark.value is not None:
        mark = _unless_retracted(clean, mark, asked)
    elif prose and mark.cause == "no answer":
        begin = max(begin, end - LONGEST_PARAGRAPH, 0)
        mark = replace(
            read_sentences(sentences(clean, asked, begin), asked), prose=True
        )
    if (
        asked.kind == "scoring"
        and mark.value is not None
        and _other_scale(clean, mark)
    ):
        return replace(mark, value=None, cause="other scale")
    return best_first(clean, mark, asked) if asked.kind == "ranking" else mark


def _in_marks(
    spoken: str, clean: str, asked: Asked, last_paragraph: int
) -> Mark:
    """Return the answer of marks and lines; labels before the last paragraph are looked
    for only where it holds no mark that decides."""
    marked = list[tuple[Mark, bool]]()
    until = len(clean)
    for since in dict.fromkeys((last_paragraph, -1)):
        marked = statements(clean, asked, since, until) + marked
        until = since
        marks = marks_of(
            spoken, clean, [mark for mark, _ in marked], asked, since
        )
        if (mark := _last(clean, marks, asked, since)) is not None:
            return mark
    if marks:
        return replace(marks[-1], cause="unknown option")
    alone = [mark for mark, whole in marked if whole]
    return read_lines(spoken, clean, alone, asked) or Mark(None, "no answer")


def _other_scale(clean: str, mark: Mark) -> bool:
    """Return whether a scale that does not end at ten is named within a score, behind
    it, or before it as "the scale is 1 to 5"."""
    line = clean[mark.end : mark.end + NEAR].partition("\n")[0]
    before = clean[max(0, mark.start - LONGEST_AFTER) : mark.start]
    return any(
        top != "10"
        for top in (
            *_TOP.findall(clean[mark.start : mark.end] + line),
            *filter(None, sum(_SCALE.findall(before), ())),
        )
    )


def _last(
    clean: str, marks: list[Mark], asked: Asked, since: int
) -> Mark | None:
    """Return the last mark, unless another in its paragraph differs and nothing took it
    back; a mark in a numbered list may be one of a list of all answers. None where that
    begins before ``since``."""
    deciding = [mark for mark in marks if mark.value is not None or mark.cause]
    if not deciding:
        return None
    last = deciding[-1]
    line = clean.rfind("\n", 0, last.start) + 1
    answer = (last.value, last.cause)
    listed = _ITEM.match(clean, line, last.start)
    begin = -1 if listed else clean.rfind("\n\n", 0, last.start)
    if begin < since:
        return None
    rivals = [
        mark
        for mark in deciding
        if mark.start > begin and (mark.value, mark.cause) != answer
    ]
    final = (
        asked.kind == "scoring"
        and last.final
        and not any(mark.final for mark in rivals)
    )
    if (
        not rivals
        or final
        or retracts(sentences(clean, asked, rivals[-1].end, last.end))
    ):
        return last
    return replace(last, value=None, cause="several answers")


def _unless_retracted(clean: str, mark: Mark, asked: Asked) -> Mark:
    """Return the answer, unless the text after it takes it back or prefers another."""
    after = sentences(clean, asked, mark.end, mark.end + LONGEST_AFTER)
    later = read_sentences(after, asked)
    if retracts(after) and later.value is not None:
        return replace(later, prose=True)
    differs = retracts(after) or later.value not in (None, mark.value)
    return (
        replace(mark, value=None, cause="several answers") if differs else mark
    )
