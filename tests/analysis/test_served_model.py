"""Who answered a run, and with how much effort, is said where it matters."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import visualjudge as vj
from runs.made_dataset import make_dataset
from scripted_client import ScriptedClient
from stored_figures import stored
from visualjudge.analysis import analyse
from visualjudge.analysis.report.two_judges import opening_notes
from visualjudge.clients.base import Reply
from visualjudge.core.records import Served
from visualjudge.dataset.folder import load_dataset
from visualjudge.judges.question_judge import QuestionJudge
from visualjudge.options import RunSettings
from visualjudge.runs.judge_dataset import run_judge


def test_each_model_that_answered_has_its_number_and_accuracy(
    tmp_path: Path,
) -> None:
    dataset = load_dataset(
        make_dataset(tmp_path / "ds", pairwise=60, ranking=0, scoring=0)
    )
    replies = [Reply("A", served=Served("m-1", "fp1"))] * 40
    replies += [Reply("B", served=Served("m-2"))]
    judge = QuestionJudge(ScriptedClient(replies, model_name="m"), dataset.root)
    asyncio.run(
        run_judge(dataset, judge, tmp_path / "run", RunSettings(concurrency=1))
    )
    (found,) = stored(vj.analyse(tmp_path / "run"))
    assert found["identity"] == [
        {"model": "m-1", "fingerprint": "fp1", "n": 40, "accuracy": 0.5},
        {"model": "m-2", "fingerprint": None, "n": 20, "accuracy": 0.5},
    ]
    (warning,) = [text for text in found["warnings"] if "moved" in text]
    assert "m-1 (fp1) 40 (50.0 % right), m-2 20" in warning


def _judged(folder: Path, served: Served | None, **parameters: Any) -> Path:
    """A run over one dataset, answered by ``served`` with these parameters."""
    root = folder.parent / "ds"
    if not root.exists():
        make_dataset(root, pairwise=4, ranking=0, scoring=0)
    dataset = load_dataset(root)
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "reasoning_tokens": 3}
    replies = [Reply("A", served=served, usage=usage)] * 3
    replies += [Reply("A", "length", served=served, usage=usage)]
    client = ScriptedClient(replies, model_name="m")
    asked = replace(client.identity, parameters=parameters)
    client.__class__ = type("Asked", (ScriptedClient,), {"identity": asked})
    judge = QuestionJudge(client, dataset.root)
    asyncio.run(run_judge(dataset, judge, folder, RunSettings(concurrency=1)))
    return folder


@pytest.mark.parametrize(
    ("second", "low", "said"),
    [
        (
            "m-2",
            "low",
            "The model moved under the same settings: first m-1 answered, then m-2.",
        ),
        (
            "m-1",
            "high",
            'The judge moved, not the model: effort was "low", now "high".',
        ),
        ("m-2", "high", None),
        ("m-1", "low", None),
        (None, "low", None),
    ],
)
def test_card_and_comparison_say_what_moved_if_it_is_one_thing(
    tmp_path: Path, second: str | None, low: str, said: str | None
) -> None:
    runs = [
        _judged(tmp_path / "a", Served("m-1"), effort="low"),
        _judged(tmp_path / "b", Served(second) if second else None, effort=low),
    ]
    found = analyse(runs)
    first, *rest = opening_notes(found, 0, 1)
    assert first == "Compared on 4 pairwise questions, of 4 and 4."
    assert rest == ([] if said is None else [said])
    assert vj.card(runs).moved == tuple(rest)
    assert said is None or said in " ".join(str(vj.card(runs)).split())
