"""A line of a rows file that is far too long costs that line, and no memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from visualjudge.apps.pipelines import rows as pipeline_rows
from visualjudge.core.errors import DataError
from visualjudge.data.record_scan import spans


@pytest.mark.parametrize("extra", [0, 1, 99, 100, 101, 250])
def test_a_line_that_is_too_long_is_one_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extra: int
) -> None:
    monkeypatch.setattr(pipeline_rows, "LONGEST_LINE", 100)
    good = '{"key": %d, "instruction": "x", "input_image": "a.png", "edited_images": ["b.png"]}\n'
    (tmp_path / "rows.jsonl").write_text(
        "\ufeff" + good % 1 + "y" * (100 + extra) + "\n" + good % 2
    )
    found, problems = pipeline_rows.read_rows(tmp_path / "rows.jsonl")
    assert [row.key for row in found] == [1, 2]
    assert [problem.record for problem in problems] == ["line 2"]


def test_a_record_that_is_too_long_is_one_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("visualjudge.data.record_scan.LONGEST_RECORD", 100)
    for name, text in {
        "a.jsonl": '{"a": 1}\n{"b": "%s"}\n{"c": 2}\n',
        "a.json": '[{"a": 1}, {"b": "%s"}, {"c": 2}]',
    }.items():
        (tmp_path / name).write_text(text % ("x" * 200))
        values = [value for _, value in spans(tmp_path / name)]
        assert values[::2] == [{"a": 1}, {"c": 2}]
        assert isinstance(values[1], DataError) and "a record must have at most" in str(values[1])
