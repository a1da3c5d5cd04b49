"""Scripts, configurations and tables of the pages are what they seem."""

from __future__ import annotations

import csv
import re
import runpy
import shlex
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

import visualjudge as vj
from clients.loopback import serving
from visualjudge.apps.mmbench.table import read_table
from visualjudge.apps.pipelines import build_pipes, read_config
from visualjudge.cli.main import app
from visualjudge.clients.sync_calls import run_sync
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
    vj.label("OUT/run", 60).table().write_csv("next.csv")
    exec(
        next(
            code
            for code in blocks("decide.md", "python")
            if "truth.csv" in code
        )
    )
    printed = str(vj.correct("OUT/run", "next.csv", gap=0.5)).splitlines()
    shown = next(
        text for text in blocks("decide.md", "") if text.startswith("Source")
    ).splitlines()
    assert printed[: len(shown)] == shown
    assert "a difference of 0.5: 581 labels in all" in printed


def test_the_script_of_the_multiple_choice_page_writes_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = next(
        block for block in blocks("mmbench.md", "python") if "DATA.tsv" in block
    )
    for name in ("coffee", "chelsea", "rocket", "coins"):
        write_png(
            tmp_path / f"demo-out/data/files/{name}.png",
            np.zeros((4, 4, 3), np.uint8),
        )
    monkeypatch.chdir(tmp_path)
    exec(script)
    table = read_table("DATA.tsv")
    assert [row.answer for row in table.rows] == ["A", "B", "C", "D"]
    assert not table.problems


def test_arrays_of_segmenters_become_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = next(
        block
        for block in blocks("python.md", "python")
        if "segment(photo" in block
    )
    monkeypatch.chdir(tmp_path)
    exec(script, {})
    assert "careful" in Path("report.html").read_text("utf-8")
    task = "semantic_segmentation"
    scores = {
        note.source: note.final_score
        for note in vj.open_data("data").annotations(task)
    }
    assert scores["careful"] > scores["hasty"]


@pytest.mark.parametrize("page", ["tutorials/editing.md", "judge-modules.md"])
def test_configurations_of_judge_modules_are_valid(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-some-length")
    (text,) = (
        text for text in blocks(page, "yaml") if "metric_configs" in text
    )
    (tmp_path / "judges.yaml").write_text(text, "utf-8")
    pipes = build_pipes(read_config(tmp_path / "judges.yaml"))
    assert list(pipes) == list(yaml.safe_load(text)["metric_configs"])


def test_the_editing_tutorial_leads_from_edits_to_a_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its scripts and commands in turn; the judge here always prefers the first
    image."""
    page = "tutorials/editing.md"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-some-length")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (head, *pairs) = blocks(page, "csv")[0].splitlines()
    many = [
        pairs[k % 2].replace("cup", f"cup{k}").replace("dog", f"dog{k}")
        for k in range(12)
    ]
    Path("edits.csv").write_text("\n".join([head, *many]), "utf-8")
    for k, row in enumerate(csv.DictReader(many, head.split(","))):
        for shade, name in enumerate(("input_image", "edit_a", "edit_b")):
            Path(row[name]).parent.mkdir(exist_ok=True)
            write_png(
                Path(row[name]), np.full((16, 16, 3), 80 * shade + k, np.uint8)
            )
    (first,) = blocks(page, "python")
    (config,) = blocks(page, "yaml")
    asking, judging = blocks(page, "console")
    exec(first, {})
    context = serving('{"winner": "Image A"}')
    server = run_sync(context.__aenter__())
    address = f"  backend: api\n  base_url: {server.url}/v1\n"
    Path("judges.yaml").write_text(
        config.replace("  backend: api\n", address), "utf-8"
    )
    assert "next: visualjudge adopt results.jsonl --out study" in call(asking)
    run_sync(context.__aexit__(None, None, None))
    assert len(server.bodies) == 48, "12 pairs, two metrics, both orders"
    printed = call(judging)
    verdicts = vj.open_run("study/gpt-4o").verdicts.values()
    assert Counter(one.order for one in verdicts) == {"AB": 24, "BA": 24}
    assert "+50.0 points" in printed
    assert Path("report.html").is_file()


def call(commands: str) -> str:
    """What commands of a page print, run in this process, where the server is."""
    lines = (shlex.split(line)[2:] for line in commands.splitlines())
    return "".join(
        CliRunner().invoke(app, words, catch_exceptions=False).output
        for words in lines
    )
