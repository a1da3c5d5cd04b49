"""The loaders of verl and ms-swift take the rows that we write, with nothing lost on the way to the
reward.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from runs.made_dataset import make_dataset
from visualjudge.apps.training import trainer_rewards
from visualjudge.dataset.exports import export
from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.rewards import swift_reward, verl_compute_score


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return load_dataset(make_dataset(tmp_path / "set", pairwise=12, ranking=4, scoring=6))


def test_verl_puts_every_image_at_its_mark_and_scores_by_the_truth(
    dataset: Dataset, tmp_path: Path
) -> None:
    try:
        from omegaconf import OmegaConf
        from verl.utils.dataset.rl_dataset import RLHFDataset
    except ImportError as error:
        pytest.skip(f"verl is not installed: {error}")
    files = [str(path) for path in export(dataset, "verl", tmp_path / "rows")]
    config = OmegaConf.create(
        {"filter_overlong_prompts": False, "cache_dir": str(tmp_path / "cache")}
    )
    rows = RLHFDataset(files, tokenizer=None, config=config, processor=object())
    questions = {question.id: question for question in dataset}
    assert len(rows) == len(questions)
    for row in (rows[k] for k in range(len(rows))):
        question = questions[row["extra_info"]["id"]]
        parts = row["raw_prompt"][0]["content"]
        shown = [part["image"].tobytes() for part in parts if part["type"] == "image"]
        assert shown == [Image.open(dataset.image_path(path)).tobytes() for path in question.images]
        truth = row["reward_model"]["ground_truth"]
        assert (
            verl_compute_score(row["data_source"], str(question.answer), truth, row["extra_info"])
            == 1.0
        )


def test_ms_swift_keeps_the_images_and_the_solution(dataset: Dataset, tmp_path: Path) -> None:
    try:
        from swift.dataset import load_dataset as swift_dataset
    except ImportError as error:
        pytest.skip(f"ms-swift is not installed: {error}")
    files = [str(path) for path in export(dataset, "ms-swift", tmp_path / "rows")]
    # As `swift rlhf --rlhf_type grpo` calls it.
    rows, _ = swift_dataset(files, num_proc=1, remove_unused_columns=False)
    questions = {question.id: question for question in dataset}
    assert {row["id"] for row in rows} == set(questions)
    for row in rows:
        question = questions[row["id"]]
        assert [image["path"] for image in row["images"]] == [
            str(dataset.image_path(path).resolve()) for path in question.images
        ]
        assert row["messages"][0]["content"].count("<image>") == len(question.images)
        assert swift_reward([str(question.answer)], [row["solution"]]) == [1.0]


def test_easyr1_reads_the_rows_as_its_loader_does_and_scores_them_by_the_truth(
    dataset: Dataset, tmp_path: Path
) -> None:
    """EasyR1 is on no registry (and its package is called verl too); this is what its
    ``verl/utils/dataset.py`` asks of a row: a text with marks, an image of each by path, an answer;
    of a folder its split, of a file all of it.
    """
    import datasets

    train, test = export(dataset, "easyr1", tmp_path / "rows")
    cache = str(tmp_path / "cache")
    folder = datasets.load_dataset(
        "json", data_dir=str(train.parent), split="train", cache_dir=cache
    )
    held_out = datasets.load_dataset("json", data_files=str(test), split="train", cache_dir=cache)
    questions = {question.id: question for question in dataset}
    assert [row["id"] for row in folder] == [
        json.loads(line)["id"] for line in train.read_text().splitlines()
    ]
    assert {row["id"] for row in folder} | {row["id"] for row in held_out} == set(questions)
    score = loaded_reward("easyr1_compute_score")
    for row in (*folder, *held_out):
        question = questions[row["id"]]
        assert len(row["problem"].split("<image>")) - 1 == len(row["images"])
        shown = [Image.open(path).convert("RGB").tobytes() for path in row["images"]]
        assert shown == [
            Image.open(dataset.image_path(path)).convert("RGB").tobytes()
            for path in question.images
        ]
        said = [str(question.answer), "no answer"]
        found = score(
            [
                {"response": text, "response_length": 2, "ground_truth": row["answer"]}
                for text in said
            ]
        )
        assert found == [
            {"overall": 1.0, "accuracy": 1.0, "format": 1.0},
            {"overall": -1.0, "accuracy": 0.0, "format": 0.0},
        ]


def loaded_reward(name: str) -> Any:
    """A reward function from the file that EasyR1's and verl's configurations name, as both load
    it.
    """
    spec = importlib.util.spec_from_file_location("custom_reward_fn", trainer_rewards.__file__)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)
