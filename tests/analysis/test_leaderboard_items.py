"""Encodings are compared on the same pair of predictions, whichever of the two was shown as A."""

from __future__ import annotations

from dataclasses import replace

from visualjudge.analysis.join import question_table
from visualjudge.records import Question

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
    first, second, third = table["item"].to_list()
    assert first == second
    assert first != third
    assert table["annotations"].to_list()[1] == ["y", "x"]
