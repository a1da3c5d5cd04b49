"""The score from which predictions are accepted keeps its risk, and marks those of another run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from judged_records import said, scoring, write_dataset, write_run
from visualjudge.analysis.decide.accept import _Cases, accept, chosen_threshold, marked
from visualjudge.analysis.load import load_study
from visualjudge.analysis.study_table import Study
from visualjudge.cli.main import app
from visualjudge.core.errors import DataError, UsageError


def cases(
    images: int, share_bad: float, *, base_rate: float | None = None, seed: int = 0
) -> _Cases:
    """Predictions of which the bad ones have lower scores, mostly."""
    rng = np.random.default_rng(seed)
    image = np.repeat(np.arange(images), 2)
    bad = rng.random(image.size) < share_bad
    score = np.round(rng.normal(np.where(bad, 3.5, 7.0), 1.5), 2)
    table = pl.DataFrame(
        {"cluster": image, "score": score, "truth": np.where(bad, 1.0, 9.0)}
    )
    return _Cases.of(table, 5.0, base_rate)


def study(root: Path, images: int, judge: str = "j", *, unread: int = 0) -> Study:
    """A good judge of two predictions an image, every third of which is bad."""
    questions = [
        scoring(
            k,
            2.0 if k % 3 == 0 else 9.0,
            image_id=f"image{k // 2}",
            error_type="missed",
        )
        for k in range(2 * images)
    ]
    dataset = write_dataset(root / "ds", questions)
    verdicts = [
        said(q, "Failed" if k < unread else round(float(q.answer) * 0.9, 1))
        for k, q in enumerate(questions)
    ]
    return load_study([write_run(root / "run", dataset, verdicts, judge=judge)])


def test_the_risk_of_the_chosen_score_is_kept_in_nearly_all_studies() -> None:
    rng = np.random.default_rng(9)
    bad = rng.random(200_000) < 0.3
    score = rng.normal(np.where(bad, 3.5, 7.0), 1.5)
    kept = 0
    for seed in range(60):
        threshold = chosen_threshold(cases(150, 0.3, seed=seed), 0.1)[0]
        accepted = score >= (np.inf if threshold is None else threshold)
        kept += not accepted.any() or bad[accepted].mean() <= 0.1
    assert kept >= 54


def test_a_base_rate_moves_the_score_as_the_mix_does() -> None:
    rare, same, common = (
        chosen_threshold(cases(600, 0.3, base_rate=rate), 0.05)[0]
        for rate in (0.02, None, 0.6)
    )
    assert rare is not None and same is not None and common is not None
    assert rare < same < common


def test_a_search_stops_at_the_first_score_that_breaks_the_promise() -> None:
    """700 good predictions, 60 bad ones below them, and 1,240 good ones at a lower score."""
    score = np.repeat([9.0, 8.0, 7.0], [700, 60, 1240])
    table = pl.DataFrame({"cluster": np.arange(2000), "score": score})
    table = table.with_columns(
        truth=pl.when(pl.col("score") == 8).then(1.0).otherwise(9.0)
    )
    found = _Cases.of(table, 5.0, None)
    assert found.bound(7.0)[1] <= 0.05 < found.bound(8.0)[1]
    assert chosen_threshold(found, 0.05) == (9.0, None)


def test_without_a_bad_prediction_among_them_few_prove_nothing() -> None:
    few = cases(12, 0.0)
    assert few.bound(-np.inf) == (0.0, pytest.approx(1 - 0.05 ** (1 / 12)))
    assert chosen_threshold(few, 0.05)[0] is None
    assert chosen_threshold(cases(200, 0.0), 0.05)[0] is not None


def test_a_study_answers_by_task_and_error_type(tmp_path: Path) -> None:
    found = accept(study(tmp_path, 90), risk=0.05)
    assert found.threshold == pytest.approx(8.1)
    assert [row.part for row in found.parts] == [
        "all",
        "task object_detection",
        "error type missed",
    ]
    whole = found.parts[0]
    assert (whole.accepted, whole.bad_accepted, whole.recall) == (
        pytest.approx(2 / 3),
        0.0,
        1.0,
    )
    assert whole.bound is not None and whole.bound <= 0.05
    assert "accept predictions from a score of 8.1" in str(found)


def test_too_few_images_are_said_with_the_number_needed(tmp_path: Path) -> None:
    found = accept(study(tmp_path, 12), risk=0.05)
    assert found.threshold is None and found.images_needed is not None
    assert 30 <= found.images_needed <= 120
    with pytest.raises(DataError, match="no score keeps the promise"):
        marked(found, study(tmp_path / "new", 4))
    with pytest.raises(UsageError, match="--risk"):
        accept(study(tmp_path / "again", 4), risk=0.0)


def test_predictions_of_another_run_are_marked_with_the_reason(tmp_path: Path) -> None:
    found = accept(study(tmp_path, 90), risk=0.05)
    table = marked(found, study(tmp_path / "new", 6, unread=1))
    reasons = table["reason"].value_counts().sort("reason").rows()
    assert table["accepted"].sum() == 8
    assert ("no readable score", 1) in reasons and ("score too low", 3) in reasons
    other = accept(study(tmp_path / "other", 90), risk=0.05)
    foreign = marked(
        type(other)(**{**other.__dict__, "tasks": ("keypoint",)}),
        study(tmp_path / "n2", 6),
    )
    assert set(foreign["reason"]) == {"its task was not studied"}


def test_a_run_without_scores_or_truths_is_refused_and_another_judge_is_told(
    tmp_path: Path,
) -> None:
    with pytest.raises(DataError, match="readable scores"):
        accept(study(tmp_path / "unread", 6, unread=18))
    known = study(tmp_path, 90)
    answers = known.joined[0].with_columns(truth=pl.lit(None, pl.Float64))
    run = replace(known.runs[0], answered=answers)
    with pytest.raises(DataError, match="known true score"):
        accept(replace(known, runs=(run,)))
    with pytest.warns(UserWarning, match="the score is j's, not k's"):
        marked(accept(known, risk=0.05), study(tmp_path / "new", 6, judge="k"))


def test_the_command_writes_a_table_and_a_coco_file(tmp_path: Path) -> None:
    study(tmp_path, 90)
    box = {"label": "dog", "bbox": [1, 2, 11, 22]}
    with (tmp_path / "ds" / "predictions.jsonl").open("w") as file:
        for k in (0, 1):
            row = {"task": "object_detection", "annotation_id": f"s{k}"}
            file.write(json.dumps({**row, "prediction": {"detections": [box]}}) + "\n")
        other = {
            "task": "instance_segmentation",
            "annotation_id": "s1",
        }  # of another task
        file.write(json.dumps({**other, "prediction": {"instances": [box]}}) + "\n")
    run, out = str(tmp_path / "run"), tmp_path / "accepted.csv"
    words = [
        "accept",
        run,
        "--json",
        str(tmp_path / "a.json"),
        "--apply",
        run,
        "--out",
        str(out),
    ]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert pl.read_csv(out)["accepted"].sum() == 120
    assert json.loads((tmp_path / "a.json").read_text())["threshold"] == pytest.approx(
        8.1
    )
    coco = json.loads((tmp_path / "accepted.coco.json").read_text())
    (annotation,) = coco["annotations"]
    assert (
        annotation["bbox"] == [1, 2, 10, 20]
        and coco["images"][0]["file_name"] == "image0"
    )
    failed = CliRunner().invoke(app, ["accept", run, "--risk", "0.001"])
    assert failed.exit_code == 1 and "no score keeps" in " ".join(failed.output.split())
