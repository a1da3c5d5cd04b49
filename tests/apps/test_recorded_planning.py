"""All numbers of plans, from a pilot, a dataset and a data folder, recorded; and of an
audit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import visualjudge as vj
from frontdoor_example import write_data
from judged_records import write_dataset, write_run
from mixed_study import SEED, TASKS, made_questions, made_verdicts, make_study
from recording import check, lasting
from visualjudge.analysis.decisions.checks import STATES
from visualjudge.analysis.decisions.model_answer import PAIR
from visualjudge.apps.planning.dataset_audit import audit
from visualjudge.apps.planning.plan_without_models import ShapePlan
from visualjudge.apps.planning.study_designs import (
    Plan,
    as_json,
    commands,
    designs_table,
    plan,
)
from visualjudge.core.records import UNKNOWN, Question
from visualjudge.dataset.folder import load_dataset
from visualjudge.runs.budget import Prices


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("planned")
    make_study(root)
    write_data(root / "data")
    return root


def _numbers(place: Path, **options: Any) -> dict[str, Any]:
    planned = plan(place, seed=3, **options)
    assert not isinstance(planned, ShapePlan)
    place_free = replace(planned, target=replace(planned.target, place="PLACE"))
    return {
        "json": lasting(as_json(planned)),
        "table": designs_table(planned).rows,
        "commands": [line.split() for line in commands(place_free)],
    }


def test_plans_of_named_models(folder: Path) -> None:
    pilot = folder / "hasty"
    priced = Prices(1.0, 2.0)
    asked: dict[str, tuple[Path, dict[str, Any]]] = {
        "pilot": (pilot, {"goal": "right", "effect": 0.1, "prices": priced}),
        "below": (pilot, {"goal": "right", "power": 0.9}),
        "enough": (pilot, {"goal": "right", "effect": 0.2, "power": 0.6}),
        "dataset": (
            folder / "ds",
            {"goal": "right", "effect": 0.15, "where": ("margin>1",)},
        ),
    }
    found = {
        name: _numbers(place, tasks=(TASKS[1],), **options)
        for name, (place, options) in asked.items()
    }
    data = folder / "data"
    found["data"] = _numbers(data, goal="right", effect=0.15)
    found["ranked"] = _numbers(data, effect=2.0, power=0.5)
    check("plans", found)


def test_a_pilot_needs_the_images_that_its_card_names(tmp_path: Path) -> None:
    table = tmp_path / "verdicts.csv"
    rows = [
        f"{pair[0]}{k},{pair},{'A' if k < 39 else 'B'},{'A' if k % 4 else 'B'},j"
        for pair in ("a,b", "c,d")
        for k in range(60)
    ]
    table.write_text(
        "\n".join(["item,model_a,model_b,verdict,truth,judge", *rows])
    )
    vj.adopt(table, tmp_path / "study")
    pilot = tmp_path / "study" / "j"
    planned = plan(pilot)
    assert isinstance(planned, ShapePlan)
    pair, _ = vj.card([pilot]).judges[0].models.pairs
    assert pair.needs_images is not None
    assert planned.images == 60 + pair.needs_images[1]
    assert f"Judge {pair.needs_images[1]} more images" in str(planned)
    assert all(cell in str(planned) for cell in PAIR.cells(pair))
    # designs of a new study are asked for
    assert not isinstance(plan(pilot, effect=0.2), ShapePlan)


def test_a_pilot_is_planned_by_the_encodings_that_are_named(
    folder: Path,
) -> None:
    pilot = folder / "hasty"
    names = load_dataset(folder / "ds").filter(
        task=TASKS[1], question_type="pairwise"
    )
    encoding = sorted({question.encoding for question in names})[0]
    part = {"tasks": (TASKS[1],), "encodings": (encoding,)}
    pairs = vj.card([pilot], **part).judges[0].models.pairs
    planned = plan(pilot, **part)
    assert isinstance(planned, ShapePlan)
    assert [case.images for case in planned.cases] == [
        pair.images for pair in pairs
    ]
    whole = plan(pilot, tasks=(TASKS[1],))
    assert isinstance(whole, ShapePlan) and whole.cases != planned.cases


def test_a_plan_begins_with_what_the_pilot_has_answered(folder: Path) -> None:
    planned, other = (
        plan(folder / "hasty", tasks=(TASKS[1],), goal="right", effect=effect)
        for effect in (None, 0.1)
    )
    assert isinstance(planned, Plan) and isinstance(other, Plan)
    assert planned.question != other.question, "proof that it fails is another"
    told = str(planned)
    (judge,) = vj.card([folder / "hasty"], tasks=[TASKS[1]]).judges
    first = told.partition("\n\n")[0].replace("\n", " ")
    assert judge.checks[0].measured in first
    assert STATES[judge.checks[0].state] in first


def _asked(kind: str) -> list[Question]:
    every = made_questions(np.random.default_rng(SEED))
    return [question for question in every if question.question_type == kind]


def test_plans_of_unnamed_models_of_scores_and_without_truth(
    tmp_path: Path,
) -> None:
    pairs = _asked("pairwise")
    scores = _asked("scoring")
    unnamed = [replace(pair, sources=(None, None)) for pair in pairs]
    studies = {
        "scores_of_models": scores,
        "scores": [replace(item, sources=(None,)) for item in scores],
        "unnamed": unnamed,
        "few": unnamed[:9],
        "no_truth": [replace(pair, answer=UNKNOWN) for pair in unnamed],
    }
    found = {}
    for name, questions in studies.items():
        truth = {question.id for question in questions}
        verdicts = made_verdicts(
            [item for item in (*pairs, *scores) if item.id in truth], 0.8, 3, 1
        )
        dataset = write_dataset(tmp_path / name / "ds", questions)
        run = write_run(tmp_path / name / "run", dataset, verdicts)
        planned = plan(run)
        assert isinstance(planned, ShapePlan)
        found[name] = planned.as_json()
    check("shape_plans", found)


def test_an_audit(folder: Path) -> None:
    made = audit(load_dataset(folder / "ds")).json()
    del made["dataset"]
    check("audit", made)
