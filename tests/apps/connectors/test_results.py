"""The figures of a run as a record of Every Eval Ever and as a model card's
model-index."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

import visualjudge as vj
from clones import clone
from visualjudge.analysis import analyse
from visualjudge.analysis.figures.accuracy import PAIRWISE
from visualjudge.analysis.figures.scoring import SCORES
from visualjudge.cli.main import app


def pairs(out: Path) -> Path:
    """A run of 60 pairs of which the judge gets two thirds right."""
    rows = [
        {
            "item": str(k),
            "model_a": "x",
            "model_b": "y",
            "verdict": "A" if k % 3 else "B",
            "truth": "A",
        }
        for k in range(60)
    ]
    return vj.adopt(rows, out, judge="one").runs[0]


def scores(out: Path) -> Path:
    """A run of 60 scores in two tasks."""
    rows = [
        {
            "item": str(k),
            "task": "odd" if k % 2 else "even",
            "verdict": (k * 7) % 11,
            "truth": min(10, k % 11 + 0.5),
        }
        for k in range(60)
    ]
    return vj.adopt(rows, out, judge="one").runs[0]


def written(run: Path, form: str, out: Path, *words: str) -> tuple[int, str]:
    done = CliRunner().invoke(
        app, ["export", str(run), "--format", form, "--out", str(out), *words]
    )
    return done.exit_code, done.output


def eee(run: Path, out: Path) -> Any:
    assert written(run, "eee", out)[0] == 0
    return json.loads(out.read_bytes())


def test_a_record_has_the_figures_of_the_analysis(tmp_path: Path) -> None:
    run = pairs(tmp_path / "pairs")
    record = eee(run, tmp_path / "record.json")
    first = record["evaluation_results"][0]
    figure = analyse([run]).judges[0][PAIRWISE].accuracy.share
    assert figure.interval is not None
    detail = first["score_details"]
    assert detail["score"] == figure.value == pytest.approx(2 / 3)
    between = detail["uncertainty"]["confidence_interval"]
    assert (between["lower"], between["upper"]) == figure.interval
    assert detail["uncertainty"]["num_samples"] == 60
    assert record["model_info"]["id"] == "one"


def test_scores_have_correlation_and_error_by_task(tmp_path: Path) -> None:
    run = scores(tmp_path / "scores")
    record = eee(run, tmp_path / "record.json")
    found = {
        row["evaluation_result_id"].partition("/")[2]: row["score_details"][
            "score"
        ]
        for row in record["evaluation_results"]
    }
    tasks = analyse([run]).judges[0][SCORES].tasks
    assert set(found) == {
        f"{task}/{metric}"
        for task in ("all", "even", "odd")
        for metric in ("spearman", "mae")
    }
    assert found["odd/mae"] == tasks["odd"].mae.value


def test_a_record_is_valid_by_the_published_schema(tmp_path: Path) -> None:
    schemas = clone("every_eval_ever") / "every_eval_ever/schemas"
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((schemas / "eval.schema.json").read_text("utf-8"))
    for make in (pairs, scores):
        record = eee(
            make(tmp_path / make.__name__), tmp_path / f"{make.__name__}.json"
        )
        assert record["schema_version"] == schema["version"]
        jsonschema.Draft7Validator(schema).validate(record)


def test_hugging_face_reads_the_model_index(tmp_path: Path) -> None:
    run = scores(tmp_path / "scores")
    out = tmp_path / "results.yaml"
    assert written(run, "hf", out)[0] == 0
    index = yaml.safe_load(out.read_text("utf-8"))["model-index"]
    cards = pytest.importorskip("huggingface_hub.repocard_data")
    name, results = cards.model_index_to_eval_results(index)
    assert name == "one"
    found = {(row.dataset_name, row.metric_type): row for row in results}
    figure = analyse([run]).judges[0][SCORES].spearman
    row = found["dataset, all", "spearman"]
    assert row.metric_value == figure.value
    assert row.metric_args["ci95"] == list(figure.interval or ())


def test_what_cannot_be_exported_is_refused(tmp_path: Path) -> None:
    run = pairs(tmp_path / "pairs")
    out = tmp_path / "record.json"
    code, _ = written(run, "eee", out, "--task", "verdicts")
    assert code and not out.exists()
    assert written(run, "eee", out)[0] == 0
    assert written(run, "eee", out)[0] != 0  # it exists
    assert written(run, "eee", out, "--force")[0] == 0
    rows = [{"item": str(k), "verdict": k % 9} for k in range(20)]
    untrue = vj.adopt(rows, tmp_path / "untrue", judge="one").runs[0]
    code, _ = written(untrue, "eee", tmp_path / "other.json")
    assert code and not (tmp_path / "other.json").exists()
