"""From a reply to a value, or to the cause of its absence."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from visualjudge.replies import choices, rankings, scores
from visualjudge.replies.choices import BARE, COMPARED, CONCLUDING, Claim
from visualjudge.replies.jsons import answers
from visualjudge.replies.lexer import OPTIONS, Scan
from visualjudge.replies.markup import Marked, marked, plain, without_echo, without_thoughts
from visualjudge.replies.refusals import is_refusal

QuestionType = Literal["pairwise", "ranking", "scoring"]
Status = Literal["ok", "unparseable", "refusal", "truncated"]
Cause = Literal[
    "tie",
    "several answers",
    "incomplete",
    "no answer",
    "hedge",
    "other scale",
    "cut",
    "declined",
    "too long",
    "too slow to read",
]
FAILED = "Failed"
TIE, BOTH_BAD = "tie", "both_bad"
_GRAMMARS = {"pairwise": choices, "ranking": rankings, "scoring": scores}


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read.

    ``value`` is a letter, a string of letters, a number from 0 to 10, ``"tie"`` or ``"both_bad"`` where these are
    allowed, or ``"Failed"``; ``status`` tells which failure and ``cause`` why. ``span`` is where in the reply the
    answer stands (characters, end exclusive) and ``rule`` the rule that read it.
    """

    value: str | float
    status: Status
    cause: Cause | None = None
    span: tuple[int, int] | None = None
    rule: str | None = None


