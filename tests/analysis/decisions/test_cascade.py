"""The cascade: its promise, what it saves, and the judge that runs it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import numpy as np
import orjson
import pytest

from decided import World, choices_of
from judged_records import pair, said
from making import make_folder
from visualjudge.analysis import study_of
from visualjudge.analysis.decisions.cascade import cascade_study
from visualjudge.analysis.decisions.decision_json import cascade_json
from visualjudge.analysis.statistics.cascade import upper_bound
from visualjudge.apps.planning.cheapest_judges import plan_of
from visualjudge.cli.main import app
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import FAILED, Question, Verdict
from visualjudge.dataset.build import build
from visualjudge.judges.base import Ask
from visualjudge.judges.cascade import CascadeJudge, CascadeRule, RecordedJudge, decide, read_rule


def _calibrated(questions: list[Question], seed: int = 0) -> list[Verdict]:
    """A judge whose probability is right: it errs in 1 − p of the questions that it answers with
    p.
    """
    rng = np.random.default_rng(seed)
    out = []
    for question in questions:
        sure = rng.uniform(0.5, 1)
        right = rng.random() < sure
        answer = str(question.answer) if right else "AB"[question.answer == "A"]
        probability = sure if answer == "A" else 1 - sure
        out.append(Verdict(question.id, "AB", answer, "ok", answer, probability_a=probability))
    return out


def call(words: list[str]) -> None:
    assert app(words, standalone_mode=False) in (None, 0)


def _recorded(verdicts: list[Verdict]) -> RecordedJudge:
    return RecordedJudge("run", {(v.id, v.order, v.repeat): v for v in verdicts})


@pytest.fixture(scope="module")
def questions() -> list[Question]:
    return World.of(150, 4).pair_questions()


@pytest.mark.parametrize(("second", "used", "asks"), [(150, 900, 1), (890, 890, 2)])
def test_answers_of_an_unfinished_run_rest_on_the_same_calls(
    questions: list[Question], second: int, used: int, asks: int
) -> None:
    """The second order was asked of ``second`` questions: one order alone always agrees."""
    begun = {question.id for question in questions[:second]}
    cheap = [v for v in choices_of(questions, 0.8, swap=True) if v.order == "AB" or v.id in begun]
    study = study_of(questions, {"cheap": cheap, "dear": choices_of(questions, 0.95, 1)})
    found = cascade_study(study, risk=0.25)
    assert (found.questions, len(found.rule.asks)) == (used, asks)
    votes = [one for one in plan_of(study).candidates if len(one.members) == 1]
    assert {one.cost for one in votes if one.members[0].judge == "cheap"} == {1.0, float(asks)}


def test_the_sure_answers_stand_and_the_others_are_asked_again(questions: list[Question]) -> None:
    judged = {"cheap": _calibrated(questions), "dear": choices_of(questions, 0.95, 1)}
    found = cascade_study(study_of(questions, judged), risk=0.15)
    assert found.rule.by == "probability" and 0.6 < found.rule.threshold < 0.95
    assert 0.2 < found.saved < 0.8 and found.threshold.errors <= 0.15
    assert found.cheap_accuracy.value < found.accuracy.value
    assert set(cascade_json(found)) >= {"rule", "risk", "saved", "accuracy"}


def test_a_judge_without_probabilities_is_as_sure_as_its_orders_agree(
    questions: list[Question],
) -> None:
    judged = {
        "cheap": choices_of(questions, 0.85, swap=True),
        "dear": choices_of(questions, 0.95, 1),
    }
    found = cascade_study(study_of(questions, judged), risk=0.1)
    assert (found.rule.by, found.rule.asks) == ("agreement", (("AB", 0), ("BA", 0)))
    assert found.rule.threshold == 1.0 and 0.6 < found.saved < 0.85


def test_a_question_that_the_cheap_judge_declined_is_asked_and_hides_no_probability(
    questions: list[Question],
) -> None:
    cheap = [
        replace(v, value=FAILED, status="refusal", probability_a=None)
        for v in _calibrated(questions)[:5]
    ]
    judged = {"cheap": cheap + _calibrated(questions)[5:], "dear": choices_of(questions, 0.95, 1)}
    found = cascade_study(study_of(questions, judged), risk=0.1)
    assert found.rule.by == "probability" and 0.2 < found.saved < 0.8


def test_a_judge_that_guesses_saves_nothing(questions: list[Question]) -> None:
    judged = {"cheap": choices_of(questions, 0.5), "dear": choices_of(questions, 0.95, 1)}
    found = cascade_study(study_of(questions, judged), risk=0.1)
    assert (found.saved, found.accuracy) == (0.0, found.expensive_accuracy)
    assert found.rule.threshold > 1 and "ask dear" in found.answer


def test_a_cheap_judge_that_is_better_needs_no_cascade(questions: list[Question]) -> None:
    judged = {
        "cheap": choices_of(questions, 0.95, 1, swap=True),
        "dear": choices_of(questions, 0.6),
    }
    found = cascade_study(study_of(questions, judged), risk=0.1)
    assert found.cheap_is_better and found.answer.startswith("Do not use this cascade: cheap alone")
    assert cascade_json(found)["ahead"]["value"] == pytest.approx(found.ahead.value)


def test_the_bound_of_the_risk_never_falls_with_an_error() -> None:
    images = np.repeat(np.arange(12), 20)
    bounds = [
        upper_bound((np.arange(240) < errors).astype(float), images, 0.1) for errors in range(4)
    ]
    assert bounds == sorted(bounds)
    assert bounds[0] > 1 - 0.1 ** (1 / 12) - 1e-9


def test_runs_without_a_common_pair_are_refused() -> None:
    questions = World.of(3, 2).pair_questions()
    half = {"a": choices_of(questions[:1], 1), "b": choices_of(questions[1:], 1)}
    with pytest.raises(DataError, match="no pairwise question in common"):
        cascade_study(study_of(questions, half))


def test_the_judge_does_what_the_rule_says(questions: list[Question]) -> None:
    cheap, dear = _calibrated(questions), choices_of(questions, 0.95, 1)
    study = study_of(questions, {"cheap": cheap, "dear": dear})
    found = cascade_study(study, risk=0.1)
    members = [
        RecordedJudge(name, {(v.id, v.order, v.repeat): v for v in said})
        for name, said in (("c", cheap), ("d", dear))
    ]
    judge = CascadeJudge(*members, found.rule)

    async def ask_all() -> list[Verdict]:
        return [(await judge(Ask(question))).verdict for question in questions]

    verdicts = asyncio.run(ask_all())
    kept = np.mean([v.extra["decided_by"] == "cheap" for v in verdicts])
    right = np.mean([v.value == q.answer for v, q in zip(verdicts, questions, strict=True)])
    assert (kept, right) == pytest.approx((found.saved, found.accuracy.value))


def test_a_rule_is_run_from_its_file(tmp_path: Path) -> None:
    """The cheap judge's run, the rule of ``cascade --json``, and an expensive judge that is asked
    the rest.
    """
    data = make_folder(tmp_path / "data", tasks=("depth_estimation",), images=8, annotations=4)
    build(data, tmp_path / "dataset")
    words = ["judge", str(tmp_path / "dataset"), "--type", "pairwise", "--backend", "baseline"]
    call([*words, "--model", "oracle:0.9", "--swap", "--out", str(tmp_path / "cheap")])
    call([*words, "--model", "oracle:1", "--swap", "--out", str(tmp_path / "dear")])
    rule = {"rule": {"threshold": 0.9, "by": "agreement", "asks": [["AB", 0], ["BA", 0]]}}
    (tmp_path / "rule.json").write_bytes(orjson.dumps(rule))
    run = ["--cascade", str(tmp_path / "rule.json"), "--cheap", str(tmp_path / "cheap")]
    call([*words, "--model", "oracle:1", *run, "--out", str(tmp_path / "both")])
    said = [
        orjson.loads(line)
        for line in (tmp_path / "both" / "verdicts.jsonl").read_bytes().splitlines()
    ]
    assert {line["decided_by"] for line in said} == {"cheap", "expensive"}
    with pytest.raises(UsageError, match="--cheap RUN must be given together"):
        call([*words, "--model", "oracle:1", *run[:2], "--out", str(tmp_path / "no")])


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ([], "rule: must be an object"),
        ({"rule": {"threshold": "high"}}, "threshold: must be a number"),
        ({"rule": {"threshold": 0.9, "by": "luck"}}, "by: must be one of probability, agreement"),
        (
            {"rule": {"threshold": 0.9, "by": "agreement", "asks": [["XY", 0]]}},
            "asks: must list pairs",
        ),
    ],
)
def test_a_rule_that_cannot_be_read_is_refused(tmp_path: Path, rule: object, said: str) -> None:
    (tmp_path / "rule.json").write_bytes(orjson.dumps(rule))
    with pytest.raises(DataError, match=said):
        read_rule(tmp_path / "rule.json")


def test_a_tie_that_is_right_counts_for_both_judges() -> None:
    questions = [pair(i, (6.0, 6.0), answer="tie", ties=("tie",)) for i in range(24)]
    found = cascade_study(
        study_of(questions, {name: [said(q, "tie") for q in questions] for name in ("a", "b")})
    )
    assert (found.cheap_accuracy.value, found.expensive_accuracy.value, found.accuracy.value) == (
        1.0,
        1.0,
        1.0,
    )


def test_no_majority_is_no_answer() -> None:
    assert decide(["A", "B"], [], "agreement") == (None, 0.0)
    assert decide(["A", "Failed"], [], "agreement") == ("A", 0.5)
    assert decide(["A"], [None], "probability") == (None, 0.0)
    assert decide(["A", "B"], [0.9, 0.6], "probability") == ("A", 0.75)


def test_questions_that_are_no_pairs_go_to_the_expensive_judge() -> None:
    question = World.of(1, 1).scoring_questions()[0]
    said = Verdict(question.id, "AB", 7.0, "ok", "7")
    judge = CascadeJudge(
        RecordedJudge("c", {}),
        RecordedJudge("d", {(said.id, "AB", 0): said}),
        CascadeRule(0.5, "agreement"),
    )
    assert asyncio.run(judge(Ask(question))).verdict == said


def test_where_no_answer_stands_no_share_of_errors_is_claimed() -> None:
    questions = World.of(12, 3).pair_questions()
    said = {"c": choices_of(questions, 0.5, swap=True), "d": choices_of(questions, 0.9, swap=True)}
    found = cascade_study(study_of(questions, said), risk=0.01)
    assert found.saved == 0
    assert "Share of errors" not in str(found)
    record = cascade_json(found)
    assert (record["errors_kept"], record["errors_bound"]) == (None, None)
