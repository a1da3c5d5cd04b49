"""The plug-in to start from works, and its own tests name what is wrong."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import cv2
import numpy as np
from environment import Environment

EXAMPLE = Path(__file__).parents[2] / "examples" / "visualjudge-counting"


def test_the_plugin_works_from_import_to_report(tmp_path: Path) -> None:
    env = Environment.made(tmp_path / "env")
    env.install(EXAMPLE)
    (tmp_path / "photos").mkdir()
    for name, shift in (("gt.csv", 8), ("pred.csv", 6)):
        (tmp_path / name).write_text(
            "image,number\n" + "".join(f"p{k},{shift + k}\n" for k in range(3))
        )
    for k in range(3):
        cv2.imwrite(
            str(tmp_path / "photos" / f"p{k}.png"),
            np.full((32, 32, 3), 60 * k, np.uint8),
        )
    data, dataset, run, metrics = (
        tmp_path / name for name in ("data", "dataset", "run", "metrics.json")
    )
    truth = (
        "--gt",
        tmp_path / "gt.csv",
        "--images",
        tmp_path / "photos",
        "--out",
        data,
    )
    env.run_each(
        ("show", "plugins"),
        (
            "import",
            "counting",
            *truth,
            "--pred",
            tmp_path / "pred.csv",
            "--source",
            "model",
        ),
        ("perturb", "--task", "object_counting", *truth),
        ("build", data, "--out", dataset, "--workers", "1"),
        (
            "judge",
            dataset,
            "--backend",
            "baseline",
            "--model",
            "oracle:1.0",
            "--out",
            run,
        ),
        ("report", run, "--json", metrics, "--out", tmp_path / "report.html"),
    )
    prompt = json.loads((dataset / "questions.json").read_text())[0]["prompt"]
    assert "an object counting task" in prompt
    assert "count the objects in the image" in prompt
    [judge] = json.loads(metrics.read_text())["judges"]
    assert judge["pairwise"]["accuracy"] == 1.0


SPOILED = {
    "metric closeness: must be 1 for the truth, got 0.5": (
        "0.0, 1 - abs(",
        "0.0, 0.5 - abs(",
    ),
    "error type overcount: must lower the score": (
        "return Count(truth.number + round(severity * truth.number))",
        "return Count(truth.number)",
    ),
    "write: must give the same payload": (
        'return {"number": prediction.number}',
        'return {"number": prediction.number + 1}',
    ),
    "encoding text_number: must draw the same prediction identically": (
        "vj.Encoded(text=json.dumps(",
        "vj.Encoded(text=str(__import__('time').perf_counter_ns()) + json.dumps(",
    ),
    "plug-in counting, encoding dots: KeyError: 'no colour'": (
        "return vj.Encoded(pixels)",
        "raise KeyError('no colour')",
    ),
}
"""What the check says, and what is changed in the plug-in."""


CHECKS = """
import importlib, json, pathlib, sys
import visualjudge.core.registry as registry
from visualjudge.testing import check_type

told = []
for old, new in {2!r}:
    pathlib.Path({0!r}).write_text({1!r}.replace(old, new) if old else {1!r})
    process = __import__("multiprocessing").get_context("fork")
    ours, theirs = process.Pipe()

    def check():
        sys.dont_write_bytecode = True
        try:
            check_type("counting")
            theirs.send("")
        except Exception as error:
            theirs.send(str(error))

    one = process.Process(target=check)
    one.start()
    told.append(ours.recv())
    one.join()
print(json.dumps(told))
"""
"""Checks the type after each change, in forks of a process that has imported the
libraries."""


def test_the_check_names_what_is_wrong(tmp_path: Path) -> None:
    env = Environment.made(tmp_path / "env")
    project = Path(shutil.copytree(EXAMPLE, tmp_path / "counting"))
    env.install(project)
    rows = project / "src/visualjudge_counting/rows.py"
    text = rows.read_text()
    assert all(old in text for old, _ in SPOILED.values())
    changes = [("", ""), *SPOILED.values()]
    sound, *spoiled = json.loads(
        env.python_run(CHECKS.format(str(rows), text, changes)).stdout
    )
    assert sound == ""
    for words, told in zip(SPOILED, spoiled, strict=True):
        assert words in told
