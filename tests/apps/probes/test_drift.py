"""Drift: a canary set, and a test that keeps its promise however often one looks."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from typer.testing import CliRunner

from judged_records import pair, said, write_dataset, write_run
from making import make_folder
from visualjudge.analysis.statistics.eprocess import e_process, e_value, weight
from visualjudge.apps.probes.drift import build_canary, canary_power, check_drift
from visualjudge.cli.drift import app
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import Question
from visualjudge.dataset.build import build
from visualjudge.dataset.folder import load_dataset
from visualjudge.dataset.validate import validate

N = 40


@pytest.fixture(scope="module")
def canary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("drift")
    data = make_folder(
        root / "data", tasks=("depth_estimation", "lowlevel-deblur"), images=8, annotations=4
    )
    build(data, root / "dataset")
    build_canary(root / "dataset", root / "canary", number=N)
    return root / "canary"


def run(root: Path, canary: Path, questions: Sequence[Question], wrong: set[str]) -> Path:
    root.mkdir()
    lines = [
        {
            "id": q.id,
            "order": "AB",
            "value": "BA"["AB".index(str(q.answer))] if q.id in wrong else q.answer,
            "status": "ok",
            "raw_response": "",
            "usage": None,
            "latency_s": None,
        }
        for q in questions
    ]
    (root / "verdicts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (root / "run.json").write_text(
        json.dumps({"judge": "model", "dataset": str(canary), "dataset_checksum": _digest(canary)})
    )
    return root


def _digest(canary: Path) -> str:
    return hashlib.sha256((canary / "questions.json").read_bytes()).hexdigest()


def _told(root: Path, **info: object) -> Path:
    manifest = json.loads((root / "run.json").read_text())
    (root / "run.json").write_text(json.dumps({**manifest, **info}))
    return root


def test_a_change_is_not_denied_where_no_answer_is_known(tmp_path: Path) -> None:
    asked = [pair(i, (5.0, 5.0), answer="unknown") for i in range(40)]
    dataset = write_dataset(tmp_path / "data", asked)
    before, now = (
        write_run(tmp_path / answer, dataset, [said(q, answer) for q in asked], judge="model")
        for answer in "AB"
    )
    with pytest.raises(DataError, match="no truth is known of the questions"):
        check_drift(before, [now])


def test_only_runs_of_one_judge_on_one_dataset_are_compared(canary: Path, tmp_path: Path) -> None:
    questions = load_dataset(canary).questions
    about = {
        "backend": "api",
        "model": "m",
        "dataset": {"path": str(canary), "checksum": _digest(canary)},
    }
    before, now, other = (
        _told(run(tmp_path / name, canary, questions, set()), **about) for name in "abc"
    )
    assert check_drift(before, [now]).warnings == ()
    _told(now, parameters={"mode": "text"}, asked=2 * len(questions))
    _told(before, parameters={"mode": "auto"})
    unfinished, settings = check_drift(before, [now]).warnings
    assert "verdicts are missing" in unfinished and 'mode was "auto", now "text"' in settings
    with pytest.raises(UsageError, match='model was "m", now "n"; visualjudge report compares'):
        check_drift(before, [now, _told(other, model="n")])
    _told(other, model="m", dataset={"path": str(canary), "checksum": "another"})
    with pytest.raises(DataError, match=r"questions.json has changed since the run"):
        check_drift(before, [other])
    with pytest.raises(UsageError, match=r"questions.json has changed since the run"):
        check_drift(before, [other], dataset=canary)
    _told(other, dataset=about["dataset"], media_checksum="another")
    _told(before, media_checksum="one")
    with pytest.raises(UsageError, match="must be on the same dataset as"):
        check_drift(before, [other])


def test_a_canary_set_is_a_valid_dataset_of_pairs_on_many_images(canary: Path) -> None:
    dataset = load_dataset(canary)
    assert validate(canary)[1] == []
    assert len(dataset) == N and {q.question_type for q in dataset} == {"pairwise"}
    assert len({q.image_id for q in dataset.questions[:16]}) == 16


def test_images_in_folders_below_media_come_along(tmp_path: Path) -> None:
    build(
        make_folder(tmp_path / "data", tasks=("lowlevel-deblur",), annotations=2),
        tmp_path / "dataset",
    )
    (tmp_path / "dataset/media/deep").mkdir()
    for path in (tmp_path / "dataset/media").glob("*.png"):
        path.rename(path.parent / "deep" / path.name)
    for name in ("questions.json", "dataset.json"):
        text = (tmp_path / "dataset" / name).read_text()
        (tmp_path / "dataset" / name).write_text(text.replace("media/", "media/deep/"))
    assert build_canary(tmp_path / "dataset", tmp_path / "canary")
    canary = load_dataset(tmp_path / "canary")
    assert all(path.startswith("media/deep/") for question in canary for path in question.images)
    name = canary[0].images[0]
    assert canary.image(name).read_bytes() == (tmp_path / "dataset" / name).read_bytes()
    assert {name for name in canary.meta["files"] if "/" in name} == {
        p for q in canary for p in q.images
    }


def test_a_run_that_answers_the_same_is_no_drift(canary: Path, tmp_path: Path) -> None:
    questions = load_dataset(canary).questions
    runs = [run(tmp_path / f"day{k}", canary, questions, {questions[0].id}) for k in range(3)]
    found = check_drift(runs[0], runs[1:])
    assert found.state == "not_shown" and found.change.value == 0 and found.e_value < 1


def test_a_run_that_is_worse_is_drift_and_ends_with_status_1(canary: Path, tmp_path: Path) -> None:
    questions = load_dataset(canary).questions
    runs = [
        run(tmp_path / "day0", canary, questions, set()),
        run(tmp_path / "day1", canary, questions, set()),
    ]
    runs.append(run(tmp_path / "day2", canary, questions, {q.id for q in questions[:12]}))
    out = tmp_path / "drift.json"
    result = CliRunner().invoke(app, ["check", *map(str, runs), "--json", str(out)])
    told = json.loads(out.read_text())
    assert result.exit_code == 1 and "drift" in result.output
    assert (
        told["state"] == "drift"
        and told["change"] == pytest.approx(-12 / N)
        and told["ci95"][1] < 0
    )


def test_drift_needs_a_run_now(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="at least one RUN_NOW"):
        check_drift(tmp_path, [])


def test_a_run_without_replies_is_no_drift(canary: Path, tmp_path: Path) -> None:
    """An outage says nothing of the judge."""
    questions = load_dataset(canary).questions
    runs = [run(tmp_path / f"day{k}", canary, questions, set()) for k in range(3)]
    lines = [json.loads(line) for line in (runs[1] / "verdicts.jsonl").read_text().splitlines()]
    down = [
        {**line, "value": "Failed", "status": "api_error", "failure_reason": "timeout"}
        for line in lines[5:]
    ]
    (runs[1] / "verdicts.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines[:5] + down)
    )
    found = check_drift(runs[0], runs[1:])
    assert found.state == "not_shown" and found.e_value < 1


def test_the_power_of_a_check_is_stated(canary: Path, tmp_path: Path) -> None:
    questions = load_dataset(canary).questions
    runs = [run(tmp_path / f"day{k}", canary, questions, {questions[0].id}) for k in range(3)]
    told = check_drift(runs[0], runs[1:]).to_json()["power"]
    assert (
        told["drop"] == 0.05
        and sorted(told["next_runs"]) == told["next_runs"]
        and len(told["next_runs"]) == 3
    )
    assert canary_power(200).runs[0] > 0.95 > canary_power(20).runs[0]


def test_weights_of_all_looks_sum_to_one() -> None:
    assert sum(weight(k) for k in range(1, 10_000)) == pytest.approx(1, abs=1e-3)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 0.3, 1.0, math.nan]), min_size=3, max_size=3),
        min_size=2,
        max_size=2,
    )
)
def test_an_e_value_is_one_on_average_over_all_orders_of_the_runs(rows: list[list[float]]) -> None:
    """Exactly, for any scores and with missing replies: the orders of a question's replies are all
    alike likely.
    """
    orders = [[list(order) for order in itertools.permutations(row)] for row in rows]
    assert np.mean(
        [e_value(np.array(both)) for both in itertools.product(*orders)]
    ) == pytest.approx(1)


def test_replies_that_repeat_are_no_evidence() -> None:
    assert e_value(np.ones((50, 4))) == pytest.approx(1)


def test_other_answers_that_are_right_as_often_are_noticed() -> None:
    """Ten answers turn right and ten turn wrong, and stay so."""
    scores = np.ones((100, 6))
    scores[:10, 3:], scores[10:20, :3] = 0, 0
    assert e_process(scores)[-1] >= 20


def test_false_alarms_stay_below_five_percent_over_many_looks() -> None:
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(200):
        right = rng.choice([0.02, 0.9, 0.98], 60)
        alarms += e_process((rng.random((6, 60)) < right).astype(float).T)[-1] >= 20
    assert alarms <= 10


def test_five_points_on_the_third_day_are_noticed_with_200_questions() -> None:
    """Of a judge that repeats its replies, in at least four of five cases, at the first look after
    the change.
    """
    noticed = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        then = rng.random(200) < 0.9
        now = then & (rng.random(200) >= 0.05 / 0.9)
        evidence = e_process(np.stack([then, then, then, now], axis=1).astype(float))
        assert evidence[1] < 1
        noticed += evidence[2] >= 20
    assert noticed >= 80
