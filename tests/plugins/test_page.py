"""The plug-in of docs/plugins.md, put together from the page alone, works."""

from __future__ import annotations

import json
import re
from pathlib import Path

import cv2
import numpy as np
from environment import Environment

PAGE = Path(__file__).parents[2] / "docs" / "plugins.md"


def assembled(root: Path) -> Path:
    """The files of the page: a block that names its file begins it, and later Python blocks
    continue ``count.py``.
    """
    files: dict[str, str] = {}
    for body in re.findall(
        r"```(?:toml|python|yaml)\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL
    ):
        named = re.match(r"# (\S+)\n", body)
        name = named.group(1) if named else "src/visualjudge_counting/count.py"
        files[name] = files.get(name, "") + body + "\n"
    for name, body in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(body, encoding="utf-8")
    return root


def test_the_plugin_of_the_page_works_from_import_to_report(tmp_path: Path) -> None:
    env = Environment.made(tmp_path / "env")
    env.install(assembled(tmp_path / "counting"))
    (tmp_path / "photos").mkdir()
    for name, shift in (("gt.csv", 8), ("pred.csv", 6)):
        (tmp_path / name).write_text(
            "image,count\n" + "".join(f"p{k},{shift + k}\n" for k in range(3))
        )
    for k in range(3):
        cv2.imwrite(str(tmp_path / "photos" / f"p{k}.png"), np.full((32, 32, 3), 60 * k, np.uint8))
    data, dataset, run, metrics = (
        tmp_path / name for name in ("data", "dataset", "run", "metrics.json")
    )
    truth = ("--gt", tmp_path / "gt.csv", "--images", tmp_path / "photos", "--out", data)
    env.run_each(
        ("plugins",),
        ("plugins", "check", "counting"),
        ("import", "counts", *truth, "--pred", tmp_path / "pred.csv", "--source", "model"),
        ("perturb", "--task", "object_counting", *truth),
        ("build", data, "--out", dataset),
        ("judge", dataset, "--backend", "baseline", "--model", "oracle:1.0", "--out", run),
        ("report", run, "--json", metrics, "--out", tmp_path / "report.html"),
    )
    prompt = json.loads((dataset / "questions.json").read_text())[0]["prompt"]
    assert "an object counting task" in prompt
    assert "count the objects in the image" in prompt
    [judge] = json.loads(metrics.read_text())["judges"]
    assert judge["pairwise"]["accuracy"] == 1.0
