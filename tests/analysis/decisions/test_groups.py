"""Sources of different tasks, or that no question compares, are never ranked against
each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from decided import World, choices_of, of_task, scores_of
from judged_records import said, scoring
from stored_figures import stored
from visualjudge.analysis import analyse_study, study_of
from visualjudge.analysis.decisions.card import JudgeCard
from visualjudge.analysis.decisions.correct import LEADERBOARD, correct_study
from visualjudge.analysis.report.card import card_of
from visualjudge.analysis.source_groups import source_groups
from visualjudge.core.records import Question, Verdict


def _renamed(world: World, prefix: str) -> World:
    return World(
        world.truth, tuple(f"{prefix} {i}" for i in range(len(world.names)))
    )


def _two_tasks(kind: str = "pair_questions") -> list[Question]:
    """Detectors 0 to 2 with high scores, and segmenters 0 to 2 with low ones."""
    good, bad = World.of(40, 3, gap=1.2), World.of(40, 3, seed=1, gap=1.2)
    low = World(np.clip(bad.truth - 4, 0, 10).round(3), bad.names)
    detected = getattr(_renamed(good, "det"), kind)()
    return [
        *detected,
        *of_task(
            getattr(_renamed(low, "seg"), kind)(), "instance_segmentation"
        ),
    ]


def _card(
    questions: Sequence[Question], verdicts: Sequence[Verdict]
) -> JudgeCard:
    return card_of(
        analyse_study(study_of(questions, {"judge": verdicts}))
    ).judges[0]


def _edges(*rows: tuple[str, str, str]) -> pl.DataFrame:
    return pl.DataFrame(rows, ["task", "a", "b"], orient="row")


def test_tasks_that_compare_the_same_sources_are_one_group_and_all_others_are_apart() -> (
    None
):
    same = source_groups(_edges(("depth", "x", "y"), ("boxes", "y", "x")))
    assert set(same.values()) == {"boxes + depth"}
    bridged = source_groups(_edges(("boxes", "x", "y"), ("depth", "y", "z")))
    assert bridged["boxes", "y"] != bridged["depth", "y"]
    never_met = source_groups(
        _edges(("boxes", "u", "v"), ("boxes", "x", "y"), ("boxes", "y", "z"))
    )
    assert never_met["boxes", "u"] == never_met["boxes", "v"] == "boxes (1)"
    assert {never_met["boxes", name] for name in "xyz"} == {"boxes (2)"}


def test_a_judge_that_scores_one_task_too_low_still_orders_its_sources() -> (
    None
):
    questions = _two_tasks("scoring_questions")
    lower = {f"det {i}": -4.5 for i in range(3)}
    card = _card(questions, scores_of(questions, 0.3, bias=lower))
    main = card.system.main
    assert main is not None and len(main.models.pairs) == 6
    assert main.models.tau_b.value == 1.0
    groups = [row.group for row in main.sources]
    assert groups == ["instance_segmentation"] * 3 + ["object_detection"] * 3
    assert {row.rank_set for row in main.sources} == {(1, 1), (2, 2), (3, 3)}
    assert card.models.state == "yes"


def test_a_task_turned_round_is_not_hidden_by_the_order_of_tasks() -> None:
    questions = _two_tasks("scoring_questions")
    verdicts = [
        replace(
            v,
            value=10 - float(v.value)
            if v.id.startswith("instance")
            else v.value,
        )
        for v in scores_of(questions, 0.2)
    ]
    main = _card(questions, verdicts).system.main
    assert main is not None and main.models.tau_b.value == 0.0


def test_tables_name_the_group_of_each_source_where_there_are_several() -> None:
    questions = _two_tasks()
    card = card_of(
        analyse_study(
            study_of(questions, {"judge": choices_of(questions, 0.9)})
        )
    )
    page = card.details
    assert "object detection       det 0" in page and "for 6 pairs" in " ".join(
        page.split()
    )
    rows = card.judges[0].result.stored("system")["sources"]
    assert {row["group"] for row in rows} == {
        "object_detection",
        "instance_segmentation",
    }
    alone = [q for q in questions if q.task == "object_detection"]
    study = study_of(alone, {"judge": choices_of(alone, 0.9)})
    one = card_of(analyse_study(study)).details
    assert "Group" not in one and "groups" not in one


def test_correct_ranks_within_a_task(tmp_path: Path) -> None:
    questions = _two_tasks("scoring_questions")
    labels = tmp_path / "labels.csv"
    rows = [
        f"{q.task}/{q.annotation_ids[0]},{q.answer}"
        for q in questions
        if int(q.image_id[-2:]) < 25
    ]
    labels.write_text("\n".join(["annotation_id,score", *rows]) + "\n")
    board = correct_study(
        study_of(questions, {"judge": scores_of(questions, 0.3)}),
        labels,
        gap=0.5,
    )
    assert [row.source for row in board.rows] == [
        "seg 0",
        "seg 1",
        "seg 2",
        "det 0",
        "det 1",
        "det 2",
    ]
    assert [row.rank_set for row in board.rows] == [(1, 1), (2, 2), (3, 3)] * 2
    assert str(board).splitlines()[0].startswith(
        "Group"
    ) and "only within a group" in " ".join(str(board).split())
    assert (
        LEADERBOARD.json(board)["rows"][0]["group"] == "instance_segmentation"
    )


def test_equal_means_of_several_items_of_an_image_are_a_tie() -> None:
    """Whole scores from 0 to 3, read as 0 to 10 with nine decimals: 1, 1, 1; 0, 1, 2."""
    one, two = 3.333333333, 6.666666667
    scores = {"x": (one, one, one), "y": (0.0, one, two)}
    questions = [
        scoring(
            k,
            score,
            image_id=f"image{image}",
            sources=(name,),
            annotation_ids=(f"{image}-{name}-{k}",),
            id=f"{image}-{name}-{k}",
        )
        for image in range(12)
        for name, each in scores.items()
        for k, score in enumerate(each)
    ]
    (pair,) = _card(
        questions, [said(q, q.answer) for q in questions]
    ).models.pairs
    assert (pair.judge, pair.truth) == (0.5, 0.5)


def test_a_reply_to_a_pair_counts_the_same_however_often_it_is_asked_again() -> (
    None
):
    """Three of five replies are for the first, on every image."""
    questions = World.of(12, 2).pair_questions()
    first = ["AB"[question.sources.index("model 0")] for question in questions]
    other = {"A": "B", "B": "A"}
    replies = [
        said(question, letter if k < 3 else other[letter], repeat=k)
        for question, letter in zip(questions, first, strict=True)
        for k in range(5)
    ]
    (pair,) = _card(questions, replies).models.pairs
    share = pair.judge if pair.a == "model 0" else 1 - pair.judge
    assert share == pytest.approx(0.6)


def test_failed_replies_do_not_part_the_groups_of_the_leaderboard() -> None:
    """The judge reads no pair with model 2 in one of the tasks."""
    boxes = World.of(12, 3).pair_questions()
    questions = [*boxes, *of_task(boxes, "keypoint")]
    replies = [
        said(
            question,
            question.answer,
            status="refusal"
            if question.task == "keypoint" and "model 2" in question.sources
            else "ok",
        )
        for question in questions
    ]
    study = analyse_study(study_of(questions, {"judge": replies}))
    (judge,) = card_of(study).judges
    rows = stored(study)[0]["leaderboard"]["rows"]
    assert {row["group"] for row in rows} == {
        pair.group for pair in judge.models.pairs
    }
