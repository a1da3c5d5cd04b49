"""Rewards are exact, rows are what trainers read, and no image is on both sides of a split."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest

from runs.made_dataset import make_dataset
from visualjudge.apps.training import hard_pairs
from visualjudge.apps.training.trainer_exports import split_by_image
from visualjudge.core.errors import UsageError
from visualjudge.dataset.exports import FORMATS, export
from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.rewards import (
    Weights,
    easyr1_compute_score,
    reward,
    reward_both,
    swift_reward,
    trl_reward,
    verifiers_reward,
    verl_compute_score,
)

PAIR = {"question_type": "pairwise", "answer": "A", "final_scores": [6.0, 5.0]}
LINES = ("trl-grpo", "trl-dpo", "easyr1", "ms-swift", "verifiers")


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return load_dataset(make_dataset(tmp_path / "set", pairwise=12, ranking=4, scoring=6))


@pytest.mark.parametrize(
    ("reply", "question", "value"),
    [
        ("Answer: A", PAIR, 1.0),
        ("<think>B?</think> \\boxed{B}", PAIR, 0.0),
        ("I cannot tell them apart.", PAIR, -1.0),
        ("BCA", {"question_type": "ranking", "answer": "BCA"}, 1.0),
        ("ABC", {"question_type": "ranking", "answer": "BCA"}, 0.0),
        ("7", {"question_type": "scoring", "answer": 8.5}, 0.85),
        ("[[tie]]", {"question_type": "pairwise", "answer": "tie", "ties": ["tie"]}, 1.0),
        ("[[tie]]", PAIR, -1.0),
    ],
)
def test_a_reply_is_worth_what_it_says(reply: str, question: dict[str, Any], value: float) -> None:
    assert reward(reply, question) == value


def test_a_right_answer_below_the_threshold_counts_by_its_margin() -> None:
    assert reward("A", PAIR, Weights(jnd=4)) == 0.25
    assert reward("B", PAIR, Weights(jnd=4)) == 0.0
    assert reward("?", PAIR, Weights(jnd=4, unreadable=-0.5)) == -0.5
    assert reward("A", PAIR, Weights(jnd=0.5)) == 1.0
    assert reward("A", PAIR, Weights(tool_call=0.25), tool_calls=2) == 0.5
    assert reward("A", PAIR, tool_calls=9) == 1.0
    with pytest.raises(UsageError, match="tool_call must be at least 0"):
        Weights(tool_call=-1)
    with pytest.raises(UsageError, match="jnd must be above 0"):
        Weights(jnd=0)


def test_the_same_answer_in_both_orders_earns_a_bonus() -> None:
    assert reward_both("A", "B", PAIR) == 1.25  # B as shown is A as stored
    assert reward_both("A", "A", PAIR) == 0.5
    assert reward_both("?", "?", PAIR) == -1.0


def test_a_reply_that_was_cut_is_rewarded_as_one_without_an_answer() -> None:
    assert reward("Answer: A", PAIR) == 1.0
    assert reward("Answer: A", PAIR, finish_reason="length") == -1.0


def test_questions_of_a_dataset_are_rewarded_as_their_rows(dataset: Dataset) -> None:
    for question in dataset:
        assert reward(str(question.answer), question) == 1.0


def rows_of(dataset: Dataset, name: str, out: Path) -> list[dict[str, Any]]:
    files = export(dataset, name, out / name)
    return [json.loads(line) for path in files for line in path.read_text().splitlines()]


def test_every_trainer_is_called_with_its_own_rows(dataset: Dataset, tmp_path: Path) -> None:
    grpo = rows_of(dataset, "trl-grpo", tmp_path)
    assert len(grpo) == len(dataset)
    columns = {
        name: [row[name] for row in grpo] for name in grpo[0] if name not in ("prompt", "images")
    }
    said: list[Any] = [[{"role": "assistant", "content": row["answer"]}] for row in grpo]
    assert trl_reward([row["prompt"] for row in grpo], said, **columns) == [1.0] * len(grpo)
    swift = rows_of(dataset, "ms-swift", tmp_path)
    answers = [json.loads(row["solution"])["answer"] for row in swift]
    assert swift_reward(answers, [row["solution"] for row in swift]) == [1.0] * len(swift)
    (row, *_) = rows_of(dataset, "verifiers", tmp_path)
    assert verifiers_reward("nothing", row["answer"]) == -1.0
    easy = rows_of(dataset, "easyr1", tmp_path)[0]
    (scored,) = easyr1_compute_score([{"response": "nothing", "ground_truth": easy["answer"]}])
    assert scored == {"overall": -1.0, "accuracy": 0.0, "format": 0.0}


def test_rows_without_a_truth_are_refused() -> None:
    with pytest.raises(UsageError, match="must have the columns question_type, answer"):
        trl_reward(["p"], ["A"])
    with pytest.raises(UsageError, match="must be the JSON that visualjudge export wrote"):
        verl_compute_score("visualjudge", "A", "A")


@pytest.mark.parametrize("name", LINES)
def test_images_are_where_the_rows_say_and_as_many_as_the_marks(
    dataset: Dataset, tmp_path: Path, name: str
) -> None:
    rows = rows_of(dataset, name, tmp_path)
    assert rows
    for row in rows:
        assert all(Path(path).is_absolute() and Path(path).is_file() for path in row["images"])
        texts = row.get("problem") or row.get("prompt") or row["messages"]
        assert json.dumps(texts).count('"type": "image"') + json.dumps(texts).count(
            "<image>"
        ) == len(row["images"])


def test_verl_parquet_holds_images_and_truth(dataset: Dataset, tmp_path: Path) -> None:
    train, test = (
        pq.read_table(path).to_pylist() for path in export(dataset, "verl", tmp_path / "verl")
    )
    assert len(train) + len(test) == len(dataset) and test
    row = train[0]
    truth = row["reward_model"]["ground_truth"]
    assert row["images"][0]["bytes"].startswith(b"\x89PNG")
    assert (
        verl_compute_score(
            row["data_source"], json.loads(truth)["answer"], truth, row["extra_info"]
        )
        == 1.0
    )


def test_llama_factory_names_its_files_and_ranks_answers(dataset: Dataset, tmp_path: Path) -> None:
    export(dataset, "llama-factory", tmp_path / "lf")
    info = json.loads((tmp_path / "lf" / "dataset_info.json").read_text())
    about = info["visualjudge_train"]
    assert about["ranking"] is True and about["formatting"] == "sharegpt"
    for row in json.loads((tmp_path / "lf" / about["file_name"]).read_text()):
        assert row["chosen"]["value"] != row["rejected"]["value"]
        assert row["conversations"][0]["value"].count("<image>") == len(row["images"])


def near(
    monkeypatch: pytest.MonkeyPatch, dataset: Dataset, *points: tuple[str, str, float | None]
) -> list[float]:
    """The margins of the pairs near a judge's 75 % points, each with its scope and value."""
    curves = [
        SimpleNamespace(
            against="margin",
            scope=scope,
            value=value,
            jnd=SimpleNamespace(value=point),
            reason="too few",
        )
        for scope, value, point in points
    ]
    judge = SimpleNamespace(sensitivity=curves)
    monkeypatch.setattr(
        hard_pairs, "analyse", lambda runs: SimpleNamespace(results=SimpleNamespace(judges=[judge]))
    )
    found = hard_pairs.at_threshold(dataset, "run")
    assert {question.question_type for question in found} == {"pairwise"}
    return sorted({round(abs(q.final_scores[0] - q.final_scores[1]), 6) for q in found})


