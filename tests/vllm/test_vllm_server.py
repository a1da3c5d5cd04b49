"""Against a real vLLM server (``make test-vllm``): schemas are kept, log-probabilities
come, refusals are survived.

Any vision-language model will do, the smallest best: what it answers does not matter,
only that it can be read.
"""

from __future__ import annotations

import asyncio
import json
import os
import urllib.request
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runs.made_dataset import make_dataset
from visualjudge.clients import (
    Request,
    RetryPolicy,
    TextPart,
    image_part,
    open_client,
)
from visualjudge.core.errors import ApiError
from visualjudge.core.records import Verdict
from visualjudge.dataset.folder import load_dataset
from visualjudge.judges import PairwiseJudge, VIEscorePipe
from visualjudge.judges.base import Ask
from visualjudge.judges.logprobs import PAIR, distribution
from visualjudge.judges.question_judge import QuestionJudge
from visualjudge.options import Mode
from visualjudge.prompts import PromptAssetStore

URL = os.environ.get("VISUALJUDGE_VLLM_URL")
pytestmark = [
    pytest.mark.vllm,
    pytest.mark.skipif(not URL, reason="VISUALJUDGE_VLLM_URL names no server"),
]
AT_ONCE = 16
STORE = PromptAssetStore()


def config(**more: Any) -> dict[str, Any]:
    named = os.environ.get("VISUALJUDGE_VLLM_MODEL") or _first_model()
    common = {
        "backend": "vllm",
        "base_url": URL,
        "model_name": named,
        "temperature": 0,
        "max_tokens": 64,
    }
    return {**common, "timeout": 300, "structured_output": "answer", **more}


def _first_model() -> str:
    with urllib.request.urlopen(f"{URL}/models", timeout=30) as answer:
        return str(json.load(answer)["data"][0]["id"])


def images(number: int) -> list[Any]:
    random = np.random.default_rng(0)
    return [
        image_part(random.integers(0, 256, (64, 96, 3), np.uint8))
        for _ in range(number)
    ]


async def in_turn(work: Sequence[Any]) -> list[Any]:
    places = asyncio.Semaphore(AT_ONCE)

    async def one(job: Any) -> Any:
        async with places:
            return await job

    return list(await asyncio.gather(*(one(job) for job in work)))


def test_pairwise_judge_names_a_winner_200_times() -> None:
    async def main() -> list[Any]:
        client = open_client(config(), concurrency=AT_ONCE)
        judge = PairwiseJudge(
            STORE.get_prompt("vlm/assessment/visual_quality/pairwise"),
            config(),
            client=client,
        )
        shown = images(40)
        rows = [
            {
                "instruction": f"number {i}",
                "input_image": shown[i % 40],
                "edited_images": [shown[(i + 1) % 40], shown[(i * 3 + 2) % 40]],
            }
            for i in range(200)
        ]
        try:
            return await in_turn([judge.judge(row) for row in rows])
        finally:
            await client.aclose()

    values = Counter(judged.result["value"] for judged in asyncio.run(main()))
    assert values.total() == 200
    assert values["Failed"] == 0


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_viescore_gives_a_number(version: str) -> None:
    source, edit = images(2)
    judge = VIEscorePipe(
        STORE.get_prompt("vlm/assessment/visual_quality/viescore", version),
        config(),
    )
    result = judge(
        {"instruction": "x", "input_image": source, "edited_images": [edit]}
    )
    assert 0 <= result["value"] <= (10 if version == "v1" else 25)


def verdicts(folder: Path, mode: Mode, **counts: int) -> list[Verdict]:
    dataset = load_dataset(make_dataset(folder, **counts))

    async def main() -> list[Any]:
        judge = QuestionJudge(
            open_client(config(), concurrency=AT_ONCE), dataset.root, mode
        )
        try:
            return await in_turn(
                [judge(Ask(question)) for question in dataset.questions]
            )
        finally:
            await judge.aclose()

    return list(asyncio.run(main()))


def test_question_judge_reads_200_answers_by_schema(tmp_path: Path) -> None:
    found = verdicts(tmp_path, "json", pairwise=150, ranking=30, scoring=20)
    assert Counter(verdict.status for verdict in found) == {"ok": 200}


def test_question_judge_weighs_answers(tmp_path: Path) -> None:
    found = verdicts(tmp_path, "logprobs", pairwise=12, ranking=0, scoring=6)
    weighed = [verdict.probability_a for verdict in found[:12]]
    assert all(p is not None and 0 <= p <= 1 for p in weighed)
    assert all(verdict.status == "ok" for verdict in found)
    said_a = [verdict.value == "A" for verdict in found[:12]]
    assert said_a == [p is not None and p > 0.5 for p in weighed]


def test_a_winners_tokens_are_summed() -> None:
    async def main() -> Any:
        client = open_client(config())
        judge = PairwiseJudge(
            STORE.get_prompt("vlm/assessment/visual_quality/pairwise"),
            config(),
            client=client,
        )
        source, *edits = images(3)
        try:
            return await client.ask(
                replace(judge.request("x", source, edits), top_logprobs=20)
            )
        finally:
            await client.aclose()

    found = distribution(asyncio.run(main()).tokens or (), PAIR)
    assert found is not None
    assert sum(
        found.probabilities.values()
    ) + found.unresolved == pytest.approx(1)


def test_a_schema_the_server_refuses_is_left_out_and_noted() -> None:
    async def main() -> Any:
        client = open_client(config(max_tokens=4))
        try:
            return await client.ask(
                Request((TextPart("hello"),), schema={"type": "nonsense"})
            )
        finally:
            await client.aclose()

    assert any("schema refused" in note for note in asyncio.run(main()).notes)


def test_an_unknown_model_is_final() -> None:
    async def main() -> None:
        client = open_client(
            config(model_name="no-such-model"), retry=RetryPolicy(attempts=3)
        )
        try:
            await client.ask(Request((TextPart("hello"),)))
        finally:
            await client.aclose()

    with pytest.raises(ApiError) as caught:
        asyncio.run(main())
    assert caught.value.status == 404
