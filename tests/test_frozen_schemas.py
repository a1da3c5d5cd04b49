"""Names in files that other programs read: none may go or change its place; more may
come."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from frontdoor_example import Example, make_example
from visualjudge.analysis import analyse

FIELDS = {
    "question": """
        id task encoding question_type subset image_id annotation_ids final_scores answer prompt
        images class_of_interest sources""",
    "verdict": "id order value status raw_response usage latency_s",
    "run": """
        backend base_url model parameters judge simulated swap repeats dataset version statuses""",
    "metrics": "judges warnings comparisons leak_audit dataset bootstrap",
    "judge": """
        judge simulated verdicts questions status tokens latency_median_s pairwise ranking scoring
        by_task by_encoding by_error_type bias variance
        leaderboard probabilities photograph tasks answer warnings problems""",
    "task": "task answer card",
    "answer": "state sentence resolution pairs",
    "pair": "a b judge judge_ci95 truth truth_ci95 state needs_images",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Example:
    return make_example(tmp_path_factory.mktemp("frozen"))


def lacking(kind: str, record: dict[str, object]) -> list[str]:
    return [name for name in FIELDS[kind].split() if name not in record]


def test_questions_verdicts_and_runs_keep_their_fields(made: Example) -> None:
    questions = json.loads((made.dataset / "questions.json").read_text("utf-8"))
    assert lacking("question", questions[0]) == []
    lines = (Path(made.run) / "verdicts.jsonl").read_text("utf-8").splitlines()
    assert lacking("verdict", json.loads(lines[0])) == []
    assert (
        lacking(
            "run", json.loads((Path(made.run) / "run.json").read_text("utf-8"))
        )
        == []
    )


def test_metrics_keep_their_keys(made: Example) -> None:
    metrics = analyse([made.run]).metrics
    assert lacking("metrics", metrics) == []
    judge = metrics["judges"][0]
    assert lacking("judge", judge) == []
    assert lacking("answer", judge["answer"]) == []
    assert lacking("pair", judge["answer"]["pairs"][0]) == []
    assert lacking("task", judge["tasks"][0]) == []
