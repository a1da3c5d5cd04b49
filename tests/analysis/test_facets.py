"""Judges, prompts, raters and sources as sources of variance: planted components come back."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from judged_records import pair, said, write_dataset, write_run
from visualjudge.analysis import analyse, analyse_study, study_of
from visualjudge.analysis.report.page import html
from visualjudge.analysis.variance import facets, variance_row
from visualjudge.core.records import Question, Verdict
from visualjudge.core.seeding import rng_for
from visualjudge.runs.folder import PEOPLE


def questions(images: int = 60) -> list[Question]:
    """Two pairs an image."""
    return [pair(k, (9.0, 1.0), id=f"q{k}", image_id=f"image{k // 2}") for k in range(2 * images)]


def judged(asked: list[Question], chances: np.ndarray, seed: int, **more: object) -> list[Verdict]:
    """Both orders, right by the chance of each question."""
    rng = rng_for(seed, "facets")
    return [
        said(q, "A" if rng.random() < p else "B", order, **more)
        for q, p in zip(asked, chances, strict=True)
        for order in ("AB", "BA")
    ]


def test_judges_differ_as_planted() -> None:
    """A judge's own difficulty of a question is its interaction; a better judge a main effect."""
    asked, rng = questions(400), rng_for(0, "judges")
    common = rng.normal(0, 0.12, 800)
    runs = {
        f"j{k}": judged(asked, 0.6 + 0.08 * k + common + rng.normal(0, 0.1, 800), k)
        for k in range(4)
    }
    (row,) = facets(study_of(asked, runs))
    found = row.variance
    assert (row.name, row.levels, found.n) == ("judge", 4, 800 * 4 * 2)
    assert found.encoding == pytest.approx(np.var([0, 0.08, 0.16, 0.24], ddof=1), rel=0.4)
    assert found.item == pytest.approx(0.0144, abs=0.006)
    assert found.item_x_encoding == pytest.approx(0.01, abs=0.006)
    told = {gain.name: gain.value for gain in found.gains}
    assert 0 < told["item_x_encoding"] < told["item"]


def test_only_questions_that_all_judges_answered_count() -> None:
    asked = questions()
    runs = {"a": judged(asked, np.full(120, 0.8), 0), "b": judged(asked[:80], np.full(80, 0.8), 1)}
    (row,) = facets(study_of(asked, runs))
    assert row.variance.n == 80 * 2 * 2
    assert facets(study_of(asked, {"a": runs["a"]})) == ()


def test_runs_of_one_judge_in_other_words_tell_of_the_prompt(tmp_path: Path) -> None:
    asked = questions()
    other = [replace(q, id=f"w{q.id}", prompt="Say which one is better.") for q in asked]
    for name, own, right in (("first", asked, 0.9), ("second", other, 0.6)):
        dataset = write_dataset(tmp_path / f"data-{name}", own)
        verdicts = judged(own, np.full(120, right), 3)
        write_run(tmp_path / name, dataset, verdicts, backend="api", model="gpt")
    found = analyse([tmp_path / "first", tmp_path / "second"])
    (row,) = found.results.facets
    assert (row.name, row.levels) == ("prompt", 2)
    assert row.variance.encoding == pytest.approx(0.3**2 / 2, rel=0.5)
    assert found.metrics["facets"][0]["level"] == pytest.approx(row.variance.encoding)
    assert found.tables["facets"]["facet"].to_list() == ["prompt"]


def test_raters_of_a_peoples_run_are_a_facet(tmp_path: Path) -> None:
    asked = questions()
    dataset, rng, verdicts = write_dataset(tmp_path / "data", asked), rng_for(4, "raters"), []
    for k, right in enumerate((0.95, 0.9, 0.55)):
        for q in asked:
            answer = "A" if rng.random() < right else "B"
            verdicts.append(said(q, answer, repeat=k, extra={"rater": f"r{k}"}))
    people = write_run(tmp_path / "people", dataset, [], **PEOPLE)
    lines = [json.dumps({**asdict(v), **v.extra}) for v in verdicts]
    (people / "verdicts.jsonl").write_text("\n".join(lines) + "\n")
    found = analyse([tmp_path / "people"])
    (row,) = found.results.facets
    assert (row.name, row.levels) == ("rater", 3)
    assert row.variance.encoding == pytest.approx(np.var([0.95, 0.9, 0.55], ddof=1), rel=0.5)
    assert "Across judges, prompts and raters" in html(found)


def test_pairs_of_the_same_two_sources_share_what_is_planted() -> None:
    found = []
    for seed in range(15):
        rng = rng_for(seed, "sources")
        image, two, order = np.indices((80, 10, 2)).reshape(3, -1)
        y = (
            rng.normal(0, 0.5, 10)[two]
            + rng.normal(0, 0.4, (80, 10))[image, two]
            + rng.normal(0, 0.3, 80)[image]
            + rng.normal(0, 0.5, image.size)
        )
        columns = {"cluster": image, "pair": image * 10 + two, "order": order, "right": y}
        table = pl.DataFrame(columns).with_columns(encoding=pl.lit("e"))
        row = variance_row(table.with_columns(sources=pl.Series([f"s{k}" for k in two])), "t")
        assert row.source is not None and row.image is not None and row.item is not None
        found.append((row.source, row.image, row.item))
    source, shared, item = np.mean(found, axis=0)
    assert source == pytest.approx(0.25, abs=0.06)
    assert shared == pytest.approx(0.09, abs=0.03)
    assert item == pytest.approx(0.25 + 0.16 + 0.09, abs=0.07)


def test_without_sources_or_with_two_there_is_no_such_part() -> None:
    asked = questions()
    results = analyse_study(study_of(asked, {"a": judged(asked, np.full(120, 0.8), 0)})).results
    assert results.judges[0].variance[0].source is None
