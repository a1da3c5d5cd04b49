"""What the log-probabilities of a reply's tokens say about its answer: the probability of A, the
expected score.

An answer may be one token or several ("Tie", "Image" + " A"), and one token may begin several
answers ("1" begins 1 and
10). So the tokens are followed from where the answer begins; each alternative that fits exactly one
answer adds its probability to that answer's, and the token that was said is followed further. What
fits none, or several without having been followed ("Image", when "Tie" was said), is not shared
out: ``unresolved`` tells how much that is.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from visualjudge.clients.base import Reply, Token
from visualjudge.replies.json_answers import ANSWER_KEYS

LEAST_SEEN = 0.1
"""With less of the probability than this on any answer, the model was about to say something
else.
"""
MOST_UNRESOLVED = 0.1

OptionWords = Mapping[str, Sequence[str]]
"""Answer -> the ways to write it, in lower case."""

PAIR: OptionWords = {
    "A": ("a", "image a", "image_a", "option a"),
    "B": ("b", "image b", "image_b", "option b"),
}
WINNER: OptionWords = {
    "Image A": ("image a", "image_a", "a"),
    "Image B": ("image b", "image_b", "b"),
    "Tie": ("tie",),
}
SCORES: OptionWords = {str(score): (str(score),) for score in range(11)}

_FIELD_NAMES = tuple(dict.fromkeys(" ".join(ANSWER_KEYS.values()).split()))
_FIELD = re.compile(rf'"({"|".join(_FIELD_NAMES)})"\s*:\s*"?')
_BEFORE_ANSWER = " \t\n\r*_(\"'`"


@dataclass(frozen=True, slots=True)
class Distribution:
    """Probability of each answer; they and ``unresolved`` sum to 1.

    ``unresolved`` went to beginnings of several answers; ``seen`` is the share of the model's whole
    probability that went to answers at all.
    """

    probabilities: Mapping[str, float]
    unresolved: float
    seen: float


def distribution(tokens: Sequence[Token], options: OptionWords) -> Distribution | None:
    """The answers' probabilities.

    Parameters
    ----------
    tokens
        Of the whole reply, with alternatives. In a JSON reply the answer begins after the key that
        would be read, the last one of that name (``ANSWER_KEYS``); in any other where the reply
        begins.
    options
        The answers and the ways to write each.

    Returns
    -------
    Distribution or None
        None if no answer had any probability.
    """
    mass: defaultdict[str | None, float] = defaultdict(float)
    for option, probability in _paths(list(_from_answer(tokens)), options):
        mass[option] += probability
    seen = math.fsum(mass.values())
    if seen <= 0:
        return None
    return Distribution(
        {option: mass[option] / seen for option in options}, mass[None] / seen, min(seen, 1.0)
    )


def probability_of_a(reply: Reply) -> float | None:
    """P(A) / (P(A) + P(B)); None without log-probabilities, or where the reply was about something
    else.
    """
    found = _trusted(reply, PAIR)
    if found is None:
        return None
    a, b = found.probabilities["A"], found.probabilities["B"]
    return a / (a + b) if a + b > 0 else None


def winner_probabilities(reply: Reply) -> Distribution | None:
    """Probabilities of Image A, Image B and Tie in the reply to a pairwise judge, or None
    likewise.
    """
    return _trusted(reply, WINNER)


def expected_score(reply: Reply) -> float | None:
    """Mean of the whole scores 0 to 10, weighted by their probability (G-Eval, Liu et al. 2023), or
    None likewise.

    Also None where the reply's score has a fraction (the alternatives then tell the digits before
    it only), or where more than a tenth is unresolved (a 1 that may have become a 10).
    """
    said = "".join(text for text, _, _ in _from_answer(reply.tokens or ()))
    if re.match(r"\s*\d+\.\d", said):
        return None
    found = _trusted(reply, SCORES)
    if found is None or found.unresolved > MOST_UNRESOLVED:
        return None
    return math.fsum(int(score) * p for score, p in found.probabilities.items()) / (
        1 - found.unresolved
    )


def _trusted(reply: Reply, options: OptionWords) -> Distribution | None:
    found = distribution(reply.tokens, options) if reply.tokens else None
    return found if found is not None and found.seen >= LEAST_SEEN else None


def _from_answer(tokens: Sequence[Token]) -> Iterator[tuple[str, float, list[tuple[str, float]]]]:
    """From where the answer begins: what was said, its probability, and each alternative's text and
    probability.

    The first token may hold the end of what stands before the answer (``' "A'``); alternatives that
    begin otherwise are left out there.
    """
    fields = {
        field[1]: field.end() for field in _FIELD.finditer("".join(token.token for token in tokens))
    }
    start = next((fields[name] for name in _FIELD_NAMES if name in fields), 0)
    begin = 0
    for token in tokens:
        end = begin + len(token.token)
        if end > start:
            lead = token.token[: max(0, start - begin)]
            others = [
                (a.token[len(lead) :], _p(a.logprob)) for a in token.top if a.token.startswith(lead)
            ]
            yield token.token[len(lead) :], _p(token.logprob), others
        begin = end


def _paths(
    steps: Sequence[tuple[str, float, list[tuple[str, float]]]], options: OptionWords
) -> Iterator[tuple[str | None, float]]:
    """Each way in which the tokens lead to exactly one answer, or (None) to the beginning of
    several; its probability.

    An alternative that says nothing yet (a space, an opening quote) is neither.
    """
    said, reached = "", 1.0
    for number, (text, probability, others) in enumerate(steps):
        for other, p in others:
            fits = _fits(said + other, options) if other != text else ()
            if fits and (said + other).strip(_BEFORE_ANSWER):
                yield (fits[0] if len(fits) == 1 else None), reached * p
        said, reached = said + text, reached * probability
        fits = _fits(said, options)
        ahead = steps[number + 1][0] if number + 1 < len(steps) else ""
        if len(fits) == 1:
            if not (_is_whole(said, options[fits[0]]) and ahead[:1].isalpha()):  # "A" of "Although"
                yield fits[0], reached
            return
        if not fits:
            return
    whole = [option for option in options if _is_whole(said, options[option])]
    if len(whole) == 1:
        yield whole[0], reached


def _fits(said: str, options: OptionWords) -> tuple[str, ...]:
    return tuple(option for option, forms in options.items() if _can_become(said, forms))


def _can_become(said: str, forms: Iterable[str]) -> bool:
    """Whether ``said`` is the beginning of a form, a form, or a form and something after it."""
    text = said.lstrip(_BEFORE_ANSWER).lower()
    return any(
        form.startswith(text) or (text.startswith(form) and not text[len(form)].isalnum())
        for form in forms
    )


def _is_whole(said: str, forms: Iterable[str]) -> bool:
    return said.strip(_BEFORE_ANSWER).lower() in forms


def _p(logprob: float) -> float:
    """0 for tokens that a grammar forbids (vLLM gives them -9999). Rounding may leave a
    log-probability above 0.
    """
    return math.exp(min(0.0, logprob))
