"""Commands without room, without rights, ended by signals: no half file, nothing left
over, and they go on.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("starving.py")
SOAK_S = os.environ.get("VISUALJUDGE_SOAK", "0")
SAMPLE = "mmbench infer,studio people"
KILLED = "import,judge"

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="capabilities and forks are Linux's"
)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the script found, a line a fault, and a last line of counts."""
    names = [] if float(SOAK_S) else [SAMPLE, "--kill", KILLED]
    words = [
        sys.executable,
        SCRIPT,
        tmp_path_factory.mktemp("starving") / "place",
        SOAK_S,
        *names,
    ]
    done = subprocess.run(
        list(map(str, words)),
        capture_output=True,
        text=True,
        check=False,
        timeout=7000,
    )
    assert " cases of " in done.stdout, (done.stdout + done.stderr)[-6000:]
    return done.stdout.splitlines()


def test_no_command_leaves_half_a_file_or_a_traceback(told: list[str]) -> None:
    assert [
        line
        for line in told[:-1]
        if "after a kill" not in line and " cases so far" not in line
    ] == []


def test_a_killed_command_goes_on_and_loses_and_doubles_nothing(
    told: list[str],
) -> None:
    assert [line for line in told if "after a kill" in line] == []
