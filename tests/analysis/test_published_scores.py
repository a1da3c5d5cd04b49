"""Published scores of three judges, which have the published figures and an answer
each.

git clone https://github.com/divake/VLM-Judge-Uncertainty clones/VLM-Judge-Uncertainty
VISUALJUDGE_CLONES=clones pytest tests/analysis/test_published_scores.py
"""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import visualjudge as vj
from clones import clone, needs_clones
from visualjudge.analysis import Analysis, analyse
from visualjudge.analysis.figures.scoring import SCORE_ANSWERS
from visualjudge.analysis.report.page import html

pytestmark = needs_clones
JUDGES = {"v2": "LLaVA-Critic", "v2_gemini": "Gemini", "v2_phi4": "Phi-4"}
PUBLISHED = {
    "LLaVA-Critic": (0.402, 0.322),
    "Gemini": (0.459, 0.321),
    "Phi-4": (0.303, 0.342),
}
"""Pearson’s r, and exact answers."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    results = clone("VLM-Judge-Uncertainty") / "results"
    tasks = pl.read_csv(results / "v2/error_analysis.csv").select(
        "sample_id", "orig_dataset"
    )
    rows = []
    for folder, judge in JUDGES.items():
        table = pl.read_csv(results / folder / "features_s2.csv")
        named = table.join(tasks, on="sample_id", how="left")
        said = pl.when(pl.col("parsed_score") > 0).then("parsed_score")
        part = named.select(
            "gt_score", item="sample_id", task="orig_dataset", verdict=said
        )
        rows.append(part.drop_nulls("task").with_columns(judge=pl.lit(judge)))
    out: Path = tmp_path_factory.mktemp("published") / "study"
    table = pl.concat(rows).rename({"gt_score": "truth"})
    return analyse(vj.adopt(table, out, score_range=(1.0, 5.0)).runs)


def test_the_published_figures_come_out(found: Analysis) -> None:
    for judge in found.metrics["judges"]:
        r, exact = PUBLISHED[judge["judge"]]
        scoring = judge["scoring"]
        assert scoring["pearson"] == pytest.approx(r, abs=0.0011)
        assert scoring["exact"] == pytest.approx(exact, abs=0.0006)


def test_each_judge_and_task_has_an_answer(found: Analysis) -> None:
    for judge in found.judges:
        answer = judge[SCORE_ANSWERS]
        assert answer is not None
        assert len(answer.tasks) == 14
        states = {task.state for task in answer.tasks}
        assert states <= {"yes", "in_part", "no", "too_few"}
        assert judge.stored("answer")["shape"] == "scores"
    page = re.sub(r"<[^>]+>", " ", html(found))
    assert "Not with these images" not in page
    assert "Import or perturb" not in page


def test_every_two_judges_are_compared(found: Analysis) -> None:
    rows = found.metrics["comparisons"]
    by_rank = {
        (row["a"], row["b"]): row
        for row in rows
        if row["measure"] == "spearman"
    }
    assert len(by_rank) == 3
    assert all(row["p_holm"] is not None for row in rows)
    assert by_rank["LLaVA-Critic", "Gemini"]["ci95"][1] < 0
