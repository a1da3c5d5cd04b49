"""The JSON object in a reply, wherever it stands; and no object where none is meant."""

from __future__ import annotations

import json

from hypothesis import assume, given, strategies as st

from folding import each
from visualjudge.judges.judge_module import object_with
from visualjudge.replies.stripped_text import without_thoughts

F = "```"


@each(
    ("reply", "winner"),
    [
        ('{"winner": "A"}', "A"),
        (f'{F}json\n{{"winner": "A"}}\n{F}', "A"),
        (f'{F}\r\n{{"winner": "A"}}\r\n{F} since', "A"),
        (f'Of {{sky, road}} I keep:\n{F}json\n{{"winner": "B"}}\n{F}', "B"),
        (f'{F}json\n{{"winner": "A"}}', "A"),
        ('Of {sky, road}: {"winner": "A"} as {said}.', "A"),
        ("{'winner': 'A', 'why': 'it is \"left\"',}", "A"),
        ('{"why": "a {brace} and a \\" quote", "winner": "A"} — so {x}', "A"),
        ('{"why": "two\nlines", "winner": "A"}', "A"),
        ('{"winner": "A",} since {x} is kept', "A"),
        ('{"winner": "A",} or rather {"winner": "B",}', None),
        ('{"why": "the "red} cup" is", "winner": "A"}', None),
        ('{"winner": "A", "score": 7', None),
        ('{"score": 7, "winner": "A"', "A"),
        ('{"winner": "A", "why": "cut in the mid', None),
        ('<think>{"winner": "B"}</think>{"winner": "A"}', "A"),
        ('{"winner": "A"} I repeat: {"winner": "A"}', "A"),
        ('{"winner": "A"} or rather {"winner": "B"}', None),
        ('{"result": {"winner": "A"}}', None),
        ('so: {"result": {"winner": "A"}}', None),
        ('so: {"result": {"winner": "A"}', None),
        ('[{"winner": "A"}]', "A"),
        ('[{"winner": "A"}, {"winner": "B"}]', None),
        ('"{\\"winner\\": 1}"', None),
        ("winner: A", None),
        ("42", None),
        ("", None),
        (f"{F}json\n{F}", None),
        ("{{{{{", None),
    ],
)
def test_objects_are_found_and_nothing_is_guessed(
    reply: str, winner: str | None
) -> None:
    found = object_with(reply, "winner")
    assert (None if found is None else found["winner"]) == winner


def test_a_format_that_a_model_repeats_is_no_winner() -> None:
    found = object_with('{"winner": "Image A" or "Image B" or "Tie"}', "winner")
    assert found is None or found["winner"] not in ("Image A", "Image B", "Tie")


def test_a_number_that_may_have_been_cut_is_none() -> None:
    assert object_with('{"why": "x", "score": 1', "score") is None
    assert object_with('{"why": "x", "score": [10, 2]', "score") == {
        "why": "x",
        "score": [10, 2],
    }


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(
    texts,
    st.dictionaries(
        texts, st.one_of(texts, st.integers(), st.lists(st.integers()))
    ),
    st.booleans(),
)
def test_an_object_after_prose_is_read_exactly(
    prose: str, extra: dict[str, object], fence: bool
) -> None:
    meant = extra | {"winner": "A"}
    body = json.dumps(meant, ensure_ascii=False)
    lead = "".join(sign for sign in prose if sign not in "{`<[") + " "
    reply = (
        f"{lead}{F}json\n{body}\n{F}"
        if fence and F not in body
        else lead + body
    )
    assume(
        without_thoughts(reply) == reply
    )  # what a mark of thinking leaves is tested elsewhere
    assert object_with(reply, "winner") == meant


@given(texts)
def test_no_text_makes_it_fail(text: str) -> None:
    object_with("{" + text, "winner")
