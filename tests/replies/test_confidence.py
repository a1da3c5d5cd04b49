"""The confidence that a reply states, and what is not one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from runs.made_dataset import make_dataset
from visualjudge.clients import ScriptedClient
from visualjudge.dataset.folder import load_dataset
from visualjudge.judges.question_judge import QuestionJudge
from visualjudge.replies.confidence import stated_confidence
from visualjudge.runs.folder import RunFolder
from visualjudge.runs.judge_dataset import RunSettings, run_judge


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("B (80% confident)", 0.8),
        ("Answer: A\nConfidence: 0.65", 0.65),
        ("**Confidence:** 85%", 0.85),
        ("Answer: B. Confidence level: 90", 0.9),
        ("Confidence (0-100): 70\nAnswer: A", 0.7),
        ('{"answer": "A", "confidence": 0.55}', 0.55),
        ('{"answer": "A", "confidence": "95%"}', 0.95),
        ("I am 70 % sure that it is A.", 0.7),
        ("A, confidence 4/5", None),
        ("A, confidence: 4/5", 0.8),
        ("A, confidence: 8/10", 0.8),
        ("A. Confidence: 4", None),
        ("A. Confidence: high", None),
        ("A. Confidence: 120%", None),
        ("Confidence in A: high. Confidence: 0.2 ... Confidence: 0.9", None),
        ("The detection confidence is 0.95, but B is better.", None),
        ("B is better, by about 20%", None),
        ("", None),
    ],
)
def test_what_a_reply_says_of_its_confidence(text: str, stated: float | None) -> None:
    assert stated_confidence(text) == (None if stated is None else pytest.approx(stated))


@given(st.text(max_size=300))
def test_it_is_a_probability_or_nothing(text: str) -> None:
    found = stated_confidence("confidence: " + text)
    assert found is None or 0 <= found <= 1


def test_a_verdict_says_where_its_probability_is_from(tmp_path: Path) -> None:
    dataset = load_dataset(make_dataset(tmp_path / "ds"))
    judge = QuestionJudge(ScriptedClient(["B (80% confident)"]), dataset.root, mode="text")
    asyncio.run(run_judge(dataset, judge, tmp_path / "run", RunSettings(swap=True, limit=2)))
    found = RunFolder(tmp_path / "run").verdicts()
    assert {(v.order, v.value, v.probability_a) for v in found.values()} == {
        ("AB", "B", 0.2),
        ("BA", "A", 0.8),
    }
    assert {v.extra.get("probability_from") for v in found.values()} == {"stated"}
