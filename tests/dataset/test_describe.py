"""Counts, quartiles and margins of a handful of annotations."""

from __future__ import annotations

from dataclasses import replace

from visualjudge.core.records import Annotation
from visualjudge.dataset.describe import describe


def note(
    number: int, image: str, score: float, source: str | None = "a"
) -> Annotation:
    return Annotation(
        str(number),
        image,
        "keypoint",
        {},
        score,
        error_type="jitter",
        source=source,
    )


NOTES = [
    note(0, "x", 2),
    note(1, "x", 5, "b"),
    note(2, "x", 5, None),
    note(3, "y", 10),
]


def test_margins_are_of_pairs_within_a_group_that_differ() -> None:
    whole = describe("keypoint", NOTES).to_json()
    assert (
        whole["annotations"],
        whole["images"],
        whole["groups"],
        whole["pairs"],
    ) == (
        4,
        2,
        2,
        2,
    )
    assert whole["margin_median"] == 3
    assert whole["score_median"] == 5


def test_a_margin_below_1_counts_and_one_of_0_does_not() -> None:
    close = [note(0, "x", 2), note(1, "x", 2, "b"), note(2, "x", 2.5, "c")]
    whole = describe("keypoint", close).to_json()
    assert (whole["pairs"], whole["margin_median"]) == (2, 0.5)


def test_sources_are_told_apart_and_a_missing_one_is_named() -> None:
    parts = describe("keypoint", NOTES).to_json()["by_source"]
    assert [(part["name"], part["annotations"]) for part in parts] == [
        ("(none)", 1),
        ("a", 2),
        ("b", 1),
    ]


def test_severities_of_controlled_errors_are_no_sources() -> None:
    made = [replace(one, metadata={"severity": 0.4}) for one in NOTES[:2]]
    parts = describe("keypoint", [*made, *NOTES[2:]]).to_json()
    assert [part["name"] for part in parts["by_source"]] == ["(none)", "a"]
    assert parts["by_error_type"][0]["annotations"] == 4


def test_the_pairs_of_a_source_are_those_that_it_is_in() -> None:
    parts = describe("keypoint", NOTES).to_json()["by_source"]
    assert [
        (part["name"], part["groups"], part["pairs"]) for part in parts
    ] == [
        ("(none)", 1, 1),
        ("a", 2, 2),
        ("b", 1, 1),
    ]


def test_nothing_to_compute_is_null() -> None:
    assert (
        describe("keypoint", [note(0, "x", 1)]).to_json()["margin_median"]
        is None
    )
