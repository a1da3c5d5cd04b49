"""The local baseline beside a judge: the same questions, what it declined left out, said where no
gain is shown.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from judged_records import pair, said, write_dataset, write_run
from visualjudge.analysis import analyse
from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.figure_text import above
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


def test_what_the_baseline_declined_is_left_out_and_counted(tmp_path: Path) -> None:
    row = analysed(tmp_path, 9, 6, declined=20).results.judges[0].above_baseline
    assert row is not None and row.verdicts == 200


def test_a_baseline_that_declined_all_is_no_comparison(tmp_path: Path) -> None:
    judge = analysed(tmp_path, 9, 6, declined=len(QUESTIONS)).results.judges[0]
    assert judge.above_baseline is above(judge) is None


def test_an_image_on_which_the_baseline_declined_all_is_none_of_the_figure(tmp_path: Path) -> None:
    questions = [pair(i, (3.0, 1.0)) for i in range(60)]  # 12 images
    dataset = write_dataset(tmp_path / "dataset", questions)
    kept = [
        said(q, "AB"[i % 2]) if i % 12 < 3 else said(q, FAILED, status="refusal")
        for i, q in enumerate(questions)
    ]
    baseline = write_run(tmp_path / "local", dataset, kept, backend="local", judge="local baseline")
    judge = write_run(tmp_path / "vlm", dataset, [said(q, "A") for q in questions])
    row = analyse([judge, baseline]).results.judges[0].above_baseline
    assert row is not None and (row.gap.images, row.gap.n, row.gap.interval) == (3, 15, None)
    assert row.gap.why == "fewer than 5 images"


def test_tasks_are_adjusted_by_holm(tmp_path: Path) -> None:
    rows = analysed(tmp_path, 6, 9).metrics["judges"][0]["above_baseline"]
    assert [row["value"] for row in rows] == ["all", "keypoint", "object_detection"]
    assert rows[0]["p_holm"] is None and rows[0]["baseline_accuracy"] == 0.9
    assert all(row["p"] < row["p_holm"] <= 2 * row["p"] for row in rows[1:])


def test_without_a_baseline_nothing_is_said(tmp_path: Path) -> None:
    dataset = write_dataset(tmp_path / "dataset", QUESTIONS)
    judge = analyse(
        [write_run(tmp_path / "vlm", dataset, [said(q, "A") for q in QUESTIONS])]
    ).results.judges[0]
    assert judge.above_baseline is above(judge) is None


def test_above_a_baseline_below_chance_nothing_is_proved(tmp_path: Path) -> None:
    found = analysed(tmp_path, 9, 2)
    told = str(above(found.results.judges[0]))
    assert "no evidence, because the baseline is right in only 20.0 %" in told
    assert found.metrics["judges"][0]["above_baseline"][0]["baseline_accuracy"] == 0.2


def test_worse_than_a_baseline_below_chance_is_said(tmp_path: Path) -> None:
    assert "the judge is worse" in str(above(analysed(tmp_path, 1, 4).results.judges[0]))


def test_both_differences_from_the_baseline_say_what_they_count(tmp_path: Path) -> None:
    found = analysed(tmp_path, 9, 6, declined=2)
    alone = str(above(found.results.judges[0]))
    assert "on the 236 verdicts on questions that it answered" in alone
    page = " ".join(text(found.results, []).split())
    assert (
        "Holm’s method over all comparisons" in page and "a missing answer counts as wrong" in page
    )
