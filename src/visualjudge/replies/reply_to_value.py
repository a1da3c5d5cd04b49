"""Read a reply: its value, or the cause why it has none."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from visualjudge.core.finish_reasons import finish_of
from visualjudge.replies.marked_answers import read_marks
from visualjudge.replies.phrases import listed
from visualjudge.replies.prose_answers import read_sentences
from visualjudge.replies.read_value import Said
from visualjudge.replies.refusals import is_refusal
from visualjudge.replies.sentences import has, sentences
from visualjudge.replies.stripped_text import without_echo, without_markup, without_thoughts
from visualjudge.replies.tokens import plain, tokens
from visualjudge.replies.value_tokens import other_scale

QuestionType = Literal["pairwise", "ranking", "scoring"]
Status = Literal["ok", "unparseable", "refusal", "truncated", "api_error"]
Tier = Literal["marked", "prose"]
Tiers = Literal["all", "marked"]
Cause = Literal[
    "tie",
    "several answers",
    "incomplete",
    "no answer",
    "hedge",
    "other scale",
    "cut",
    "declined",
    "failed call",
    "too long",
    "too slow to read",
]
FAILED = "Failed"
TIE, BOTH_BAD = "tie", "both_bad"
TYPES = ("pairwise", "ranking", "scoring")


@dataclass(frozen=True, slots=True)
class Reading:
    """Result of reading a reply.

    ``value`` is a letter, a string of letters, a number from 0 to 10, ``"tie"`` or ``"both_bad"``
    where these are allowed, or ``"Failed"``; ``status`` is the kind of failure and ``cause`` the
    reason. ``span`` is the position of the answer in the reply (characters, end exclusive),
    ``rule`` the rule that read it, and ``read_by`` the tier: ``"marked"`` (JSON, boxes, "Answer:
    B", a line that is only the answer) or ``"prose"`` (sentences).
    """

    value: str | float
    status: Status
    cause: Cause | None = None
    span: tuple[int, int] | None = None
    rule: str | None = None
    read_by: Tier | None = None


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
    question_type
        ``"pairwise"``, ``"ranking"`` or ``"scoring"``.
    n_options
        Number of options in a ranking.
    finish_reason
        ``"length"`` makes any reply ``truncated``, because the missing part might change the
        answer. ``"refusal"`` makes it a refusal.
    ties
        The answers among ``"tie"`` and ``"both_bad"`` that the question allows. A tie that is not
        allowed is ``unparseable`` with cause ``"tie"``.
    names
        Names of the options in the prompt besides their letters, such as ``{"left": "A", "right":
        "B"}``. Such a word counts after "the", after a colon and at the beginning of a line.
    read
        ``"marked"``: do not read sentences.

    Returns
    -------
    Reading
        The last answer that is marked as such (JSON, ``\\boxed{B}``, ``[[B]]``, "Answer: B", a line
        that is only the answer), or else the answer of the sentences by the phrases of
        ``phrases.yaml``. Contradictory answers give none.

    Examples
    --------
    >>> import visualjudge as vj
    >>> vj.read_reply("Option A misses the dog, so I prefer B.", "pairwise").value
    'B'
    >>> vj.read_reply("It could be 3 or 7.", "scoring").status
    'unparseable'
    """
    if question_type not in TYPES:
        raise ValueError(f"question_type must be one of {', '.join(TYPES)}, got {question_type!r}")
    finish = finish_of(finish_reason)
    if finish == "error":
        return Reading(FAILED, "api_error", "failed call")
    if finish == "length":
        return Reading(FAILED, "truncated", "cut")
    if finish == "refusal":
        return Reading(FAILED, "refusal", "declined")
    spoken = without_echo(without_thoughts(text))
    spoken = _lettered(spoken, names) if names else spoken
    said = _read(spoken, question_type, n_options, marked_only=read == "marked")
    span = (said.start, said.end)
    if said.value in (TIE, BOTH_BAD) and said.value not in ties:
        return Reading(FAILED, "unparseable", "tie", span, said.rule)
    if said.value is not None:
        return Reading(
            said.value, "ok", None, span, said.rule, "marked" if said.marked else "prose"
        )
    if is_refusal(spoken):
        return Reading(FAILED, "refusal", "declined")
    if not spoken.strip() and text.strip():
        return Reading(FAILED, "unparseable", "cut")
    cause = (
        "other scale"
        if question_type == "scoring" and other_scale(plain(spoken), 0, len(spoken))
        else said.cause
    )
    return Reading(FAILED, "unparseable", cause)  # type: ignore[arg-type]


def _read(text: str, question_type: QuestionType, n_options: int, *, marked_only: bool) -> Said:
    """Read the marks, unless later words retract them, or else lines and sentences."""
    clean = plain(without_markup(text))
    said = read_marks(text, question_type, n_options)
    if said is None:
        said = read_sentences(clean, question_type, n_options, marked_only=marked_only)
    elif (
        said.value is not None
        and (again := _taken_back(clean, said.end, question_type, n_options)) is not None
    ):
        later = _read(text[again:], question_type, n_options, marked_only=marked_only)
        if later.value is None:
            return Said(None, "several answers")
        return replace(later, start=again + later.start, end=again + later.end)
    if (
        said.value is not None
        and question_type == "scoring"
        and other_scale(clean, said.start, said.end)
    ):
        return Said(None, "other scale")
    if (
        said.marked
        and said.value is not None
        and question_type == "ranking"
        and not said.turned
        and _from_worst(clean, said)
    ):
        return Said(None, "several answers")
    return said


def _taken_back(text: str, end: int, question_type: QuestionType, n_options: int) -> int | None:
    """Return the start of a sentence after a mark that retracts it."""
    rest = text[end : end + 2_000]
    for sentence in sentences(rest, question_type, n_options) if rest.strip(" .\\n})]") else ():
        if sentence.takes_back() and not (
            sentence.said[0].text == "no" and sentence.said[1:2] and sentence.said[1].text != ","
        ):
            return end
    return None


def _from_worst(text: str, said: Said) -> bool:
    """Return whether the text around an order that was read as written says that it is
    worst first.
    """
    around = text[max(0, said.start - 2_000) : said.start] + " ; " + text[said.end : said.end + 500]
    own = listed(tokens(text[said.start : said.end]))
    return not has(own, "best first") and has(listed(tokens(around)), "worst first")


def _lettered(text: str, names: Mapping[str, str]) -> str:
    """Replace each name of A by "A's", padded to keep the length of the text."""
    letters = {name.lower(): f"{letter}'s"[: len(name)] for name, letter in names.items()}
    words = "|".join(sorted(map(re.escape, letters), key=len, reverse=True))
    before = (
        r"\bthe (?:(?:one|image|option|prediction) on the )?|[:{\[>] ?[*(\"']{0,3}|^[ *(\"'>-]*"
    )
    named = re.compile(rf"({before})({words})(?![\w-])", re.I | re.M)
    return named.sub(
        lambda m: re.sub(r"\w", " ", m[1]) + letters[m[2].lower()].ljust(len(m[2])), text
    )
