"""All numbers of a study that has something of everything, recorded: an analysis gives
tomorrow what it gave when it was published."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from judged_records import (
    pair,
    ranking,
    said,
    scoring,
    write_dataset,
    write_run,
)
from page_text import page
from recording import check
from visualjudge.analysis import Analysis, analyse
from visualjudge.analysis.decisions.accept import accept
from visualjudge.analysis.decisions.correct import correct_study
from visualjudge.analysis.decisions.items_to_label import label_study
from visualjudge.analysis.load import load_study
from visualjudge.analysis.plots.plot import Plot
from visualjudge.analysis.report.card import card_of
from visualjudge.analysis.report.paper import paper_tables
from visualjudge.core.records import (
    Fault,
    OptionFeatures,
    Probe,
    Question,
    Verdict,
)

MODELS = ("oak", "elm", "ash", "fir")
TASKS = ("object_detection", "keypoint", "depth_estimation")
ERRORS = ("missed", "extra", "localization")
STEMS = ("text_xyxy", "pixel_s0_m0", "0305")
SEED = 17
FLIP = {"A": "B", "B": "A"}


def _features(rng: np.random.Generator) -> OptionFeatures:
    return OptionFeatures(
        round(float(rng.random()), 2),
        int(rng.integers(40, 400)),
        int(rng.integers(500, 9000)),
        int(rng.integers(1, 9)),
        round(float(rng.random()), 3),
    )


def _fault(rng: np.random.Generator) -> tuple[Fault, ...]:
    x, y, width, height = rng.uniform(2, 60, 4).round(1)
    kind = ERRORS[int(rng.integers(3))]
    weight = round(float(rng.random()), 4)
    return (Fault(kind, (x, y, x + width, y + height), weight, 2),)


def _questions(rng: np.random.Generator) -> list[Question]:
    """Pairs of four models in three tasks and encodings, some equal, some of unnamed
    models; rankings and scores."""
    made = []
    quality = (7.0, 6.4, 5.0, 5.2)
    for k in range(23):
        truth = np.clip(rng.normal(quality, 1.6), 0, 10).round(2)
        for n, (a, b) in enumerate(itertools.combinations(range(4), 2)):
            if (k + n) % 4 == 3:
                continue
            first, second = (a, b) if (k + n) % 2 else (b, a)
            scores = (float(truth[first]), float(truth[second]))
            equal = (k + n) % 11 == 0
            more: dict[str, Any] = {
                "id": f"p{k}-{a}{b}",
                "image_id": f"i{k}",
                "task": TASKS[k % 3],
                "error_type": ERRORS[n % 3],
                "encoding": STEMS[(k + n) % 3],
                "annotation_ids": (f"a{k}-{first}", f"a{k}-{second}"),
                "sources": (MODELS[first], MODELS[second]),
                "features": (_features(rng), _features(rng)),
                "faults": (_fault(rng), _fault(rng)),
            }
            if equal:
                scores = (5.0, 5.0)
                more |= {"answer": "tie", "ties": ("tie",)}
            made.append(pair(k, scores, **more))
        made.append(
            ranking(
                k,
                tuple(truth[:3].tolist()),
                image_id=f"i{k}",
                task=TASKS[k % 3],
            )
        )
        made += [
            scoring(
                k,
                float(score),
                id=f"s{k}-{MODELS[m]}",
                image_id=f"i{k}",
                task=TASKS[k % 2],
                encoding=STEMS[k % 2],
                annotation_ids=(f"a{k}-{m}",),
                sources=(MODELS[m],),
                features=(_features(rng),),
            )
            for m, score in enumerate(truth)
            if (k + m) % 5
        ]
    return made


def _probes() -> list[Question]:
    versions = (
        ("control", "control", None, None),
        ("grey", "photograph", None, None),
        ("other_photograph", "photograph", None, None),
        ("recompressed", "change", None, None),
        ("confidence", "cue", "A", 0.55),
        ("confidence", "cue", "B", 0.95),
    )
    return [
        pair(
            k,
            (8.0, 3.0) if k % 3 else (2.0, 6.5),
            id=f"{name}{cue or ''}{k}",
            task=TASKS[k % 2],
            image_id=f"x{k % 13}",
            annotation_ids=(f"pa{k}", f"pb{k}"),
            sources=(None, None),
            probe=Probe(name, design, f"g{k}", "", "answer", cue, level),  # type: ignore[arg-type]
        )
        for k in range(31)
        for name, design, cue, level in versions
    ]


def _answer(
    question: Question, right: float, order: str, repeat: int, rng: Any
) -> Verdict:
    more: dict[str, Any] = {
        "repeat": repeat,
        "usage": {
            "prompt_tokens": int(rng.integers(300, 900)),
            "completion_tokens": int(rng.integers(5, 60)),
        },
        "latency_s": round(float(rng.uniform(0.3, 3)), 2),
    }
    if rng.random() < 0.06:
        status = ("refusal", "unparseable", "truncated")[int(rng.integers(3))]
        return said(question, "", order, status, **more)
    if question.question_type == "scoring":
        noisy = (
            float(question.answer) * 0.8 + 1 + rng.normal(0, 3 * (1 - right))
        )
        return said(
            question, float(np.clip(noisy, 0, 10).round(1)), order, **more
        )
    if question.question_type == "ranking":
        letters = str(question.answer)
        if rng.random() > right:
            letters = letters[1] + letters[0] + letters[2:]
        return said(question, letters, order, **more)
    answer = str(question.answer)
    if answer == "tie" or rng.random() > right:
        answer = (
            "tie"
            if answer != "tie" and rng.random() < 0.1
            else FLIP.get(answer, "A")
        )
    if rng.random() < 0.08:
        answer = "A" if order == "AB" else "B"
    chance = round(float(rng.uniform(0.5, 1)), 3)
    if "tie" not in answer:
        more["probability_a"] = (
            chance if answer == "A" else round(1 - chance, 3)
        )
    return said(question, answer, order, **more)


def _verdicts(
    questions: list[Question], right: float, seed: int, repeats: int
) -> list[Verdict]:
    rng = np.random.default_rng(seed)
    return [
        _answer(question, right, order, repeat, rng)
        for repeat in range(repeats)
        for question in questions
        for order in (
            ("AB", "BA") if question.question_type == "pairwise" else ("AB",)
        )
    ]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = tmp_path_factory.mktemp("recorded")
    questions = [*_questions(np.random.default_rng(SEED)), *_probes()]
    dataset = write_dataset(root / "ds", questions)
    judges = (
        ("careful", 0.85, 1, {}),
        ("hasty", 0.65, 2, {}),
        ("base", 0.55, 1, {"backend": "local"}),
    )
    return [
        write_run(
            root / name,
            dataset,
            _verdicts(questions, right, seed, repeats),
            judge=name,
            swap=True,
            repeats=repeats,
            **more,
        )
        for seed, (name, right, repeats, more) in enumerate(judges)
    ]


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
    questions = _questions(np.random.default_rng(SEED))
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
    check("parts", out, depth=2)
