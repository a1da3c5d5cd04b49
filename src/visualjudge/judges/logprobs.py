"""Answers from the log-probabilities of a reply's tokens: the probability of A, the
expected score. Answers in text are read in ``replies/reply_to_value.py``.

An answer may be one token or several ("Tie", "Image" + " A"), and one token may begin
several answers ("1" begins 1 and 10). So the tokens are followed from the start of the
answer. Each alternative that matches exactly one answer adds its probability to that
answer, and the token that was generated is followed further. Probability that matches
no answer, or several without having been followed ("Image", when "Tie" was generated),
is not distributed; ``unresolved`` is the latter.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from visualjudge.clients.base import Reply, Token
from visualjudge.replies.json_answers import ANSWER_KEYS

LEAST_SEEN = 0.1
"""Minimum probability on the answers; with less, the model was about to say something
else."""
MOST_UNRESOLVED = 0.1

OptionWords = Mapping[str, Sequence[str]]
"""The spellings of each answer, in lower case."""

PAIR: OptionWords = {
    "A": ("a", "image a", "image_a", "option a"),
    "B": ("b", "image b", "image_b", "option b"),
}
SCORES: OptionWords = {str(score): (str(score),) for score in range(11)}

_FIELD_NAMES = tuple(
    dict.fromkeys(name for names in ANSWER_KEYS.values() for name in names)
)
_FIELD = re.compile(rf'"({"|".join(_FIELD_NAMES)})"\s*:\s*"?')
_BEFORE_ANSWER = " \t\n\r*_(\"'`"


@dataclass(frozen=True, slots=True)
class Distribution:
    """Probability of each answer; with ``unresolved``, they sum to 1.

    ``unresolved`` is the probability of beginnings shared by several answers; ``seen``
    is the share of the model's total probability on answers.
    """

    probabilities: Mapping[str, float]
    unresolved: float
    seen: float


def distribution(
    tokens: Sequence[Token], options: OptionWords
) -> Distribution | None:
    """Return the probability of each answer.

    Parameters
    ----------
    tokens
        Tokens of the whole reply, with alternatives. In a JSON reply the answer begins
        after the last answer key (``ANSWER_KEYS``), otherwise at the start of the
        reply.
    options
        The answers and the spellings of each.

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
        {option: mass[option] / seen for option in options},
        mass[None] / seen,
        min(seen, 1.0),
    )


def probability_of_a(reply: Reply) -> float | None:
    """Return P(A) / (P(A) + P(B)); None without log-probabilities, or if the reply was
    about something else.
    """
    result = _trusted(reply, PAIR)
    if result is None:
        return None
    a = result.probabilities["A"]
    b = result.probabilities["B"]
    return a / (a + b) if a + b > 0 else None


def expected_score(reply: Reply) -> float | None:
    """Return the mean of the integer scores 0 to 10, weighted by probability (G-Eval,
    Liu et al. 2023); None as in :func:`probability_of_a`.

    Also None if the reply's score has a fraction (the alternatives then cover only the
    digits before it), or if more than a tenth is unresolved (a 1 that may have become a
    10).
    """
    answer_text = "".join(
        text for text, _, _ in _from_answer(reply.tokens or ())
    )
    if re.match(r"\s*\d+\.\d", answer_text):
        return None
    result = _trusted(reply, SCORES)
    if result is None or result.unresolved > MOST_UNRESOLVED:
        return None
    return math.fsum(
        int(score) * p for score, p in result.probabilities.items()
    ) / (1 - result.unresolved)


def _trusted(reply: Reply, options: OptionWords) -> Distribution | None:
    result = distribution(reply.tokens, options) if reply.tokens else None
    return result if result is not None and result.seen >= LEAST_SEEN else None


def _from_answer(
    tokens: Sequence[Token],
) -> Iterator[tuple[str, float, list[tuple[str, float]]]]:
    """Yield from the start of the answer: the generated text, its probability, and each
    alternative's text and probability.

    The first token may include the end of the preceding text (``' "A'``); alternatives
    with a different beginning are ignored there.
    """
    fields = {
        field[1]: field.end()
        for field in _FIELD.finditer("".join(token.token for token in tokens))
    }
    start = next((fields[name] for name in _FIELD_NAMES if name in fields), 0)
    begin = 0
    for token in tokens:
        end = begin + len(token.token)
        if end > start:
            lead = token.token[: max(0, start - begin)]
            others = [
                (a.token[len(lead) :], _p(a.logprob))
                for a in token.top
                if a.token.startswith(lead)
            ]
            yield token.token[len(lead) :], _p(token.logprob), others
        begin = end


def _paths(
    steps: Sequence[tuple[str, float, list[tuple[str, float]]]],
    options: OptionWords,
) -> Iterator[tuple[str | None, float]]:
    """Yield each way in which the tokens lead to exactly one answer, or (None) to a
    beginning of several, with its probability.

    An alternative without content (a space, an opening quote) is neither.
    """
    answer_text = ""
    reached = 1.0
    for number, (text, probability, others) in enumerate(steps):
        for other, p in others:
            fits = _fits(answer_text + other, options) if other != text else ()
            if fits and (answer_text + other).strip(_BEFORE_ANSWER):
                yield (fits[0] if len(fits) == 1 else None), reached * p
        answer_text = answer_text + text
        reached = reached * probability
        fits = _fits(answer_text, options)
        ahead = steps[number + 1][0] if number + 1 < len(steps) else ""
        if len(fits) == 1:
            if not (
                _is_whole(answer_text, options[fits[0]]) and ahead[:1].isalpha()
            ):  # "A" of "Although"
                yield fits[0], reached
            return
        if not fits:
            return
    whole = [
        option for option in options if _is_whole(answer_text, options[option])
    ]
    if len(whole) == 1:
        yield whole[0], reached


def _fits(text: str, options: OptionWords) -> tuple[str, ...]:
    return tuple(
        option for option, forms in options.items() if _can_become(text, forms)
    )


def _can_become(answer_text: str, forms: Iterable[str]) -> bool:
    """Return whether ``answer_text`` is the beginning of a form, or begins with a
    form."""
    text = answer_text.lstrip(_BEFORE_ANSWER).lower()
    return any(
        form.startswith(text)
        or (text.startswith(form) and not text[len(form)].isalnum())
        for form in forms
    )


def _is_whole(text: str, forms: Iterable[str]) -> bool:
    return text.strip(_BEFORE_ANSWER).lower() in forms


def _p(logprob: float) -> float:
    """Return the probability; 0 for tokens that a grammar forbids (-9999 in vLLM).
    Rounding may leave a log-probability above 0.
    """
    return math.exp(min(0.0, logprob))
