"""All numbers of a study that has something of everything, recorded: an analysis gives
tomorrow what it gave when it was published."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mixed_study import (
    SEED,
    TASKS,
    made_questions,
    made_verdicts,
    make_study,
)
from page_text import page
from recording import check
from visualjudge.analysis import Analysis, analyse, analyse_study, study_of
from visualjudge.analysis.decisions.accept import accept
from visualjudge.analysis.decisions.correct import correct_study
from visualjudge.analysis.decisions.items_to_label import label_study
from visualjudge.analysis.load import load_study
from visualjudge.analysis.plots.plot import Plot
from visualjudge.analysis.report.card import card_of
from visualjudge.analysis.report.paper import paper_tables
from visualjudge.core.records import UNKNOWN


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return make_study(tmp_path_factory.mktemp("recorded"))


@pytest.fixture(scope="module")
def whole(folders: list[Path]) -> Analysis:
    return analyse(folders)


def test_metrics_and_tables(whole: Analysis) -> None:
    judges = {judge["judge"]: judge for judge in whole.metrics["judges"]}
    rest = {k: v for k, v in whole.metrics.items() if k != "judges"}
    check("metrics", {**judges, "study": rest}, depth=2)


def test_tables(whole: Analysis) -> None:
    check("tables", whole.tables, depth=1)


def test_plots(whole: Analysis) -> None:
    drawn = {name: row.draw(whole.shown) for name, row in whole.plots.items()}
    check(
        "plots",
        {
            name: {
                "rows": plot.rows,
                "svg": plot.svg(),
                "texts": [plot.finding, plot.caption],
            }
            for name, plot in drawn.items()
            if isinstance(plot, Plot)
        },
        depth=2,
    )


def _sections(html: str) -> dict[str, str]:
    text = re.sub(
        r'data:[^"]*"|<style.*?</style>|<script.*?</script>',
        "",
        html,
        flags=re.S,
    )
    return {str(k): part for k, part in enumerate(text.split("<h2"))}


def test_page_and_card(whole: Analysis) -> None:
    card = card_of(whole)
    check(
        "page",
        {
            "page": _sections(page(whole)),
            "compared": _sections(page(whole, (0, 1))),
            "card": [str(card), card.details],
            "json": card.metrics,
            "paper": paper_tables(whole),
        },
        depth=2,
    )


def _labels(questions: Any, kind: str, path: Path) -> Path:
    rows = [
        (q.annotation_ids[0], q.final_scores[0])
        if kind == "scoring"
        else (q.id, q.answer)
        for k, q in enumerate(questions)
        if q.question_type == kind
        and q.probe is None
        and k % 3
        and q.answer != "tie"
    ]
    head = "annotation_id,score" if kind == "scoring" else "question_id,answer"
    path.write_text("\n".join([head, *(f"{a},{b}" for a, b in rows)]) + "\n")
    return path


def test_labels_and_correction(folders: list[Path], tmp_path: Path) -> None:
    study = load_study(folders[:1])
    questions = made_questions(np.random.default_rng(SEED))
    out: dict[str, Any] = {}
    for kind in ("scoring", "pairwise"):
        path = _labels(questions, kind, tmp_path / f"{kind}.csv")
        out[kind] = correct_study(study, path, kind=kind, gap=0.5)
        out[f"queue_{kind}"] = label_study(study, 9, kind=kind, seed=3).table()
    out["more"] = label_study(
        study, 5, kind="scoring", labels=tmp_path / "scoring.csv", seed=3
    ).table()
    out["accept"] = accept(study, risk=0.4)
    check("decisions", out, depth=2)


def test_a_study_of_one_kind_each(folders: list[Path]) -> None:
    """With unnamed models, without repeats, of one task: other branches than the
    whole."""
    out = {}
    for kind in ("pairwise", "scoring", "ranking"):
        part = analyse(folders, types=(kind,))
        out[kind] = part.metrics["judges"][0]
    out["task"] = analyse(folders[:2], tasks=("keypoint",)).metrics["judges"][1]
    out["far"] = analyse(folders[:1], where=("margin>2",)).metrics["judges"][0]
    one_task = analyse(folders[:2], tasks=("keypoint",))
    out["one_task"] = _sections(page(one_task))
    check("parts", out, depth=2)


def test_studies_of_unnamed_models_and_without_truth() -> None:
    pairs = [
        replace(question, sources=(None, None))
        for question in made_questions(np.random.default_rng(SEED))
        if question.question_type == "pairwise"
    ]
    one_task = [pair for pair in pairs if pair.task == TASKS[0]]
    no_truth = [replace(pair, answer=UNKNOWN) for pair in one_task]
    studies = {"several": pairs, "one": one_task, "no_truth": no_truth}
    out: dict[str, Any] = {}
    for name, asked in studies.items():
        verdicts = made_verdicts(pairs, 0.8, 3, 1)
        known = {question.id for question in asked}
        verdicts = [verdict for verdict in verdicts if verdict.id in known]
        analysis = analyse_study(study_of(asked, {"judge": verdicts}))
        out[name] = {
            "metrics": analysis.metrics["judges"][0],
            "page": _sections(page(analysis)),
            "card": str(card_of(analysis)),
        }
    check("unnamed", out, depth=2)
