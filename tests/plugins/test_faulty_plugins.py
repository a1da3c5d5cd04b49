"""What a plug-in does wrong is one line without a key, in whatever command it
happens."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from environment import Environment, write_plugin

from folding import each
from making import detection_folder
from visualjudge.clients.registry import CLIENT_REGISTRY
from visualjudge.core.errors import UsageError
from visualjudge.core.registry import Registry
from visualjudge.dataset.build import build
from visualjudge.dataset.exports import FORMATS
from visualjudge.prompts.store import FOLDERS
from visualjudge.vision.encodings import CATALOGUE
from visualjudge.vision.tasks import TASKS

KEY = "sk-0123456789abcdef-very-secret"
TELLS = """
import os
from dataclasses import replace

import visualjudge as vj
from visualjudge.clients.base import Diagnostics, Identity
from visualjudge.core.errors import ClientError
from visualjudge.vision.encodings import CATALOGUE

KEY = os.environ["A_TOKEN"]

class Client:
    identity, diagnostics = Identity("tells", None, "m", {}), Diagnostics()

    def __init__(self, model_name):
        pass

    async def ask(self, request, *, attempt=0):
        raise ClientError(f"refused: {KEY}")

    async def aclose(self):
        pass

def fails(*_, **__):
    raise ValueError(f"not\\nvalid: {KEY}")

vj.register_encoding(replace(CATALOGUE["detection", "text_xyxy"], stem="tells", draw=fails))
vj.register_backend("tells", Client)
vj.register_question_judge("fails", fails)
"""
HANGS = "import pathlib, time\npathlib.Path({!r}).touch()\ntime.sleep(60)\n"


def test_no_exit_of_a_command_shows_the_key_that_a_plugin_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = detection_folder(tmp_path / "data", (2.0, 6.0, 9.0))
    build(data, tmp_path / "dataset")
    monkeypatch.setenv("A_TOKEN", KEY)
    env = Environment.made(tmp_path / "env")
    env.install(write_plugin(tmp_path, "tells", TELLS))
    env.install(
        write_plugin(
            tmp_path, "worse", "import os\nraise OSError(os.environ['A_TOKEN'])"
        )
    )
    judge = ("judge", tmp_path / "dataset", "--limit", "2", "--model", "m")
    ended = env.run_all(
        ("show", "plugins"),
        ("build", data, "--out", tmp_path / "built"),
        (*judge, "--backend", "tells", "--out", tmp_path / "run"),
        (*judge, "--backend", "fails", "--out", tmp_path / "other"),
    )
    shown, built, judged, failed = ended
    assert shown.stdout.splitlines()[1] == "worse  worse 1.2  OSError: ***"
    assert (
        "plug-in tells, encoding tells: ValueError: not valid: ***"
        in built.stderr
    )
    assert (
        "refused: ***" in (tmp_path / "run/verdicts.jsonl").read_text()
        and judged.returncode
    )
    [line] = failed.stderr.splitlines()
    assert line.startswith("visualjudge: ValueError: not valid: ***; ")
    assert line.endswith(
        "a row of a plug-in may be the cause: tells (show plugins)"
    )
    written = [
        path.read_bytes()
        for path in tmp_path.glob("[bor]*/**/*")
        if path.is_file()
    ]
    assert not any(KEY in one.stdout + one.stderr for one in ended)
    assert written and not any(KEY.encode() in content for content in written)


@each(
    ("table", "key", "row"),
    [
        (TASKS, "leak", 5),
        (TASKS, 7, "a task"),
        (CATALOGUE, "leak", None),
        (CLIENT_REGISTRY, "leak", 5),
        (FORMATS, "leak", "module:Name"),
        (FOLDERS, "leak", 3),
    ],
)
def test_a_row_of_another_kind_is_refused(
    table: Registry[Any, Any], key: object, row: object
) -> None:
    with pytest.raises(
        UsageError, match=rf"^{table.what} {key}: must be a .*, got a "
    ):
        table.register(key, row)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_names_a_plugin_that_hangs(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    env = Environment.made(tmp_path / "env")
    env.install(write_plugin(tmp_path, "hangs", HANGS.format(str(begun))))
    process = subprocess.Popen(
        [env.python, "-m", "visualjudge", "show", "plugins"],
        stderr=subprocess.PIPE,
        text=True,
    )
    while not begun.exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=20)[1].splitlines() == [
        "visualjudge: stopped while the plug-in hangs was loaded",
        "visualjudge: cancelled; a run of judge, mmbench, pipeline continues with "
        "--resume",
    ]
    assert process.returncode == 130
