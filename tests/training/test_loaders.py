"""The loaders of verl and ms-swift take the rows that we write, with nothing lost on the way to the reward."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

from runs.made_dataset import make_dataset
from visualjudge.dataset.exports import export
from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.rewards import easyr1_compute_score, swift_reward, verl_compute_score


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return load_dataset(make_dataset(tmp_path / "set", pairwise=12, ranking=4, scoring=6))


def test_verl_puts_every_image_at_its_mark_and_scores_by_the_truth(dataset: Dataset, tmp_path: Path) -> None:
    try:
        from omegaconf import OmegaConf
        from verl.utils.dataset.rl_dataset import RLHFDataset
    except ImportError as error:
        pytest.skip(f"verl is not installed: {error}")
    files = [str(path) for path in export(dataset, "verl", tmp_path / "rows")]
    config = OmegaConf.create({"filter_overlong_prompts": False, "cache_dir": str(tmp_path / "cache")})
    rows = RLHFDataset(files, tokenizer=None, config=config, processor=object())
    questions = {question.id: question for question in dataset}
    assert len(rows) == len(questions)
    for row in (rows[k] for k in range(len(rows))):
        question = questions[row["extra_info"]["id"]]
        parts = row["raw_prompt"][0]["content"]
        shown = [part["image"].tobytes() for part in parts if part["type"] == "image"]
        assert shown == [Image.open(dataset.image_path(path)).tobytes() for path in question.images]
        truth = row["reward_model"]["ground_truth"]
        assert verl_compute_score(row["data_source"], str(question.answer), truth, row["extra_info"]) == 1.0


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


def test_easyr1_columns_load_as_its_documentation_has_them(dataset: Dataset, tmp_path: Path) -> None:
    """EasyR1 is on no registry (and its package is called verl too): ``problem``, ``answer``, ``images`` by path."""
    import datasets

    files = [str(path) for path in export(dataset, "easyr1", tmp_path / "rows")]
    rows = datasets.load_dataset("json", data_files=files, cache_dir=str(tmp_path / "cache"))["train"]
    for row in rows:
        assert row["problem"].count("<image>") == len(row["images"])
        for path in row["images"]:
            Image.open(io.BytesIO(Path(path).read_bytes())).verify()
        (found,) = easyr1_compute_score([{"response": "no answer", "ground_truth": row["answer"]}])
        assert found["overall"] == -1.0
