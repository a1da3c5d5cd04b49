"""Sentences by which a model declines to judge. Undecided is not declined: "I cannot tell which is better"."""

from __future__ import annotations

from visualjudge.judges.parsing.lexicon import Refusal
from visualjudge.judges.parsing.tokens import Kind, Token, refusal_tokens_of

_REACH = 10  # words between "cannot" and "help"


def is_refusal(text: str) -> bool:
    """Whether some sentence declines: ``cannot … help``, ``sorry … cannot``, a policy that forbids."""
    sentence: list[Token[Refusal]] = []
    for token in (*refusal_tokens_of(text), None):
        if token is not None and token.kind is not Kind.BREAK and not token.mark(".", "!", "?", ";"):
            sentence.append(token)
            continue
        if _declines(sentence):
            return True
        sentence = []
    return False


def _declines(sentence: list[Token[Refusal]]) -> bool:
    terms = [token.term for token in sentence]
    if Refusal.POLICY in terms:
        return True
    if Refusal.CANNOT not in terms or Refusal.UNDECIDED in terms:
        return False
    at = terms.index(Refusal.CANNOT)
    if Refusal.SORRY in terms:
        return True
    nearby = terms[max(0, at - _REACH) : at + _REACH]
    spoken_by_model = Refusal.SELF in terms[:at] or at == 0 or not sentence[at].text.isascii()
    return Refusal.HELP in nearby and spoken_by_model
