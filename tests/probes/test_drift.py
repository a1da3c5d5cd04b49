"""Drift: a canary set, and a test that keeps its promise however often one looks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from making import make_folder
from visualjudge.analysis.statistics.eprocess import e_process, e_value, weight
from visualjudge.cli.drift import app
from visualjudge.dataset.build import build
from visualjudge.dataset.folder import load_dataset
from visualjudge.dataset.validate import validate
from visualjudge.errors import UsageError
from visualjudge.probes.drift import build_canary, check_drift
from visualjudge.records import Question

N = 40


@pytest.fixture(scope="module")
def canary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("drift")
    data = make_folder(root / "data", tasks=("depth_estimation", "lowlevel-deblur"), images=8, annotations=4)
    build(data, root / "dataset")
    build_canary(root / "dataset", root / "canary", number=N)
    return root / "canary"


def run(root: Path, canary: Path, questions: Sequence[Question], wrong: set[str]) -> Path:
    root.mkdir()
    lines = [
        {"id": q.id, "order": "AB", "value": "BA"["AB".index(str(q.answer))] if q.id in wrong else q.answer,
         "status": "ok", "raw_response": "", "usage": None, "latency_s": None}
        for q in questions
    ]  # fmt: skip
    (root / "verdicts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (root / "run.json").write_text(json.dumps({"judge": "model", "dataset": str(canary)}))
    return root


def test_a_canary_set_is_a_valid_dataset_of_pairs_on_many_images(canary: Path) -> None:
    dataset = load_dataset(canary)
    assert validate(canary)[1] == []
    assert len(dataset) == N and {q.question_type for q in dataset} == {"pairwise"}
    assert len({q.image_id for q in dataset.questions[:16]}) == 16


def test_a_run_that_answers_the_same_is_no_drift(canary: Path, tmp_path: Path) -> None:
    questions = load_dataset(canary).questions
    runs = [run(tmp_path / f"day{k}", canary, questions, {questions[0].id}) for k in range(3)]
    found = check_drift(runs[0], runs[1:])
    assert found.state == "not_shown" and found.change.value == 0 and found.e_value < 1


def test_a_run_that_is_worse_is_drift_and_ends_with_status_1(canary: Path, tmp_path: Path) -> None:
    questions = load_dataset(canary).questions
    runs = [run(tmp_path / "day0", canary, questions, set()), run(tmp_path / "day1", canary, questions, set())]
    runs.append(run(tmp_path / "day2", canary, questions, {q.id for q in questions[:12]}))
    out = tmp_path / "drift.json"
    result = CliRunner().invoke(app, ["check", *map(str, runs), "--json", str(out)])
    told = json.loads(out.read_text())
    assert result.exit_code == 1 and "drift" in result.output
    assert told["state"] == "drift" and told["change"] == pytest.approx(-12 / N) and told["ci95"][1] < 0


def test_drift_needs_a_run_now(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="at least one RUN_NOW"):
        check_drift(tmp_path, [])


def test_weights_of_all_looks_sum_to_one() -> None:
    assert sum(weight(k) for k in range(1, 10_000)) == pytest.approx(1, abs=1e-3)


def test_an_e_value_is_one_on_average_where_nothing_has_changed() -> None:
    """Exactly: over both signs of every change."""
    each = [e_value(np.array(signs)) for signs in np.array(np.meshgrid(*[[-1.0, 1.0]] * 6)).T.reshape(-1, 6)]
    assert np.mean(each) == pytest.approx(1)
    assert e_value(np.zeros(50)) == 1


def test_false_alarms_stay_below_five_percent_over_many_looks() -> None:
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(1000):
        right = rng.choice([0.6, 0.9, 0.99], 60)
        before, *days = (rng.random(60) < right for _ in range(11))
        alarms += e_process([day.astype(float) - before for day in days])[-1] >= 20
    assert alarms <= 50


def test_five_points_on_the_third_day_are_noticed_by_200_questions() -> None:
    quiet, drop = np.zeros(200), np.zeros(200)
    drop[:10] = -1
    evidence = e_process([quiet, quiet, drop])
    assert evidence[1] < 1 and evidence[2] >= 20