def read_reply(
    text: str,
    question_type: QuestionType,
    n_options: int = 2,
    *,
    finish_reason: str = "stop",
    ties: Collection[str] = (),
    names: Mapping[str, str] = MappingProxyType({}),
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

    Returns
    -------
    Reading
        The most trusted statement: an answer marked as such (``\\boxed{B}``, ``<answer>``, ``[[B]]``, JSON), then a
        declared one ("Answer: B"), then a comparison ("B is better"). Two that contradict each other are none.

    Examples
    --------
    >>> import visualjudge as vj
    >>> vj.read_reply("Option A misses the dog, so I prefer B.", "pairwise").value
    'B'
    >>> vj.read_reply("It could be 3 or 7.", "scoring").status
    'unparseable'
    """
    if question_type not in _GRAMMARS:
        raise ValueError(f"question_type must be one of {', '.join(_GRAMMARS)}, got {question_type!r}")
    if finish_reason == "length":
        return Reading(FAILED, "truncated", "cut")
    if finish_reason == "refusal":
        return Reading(FAILED, "refusal", "declined")
    said = without_echo(without_thoughts(text))
    said = _lettered(said, names) if names else said
    found = _marked(said, question_type, n_options) or _stated(plain(said), question_type, n_options, 0)
    if ties and found.cause == "tie":
        found = _prose_tie(said) or found
    if found.status == "ok" and found.value in (TIE, BOTH_BAD) and found.value not in ties:
        return Reading(FAILED, "unparseable", "tie", found.span, found.rule)
    if found.status == "ok":
        return found
    if is_refusal(said):
        return Reading(FAILED, "refusal", "declined")
    if not said.strip() and text.strip():
        return Reading(FAILED, "unparseable", "cut")
    return found


def _lettered(text: str, names: Mapping[str, str]) -> str:
    """The text with "A's" in the place of a name of A, filled up so that it keeps its length."""
    letters = {name.lower(): f"{letter}'s"[: len(name)] for name, letter in names.items()}
    words = "|".join(sorted(map(re.escape, letters), key=len, reverse=True))
    named = re.compile(rf"(\bthe |[:{{\[>] ?[*(\"']{{0,3}}|^[ *(\"'>-]*)({words})(?![\w-])", re.I | re.M)
    return named.sub(lambda m: m[1] + letters[m[2].lower()].ljust(len(m[2])), text)


def _marked(text: str, question_type: QuestionType, n_options: int) -> Reading | None:
    """What the answers say that are marked as such; None where none is marked."""
    marks = marked(text) or answers(text, question_type)
    if not marks:
        return None
    if question_type == "ranking":
        marks = _joined(marks, text)
    if any(_turned(text[max(0, mark.opened - 80) : mark.opened]) for mark in marks if not set(">=") & set(mark.text)):
        return Reading(FAILED, "unparseable", "several answers")
    readings = [_of_mark(mark, question_type, n_options) for mark in marks]
    values = {reading.value for reading in readings}
    if len(values) == 1:
        return readings[-1]
    return Reading(FAILED, "unparseable", "several answers")


def _joined(marks: list[Marked], text: str) -> list[Marked]:
    """A mark for each letter, "[[C]], [[A]], [[B]]", as the one that they make together: MLLM-as-a-Judge's form."""
    if len(marks) == 1 or not all(mark.rule == "double brackets" and len(mark.text.strip()) == 1 for mark in marks):
        return marks
    first, end = marks[0], marks[-1].end
    return [replace(first, text=text[first.start : end].replace("[", " ").replace("]", " "), end=end)]


_TURNED = re.compile(r"(?:[uW][kRn]{0,3}|u[na,>\-tO]{0,3}b)[i:]{0,3}\Z")


def _turned(lead: str) -> bool:
    """Whether the words before a mark make it the worse one: "Worse: \\boxed{A}", "Worst to best: \\boxed{ABC}"."""
    return bool(_TURNED.search(Scan(plain(lead)).codes))


def _of_mark(mark: Marked, question_type: QuestionType, n_options: int) -> Reading:
    tie = _TIE.fullmatch(mark.text.strip()) if question_type == "pairwise" else None
    if tie:
        return Reading(
            BOTH_BAD if tie["bad"] or tie["bad2"] else TIE, "ok", span=(mark.start, mark.end), rule=mark.rule
        )
    if question_type == "pairwise" and mark.rule == "double brackets" and mark.text.strip() == "C":
        return Reading(TIE, "ok", span=(mark.start, mark.end), rule=mark.rule)  # MT-Bench's and MLLM-as-a-Judge's
    found = _stated(plain(mark.text), question_type, n_options, mark.start)
    if found.status != "ok":
        return found
    span = (mark.start, mark.end)
    return Reading(found.value, "ok", span=found.span if mark.rule != "JSON" else span, rule=mark.rule)


_LONG, _END_REACH, _LAST_REACH, _HEAD_REACH = 700, 450, 150, 200
_BOUND = re.compile(r"\n|[.!?。！？] ?(?=[A-Z*\u3040-\uffff])")


def _concluded(text: str, question_type: QuestionType, n_options: int) -> Reading | None:
    """What the end of a long reply concludes; None where it concludes nothing, or the first line something else.

    Most long replies end so, and reading their end costs a quarter of reading all of it.
    """
    bound = _BOUND.search(text, len(text) - _END_REACH, len(text) - _LAST_REACH)
    if not bound:
        return None
    found, level = _read(text[bound.end() :], question_type, n_options, bound.end())
    if level < COMPARED + (0.0 if question_type == "ranking" else CONCLUDING):
        return None
    head = text[:_HEAD_REACH].lstrip()
    stop = _BOUND.search(head)
    first, sure = _read(head[: stop.start() + 1] if stop else head, question_type, n_options, 0)
    return found if sure < BARE or first.value == found.value else None


def _stated(text: str, question_type: QuestionType, n_options: int, offset: int) -> Reading:
    if len(text) > _LONG and not offset and (found := _concluded(text, question_type, n_options)):
        return found
    return _read(text, question_type, n_options, offset)[0]


_PLACED = re.compile("[o#]")
"""Places of two options, as in a ranking: "A first, B second"."""


def _read(text: str, question_type: QuestionType, n_options: int, offset: int) -> tuple[Reading, float]:
    """What a text states, and how surely."""
    grammar = _GRAMMARS[question_type]
    scan = Scan(text, question_type, n_options)
    placed = question_type == "pairwise" and len(text) < _LONG and _PLACED.search(scan.codes)
    plainly = "w" not in scan.codes
    grammar.prepare(scan)
    best = decided(list(grammar.claims(scan)), scan.codes)
    if isinstance(best, Claim) and best.value == scores.OFF_SCALE:
        best = "other scale"
    if isinstance(best, Claim):
        begin, end = scan.span(best.start, best.end)
        return Reading(best.value, "ok", span=(offset + begin, offset + end), rule=best.rule), best.level
    if placed:
        order, level = _read(text, "ranking", 2, offset)
        if order.rule == "list" or (order.rule == "places" and plainly):
            return replace(order, value=str(order.value)[0]), level
    if best == "no answer":
        incomplete = question_type == "ranking" and (_is_incomplete(text, n_options) or rankings.is_incomplete(scan))
        best = "incomplete" if incomplete else grammar.cause(scan.codes)
    return Reading(FAILED, "unparseable", best), 0.0


_SOME = re.compile(
    r"(?:[A-Za-z ]{0,30}:)?[\s*\"'(\[]*((?:\d[.)]\s*)?[A-H](?:\s*(?:(?:>|,|\d[.)])\s*)?[A-H])+)[\s*\"')\].]*"
)


def _is_incomplete(text: str, n_options: int) -> bool:
    """Whether a reply is an order of some of the options, each named once, and nothing else: "B > A" of three."""
    found = _SOME.fullmatch(text) if len(text) < _LONG else None
    letters = re.findall("[A-H]", found[1]) if found else []
    return 0 < len(letters) == len(set(letters)) < n_options and set(letters) < set("ABCDEFGH"[:n_options])


_TIE = re.compile(
    r"A\s*[=~]\s*B(?:\s*=\s*(?:good|(?P<bad>bad)))?|tie|tied|equal|draw|same|both(?: are)?(?: equal| good)?"
    r"|(?P<bad2>both(?:[ _]are)?[ _]bad|neither)",
    re.I,
)
"""A tie, marked as the answer; the forms with a quality are GenAI-Bench's."""
_PROSE_TIE = re.compile(
    r"(?:^|[\n.!:,])[\s*]*(?:(?:so|therefore|thus|hence|overall|final|answer|verdict|decision|winner|result|the|my|is)"
    r"[ ,:*]+)*"
    r"(?:(?:it(?:'s| is)|this is|i(?:'d| would) (?:call it|say)(?: it(?:'s| is))?) )?(?:a )?(?:tie|draw|tied"
    r"|both(?: are)?(?: equally)? (?:good|(?P<bad>bad))|(?:they|the two|a and b|both) are (?:equal|tied|equally good))"
    r"[\s.!*]*\Z",
    re.I,
)
"""A tie as the last words of a reply that names no option as the better one."""
_TIE_REACH = 120


def _prose_tie(said: str) -> Reading | None:
    end = plain(said).rstrip()[-_TIE_REACH:].replace("’", "'").replace("_", " ")
    found = _PROSE_TIE.search(end)
    return Reading(BOTH_BAD if found["bad"] else TIE, "ok", rule="tie") if found else None


_RETRACTION = re.compile(
    r"(?:^|[.\n,(?y~\-])[zyj]{0,2},?c|(?:^|[.\n?\-])z,|[.\n?]∨|[.\n]y[^A-H.?\n:]{0,25},(?=[A-H](?:[.\n]|$))"
)


_SECOND_LOOK = re.compile(r"(?:^|[.\n,])[yjs,]{0,2}ς")
"""Let me check again: … What was said before holds where nothing is said afterwards."""
_DRAWN = re.compile(r"(?:(?<=[.,\n])|(?<=[kmsb]:))[jsmyi]{0,5}e(?=[.,\n)]|$)")
"""… so I'd call it a draw."""
_STOP = re.compile(r"[.?\n]")


def _concluding(claims: Sequence[Claim], codes: str) -> Sequence[Claim]:
    """Without the comparisons in between: those neither in the first sentence that names an option nor in the last."""
    first = _STOP.search(codes, min((at for option in OPTIONS if (at := codes.find(option)) >= 0), default=0))
    if first is None or not isinstance(claims[0].value, str) or len(claims[0].value) > 1:
        return claims
    last = max(codes.rfind(option) for option in OPTIONS)
    stop = max(codes.rfind(mark, 0, last) for mark in ".?\n")
    return [claim for claim in claims if claim.level > COMPARED or claim.start <= first.start() or claim.end > stop]


def decided(claims: Sequence[Claim], codes: str) -> Claim | Cause:
    """The claim to trust: of the surest ones, if they say one thing and nothing takes it back later."""
    if not claims:
        return "no answer"
    first = min(claim.start for claim in claims)
    if _DRAWN.search(codes, max(claim.end for claim in claims)):
        return "tie"
    taken_back = max((match.start() for match in _RETRACTION.finditer(codes, first)), default=-1)
    if taken_back >= 0:
        claims = [claim for claim in claims if claim.end > taken_back + 2]
        if not claims:
            return "several answers"
    looked = max((match.start() for match in _SECOND_LOOK.finditer(codes, first)), default=-1)
    claims = [claim for claim in claims if claim.start > looked] or claims
    claims = _concluding(claims, codes)
    if not claims:
        return "no answer"
    level = max(claim.level for claim in claims)
    best = [claim for claim in claims if claim.level == level]
    agreed = len({claim.value for claim in best}) == 1
    order = isinstance(best[-1].value, str) and len(best[-1].value) > 1
    weight = COMPARED if level < BARE or order else COMPARED + CONCLUDING
    later = (claim for claim in claims if claim.start >= best[-1].end and claim.level >= weight)
    return best[-1] if agreed and all(claim.value == best[-1].value for claim in later) else "several answers"
