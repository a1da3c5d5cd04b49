"""Answers' probabilities from tokens: over several tokens, through masks, never out of
thin air."""

from __future__ import annotations

import math

import pytest

from visualjudge.clients.base import Alternative, Reply, Token
from visualjudge.judges.logprobs import (
    SCORES,
    distribution,
    expected_score,
    probability_of_a,
)


def token(text: str, p: float, **others: float) -> Token:
    named = {text: p} | {
        name.replace("_", " "): value for name, value in others.items()
    }
    top = tuple(
        Alternative(name, math.log(value) if value else -9999.0)
        for name, value in named.items()
    )
    return Token(text, math.log(p), top)


def reply(*tokens: Token) -> Reply:
    return Reply("".join(t.token for t in tokens), tokens=tokens)


def test_probability_of_a_is_its_share_of_both_letters() -> None:
    assert probability_of_a(
        reply(token("A", 0.6, B=0.2, The=0.2))
    ) == pytest.approx(0.75)


def test_spaces_case_and_marks_belong_to_the_same_answer() -> None:
    assert probability_of_a(
        reply(token("A", 0.5, _A=0.1, a=0.1, B=0.2, _B=0.1))
    ) == pytest.approx(0.7)


def test_the_alternatives_count_whatever_was_said() -> None:
    assert probability_of_a(
        reply(token("The", 0.5, A=0.3, B=0.2))
    ) == pytest.approx(0.6)


def test_a_word_that_only_begins_like_an_answer_is_none() -> None:
    assert probability_of_a(
        reply(token("A", 0.9, B=0.1), token("lthough", 1.0))
    ) == pytest.approx(0.0)
    assert probability_of_a(
        reply(token("As", 0.7, A=0.15, B=0.15))
    ) == pytest.approx(0.5)


def test_a_token_that_holds_the_quote_too_is_cut_at_the_answer() -> None:
    tokens = Token(
        ' "A',
        math.log(0.8),
        (Alternative(' "A', math.log(0.8)), Alternative(' "B', math.log(0.2))),
    )
    assert probability_of_a(
        reply(token('{"answer":', 1.0), tokens, token('"}', 1.0))
    ) == pytest.approx(0.8)


def test_masked_tokens_are_impossible() -> None:
    assert probability_of_a(reply(token("A", 1.0, B=0.0))) == 1.0


def test_ten_is_not_one() -> None:
    tokens = (token("1", 0.5, _7=0.5), token("0", 0.4, **{'"': 0.6}))
    found = distribution(tokens, SCORES)
    assert found is not None
    assert found.probabilities["10"] == pytest.approx(0.2)
    assert found.probabilities["1"] == pytest.approx(0.3)
    assert expected_score(reply(*tokens)) == pytest.approx(
        0.2 * 10 + 0.3 * 1 + 0.5 * 7
    )


def test_a_last_one_is_a_one() -> None:
    assert expected_score(reply(token("1", 1.0))) == 1.0


def test_what_cannot_be_told_apart_is_not_shared_out() -> None:
    found = distribution((token("7", 0.5, _1=0.3),), SCORES)
    assert found is not None
    assert found.probabilities["7"] == pytest.approx(0.625)
    assert (found.unresolved, found.seen) == (
        pytest.approx(0.375),
        pytest.approx(0.8),
    )
    assert expected_score(reply(token("7", 0.5, _1=0.3))) is None


def test_nothing_is_said_without_log_probabilities_or_about_something_else() -> (
    None
):
    assert probability_of_a(Reply("A")) is None
    assert (
        probability_of_a(reply(token("Hello", 0.99, A=0.005, B=0.005))) is None
    )
    assert (
        expected_score(reply(token("7", 1.0), token(".", 1.0), token("5", 1.0)))
        is None
    )


def test_the_answer_is_followed_from_the_key_that_is_read() -> None:
    tokens = (
        token('{"preferred": "', 1.0),
        token("B", 0.9, A=0.1),
        token('", "why": "A', 1.0),
    )
    assert probability_of_a(reply(*tokens)) == pytest.approx(0.1)
