"""Truth from people who disagree: Dawid and Skene's model, and what judges are held against."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from visualjudge.analysis.people_agreement import Panel
from visualjudge.analysis.statistics.disagreeing_raters import dawid_skene, majority
from visualjudge.analysis.uncertain_truth import truth_rows
from visualjudge.cli.agreement import app
from visualjudge.core.errors import UsageError
from visualjudge.core.records import FloatArray, IntArray
from visualjudge.core.seeding import rng_for


def confusion(rights: list[float], classes: int) -> FloatArray:
    """Raters who name the truth so often, and each other answer alike."""
    eye = np.eye(classes)
    return np.array([a * eye + (1 - a) / (classes - 1) * (1 - eye) for a in rights])


def drawn(
    matrices: FloatArray, items: int, rng: np.random.Generator, missing: float = 0.0
) -> tuple[IntArray, IntArray]:
    """The truth, and raters × items."""
    classes = matrices.shape[1]
    truth = rng.integers(0, classes, items)
    labels = np.array([[rng.choice(classes, p=row[k]) for k in truth] for row in matrices])
    return truth, np.where(rng.random(labels.shape) < missing, -1, labels)


def plainly(
    labels: IntArray, classes: int, steps: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Dawid and Skene's equations (2.3) to (2.5), item by item and rater by rater."""
    raters, items = labels.shape
    truth = [[0.0] * classes for _ in range(items)]
    for n in range(items):
        given = [labels[r, n] for r in range(raters) if labels[r, n] >= 0]
        for k in range(classes):
            truth[n][k] = given.count(k) / len(given) if given else 1 / classes
    for step in range(steps + 1):
        prior = [sum(row[k] for row in truth) / items for k in range(classes)]
        errors = np.zeros((raters, classes, classes))
        for r in range(raters):
            for k in range(classes):
                for n in range(items):
                    if labels[r, n] >= 0:
                        errors[r, k, labels[r, n]] += truth[n][k]
                total = errors[r, k].sum()
                errors[r, k] = errors[r, k] / total if total else 1 / classes
        if step == steps:
            break
        for n in range(items):
            likely = []
            for k in range(classes):
                p = prior[k]
                for r in range(raters):
                    if labels[r, n] >= 0:
                        p *= errors[r, k, labels[r, n]]
                likely.append(p)
            truth[n] = [p / sum(likely) for p in likely]
    return np.array(truth), np.array(prior), errors


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_fit_equals_the_published_equations(missing: float) -> None:
    _, labels = drawn(confusion([0.9, 0.7, 0.6, 0.8], 3), 40, rng_for(0, "equal"), missing)
    truth, prior, errors = plainly(labels, 3, 12)
    found = dawid_skene(labels, 3, steps=12)
    assert found.steps == 12
    np.testing.assert_allclose(found.posterior, truth, atol=1e-6)
    np.testing.assert_allclose(found.prior, prior, atol=1e-6)
    np.testing.assert_allclose(found.confusion, errors, atol=1e-6)


def test_planted_confusion_matrices_are_recovered() -> None:
    rights, off = [0.9, 0.85, 0.8, 0.75, 0.85], []
    for k in range(20):
        planted = confusion(rights, 3)
        truth, labels = drawn(planted, 300, rng_for(k, "planted"))
        found = dawid_skene(labels, 3)
        off.append(np.abs(found.confusion - planted).mean())
        assert (found.posterior.argmax(1) == truth).mean() > (
            majority(labels, 3).argmax(1) == truth
        ).mean() - 0.02
    assert np.mean(off) <= 0.03


def test_the_likelihood_rises_with_each_step() -> None:
    _, labels = drawn(confusion([0.8, 0.7, 0.6], 4), 120, rng_for(2, "rise"))
    found = [dawid_skene(labels, 4, steps=k).log_likelihood for k in range(1, 12)]
    assert (np.diff(found) > -1e-9).all()


def test_an_item_of_weight_two_counts_as_two_items() -> None:
    _, labels = drawn(confusion([0.8, 0.7, 0.6], 2), 30, rng_for(3, "weight"))
    twice = dawid_skene(np.hstack([labels, labels[:, :1]]), 2)
    weighted = dawid_skene(labels, 2, weights=np.array([2.0, *np.ones(29)]))
    np.testing.assert_allclose(weighted.confusion, twice.confusion, atol=1e-9)


@pytest.mark.parametrize("labels", [[[3]], [[-2]], [[-1]], []])
def test_what_is_no_label_is_refused(labels: list[list[int]]) -> None:
    with pytest.raises(UsageError, match="labels must be 0 to 2"):
        dawid_skene(np.array(labels, dtype=np.int64).reshape(len(labels), 1), 3)


