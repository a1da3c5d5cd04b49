"""Encodings are compared on the same pair of predictions, whichever of the two was
shown as A."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from judged_records import pair, said
from visualjudge.analysis import analyse_study, study_of
from visualjudge.analysis.estimate import ALL_ALIKE
from visualjudge.analysis.figures.strengths import SOURCES, Leaderboard
from visualjudge.analysis.study_table import question_table
from visualjudge.core.records import Question, Verdict

ONE = Question(
    id="q1",
    task="object_detection",
    encoding="text_xyxy",
    question_type="pairwise",
    subset=("judge_analysis",),
    image_id="a",
    class_of_interest=None,
    error_type=None,
    annotation_ids=("x", "y"),
    final_scores=(8.0, 2.0),
    sources=("s", "t"),
    prompt="",
    images=(),
    answer="A",
)


def test_item_is_the_pair_and_not_its_order() -> None:
    turned = replace(
        ONE,
        id="q2",
        encoding="text_xywh",
        annotation_ids=("y", "x"),
        final_scores=(2.0, 8.0),
        sources=("t", "s"),
        answer="B",
    )
    elsewhere = replace(ONE, id="q3", task="keypoint")
    table = question_table((ONE, turned, elsewhere))
    first, second, third = table["pair"].to_list()
    assert first == second
    assert first != third
    assert table["annotations"].to_list()[1] == ["y", "x"]


def test_best_is_beaten_by_none_on_the_same_pairs() -> None:
    """One encoding is asked the easy half alone: its raw accuracy leads, the other is
    better on common pairs.
    """
    from visualjudge.analysis.figures.encodings import recommend

    rows = []
    for image in range(20):
        for k in range(4):
            easy = k < 2
            rows.append(("full", image, k, easy or image % 4 == 0))
            if easy:
                rows.append(("half", image, k, image % 10 < 8))
    table = pl.DataFrame(
        {
            "encoding": [row[0] for row in rows],
            "cluster": [row[1] for row in rows],
            "pair": [f"{row[1]}-{row[2]}" for row in rows],
            "right": [row[3] for row in rows],
            "usable": [True] * len(rows),
            "tokens_in": [None] * len(rows),
            "tokens_out": [None] * len(rows),
            "text": ["A"] * len(rows),
            "order": ["AB"] * len(rows),
            "said_first": [True] * len(rows),
        },
        schema_overrides={"tokens_in": pl.Int64, "tokens_out": pl.Int64},
    )
    by_name = {
        row.name: row for row in recommend(table, "object_detection").encodings
    }
    assert (by_name["half"].share.value or 0) > (
        by_name["full"].share.value or 0
    )
    assert by_name["full"].standing == "best"


def test_sources_that_the_judge_cannot_tell_apart_share_a_rank() -> None:
    names = ("one", "two", "three")
    twos = [(a, b) for a in names for b in names if a < b] * 8
    questions = [
        pair(i, (7.0, 5.0), sources=names_) for i, names_ in enumerate(twos)
    ]
    verdicts = [
        said(q, "A", order) if order == "AB" else said(q, "B", order)
        for q in questions
        for order in ("AB", "BA")
    ]
    board = analyse_study(study_of(questions, {"judge": verdicts})).judges[0][
        SOURCES
    ]
    assert [row.rank for row in board.rows] == [1, 1, 1]
    assert all(
        (row.strength.interval, row.strength.why) == (None, ALL_ALIKE)
        for row in board.rows
    )


def _board(questions: list[Question], verdicts: list[Verdict]) -> Leaderboard:
    return analyse_study(study_of(questions, {"judge": verdicts})).judges[0][
        SOURCES
    ]


def test_what_is_compared_elsewhere_changes_no_strength() -> None:
    twos = [("one", "two"), ("two", "three"), ("one", "three")] * 16
    questions = [
        pair(i, (7.0, 5.0), sources=names) for i, names in enumerate(twos)
    ]
    verdicts = [said(q, "AB"[i % 7 == 0]) for i, q in enumerate(questions)]
    alone = _board(questions, verdicts)
    unbeaten = [
        pair(100 + i, (8.0, 2.0), task="keypoint", sources=("best", "worst"))
        for i in range(8)
    ]
    both = _board(
        [*questions, *unbeaten], [*verdicts, *(said(q, "A") for q in unbeaten)]
    )
    assert both.regularised and not alone.regularised
    assert [
        row for row in both.rows if row.group == "object_detection"
    ] == list(alone.rows)
