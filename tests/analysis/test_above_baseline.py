"""The local baseline beside a judge: the same questions, what it declined left out, said where no
gain is shown.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from judged_records import pair, said, write_dataset, write_run
from visualjudge.analysis import analyse
from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.figure_text import above
from visualjudge.analysis.report.page import html
from visualjudge.analysis.report.terminal import text
from visualjudge.core.records import FAILED

QUESTIONS = [pair(i, (3.0, 1.0), task=("object_detection", "keypoint")[i % 2]) for i in range(120)]
OTHER = {"A": "B", "B": "A"}


def analysed(root: Path, judge_right: int, baseline_right: int, *, declined: int = 0) -> Analysis:
    """A judge and the baseline, right on the first so many of every ten questions."""
    dataset = write_dataset(root / "dataset", QUESTIONS)

    def says(index: int, right: int) -> str:
        answer = str(QUESTIONS[index].answer)
        return answer if (index // 12) % 10 < right else OTHER[answer]

    orders = [
        said(q, says(i, judge_right), order)
        for order in ("AB", "BA")
        for i, q in enumerate(QUESTIONS)
    ]
    judge = write_run(root / "vlm", dataset, orders)
    kept = [said(q, says(i, baseline_right)) for i, q in enumerate(QUESTIONS)][declined:]
    kept += [said(q, FAILED, status="refusal", cause="declined") for q in QUESTIONS[:declined]]
    baseline = write_run(root / "local", dataset, kept, backend="local", judge="local baseline")
    return analyse([judge, baseline])


@pytest.mark.parametrize(
    ("right", "said_of_it"),
    [(6, "can’t tell yet whether the judge is better"), (3, "the judge is worse")],
)
def test_a_judge_that_is_not_better_is_said_not_to_be(
    tmp_path: Path, right: int, said_of_it: str
) -> None:
    found = analysed(tmp_path, right, 6)
    assert said_of_it in str(above(found.results.judges[0]))
    section = html(found).split('id="baseline"')[1].split("</section>")[0]
    assert ('class="hit"' in section) is said_of_it.endswith("worse")


def test_what_the_baseline_declined_is_left_out_and_counted(tmp_path: Path) -> None:
    row = analysed(tmp_path, 9, 6, declined=20).results.judges[0].above_baseline[0]
    assert (row.gap.n, row.declined) == (200, 40)


def test_a_baseline_that_declined_all_has_no_gap_and_says_why(tmp_path: Path) -> None:
    row = analysed(tmp_path, 9, 6, declined=len(QUESTIONS)).results.judges[0].above_baseline[0]
    assert (row.gap.value, row.gap.n, row.gap.images) == (None, 0, 0)
    assert row.gap.why == "the baseline answered none of these questions"


def test_an_image_on_which_the_baseline_declined_all_is_none_of_the_figure(tmp_path: Path) -> None:
    questions = [pair(i, (3.0, 1.0)) for i in range(60)]  # 12 images
    dataset = write_dataset(tmp_path / "dataset", questions)
    kept = [
        said(q, "AB"[i % 2]) if i % 12 < 3 else said(q, FAILED, status="refusal")
        for i, q in enumerate(questions)
    ]
    baseline = write_run(tmp_path / "local", dataset, kept, backend="local", judge="local baseline")
    judge = write_run(tmp_path / "vlm", dataset, [said(q, "A") for q in questions])
    row = analyse([judge, baseline]).results.judges[0].above_baseline[0]
    assert (row.gap.images, row.gap.n, row.declined, row.gap.interval) == (3, 15, 45, None)
    assert row.gap.why == "fewer than 5 images"


def test_tasks_and_error_types_are_worse_after_adjustment_alone(tmp_path: Path) -> None:
    """Of eight error types, one is below the baseline by as much as luck makes one of eight."""
    rng, errors = np.random.default_rng(5), [f"error {k}" for k in range(8)]
    questions = [
        pair(i, (3.0, 1.0), error_type=errors[i // 30], image_id=f"image{i % 30}")
        for i in range(240)
    ]
    right = rng.random((2, 240)) < 0.75
    right[:, :30] = np.arange(30) % 4 > 0
    right[0, 1:20:4] = False  # five of its thirty that the baseline has right
    dataset = write_dataset(tmp_path / "dataset", questions)
    verdicts = [
        [said(q, "A" if hit else "B") for q, hit in zip(questions, row, strict=True)]
        for row in right
    ]
    judge = write_run(tmp_path / "vlm", dataset, verdicts[0])
    baseline = write_run(
        tmp_path / "local", dataset, verdicts[1], backend="local", judge="local baseline"
    )
    rows = {row.value: row for row in analyse([judge, baseline]).results.judges[0].above_baseline}
    row = rows["error 0"]
    assert (
        row.gap.interval is not None and row.gap.interval[1] is not None and row.gap.interval[1] < 0
    )
    assert row.p is not None and row.p_holm == pytest.approx(8 * row.p) and row.p_holm > 0.05
    assert row.standing == "undecided"
    assert rows["all"].p_holm is None


def test_without_a_baseline_nothing_is_said(tmp_path: Path) -> None:
    dataset = write_dataset(tmp_path / "dataset", QUESTIONS)
    judge = analyse(
        [write_run(tmp_path / "vlm", dataset, [said(q, "A") for q in QUESTIONS])]
    ).results.judges[0]
    assert judge.above_baseline == ()
    assert above(judge) is None


def test_above_a_baseline_below_chance_nothing_is_proved(tmp_path: Path) -> None:
    found = analysed(tmp_path, 9, 2)
    row = found.results.judges[0].above_baseline[0]
    assert row.baseline_right == pytest.approx(0.2)
    assert row.standing != "better"
    assert (
        "no evidence, because the baseline is right in only 20.0 %, which is below chance"
        in str(above(found.results.judges[0]))
    )
    assert found.metrics["judges"][0]["above_baseline"][0]["baseline_accuracy"] == pytest.approx(
        0.2
    )


def test_worse_than_a_baseline_below_chance_is_said(tmp_path: Path) -> None:
    assert "the judge is worse" in str(above(analysed(tmp_path, 1, 4).results.judges[0]))


def test_both_differences_from_the_baseline_say_what_they_count(tmp_path: Path) -> None:
    found = analysed(tmp_path, 9, 6, declined=2)
    alone = str(above(found.results.judges[0]))
    assert "unadjusted) on" in alone and "without 4 that the baseline declined" in alone
    page = " ".join(text(found.results, []).split())
    assert (
        "Holm’s method over all comparisons" in page and "a missing answer counts as wrong" in page
    )
