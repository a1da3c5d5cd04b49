"""All numbers of a study that has something of everything, recorded: an analysis gives
tomorrow what it gave when it was published."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from judged_records import pair, said
from mixed_study import (
    SEED,
    TASKS,
    made_questions,
    made_verdicts,
    make_study,
    probes,
)
from page_text import page
from recording import check
from stored_figures import of_study, whole_of
from visualjudge.analysis import Analysis, analyse, analyse_study, study_of
from visualjudge.analysis.decisions.accept import accept
from visualjudge.analysis.decisions.correct import correct_study
from visualjudge.analysis.decisions.items_to_label import label_study
from visualjudge.analysis.load import load_study
from visualjudge.analysis.people_agreement import agreement
from visualjudge.analysis.plots.plot import Plot
from visualjudge.analysis.report.card import card_of
from visualjudge.analysis.report.paper_tables import paper_tables
from visualjudge.core.errors import DataError
from visualjudge.core.records import UNKNOWN, Question


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
        out[kind] = whole_of(part.judges[0])
    one_task = analyse(folders[:2], tasks=("keypoint",))
    out["task"] = whole_of(one_task.judges[1])
    far = analyse(folders[:1], where=("margin>2",))
    out["far"] = whole_of(far.judges[0])
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
    studies = {
        "several": (pairs, 1),
        "one": (one_task, 1),
        "no_truth": (no_truth, 1),
        "no_truth_asked_again": (no_truth, 2),
    }
    out: dict[str, Any] = {}
    for name, (asked, repeats) in studies.items():
        verdicts = made_verdicts(pairs, 0.8, 3, repeats)
        known = {question.id for question in asked}
        verdicts = [verdict for verdict in verdicts if verdict.id in known]
        analysis = analyse_study(study_of(asked, {"judge": verdicts}))
        out[name] = {
            "metrics": whole_of(analysis.judges[0]),
            "page": _sections(page(analysis)),
            "card": str(card_of(analysis)),
        }
    check("unnamed", out, depth=2)


def test_few_labels(folders: list[Path], tmp_path: Path) -> None:
    """Corrections by 1 to 12 labels of a model, and thresholds from few images."""
    study = load_study(folders[:1])
    questions = made_questions(np.random.default_rng(SEED))
    out: dict[str, Any] = {}
    for kind in ("scoring", "pairwise"):
        lines = _labels(questions, kind, tmp_path / "all.csv").read_text()
        head, *rows = lines.splitlines()
        for count in (1, 2, 4, 8, 11, 12, 13, 24, 40):
            path = tmp_path / f"{kind}-{count}.csv"
            path.write_text("\n".join([head, *rows[:count]]) + "\n")
            try:
                corrected = correct_study(study, path, kind=kind, gap=1.0)
                out[f"{kind}_{count}"] = [corrected, str(corrected)]
            except DataError as error:
                out[f"{kind}_{count}"] = str(error).replace(str(tmp_path), "")
    scores = [item for item in questions if item.question_type == "scoring"]
    for images in (1, 2, 3, 5, 9, 10, 11, 15):
        asked = [item for item in scores if int(item.image_id[1:]) < images]
        answers = made_verdicts(asked, 0.95, 3, 1)
        few = study_of(asked, {"judge": answers})
        out[f"accept_{images}"] = accept(few, risk=0.45, bad_below=4.0)
    check("few_labels", out, depth=1)


def _ratings(items: int, people: int) -> pl.DataFrame:
    """Ratings of two models' outputs by people and a judge, one rating left out; each
    image has two items."""
    rng = np.random.default_rng(SEED)
    rows = [
        {
            "item": str(item),
            "source": source,
            "rater": rater,
            "dimension": "quality",
            "score": float(np.clip(item % 5 + ahead + rng.integers(2), 0, 9)),
            "kind": "judge" if rater == "judge" else "person",
            "image": f"i{item // 2}",
        }
        for item in range(items)
        for source, ahead in (("oak", 2), ("elm", 0))
        for rater in ("judge", *(f"p{k}" for k in range(people)))
        if (item, source, rater) != (1, "elm", "p1")
    ]
    return pl.DataFrame(rows)


def test_few_ratings_of_people() -> None:
    """As few images, below: items, people, and images of a test."""
    sizes = [(items, 3) for items in (1, 2, 3, 4, 5, 6, 14, 15, 16, 20)]
    sizes += [(6, 1), (6, 2), (6, 4), (2, 2), (3, 2)]
    out: dict[str, Any] = {}
    for items, people in sizes:
        table = _ratings(items, people)
        for level, epsilon in (("ordinal", 0.0), ("nominal", 0.2)):
            out[f"{items}_{people}_{level}"] = agreement(
                table, level=level, epsilon=epsilon
            )
    check("few_ratings", out, depth=2)


def test_studies_of_few_images() -> None:
    """From 1 image to 11: each least number of images, questions, pairs and labels is
    met, missed by one, and exceeded by one."""
    questions = made_questions(np.random.default_rng(SEED))
    verdicts = {
        name: made_verdicts(questions, right, seed, repeats)
        for name, right, seed, repeats in (("a", 0.9, 3, 2), ("b", 0.6, 4, 1))
    }
    out: dict[str, Any] = {}
    for kind in ("pairwise", "scoring", "ranking"):
        few = (1, 2, 3) if kind == "ranking" else (1, 2, 3, 4, 5, 6, 9, 10, 11)
        sizes = [(images, 99) for images in few]
        for images, count in [*sizes, (4, 1), (4, 2), (4, 3)]:
            shown = {f"i{k}" for k in range(images)}
            asked = [
                question
                for question in questions
                if question.question_type == kind
                and question.image_id in shown
                and question.task != TASKS[2]
            ]
            asked = asked[:count]
            ids = {question.id for question in asked}
            answers = {
                name: [verdict for verdict in rows if verdict.id in ids]
                for name, rows in verdicts.items()
            }
            analysis = analyse_study(study_of(asked, answers))
            out[f"{kind}_{images}_{count}"] = analysis.metrics
    check("few_images", out, depth=1)


def test_studies_of_few_verdicts() -> None:
    """As above, of one judge that is asked once: curves, encodings, calibration and
    probes begin at a number of verdicts."""
    made = made_questions(np.random.default_rng(SEED))
    pairs = [item for item in made if item.question_type == "pairwise"]
    controls = [item for item in probes() if item.id.startswith("control")]
    out: dict[str, Any] = {}
    for count in (9, 10, 11, 19, 20, 21, 29, 30, 31, 39, 40, 41):
        for name, asked in (("pairs", pairs), ("probes", controls)):
            if name == "probes" and count < 39:
                continue
            few = asked[:count]
            answers = [
                verdict
                for verdict in made_verdicts(few, 0.8, 5, 1)
                if verdict.order == "AB"
            ]
            analysis = analyse_study(study_of(few, {"judge": answers}))
            out[f"{name}_{count}"] = whole_of(analysis.judges[0])
    scores = [item for item in made if item.question_type == "scoring"][:40]
    alike: dict[str, Callable[[Question], Any]] = {
        "first": lambda item: "A" if item.answer else 5.0,
        "right": lambda item: item.answer or item.scores[0],
    }
    for name, reply in alike.items():  # no image differs from another
        for asked in (pairs[:40], controls[:40], scores):
            orders = ("AB",) if asked is scores else ("AB", "BA")
            answers = [
                said(item, reply(item), order)
                for item in asked
                for order in orders
            ]
            analysis = analyse_study(study_of(asked, {"judge": answers}))
            kind = f"{asked[0].id.rstrip('0123456789')}_{name}"
            out[kind] = whole_of(analysis.judges[0])
    check("few_verdicts", out, depth=1)


def _many_models(models: int) -> list[Question]:
    """One pair of neighbours in quality on each of five images, in turn."""
    return [
        pair(
            image,
            (8 - 0.2 * k, 7.5 - 0.2 * k),
            id=f"{image}-{k}",
            image_id=f"i{image}",
            task=TASKS[k % 2],
            annotation_ids=(f"{image}-{k}a", f"{image}-{k}b"),
            sources=(f"m{k:02}", f"m{k + 1:02}"),
        )
        for image in range(5)
        for k in range(models - 1)
    ]


def test_pages_of_many_judges_and_models() -> None:
    """A page lists so many, and says how many more there are."""
    out: dict[str, Any] = {}
    for models, judges in ((4, 4), (4, 7), (17, 1), (21, 2)):
        asked = _many_models(models)
        answers = {
            f"judge {k}": made_verdicts(asked, 0.95 - 0.05 * k, k, 1)
            for k in range(judges)
        }
        analysis = analyse_study(study_of(asked, answers))
        card = card_of(analysis)
        out[f"{models}_{judges}"] = {
            "page": _sections(page(analysis)),
            "card": [str(card), card.details],
            "metrics": of_study(analysis, "comparisons"),
        }
    check("many", out, depth=2)
