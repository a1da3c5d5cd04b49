"""The commands of the tutorials, run as written, in the folder that the demo left."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted(path for path in (ROOT / "docs/tutorials").glob("*.md") if "```console" in path.read_text("utf-8"))
DEMO = Path(os.environ.get("VISUALJUDGE_DEMO", ROOT / "demo-out"))


def steps(page: Path) -> list[list[str]]:
    """The commands of a page but the demo itself, without their first word."""
    text = page.read_text("utf-8").replace("\\\n", " ")
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    return [shlex.split(line)[1:] for line in lines if not line.startswith("visualjudge demo")]


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_runs_as_written(page: Path, tmp_path: Path) -> None:
    if not (DEMO / "data").is_dir():
        pytest.skip(f"{DEMO} is not here: run make demo, or set VISUALJUDGE_DEMO")
    (tmp_path / "demo-out").symlink_to(DEMO, target_is_directory=True)
    commands = steps(page)
    assert commands
    for words in commands:
        done = subprocess.run(
            [sys.executable, "-m", "visualjudge", *words], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
