"""From a reply to a value or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from visualjudge.clients.base import FinishReason
from visualjudge.judges.parsing.echoes import without_echo
from visualjudge.judges.parsing.grammar import MARKED, STATED, Claim, Grammar
from visualjudge.judges.parsing.kinds import Pairwise
from visualjudge.judges.parsing.markup import unwrap, without_thoughts
from visualjudge.judges.parsing.rankings import Ranking
from visualjudge.judges.parsing.refusals import is_refusal
from visualjudge.judges.parsing.scores import Scoring
from visualjudge.judges.parsing.tokens import tokens_of
from visualjudge.records import FAILED, Answer, QuestionType, Status

_GRAMMARS: dict[QuestionType, type[Grammar]] = {"pairwise": Pairwise, "ranking": Ranking, "scoring": Scoring}


@dataclass(frozen=True, slots=True)
class Reading:
    """``value`` is a letter, a string of letters or a number, or "Failed"; ``status`` says why."""

    value: Answer
    status: Status


def read_reply(
    text: str, question_type: QuestionType, n_options: int = 2, *, finish_reason: FinishReason = "stop"
) -> Reading:
    """The value that a reply states.

    Parameters
    ----------
    text
        The reply as it came, thoughts and markup included.
    n_options
        How many letters a ranking has.
    finish_reason
        ``"length"`` makes any reply ``truncated``: what was cut off may have said otherwise.

    Returns
    -------
    Reading
        ``"A"`` or ``"B"``; a string of exactly the letters; a float from 0 to 10; or ``"Failed"``. Two different
        answers that are stated equally strongly are ``unparseable``, as is none at all.
    """
    if finish_reason == "length":
        return Reading(FAILED, "truncated")
    if finish_reason == "refusal":
        return Reading(FAILED, "refusal")
    said = without_echo(without_thoughts(text))
    value = _agreed(_claims(said, question_type, n_options))
    if value is not None:
        return Reading(value, "ok")
    return Reading(FAILED, "refusal" if is_refusal(said) else "unparseable")


def _claims(text: str, question_type: QuestionType, n_options: int) -> list[Claim]:
    if _read(text, question_type, n_options).vetoed():
        return []
    marked = unwrap(text)
    claims = _read(marked.plain, question_type, n_options).claims()
    for answer in marked.answers:
        value = _agreed(_read(answer.strip(), question_type, n_options).claims())
        claims.append(Claim(value, MARKED, len(marked.plain)))
    return claims


def _read(text: str, question_type: QuestionType, n_options: int) -> Grammar:
    grammar = _GRAMMARS[question_type](tokens_of(text))
    if isinstance(grammar, Ranking):
        grammar.n_options = n_options
    return grammar


def _agreed(claims: list[Claim]) -> Answer | None:
    """What the strongest claims say, if they say one thing, and no later statement contradicts them."""
    if not claims:
        return None
    best = max(claim.strength for claim in claims)
    values = {claim.value for claim in claims if claim.strength == best}
    last = max((claim for claim in claims if claim.strength >= STATED), key=lambda claim: claim.at, default=None)
    if last is not None:
        values.add(last.value)
    return values.pop() if len(values) == 1 else None
