"""Every study that people have gets an answer to its own question: tables of twelve and
more shapes through adopt, card and report.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

import visualjudge as vj
from analysed_once import analyse_once
from folding import each
from judged_records import pair, said, write_dataset, write_run
from stored_figures import of_study, stored
from visualjudge.analysis import analyse, analyse_study, study_of
from visualjudge.analysis.estimate import shares
from visualjudge.analysis.figure_text import number, with_ends
from visualjudge.analysis.figures.answer import SYSTEM
from visualjudge.analysis.figures.comparisons import COMPARISONS
from visualjudge.analysis.plots.plot import Plot
from visualjudge.analysis.report.card import card_of
from visualjudge.analysis.report.examples import examples
from visualjudge.analysis.report.page import html as page_of
from visualjudge.analysis.study_shape import shape_of
from visualjudge.cli.main import app
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import UNKNOWN

Row = dict[str, Any]
Parts = frozenset[str]
JUDGES = {"good": 0.6, "poor": 6.0}


def scores(parts: Parts, items: int = 120) -> list[Row]:
    """Scores from 1 to 5 beside those of people, by a good judge and one that
    guesses."""
    rng, rows = np.random.default_rng(1), []
    for k in range(items):
        task = ("charts", "photographs")[k % 2]
        true = int(np.clip(round(rng.normal(3, 1.2)), 1, 5))
        for judge in JUDGES if "two" in parts else ["good"]:
            for repeat in range(2 if "repeats" in parts else 1):
                guess = rng.integers(1, 6) if judge == "poor" else true
                said = int(np.clip(round(guess + rng.normal(0, 0.5)), 1, 5))
                row: Row = {"item": f"q{k}", "judge": judge, "verdict": said}
                row |= {"truth": true} if "truth" in parts else {}
                row |= {"task": task} if "tasks" in parts else {}
                row |= {"group": f"i{k // 3}"} if "groups" in parts else {}
                row |= {"repeat": repeat} if "repeats" in parts else {}
                row |= {"model": f"m{k % 3}"} if "names" in parts else {}
                sure = 0.9 if said == true else 0.4
                row |= {"sure": sure} if "confidence" in parts else {}
                rows.append(row)
    return rows


def pairs(parts: Parts, items: int = 120) -> list[Row]:
    """Choices of a judge that is right in nine of ten pairs, and of one that
    guesses."""
    rng, rows = np.random.default_rng(2), []
    for k in range(items):
        true = "AB"[rng.integers(2)]
        other = "B" if true == "A" else "A"
        for judge in JUDGES if "two" in parts else ["good"]:
            for order in ("AB", "BA") if "order" in parts else ("",):
                right = rng.random() < (0.92 if judge == "good" else 0.5)
                row: Row = {"item": f"q{k}", "judge": judge}
                row["verdict"] = true if right else other
                row |= {"truth": true} if "truth" in parts else {}
                row |= {"order": order} if order else {}
                row |= (
                    {"task": ("charts", "photographs")[k % 2]}
                    if "tasks" in parts
                    else {}
                )
                names = (
                    ("m1", "m2") if true == "A" or k % 5 == 0 else ("m2", "m1")
                )
                named = dict(zip(("model_a", "model_b"), names, strict=True))
                row |= named if "names" in parts else {}
                row |= (
                    {"sure": 0.9 if right else 0.6}
                    if "confidence" in parts
                    else {}
                )
                rows.append(row)
    return rows


SCORES, PAIRS = "scores", "pairs"
MAY_USE = "May I use the judge’s scores?"
CHOOSES = "Does the judge choose as the truth does?"
MAY_RANK, CONSISTENT = (
    "May I rank my models?",
    "Is the judge consistent, and do judges agree?",
)
YES_SCORES = "Yes: it orders items well enough"
YES_PAIRS = r"Yes: it is right in 9\d"
LABEL = r"without ground truth nobody knows.*adopt` reads a column of truth"
SHAPES: dict[str, tuple[str, Sequence[str], str, str, str]] = {
    "scores": (SCORES, ["truth"], "scores", MAY_USE, YES_SCORES),
    "scores, tasks": (SCORES, ["truth", "tasks"], "scores", MAY_USE, "Yes: in all 2 "
                                                                     "tasks"),
    "scores, groups": (SCORES, ["truth", "groups"], "scores", MAY_USE, YES_SCORES),
    "scores, repeats": (SCORES, ["truth", "repeats"], "scores", MAY_USE, YES_SCORES),
    "scores, confidence": (SCORES, ["truth", "confidence"], "scores", MAY_USE, YES_SCORES),
    "scores, judges": (SCORES, ["truth", "two"], "scores", MAY_USE, YES_SCORES),
    "scores, names, no image twice": (SCORES, ["truth", "names"], "scores", MAY_USE, YES_SCORES),
    "scores, names": (SCORES, ["truth", "names", "groups"], "named_pairs", MAY_RANK, "m"),
    "scores alone": (SCORES, [], "no_truth", CONSISTENT, LABEL),
    "scores, judges, no truth": (SCORES, ["two"], "no_truth", CONSISTENT, "agrees "
                                                                          "with "
                                                                          f"poor.*{LABEL}"),
    "scores, repeats, no truth": (SCORES, ["repeats"], "no_truth", CONSISTENT, "asked "
                                                                               f"again.*{LABEL}"),
    "pairs": (PAIRS, ["truth"], "unnamed_pairs", CHOOSES, YES_PAIRS),
    "pairs, order": (PAIRS, ["truth", "order"], "unnamed_pairs", CHOOSES, YES_PAIRS),
    "pairs, tasks": (PAIRS, ["truth", "tasks"], "unnamed_pairs", CHOOSES, f"{YES_PAIRS}.*yes in charts and"),
    "pairs, confidence": (PAIRS, ["truth", "confidence"], "unnamed_pairs", CHOOSES, YES_PAIRS),
    "pairs, judges": (PAIRS, ["truth", "two"], "unnamed_pairs", CHOOSES, YES_PAIRS),
    "pairs, order, no truth": (PAIRS, ["order"], "no_truth", CONSISTENT, "keeps its "
                                                                         f"choice.*{LABEL}"),
    "pairs, judges, no truth": (PAIRS, ["two"], "no_truth", CONSISTENT, "the same "
                                                                        "choice "
                                                                        f"in.*{LABEL}"),
    "pairs, names": (PAIRS, ["truth", "names"], "named_pairs", MAY_RANK, "1 of 1 pair"),
    "pairs, names, no truth": (PAIRS, ["names"], "named_pairs", MAY_RANK, "without "
                                                                          "ground truth"),
}  # fmt: skip


def adopted(rows: list[Row], out: Path, kind: str) -> Sequence[Path]:
    columns = {"confidence": "sure"} if "sure" in rows[0] else {}
    scale = (1.0, 5.0) if kind == SCORES else None
    return vj.adopt(rows, out, score_range=scale, columns=columns).runs


@pytest.mark.parametrize("name", SHAPES)
def test_a_study_ends_in_a_sentence_that_answers_its_question(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, parts, shape, question, sentence = SHAPES[name]
    analyse_once(monkeypatch)
    rows = (scores if kind == SCORES else pairs)(frozenset(parts))
    runs = adopted(rows, tmp_path / "study", kind)
    card = vj.card(runs)
    answer = next(one for one in card.judges if one.judge == "good").models
    assert (answer.shape, answer.question) == (shape, question)
    assert re.search(sentence, answer.sentence, re.DOTALL), answer.sentence
    analysis = vj.analyse(runs).analysis
    page = html.unescape(re.sub(r"<[^>]+>", " ", page_of(analysis)))
    assert "truth" in parts or "separated rightly" not in page
    assert question in page
    for text in (page, str(card)):
        assert "Import or perturb" not in text
        assert "share no question" not in text
        assert "question in common" not in text
        if shape != "named_pairs":
            assert "Not with these images" not in text
        if kind == SCORES:
            assert "Verdicts on pairs" not in text
    answered = stored(analysis)[0]["answer"]
    assert answered["shape"] == shape
    assert answered["state"] in ("yes", "in_part", "no", "too_few")


def test_two_judges_are_compared_by_the_scores_of_the_same_items(
    tmp_path: Path,
) -> None:
    runs = adopted(
        scores(frozenset(["truth", "two", "tasks"])), tmp_path / "s", SCORES
    )
    analysis = analyse(runs)
    rows = {row["measure"]: row for row in of_study(analysis, "comparisons")}
    assert set(rows) == {"spearman", "mae"}
    assert rows["spearman"]["difference"] > 0.5
    assert rows["mae"]["difference"] < -1
    for row in rows.values():
        assert row["p_holm"] < 0.001
        assert row["n"] == 120
        assert row["difference"] == pytest.approx(
            row["value_a"] - row["value_b"]
        )
        assert set(row["by_task"]) == {"charts", "photographs"}
    assert list(analysis.warnings) == []


def test_metrics_hold_the_scores_by_task(tmp_path: Path) -> None:
    runs = adopted(
        scores(frozenset(["truth", "tasks"])), tmp_path / "s", SCORES
    )
    scoring = stored(analyse(runs))[0]["scoring"]
    tasks = scoring["tasks"]
    assert [task["task"] for task in tasks] == ["charts", "photographs"]
    for found in (scoring, *tasks):
        for name in (
            "exact",
            "within_one",
            "saturation",
            "constant_mae",
            "bias",
            "mae",
        ):
            low, high = found[f"{name}_ci95"]
            assert low <= found[name] <= high
        assert found["exact"] > 0.5
        assert found["within_one"] >= found["exact"]
        assert found["mae"] < found["constant_mae"]
        assert all(row["low"] <= row["high"] for row in found["range"])
        assert found["coverage"] >= 0.85


@pytest.mark.parametrize("kind", [SCORES, PAIRS])
def test_confidence_is_compared_with_what_is_right(
    kind: str, tmp_path: Path
) -> None:
    rows = (scores if kind == SCORES else pairs)(
        frozenset(["truth", "confidence"])
    )
    (judge,) = stored(analyse(adopted(rows, tmp_path / "s", kind)))
    (found,) = judge["confidence"]
    assert found["kind"] == ("scores" if kind == SCORES else "choices")
    assert 0.6 < found["stated"] < 0.9
    assert found["ece_ci95"][0] <= found["ece"] <= found["ece_ci95"][1]
    surest = found["abstaining"][-1]
    assert surest["least"] == 0.9
    assert surest["loss"] == 0  # sure exactly where it is right
    assert surest["gain"] > 0
    if kind == SCORES:
        widths = [
            max(row["high"] - row["low"] for row in found[f"range_{half}"])
            for half in ("surer", "others")
        ]
        assert widths[0] < widths[1]


def test_judges_of_different_items_have_no_question_in_common(
    tmp_path: Path,
) -> None:
    rows = scores(frozenset(["truth", "two"]))
    rows = [
        row
        for k, row in enumerate(rows)
        if (row["judge"] == "good") == (k < 120)
    ]
    analysis = analyse(adopted(rows, tmp_path / "s", SCORES))
    (row,) = of_study(analysis, "comparisons")
    assert row["ci95_why"] == "no question in common"
    assert "share no question" in analysis.warnings[0]


def test_the_bar_is_stated_and_changeable(tmp_path: Path) -> None:
    (run,) = adopted(scores(frozenset(["truth"])), tmp_path / "s", SCORES)
    assert vj.card([run]).judges[0].models.state == "yes"
    (high,) = vj.card([run], bar=("spearman=0.99", "error=0.01")).judges
    assert high.models.state == "no"
    assert "at least 0.99" in high.models.sentence
    text = (
        CliRunner()
        .invoke(app, ["card", str(run), "--bar", "spearman=0.99"])
        .output
    )
    assert "at least 0.99" in text
    with pytest.raises(
        UsageError, match="`bar` must be one of spearman, error, accuracy"
    ):
        vj.card([run], bar="rho=1")
    with pytest.raises(UsageError, match="`bar` spearman must be a number"):
        vj.card([run], bar="spearman=high")
    with pytest.raises(UsageError, match="from 0 to 1, got '80'"):
        vj.card([run], bar="accuracy=80")


def test_the_files_of_the_card_and_of_the_report_say_the_same(
    tmp_path: Path,
) -> None:
    (run,) = adopted(scores(frozenset(["truth"])), tmp_path / "s", SCORES)
    card, metrics = tmp_path / "card.json", tmp_path / "metrics.json"
    invoke = CliRunner().invoke
    assert invoke(app, ["card", str(run), "--json", str(card)]).exit_code == 0
    assert (
        invoke(app, ["report", str(run), "--json", str(metrics)]).exit_code == 0
    )
    said = json.loads(card.read_text("utf-8"))["judges"][0]["answer"]
    assert said == json.loads(metrics.read_text("utf-8"))["judges"][0]["answer"]


def test_a_pilot_of_scores_says_how_many_images_decide(tmp_path: Path) -> None:
    rng, rows = np.random.default_rng(5), []
    for k in range(50):
        true = rng.integers(0, 11)
        said = int(np.clip(true + rng.integers(-4, 5), 0, 10))
        rows.append(
            {"item": f"q{k}", "judge": "pilot", "verdict": said, "truth": true}
        )
    (run,) = adopted(rows, tmp_path / "s", PAIRS)
    plan = vj.plan(run)
    (task,) = plan.as_json()["cases"]
    assert task["state"] == "too_few"
    assert plan.images == task["needs_images"] > 50
    more = f"{plan.images - 50:,} more images"
    assert more in vj.card([run]).judges[0].models.sentence
    (decided,) = adopted(scores(frozenset(["truth"])), tmp_path / "d", SCORES)
    assert "no task is open" in str(vj.plan(decided))


def test_models_that_are_scored_are_planned_by_pair(tmp_path: Path) -> None:
    rows = scores(frozenset(["truth", "names", "groups"]))
    (run,) = adopted(rows, tmp_path / "s", SCORES)
    plan = vj.plan(run)
    pairs = vj.card([run]).judges[0].models.pairs
    assert [case.case for case in plan.cases] == [
        f"{pair.a} and {pair.b}" for pair in pairs
    ]
    assert "May I rank my models?" in str(plan)
    assert "open pair" in str(plan)
    (few,) = adopted(scores(frozenset(["truth"]), 6), tmp_path / "f", SCORES)
    assert "At least 10 images" in vj.card([few]).judges[0].models.sentence


def test_a_pilot_of_pairs_and_one_without_truth_are_planned_too(
    tmp_path: Path,
) -> None:
    rows = []
    for k in range(40):
        true = "AB"[k % 2]
        said = "A" if k in (1, 9, 17, 25, 33) else true
        rows.append({"item": f"q{k}", "verdict": said, "truth": true})
    (run,) = adopted(rows, tmp_path / "s", PAIRS)
    plan = vj.plan(run)
    (case,) = plan.as_json()["cases"]
    assert case["state"] == "too_few"
    assert case["needs_images"] == plan.images > 40
    sentence = vj.card([run]).judges[0].models.sentence
    assert f"{plan.images - 40:,} more images" in sentence
    for row in rows:
        del row["truth"]
    (run,) = adopted(rows, tmp_path / "n", PAIRS)
    cases = {case["case"]: case for case in vj.plan(run).as_json()["cases"]}
    for case, value in (("85 % right", 0.85), ("95 % right", 0.95)):
        images = cases[case]["needs_images"]
        assert (
            _met(images, value)
            >= 0.8
            > min(_met(images - k, value) for k in range(1, 20))
        )


@pytest.mark.parametrize("parts", [["names"], ["names", "order"], []])
@pytest.mark.parametrize("kind", [SCORES, PAIRS])
def test_verdicts_without_truth_are_planned_and_no_gate_holds_them(
    kind: str, parts: list[str], tmp_path: Path
) -> None:
    rows = (scores if kind == SCORES else pairs)(frozenset(parts))
    (run,) = adopted(rows, tmp_path / "s", kind)
    assert "visualjudge label" in str(vj.plan(run))
    lock = tmp_path / "lock.yaml"
    result = CliRunner().invoke(
        app, ["gate", "write", str(run), "--out", str(lock)]
    )
    assert isinstance(result.exception, DataError)
    assert "whose truth is known" in str(result.exception)
    assert not lock.exists()


def test_several_raters_are_the_truth_and_its_ceiling(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    rows, choices = [], []
    for k in range(150):
        quality = rng.normal(3, 1)
        votes = np.clip(np.round(quality + rng.normal(0, 0.7, 3)), 1, 5)
        row: Row = {"item": f"q{k}", "verdict": votes[0]}
        rows.append(
            row
            | {f"rater.{n}": vote for n, vote in zip("abc", votes, strict=True)}
        )
        said = ["A" if rng.random() < 0.8 else "B" for _ in range(3)]
        choice: Row = {"item": f"q{k}", "verdict": "A", "task": f"t{k % 2}"}
        choices.append(
            choice
            | {f"rater.{n}": one for n, one in zip("abc", said, strict=True)}
        )
    (run,) = adopted(rows, tmp_path / "s", SCORES)
    (found,) = stored(analyse([run]))[0]["people"]
    low, high = found["ci95"]
    # Pearson 1 / sqrt(1.573 · 1.287) with rounding; ranks and ends of the scale take
    # some
    assert low < 0.68 < high
    assert found["mae"] > 0.5
    scores = vj.load_dataset(tmp_path / "s" / "dataset").questions
    assert all(len(one.votes or ()) == 3 for one in scores)
    assert scores[0].answer == pytest.approx(np.mean(scores[0].votes or ()))
    (run,) = adopted(choices, tmp_path / "c", PAIRS)
    analysis = analyse([run])
    judge = stored(analysis)[0]
    assert [row["task"] for row in judge["people"]] == ["t0", "t1", "all"]
    low, high = judge["people"][-1]["same_ci95"]
    # two others agree and so does this one, of those that agree: (.8³ + .2³) / (.8² +
    # .2²)
    assert low < 0.765 < high
    assert [row["task"] for row in judge["choices"]] == ["t0", "t1", ""]
    assert "the judge chooses as they do in" in page_of(analysis)


def test_judge_and_people_are_compared_with_the_same_others(
    tmp_path: Path,
) -> None:
    """Two people who are right in 80 % are split where the truth is not known; the judge,
    right in 90 %, agrees with each of them more than they do."""
    rng = np.random.default_rng(9)
    better = np.where(rng.random(400) < 0.5, "A", "B")
    chances = {"rater.a": 0.8, "rater.b": 0.8, "verdict": 0.9}
    says = {
        role: np.where(
            rng.random(400) < chance, better, np.where(better == "A", "B", "A")
        )
        for role, chance in chances.items()
    }
    rows = [
        {"item": f"q{k}", **{role: str(own[k]) for role, own in says.items()}}
        for k in range(400)
    ]
    (run,) = adopted(rows, tmp_path / "study", PAIRS)
    (judge,) = stored(analyse([run]))
    (row,) = judge["people"]
    agreed = says["rater.a"] == says["rater.b"]
    right = says["verdict"] == says["rater.a"]
    assert judge["pairwise"]["n"] == agreed.sum() < 400
    assert judge["pairwise"]["accuracy"] == right[agreed].mean()
    assert row["same"] < row["judge_same"] < judge["pairwise"]["accuracy"]
    # .8² + .2², and .9 · .8 + .1 · .2
    assert row["same_ci95"][0] < 0.68 < row["same_ci95"][1]
    assert row["judge_same_ci95"][0] < 0.74 < row["judge_same_ci95"][1]


def test_half_points_are_not_exact_beside_half_points(tmp_path: Path) -> None:
    rows = [
        {
            "item": f"i{k}",
            "model": "m",
            "score": 3 + (k % 3) / 2,
            "truth": 3 + (k % 2) / 2,
            "judge": "j",
        }
        for k in range(60)
    ]
    study = vj.adopt(rows, tmp_path / "study", score_range=(1, 5))
    row = stored(vj.analyse(study.runs))[0]["scoring"]
    same = sum(own["score"] == own["truth"] for own in rows)
    assert row["exact"] == pytest.approx(same / 60)


def test_a_page_of_scores_has_the_scale_on_which_they_were_given(
    tmp_path: Path,
) -> None:
    runs = adopted(scores(frozenset({"truth", "two"})), tmp_path, SCORES)
    analysis = analyse(list(runs))
    means = analysis.plots["scores"].draw(analysis.shown)
    assert isinstance(means, Plot)
    assert {row[1] for row in means.rows} == {1.0, 2.0, 3.0, 4.0, 5.0}
    known = [row.answer for row in examples(analysis.study, 1)]
    assert {"1.0", "5.0"} <= set(known) <= {f"{k}.0" for k in range(1, 6)}
    (gap, _) = analysis[COMPARISONS]
    between = analysis.plots["judges"].draw(analysis.shown)
    assert isinstance(between, Plot)
    assert with_ends(gap.gap, number) in between.svg()
    errors = of_study(analysis, "comparisons")[1]
    (table,) = COMPARISONS.printed(analysis)
    measured = table.columns.index("Measure")
    assert [row[measured] for row in table.rows] == [
        "ρ with the truth",
        "mean error, on the scale 1 to 5",
    ]
    error = number(0.4 * errors["difference"])
    assert table.rows[1][measured + 1].startswith(f"{error} (")
    first = page_of(analysis, (0, 1))
    assert "Compared on 120 scoring questions, of 120 and 120." in first
    assert "Rank correlation with the truth of poor minus that of good" in first


@pytest.mark.parametrize("controlled", [True, False])
def test_severities_of_errors_are_not_ranked_as_models_are(
    tmp_path: Path, controlled: bool
) -> None:
    better = "truth" if controlled else "birch"
    worse = "missed 0.38" if controlled else "missed_cars"
    questions = [
        pair(
            k,
            (9.0, 4.0) if k % 2 else (4.0, 9.0),
            image_id=f"i{k}",
            sources=(better, worse) if k % 2 else (worse, better),
        )
        for k in range(60)
    ]
    dataset = write_dataset(tmp_path / "ds", questions)
    verdicts = [
        said(question, question.answer, order)
        for question in questions
        for order in ("AB", "BA")
    ]
    run = write_run(tmp_path / "run", dataset, verdicts, swap=True)
    answer = vj.card(run).judges[0].answer
    assert answer.shape == (
        "controlled_errors" if controlled else "named_pairs"
    )
    assert bool(answer.pairs) is not controlled
    assert answer.state == "yes"
    assert ("of 120 verdicts," in answer.sentence) is controlled
    # one task has the answer of all, which stands at the top
    analysis = analyse([run])
    assert "As the truth?" not in page_of(analysis)
    [kind] = analysis.judges[0][SYSTEM].kinds
    assert ("of 2 errors by" in kind.order) is controlled


@each(
    ("judged", "true", "state", "signs", "named"),
    [
        # 4 of 1 … 5 is in the words of the table, not of the scale to ten
        ([4] * 40, [1, 2, 3, 4, 5] * 8, "no", "✗✗", "every item the score 4$"),
        ([4] * 39 + [5], [1, 2, 3, 4, 5] * 8, "too_few", "??", "ρ 0.23 "),
        ([1, 2, 3, 4, 5] * 8, [3] * 40, "too_few", "?", "alike"),
    ],
)
def test_scores_that_are_all_alike_order_nothing(
    judged: list[int], true: list[int], state: str, signs: str, named: str
) -> None:
    rows = [
        {"item": f"q{k}", "group": f"i{k}", "verdict": score, "truth": truth}
        for k, (score, truth) in enumerate(zip(judged, true, strict=True))
    ]
    with TemporaryDirectory() as out:
        card = vj.card(adopted(rows, Path(out) / "study", SCORES))
    answer = card.judges[0].models
    assert answer.state == state
    assert "".join(reason.sign for reason in answer.reasons) == signs
    assert re.search(named, answer.reasons[0].text)


@pytest.mark.parametrize(
    ("true", "state"),
    [([1, 2, 3, 4, 5] * 8, "yes"), ([1] * 38 + [5] * 2, "too_few")],
)
def test_a_judge_that_never_errs_may_still_err_on_unseen_images(
    true: list[int], state: str, tmp_path: Path
) -> None:
    """Where two images alone tell the order, little is known of it."""
    rows = [
        {"item": f"q{k}", "group": f"i{k}", "verdict": score, "truth": score}
        for k, score in enumerate(true)
    ]
    (run,) = adopted(rows, tmp_path / "study", SCORES)
    (judge,) = stored(vj.analyse([run]))
    assert judge["answer"]["state"] == state
    low, high = judge["scoring"]["ci95"]
    assert (low > 0.45) == (state == "yes") and low < high == 1


def test_images_that_several_tasks_share_are_counted_once(
    tmp_path: Path,
) -> None:
    rows = scores(frozenset({"truth", "two", "tasks", "groups"}))
    runs = adopted(rows, tmp_path / "study", SCORES)
    compared = of_study(vj.analyse(runs), "comparisons")
    assert [row["images"] for row in compared] == [40, 40]


def _met(images: int, value: float) -> float:
    """Return how probably the interval of a share of ``value`` is above 75 %."""
    asked = np.ones(images)
    return sum(
        float(stats.binom.pmf(right, images, value))
        for right in range(images + 1)
        if (shares(1.0 * (np.arange(images) < right), asked).low >= 0.75).all()
    )


@each(
    ("sources", "shape"),
    [
        (("m", "n"), "named_pairs"),
        (("m", "m"), "unnamed_pairs"),
        (("m", None), "unnamed_pairs"),
        ((None, None), "unnamed_pairs"),
    ],
)
def test_models_are_named_where_a_question_compares_two(
    sources: tuple[str | None, str | None], shape: str
) -> None:
    asked = [pair(k, (3.0, 1.0), sources=sources) for k in range(4)]
    study = study_of(asked, {"judge": [said(item, "A") for item in asked]})
    assert shape_of(study, 0) == shape


@each(
    ("common", "words"), [(1, ""), (2, "agrees with b"), (3, "agrees with b")]
)
def test_judges_agree_on_two_questions_at_least(
    common: int, words: str
) -> None:
    asked = [
        pair(k, (3.0, 1.0), answer=UNKNOWN, sources=(None, None))
        for k in range(8)
    ]
    answers = {
        "a": [said(item, "A") for item in asked[: 4 + common]],
        "b": [said(item, "AB"[k % 2]) for k, item in enumerate(asked[4:])],
    }
    sentence = (
        card_of(analyse_study(study_of(asked, answers))).judges[0].sentence
    )
    assert ("agrees with" in sentence) is bool(words)
    assert words in sentence
