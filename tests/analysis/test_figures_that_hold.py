"""Figures promise no more than they hold: intervals with few images, flags,
recommendations, strengths, agreement.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from judged_records import pair, ranking, said, scoring
from stored_figures import stored
from visualjudge.analysis import analyse_study, study_of
from visualjudge.analysis.answers import join
from visualjudge.analysis.estimate import shares
from visualjudge.analysis.figures.accuracy import PAIRWISE
from visualjudge.analysis.figures.bias import preferences
from visualjudge.analysis.figures.comparisons import (
    COMPARED,
    COMPARISONS,
    comparisons,
    not_compared,
)
from visualjudge.analysis.figures.encodings import ENCODINGS
from visualjudge.analysis.figures.fault_size import FAULT_SIZE
from visualjudge.analysis.figures.psychometric_curve import SENSITIVITY
from visualjudge.analysis.figures.scoring import SCORES
from visualjudge.analysis.figures.strengths import SOURCES
from visualjudge.analysis.figures.unread import UNREAD
from visualjudge.analysis.pairwise_verdicts import Preference, macro
from visualjudge.analysis.report.headline import headline
from visualjudge.analysis.results import JudgeResult
from visualjudge.analysis.study_table import (
    Run,
    Study,
    question_table,
    verdict_table,
)
from visualjudge.core.records import Fault, OptionFeatures, Question, Verdict
from visualjudge.core.seeding import rng_for

FLIP = {"A": "B", "B": "A"}


def result(questions: list[Question], verdicts: list[Verdict]) -> JudgeResult:
    return analyse_study(study_of(questions, {"judge": verdicts})).judges[0]


def drawn(
    question: Question, chance: float, rng: np.random.Generator, **more: Any
) -> Verdict:
    right = str(question.answer)
    return said(
        question, right if rng.random() < chance else FLIP[right], **more
    )


def test_two_images_that_agree_have_no_interval_and_say_why() -> None:
    found = shares(np.array([3.0, 3.0]), np.array([4.0, 4.0]))
    assert found[0].interval is None
    assert found[0].why == "fewer than 5 images"


def test_a_mean_over_tasks_counts_every_verdict() -> None:
    for few in range(20, 60, 3):
        tasks = (
            ["object_detection"] * 37
            + ["keypoint"] * few
            + ["depth_estimation"] * 25
        )
        rows = {"task": tasks, "cluster": range(len(tasks)), "right": True}
        assert macro(pl.DataFrame(rows)).n == len(tasks)


def test_an_image_with_many_scores_is_compared_too() -> None:
    asked = [
        scoring(i, i % 70 / 7, image_id=f"image{i // 70}")
        for i in range(6 * 70)
    ]
    found = result(
        asked,
        [said(question, 10 - question.final_scores[0]) for question in asked],
    )
    within = found[SCORES].within
    assert (within.value, within.n) == (-1.0, 6)


@pytest.mark.parametrize("right", [3.0, 4.0, 0.0])
def test_images_that_agree_by_luck_do_not_make_an_interval_without_width(
    right: float,
) -> None:
    low, high = shares(np.full(8, right), np.full(8, 4.0))[0].interval or (
        0.0,
        0.0,
    )
    assert high - low > 0.1
    assert low <= right / 4 <= high


def test_one_large_image_counts_as_little_more_than_one() -> None:
    even = shares(np.full(10, 8.0) + np.arange(10) % 2, np.full(10, 10.0))[
        0
    ].interval
    heavy = shares(
        np.array([90.0, *[8.0, 9.0] * 4, 8.0]), np.array([110.0, *[10.0] * 9])
    )[0].interval
    assert even is not None
    assert heavy is not None
    assert heavy[1] - heavy[0] > 1.2 * (even[1] - even[0])


def test_comparison_counts_images_and_not_verdicts() -> None:
    """All of the difference is in one image of eight: McNemar's exact test of verdicts
    would be sure of it.
    """
    questions = [
        pair(i, (8.0, 1.0), image_id=f"image{i % 8}") for i in range(160)
    ]
    first = [said(q, "A") for q in questions]
    second = [
        said(q, "B" if q.image_id == "image3" else "A") for q in questions
    ]
    (row,) = analyse_study(
        study_of(questions, {"first": first, "second": second})
    )[COMPARISONS]
    assert (row.only_a_right, row.only_b_right) == (20, 0)
    assert row.p is not None
    assert row.p > 0.2


def _numbers(value: Any, place: str = "") -> dict[str, Any]:
    if isinstance(value, dict | list | tuple):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return {
            k: v
            for key, one in items
            for k, v in _numbers(one, f"{place}/{key}").items()
        }
    return {place: round(value, 9) if isinstance(value, float) else value}


def test_figures_of_a_judge_are_the_same_beside_other_judges() -> None:
    """Judges are analysed by the same steps; one has no usable number, one only
    pairs."""
    rng = rng_for(0, "beside others")
    spots = [
        {"task": ("keypoint", "object_detection")[i % 2]} for i in range(80)
    ]
    pairs = [
        pair(
            i,
            (9.0, 9.0 - float(rng.uniform(0.1, 8))),
            sources=tuple(rng.permuted(["x", "y"])),
            **s,
        )
        for i, s in enumerate(spots)
    ]
    orders = [
        ranking(i, rng.permutation(8.0 + np.arange(3)), **spots[i])
        for i in range(30)
    ]
    scores = [scoring(i, float(i % 7), **spots[i]) for i in range(48)]
    judged: dict[str, list[Verdict]] = {}
    for name, chance in (
        ("good", 0.9),
        ("poor", 0.6),
        ("silent", 0.8),
        ("pairs", 0.7),
    ):
        judged[name] = [
            drawn(q, chance, rng, order=o) for q in pairs for o in ("AB", "BA")
        ]
        if name != "pairs":
            judged[name] += [
                said(q, "".join(rng.permutation(list("ABC")))) for q in orders
            ]
            status = "unparseable" if name == "silent" else "ok"
            judged[name] += [
                said(
                    q,
                    float(rng.integers(0, 11)),
                    status=status if i % 9 else "api_error",
                )
                for i, q in enumerate(scores)
            ]
    questions = [*pairs, *orders, *scores]
    for row in analyse_study(study_of(questions, judged)).judges:
        (alone,) = analyse_study(
            study_of(questions, {row.name: judged[row.name]})
        ).judges
        found, expected = (
            _numbers({name: one.stored(name) for name in alone.analysis.named})
            for one in (row, alone)
        )
        assert found == expected


def test_no_more_judges_than_are_compared_leave_nothing_out() -> None:
    assert not_compared(COMPARED) == ""


def _by_margin(seed: int) -> Preference:
    """A fair judge that is better at wide margins, where more boxes happen to be
    right."""
    rng = rng_for(seed, "by margin")
    questions, verdicts = [], []
    for i in range(400):
        margin = float(rng.uniform(0.1, 9.9))
        better_has_more = (margin > 4) == (rng.random() < 0.85)
        options = (OptionFeatures(count=2), OptionFeatures(count=1))
        q = pair(
            i,
            (margin, 0.0),
            image_id=f"image{i % 20}",
            features=options if better_has_more else options[::-1],
        )
        questions.append(q)
        verdicts += [
            drawn(q, 0.5 + 0.47 * (1 - np.exp(-0.5 * margin)), rng, order=order)
            for order in ("AB", "BA")
        ]
    pairs = study_of(questions, {"judge": verdicts}).kind(0, "pairwise")
    return next(row for row in preferences(pairs) if row.feature == "count")


def test_a_preference_from_few_pairs_is_within_its_interval_and_within_what_is_possible() -> (
    None
):
    for seed in range(24):
        rng = rng_for(seed, "few pairs")
        questions = [
            pair(
                i,
                (float(rng.integers(1, 10)), 0.0),
                image_id=f"image{rng.integers(6)}",
                task=str(
                    rng.choice(
                        ["keypoint", "object_detection", "depth_estimation"]
                    )
                ),
                features=(
                    OptionFeatures(count=int(size)),
                    OptionFeatures(count=3 - int(size)),
                ),
            )
            for i, size in enumerate(rng.permuted(np.arange(11) % 2 + 1))
        ]
        answers = ["A" if rng.random() < 0.8 else "B" for _ in questions]
        judged = [
            said(question, answer, order)
            for question, answer in zip(questions, answers, strict=True)
            for order in ("AB", "BA")
        ]
        for row in preferences(
            study_of(questions, {"judge": judged}).kind(0, "pairwise")
        ):
            low, high = row.estimate.interval or (-0.5, 0.5)
            assert -0.5 <= low <= (row.estimate.value or 0.0) <= high <= 0.5


def test_fair_judge_that_is_better_at_wide_margins_is_not_flagged() -> None:
    rows = [_by_margin(seed) for seed in range(6)]
    assert sum(row.flagged for row in rows) <= 1
    assert abs(np.mean([row.estimate.value for row in rows])) < 0.02  # type: ignore[arg-type]


def test_of_six_encodings_alike_none_is_recommended() -> None:
    rng = rng_for(1, "alike")
    questions = [
        pair(
            i,
            (9.0, 1.0),
            id=f"{e}-{i}",
            encoding=f"e{e}",
            image_id=f"image{i % 20}",
        )
        for e in range(6)
        for i in range(120)
    ]
    (choice,) = result(questions, [drawn(q, 0.8, rng) for q in questions])[
        ENCODINGS
    ]
    assert (choice.recommended, choice.reason) == (None, "no difference shown")


def test_an_encoding_that_beats_another_is_recommended() -> None:
    rng = rng_for(2, "better")
    questions = [
        pair(
            i,
            (9.0, 1.0),
            id=f"{e}-{i}",
            encoding=f"e{e}",
            image_id=f"image{i % 20}",
        )
        for e in range(2)
        for i in range(200)
    ]
    (choice,) = result(
        questions,
        [drawn(q, 0.95 if q.encoding == "e1" else 0.6, rng) for q in questions],
    )[ENCODINGS]
    assert choice.recommended == "e1"


def test_the_side_of_the_heaviest_fault_is_a_distance_like_that_of_scores() -> (
    None
):
    rng = rng_for(5, "sides")
    questions = []
    for i in range(400):
        side = float(rng.uniform(2, 60))
        lighter = Fault("missed", (0.0, 0.0, 90.0, 90.0), 0.1)
        # a place that is twice as wide as high, of side × side pixels
        heavy = Fault("missed", (5.0, 7.0, 5 + 2 * side, 7 + side / 2), 0.8)
        questions.append(
            pair(
                i,
                (side / 10, 0.0),
                image_id=f"image{i % 20}",
                task=("depth_estimation", "object_detection")[i % 2],
                faults=((), (lighter, heavy)),
            )
        )
    verdicts = [
        drawn(q, 0.5 + 0.5 * min(1.0, q.final_scores[0] / 3), rng)
        for q in questions
    ]
    # neither a place without an area nor a score is a pair at some distance
    flat = Fault("missed", (1.0, 1.0, 1.0, 9.0), 1.0)
    apart = [
        pair(900, (1.0, 0.0), faults=((), (flat,))),
        pair(901, (1.0, 0.0), faults=((), ())),
        scoring(902, 3.0, faults=((heavy,),)),
    ]
    verdicts += [
        said(q, w) for q, w in zip(apart, ["B", "B", 3.0], strict=True)
    ]
    found = result([*questions, *apart], verdicts)[FAULT_SIZE]
    assert [row.value for row in found] == [
        "all",
        "depth_estimation",
        "object_detection",
    ]
    margins = {
        row.value: row
        for row in result(questions, verdicts[:-3])[SENSITIVITY]
        if row.against == "margin"
    }
    for row in found:
        of_scores = margins[row.value]
        assert row.jnd.n == of_scores.jnd.n
        assert row.jnd.value == pytest.approx(10 * of_scores.jnd.value)
        assert np.array(row.points) == pytest.approx(
            np.array(of_scores.points) * (10, 1, 1)
        )
    one_task = [q for q in questions if q.task == "object_detection"]
    (row,) = result(one_task, verdicts[1:-3:2])[FAULT_SIZE]
    assert row.scope == "all" and row.jnd.n == 200


def test_guessing_judge_has_no_75_percent_point() -> None:
    rng = rng_for(3, "guess")
    questions = [
        pair(i, (float(rng.uniform(0.1, 9)), 0.0), image_id=f"image{i % 20}")
        for i in range(600)
    ]
    rows = result(questions, [drawn(q, 0.5, rng) for q in questions])[
        SENSITIVITY
    ]
    assert all(row.jnd.value is None for row in rows)


def test_judge_that_says_one_number_has_no_order_inside_an_image() -> None:
    questions = [
        scoring(4 * i + k, float(k), image_id=f"image{i}")
        for i in range(20)
        for k in range(4)
    ]
    verdicts = [
        said(q, float(q.answer) if q.image_id == "image0" else 7.0)
        for q in questions
    ]
    within = result(questions, verdicts)[SCORES].within
    assert within.value == pytest.approx(1 / 20)
    assert within.n == 20


@pytest.mark.parametrize("repeats", [1, 2, 5])
def test_order_inside_an_image_does_not_depend_on_the_number_of_repeats(
    repeats: int,
) -> None:
    questions = [
        scoring(4 * i + k, float(k), image_id=f"image{i}")
        for i in range(20)
        for k in range(4)
    ]
    verdicts = [
        said(q, float(str(q.answer)) + 0.01 * repeat, repeat=repeat)
        for q in questions
        for repeat in range(repeats)
    ]
    assert result(questions, verdicts)[SCORES].within.value == pytest.approx(1)


def test_source_that_never_lost_has_an_open_side_and_counts_its_own_images() -> (
    None
):
    rng = rng_for(4, "sources")
    questions, verdicts = [], []
    for i in range(240):
        names = (("best", "x"), ("x", "y"), ("y", "best"))[i % 3]
        q = pair(i, (5.0, 4.0), sources=names, image_id=f"image{i % 24}")
        wins = {"best": 1.0, "x": 0.5, "y": 0.5}
        first = "best" in names and names[0] == "best"
        chance = 1.0 if first else 0.0 if "best" in names else wins[names[0]]
        questions.append(q)
        verdicts.append(said(q, "A" if rng.random() < chance else "B"))
    rows = {
        row.source: row for row in result(questions, verdicts)[SOURCES].rows
    }
    best = rows["best"]
    assert best.strength.interval is None and best.bound is not None
    assert best.bound[0] is not None and best.bound[1] is None
    assert best.strength.images == 16
    assert all(
        None not in (rows[name].strength.interval or (None,)) for name in "xy"
    )


@pytest.mark.parametrize("per_image", [1, 5])
def test_difference_of_a_perfect_and_an_inverted_judge_has_a_width(
    per_image: int,
) -> None:
    questions = [
        pair(i, (9.0, 1.0), image_id=f"image{i // per_image}")
        for i in range(30 * per_image)
    ]
    judged = {
        name: [said(q, value) for q in questions]
        for name, value in (("perfect", "A"), ("inverted", "B"))
    }
    (row,) = analyse_study(study_of(questions, judged))[COMPARISONS]
    unseen = 1 - 0.025 ** (1 / 30)
    assert row.gap.interval == pytest.approx((1 - 2 * unseen, 1))


def test_simulated_judge_does_not_change_the_p_of_real_ones() -> None:
    questions = [pair(i, (8.0, 1.0)) for i in range(48)]
    table, rng = question_table(questions), np.random.default_rng(3)

    def run(name: str, chance: float, **info: Any) -> Run:
        return Run(
            name,
            None,
            info,
            join(
                table, verdict_table([drawn(q, chance, rng) for q in questions])
            ),
        )

    real = [run("one", 0.6), run("two", 0.8), run("three", 0.7)]
    simulated = [
        run("oracle", 1.0, simulated=True),
        run("guess", 0.5, simulated=True),
    ]
    alone = comparisons(Study(table, tuple(real)))
    rows = comparisons(Study(table, (*real, *simulated)))
    among = {(row.a, row.b): row.p_holm for row in rows}
    assert {
        (row.a, row.b): row.p_holm for row in alone
    }.items() <= among.items()
    others = [
        (row.p or 0) for row in rows if {row.a, row.b} & {"oracle", "guess"}
    ]
    assert among["one", "oracle"] is not None
    assert max(
        v for k, v in among.items() if "guess" in k or "oracle" in k
    ) >= max(others)


def test_causes_of_what_could_not_be_read_are_counted() -> None:
    questions = [pair(i, (8.0, 1.0)) for i in range(10)]
    verdicts = [said(q, "A") for q in questions[:6]] + [
        said(q, "?", status="unparseable", cause="tie") for q in questions[6:]
    ]
    judge = result(questions, verdicts)
    assert judge[UNREAD].causes == {"unparseable: tie": 4}
    assert judge[PAIRWISE].accuracy.causes == {"unparseable: tie": 4}
    assert (
        judge[PAIRWISE].accuracy.share.value,
        judge[PAIRWISE].accuracy.parsed.value,
    ) == (0.6, 1.0)


def test_values_of_a_second_reader_count_apart_and_nowhere_else() -> None:
    questions = [pair(i, (8.0, 1.0)) for i in range(10)]
    ours = [said(q, "A") for q in questions[:6]]
    theirs = [
        replace(
            said(q, "A" if i else "B"), status="ok_extracted", cause="hedge"
        )
        for i, q in enumerate(questions[6:])
    ]
    judge = result(questions, ours + theirs)
    assert (
        judge[PAIRWISE].accuracy.share.value,
        judge[PAIRWISE].accuracy.parsed.value,
    ) == (0.6, 1.0)
    assert judge[UNREAD].causes == {"ok_extracted: hedge": 4}
    assert (judge[UNREAD].failed, judge[UNREAD].extracted) == (4, 4)


def test_metrics_and_tables_have_the_same_figures() -> None:
    questions = [pair(i, (8.0, 1.0)) for i in range(24)]
    analysis = analyse_study(
        study_of(
            questions,
            {
                "judge": [
                    said(q, "A" if i % 4 else "B")
                    for i, q in enumerate(questions)
                ]
            },
        )
    )
    accuracy = analysis.judges[0][PAIRWISE].accuracy
    stated = stored(analysis)[0]["pairwise"]
    assert stated["accuracy"] == accuracy.share.value == 0.75
    assert (
        dict(headline(analysis.judges).rows)["Accuracy (95 %)"][:6] == "75.0 %"
    )
    assert analysis.tables["headline"]["pairwise.accuracy"].to_list() == [0.75]
