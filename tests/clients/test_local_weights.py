"""Local weights through transformers, on a tiny random LLaVA that is made here; what it
says means nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from visualjudge.clients import (
    Reply,
    Request,
    TextPart,
    build_client,
    image_part,
)
from visualjudge.core.errors import UsageError

pytestmark = pytest.mark.torch
pytest.importorskip("torch")
pytest.importorskip("transformers")

SPECIAL = ["<pad>", "<s>", "</s>", "<image>"]
TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }}: {% for part in m['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
    "{% if enable_thinking is defined %}{{ enable_thinking }}{% endif %}"
    "{% if reasoning_effort is defined %}{{ reasoning_effort }}{% endif %}"
)


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    plain = Tokenizer(models.BPE())
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=SPECIAL,
        initial_alphabet=alphabet,
        show_progress=False,
    )
    plain.train_from_iterator(
        ["which image is better, image A or image B?"], trainer
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="<pad>", eos_token="</s>"
    )


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch
    import transformers as hf

    tokenizer = _tokenizer()
    text = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 32,
        "num_hidden_layers": 1,
    }
    heads = {
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "max_position_embeddings": 1024,
    }
    vision = {
        "hidden_size": 32,
        "intermediate_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    config = hf.LlavaConfig(
        vision_config=hf.CLIPVisionConfig(
            **vision, image_size=28, patch_size=14, projection_dim=32
        ),
        text_config=hf.LlamaConfig(**text, **heads),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
        image_seq_length=4,
    )
    make = getattr(hf, "CLIPImageProcessorPil", hf.CLIPImageProcessor)
    side = {"height": 28, "width": 28}
    processor = hf.LlavaProcessor(
        image_processor=make(size=side, crop_size=side, do_center_crop=False),
        tokenizer=tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        image_token="<image>",
        chat_template=TEMPLATE,
    )
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("weights")
    hf.LlavaForConditionalGeneration(config).save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def requests(number: int, **more: Any) -> list[Request]:
    random = np.random.default_rng(1)
    shown = [
        image_part(random.integers(0, 256, (20, 30, 3), np.uint8))
        for _ in range(number)
    ]
    return [
        Request(
            (TextPart("q" * (i + 1) * 5), shown[i]), system="be brief", **more
        )
        for i in range(number)
    ]


def ask(
    weights: Path,
    asked: Sequence[Request],
    *,
    together: bool = True,
    **options: Any,
) -> list[Reply]:
    async def main() -> list[Reply]:
        client = build_client(
            "transformers", model_name=str(weights), max_tokens=6, **options
        )
        if together:
            return list(
                await asyncio.gather(
                    *(client.ask(request) for request in asked)
                )
            )
        return [await client.ask(request) for request in asked]

    return asyncio.run(main())


def test_a_batch_says_what_each_alone_says(weights: Path) -> None:
    alone = ask(weights, requests(3), together=False)
    assert [reply.text for reply in ask(weights, requests(3))] == [
        reply.text for reply in alone
    ]
    assert all(reply.usage["prompt_tokens"] > 4 for reply in alone)


def test_images_matter(weights: Path) -> None:
    first, second = requests(2, top_logprobs=1)
    other = Request(
        (first.parts[0], second.parts[1]), system="be brief", top_logprobs=1
    )
    one, two = ask(weights, [first, other])
    assert one.tokens is not None
    assert two.tokens is not None
    assert one.tokens[0].logprob != two.tokens[0].logprob


def test_log_probabilities_are_given_with_the_likeliest_first(
    weights: Path,
) -> None:
    (reply,) = ask(weights, requests(1, top_logprobs=3))
    assert reply.tokens is not None
    first = reply.tokens[0]
    assert [a.logprob for a in first.top] == sorted(
        (a.logprob for a in first.top), reverse=True
    )
    assert first.token == first.top[0].token  # greedy


def test_a_cut_reply_says_so(weights: Path) -> None:
    (reply,) = ask(weights, requests(1))
    assert reply.finish_reason == (
        "length" if reply.usage["completion_tokens"] == 6 else "stop"
    )


def test_a_seed_repeats_a_sampled_reply(weights: Path) -> None:
    one, again, other = (
        ask(weights, requests(1, temperature=1.0, seed=seed))[0].text
        for seed in (1, 1, 2)
    )
    assert one == again != other


def test_samples_of_one_question_differ_and_are_the_same_in_every_run(
    weights: Path,
) -> None:
    first, second, again = (
        ask(weights, requests(1, temperature=1.0, repeat=repeat))[0].text
        for repeat in (0, 1, 0)
    )
    assert first == again != second


def test_effort_and_limit_reach_the_model(weights: Path) -> None:
    plain, none, high, budget = (
        ask(weights, requests(1), effort=effort)[0]
        for effort in (None, "none", "high", 512)
    )
    lengths = [
        reply.usage["prompt_tokens"] for reply in (plain, budget, none, high)
    ]
    assert lengths == sorted(set(lengths)), "nothing, True, False, Truehigh"
    (short,) = ask(weights, requests(1, max_tokens=2))
    assert short.usage["completion_tokens"] <= 2


def test_a_schema_is_not_enforced_and_noted(weights: Path) -> None:
    (reply,) = ask(weights, requests(1, schema={"type": "object"}))
    assert any("does not enforce a schema" in note for note in reply.notes)


def test_weights_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing-here"):
        ask(tmp_path / "nothing-here", requests(1))
