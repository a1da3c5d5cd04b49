"""The terminals of the grammar, and the phrases of each, which ``lexicon.yaml`` lists by language."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from functools import cache
from importlib import resources
from typing import Any

import yaml


class Term(Enum):
    """Terminals of the grammar that are words."""

    FINAL = auto()  # "final" answer
    CONCLUDE = auto()  # "overall", "therefore": what follows sums up
    ANSWER = auto()  # nouns for the answer
    NOUN = auto()  # nouns for one option
    SCORE = auto()
    RANK = auto()
    IS = auto()
    BETTER = auto()
    WORSE = auto()
    WINS = auto()
    CHOOSE = auto()
    GIVE = auto()
    NOT = auto()
    OR = auto()
    AND = auto()
    THEN = auto()
    THAN = auto()
    SUPPOSE = auto()  # what follows or precedes holds under a condition only
    IF = auto()  # what follows, up to a comma, is not stated
    THOUGH = auto()
    TIE = auto()
    FILL = auto()  # says nothing about which: articles, adverbs, pronouns
    BECAUSE = auto()
    FOLLOW = auto()  # may follow an option letter without making it an article
    ASPECT = auto()  # "better AT edges" is no verdict …
    WHOLE = auto()  # … unless "in ALL respects"
    FROM = auto()
    TO = auto()
    OF = auto()
    OUT_OF = auto()
    POINTS = auto()
    SCALE = auto()
    RETRACT = auto()
    EXAMPLE = auto()
    REVERSED = auto()  # an order that is not best first
    WRONG = auto()  # adjectives that make "the … answer" no answer


class Refusal(Enum):
    """Terminals of the second, smaller grammar: sentences that decline to judge."""

    CANNOT = auto()
    HELP = auto()
    UNDECIDED = auto()  # "cannot TELL which": that is no refusal, but no answer either
    SELF = auto()
    SORRY = auto()
    POLICY = auto()


@cache
def _lexicon() -> Mapping[str, Any]:
    text = resources.files(__package__).joinpath("lexicon.yaml").read_text("utf-8")
    loaded: Mapping[str, Any] = yaml.safe_load(text)
    return loaded


def answer_phrases() -> list[tuple[str, Term]]:
    """Each phrase with its terminal, in the order of the table."""
    return [(phrase, Term[name]) for name, row in _lexicon()["answers"].items() for phrase in _split(row)]


def refusal_phrases() -> list[tuple[str, Refusal]]:
    """The same for the sentences that decline."""
    return [(phrase, Refusal[name]) for name, row in _lexicon()["refusals"].items() for phrase in _split(row)]


@cache
def number_words() -> Mapping[str, float]:
    """Words for whole numbers up to ten. "one" is left out: it is a pronoun more often."""
    rows = _lexicon()["numbers"].values()
    return {word: float(value) for row in rows for value, word in enumerate(row.split()) if word != "-"}


def _split(row: str) -> list[str]:
    return [phrase.strip() for phrase in row.split("|") if phrase.strip()]
