"""People answer the criteria of a rubric with a question, and scores on the scale of
the study.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from fastapi.testclient import TestClient

import visualjudge as vj
from judged_records import pair, said, write_dataset, write_run
from stored_figures import stored
from visualjudge.core.errors import DataError
from visualjudge.core.records import Verdict
from visualjudge.prompts.rubric import read_rubric
from visualjudge.studio.people.pages import (
    going_on,
    people_app,
    people_pages,
)
from visualjudge.studio.people.plan import Settings
from visualjudge.studio.places import find_places
from visualjudge.studio.studio_data import Site

RUBRIC = """rubric: edges
version: v1
criteria:
  - {id: sharper, ask: Which has sharper edges?, answer: option}
  - {id: cause, ask: What disturbs most?, answer: {choice: [blur, noise]}}
  - {id: sure, ask: How sure are you?, answer: {scale: [1, 5]}}
  - {id: where, ask: Where?, answer: place}
"""


class Rating:
    """Anna's pages of a people's run."""

    def __init__(self, dataset: Path, settings: Settings, home: Path) -> None:
        site = Site(find_places([dataset]), home / "cache")
        self.folder = home / "people"
        self.pages = people_pages(site, self.folder, settings, ["anna"])
        self.client = TestClient(
            people_app(self.pages), base_url="http://127.0.0.1:1"
        )
        self.headers = {"x-studio-token": self.pages.tokens.token("anna")}

    def get(self, path: str) -> Any:
        response = self.client.get(f"/people/anna/{path}", headers=self.headers)
        return response.json()["question"]

    def answer(self, question: Any, **body: Any) -> Any:
        sent = {"slot": question["slot"], "seconds": 1.5, **body}
        return self.client.post(
            "/people/anna/answer", headers=self.headers, json=sent
        )

    def lines(self) -> list[dict[str, Any]]:
        journal = self.folder / "verdicts.jsonl"
        return [json.loads(line) for line in journal.read_text().splitlines()]


@pytest.fixture
def rubric(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "edges.yaml"
    path.write_text(RUBRIC)
    return read_rubric(path).json()


def test_people_answer_a_rubric_and_are_its_truth(
    tmp_path: Path, rubric: dict[str, Any]
) -> None:
    questions = [pair(i, (2.0, 8.0), image_id=f"i{i}") for i in range(30)]
    root = write_dataset(tmp_path / "ds", questions)
    settings = Settings(encoding="all", rubric=rubric)
    study = Rating(root, settings, tmp_path)
    orders = set()
    while question := study.get("next"):
        names = [own["id"] for own in question["criteria"]]
        assert names == ["sharper", "cause", "sure"]  # a place is not asked
        criteria = {"sharper": "A", "cause": "noise", "sure": 4}
        for missing in names:
            some = {k: v for k, v in criteria.items() if k != missing}
            refused = study.answer(question, value="A", criteria=some)
            assert (refused.status_code, missing in refused.text) == (422, True)
        assert study.answer(question, value="A", criteria=criteria).is_success
        line = study.lines()[-1]
        orders.add(line["order"])
        # what was shown first was chosen: in stored letters, as the answer is
        assert line["criteria"] == {**criteria, "sharper": line["value"]}
        assert study.get("back?steps=1")["given"]["criteria"] == criteria
    assert orders == {"AB", "BA"}
    of_people = {line["id"]: line["criteria"] for line in study.lines()}
    changed = study.get("back?steps=1")
    other = {"sharper": "tie", "cause": "blur", "sure": 1}
    revised = study.answer(changed, value="A", criteria=other, revise=True)
    assert revised.is_success, revised.text
    assert study.lines()[-1]["criteria"]["sharper"] == "tie"
    study.pages.run.close()
    assert going_on(study.folder, Settings(), named=False).rubric == rubric
    Rating(root, settings, tmp_path).pages.run.close()  # goes on

    verdicts = []
    for k, question in enumerate(questions):
        own = of_people[question.id]
        cause = "noise" if k % 3 else "blur"
        stated = {**own, "cause": cause}
        verdicts.append((said(question, "A"), stated))
    run = write_run(
        tmp_path / "judge",
        root,
        [_with_criteria(verdict, stated) for verdict, stated in verdicts],
        parameters={"rubric": rubric},
    )
    rows = {
        row["criterion"]: row
        for row in stored(vj.analyse([run, study.folder]))[0]["criteria"]
    }
    assert rows["cause"]["truth"] == pytest.approx(19 / 30)
    assert rows["sharper"]["truth"] == pytest.approx(29 / 30)


def _with_criteria(verdict: Verdict, criteria: dict[str, Any]) -> Verdict:
    return replace(verdict, criteria=criteria)


@pytest.fixture
def scores(tmp_path: Path) -> vj.Adopted:
    rows = [
        {
            "item": f"q{k}",
            "image": f"i{k}",
            "text_a": f"a caption {k}",
            "judge": "gpt",
            "verdict": 1 + k % 5,
            "truth": 1 + (k + k % 2) % 5,
        }
        for k in range(40)
    ]
    return vj.adopt(rows, tmp_path / "out", score_range=(1, 5))


def test_people_score_on_the_scale_of_the_study(
    scores: vj.Adopted, tmp_path: Path
) -> None:
    study = Rating(scores.dataset, Settings(encoding="all"), tmp_path)
    question = study.get("next")
    assert question["scores"] == [1, 2, 3, 4, 5]
    refused = study.answer(question, value=7)
    assert (refused.status_code, "from 1 to 5" in refused.text) == (422, True)
    assert study.answer(question, value=4).is_success
    assert study.lines()[-1]["value"] == 7.5
    assert study.get("back?steps=1")["given"]["value"] == 4


def test_labels_have_the_scale_of_the_study(
    scores: vj.Adopted, tmp_path: Path
) -> None:
    run = scores.runs[0]
    queue = vj.label(run, 40)
    assert str(queue.scale) == "1 to 5"
    table = queue.table().with_columns(score=pl.lit("4"))
    path = tmp_path / "labels.csv"
    table.write_csv(path)
    corrected = vj.correct(run, path)
    assert not corrected.problems
    (row,) = corrected.rows
    assert row.corrected == pytest.approx(7.5)
    table.with_columns(score=pl.lit("7")).write_csv(path)
    with pytest.raises(DataError, match="a number from 1 to 5, got '7'"):
        vj.correct(run, path)
