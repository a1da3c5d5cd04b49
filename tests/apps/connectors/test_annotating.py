"""Questions for people in Label Studio and Argilla, and back as a run; samples in FiftyOne."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock
from uuid import uuid4

import pytest

from runs.made_dataset import make_dataset
from visualjudge.analysis.analysing import analyse
from visualjudge.apps.connectors.annotating import (
    Given,
    argilla_answers,
    argilla_dataset,
    fiftyone_samples,
    label_studio_answers,
    label_studio_config,
    label_studio_tasks,
    people_run,
)
from visualjudge.core.errors import DataError, UsageError
from visualjudge.dataset.folder import Dataset, load_dataset

Answers = Callable[[Path], Iterator[Given]]


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return load_dataset(make_dataset(tmp_path / "set", pairwise=4, ranking=1, scoring=2))


def exported(task: dict[str, Any], value: dict[str, Any], kind: str) -> dict[str, Any]:
    """A task with the annotations of three people, one of whom skipped it, as Label Studio exports
    it.
    """
    done = {"from_name": "answer", "to_name": "prompt", "type": kind, "value": value}
    annotations = [
        {"completed_by": 1, "was_cancelled": False, "result": [done]},
        {"completed_by": {"id": 2, "email": "a@b.c"}, "was_cancelled": False, "result": [done]},
        {"completed_by": 3, "was_cancelled": True, "result": [done]},
    ]
    return {**task, "annotations": annotations}


@pytest.mark.parametrize(("kind", "control"), [("pairwise", "choices"), ("scoring", "number")])
def test_label_studio_there_and_back(
    dataset: Dataset, tmp_path: Path, kind: str, control: str
) -> None:
    asked = dataset.filter(question_type=kind)
    tasks = label_studio_tasks(asked)
    for task, question in zip(tasks, asked, strict=True):
        shown = [b64decode(uri.partition(",")[2]) for uri in task["data"]["images"]]
        assert shown == [dataset.image_path(path).read_bytes() for path in question.images]
        assert "answer" not in task["data"]
    right = {question.id: question.answer for question in asked}
    values = [
        {control: [right[t["data"]["id"]]] if kind == "pairwise" else right[t["data"]["id"]]}
        for t in tasks
    ]
    done = [exported(task, value, control) for task, value in zip(tasks, values, strict=True)]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(done))
    run = people_run(asked, label_studio_answers(path), tmp_path / "people")
    judge = analyse([run]).results.judges[0]
    assert judge.verdicts == 2 * len(asked)
    if kind == "pairwise":
        assert judge.pairwise.accuracy.share.value == 1.0
    else:
        assert (judge.scoring.n, judge.scoring.failed) == (2 * len(asked), 0)


@pytest.mark.parametrize("kind", ["pairwise", "scoring"])
def test_label_studio_takes_the_configuration_and_the_tasks(dataset: Dataset, kind: str) -> None:
    interface = pytest.importorskip(
        "label_studio_sdk.label_interface",
        reason="label-studio-sdk is not installed: pip install label-studio-sdk",
    )
    asked = dataset.filter(question_type=kind)
    config = interface.LabelInterface(label_studio_config(asked))
    config.validate()
    for task in label_studio_tasks(asked):
        config.validate_task(task)
    assert set(config.controls_names if hasattr(config, "controls_names") else ["answer"]) == {
        "answer"
    }


def test_argilla_there_and_back(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rg = pytest.importorskip("argilla", reason="argilla is not installed: pip install argilla")
    monkeypatch.setattr(
        rg.Argilla, "_get_default", classmethod(lambda cls: MagicMock())
    )  # no server
    pairs = dataset.filter(question_type="pairwise")
    settings, records = argilla_dataset(pairs)
    assert [field.name for field in settings.fields][:2] == ["prompt", "image_1"]
    rater = uuid4()
    for record, question in zip(records, pairs, strict=True):
        record.responses.add(rg.Response("answer", question.answer, rater))
    path = tmp_path / "records.json"
    path.write_text(json.dumps([record.to_dict() for record in records], default=str))
    run = people_run(pairs, argilla_answers(path), tmp_path / "people")
    assert analyse([run]).results.judges[0].pairwise.accuracy.share.value == 1.0


def test_argilla_answers_are_read_from_its_json(dataset: Dataset, tmp_path: Path) -> None:
    question = dataset.filter(question_type="pairwise")[0]
    path = tmp_path / "records.json"
    responses = {"answer": [{"value": "A", "user_id": "u1"}, {"value": "B", "user_id": "u2"}]}
    path.write_text(
        json.dumps([{"id": question.id, "fields": {}, "responses": responses}, {"id": "x"}])
    )
    assert list(argilla_answers(path)) == [
        Given(question.id, "u1", "A"),
        Given(question.id, "u2", "B"),
    ]


def test_what_cannot_be_asked_or_read_is_named(dataset: Dataset, tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match="must contain only pairs or only scores, got pairwise, ranking, scoring"
    ):
        label_studio_config(dataset)
    with pytest.raises(DataError, match="u answered 'gone', which is not a question of"):
        people_run(dataset, iter([Given("gone", "u", "A")]), tmp_path / "run")
    path = tmp_path / "export.json"
    path.write_text('[{"data": {}}]')
    with pytest.raises(DataError, match="record 1: id: is missing"):
        list(label_studio_answers(path))
    path.write_text("{}")
    with pytest.raises(DataError, match="must hold an array of objects"):
        list(argilla_answers(path))


def test_fiftyone_groups_the_images_of_a_question(dataset: Dataset) -> None:
    pytest.importorskip("fiftyone", reason="fiftyone is not installed: pip install fiftyone")
    samples = fiftyone_samples(dataset)
    by_group: dict[str, list[Any]] = {}
    for sample in samples:
        by_group.setdefault(sample["group"].id, []).append(sample)
    for question, group in zip(dataset, by_group.values(), strict=True):
        assert [one.filepath for one in group] == [
            str(dataset.image_path(path).resolve()) for path in question.images
        ]
        assert [one["group"].name for one in group] == [
            f"image_{k}" for k in range(1, len(group) + 1)
        ]
        assert {one["question_id"] for one in group} == {question.id}
