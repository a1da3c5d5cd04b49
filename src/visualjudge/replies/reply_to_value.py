"""Read a reply: its value, or the cause why it has none. How an answer is found is in
``json_answers.py``, ``marked_answers.py`` and ``statements.py``.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, Literal, cast

from visualjudge.core.errors import UsageError
from visualjudge.core.finish_reasons import finish_of
from visualjudge.core.records import (
    FAILED,
    LETTERS,
    QuestionType as QuestionType,
)
from visualjudge.core.untrusted import BOUNDS
from visualjudge.options import Tiers
from visualjudge.replies.marked_answers import (
    AROUND,
    NEAR,
    listed,
    marks_of,
    names_another,
)
from visualjudge.replies.refusals import SENTENCE, is_refusal, retracts
from visualjudge.replies.statements import Mark
from visualjudge.replies.stripped_text import without_markup, without_thoughts
from visualjudge.replies.words import BOTH_BAD, TIE, Asked, lists, plain

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
# Maximum number of characters; a longer reply is not read.
LONGEST_REPLY = BOUNDS["reply"].size
LONGEST_AFTER = 2_000


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
    text: Annotated[str, "also with half of a pair of UTF-16"],
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
    if question_type not in letters or (
        question_type == "ranking" and not 1 < n_options <= len(LETTERS)
    ):
        raise UsageError(
            f"question_type must be one of {', '.join(letters)}, got {question_type!r}; "
            f"n_options of a ranking from 2 to {len(LETTERS)}, got {n_options}"
        )
    return _ENDED.get(finish_of(finish_reason)) or (
        _read if len(text) <= NEAR else _read.__wrapped__
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
            read_by="prose" if mark.rule == "sentence" else "marked",
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
    marks = marks_of(spoken, clean, asked)
    mark = _decided(clean, marks, asked, prose=prose)
    if mark.value is None:
        return mark
    if asked.kind == "scoring" and _other_scale(clean, mark):
        return replace(mark, value=None, cause="other scale")
    if _is_taken_back(clean, mark, asked) or (
        asked.kind == "ranking" and _worst_first(clean, mark)
    ):
        return replace(mark, value=None, cause="several answers")
    return mark


def _decided(
    clean: str, marks: list[Mark], asked: Asked, *, prose: bool
) -> Mark:
    """Return the answer of marks; without any, of lines at an end of the reply; without
    any, of sentences of its last paragraph."""
    labelled = [mark for mark in marks if mark.rule not in ("sentence", "line")]
    if labelled:
        return _agreed(labelled)
    order = listed(clean, asked) if asked.kind == "ranking" else None
    if order is not None:
        return order
    bare = [mark for mark in marks if mark.rule == "line"]
    if any(
        not clean[: mark.start].strip()
        or "\n" not in clean[mark.start :].strip()
        for mark in bare[:1] + bare[-1:]
    ):
        return _agreed(bare)
    last = clean.rfind("\n\n", 0, len(clean.rstrip()))
    claims = [
        mark for mark in marks if mark.rule == "sentence" and mark.start > last
    ]
    return _agreed(claims) if claims and prose else Mark(None, "no answer")


def _agreed(marks: Sequence[Mark]) -> Mark:
    """Return the last of marks, without a value if they differ."""
    if len({(mark.value, mark.cause) for mark in marks}) > 1:
        return replace(marks[-1], value=None, cause="several answers")
    return marks[-1]


def _is_taken_back(clean: str, mark: Mark, asked: Asked) -> bool:
    """Return whether the text after an answer takes it back or prefers another."""
    after = clean[mark.end : mark.end + LONGEST_AFTER]
    return retracts(after) or any(
        names_another(sentence, mark.value, asked)
        and lists("chooses", "better", "wins", "so").within(sentence)
        for sentence in (
            SENTENCE.findall(after) if asked.kind == "pairwise" else ()
        )
    )


def _other_scale(clean: str, mark: Mark) -> bool:
    """Return whether a scale that does not end at ten is named within a score, behind
    it, or before it as "the scale is 1 to 5"."""
    line = clean[mark.end : mark.end + NEAR].partition("\n")[0]
    before = clean[max(0, mark.start - LONGEST_AFTER) : mark.start]
    after = _TOP.findall(clean[mark.start : mark.end] + line)
    return any(
        top not in ("", "10")
        for top in (*after, *sum(_SCALE.findall(before), ()))
    )


def _worst_first(clean: str, mark: Mark) -> bool:
    """Return whether words or signs around an order say worst first: the first word of
    a direction decides, "best to worst" is best first."""
    around = clean[max(0, mark.start - AROUND) : mark.end]
    around += clean[mark.end : mark.end + NEAR].partition("\n")[0]
    spans = lists("best", "worst", "rising", "falling").spans(around)
    start, end = next(spans, (0, 0))
    downward = lists("best", "falling").within(around, start, end)
    return "<" in around or (end > start and not downward)
