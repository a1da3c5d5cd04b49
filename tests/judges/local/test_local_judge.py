"""The local judge on a small dataset: it looks, it is consistent, and it declines where
there is nothing to see.
"""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cv2
import numpy as np
import pytest
import skimage.data

from making import make_folder
from visualjudge.core.errors import DataError
from visualjudge.core.records import Pixels, Question, Verdict
from visualjudge.dataset.build import build
from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.dataset.predictions_file import PREDICTIONS, ShownPredictions
from visualjudge.judges.base import Ask
from visualjudge.judges.local.features import features_of
from visualjudge.judges.local.judge import local_judge, shipped
from visualjudge.judges.local.question_features import QuestionFeatures
from visualjudge.options import BuildOptions
from visualjudge.prompts.rubric import rubric_of
from visualjudge.vision.depth.colormaps import decoded
from visualjudge.vision.depth.features import nearness_of
from visualjudge.vision.encode import encode
from visualjudge.vision.faults import kinds_of
from visualjudge.vision.predictions import (
    DepthMap,
    Detection,
    Detections,
    Prediction,
    WholeImage,
)
from visualjudge.vision.raster.images import image_size
from visualjudge.vision.view import Given, strided

TASKS = (
    *(
        "object_detection",
        "instance_segmentation",
        "depth_estimation",
        "lowlevel-deblur",
    ),
    *("keypoint", "generation_editing"),
)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    root = tmp_path_factory.mktemp("local")
    make_folder(root / "data", tasks=TASKS)
    build(
        root / "data",
        root / "dataset",
        BuildOptions(tasks=TASKS, subsets=("judge_analysis",)),
    )
    return load_dataset(root / "dataset")


def asked(dataset: Dataset, question: Question, order: str = "AB") -> Verdict:
    judge = local_judge("default", dataset.root)
    return asyncio.run(judge(Ask(question, order)))  # type: ignore[arg-type]


def of(
    dataset: Dataset, task: str, kind: str, count: int = 12
) -> list[Question]:
    return [
        q
        for q in dataset.questions
        if q.task == task and q.question_type == kind
    ][:count]


@pytest.mark.parametrize("task", TASKS[:4])
def test_both_orders_give_the_same_answer_and_complementary_probabilities(
    dataset: Dataset, task: str
) -> None:
    for question in of(dataset, task, "pairwise"):
        one, two = (
            asked(dataset, question),
            asked(dataset, question, "BA"),
        )
        assert (one.value, one.status) == (two.value, two.status)
        if one.status == "ok":
            assert one.probability_a == pytest.approx(
                two.probability_a, abs=1e-12
            )


def preferred(
    task: str, better: Prediction, worse: Prediction, pixels: Pixels
) -> bool:
    given = Given(pixels)
    one, two = (
        features_of(task, prediction, given) for prediction in (better, worse)
    )
    return shipped().tasks[task].log_odds(one, two) > 0


def test_a_repeated_box_and_a_box_on_nothing_are_seen() -> None:
    coins = skimage.data.coins()
    pixels = np.repeat(coins[:, :, None], 3, axis=2)
    truth = [
        Detection("coin", (35.0, 30.0, 85.0, 75.0)),
        Detection("coin", (100.0, 30.0, 140.0, 75.0)),
    ]
    right = Detections(tuple(truth))
    assert preferred(
        "object_detection", right, Detections((*truth, truth[0])), pixels
    )
    moved = Detection("coin", (60.0, 50.0, 110.0, 95.0))
    assert preferred(
        "object_detection", right, Detections((moved, truth[1])), pixels
    )


@pytest.mark.parametrize("worse", ["blurred", "noisy"])
def test_a_blurred_and_a_noisy_restoration_are_seen(worse: str) -> None:
    clean = skimage.data.coffee()[:200, :240]
    given = cv2.GaussianBlur(clean, (0, 0), 3)
    noise = np.random.default_rng(1).normal(0, 25, clean.shape)
    spoilt = {
        "blurred": given,
        "noisy": np.clip(clean + noise, 0, 255).astype(np.uint8),
    }[worse]
    assert preferred(
        "lowlevel-deblur", WholeImage(clean), WholeImage(spoilt), given
    )


@pytest.mark.parametrize("task", TASKS[4:])
def test_what_it_was_not_trained_for_is_declined(
    dataset: Dataset, task: str
) -> None:
    for question in of(dataset, task, "pairwise"):
        verdict = asked(dataset, question)
        assert (verdict.value, verdict.status, verdict.cause) == (
            "Failed",
            "refusal",
            "declined",
        )


