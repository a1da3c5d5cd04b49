"""Tables take rows from outside; a broken plug-in is one line and leaves nothing
behind."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from environment import Environment, write_plugin

import visualjudge as vj
from visualjudge.cli.main import command_named
from visualjudge.core import registry
from visualjudge.core.errors import UsageError
from visualjudge.core.workers import Workers
from visualjudge.prompts.store import FOLDERS
from visualjudge.vision.metrics import METRICS
from visualjudge.vision.predictions import Detections
from visualjudge.vision.tasks import TASKS, task_named

LANES = vj.Task("lane_marking", "lane marking", "detection", classed=True)
BOX = {"detections": [{"label": "lane", "bbox": [1, 1, 5, 5]}]}

BROKEN = """
import visualjudge as vj

def register():
    vj.register_task(vj.Task("half_done", "half done", "depth"))
    raise RuntimeError("no licence\\nfound")
"""
GOOD = """
import visualjudge as vj

vj.register_task(vj.Task("surface_depth", "surface depth estimation", "depth"))
"""
TAKEN = """
import visualjudge as vj

vj.register_task(vj.Task("keypoint", "another keypoint task", "depth"))
"""


@pytest.fixture
def lanes() -> Iterator[vj.Task]:
    vj.register_task(LANES)
    yield LANES
    TASKS.remove(LANES.name)


def always_half(
    _prediction: Detections, _truth: Detections, *, offset: float = 0.0
) -> float:
    return 0.5 + offset


def test_a_task_of_a_known_type_is_one_row(lanes: vj.Task) -> None:
    assert [row.stem for row in vj.encodings(lanes.name)] == [
        row.stem for row in vj.encodings("object_detection")
    ]
    assert vj.score(lanes.name, BOX, BOX) == 10.0
    assert (
        vj.encode(
            lanes.name, "text_xyxy", BOX, np.zeros((8, 8, 3), np.uint8)
        ).text
        is not None
    )


def test_a_name_is_registered_once(lanes: vj.Task) -> None:
    with pytest.raises(
        UsageError, match="task lane_marking is already registered"
    ):
        vj.register_task(lanes)
    with pytest.raises(
        UsageError, match="metric detection f1 is already registered"
    ):
        vj.register_metric("detection", "f1", always_half)


def test_a_metric_is_asked_for_by_name_and_the_default_stays() -> None:
    vj.register_metric("detection", "half", always_half, options=("offset",))
    try:
        assert vj.score("object_detection", BOX, BOX) == 10.0
        assert vj.score("object_detection", BOX, BOX, metric="half") == 5.0
        assert (
            vj.score("object_detection", BOX, BOX, metric="half", offset=0.25)
            == 7.5
        )
        with pytest.raises(
            UsageError, match="metric must be one of f1, half, got 'nope'"
        ):
            vj.score("object_detection", BOX, BOX, metric="nope")
    finally:
        METRICS.remove(("detection", "half"))


def plain(prediction, truth, offset=0.5, mode=None):  # type: ignore[no-untyped-def]
    return offset


def test_a_metric_without_annotations_has_options_of_its_defaults(
    capsys: pytest.CaptureFixture[str],
) -> None:
    vj.register_metric("detection", "plain", plain, options=("offset", "mode"))
    try:
        command_named("import").main(["coco", "--help"], standalone_mode=False)
    finally:
        METRICS.remove(("detection", "plain"))
    screen = capsys.readouterr().out
    assert "--offset" in screen and "--mode" in screen
    assert "f1 or f1" not in screen


def test_spawned_workers_get_what_a_script_registered(lanes: vj.Task) -> None:
    with Workers(2) as workers:
        assert list(workers.map(task_named, [lanes.name] * 2)) == [lanes, lanes]


def test_a_row_that_cannot_be_sent_to_workers_is_named() -> None:
    vj.register_metric("detection", "local", lambda prediction, truth: 0.0)
    try:
        with pytest.raises(
            UsageError, match=r"metric \('detection', 'local'\).*`workers` 1"
        ):
            Workers(2)
    finally:
        METRICS.remove(("detection", "local"))


def test_prompt_folders_add_parts_and_replace_none(tmp_path: Path) -> None:
    from visualjudge.prompts.store import PromptAssetStore

    place = tmp_path / "questions" / "context"
    place.mkdir(parents=True)
    (place / "v1.yaml").write_text(
        "prompt_id: questions/context\nversion: v1\nparts:\n  keypoint: Replaced.\n  "
        "flow: Added.\n"
    )
    before = PromptAssetStore().get_prompt("questions/context").parts
    vj.register_prompts(tmp_path)
    try:
        after = PromptAssetStore().get_prompt("questions/context").parts
        assert after == {**before, "flow": "Added."}
    finally:
        FOLDERS.remove(str(tmp_path))


def test_a_broken_plugin_is_one_line_and_skipped(tmp_path: Path) -> None:
    env = Environment.made(tmp_path / "env")
    env.install(write_plugin(tmp_path, "broken", BROKEN, entry=":register"))
    env.install(
        write_plugin(
            tmp_path,
            "ends",
            "raise GeneratorExit('a\\x1b[31mred\\n' + 999 * 'x')",
        )
    )
    env.install(write_plugin(tmp_path, "good", GOOD))
    env.install(write_plugin(tmp_path, "missing", "import no_such_module"))
    env.install(write_plugin(tmp_path, "taken", TAKEN))
    done, listed, wrong = env.run_all(
        ("show", "plugins"),
        ("show", "encodings", "--task", "surface_depth"),
        ("show", "encodings", "--task", "nope"),
    )
    ends = "GeneratorExit: a[31mred " + 276 * "x"
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "broken  broken 1.2  RuntimeError: no licence found",
        f"ends  ends 1.2  {ends}",
        "good  good 1.2  task surface_depth",
        "missing  missing 1.2  ModuleNotFoundError: No module named 'no_such_module'",
        "taken  taken 1.2  UsageError: task keypoint is already registered",
    ]
    assert done.stderr.splitlines() == [
        "visualjudge: plug-in broken skipped: RuntimeError: no licence found",
        f"visualjudge: plug-in ends skipped: {ends}",
        "visualjudge: plug-in missing skipped: ModuleNotFoundError: No module named "
        "'no_such_module'",
        "visualjudge: plug-in taken skipped: UsageError: task keypoint is already "
        "registered",
    ]
    assert "plasma" in listed.stdout
    assert wrong.returncode == 2 and "half_done" not in wrong.stderr


def test_no_table_is_read_while_a_module_is_imported() -> None:
    """Else a plug-in would be loaded in the middle of the import of what it builds
    on."""
    code = (
        "import importlib, pkgutil, visualjudge, visualjudge.core.registry as r\n"
        "for found in pkgutil.walk_packages(visualjudge.__path__, 'visualjudge.'):\n"
        "    if not found.name.startswith('visualjudge.cli') and not "
        "found.name.endswith('__main__'):\n"
        "        try:\n"
        "            importlib.import_module(found.name)\n"
        "        except ImportError:\n"
        "            pass\n"
        "        assert not r._STATE.begun, found.name\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture
def stated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry._STATE, "stated", {})


def test_a_missing_row_is_named_with_its_plugin_only_where_a_file_says_so(
    stated: None,
) -> None:
    aerial = {
        "name": "aerial",
        "distribution": "vj-aerial",
        "version": "1.0",
        "rows": ["task quads"],
    }
    registry.note_made_with(
        [
            aerial,
            {"name": "script"},
            {**aerial, "name": "x; rm -r", "rows": []},
        ]
    )
    told = (
        ", of the plug-in aerial (vj-aerial 1.0), which is not installed or was "
        "skipped (show plugins); if you trust its makers: pip install vj-aerial==1.0; "
        "must be one of "
    )
    with pytest.raises(
        UsageError, match=f"^unknown task 'quads'{re.escape(told)}"
    ):
        task_named("quads")
    with pytest.raises(
        UsageError, match=r"^unknown task 'other'; must be one of "
    ):
        task_named("other")