def panel(people: IntArray, judges: IntArray) -> Panel:
    scores = np.vstack([people, judges]).astype(float)[:, :, None]
    names = [f"person{k}" for k in range(len(people))] + [f"judge{k}" for k in range(len(judges))]
    is_judge = np.arange(len(names)) >= len(people)
    return Panel("task", names, ["s"], scores, is_judge, np.arange(scores.shape[1]) // 2)


def test_a_judge_is_held_against_the_label_the_truth_and_a_fresh_person() -> None:
    truth, people = drawn(confusion([0.8] * 5, 3), 400, rng_for(4, "held"))
    rows = {row.rater: row for row in truth_rows(panel(people, truth[None]))}
    perfect, ceiling = rows["judge0"], rows["people, mean"]
    assert perfect.label == pytest.approx(0.98, abs=0.03)
    assert perfect.person == pytest.approx(0.8, abs=0.03), (
        "nobody agrees more often with people who err"
    )
    assert ceiling.person == pytest.approx(0.8**2 + 2 * 0.1**2, abs=0.03)
    assert ceiling.truth < perfect.truth
    assert perfect.ends is not None and perfect.ends[0] <= perfect.truth <= perfect.ends[1]
    assert ceiling.kind == "ceiling" and ceiling.against == "people"


def test_judges_without_people_are_held_against_their_panel_and_marked() -> None:
    _, judges = drawn(confusion([0.9, 0.7, 0.7, 0.7], 2), 300, rng_for(5, "panel"))
    rows = truth_rows(panel(np.zeros((0, 300), dtype=np.int64), judges))
    assert {row.against for row in rows} == {"panel"}
    assert max(rows, key=lambda row: row.truth).rater == "judge0"
    with pytest.raises(UsageError, match="at least 2 people, or 3 judges"):
        truth_rows(panel(judges[:1], judges[:1]))


def test_the_command_prints_the_truth_beside_the_agreement(tmp_path: Path) -> None:
    truth, people = drawn(confusion([0.8] * 4, 3), 60, rng_for(6, "command"))
    lines = ["item,source,rater,dimension,score"]
    for name, labels in [*((f"p{k}", row) for k, row in enumerate(people)), ("gpt", truth)]:
        lines += [f"i{n},s,{name},d,{value}" for n, value in enumerate(labels)]
    (tmp_path / "ratings.csv").write_text("\n".join(lines) + "\n")
    words = [str(tmp_path / "ratings.csv"), "--judge", "gpt", "--level", "nominal", "--truth"]
    found = CliRunner().invoke(app, words, env={"COLUMNS": "140"})
    assert found.exit_code == 0, found.output
    assert "Right by label" in found.output and "people, mean" in found.output


def preferences(people: IntArray, judges: FloatArray) -> Panel:
    scores = np.where(np.vstack([people, judges]) < 0, np.nan, np.vstack([people, judges]))
    names = [f"person{k}" for k in range(len(people))] + [f"judge{k}" for k in range(len(judges))]
    is_judge = np.arange(len(names)) >= len(people)
    images = np.arange(scores.shape[1]) // 2
    return Panel(
        "task", names, ["first option"], scores[:, :, None].astype(float), is_judge, images
    )


def test_preferences_are_held_against_strengths_with_effects_of_raters() -> None:
    rng = rng_for(7, "preferences")
    gap = rng.normal(size=500)
    slopes = np.array([4.0, 2.0, 2.0, 1.0, 0.0])
    people = (rng.random((5, 500)) < 1 / (1 + np.exp(-slopes[:, None] * gap))).astype(np.int64)
    perfect = (gap > 0).astype(float)
    tied = np.full(500, 0.5)
    rows = {row.rater: row for row in truth_rows(preferences(people, np.vstack([perfect, tied])))}
    assert {row.model for row in rows.values()} == {"Bradley-Terry"}
    judge, ceiling = rows["judge0"], rows["people, mean"]
    votes = (people.sum(0) >= 3) == perfect
    assert judge.label > votes.mean() - 0.01, "a guesser's vote counts less than the others'"
    assert ceiling.truth < judge.truth < judge.label
    agree = np.mean([(people[r] == perfect).mean() for r in range(5)])
    assert judge.person == pytest.approx(agree)
    assert rows["judge1"].label == rows["judge1"].truth == rows["judge1"].person == 0.5
    told = [rows[f"person{r}"].discrimination or 0.0 for r in range(5)]
    assert told[0] > told[1] > told[3] > told[4]
    assert abs(told[4]) < 0.4 and (judge.discrimination or 0) > told[0]
    assert judge.ends is not None and judge.ends[0] <= judge.truth <= judge.ends[1]
