"""Commands without room, without rights, ended by signals: no half file, nothing left over, one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("starving.py")
SOAK_S = os.environ.get("VISUALJUDGE_SOAK", "0")
SAMPLE = () if float(SOAK_S) else ("mmbench infer", "export vlmevalkit")


@pytest.mark.skipif(sys.platform != "linux", reason="capabilities and forks are Linux's")
def test_no_command_leaves_half_a_file_or_a_traceback(tmp_path: Path) -> None:
    words = [sys.executable, SCRIPT, tmp_path / "place", SOAK_S, *SAMPLE]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, timeout=7000)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    assert " cases of " in done.stdout
