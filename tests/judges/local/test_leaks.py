"""Nothing of the truth reaches the local judge: random labels teach it nothing; without
truth it says the same.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import orjson
import pytest

from making import make_folder
from visualjudge.analysis.estimate import shares
from visualjudge.core.records import Question
from visualjudge.dataset.build import build
from visualjudge.dataset.folder import load_dataset
from visualjudge.judges.base import Ask
from visualjudge.judges.local.judge import local_judge, shipped
from visualjudge.options import BuildOptions
from visualjudge.runs.verdicts import verdict_line

TOOLS = Path(__file__).parents[3] / "tools"
sys.path.insert(0, str(TOOLS))

from local_training import Fitted, Sample, fit, pairs_of  # noqa: E402

TASKS = ("object_detection", "keypoint", "depth_estimation", "lowlevel-deblur")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("leaks")
    make_folder(root / "data", tasks=TASKS)
    return root


def interval(done: Fitted) -> tuple[float, float]:
    hits, cases = (
        np.array([getattr(row, name) for row in done.right])
        for name in ("hits", "pairs")
    )
    found = shares(hits, cases)
    return float(found.low[0]), float(found.high[0])


def test_labels_at_random_teach_nothing_on_images_not_seen() -> None:
    rng = np.random.default_rng(11)
    names = shipped().tasks["object_detection"].names
    rows = []
    for image in range(60):
        looks = rng.normal(0, 1, (6, len(names)))
        scores = rng.permutation(
            np.arange(6.0)
        )  # told apart by nothing that is seen
        rows += [
            Sample(
                f"image{image}",
                "group",
                dict(zip(names, map(float, look), strict=True)),
                float(score),
            )
            for look, score in zip(looks, scores, strict=True)
        ]
    low, high = interval(fit(pairs_of(rows)))
    assert low < 0.5 < high
    assert high - low < 0.2


def without_truth(question: Question) -> Question:
    """The question with everything that tells how good an option is taken out."""
    n = len(question.annotation_ids)
    blank = (
        0.0
        if question.question_type == "scoring"
        else "ABCDE"[: 1 if question.question_type == "pairwise" else n]
    )
    return replace(
        question,
        final_scores=(0.0,) * n,
        sources=(None,) * n,
        error_type=None,
        answer=blank,
        features=None,
    )


def test_without_any_truth_the_verdicts_are_the_same_bytes(
    folder: Path,
) -> None:
    build(
        folder / "data",
        folder / "dataset",
        BuildOptions(tasks=TASKS, subsets=("judge_analysis",)),
    )
    questions = list(load_dataset(folder / "dataset").questions)
    chosen = [
        q
        for kind in ("pairwise", "ranking")
        for q in questions
        if q.question_type == kind
    ][::7]

    def said(root: Path, asked: list[Question]) -> list[bytes]:
        judge = local_judge("default", root)
        verdicts = [asyncio.run(judge(Ask(question))) for question in asked]
        return [
            orjson.dumps(verdict_line(replace(verdict, latency_s=0.0)))
            for verdict in verdicts
        ]

    told = said(folder / "dataset", chosen)
    bare = folder / "bare"
    bare.mkdir()
    shutil.copytree(folder / "dataset" / "media", bare / "media")
    shutil.copy(folder / "dataset" / "predictions.jsonl", bare)
    shutil.rmtree(folder / "data")
    assert said(bare, [without_truth(question) for question in chosen]) == told
    assert len(told) > 20
