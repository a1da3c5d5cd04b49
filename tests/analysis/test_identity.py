"""A run that two models answered says so in metrics.json and among its warnings."""

from __future__ import annotations

import asyncio
from pathlib import Path

import visualjudge as vj
from runs.made_dataset import make_dataset
from visualjudge.clients import ScriptedClient
from visualjudge.clients.base import Reply
from visualjudge.core.records import Served
from visualjudge.dataset.folder import load_dataset
from visualjudge.judges.question_judge import QuestionJudge
from visualjudge.runs.asks import RunSettings
from visualjudge.runs.judge_dataset import run_judge


def test_each_model_that_answered_has_its_number_and_accuracy(tmp_path: Path) -> None:
    dataset = load_dataset(make_dataset(tmp_path / "ds", pairwise=60, ranking=0, scoring=0))
    replies = [Reply("A", served=Served("m-1", "fp1"))] * 40
    replies += [Reply("B", served=Served("m-2"))]
    judge = QuestionJudge(ScriptedClient(replies, model_name="m"), dataset.root)
    asyncio.run(run_judge(dataset, judge, tmp_path / "run", RunSettings(concurrency=1)))
    (found,) = vj.analyse(tmp_path / "run").metrics["judges"]
    assert found["identity"] == [
        {"model": "m-1", "fingerprint": "fp1", "n": 40, "accuracy": 0.5},
        {"model": "m-2", "fingerprint": None, "n": 20, "accuracy": 0.5},
    ]
    (warning,) = [text for text in found["warnings"] if "moved" in text]
    assert "m-1 (fp1) 40 (50.0 % right), m-2 20" in warning
