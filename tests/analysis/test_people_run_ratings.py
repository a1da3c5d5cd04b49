"""Agreement between raters of a people's run and with judges, against independent
computations."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import polars as pl
import pytest

from commanding import command
from judged_records import (
    pair,
    ranking,
    said,
    scoring,
    write_dataset,
    write_run,
)
from visualjudge.analysis.people_agreement import agreement, panels
from visualjudge.analysis.rating_table import ratings_of_runs
from visualjudge.core.records import Verdict

RATERS = ("anna", "ben", "carl")


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path, dict[str, dict[str, Any]]]:
    """A people's run, a judge's run in both orders, and what each rater said of each
    question."""
    rng = np.random.default_rng(5)
    questions: list[Any] = [
        pair(i, (8.0, 1.0), image_id=f"i{i}") for i in range(60)
    ]
    questions += [
        scoring(i, float(i % 10), image_id=f"s{i}") for i in range(30)
    ]
    root = write_dataset(tmp_path / "ds", questions)
    told: dict[str, dict[str, Any]] = {name: {} for name in RATERS}
    verdicts, used = [], {}
    for name in RATERS:
        for q in questions:
            if rng.random() < 0.2:
                continue
            order = "AB" if rng.random() < 0.5 else "BA"
            repeat = used[q.id, order] = used.get((q.id, order), -1) + 1
            extra = {"rater": name, "purpose": "question"}
            if rng.random() < 0.1:
                verdicts.append(
                    Verdict(
                        q.id,
                        order,
                        "Failed",
                        "cannot_tell",
                        None,
                        repeat=repeat,
                        extra=extra,
                    )
                )  # type: ignore[arg-type]
                continue
            value: Any = (
                "AB"[int(rng.random() < 0.3)]
                if q.id.startswith("q")
                else float(np.clip(q.answer + rng.normal(), 0, 10))
            )
            told[name][q.id] = value
            verdicts.append(said(q, value, order, repeat=repeat, extra=extra))
    again = said(
        questions[0],
        "B",
        "AB",
        repeat=99,
        extra={"rater": "anna", "purpose": "repeat"},
    )
    people = write_run(
        tmp_path / "people", root, [], backend="people", judge="people"
    )
    lines = [{**vars_of(v), **v.extra} for v in [*verdicts, again]]
    (people / "verdicts.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines)
    )
    judged = [
        said(q, "A" if i % 4 else "B", order)
        for i, q in enumerate(questions[:60])
        for order in ("AB", "BA")
    ]
    return (
        people,
        write_run(tmp_path / "judge", root, judged, judge="vlm"),
        told,
    )


def vars_of(verdict: Verdict) -> dict[str, Any]:
    names = (
        "id",
        "order",
        "value",
        "status",
        "raw_response",
        "usage",
        "latency_s",
        "repeat",
    )
    return {name: getattr(verdict, name) for name in names}


def _table(told: dict[str, dict[str, Any]], letter: str) -> Any:
    names = sorted(
        {
            name
            for said_ in told.values()
            for name in said_
            if name.startswith(letter)
        }
    )
    number = {"A": 1.0, "B": 0.0}
    return np.array(
        [
            [
                number.get(told[r][n], told[r][n]) if n in told[r] else np.nan
                for n in names
            ]
            for r in RATERS
        ]
    )


@pytest.mark.parametrize(
    ("letter", "dimension", "level"),
    [("q", "/pairwise", "nominal"), ("s", "", "interval")],
)
def test_alpha_between_raters(
    runs: Any, letter: str, dimension: str, level: Any
) -> None:
    people, judge, told = runs
    found = agreement(ratings_of_runs([people, judge]).table, level=level)
    alpha = next(
        row
        for row in found.alpha
        if row.dimension == f"object_detection{dimension}"
    )
    expected = krippendorff.alpha(
        reliability_data=_table(told, letter), level_of_measurement=level
    )
    assert alpha.alpha == pytest.approx(expected, abs=1e-9)
    assert alpha.people == 3


def test_rankings_by_people_are_counted_and_left_out(tmp_path: Path) -> None:
    questions: list[Any] = [
        pair(i, (8.0, 1.0), image_id=f"i{i}") for i in range(10)
    ]
    questions += [
        ranking(i, (1.0, 5.0, 9.0), image_id=f"r{i}") for i in range(3)
    ]
    root = write_dataset(tmp_path / "ds", questions)
    verdicts = [
        said(
            q, q.answer, repeat=k, extra={"rater": name, "purpose": "question"}
        )
        for k, name in enumerate(RATERS)
        for q in questions
    ]
    people = write_run(
        tmp_path / "people", root, [], backend="people", judge="people"
    )
    lines = [{**vars_of(v), **v.extra} for v in verdicts]
    (people / "verdicts.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines)
    )
    assert ratings_of_runs([people]).rankings == 9
    assert (
        "9 rankings by people are left out"
        in command("agreement", "--run", people).stderr
    )


def test_the_judge_is_held_against_the_peoples_mean(runs: Any) -> None:
    people, judge, told = runs
    found = agreement(ratings_of_runs([people, judge]).table)
    row = next(r for r in found.rows if r.kind == "judge")
    table, names = (
        _table(told, "q"),
        sorted({n for t in told.values() for n in t if n.startswith("q")}),
    )
    mean = np.nanmean(table, axis=0)
    own = np.array([1.0 if int(n[1:]) % 4 else 0.0 for n in names])
    from scipy.stats import spearmanr

    assert row.rater == "vlm"
    assert row.items == len(names)
    assert row.spearman == pytest.approx(
        spearmanr(own, mean).statistic, abs=1e-9
    )


def test_cannot_tell_and_second_answers_are_no_ratings(runs: Any) -> None:
    people, _, told = runs
    table = ratings_of_runs([people]).table
    assert table.height == sum(len(said_) for said_ in told.values())
    assert set(table["kind"]) == {"person"}


def test_a_tie_lies_between_the_two_options(tmp_path: Path) -> None:
    asked = [pair(k, (8.0, 1.0), image_id=f"i{k}") for k in range(3)]
    root = write_dataset(tmp_path / "ds", asked)
    people = write_run(tmp_path / "people", root, [], backend="people")
    lines = [
        {**vars_of(said(question, value)), "rater": "anna"}
        for question, value in zip(asked, ["A", "tie", "B"], strict=True)
    ]
    (people / "verdicts.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines)
    )
    table = ratings_of_runs([people]).table
    assert table.sort("item")["score"].to_list() == [1.0, 0.5, 0.0]


@pytest.mark.parametrize("items", [3, 6, 20])
def test_raters_that_agree_in_all_have_a_correlation_of_one(items: int) -> None:
    rows = [
        (f"i{i}", source, rater, "q", float(i))
        for i in range(items)
        for rater in "ab"
        for source in ("m", "n")
    ]
    table = pl.DataFrame(
        rows,
        schema=["item", "source", "rater", "dimension", "score"],
        orient="row",
    )
    assert [row.spearman for row in agreement(table).rows] == pytest.approx(
        [1, 1, 1]
    )


def test_scores_of_two_classes_of_one_image_are_two_items_of_one_image(
    tmp_path: Path,
) -> None:
    level = {"cat": 3.0, "dog": 7.0}
    questions = [
        scoring(
            10 * i + k,
            level[name] + i % 3,
            image_id=f"i{i}",
            class_of_interest=(name,),
        )
        for i in range(8)
        for k, name in enumerate(level)
    ]
    root = write_dataset(tmp_path / "ds", questions)
    people = write_run(
        tmp_path / "people", root, [], backend="people", judge="people"
    )
    lines = [
        {
            **vars_of(said(q, float(str(q.answer)), repeat=n)),
            "rater": rater,
            "purpose": "question",
        }
        for n, rater in enumerate(RATERS)
        for i, q in enumerate(questions)
        if (i + n) % 4
    ]
    (people / "verdicts.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines)
    )
    table = ratings_of_runs([people]).table
    found = agreement(table)
    assert set(table["item"]) == {
        f"i{i}/{name}" for i in range(8) for name in level
    }
    assert found.alpha[0].alpha == pytest.approx(1)
    assert [row.spearman for row in found.rows] == pytest.approx([1] * 4)
    assert panels(table)[0].images.tolist() == [
        i for i in range(8) for _ in level
    ]


def test_command_takes_runs_alone(runs: Any, tmp_path: Path) -> None:
    people, judge, _ = runs
    done = command(
        "agreement",
        "--run",
        people,
        "--run",
        judge,
        "--json",
        tmp_path / "a.json",
    )
    assert done.returncode == 0, done.stderr
    assert {
        row["kind"]
        for row in json.loads((tmp_path / "a.json").read_text())["rows"]
    } >= {
        "judge",
        "person",
    }
    assert command("agreement").returncode == 2


def test_agreement_of_people_does_not_depend_on_the_columns_of_models(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(3)
    questions, verdicts = [], []
    for k in range(80):
        new = "A" if rng.random() < 0.85 else "B"
        scores = (9.0, 1.0) if new == "A" else (1.0, 9.0)
        sources = ("new", "old")
        questions.append(pair(k, scores, image_id=f"i{k}", sources=sources))
        for repeat, name in enumerate(RATERS):
            value = new if rng.random() < 0.8 else "BA"["AB".index(new)]
            extra = {"rater": name}
            verdicts.append(
                said(questions[-1], value, repeat=repeat, extra=extra)
            )
    other = {"A": "B", "B": "A"}
    half = {question.id for question in questions[::2]}
    turned = [
        replace(
            question,
            sources=question.sources[::-1],
            final_scores=question.final_scores[::-1],
            answer=other[str(question.answer)],
        )
        if question.id in half
        else question
        for question in questions
    ]
    exchanged = [
        replace(verdict, value=other[str(verdict.value)])
        if verdict.id in half
        else verdict
        for verdict in verdicts
    ]

    def alpha(name: str, asked: Any, answers: list[Verdict]) -> float | None:
        dataset = write_dataset(tmp_path / name / "ds", asked)
        stated = json.loads((dataset / "dataset.json").read_text())
        adopted = {**stated, "benchmark": {"name": "table"}}
        (dataset / "dataset.json").write_text(json.dumps(adopted))
        people = tmp_path / name / "people"
        run = write_run(people, dataset, [], backend="people")
        lines = [{**vars_of(v), **v.extra} for v in answers]
        (run / "verdicts.jsonl").write_text(
            "".join(json.dumps(line) + "\n" for line in lines)
        )
        (row,) = agreement(ratings_of_runs([run]).table).alpha
        return row.alpha

    before = alpha("before", questions, verdicts)
    after = alpha("after", turned, exchanged)
    assert before is not None and after == pytest.approx(before, abs=1e-12)
