"""Questions without end: new errors in each round, the same ones for the same seed, scores that are
true.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import orjson
import pytest

from visualjudge.apps.training.endless_questions import Drawn, endless
from visualjudge.core.errors import DataError, UsageError
from visualjudge.data.perturbing import perturb_samples, surroundings
from visualjudge.data.writer import FolderWriter
from visualjudge.dataset.sampling import Caps
from visualjudge.formats.sample import Sample
from visualjudge.vision.predictions import Detection, Detections, read_prediction
from visualjudge.vision.raster.images import write_png
from visualjudge.vision.score import score

FEW = Caps(judge_groups=2, judge_pairs=1, scoring_groups=1, ranking_groups=0, per_group=1)


def truth_of(number: int) -> Detections:
    boxes = [("dog", (4, 5, 60, 70)), ("cat", (40 + number, 20, 110, 90))]
    return Detections(tuple(Detection(label, box) for label, box in boxes))


def made(root: Path, *, with_truth: bool = True) -> Path:
    samples = []
    for number in range(3):
        image = root / f"{number}.png"
        root.mkdir(exist_ok=True)
        write_png(image, np.full((120, 160, 3), 60 * number, np.uint8))
        samples.append(Sample(f"i{number}", image, truth_of(number), truth_of(number)))
    writer = FolderWriter(root / "data", "object_detection")
    list(
        perturb_samples(
            writer, samples, surroundings(samples), levels=2, seed=1, with_truth=with_truth
        )
    )
    writer.commit()
    return root / "data"


def shown(one: Drawn) -> tuple[object, ...]:
    """Everything that a judge is shown, and the answer."""
    pixels = [one.dataset.image_path(name).read_bytes() for name in one.question.images]
    return (
        one.question.id,
        one.question.prompt,
        one.question.answer,
        one.question.final_scores,
        pixels,
    )


def first(data: Path, count: int, seed: int = 7) -> list[tuple[object, ...]]:
    return [shown(one) for one in islice(endless(data, seed=seed, images=2, caps=FEW), count)]


def test_rounds_differ_and_a_seed_gives_the_same_questions_again(tmp_path: Path) -> None:
    data = made(tmp_path / "truth")
    found = first(data, 60)
    assert found == first(data, 60)
    assert found[:10] != first(data, 10, seed=8)
    rounds = {str(one[0]).partition("-")[0] for one in found}
    assert len(rounds) >= 3 and len({one[0] for one in found}) == len(found)
    scores = {
        number: {one[3] for one in found if str(one[0]).startswith(f"{number}-")}
        for number in rounds
    }
    assert not scores["0"] & scores["1"] & scores["2"]  # new errors, not the same ones again


def test_what_a_question_says_of_a_prediction_is_its_score(tmp_path: Path) -> None:
    data = made(tmp_path / "truth")
    for one in islice(endless(data, images=2, caps=FEW), 30):
        path = one.dataset.root / "predictions.jsonl"
        stored = {
            row["annotation_id"]: row for row in map(orjson.loads, path.read_bytes().splitlines())
        }
        truth = truth_of(int(one.question.image_id[1:]))
        for name, given in zip(one.question.annotation_ids, one.question.final_scores, strict=True):
            prediction = read_prediction(
                "object_detection", stored[name]["prediction"], size=(120, 160)
            )
            assert given == pytest.approx(score("object_detection", prediction, truth), abs=2e-2)


def test_a_folder_without_truths_and_one_without_errors_are_refused(tmp_path: Path) -> None:
    data = made(tmp_path / "truth", with_truth=False)
    with pytest.raises(
        UsageError,
        match=r"must have annotations of source 'truth'; visualjudge perturb --with-truth",
    ):
        next(endless(data))
    with pytest.raises(
        UsageError, match="object_detection: must have annotations of source 'truth', found none"
    ):
        next(endless(data, tasks=["object_detection"]))
    with pytest.raises(UsageError, match="generation_t2i has no error types"):
        next(endless(data, tasks=["generation_t2i"]))


def test_truths_about_which_nothing_can_be_asked_end_the_search(tmp_path: Path) -> None:
    data = made(tmp_path / "truth")
    nothing = Caps(0, 0, 0, 0, 0, 0, 0)
    with pytest.raises(DataError):
        next(endless(data, caps=nothing))
