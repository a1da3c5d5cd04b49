"""Rewards are exact, and the rows of the export are those that a trainer's reward
reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from folding import each
from runs.made_dataset import make_dataset
from visualjudge.core.errors import UsageError
from visualjudge.dataset.exports import FORMATS, export
from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.rewards import reward, trl_reward

PAIR = {"question_type": "pairwise", "answer": "A", "final_scores": [6.0, 5.0]}


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return load_dataset(
        make_dataset(tmp_path / "set", pairwise=12, ranking=4, scoring=6)
    )


@each(
    ("reply", "question", "value"),
    [
        ("Answer: A", PAIR, 1.0),
        ("<think>B?</think> \\boxed{B}", PAIR, 0.0),
        ("I cannot tell them apart.", PAIR, -1.0),
        ("BCA", {"question_type": "ranking", "answer": "BCA"}, 1.0),
        ("ABC", {"question_type": "ranking", "answer": "BCA"}, 0.0),
        ("7", {"question_type": "scoring", "answer": 8.5}, 0.85),
        (
            "[[tie]]",
            {"question_type": "pairwise", "answer": "tie", "ties": ["tie"]},
            1.0,
        ),
        ("[[tie]]", PAIR, -1.0),
    ],
)
def test_a_reply_is_worth_what_it_says(
    reply: str, question: dict[str, Any], value: float
) -> None:
    assert reward(reply, question) == value


def test_a_reply_that_was_cut_is_rewarded_as_one_without_an_answer() -> None:
    assert reward("Answer: A", PAIR) == 1.0
    assert reward("Answer: A", PAIR, finish_reason="length") == -1.0
    assert (
        reward("Answer: A", PAIR, finish_reason="length", unreadable=-0.5)
        == -0.5
    )


def test_questions_and_their_exported_rows_have_the_same_reward(
    dataset: Dataset, tmp_path: Path
) -> None:
    (path,) = export(dataset, "trl", tmp_path / "rows.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    questions = {question.id: question for question in dataset}
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    for side, worth in (("chosen", 1.0), ("rejected", 0.0)):
        completions = [row[side] for row in rows]
        named = {
            name: columns[name]
            for name in ("question_type", "answer", "final_scores", "ties")
        }
        assert trl_reward(columns["prompt"], completions, **named) == [
            worth
        ] * len(rows)
        replies = [
            completion[0]["content"][0]["text"] for completion in completions
        ]
        assert {
            reward(reply, questions[row["id"]])
            for reply, row in zip(replies, rows, strict=True)
        } == {worth}
    with pytest.raises(
        UsageError, match="must have the columns question_type, answer"
    ):
        trl_reward(["p"], ["A"])


def test_what_is_for_evaluation_only_is_not_exported_for_training(
    dataset: Dataset, tmp_path: Path
) -> None:
    path = dataset.root / "dataset.json"
    meta = json.loads(path.read_text()) | {
        "benchmark": {"use": "evaluation only", "licence": "CC BY-NC 4.0"}
    }
    path.write_text(json.dumps(meta))
    with pytest.raises(UsageError, match="may be used for evaluation only"):
        export(load_dataset(dataset.root), "trl", tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()
    assert not FORMATS["parquet"].training
