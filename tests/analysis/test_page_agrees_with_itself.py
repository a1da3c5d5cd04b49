"""What a reader sees twice on the page of a report is the same in both places, and no
figure is more than it can mean.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from judged_records import pair, said, write_dataset, write_run
from stored_figures import of_study, stored
from visualjudge.analysis import Analysis, analyse
from visualjudge.analysis.decisions.checks import check
from visualjudge.analysis.figures.bias import BIAS
from visualjudge.analysis.figures.leaks import Leak, as_right
from visualjudge.analysis.pairwise_verdicts import Preference
from visualjudge.analysis.plots.plot import Plot
from visualjudge.analysis.report.card import card_of
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.core.text_tables import unbroken

TASKS = ("object_detection", "instance_segmentation")


def judged(root: Path, wrong: dict[str, int], name: str) -> Path:
    """A run in both orders, with an answer wrong in one of so many pairs of each task;
    wrong in both orders.
    """
    pairs = [
        pair(
            i,
            (8.0, 3.0),
            task=TASKS[i % 2],
            sources=("yolo", "detr"),
            image_id=f"i{i // 4}",
        )
        for i in range(160)
    ]
    dataset = root / "ds"
    if not dataset.exists():
        write_dataset(dataset, pairs)
    verdicts = [
        said(q, "B" if (i // 2) % wrong[q.task] == 0 else "A", order)
        for order in ("AB", "BA")
        for i, q in enumerate(pairs)
    ]
    return write_run(root / name, dataset, verdicts, judge=name)


@pytest.fixture(scope="module")
def opposite_judges(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """Two judges as accurate as each other in all, each better at one of the tasks."""
    root = tmp_path_factory.mktemp("opposite")
    wrong = (
        dict(zip(TASKS, (20, 2), strict=True)),
        dict(zip(TASKS, (2, 20), strict=True)),
    )
    return analyse(
        [
            judged(root, each, name)
            for each, name in zip(wrong, ("a", "b"), strict=True)
        ]
    )


def test_a_difference_that_tasks_hide_from_each_other_is_found(
    opposite_judges: Analysis,
) -> None:
    (row,) = of_study(opposite_judges, "comparisons")
    values = {task: told["difference"] for task, told in row["by_task"].items()}
    assert values["object_detection"] > 0 > values["instance_segmentation"]
    for task in TASKS:
        accuracy = [
            judge["by_task"][task]["pairwise"]["accuracy"]
            for judge in stored(opposite_judges)
        ]
        told = row["by_task"][task]
        assert told["difference"] == pytest.approx(accuracy[0] - accuracy[1])
        assert told["p"] <= told["p_holm"] < 0.05


def test_a_preference_is_said_where_its_test_proves_it() -> None:
    def row(name: str, value: float, p: float | None) -> Preference:
        estimate = Estimate(value, (value - 0.05, value + 0.05), 90, 90)
        proven = p is not None and p < 0.05
        return Preference(name, f"the {name} one", estimate, p, p, proven)

    first = row("first", 0.2, 0.01)
    small = row("small", -0.2, 0.02)
    large = row("large", 0.06, 0.06)
    for rows, words in (
        (
            (first, small, large),
            "It prefers the first one by 20.0 percentage points and avoids the small one "
            "by 20.0 percentage points",
        ),
        ((large,), "No preference is proven (Holm) for the large one"),
    ):
        assert BIAS.sentences(rows) == [f"{words}."]
    assert BIAS.sentences((row("untested", 0.2, None),)) == []


def test_the_lean_to_the_place_has_one_interval(
    opposite_judges: Analysis,
) -> None:
    """A judge with one answer in both orders: figure, metrics and check say the
    same."""
    figure = opposite_judges.plots["leanings"].draw(opposite_judges.shown)
    assert isinstance(figure, Plot)
    for judge, card in zip(
        stored(opposite_judges),
        card_of(opposite_judges).judges,
        strict=True,
    ):
        (row,) = (row for row in judge["bias"] if row["feature"] == "position")
        (check,) = (line for line in card.checks if line.name == "lean")
        assert judge["pairwise"]["swap"]["consistency"] == 1
        assert row["preference"] == check.value == 0
        assert tuple(row["ci95"]) == check.interval
        own = (1 - 0.025 ** (1 / 40)) / 2
        assert abs(row["ci95"][1] - own) < 1e-9, (
            "half of what none of 40 images allows"
        )
        (drawn,) = (
            r for r in figure.rows if r[:2] == (judge["judge"], row["leans_to"])
        )
        assert drawn[2:5] == (row["preference"], *row["ci95"])


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("png_bytes", "the smaller image file"),
        ("count", "fewer boxes, masks or points"),
    ],
)
def test_a_rule_that_is_mostly_wrong_is_given_as_its_opposite(
    rule: str, said: str
) -> None:
    wrong = Leak(
        "all", rule, Estimate(0.25, (0.125, 0.5), 40, 10), 0.01, flagged=True
    )
    turned = as_right(wrong)
    assert (turned.rule, turned.share) == (
        said,
        Estimate(0.75, (0.5, 0.875), 40, 10),
    )
    assert as_right(replace(wrong, share=turned.share)).share == turned.share


def test_a_card_with_its_details_begins_with_the_answer(
    opposite_judges: Analysis,
) -> None:
    card = card_of(opposite_judges)
    details = card.details.removeprefix("\n".join(card.moved)).lstrip()
    assert details.startswith(f"{card.judges[0].judge}: ")
    assert "By task" in details


def test_a_check_calls_nothing_proven_whose_test_is_elsewhere() -> None:
    lean = check("lean", Estimate(0.08, (0.04, 0.13), 40, 20))
    assert lean.state == "undecided" and "proven" not in lean.why
    fails = check("macro_accuracy", Estimate(0.7, (0.6, 0.74), 40, 20))
    assert fails.state == "fail" and "interval" in fails.why


def test_a_number_stays_with_its_unit_and_its_interval() -> None:
    told = unbroken("83 % (77 to 88), must be ≥ 65 %, 2 to four")
    assert (
        told
        == "83\u00a0% (77\u00a0to\u00a088), must be ≥\u00a065\u00a0%, 2 to four"
    )
