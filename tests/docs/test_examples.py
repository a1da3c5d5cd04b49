"""Scripts, configurations and tables of the pages are what they seem."""

from __future__ import annotations

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

import visualjudge as vj
from making import make_folder
from visualjudge.apps.mmbench.table import read_table
from visualjudge.apps.pipelines import build_pipes, read_config
from visualjudge.cli.main import app
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


def test_configurations_of_judge_modules_are_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-some-length")
    (text,) = (
        text
        for text in blocks("judge-modules.md", "yaml")
        if "metric_configs" in text
    )
    (tmp_path / "judges.yaml").write_text(text, "utf-8")
    pipes = build_pipes(read_config(tmp_path / "judges.yaml"))
    assert list(pipes) == list(yaml.safe_load(text)["metric_configs"])


def test_pairs_in_one_row_become_votes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "prompt,image_a,image_b,winner\na cube,1.png,2.png,B\n"
    Path("pairs.csv").write_text(rows, "utf-8")
    exec(blocks("routes/images.md", "python")[0], {})
    assert Path("votes.csv").read_text("utf-8").splitlines() == [
        "prompt,output,score,source",
        "a cube,1.png,0,a",
        "a cube,2.png,1,b",
    ]


def test_the_workflow_of_the_page_checks_a_judge_in_a_repository_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step's script as the action runs it, in a folder with the lock and the
    dataset alone."""
    [text] = blocks("routes/ci.md", "yaml")
    example = (ROOT / "examples/gate/workflow.yml").read_text("utf-8")
    assert yaml.safe_load(example) == yaml.safe_load(text)
    *_, install, step = yaml.safe_load(text)["jobs"]["gate"]["steps"]
    version = vj.__version__.partition(".dev")[0]
    assert install["run"] == f"pip install visualjudge=={version}"
    address, _, tag = step["uses"].partition("@")
    assert tag == f"v{version}"
    folder = ROOT / address.removeprefix("visualjudge/visualjudge/")
    action = yaml.safe_load((folder / "action.yml").read_text("utf-8"))
    inputs = {name: row["default"] for name, row in action["inputs"].items()}
    inputs |= step["with"]
    [script] = action["runs"]["steps"]
    values = {
        name: inputs[value.removeprefix("${{ inputs.").removesuffix(" }}")]
        for name, value in script["env"].items()
    }
    monkeypatch.chdir(tmp_path)
    make_folder(tmp_path / "data", tasks=["object_detection"], images=12)
    call("$ visualjudge build data --out dataset --workers 1")
    call("\n".join(blocks("routes/ci.md", "console")[0].splitlines()[:2]))
    shutil.rmtree("runs")
    shutil.rmtree("data")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", script["run"]],
        env={**os.environ, **values, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "holds" in done.stdout
    assert Path("gate.xml").is_file()


def call(commands: str) -> str:
    """What commands of a page print, run in this process, where the server is."""
    lines = (shlex.split(line)[2:] for line in commands.splitlines())
    return "".join(
        CliRunner().invoke(app, words, catch_exceptions=False).output
        for words in lines
    )
