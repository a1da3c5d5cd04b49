"""A study that has something of everything: four models, three tasks and encodings,
pairs, rankings, scores and probes, ties, failures, repeats; three judges."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np

from judged_records import (
    pair,
    ranking,
    said,
    scoring,
    write_dataset,
    write_run,
)
from visualjudge.core.records import (
    Fault,
    OptionFeatures,
    Probe,
    Question,
    Verdict,
)
from visualjudge.prompts.rubric import rubric_of

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


def made_questions(rng: np.random.Generator) -> list[Question]:
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


def probes() -> list[Question]:
    """Controls, and copies with another photograph, other bytes or a cue."""
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
    more["criteria"] = {
        "error": ERRORS[int(rng.integers(3))],
        "place": rng.integers(0, 90, 4).tolist(),
    }
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


def made_verdicts(
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


def make_study(root: Path) -> list[Path]:
    """Write the dataset ``ds`` and a run a judge. Return the runs' folders."""
    questions = [*made_questions(np.random.default_rng(SEED)), *probes()]
    dataset = write_dataset(root / "ds", questions)
    rubric = rubric_of("reason").json()
    judges = (
        ("careful", 0.85, 1, {"parameters": {"rubric": rubric}}),
        ("hasty", 0.65, 2, {}),
        ("base", 0.55, 1, {"backend": "local"}),
    )
    return [
        write_run(
            root / name,
            dataset,
            made_verdicts(questions, right, seed, repeats),
            judge=name,
            swap=True,
            repeats=repeats,
            **more,
        )
        for seed, (name, right, repeats, more) in enumerate(judges)
    ]
