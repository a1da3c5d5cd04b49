"""TRL itself on exported rows, on the CPU: a vision-language model of a few thousand
weights that is made here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runs.made_dataset import make_dataset
from visualjudge.dataset.exports import export
from visualjudge.dataset.folder import load_dataset
from visualjudge.rewards import trl_reward

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed"
)
tokenizers = pytest.importorskip(
    "tokenizers", reason="tokenizers is not installed"
)
pytest.importorskip(
    "trl", reason="TRL is not installed: pip install trl accelerate torchvision"
)

pytestmark = pytest.mark.torch
WORDS = ["<pad>", "<unk>", "<eos>", "<image>", "A", "B"]
CHAT = (
    "{% for m in messages %}{% for c in m['content'] %}{% if c['type'] == 'image' "
    "%}<image> {% else %}{{ c['text'] }} {% endif %}{% endfor %}{% endfor %}"
)
Rewards = Callable[..., list[float]]


@pytest.fixture(autouse=True)
def packages(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """TRL asks whether there is a package vllm: a folder of that name beside these
    tests is none.
    """
    monkeypatch.setattr(
        sys, "path", [path for path in sys.path if Path(path).name != "tests"]
    )
    monkeypatch.setitem(os.environ, "HF_HUB_OFFLINE", "1")
    yield


def model_and_processor() -> tuple[Any, Any]:
    vision = transformers.CLIPVisionConfig(
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        image_size=16,
        patch_size=8,
    )
    text = transformers.LlamaConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        pad_token_id=0,
        eos_token_id=2,
        bos_token_id=2,
    )
    config = transformers.LlavaConfig(
        vision_config=vision,
        text_config=text,
        image_token_index=3,
        image_seq_length=4,
        vision_feature_layer=-1,
    )
    torch.manual_seed(0)
    words = tokenizers.models.WordLevel(
        {word: k for k, word in enumerate(WORDS)}, unk_token="<unk>"
    )
    tokenizer = tokenizers.Tokenizer(words)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        unk_token="<unk>",
        eos_token="<eos>",
        extra_special_tokens={"image_token": "<image>"},
    )
    images = transformers.CLIPImageProcessor(
        size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16}
    )
    processor = transformers.LlavaProcessor(
        images,
        fast,
        patch_size=8,
        vision_feature_select_strategy="default",
        image_token="<image>",
        num_additional_image_tokens=1,
        chat_template=CHAT,
    )
    return transformers.LlavaForConditionalGeneration(config), processor


def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The train rows of an export, as a user loads them."""
    import datasets

    root = make_dataset(
        tmp_path / "set", pairwise=8, ranking=0, scoring=0, size=(16, 16)
    )
    (path,) = export(load_dataset(root), "trl", root / "rows.jsonl")
    monkeypatch.chdir(root)  # paths of images are relative to the file
    read = datasets.load_dataset("json", data_files=str(path), split="train")
    return read.cast_column("images", datasets.List(datasets.Image()))


def trained(
    tmp_path: Path,
    data: Any,
    rewards: Rewards,
    *,
    steps: int,
    only: set[str],
    group: int,
) -> list[float]:
    """The mean reward of each step of GRPO; the model may say the words of ``only``
    alone."""
    from trl import GRPOConfig, GRPOTrainer

    model, processor = model_and_processor()
    config = GRPOConfig(
        output_dir=str(tmp_path / "out"),
        use_cpu=True,
        bf16=False,
        max_steps=steps,
        per_device_train_batch_size=group,
        num_generations=group,
        max_completion_length=1,
        learning_rate=0.05,
        logging_steps=1,
        report_to=[],
        save_strategy="no",
        seed=1,
        generation_kwargs={
            "suppress_tokens": [
                k for k, word in enumerate(WORDS) if word not in only
            ]
        },
    )
    trainer = GRPOTrainer(
        model,
        rewards,
        args=config,
        train_dataset=data,
        processing_class=processor,
    )
    trainer.train()
    return [
        log["reward"] for log in trainer.state.log_history if "reward" in log
    ]


def test_grpo_calls_the_reward_with_our_columns_and_a_rigged_model_has_its_exact_mean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, calls = rows(tmp_path, monkeypatch), []

    def rewards(
        prompts: list[Any], completions: list[Any], **columns: Any
    ) -> list[float]:
        calls.append((completions, columns))
        return trl_reward(prompts, completions, **columns)

    means = trained(
        tmp_path, data, rewards, steps=len(data), only={"A"}, group=2
    )
    share = sum(answer == "A" for answer in data["answer"]) / len(data)
    assert 0 < share < 1 and sum(means) / len(means) == pytest.approx(
        share, abs=1e-12
    )
    assert all(
        completion == [{"role": "assistant", "content": "A"}]
        for said, _ in calls
        for completion in said
    )
    assert all(
        {"question_type", "answer", "final_scores", "ties"} <= set(columns)
        for _, columns in calls
    )


def test_a_model_learns_what_is_rewarded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = rows(tmp_path, monkeypatch).filter(lambda row: row["answer"] == "B")
    means = trained(
        tmp_path, data, trl_reward, steps=12, only={"A", "B"}, group=8
    )
    assert sum(means[:2]) / 2 < 0.9 and sum(means[-3:]) / 3 > 0.95


def test_dpo_takes_a_step_on_our_preferences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trl import DPOConfig, DPOTrainer

    model, processor = model_and_processor()
    config = DPOConfig(
        output_dir=str(tmp_path / "out"),
        use_cpu=True,
        bf16=False,
        max_steps=2,
        per_device_train_batch_size=2,
        learning_rate=0.05,
        logging_steps=1,
        report_to=[],
        save_strategy="no",
    )
    trainer = DPOTrainer(
        model,
        model_and_processor()[0],
        args=config,
        train_dataset=rows(tmp_path, monkeypatch),
        processing_class=processor,
    )
    losses = [
        log["loss"]
        for log in (trainer.train() and trainer.state.log_history)
        if "loss" in log
    ]
    assert losses[0] == pytest.approx(
        0.6931, abs=1e-3
    )  # log 2: the model is its own reference