def test_hard_pairs_are_near_the_threshold_of_their_task(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [question for question in dataset if question.question_type == "pairwise"]
    margins = sorted({round(abs(q.final_scores[0] - q.final_scores[1]), 6) for q in pairs})
    middle = margins[len(margins) // 2]
    expected = [value for value in margins if middle / 2 <= value <= 2 * middle]
    assert near(monkeypatch, dataset, ("all", "all", middle)) == expected
    own = [("task", task, middle) for task in {question.task for question in pairs}]
    assert near(monkeypatch, dataset, ("all", "all", 1e-9), *own) == expected
    with pytest.raises(UsageError, match="must have a pair near the 75 % point"):
        near(monkeypatch, dataset, ("all", "all", 1e-9))
    with pytest.raises(UsageError, match="has no 75 % point: too few"):
        near(monkeypatch, dataset, ("all", "all", None))


def test_no_image_is_on_both_sides(dataset: Dataset) -> None:
    split = split_by_image(list(dataset.questions), 0.3)
    train, test = ({q.image_id for q in split[name]} for name in ("train", "test"))
    assert train and test and not train & test
    again = split_by_image(list(reversed(dataset.questions)), 0.3)
    assert {q.id for q in again["test"]} == {q.id for q in split["test"]}


@pytest.mark.parametrize("name", ["trl", "sharegpt", "trl-grpo", "verl", "llama-factory"])
def test_what_is_for_evaluation_only_is_not_exported_for_training(
    dataset: Dataset, tmp_path: Path, name: str
) -> None:
    path = dataset.root / "dataset.json"
    meta = json.loads(path.read_text()) | {
        "benchmark": {"use": "evaluation only", "licence": "CC BY-NC 4.0"}
    }
    path.write_text(json.dumps(meta))
    with pytest.raises(UsageError, match="may be used for evaluation only"):
        export(load_dataset(dataset.root), name, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert not FORMATS["parquet"].training
