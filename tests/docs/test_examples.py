"""Scripts, configurations and tables of the pages are what they seem."""

from __future__ import annotations

import json
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
import skimage.data
import yaml
from PIL import Image
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
        text for text in blocks("decide.md", "") if text.startswith("Model")
    ).splitlines()
    assert printed[: len(shown)] == shown
    assert "a difference of 0.5: 572 labels in all" in printed


def test_the_script_of_the_multiple_choice_page_writes_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [script] = blocks("routes/multiple-choice.md", "python")
    for name in ("cup", "cat"):
        write_png(tmp_path / f"{name}.png", np.zeros((4, 4, 3), np.uint8))
    monkeypatch.chdir(tmp_path)
    exec(script)
    table = read_table("DATA.tsv")
    assert [row.answer for row in table.rows] == ["A", "B"]
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


def test_a_metric_and_an_encoding_of_a_script_become_an_answer(
    tmp_path: Path,
) -> None:
    """In a process of its own, since rows are registered for good."""
    [prompts] = blocks("routes/own.md", "yaml")
    asset = tmp_path / "prompts/questions/format/detection/v1.yaml"
    asset.parent.mkdir(parents=True)
    asset.write_text(prompts, "utf-8")
    [script] = blocks("routes/own.md", "python")
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("Yes: 1 of 1 pair"), done.stderr
    notes = vj.open_data(tmp_path / "data").annotations("object_detection")
    scores = {note.source: note.final_score for note in notes}
    assert scores["alder"] > scores["birch"]
    questions = json.loads((tmp_path / "dataset/questions.json").read_bytes())
    assert "top-left corner in pixels" in questions[0]["prompt"]


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


def test_images_without_votes_are_questions_without_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("flux", "sdxl"):
        Path(name).mkdir()
        for k in range(2):
            Image.new("RGB", (8, 8)).save(f"{name}/{k}.png")
    [script] = [code for code in blocks("adopt.md", "python") if "json" in code]
    exec(script, {})
    words = ["adopt", "questions.json", "--media", ".", "--out", "set"]
    assert CliRunner().invoke(app, words).exit_code == 0
    judge = vj.client("baseline", model="first")
    run = vj.judge("set/dataset", judge, "run", swap=True)
    answer = vj.card([run]).judges[0].answer
    assert [(pair.a, pair.b) for pair in answer.pairs] == [("flux", "sdxl")]


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


def run_example(folder: Path, module: str, script: str, *names: str) -> None:
    """Run a script of an example where its model is installed: the interpreter that
    ``VISUALJUDGE_EXAMPLES`` names, since the model needs an environment of its own.
    """
    python = os.environ.get("VISUALJUDGE_EXAMPLES")
    if not python:
        pytest.skip("VISUALJUDGE_EXAMPLES names no Python with the models")
    own = {
        key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ
    }
    if subprocess.run([python, "-c", f"import {module}"], env=own).returncode:
        pytest.skip(f"{python} has no {module}")
    command = [python, str(ROOT / "examples" / script), *names]
    subprocess.run(command, cwd=folder, env=own, check=True)


def imported(folder: Path, *arguments: str) -> str:
    """What ``import coco`` prints of the files of an example."""
    done = CliRunner().invoke(
        app, ["import", "coco", *arguments, "--out", str(folder / "data")]
    )
    assert done.exit_code == 0, done.output
    return done.output


FACE = {"nose": (222, 132), "left_eye": (246, 112), "right_eye": (204, 108)}
"""Where they are in the photograph, in pixels."""


def test_the_poses_of_a_real_model_lie_on_the_person(tmp_path: Path) -> None:
    write_png(tmp_path / "images/astronaut.png", skimage.data.astronaut())
    points = [value for place in FACE.values() for value in (*place, 2)]
    truth = {
        "images": [
            {"id": 1, "file_name": "astronaut.png", "width": 512, "height": 512}
        ],
        "annotations": [
            {
                "id": 1,
                "image_id": 1,
                "category_id": 1,
                "iscrowd": 0,
                "bbox": [40, 0, 440, 512],
                "area": 225280,
                "num_keypoints": len(FACE),
                "keypoints": points + [0] * 3 * (17 - len(FACE)),
            }
        ],
        "categories": [{"id": 1, "name": "person"}],
    }
    (tmp_path / "person.json").write_text(json.dumps(truth), "utf-8")
    names = ("person.json", "images", "poses.json")
    run_example(tmp_path, "mediapipe", "poses/poses.py", *names)
    text = (tmp_path / "poses.json").read_text("utf-8")
    (pose,) = json.loads(text)
    for number, place in enumerate(FACE.values()):
        x, y, _ = pose["keypoints"][3 * number : 3 * number + 3]
        assert np.hypot(x - place[0], y - place[1]) < 12
    output = imported(
        tmp_path,
        "--task=keypoint",
        f"--gt={tmp_path / 'person.json'}",
        f"--images={tmp_path / 'images'}",
        f"--pred={tmp_path / 'poses.json'}",
        "--source=mediapipe",
    )
    assert "predictions 1" in output


def test_a_real_model_finds_lines_of_text(tmp_path: Path) -> None:
    run_example(tmp_path, "rapidocr", "text/text.py", "pages", "3")
    pages = tmp_path / "pages"
    count = {
        name: len(json.loads((pages / f"{name}.json").read_text("utf-8")))
        for name in ("full", "third")
    }
    assert count["full"] > count["third"] > 20
    output = imported(
        tmp_path,
        "--task=object_detection",
        f"--gt={pages / 'truth.json'}",
        f"--images={pages / 'images'}",
        f"--pred={pages / 'full.json'}",
        "--source=full",
        f"--pred={pages / 'third.json'}",
        "--source=third",
    )
    assert "images 3" in output
