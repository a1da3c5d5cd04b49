from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from judges.made_question import PROMPT, question
from scripted_client import ScriptedClient
from visualjudge.clients.base import (
    Alternative,
    ImagePart,
    Reply,
    TextPart,
    Token,
)
from visualjudge.core.errors import DataError, TransportError
from visualjudge.core.records import Spans, Verdict
from visualjudge.judges.base import Ask
from visualjudge.judges.question_judge import QuestionJudge, answer_schema
from visualjudge.options import RunSettings
from visualjudge.prompts.spans import interleaved, swapped
from visualjudge.runs.asks import asks_of
from visualjudge.runs.verdicts import verdict_line, verdict_of
from visualjudge.vision.raster.images import write_png

TURNED = (
    "<image>\n\nYou are a judge. The class(es) of interest is A.\n\nFormat of "
    "predictions: "
    "boxes.\n\nOptions:\n\n"
    'A. <image>\n{"label":"right"}\nLegend: cat = blue\n\nB. '
    '<image>\n{"label":"left"}\nLegend: '
    "dog = red\n\n"
    "Which of the two is the better result? Please answer with A or B."
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for level, name in enumerate("oab"):
        write_png(
            tmp_path / f"{name}.png", np.full((4, 6, 3), 40 * level, np.uint8)
        )
        (tmp_path / f"{name}.png").rename(tmp_path / name)
    return tmp_path


def ask(judge: QuestionJudge, asked: Ask) -> Verdict:
    return asyncio.run(judge(asked))


def shown(judge: QuestionJudge, asked: Ask) -> list[str]:
    """Texts, and the level of each flat image as a name."""
    names = {judge.images.get(judge.root / name).data: name for name in "oab"}
    parts = judge.request(asked).parts
    return [
        names[part.data] if isinstance(part, ImagePart) else part.text
        for part in parts
    ]


def test_texts_and_images_alternate_at_the_marks(root: Path) -> None:
    parts = shown(QuestionJudge(ScriptedClient(["A"]), root), Ask(question()))
    assert [part for part in parts if part in "oab"] == ["o", "a", "b"]
    assert parts[0] == "o"
    assert parts[2] == "a"
    assert "".join(
        part for part in parts if part not in "oab"
    ) == PROMPT.replace("<image>", "")


def test_white_space_between_images_is_no_part_of_its_own() -> None:
    assert interleaved("<image>\n<image>\n\nText", ("o", "c")) == [
        ("o", True),
        ("c", True),
        ("\n\nText", False),
    ]


def test_marks_must_be_as_many_as_images() -> None:
    with pytest.raises(DataError, match="must have 1 <image> marks, got 2"):
        interleaved("<image> <image>", ("o",))


def test_swapping_exchanges_text_legend_and_image_and_nothing_else(
    root: Path,
) -> None:
    turned = swapped(question())
    assert (turned.prompt, turned.images) == (TURNED, ("o", "b", "a"))
    parts = shown(
        QuestionJudge(ScriptedClient(["A"]), root), Ask(question(), "BA")
    )
    assert [part for part in parts if part in "oab"] == ["o", "b", "a"]


def test_swapping_twice_gives_the_question_back() -> None:
    back = swapped(swapped(question()))
    assert (back.prompt, back.images) == (PROMPT, ("o", "a", "b"))


def test_stored_spans_are_swapped_whatever_the_options_look_like() -> None:
    """The first option holds what the rule for older datasets takes for the second."""
    prompt = (
        "<image>\n\n1) Options:\n\nA. x\nB. y <image>\n2) <image> z \nBetter?"
    )
    first, second, final = (
        "Options:\n\nA. x\nB. y <image>",
        "<image> z ",
        "Better?",
    )
    starts = [prompt.index(part) for part in (first, second, final)]
    spans = Spans(
        (
            (starts[0], starts[0] + len(first)),
            (starts[1], starts[1] + len(second)),
        ),
        (0, 7),
        (starts[2], 99),
    )
    asked = replace(
        question(prompt=prompt),
        spans=replace(spans, final=(starts[2], len(prompt))),
    )
    turned = swapped(asked)
    assert turned.prompt == prompt.replace(first, "#").replace(
        second, first
    ).replace("#", second)
    assert turned.images == ("o", "b", "a")
    assert turned.prompt[slice(*turned.spans.options[1])] == first
    assert swapped(turned).prompt == prompt


def test_options_without_images_keep_the_original_first() -> None:
    prompt = (
        "<image>\n\nOptions:\n\nA. [1]\n\nB. [2]\n\nWhich prediction is better? Please "
        "answer "
        "with A or B."
    )
    turned = swapped(question(prompt=prompt, images=("o",)))
    assert "A. [2]\n\nB. [1]\n\nWhich" in turned.prompt
    assert turned.images == ("o",)


@pytest.mark.parametrize(
    "prompt",
    [
        "Which prediction is better?",
        "Options:\n\nA. x\n\nWhich prediction is better?",
    ],
)
def test_a_prompt_without_two_options_cannot_be_swapped(prompt: str) -> None:
    with pytest.raises(DataError, match="Options:"):
        swapped(question(prompt=prompt, images=()))


def test_the_letter_of_a_swapped_question_is_turned_back(root: Path) -> None:
    judge = QuestionJudge(ScriptedClient(["A"]), root)
    assert ask(judge, Ask(question())).value == "A"
    verdict = ask(judge, Ask(question(), "BA"))
    assert (verdict.value, verdict.raw_response, verdict.order) == (
        "B",
        "A",
        "BA",
    )


def test_failures_keep_the_raw_reply_and_their_reason(root: Path) -> None:
    for reply, status in (
        (Reply("Hm."), "unparseable"),
        (Reply("A", "length"), "truncated"),
        (Reply("", "refusal"), "refusal"),
    ):
        verdict = ask(
            QuestionJudge(ScriptedClient([reply]), root), Ask(question(), "BA")
        )
        assert (verdict.value, verdict.status, verdict.raw_response) == (
            "Failed",
            status,
            reply.text,
        )


def test_a_question_that_could_not_be_asked_is_an_api_error_with_its_cause(
    root: Path,
) -> None:
    error = TransportError("no reply within 3 s", cause="timeout")
    verdict = ask(QuestionJudge(ScriptedClient([error]), root), Ask(question()))
    assert (verdict.status, verdict.cause, verdict.raw_response) == (
        "api_error",
        "timeout",
        None,
    )


def test_an_unreadable_reply_is_asked_for_again_only_where_told(
    root: Path,
) -> None:
    client = ScriptedClient(["Hm.", "B"])
    assert (
        ask(QuestionJudge(client, root), Ask(question())).status
        == "unparseable"
    )
    client = ScriptedClient(["Hm.", "B"])
    verdict = ask(QuestionJudge(client, root, retries=2), Ask(question()))
    assert (verdict.value, client.attempts, verdict.extra) == (
        "B",
        [0, 1],
        {"attempts": 2, "rule": "line", "read_by": "marked"},
    )


def test_the_schema_allows_the_possible_answers_and_no_others(
    root: Path,
) -> None:
    rule = answer_schema(question())["properties"]["answer"]
    assert rule == {"type": "string", "enum": ["A", "B"]}
    ranks = answer_schema(question("ranking", n=3))["properties"]["answer"][
        "enum"
    ]
    assert sorted(ranks) == ["ABC", "ACB", "BAC", "BCA", "CAB", "CBA"]
    scores = answer_schema(question("scoring", n=1))["properties"]["answer"][
        "enum"
    ]
    assert (scores[0], scores[-1], 7.5 in scores, len(scores)) == (
        0,
        10,
        True,
        101,
    )
    client = ScriptedClient(['{"answer": "B"}'])
    assert (
        ask(QuestionJudge(client, root, "json"), Ask(question())).value == "B"
    )
    assert client.requests[0].schema == answer_schema(question())


def token(text: str, **others: float) -> Token:
    top = tuple(
        Alternative(name, float(np.log(p))) for name, p in others.items()
    )
    return Token(text, float(np.log(others[text])), top)


def test_log_probabilities_weigh_a_against_b_in_the_letters_stored(
    root: Path,
) -> None:
    reply = Reply("A", tokens=(token("A", A=0.75, B=0.25),))
    client = ScriptedClient([reply])
    judge = QuestionJudge(client, root, "logprobs")
    first, second = (
        ask(judge, Ask(question())),
        ask(judge, Ask(question(), "BA")),
    )
    assert first.probability_a == pytest.approx(0.75)
    assert second.probability_a == pytest.approx(0.25)
    assert client.requests[0].top_logprobs == 20


def test_parts_are_shared_between_questions(root: Path) -> None:
    judge = QuestionJudge(ScriptedClient(["A"]), root)
    one, two = (
        judge.request(Ask(question())),
        judge.request(Ask(replace(question(), id="r"))),
    )
    assert [
        a is b
        for a, b in zip(one.parts, two.parts, strict=True)
        if not isinstance(a, TextPart)
    ] == [True] * 3


def test_the_plan_holds_each_order_and_repeat_once() -> None:
    asked = [
        a.key
        for a in asks_of(
            [question(), replace(question("scoring"), id="s")],
            RunSettings(swap=True, repeats=2),
        )
    ]
    assert asked == [
        ("q", "AB", 0),
        ("q", "AB", 1),
        ("q", "BA", 0),
        ("q", "BA", 1),
        ("s", "AB", 0),
        ("s", "AB", 1),
    ]


def test_a_verdict_survives_its_line() -> None:
    verdict = Verdict(
        "q",
        "BA",
        7.5,
        "ok",
        "7.5",
        {"prompt_tokens": 3},
        0.5,
        2,
        None,
        7.2,
        None,
        {"notes": ["x"]},
    )
    assert verdict_of(verdict_line(verdict)) == verdict


def test_what_is_told_of_the_judge_names_mode_and_parameters(
    root: Path,
) -> None:
    told: Any = QuestionJudge(
        ScriptedClient(["A"]), root, "json", retries=1, seed=3
    ).describe()
    assert told["parameters"] == {"mode": "json", "retries": 1, "seed": 3}
    assert (told["backend"], told["model"]) == ("scripted", "scripted")


def test_auto_asks_for_a_schema_with_the_reasons_before_the_answer(
    root: Path,
) -> None:
    client = ScriptedClient(
        ['{"reasoning": "A is better at edges", "answer": "B"}']
    )
    verdict = asyncio.run(
        QuestionJudge(client, root, mode="auto")(Ask(question()))
    )
    schema = client.requests[0].schema
    assert schema is not None
    assert list(schema["properties"]) == ["reasoning", "answer"]
    assert (verdict.value, verdict.extra["rule"]) == ("B", "JSON")


def test_ties_are_allowed_in_prompt_schema_and_reading_where_asked_for(
    root: Path,
) -> None:
    client = ScriptedClient(['{"reasoning": "Alike.", "answer": "tie"}', "7"])
    judge = QuestionJudge(client, root, mode="json", ties=True)
    verdict = ask(judge, Ask(question(), "BA"))
    assert (verdict.value, verdict.status) == ("tie", "ok")
    last = client.requests[0].parts[-1]
    assert isinstance(last, TextPart)
    assert last.text.endswith("answer Both bad instead.")
    assert client.requests[0].schema["properties"]["answer"]["enum"] == [
        "A",
        "B",
        "tie",
        "both_bad",
    ]
    assert judge.describe()["parameters"]["ties"] is True
    assert (
        ask(
            QuestionJudge(ScriptedClient(["It's a tie."]), root),
            Ask(question()),
        ).cause
        == "tie"
    )
