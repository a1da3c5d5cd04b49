"""The second reader: what it may read, and that no figure mixes its values in."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from folding import each
from judges.made_question import question
from scripted_client import ScriptedClient
from visualjudge.clients.base import Reply
from visualjudge.core.errors import TransportError
from visualjudge.core.records import Verdict
from visualjudge.judges.base import Ask
from visualjudge.judges.panel import PanelJudge
from visualjudge.judges.question_judge import QuestionJudge
from visualjudge.judges.reply_extractor import declared, extracted


def verdict(
    said: str | Reply, second: str | Reply | Exception
) -> tuple[Verdict, ScriptedClient]:
    reader = ScriptedClient([second])
    judge = QuestionJudge(
        ScriptedClient([said]), Path(), "text", extractor=reader
    )
    asked = question(prompt="Which is better? Answer with A or B.", images=())
    return asyncio.run(judge(Ask(asked))), reader


def test_what_the_rules_cannot_read_is_shown_to_the_second_reader_and_keeps_both_replies() -> (
    None
):
    found, reader = verdict(
        "Maybe the one on the dog, hard to say.",
        "It calls B better.\nAnswer: B",
    )
    assert (found.value, found.status, found.cause) == (
        "B",
        "ok_extracted",
        "no answer",
    )
    assert found.raw_response == "Maybe the one on the dog, hard to say."
    assert found.extra["extractor_response"] == "It calls B better.\nAnswer: B"
    assert "Maybe the one on the dog" in str(reader.requests[0].parts)


def test_the_value_is_in_stored_letters_where_the_order_is_turned() -> None:
    unread = Verdict(
        "q", "BA", "Failed", "unparseable", "hm", cause="no answer"
    )
    ask = Ask(question(prompt="Which is better?", images=()), order="BA")
    judged = asyncio.run(extracted(ScriptedClient(["Answer: B"]), ask, unread))
    assert judged.value == "A"


@pytest.mark.parametrize(
    "said",
    [
        "Answer: A",
        "It is a tie.",
        "I'm sorry, I cannot help with that.",
        Reply("Maybe the one", finish_reason="length"),
    ],
)
def test_replies_that_are_understood_or_cut_are_not_shown(
    said: str | Reply,
) -> None:
    found, reader = verdict(said, "Answer: B")
    assert not reader.requests
    assert found.status != "ok_extracted"


@each(
    "second",
    [
        "Answer: none",
        "I think B is better",
        "Answer: A or B",
        "Answer: B\nor so",
        "",
        "Answer: C",
    ],
)
def test_only_the_declared_form_is_read(second: str) -> None:
    found, _ = verdict("Hard to say.", second)
    assert (found.value, found.status) == ("Failed", "unparseable")


def test_a_failing_second_reader_leaves_the_verdict_as_it_was() -> None:
    found, _ = verdict("Hard to say.", TransportError("down"))
    assert (found.value, found.status, found.extra["extractor_error"]) == (
        "Failed",
        "unparseable",
        "down",
    )


@each(
    ("kind", "n", "said", "value"),
    [
        ("scoring", 1, "Answer: 7.5", 7.5),
        ("scoring", 1, "Answer: 11", None),
        ("scoring", 1, "Answer: 7/10", None),
        ("ranking", 3, "**Answer:** CAB", "CAB"),
        ("ranking", 3, "Answer: CA", None),
        ("pairwise", 2, "answer: b.", "B"),
        ("pairwise", 2, "Answer: tie", None),
    ],
)
def test_declared_values_fit_the_question(
    kind: str, n: int, said: str, value: object
) -> None:
    assert declared(Reply(said), question(kind, n=n)) == value


def test_run_json_names_the_second_reader() -> None:
    reader = ScriptedClient(["Answer: A"], model_name="reader")
    told = QuestionJudge(
        ScriptedClient(["x"]), Path(), "text", extractor=reader
    ).describe()
    assert told["parameters"]["mode"] == "text"
    assert told["parameters"]["extractor"]["model"] == "reader"


def test_a_panel_does_not_count_extracted_values() -> None:
    members = {
        name: {("q", "AB", 0): Verdict("q", "AB", "B", status, "x")}  # type: ignore[arg-type]
        for name, status in (("one", "ok_extracted"), ("two", "ok_extracted"))
    }
    assert asyncio.run(PanelJudge(members)(Ask(question()))).value == "Failed"
