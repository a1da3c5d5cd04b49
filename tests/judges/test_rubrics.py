"""Rubrics: files, what is asked, and criteria read apart from the answer."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

import visualjudge as vj
from judges.made_question import PROMPT, question
from runs.made_dataset import make_dataset
from scripted_client import ScriptedClient
from visualjudge.clients.base import Reply, Request, TextPart, ToolCall
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import Fault, Verdict
from visualjudge.dataset.fault_truth import better_in, deciding
from visualjudge.judges.base import Ask
from visualjudge.judges.baseline import baseline_judge
from visualjudge.judges.local.criteria import criteria_of
from visualjudge.judges.question_judge import QuestionJudge
from visualjudge.prompts.rubric import Rubric, read_rubric, rubric_of
from visualjudge.replies import read_reply
from visualjudge.replies.criteria import split_criteria
from visualjudge.runs.verdicts import verdict_line, verdict_of

TEXT = """
rubric: mine
version: v1
criteria:
  - {id: sharp, ask: Is it sharp?, answer: yes_no}
  - {id: better, ask: Which is sharper?, answer: option}
  - {id: kind, ask: Which word?, answer: {choice: [yes, no, blurred edges]}}
  - {id: level, ask: How sharp?, answer: {scale: [1, 5]}}
  - {id: place, ask: Where?, answer: place}
