"""The score from which predictions are accepted keeps its risk, and marks those of
another run."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image
from typer.testing import CliRunner

from judged_records import said, scoring, write_dataset, write_run
from visualjudge.analysis.decisions.accept import (
    Cases,
    Chosen,
    accept,
    chosen_score,
    marked,
    score_bounds,
)
from visualjudge.analysis.load import load_study
from visualjudge.analysis.study_table import Study
from visualjudge.cli.main import app
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import Spans


def cases(
    images: int,
    share_bad: float,
    *,
    base_rate: float | None = None,
    seed: int = 0,
) -> Cases:
    """Predictions of which the bad ones have lower scores, mostly."""
    rng = np.random.default_rng(seed)
    image = np.repeat(np.arange(images), 2)
    bad = rng.random(image.size) < share_bad
    score = np.round(rng.normal(np.where(bad, 3.5, 7.0), 1.5), 2)
    table = pl.DataFrame(
        {"cluster": image, "score": score, "truth": np.where(bad, 1.0, 9.0)}
    )
    return Cases.of(table, 5.0, base_rate)


def study(
    root: Path, images: int, judge: str = "j", *, unread: int = 0
) -> Study:
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


def chosen(cases: Cases, risk: float) -> Chosen:
    return chosen_score(cases, risk, score_bounds(cases, risk))


def test_the_risk_of_the_chosen_score_is_kept_in_nearly_all_studies() -> None:
    rng = np.random.default_rng(9)
    bad = rng.random(200_000) < 0.3
    score = rng.normal(np.where(bad, 3.5, 7.0), 1.5)
    kept = 0
    for seed in range(60):
        threshold = chosen(cases(150, 0.3, seed=seed), 0.1).threshold
        accepted = score >= (np.inf if threshold is None else threshold)
        kept += not accepted.any() or bad[accepted].mean() <= 0.1
    assert kept >= 54


def test_a_base_rate_moves_the_score_as_the_mix_does() -> None:
    rare, same, common = (
        chosen(cases(600, 0.3, base_rate=rate), 0.05).threshold
        for rate in (0.02, None, 0.45)
    )
    assert rare is not None and same is not None and common is not None
    assert rare < same < common


def test_of_a_known_base_rate_accepting_all_has_exactly_that_share() -> None:
    few = cases(60, 0.3, base_rate=0.02)
    assert few.bound(-np.inf) == (0.02, 0.02)
    assert chosen(few, 0.02).threshold == few.score.min()
    strict = few.only(few.score > few.score.min()).bound(5.0)
    assert strict[0] < strict[1] < few.bound(3.0)[1] < 0.02


def test_only_scores_that_were_tested_have_a_bound() -> None:
    bounds = [*score_bounds(cases(600, 0.3), 0.05).values()]
    failed = next(k for k, bound in enumerate(bounds) if bound > 0.05)  # type: ignore[operator]
    assert None not in bounds[:failed]
    assert {*bounds[failed + 1 :]} == {None}


def judged(*groups: tuple[float, int, bool]) -> Cases:
    """Predictions of one image each: (score, number of them, whether they are bad)."""
    score = np.concatenate([np.full(n, score) for score, n, _ in groups])
    truth = np.concatenate(
        [np.full(n, 1.0 if bad else 9.0) for _, n, bad in groups]
    )
    columns = {"cluster": np.arange(score.size), "score": score, "truth": truth}
    return Cases.of(pl.DataFrame(columns), 5.0, None)


@pytest.mark.parametrize(("share", "word"), [(0.0, "none"), (1.0, "all")])
def test_a_base_rate_needs_good_and_bad_predictions(
    share: float, word: str
) -> None:
    with pytest.raises(DataError, match=f"but {word} of 6 are below 5"):
        cases(3, share, base_rate=0.3)


def test_a_usable_score_is_found_although_the_strictest_predictions_are_bad() -> (
    None
):
    found = judged((10.0, 20, True), (8.0, 900, False), (3.0, 800, True))
    assert found.bound(10.0)[0] == 1.0
    assert chosen(found, 0.05).threshold == 8.0
    hopeless = judged((10.0, 200, True), (8.0, 900, False), (3.0, 800, True))
    assert chosen(hopeless, 0.05).threshold is None


def test_the_printed_score_accepts_what_was_counted() -> None:
    # means of three readings, of which .4g would print one above them
    found = judged(
        (4.0 + 2 / 3, 900, False), (4.6661, 90, False), (3.0, 800, True)
    )
    choice = chosen(found, 0.05)
    assert choice.threshold == float(f"{choice.threshold:.4g}") == 4.666
    assert found.part("all", 4.666).accepted == pytest.approx(990 / 1790)


def test_without_a_bad_prediction_among_them_few_prove_nothing() -> None:
    few = cases(12, 0.0)
    assert few.bound(-np.inf) == (0.0, pytest.approx(1 - 0.05 ** (1 / 12)))
    assert chosen(few, 0.05).threshold is None
    assert chosen(cases(200, 0.0), 0.05).threshold is not None


def test_images_that_are_named_are_those_of_a_score_that_can_be_chosen() -> (
    None
):
    # a sequence of tests starts at two scores; the others need fewer images
    kept = []
    for seed in range(40):
        pilot = cases(80, 0.3, seed=seed)
        needed = chosen(pilot, 0.05).images_needed
        if needed is None:
            continue
        later = cases(needed - 80, 0.3, seed=100 + seed)
        image, *columns = (
            np.concatenate([getattr(part, name) for part in (pilot, later)])
            for name in ("image", "score", "bad")
        )
        image[pilot.image.size :] += 80
        kept.append(chosen(Cases(image, *columns, None), 0.05).threshold)
    assert len(kept) > 20
    assert sum(score is not None for score in kept) > len(kept) / 3


def test_a_study_answers_by_task_and_error_type(tmp_path: Path) -> None:
    found = accept(study(tmp_path, 90), risk=0.05)
    assert found.thresholds == {"object_detection": pytest.approx(8.1)}
    assert [row.part for row in found.parts] == ["all", "error type missed"]
    whole = found.parts[0]
    assert (whole.accepted, whole.bad_accepted, whole.recall) == (
        pytest.approx(2 / 3),
        0.0,
        1.0,
    )
    assert whole.bound is not None and whole.bound <= 0.05
    assert "accept predictions from a judge’s score of 8.1" in str(found)


def test_too_few_images_are_said_with_the_number_needed(tmp_path: Path) -> None:
    found = accept(study(tmp_path, 12), risk=0.05)
    (choice,) = found.chosen
    assert choice.threshold is None and choice.images_needed is not None
    assert 30 <= choice.images_needed <= 140
    with pytest.raises(DataError, match="no score keeps the promise"):
        marked(found, study(tmp_path / "new", 4))
    with pytest.raises(UsageError, match="`risk`"):
        accept(study(tmp_path / "again", 4), risk=0.0)


def test_predictions_of_another_run_are_marked_with_the_reason(
    tmp_path: Path,
) -> None:
    found = accept(study(tmp_path, 90), risk=0.05)
    table = marked(found, study(tmp_path / "new", 6, unread=1))
    reasons = table["reason"].value_counts().sort("reason").rows()
    assert table["accepted"].sum() == 8
    assert ("no readable score", 1) in reasons and (
        "score too low",
        3,
    ) in reasons
    other = accept(study(tmp_path / "other", 90), risk=0.05)
    foreign = marked(
        replace(other, tasks=("keypoint",)),
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


def two_tasks(root: Path) -> Study:
    """Good at object detection; of keypoints every fifth high score is of a bad
    prediction."""
    good = [
        scoring(k, 9.0 if k % 3 else 2.0, image_id=f"i{k}") for k in range(450)
    ]
    poor = [
        scoring(
            k,
            2.0 if k % 5 == 0 else 9.0,
            image_id=f"i{k}",
            id=f"k{k}",
            task="keypoint",
        )
        for k in range(60)
    ]
    dataset = write_dataset(root / "ds", [*good, *poor])
    verdicts = [said(q, q.answer) for q in good] + [said(q, 9.0) for q in poor]
    return load_study([write_run(root / "run", dataset, verdicts, judge="j")])


def test_each_task_has_its_own_score_and_one_for_all_names_the_tasks_at_risk(
    tmp_path: Path,
) -> None:
    known = two_tasks(tmp_path)
    found = accept(known, risk=0.1)
    assert found.thresholds == {"object_detection": 9.0}
    assert "No score keeps it for keypoint" in found.sentence
    table = marked(found, known)
    reasons = set(table.filter(task="keypoint")["reason"])
    assert reasons == {"no score of its task keeps the risk"}
    pooled = accept(known, risk=0.1, pooled=True)
    assert pooled.thresholds == {"object_detection": 9.0, "keypoint": 9.0}
    assert "more are bad: keypoint 20.0 %" in pooled.sentence


BOX = {"label": "dog", "bbox": [1, 2, 11, 22]}


def boxed(root: Path, *lines: str) -> list[str]:
    """The words of a command that marks a run whose dataset has these lines of
    predictions."""
    questions = [
        scoring(
            k,
            2.0 if k % 3 == 0 else 9.0,
            image_id=f"image{k}",
            images=("media/a.png",),
            prompt="<image> Score it. box",
            spans=Spans(options=((18, 21),), original=(0, 7)),
        )
        for k in range(180)
    ]
    dataset = write_dataset(root / "ds", questions)
    (dataset / "media").mkdir()
    Image.new("RGB", (40, 30)).save(dataset / "media" / "a.png")
    default = [line(k) for k in range(180)]
    (dataset / "predictions.jsonl").write_text(
        "\n".join(lines or default) + "\n\n"
    )
    meta = json.loads((dataset / "dataset.json").read_text())
    meta["files"]["predictions.jsonl"] = ""
    (dataset / "dataset.json").write_text(json.dumps(meta))
    verdicts = [said(q, round(float(q.answer) * 0.9, 1)) for q in questions]
    run = str(write_run(root / "run", dataset, verdicts, judge="j"))
    return ["accept", run, "--apply", run, "--out", str(root / "a.csv")]


def line(k: int, **changes: object) -> str:
    row = {"task": "object_detection", "annotation_id": f"s{k}"}
    return json.dumps(
        {**row, "prediction": {"detections": [{**BOX, **changes}]}}
    )


def test_the_command_writes_a_table_and_a_coco_file(tmp_path: Path) -> None:
    words = boxed(tmp_path, "\ufeff" + line(0), *map(line, range(1, 180)))
    done = CliRunner().invoke(app, [*words, "--json", str(tmp_path / "a.json")])
    assert done.exit_code == 0, done.output
    assert pl.read_csv(tmp_path / "a.csv")["accepted"].sum() == 120
    told = json.loads((tmp_path / "a.json").read_text())
    assert told["thresholds"] == {"object_detection": pytest.approx(8.1)}
    alone = CliRunner().invoke(
        app, [*words[:2], "--bad-below", "4", "--pooled"]
    )
    assert "--bad-below 4 --risk 0.05 --pooled --apply RUN" in alone.output
    coco = json.loads((tmp_path / "a.coco.json").read_text())
    assert len(coco["annotations"]) == 120
    assert coco["annotations"][0]["bbox"] == [1, 2, 10, 20]
    (image,) = coco["images"]
    assert (image["file_name"], image["width"], image["height"]) == (
        "media/a.png",
        40,
        30,
    )
    failed = CliRunner().invoke(app, [*words[:2], "--risk", "0.001"])
    assert failed.exit_code == 1 and "no score keeps" in " ".join(
        failed.output.split()
    )


WRONG = {
    "three values": (
        line(1, bbox=[1, 2, 11]),
        "s1: detections[0].bbox: must be",
    ),
    "no label": (line(1, label=None), "s1: detections[0].label: must be"),
    "NaN": (line(1, bbox=[float("nan"), 2, 11, 22]), "line 2"),
    "negative size": (
        line(1, bbox=[9, 9, 1, 1]),
        "s1: detections[0].bbox: must be",
    ),
    "twice": (line(2), "line 3"),
    "no object": ("7", "line 2"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_prediction_is_named_in_one_line_and_no_file_is_written(
    tmp_path: Path, wrong: str
) -> None:
    changed, named = WRONG[wrong]
    words = boxed(tmp_path, line(0), changed, *map(line, range(2, 180)))
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, DataError), done.output
    message = str(done.exception)
    assert message.count("predictions.jsonl") == 1 and named in message
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.parametrize("kind", ["missing", "folder", "fifo"])
def test_predictions_that_are_no_file_are_refused_and_an_older_pair_stays(
    tmp_path: Path, kind: str
) -> None:
    words = boxed(tmp_path)
    assert CliRunner().invoke(app, words).exit_code == 0
    before = (
        (tmp_path / "a.csv").read_text(),
        (tmp_path / "a.coco.json").read_text(),
    )
    stored = tmp_path / "ds" / "predictions.jsonl"
    stored.unlink()
    if kind == "folder":
        stored.mkdir()
    if kind == "fifo":
        os.mkfifo(stored)
    done = CliRunner().invoke(app, [*words, "--risk", "0.2"])
    assert isinstance(done.exception, DataError), done.output
    after = (
        (tmp_path / "a.csv").read_text(),
        (tmp_path / "a.coco.json").read_text(),
    )
    assert after == before


def test_a_dataset_that_never_held_predictions_gives_the_table_alone(
    tmp_path: Path,
) -> None:
    scores = [2.0 if k % 3 == 0 else 9.0 for k in range(180)]
    questions = [
        scoring(k, score, task="vqa", image_id=f"image{k}")
        for k, score in enumerate(scores)
    ]
    dataset = write_dataset(tmp_path / "ds", questions)
    verdicts = [said(question, question.answer) for question in questions]
    run = str(write_run(tmp_path / "run", dataset, verdicts, judge="j"))
    words = ["accept", run, "--apply", run, "--out", str(tmp_path / "a.csv")]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert not (tmp_path / "a.coco.json").exists()
