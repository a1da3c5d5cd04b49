"""A dataset's file of predictions: a line is of an annotation, or of an image's
region."""

from __future__ import annotations

from pathlib import Path

import pytest

from visualjudge.core.errors import DataError
from visualjudge.dataset.predictions_file import PREDICTIONS, stored_predictions

TASK = '"task":"object_detection"'
OF_ANNOTATION = f'{{{TASK},"annotation_id":"a","prediction":{{}}}}'
OF_IMAGE = '{"task":"inpainting","image_id":"i","mask":{}}'


def test_lines_of_annotations_and_of_images_are_read(tmp_path: Path) -> None:
    text = f"{OF_ANNOTATION}\n\n{OF_IMAGE}\n"
    (tmp_path / PREDICTIONS).write_text(text, "utf-8")
    rows = [row for _, row in stored_predictions(tmp_path)]
    assert [(row.annotation_id, row.image_id) for row in rows] == [
        ("a", None),
        (None, "i"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        f"{{{TASK}}}",
        f'{{{TASK},"annotation_id":"a"}}',
        f'{{{TASK},"annotation_id":"a","prediction":{{}},"image_id":"i","mask":{{}}}}',
    ],
)
def test_a_line_of_neither_or_of_both_is_refused(
    tmp_path: Path, line: str
) -> None:
    (tmp_path / PREDICTIONS).write_text(f"{OF_IMAGE}\n{line}\n", "utf-8")
    with pytest.raises(DataError, match="line 2: must have annotation_id and"):
        list(stored_predictions(tmp_path))
