"""A question whose fields are of a wrong kind is refused where it is read, by name, so
that no command meets it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from folding import each
from visualjudge.core.errors import DataError
from visualjudge.dataset.json_form import question_from_wire

GOOD: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "faults/seeds/question/0").read_bytes()
)
ODD: tuple[Any, ...] = (
    None,
    5,
    1e308,
    "",
    "text",
    True,
    [1],
    [["a"]],
    [None],
    {"a": 1},
    ["a", "b", "c"],
)
FITTING = {
    ("error_type", None),
    ("class_of_interest", None),
    ("error_type", ""),
    ("error_type", "text"),
    ("answer", "text"),
    ("answer", ""),
}
TEXTS = ("task", "encoding", "image_id", "prompt")
MANY = ("class_of_interest", "subset", "images")


@each("field", [name for name in GOOD if name not in ("id", "features")])
def test_a_value_of_a_wrong_kind_is_refused_with_its_field(field: str) -> None:
    for value in ODD:
        fits = (field in TEXTS and isinstance(value, str)) or (
            field in MANY and value == ["a", "b", "c"]
        )
        if fits or (
            not isinstance(value, list | dict) and (field, value) in FITTING
        ):
            read = getattr(question_from_wire({**GOOD, field: value}), field)
            assert (list(read) if isinstance(read, tuple) else read) == value
        else:
            with pytest.raises(DataError, match=field):
                question_from_wire({**GOOD, field: value})


@pytest.mark.parametrize("answer", ["A", None, 1e300, True])
def test_the_answer_of_a_scoring_question_is_a_number_within_bounds(
    answer: Any,
) -> None:
    one = {
        "annotation_ids": ["a"],
        "final_scores": [1],
        "sources": [None],
        "features": None,
    }
    with pytest.raises(DataError, match="answer"):
        question_from_wire(
            {**GOOD, **one, "question_type": "scoring", "answer": answer}
        )