"""
ASKED = replace(question(), images=(), prompt=PROMPT.replace("<image>", ""))


def rubric(tmp_path: Path, text: str = TEXT) -> Rubric:
    (tmp_path / "mine.yaml").write_text(text)
    return read_rubric(tmp_path / "mine.yaml")


def judged(
    tmp_path: Path, reply: str, order: Any = "AB", **fields: Any
) -> Verdict:
    judge = QuestionJudge(
        ScriptedClient([reply]), tmp_path, rubric=rubric(tmp_path), **fields
    )
    return asyncio.run(judge(Ask(ASKED, order)))


def test_criteria_are_asked_after_the_unchanged_text(tmp_path: Path) -> None:
    client = ScriptedClient(["A"])
    judge = QuestionJudge(client, tmp_path, "json", rubric=rubric(tmp_path))
    asyncio.run(judge(Ask(ASKED)))
    text = "".join(part.text for part in client.requests[0].parts)  # type: ignore[union-attr]
    assert text.startswith(ASKED.prompt + "\n\n")
    schema = client.requests[0].schema
    assert schema is not None
    assert list(schema["properties"]) == ["criteria", "answer"]
    rules = schema["properties"]["criteria"]["properties"]
    assert rules["kind"]["enum"] == ["yes", "no", "blurred edges"]
    assert rules["sharp"]["enum"] == ["yes", "no"]
    assert rules["better"]["enum"] == ["A", "B", "tie"]
    assert (rules["level"]["minimum"], rules["level"]["maximum"]) == (1, 5)
    box, no_box = rules["place"]["anyOf"]
    assert (box["type"], box["minItems"], box["maxItems"]) == ("array", 4, 4)
    assert (box["items"]["minimum"], box["items"]["maximum"]) == (0, 1000)
    assert no_box["enum"] == ["none"]


def test_each_form_is_read_and_a_bad_value_fails_alone(tmp_path: Path) -> None:
    said = {
        "sharp": True,
        "better": "Option B",
        "kind": "Blurred_Edges",
        "level": 1,
        "place": [0, 20, 30, 40],
    }
    verdict = judged(tmp_path, json.dumps({"criteria": said, "answer": "A"}))
    assert (verdict.value, verdict.criteria) == (
        "A",
        {
            "sharp": "yes",
            "better": "B",
            "kind": "blurred edges",
            "level": 1.0,
            "place": [0, 20, 30, 40],
        },
    )
    bad = {
        "sharp": "perhaps",
        "better": "C",
        "level": 6,
        "place": [0.1, 0.2, 0.3, 0.4],
    }
    verdict = judged(tmp_path, json.dumps({"criteria": bad, "answer": "A"}))
    assert (verdict.value, set((verdict.criteria or {}).values())) == (
        "A",
        {"Failed"},
    )
    assert len(verdict.criteria or {}) == 5


def test_option_criteria_are_turned_back_with_the_order(tmp_path: Path) -> None:
    said = {"criteria": {"better": "A", "place": "none"}, "answer": "A"}
    verdict = judged(tmp_path, json.dumps(said), "BA")
    assert verdict.value == "B"
    assert verdict.criteria is not None
    assert (verdict.criteria["better"], verdict.criteria["place"]) == (
        "B",
        "none",
    )
    assert verdict_of(json.loads(json.dumps(verdict_line(verdict)))) == verdict


WORDS = st.sampled_from(
    [
        "A",
        "B",
        "tie",
        "Answer: A",
        "Answer: B",
        "Option A is better.",
        "C",
        "7",
        "",
        "x",
    ]
)
VALUES = st.one_of(
    WORDS, st.integers(0, 10), st.lists(st.integers(0, 9)), st.none()
)
CRITERIA = st.dictionaries(
    st.sampled_from(["better", "winner", "score", "choice", "place"]),
    VALUES,
    min_size=1,
)


@given(
    before=st.lists(WORDS, max_size=3).map("\n\n".join),
    answer=WORDS,
    criteria=CRITERIA,
    kind=st.sampled_from(["pairwise", "scoring"]),
    indent=st.sampled_from([None, 2]),
    first=st.booleans(),
)
def test_the_answer_is_read_as_if_no_criterion_was_there(
    before: str,
    answer: str,
    criteria: dict[str, Any],
    kind: Any,
    indent: int | None,
    first: bool,
) -> None:
    plain = {"reasoning": before, "answer": answer}
    asked = {"criteria": criteria}
    both = asked | plain if first else plain | asked
    alone, beside = (json.dumps(text, indent=indent) for text in (plain, both))
    cases = [
        (alone, beside),
        (f"{before}\n\n{alone}\nAnswer: A", f"{before}\n\n{beside}\nAnswer: A"),
        (before, f"{before}{json.dumps(asked)}"),
    ]
    for without, with_criteria in cases:
        rest, values = split_criteria(with_criteria)
        assert values == criteria
        one, other = read_reply(without, kind), read_reply(rest, kind)
        assert (one.value, one.status, one.cause) == (
            other.value,
            other.status,
            other.cause,
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("answer: yes_no", "answer: maybe"), "criteria.0.answer"),
        (("id: sharp", "id: answer"), "must not be one of answer"),
        (("id: sharp", "id: better"), "id must be unique, got 'better' twice"),
        (("[1, 5]", "[5, 1]"), "scale must have its lower end first"),
        (("ask: Is it sharp?", "tasks: [no_task], ask: x"), "no_task"),
        (("version: v1", "version: 1"), "version"),
        (("rubric: mine", "rubrik: mine"), "rubric: the field is missing"),
    ],
)
def test_a_rubric_that_cannot_be_used_names_the_field(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        rubric(tmp_path, TEXT.replace(*change))


def test_a_built_in_rubric_is_named_with_or_without_version() -> None:
    assert (
        rubric_of("reason").name == rubric_of("reason@v1").name == "reason@v1"
    )
    with pytest.raises(UsageError, match="quality@v1"):
        rubric_of("qualiti")


MISSED = Fault("missed", (0.0, 0.0, 10.0, 10.0), 1.0)
MOVED = Fault("localization", (50.0, 50.0, 100.0, 100.0), 0.5)


def faulty(a: tuple[Fault, ...], b: tuple[Fault, ...]) -> Any:
    return replace(question(), faults=(a, b), images=())


def test_the_error_by_which_the_worse_option_loses_most_decides() -> None:
    found = deciding(faulty((MISSED, MOVED), (MOVED,)), (100, 200))
    assert found is not None
    assert (found.kinds, found.places, found.area) == (
        ("missed",),
        ((0, 0, 50, 100),),
        100,
    )
    assert deciding(faulty((MOVED,), (MOVED,)), (100, 200)) is None
    assert better_in(faulty((MISSED,), ()), ["missed"]) == "B"
    assert better_in(faulty((MISSED,), ()), ["duplicate"]) == "tie"
    alone = replace(faulty((), ()), question_type="scoring", faults=((),))
    found = deciding(alone, (100, 200))
    assert found is not None
    assert (found.kinds, found.places, found.area) == (("none",), (), None)


@pytest.mark.parametrize("skill", [0.0, 1.0])
def test_a_simulated_judge_has_the_skill_of_reasons_that_is_stated(
    tmp_path: Path, skill: float
) -> None:
    judge: Any = baseline_judge(f"oracle:1,reason={skill}", tmp_path)
    judge.rubric = rubric_of("reason")
    asked = [
        replace(faulty((MISSED, MOVED), (MOVED,)), id=str(number))
        for number in range(40)
    ]

    async def verdicts() -> list[Verdict]:
        return [await judge(Ask(one)) for one in asked]

    named = [one.criteria["error"] for one in asyncio.run(verdicts())]  # type: ignore[index]
    judge.rubric = rubric(tmp_path)
    chosen = [one.criteria or {} for one in asyncio.run(verdicts())]
    assert {one["sharp"] for one in chosen} == {"yes", "no"}
    assert {one["better"] for one in chosen} == {"A", "B", "tie"}
    assert {one["kind"] for one in chosen} == {"yes", "no", "blurred edges"}
    levels = [one["level"] for one in chosen]
    assert (min(levels) < 2, max(levels) > 4) == (True, True)
    assert all(1 <= level <= 5 for level in levels)
    for x1, y1, x2, y2 in (one["place"] for one in chosen):
        assert x2 - x1 == y2 - y1 > 0 and min(x1, y1) >= 0
    assert (named.count("missed") == 40) if skill else "missed" not in named
    assert (len(set(named)) > 2) == (not skill)


def test_a_run_asks_its_rubric_in_both_orders_each_repeat_and_after_tools(
    tmp_path: Path,
) -> None:
    root = make_dataset(tmp_path, pairwise=3, ranking=0, scoring=0)
    rubric(tmp_path)
    said = {"criteria": {"better": "A", "level": 2}, "answer": "A"}
    zoom = json.dumps({"image": "original", "x0": 0, "y0": 0, "x1": 8, "y1": 8})

    def script(request: Request, _attempt: int) -> Reply | str:
        text = "".join(
            one.text for one in request.parts if isinstance(one, TextPart)
        )
        assert "Which is sharper?" in text
        if request.tools and not request.turns:
            return Reply("", calls=(ToolCall("c", "zoom", zoom),))
        return json.dumps(said)

    options = {"rubric": tmp_path / "mine.yaml", "swap": True, "repeats": 2}
    run = vj.judge(
        root,
        ScriptedClient(script),
        tmp_path / "run",
        tools=["zoom"],
        progress=False,
        **options,  # type: ignore[arg-type]
    )
    asked = [
        (one.order, (one.criteria or {}).get("better"))
        for one in run.verdicts.values()
    ]
    assert asked.count(("AB", "A")) == asked.count(("BA", "B")) == 6
    assert {(one.criteria or {})["level"] for one in run.verdicts.values()} == {
        2.0
    }
    (tmp_path / "mine.yaml").write_text(
        TEXT.replace("How sharp?", "How crisp?")
    )
    with pytest.raises(UsageError, match="rubric"):
        vj.judge(
            root,
            ScriptedClient(script),
            tmp_path / "run",
            tools=["zoom"],
            progress=False,
            resume=True,
            **options,  # type: ignore[arg-type]
        )


def test_the_local_judge_answers_what_differences_tell(tmp_path: Path) -> None:
    text = """
rubric: mine
version: v1
criteria:
  - {id: kind, ask: Which?, answer: {choice: faults}}
  - {id: place, ask: Where?, answer: place}
  - {id: missed, ask: Which misses less?, answer: option, faults: [missing]}
  - {id: shifted, ask: Which lies better?, answer: option, faults: [location]}
  - {id: sharp, ask: Is it sharp?, answer: yes_no}
"""
    faults = [
        Fault("missing", (20, 10, 60, 30), 0.25),
        Fault("missing", (0, 0, 10, 10), 0.125),
        Fault("extra", (5, 5, 9, 9), 0.3),
    ]
    asked = rubric(tmp_path, text)
    values = criteria_of(asked, ASKED, "B", faults, (50, 200))
    assert values == {
        "kind": "missing",
        "place": [100, 200, 300, 600],
        "missed": "B",
        "shifted": "tie",
        "sharp": "Failed",
    }
    nothing = criteria_of(asked, ASKED, "B", [], (50, 200))
    assert nothing["kind"] == nothing["place"] == "none"