def test_rankings_have_the_form_of_an_answer_and_scores_are_declined(
    dataset: Dataset,
) -> None:
    for question in of(dataset, "lowlevel-deblur", "ranking"):
        value = asked(dataset, question).value
        assert (
            sorted(str(value)) == list("ABCDE")[: len(question.annotation_ids)]
        )
    for question in of(dataset, "lowlevel-deblur", "scoring"):
        verdict = asked(dataset, question)
        assert (verdict.value, verdict.cause) == ("Failed", "declined")


def test_text_and_image_of_one_prediction_get_one_verdict(
    dataset: Dataset,
) -> None:
    by_pair: dict[tuple[str, ...], set[str]] = {}
    for question in of(dataset, "object_detection", "pairwise", 999):
        first = sorted(question.annotation_ids)[0]
        verdict = asked(dataset, question)
        chosen = (
            question.annotation_ids["AB".index(str(verdict.value))]
            if verdict.status == "ok"
            else "none"
        )
        by_pair.setdefault(
            (first, *sorted(question.annotation_ids)), set()
        ).add(chosen)
    assert all(len(chosen) == 1 for chosen in by_pair.values())


def test_a_prediction_is_looked_at_once_for_all_questions_and_encodings(
    dataset: Dataset,
) -> None:
    looks = QuestionFeatures(dataset.root)
    questions = [q for q in dataset.questions if q.task in TASKS[:2]]
    with ThreadPoolExecutor(8) as threads:
        options = list(threads.map(looks.options, questions))
    seen: dict[str, list[tuple[str, object]]] = {}
    for question, features in zip(questions, options, strict=True):
        for name, option in zip(question.annotation_ids, features, strict=True):
            seen.setdefault(name, []).append((question.encoding, option))
    assert (
        max(
            len({encoding for encoding, _ in places})
            for places in seen.values()
        )
        > 1
    )
    assert all(
        option is places[0][1]
        for places in seen.values()
        for _, option in places
    )


def test_what_is_shown_tells_nothing_of_the_truth(dataset: Dataset) -> None:
    lines = [
        json.loads(line)
        for line in (dataset.root / PREDICTIONS).read_text().splitlines()
    ]
    assert {name for line in lines for name in line} <= {
        "task",
        "annotation_id",
        "prediction",
        "image_id",
        "mask",
    }


def test_a_dataset_without_predictions_costs_a_question_not_the_run(
    dataset: Dataset, tmp_path: Path
) -> None:
    question = of(dataset, "object_detection", "pairwise")[0]
    verdict = asyncio.run(local_judge("default", tmp_path)(Ask(question)))
    assert verdict.status == "api_error"


def test_a_missing_prediction_is_named(dataset: Dataset) -> None:
    with pytest.raises(DataError, match="nobody: the prediction is missing"):
        ShownPredictions(dataset.root).prediction(
            "keypoint", "nobody", (10, 10)
        )


@pytest.mark.parametrize("colour_map", ["plasma", "turbo", "gray"])
def test_nearness_is_read_back_from_each_colour_map(colour_map: str) -> None:
    depth = np.linspace(1, 9, 64).reshape(8, 8)
    drawn = encode(
        "depth_estimation",
        colour_map,
        {"depth": depth},
        np.zeros((8, 8, 3), np.uint8),
    ).image
    assert drawn is not None
    expected = nearness_of(DepthMap(depth))
    found = decoded(strided(drawn), colour_map)
    known = np.isfinite(found)
    assert known.mean() > 0.9
    assert np.abs(found - expected)[known].max() <= 2 / 255


@pytest.mark.parametrize("order", ["AB", "BA"])
def test_it_points_where_the_options_differ(
    dataset: Dataset, order: str
) -> None:
    judge = local_judge("default", dataset.root)
    judge.rubric = rubric_of("reason")
    shown = ShownPredictions(dataset.root)
    pointed = 0
    for question in of(dataset, "object_detection", "pairwise"):
        verdict = asyncio.run(judge(Ask(question, order)))  # type: ignore[arg-type]
        if verdict.status != "ok":
            continue
        assert verdict.criteria is not None
        assert verdict.criteria["error"] in {*kinds_of(question.task), "none"}
        place = verdict.criteria["place"]
        if place == "none":
            continue
        height, width = image_size(dataset.image(question.images[0]))
        a, b = (
            {
                (mark.label.split(":")[0], mark.box)
                for mark in shown.prediction(
                    question.task, name, (height, width)
                ).marks()
            }
            for name in question.annotation_ids
        )
        scale = np.array([width, height, width, height]) / 1000
        x1, y1, x2, y2 = np.array(place) * scale
        assert any(
            box[0] - 1 <= (x1 + x2) / 2 <= box[2] + 1
            and box[1] - 1 <= (y1 + y2) / 2 <= box[3] + 1
            for _, box in a ^ b
        )
        pointed += 1
    assert pointed > 3
