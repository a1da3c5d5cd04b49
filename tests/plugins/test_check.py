"""``plugins new`` writes a plug-in that passes ``plugins check``, which names what is wrong with
others.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from environment import Environment

from visualjudge.apps.starting.plugin_new import write_plugin
from visualjudge.core.errors import UsageError

SPOILED = {
    "lambda": (
        "return vj.Encoded(text=json.dumps",
        "return vj.Encoded(text=str(__import__('time').perf_counter_ns()) + json.dumps",
    ),
    "metric": ("return max(0.0, 1 -", "return max(0.0, 0.5 -"),
    "error": (
        "return Count(truth.number + round(severity * truth.number))",
        "return Count(truth.number)",
    ),
    "write": ('return {"number": prediction.number}', 'return {"number": prediction.number + 1}'),
    "draws": ("return vj.Encoded(pixels)", "raise KeyError('no colour')"),
    "reader": ("    truth = _numbers(gt)\n", "    truth = {}[gt]\n"),
}
"""What is changed in the written plug-in."""


def test_a_new_plugin_passes_its_check_and_its_tests(tmp_path: Path) -> None:
    env = Environment.made(tmp_path / "env")
    env.install(write_plugin("crates", tmp_path / "crates"))
    trials = json.loads(env.run("plugins", "check", "crates", "--json").stdout)
    assert all(trial["ok"] for trial in trials)
    assert {"task crates_task, build", "importer crates", "task crates_task, prompt dots"} <= {
        t["what"] for t in trials
    }
    sys.path.append(str(tmp_path / "crates" / "src"))
    env.python_run("import runpy\nfor name, one in "
                   f"runpy.run_path({str(tmp_path / 'crates/tests/test_crates.py')!r})"
                   ".items():\n    if name.startswith('test_'):\n        one()\n")  # fmt: skip


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    env = Environment.made(tmp_path / "env")
    rows = write_plugin("crates", tmp_path / "crates") / "src" / "visualjudge_crates" / "rows.py"
    text = rows.read_text()
    for old, new in SPOILED.values():
        assert old in text
        text = text.replace(old, new)
    rows.write_text(text)
    (rows.parent / "prompts/questions/format/crates/v1.yaml").write_text(
        "prompt_id: questions/format/crates\nversion: v1\nparts:\n  dots: dots.\n"
    )
    env.install(tmp_path / "crates")
    told = env.run("plugins", "check", "crates", status=1).stdout.splitlines()
    failed = dict(line.split(": failed: ", 1) for line in told if ": failed: " in line)
    at = "task crates_task, "
    assert failed[at + "record"].startswith("write: must give the same payload")
    assert failed[at + "metric closeness"] == "must give 1 for the truth against itself, got 0.5"
    assert failed[at + "error type overcount"].startswith(
        "must lower the score as its severity rises"
    )
    assert (
        failed[at + "encoding text_number"] == "must draw the same prediction identically each time"
    )
    assert failed[at + "encoding dots"] == "plug-in crates, encoding dots: KeyError: 'no colour'"
    assert "text_number" in failed[at + "prompt text_number"]
    assert at + "prompt dots" not in failed
    assert failed["importer crates"].startswith("plug-in crates, importer crates: KeyError")


def test_what_is_wrong_with_items_is_named(tmp_path: Path) -> None:
    env = Environment.made(tmp_path / "env")
    oriented = Path(__file__).parents[2] / "examples" / "visualjudge-oriented"
    shutil.copytree(oriented, tmp_path / "oriented")
    package = tmp_path / "oriented" / "src" / "visualjudge_oriented"
    for name, old, new in (
        ("record.py", "def scaled(", "def resized("),
        ("record.py", "item.score, item.bounds)", "item.score, item.bounds[:2])"),
        ("record.py", '"label": item.label,', '"label": item.label.upper(),'),
        ("score.py", "_crowd_shares, class_of_interest)", "_crowd_shares, None)"),
        ("__init__.py", "look=show.features,", "look=show.features, places=lambda _boxes: [0, 0],"),
    ):
        text = (package / name).read_text()
        assert old in text, (name, old)
        (package / name).write_text(text.replace(old, new))
    (package / "prompts/questions/context").mkdir(exist_ok=True)
    (package / "prompts/questions/context/v1.yaml").write_text(
        "prompt_id: questions/context\nversion: v1\nparts:\n  orientated: Boxes.\n"
    )
    env.install(tmp_path / "oriented")
    told = env.run("plugins", "check", "oriented", status=1).stdout.splitlines()
    failed = dict(line.split(": failed: ", 1) for line in told if ": failed: " in line)
    at = "task oriented_detection, "
    assert "must have a method scaled(size, target)" in failed[at + "scaled"]
    assert failed[at + "record"].startswith(
        "write: must keep labels ('lorry', 'ship'), got ('LORRY', 'SHIP')"
    )
    assert "box must be (left, top, right, bottom)" in failed[at + "marks and places"]
    assert "part 'orientated' is never shown" in failed[f"prompts {package / 'prompts'}"]
    assert "class_of_interest: without the items of" in failed[at + "metric f1 of a class"]


@pytest.mark.parametrize("name", ["Upper", "class", "depth", "a-b", ""])
def test_a_name_that_cannot_be_used_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="NAME must"):
        write_plugin(name, tmp_path / "out")
    assert not (tmp_path / "out").exists()
