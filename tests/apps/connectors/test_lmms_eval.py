"""lmms-eval finds the task that we write, shows a model every image, and scores replies
by our reading.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from runs.made_dataset import make_dataset
from visualjudge.apps.connectors import lmms_eval_tasks
from visualjudge.dataset.exports import export
from visualjudge.dataset.folder import Dataset, load_dataset


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return load_dataset(
        make_dataset(tmp_path / "set", pairwise=4, ranking=1, scoring=1)
    )


def docs_of(dataset: Dataset, out: Path) -> list[dict[str, Any]]:
    questions, _, _ = export(dataset, "lmms-eval", out)
    return [json.loads(line) for line in questions.read_text().splitlines()]


def test_a_document_shows_its_images_at_their_marks_and_is_scored_by_our_reading(
    dataset: Dataset, tmp_path: Path
) -> None:
    docs = docs_of(dataset, tmp_path / "tasks")
    assert [doc["id"] for doc in docs] == [question.id for question in dataset]
    for doc, question in zip(docs, dataset, strict=True):
        (message,) = lmms_eval_tasks.doc_to_messages(doc)
        assert [part["type"] for part in message["content"]].count(
            "image"
        ) == len(question.images)
        assert len(lmms_eval_tasks.doc_to_visual(doc)) == len(question.images)
        assert f"<image {len(question.images)}>" in lmms_eval_tasks.doc_to_text(
            doc
        )
        right = lmms_eval_tasks.process_results(
            doc, [lmms_eval_tasks.doc_to_target(doc)]
        )
        assert right == {"right": 1.0, "unread": 0.0}
        assert lmms_eval_tasks.process_results(
            doc, ["I cannot see anything."]
        ) == {
            "right": 0.0,
            "unread": 1.0,
        }


def test_the_task_file_names_functions_that_its_module_has(
    dataset: Dataset, tmp_path: Path
) -> None:
    _, utils, task = export(dataset, "lmms-eval", tmp_path / "tasks")
    spec = importlib.util.spec_from_file_location("utils", utils)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor(
        "!function",
        lambda loader, node: getattr(module, node.value.removeprefix("utils.")),
    )
    config = yaml.load(task.read_text(), Loader)
    assert config["task"] == task.stem == "visualjudge_set" and callable(
        config["process_results"]
    )
    assert Path(config["dataset_kwargs"]["data_files"]["test"]).is_file()


def test_lmms_eval_loads_the_task(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        from lmms_eval.tasks import TaskManager, get_task_dict
    except ImportError as error:
        pytest.skip(f"lmms-eval is not installed: {error}")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    export(dataset, "lmms-eval", tmp_path / "tasks")
    manager = TaskManager(
        include_path=str(tmp_path / "tasks"), include_defaults=False
    )
    (task,) = get_task_dict(["visualjudge_set"], manager).values()
    docs = list(task.test_docs())
    assert [doc["id"] for doc in docs] == [question.id for question in dataset]
    assert len(task.doc_to_visual(docs[0])) == len(dataset[0].images)
    assert task.process_results(docs[0], [str(dataset[0].answer)]) == {
        "right": 1.0,
        "unread": 0.0,
    }
