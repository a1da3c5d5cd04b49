"""verifiers v1 and LLaMA-Factory take what we give: a taskset with our reward, ShareGPT rows with
ranking.
"""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from pathlib import Path
from types import SimpleNamespace

import pytest

from apps.training.test_endless import made
from runs.made_dataset import make_dataset
from visualjudge.dataset.exports import export
from visualjudge.dataset.folder import load_dataset


def test_a_taskset_yields_every_question_with_its_images_and_our_reward(tmp_path: Path) -> None:
    pytest.importorskip("verifiers.v1", reason="verifiers is not installed: pip install verifiers")
    from visualjudge.apps.connectors.verifiers_tasks import JudgeConfig, JudgeTaskset

    root = make_dataset(tmp_path / "set")
    questions = {question.id: question for question in load_dataset(root)}
    tasks = {task.data.id: task for task in JudgeTaskset(JudgeConfig(dataset=str(root)))}
    assert set(tasks) == set(questions)
    for name, task in tasks.items():
        sent = [
            part.image_url.url for part in task.data.prompt[0].content if part.type == "image_url"
        ]
        pixels = [b64decode(uri.partition(",")[2]) for uri in sent]
        assert pixels == [(root / path).read_bytes() for path in questions[name].images]
    pair = tasks["pairwise0"]
    said = {"Answer: A": 1.0, "Answer: B": 0.0, "I cannot tell.": -1.0}
    traces = {text: SimpleNamespace(last_reply=text, is_truncated=False) for text in said}
    assert {text: asyncio.run(pair.right(trace)) for text, trace in traces.items()} == said
    assert (
        asyncio.run(pair.right(SimpleNamespace(last_reply="Answer: A", is_truncated=True))) == -1.0
    )


def test_an_endless_taskset_draws_on_and_gives_the_same_tasks_for_a_seed(tmp_path: Path) -> None:
    pytest.importorskip("verifiers.v1", reason="verifiers is not installed: pip install verifiers")
    from visualjudge.apps.connectors.verifiers_endless import EndlessConfig, EndlessTaskset

    data = made(tmp_path / "truth")
    taskset = EndlessTaskset(EndlessConfig(data=str(data), seed=3))
    assert not taskset.bounded
    tasks = list(taskset.take(150))
    assert [task.data.idx for task in tasks] == list(range(150))
    assert (
        len({task.data.id.partition("-")[0] for task in tasks}) > 1
        and len({task.data.id for task in tasks}) == 150
    )
    again = EndlessTaskset(EndlessConfig(data=str(data), seed=3)).take(150)
    assert [task.data.model_dump() for task in again] == [task.data.model_dump() for task in tasks]
    pair = next(task for task in tasks if task.data.truth["question_type"] == "pairwise")
    said = SimpleNamespace(last_reply="Answer: " + pair.data.truth["answer"], is_truncated=False)
    assert asyncio.run(pair.right(said)) == 1.0


def test_llama_factory_converts_every_row(tmp_path: Path) -> None:
    try:
        from llamafactory.data.converter import SharegptDatasetConverter
        from llamafactory.data.parser import get_dataset_list
    except ImportError as error:
        pytest.skip(f"LLaMA-Factory is not installed: {error}")
    export(load_dataset(make_dataset(tmp_path / "set")), "llama-factory", tmp_path / "rows")
    (about,) = get_dataset_list(["visualjudge_train"], str(tmp_path / "rows"))
    convert = SharegptDatasetConverter(
        dataset_attr=about, data_args=SimpleNamespace(media_dir=str(tmp_path))
    )
    rows = [convert(row) for row in json.loads((tmp_path / "rows" / "train.json").read_text())]
    assert rows and all(
        row["_prompt"] and len(row["_response"]) == 2 and row["_images"] for row in rows
    )
