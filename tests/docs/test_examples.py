"""Scripts, configurations and tables of the pages are what they seem."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from visualjudge.analysis.decisions.correct import correct
from visualjudge.analysis.decisions.items_to_label import label
from visualjudge.apps.mmbench.table import read_table
from visualjudge.apps.pipelines import build_pipes, read_config, read_rows
from visualjudge.vision.raster.images import write_png

ROOT = Path(__file__).parents[2]


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text("utf-8")
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [block for name, block in found if name == language]


def test_the_table_of_ten_detectors_is_what_the_commands_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["ten_detectors.py", "OUT"])
    runpy.run_path(str(ROOT / "examples/ten_detectors.py"), run_name="__main__")
    label(["OUT/run"], 60).table().write_csv("next.csv")
    exec(next(code for code in blocks("decide.md", "python") if "truth.csv" in code))
    printed = str(correct(["OUT/run"], "next.csv", gap=0.5)).splitlines()
    shown = next(text for text in blocks("decide.md", "") if text.startswith("Source")).splitlines()
    assert printed[: len(shown)] == shown
    assert "a difference of 0.5: 580 labels in all" in printed


def test_the_script_of_the_multiple_choice_page_writes_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (script,) = blocks("mmbench.md", "python")
    for name in ("coffee", "chelsea", "rocket", "coins"):
        write_png(tmp_path / f"demo-out/data/files/{name}.png", np.zeros((4, 4, 3), np.uint8))
    monkeypatch.chdir(tmp_path)
    exec(script)
    table = read_table("DATA.tsv")
    assert [row.answer for row in table.rows] == ["A", "B", "C", "D"]
    assert not table.problems


@pytest.mark.parametrize("page", ["tutorials/editing.md", "judge-modules.md"])
def test_configurations_of_judge_modules_are_valid(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-some-length")
    (text,) = (text for text in blocks(page, "yaml") if "metric_configs" in text)
    (tmp_path / "judges.yaml").write_text(text, "utf-8")
    pipes = build_pipes(read_config(tmp_path / "judges.yaml"))
    assert list(pipes) == list(yaml.safe_load(text)["metric_configs"])


def test_the_rows_of_the_editing_tutorial_are_read(tmp_path: Path) -> None:
    (text,) = blocks("tutorials/editing.md", "json")
    (tmp_path / "edits.jsonl").write_text(text, "utf-8")
    rows, problems = read_rows(tmp_path / "edits.jsonl")
    assert len(rows) == 2 and not problems
