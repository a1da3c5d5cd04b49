"""From a reply to a value, or to the cause of its absence."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from visualjudge.replies.marked import read_marked
from visualjudge.replies.markup import plain as without_markup, without_echo, without_thoughts
from visualjudge.replies.phrases import again, listed
from visualjudge.replies.prose import read_prose
from visualjudge.replies.refusals import is_refusal
from visualjudge.replies.said import Said
from visualjudge.replies.scores import other_scale
from visualjudge.replies.tokens import plain, tokens

QuestionType = Literal["pairwise", "ranking", "scoring"]
Status = Literal["ok", "unparseable", "refusal", "truncated"]
Tier = Literal["marked", "prose"]
Tiers = Literal["all", "marked"]
Cause = Literal[
    "tie", "several answers", "incomplete", "no answer", "hedge", "other scale", "cut", "declined", "too long",
    "too slow to read",
]  # fmt: skip
FAILED = "Failed"
TIE, BOTH_BAD = "tie", "both_bad"
TYPES = ("pairwise", "ranking", "scoring")


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read.

    ``value`` is a letter, a string of letters, a number from 0 to 10, ``"tie"`` or ``"both_bad"`` where these are
    allowed, or ``"Failed"``; ``status`` tells which failure and ``cause`` why. ``span`` is where in the reply the
    answer stands (characters, end exclusive), ``rule`` what read it, and ``read_by`` the tier: ``"marked"`` (JSON,
    boxes, "Answer: B", a line that is only the answer) or ``"prose"`` (sentences).
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
    """The value that a reply states.

    Parameters
    ----------
    text
        The reply as it came, thoughts and markup included.
    question_type
        ``"pairwise"``, ``"ranking"`` or ``"scoring"``.
    n_options
        How many options a ranking has.
    finish_reason
        ``"length"`` makes any reply ``truncated``: what was cut off may have said otherwise. ``"refusal"`` makes it a
        refusal.
    ties
        Which of ``"tie"`` and ``"both_bad"`` the question allows as answers. A tie that is not allowed is
        ``unparseable`` with cause ``"tie"``.
    names
        What the prompt calls the options beside their letters, such as ``{"left": "A", "right": "B"}``. Such a word
        counts after "the", after a colon and at the beginning of a line.
    read
        ``"marked"``: read no sentences.

    Returns
    -------
    Reading
        The last answer that is marked as such (JSON, ``\\boxed{B}``, ``[[B]]``, "Answer: B", a line that is only the
        answer), else what the sentences say by the phrases of ``phrases.yaml``. Two that contradict each other are
        none.

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
    if finish_reason == "length":
        return Reading(FAILED, "truncated", "cut")
    if finish_reason == "refusal":
        return Reading(FAILED, "refusal", "declined")
    spoken = without_echo(without_thoughts(text))
    spoken = _lettered(spoken, names) if names else spoken
    said, tier = _read(spoken, question_type, n_options, read)
    if said.value in (TIE, BOTH_BAD) and said.value not in ties:
        return Reading(FAILED, "unparseable", "tie", (said.start, said.end), said.rule)
    if said.value is not None:
        return Reading(said.value, "ok", None, (said.start, said.end), said.rule, tier)
    if is_refusal(spoken):
        return Reading(FAILED, "refusal", "declined")
    if not spoken.strip() and text.strip():
        return Reading(FAILED, "unparseable", "cut")
    cause = "other scale" if question_type == "scoring" and other_scale(spoken, 0, len(spoken)) else said.cause
    return Reading(FAILED, "unparseable", cause)  # type: ignore[arg-type]


def _read(text: str, question_type: QuestionType, n_options: int, read: Tiers) -> tuple[Said, Tier]:
    """What the tiers read: the marks, unless words after them take them back; else the sentences."""
    clean = plain(without_markup(text))
    said = read_marked(text, clean, question_type, n_options)
    if said and said.value is not None and question_type == "scoring" and other_scale(clean, said.start, said.end):
        return Said(None, "other scale"), "marked"
    if said and said.value is not None and question_type == "ranking" and not said.turned and _from_worst(clean, said):
        return Said(None, "several answers"), "marked"
    if said is None:
        if read == "marked":
            return Said(None, "no answer"), "marked"
        return read_prose(clean, question_type, n_options), "prose"
    if said.value is None or said.end >= len(text) - 1:
        return said, "marked"
    rest = clean[said.end :]
    if again().search(rest, 0, 2_000):
        later, tier = _read(text[said.end :], question_type, n_options, read)
        if later.value is None:
            return Said(None, "several answers"), "marked"
        return Said(later.value, None, said.end + later.start, said.end + later.end, later.rule), tier
    if said.rule in ("label", "only") and rest.strip():
        later = read_prose(rest, question_type, n_options)
        if later.value is not None and later.value != said.value:
            return Said(None, "several answers"), "marked"
    return said, "marked"


def _from_worst(text: str, said: Said) -> bool:
    """Whether the text around an order that was read as it stands says that orders stand worst first."""
    around = text[max(0, said.start - 2_000) : said.start] + " ; " + text[said.end : said.end + 500]
    own = listed(tokens(text[said.start : said.end]))
    return not any("best first" in token.kinds for token in own) and any(
        "worst first" in token.kinds for token in listed(tokens(around))
    )


def _lettered(text: str, names: Mapping[str, str]) -> str:
    """The text with "A's" in the place of a name of A, filled up so that it keeps its length."""
    letters = {name.lower(): f"{letter}'s"[: len(name)] for name, letter in names.items()}
    words = "|".join(sorted(map(re.escape, letters), key=len, reverse=True))
    before = r"\bthe (?:(?:one|image|option|prediction) on the )?|[:{\[>] ?[*(\"']{0,3}|^[ *(\"'>-]*"
    named = re.compile(rf"({before})({words})(?![\w-])", re.I | re.M)
    return named.sub(lambda m: re.sub(r"\w", " ", m[1]) + letters[m[2].lower()].ljust(len(m[2])), text)
