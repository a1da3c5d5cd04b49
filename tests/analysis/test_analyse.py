"""From verdicts to metrics: what counts as right, what is flagged, what stays null."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from judged_records import (
    features,
    pair,
    ranking,
    said,
    scoring,
    write_dataset,
    write_run,
)
from stored_figures import of_study, stored
from visualjudge.analysis import analyse, analyse_study, study_of
from visualjudge.analysis.accuracy_cells import (
    guessed_among_used,
)
from visualjudge.analysis.figures.leaks import leak_audit
from visualjudge.analysis.figures.psychometric_curve import SENSITIVITY, curves
from visualjudge.analysis.fits import rising_p
from visualjudge.analysis.study_table import question_table
from visualjudge.core.errors import DataError
from visualjudge.core.records import Question, Verdict
from visualjudge.core.seeding import rng_for

FLIP = {"A": "B", "B": "A"}


def pairs(n: int, **changes: Any) -> list[Question]:
    rng = rng_for(7, "pairs")
    return [
        pair(i, (float(a), float(b)), **changes)
        for i, (a, b) in enumerate(rng.uniform(0, 10, (n, 2)).round(3))
    ]


def judged(
    questions: list[Question], verdicts: list[Verdict]
) -> dict[str, Any]:
    (judge,) = stored(analyse_study(study_of(questions, {"judge": verdicts})))
    return judge


def test_failed_is_wrong_counted_and_bounded() -> None:
    questions = pairs(40)
    verdicts = [
        said(q, q.answer, status="refusal" if i < 10 else "ok")
        for i, q in enumerate(questions)
    ]
    p = judged(questions, verdicts)["pairwise"]
    assert (p["n"], p["failed"], p["accuracy"]) == (40, 10, 0.75)
    assert p["accuracy_bounds"] == (0.75, 1.0)
    assert p["accuracy_parsed"] == 1.0


def test_kappa_takes_ties_as_answers_and_failed_replies_as_disagreement() -> (
    None
):
    truth, replies = "AAAABBBBtt", "AAABBBBAtA"
    names = {"A": "A", "B": "B", "t": "tie"}
    scores = {"A": (9.0, 1.0), "B": (1.0, 9.0), "t": (5.0, 5.0)}
    questions = [
        pair(i, scores[letter], answer=names[letter], ties=("tie",))
        for i, letter in enumerate(truth)
    ]
    verdicts = [
        said(q, names[letter])
        for q, letter in zip(questions, replies, strict=True)
    ]
    found = judged(questions, verdicts)["pairwise"]["kappa"]
    chance = (5 * 4 + 4 * 4 + 1 * 2) / 100
    assert found["value"] == pytest.approx((0.7 - chance) / (1 - chance))
    assert found["ci95"][0] < found["value"] < found["ci95"][1]
    assert (found["n"], found["images"]) == (10, 10)
    verdicts[0] = said(questions[0], "?", status="unparseable")
    chance = (4 * 4 + 4 * 4 + 1 * 2) / 100
    found = judged(questions, verdicts)["pairwise"]["kappa"]
    assert found["value"] == pytest.approx((0.6 - chance) / (1 - chance))
    always_a = [said(q, "A") for q in questions]
    assert judged(questions, always_a)["pairwise"]["kappa"][
        "value"
    ] == pytest.approx(0.0)
    nothing = [said(q, "?", status="unparseable") for q in questions]
    found = judged(questions, nothing)["pairwise"]["kappa"]
    assert (found["value"], found["why"]) == (None, "no answer to any")


def test_answered_a_is_the_place_shown_not_the_stored_letter() -> None:
    questions = pairs(30)
    verdicts = [
        v for q in questions for v in (said(q, "A", "AB"), said(q, "B", "BA"))
    ]
    p = judged(questions, verdicts)["pairwise"]
    assert p["answered_a"] == 1.0
    assert p["accuracy"] == 0.5
    assert p["swap_consistency"] == 0.0
    assert p["position_p"] < 1e-10
    assert p["position_preference"]["preference"] == pytest.approx(0.5)
    assert p["position_preference"]["flagged"]


def test_accurate_judge_of_a_lopsided_dataset_is_not_called_biased() -> None:
    questions = [
        pair(i, (9.0, 1.0) if i % 5 else (1.0, 9.0)) for i in range(200)
    ]
    rng = rng_for(0, "lopsided")
    verdicts = [
        said(q, q.answer if rng.random() < 0.9 else FLIP[str(q.answer)])
        for q in questions
    ]
    p = judged(questions, verdicts)["pairwise"]
    assert p["answered_a"] > 0.7
    assert p["position_p"] < 0.001
    assert not p["position_preference"]["flagged"]


def test_preference_for_the_longer_text_is_flagged() -> None:
    questions = [
        pair(
            i,
            (9.0, 1.0),
            features=features(10, 90) if i % 2 else features(90, 10),
        )
        for i in range(120)
    ]
    verdicts = [
        said(q, "B" if i % 2 and i % 3 else "A")
        for i, q in enumerate(questions)
    ]
    flagged = {
        row["feature"]
        for row in judged(questions, verdicts)["bias"]
        if row["flagged"]
    }
    assert flagged == {"text_chars"}


def test_leak_audit_sees_a_dataset_that_length_gives_away() -> None:
    questions = [
        pair(
            i,
            (9.0, 1.0) if i % 2 else (1.0, 9.0),
            features=features(90, 10) if i % 2 else features(10, 90),
        )
        for i in range(60)
    ]
    rows = of_study(analyse_study(study_of(questions, {})), "leak_audit")
    found = {row["rule"]: row for row in rows if row["scope"] == "all"}
    assert found["text_chars"]["accuracy"] == 1.0
    assert found["text_chars"]["flagged"]


def test_a_place_that_is_mostly_right_is_no_leak_of_the_other_features() -> (
    None
):
    """A is right in nine of ten; lengths are drawn at random, and some are the same."""
    rng = np.random.default_rng(3)
    lengths = rng.integers(1, 5, (200, 2)) * 10
    questions = [
        pair(
            i,
            (1.0, 9.0) if i % 10 == 0 else (9.0, 1.0),
            features=features(*map(int, lengths[i])),
            image_id=f"im{i}",
        )
        for i in range(200)
    ]
    found = {row.rule: row for row in leak_audit(question_table(questions))}
    lengths_rule = found["text_chars"]
    assert lengths_rule.share.n == int((lengths[:, 0] != lengths[:, 1]).sum())
    assert not lengths_rule.flagged


@pytest.mark.parametrize(
    ("sizes", "flagged"), [([12, *[2] * 4], False), ([10] * 12, True)]
)
def test_leak_is_flagged_only_where_its_interval_leaves_out_chance(
    sizes: list[int], flagged: bool
) -> None:
    """The rule errs once; few images of unequal size hold 50 % in the interval although
    the test finds a difference.
    """
    images = [image for image, size in enumerate(sizes) for _ in range(size)]
    questions = []
    for i, image in enumerate(images):
        scores, lengths = (
            ((9.0, 1.0), (90, 10)) if i % 2 else ((1.0, 9.0), (10, 90))
        )
        shown = features(*(lengths[::-1] if i == 0 else lengths))
        questions.append(
            pair(i, scores, image_id=f"image{image}", features=shown)
        )
    row = next(
        row
        for row in leak_audit(question_table(questions))
        if row.rule == "text_chars"
    )
    assert row.p_holm is not None and row.p_holm < 0.05
    assert (
        row.share.interval is not None
        and (row.share.interval[0] > 0.5) is flagged
    )  # type: ignore[operator]
    assert row.flagged is flagged


def test_ranking_counts_failed_as_not_exact_and_leaves_them_out_of_tau() -> (
    None
):
    questions = [ranking(i, [3.0, 2.0, 1.0]) for i in range(4)]
    verdicts = [
        said(questions[0], "ABC"),
        said(questions[1], "CBA"),
        said(questions[2], "ACB"),
    ]
    verdicts.append(said(questions[3], "x", status="unparseable"))
    block = judged(questions, verdicts)["ranking"]
    assert block["kendall_tau"] == pytest.approx((1 - 1 + 1 / 3) / 3)
    assert (block["exact"], block["top1"], block["failed"]) == (0.25, 0.5, 1)


def test_scoring_constants_are_null_not_nan() -> None:
    questions = [scoring(i, float(i)) for i in range(8)]
    block = judged(questions, [said(q, 5.0) for q in questions])["scoring"]
    assert block["spearman"] is None
    assert block["pearson"] is None
    assert block["mae"] == pytest.approx(2.25)
    assert block["bias"] == pytest.approx(1.5)


def test_scoring_with_every_reply_failed_is_null() -> None:
    questions = [scoring(i, float(i)) for i in range(4)]
    block = judged(
        questions, [said(q, None, status="truncated") for q in questions]
    )["scoring"]
    assert (block["n"], block["failed"], block["mae"]) == (4, 4, None)


@pytest.mark.parametrize("value", ["C", "AB", 7.0])
def test_value_that_does_not_fit_its_question_is_failed(value: Any) -> None:
    questions = pairs(3)
    p = judged(questions, [said(q, value) for q in questions])["pairwise"]
    assert (p["failed"], p["accuracy"]) == (3, 0.0)


def test_ranking_reply_with_a_letter_too_many_is_failed() -> None:
    question = ranking(0, [3.0, 2.0, 1.0])
    assert (
        judged([question], [said(question, "ABCD")])["ranking"]["failed"] == 1
    )
    assert judged([question], [said(question, "AAB")])["ranking"]["failed"] == 1


def _sensitive(
    alpha: float,
    lapse: float = 0.0,
    *,
    failed: float = 0.0,
    ties: tuple[str, ...] | None = None,
    seed: int = 3,
) -> dict[str, Any]:
    rng, wrong = rng_for(seed, "sensitive", alpha), ("B", *(ties or ()))
    chance = 1 / (1 + len(wrong))
    questions, verdicts = [], []
    for i in range(1500):
        margin = float(rng.uniform(0.05, 9.9))
        q = pair(i, (margin, 0.0), image_id=f"image{i % 60}", ties=ties)
        right = rng.random() < chance + (1 - chance - lapse) * (
            1 - np.exp(-margin / alpha)
        )
        questions.append(q)
        status = "unparseable" if rng.random() < failed else "ok"
        answer = "A" if right else wrong[i % len(wrong)]
        verdicts.append(said(q, answer, status=status))
    table = study_of(questions, {"judge": verdicts})
    pairs, floor = (
        table.kind(0, "pairwise"),
        guessed_among_used(table.kind(0, "pairwise")),
    )
    found = curves(pairs, floor)[0]
    return SENSITIVITY.in_json((found,))[0]


def test_the_band_of_a_curve_has_the_error_of_the_share_that_was_read() -> None:
    """Each reply that was read is right: the curve is that share, a proportion."""
    rng = np.random.default_rng(0)
    read = rng.random(240) < 0.65
    pairs = pl.DataFrame(
        {
            "task": "t",
            "error_type": "e",
            "right": read,
            "usable": read,
            "cluster": np.arange(240) // 2,
            "margin": rng.uniform(3.0, 9.0, 240),
        }
    ).with_columns(severity_gap=pl.lit(None, pl.Float64))
    _, _, low, high = curves(pairs)[0].band[-1]
    share = read.mean()
    width = 2 * 1.96 * math.sqrt(share * (1 - share) / 240)
    assert high - low == pytest.approx(width, rel=0.25)


def test_just_noticeable_difference_is_recovered() -> None:
    row = _sensitive(2.0)
    want = 2 * math.log(2)
    assert row["ci95"][0] < want < row["ci95"][1]
    assert row["jnd"] == pytest.approx(want, rel=0.25)


def test_interval_of_the_75_percent_point_ends_where_the_band_reaches_it() -> (
    None
):
    """A curve that levels off near 75 % may reach it far away, or never."""
    rng = rng_for(5, "level")
    margins = rng.uniform(0.05, 9.9, 600)
    for lapse in (0.0, 0.22):
        share = 0.5 + (0.5 - lapse) * (1 - np.exp(-margins / 2))
        pairs = pl.DataFrame(
            {
                "task": "t",
                "error_type": "e",
                "right": rng.random(600) < share,
                "usable": True,
                "cluster": np.arange(600) // 10,
                "margin": margins,
                "severity_gap": pl.Series([None] * 600, dtype=pl.Float64),
            }
        )
        row = curves(pairs)[0]
        assert row.jnd.value and row.jnd.interval
        reached = [x for x, _, low, _ in row.band if low >= 0.75]
        if lapse:
            assert not reached and row.jnd.interval[1] is None
        else:
            step = row.band[1][0] - row.band[0][0]
            assert row.jnd.interval[1] == pytest.approx(reached[0], abs=step)


def test_many_error_types_do_not_hide_what_all_questions_show() -> None:
    """The test of all questions has half of the level, however many parts are tested
    beside it."""
    rng = rng_for(4, "parts")
    margins = rng.uniform(0.05, 9.9, 400)
    right = rng.random(400) < 0.72 + 0.014 * margins
    questions = [
        pair(
            i,
            (float(margin), 0.0),
            image_id=f"image{i % 39}",
            error_type=f"error{i % 10}",
        )
        for i, margin in enumerate(margins)
    ]
    verdicts = [
        said(q, "A" if hit else "B")
        for q, hit in zip(questions, right, strict=True)
    ]
    rows = judged(questions, verdicts)["sensitivity"]
    assert [row["scope"] for row in rows].count("error_type") == 10
    (whole,) = (
        row
        for row in rows
        if row["scope"] == "all" and row["against"] == "margin"
    )
    raw = rising_p(margins, right.astype(float), np.arange(400) % 39)
    assert raw is not None and 0.05 / 11 < raw < 0.05 / 2
    assert whole["slope_p"] <= 2 * raw + 1e-9
    assert whole["jnd"] is not None


def test_failed_replies_and_more_answers_lower_the_beginning_of_the_curve() -> (
    None
):
    """A guess is right as often as it is read and hits one of the answers that the
    judge gives, whatever else a question allows."""
    failed, four = (
        _sensitive(2.0, failed=0.1),
        _sensitive(2.0, ties=("tie", "both_bad")),
    )
    assert (
        failed["floor"] == pytest.approx(0.45, abs=0.02)
        and four["floor"] == 0.25
    )
    assert failed["jnd"] == pytest.approx(2 * math.log(0.45 / 0.15), rel=0.2)
    assert four["jnd"] == pytest.approx(2 * math.log(3), rel=0.2)


def test_a_judge_that_fails_at_one_reply_in_four_never_reaches_75_percent() -> (
    None
):
    rows = [_sensitive(1.0, failed=0.27, seed=seed) for seed in range(3)]
    assert [row["jnd"] for row in rows] == [None] * 3


def test_no_75_percent_point_is_made_up() -> None:
    assert _sensitive(2.0, lapse=0.35)["jnd"] is None
    flat = _sensitive(0.001)
    assert flat["jnd"] is None
    assert "without a significant rise" in flat["reason"]


def test_encodings_are_compared_on_the_same_pairs_only() -> None:
    rng = rng_for(5, "encodings")
    questions, verdicts = [], []
    for i in range(240):
        for encoding, right in (("text_xyxy", 0.9), ("0305", 0.55)):
            q = pair(i, (9.0, 1.0), id=f"{encoding}{i}", encoding=encoding)
            questions.append(q)
            verdicts.append(
                said(
                    q,
                    "A" if rng.random() < right else "B",
                    usage={"prompt_tokens": 100},
                )
            )
    (task,) = judged(questions, verdicts)["encodings"]
    assert task["recommended"] == "text_xyxy"
    assert {row["encoding"]: row["standing"] for row in task["encodings"]} == {
        "text_xyxy": "best",
        "0305": "worse",
    }
    assert task["comparisons"][0]["pairs"] == 240


def test_comparison_is_on_common_questions() -> None:
    questions = pairs(60)
    good = [said(q, q.answer) for q in questions]
    bad = [
        said(q, FLIP[str(q.answer)] if i % 2 else q.answer)
        for i, q in enumerate(questions[:50])
    ]
    analysis = analyse_study(study_of(questions, {"good": good, "bad": bad}))
    (row,) = of_study(analysis, "comparisons")
    assert (row["n"], row["accuracy_a"], row["accuracy_b"]) == (50, 1.0, 0.5)
    assert row["mcnemar_p"] == row["p"] < 0.01
    assert row["only_a_right"] == 25


def test_leaderboard_counts_contradictory_orders_as_ties() -> None:
    questions = pairs(40)
    verdicts = [
        v
        for q in questions
        for v in (
            said(q, "A", "AB"),
            said(q, "A" if int(q.id[1:]) % 2 else "B", "BA"),
        )
    ]
    board = judged(questions, verdicts)["leaderboard"]
    strengths = {row["source"]: row["strength"] for row in board["rows"]}
    assert strengths["one"] - strengths["two"] == pytest.approx(math.log(3)), (
        "30 points of 40"
    )
    assert [row["source"] for row in board["rows"]] == ["one", "two"]


# ---------------------------------------------------------------- from disk


@pytest.fixture
def run(tmp_path: Path) -> Path:
    questions = [
        *pairs(30),
        *(ranking(i, [3.0, 2.0, 1.0]) for i in range(5)),
        *(scoring(i, i / 2) for i in range(12)),
    ]
    dataset = write_dataset(tmp_path / "ds", questions)
    return write_run(
        tmp_path / "run", dataset, [said(q, q.answer) for q in questions]
    )


def test_metrics_are_strict_json_and_tables_say_the_same(run: Path) -> None:
    analysis = analyse([run])
    json.dumps(analysis.metrics, allow_nan=False)
    (row,) = analysis.tables["headline"].to_dicts()
    p = stored(analysis)[0]["pairwise"]
    assert row["pairwise.accuracy"] == p["accuracy"] == 1.0
    assert row["pairwise.ci95_low"] == p["ci95"][0]
    assert analysis.tables["by_task"]["cell"].to_list() == ["object_detection"]


def test_same_seed_gives_the_same_metrics(run: Path) -> None:
    assert analyse([run], seed=3).metrics == analyse([run], seed=3).metrics


def test_torn_last_line_is_a_warning_and_a_bad_line_a_problem(
    run: Path,
) -> None:
    journal = run / "verdicts.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(["nonsense\n", *lines[1:]]) + lines[0][:20])
    judge = stored(analyse([run]))[0]
    assert judge["pairwise"]["n"] == 29
    assert [text.split(": ")[1] for text in judge["problems"]] == ["line 1"]
    assert "`resume`" in judge["warnings"][0]


def test_verdict_asked_again_replaces_the_first(run: Path) -> None:
    journal = run / "verdicts.jsonl"
    text = journal.read_text()
    failed = json.loads(text.splitlines()[0]) | {
        "value": "Failed",
        "status": "api_error",
    }
    journal.write_text(json.dumps(failed) + "\n" + text)
    judge = stored(analyse([run]))[0]
    assert (judge["pairwise"]["n"], judge["pairwise"]["failed"]) == (30, 0)


def test_missing_run_and_foreign_dataset_are_said_in_one_line(
    run: Path, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=r"run\.json"):
        analyse([tmp_path / "nowhere"])
    other = write_dataset(tmp_path / "other", [pair(999, (1.0, 2.0))])
    with pytest.raises(DataError, match="none of its verdicts"):
        analyse([run], dataset=other)


def test_changed_dataset_is_a_problem(run: Path) -> None:
    info = json.loads((run / "run.json").read_text())
    info["dataset"]["checksum"] = "another"
    (run / "run.json").write_text(json.dumps(info))
    dataset = info["dataset"]["path"]
    assert (
        "changed" in stored(analyse([run], dataset=dataset))[0]["problems"][0]
    )
