"""What a killed import leaves is removed by the next one; that of a living one is
not."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from visualjudge.data.writer import FolderWriter

KILLED = """
import os, signal, sys
from visualjudge.data.writer import FolderWriter
with FolderWriter(sys.argv[1], "object_detection"):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def _stages(root: Path) -> list[Path]:
    return [path for path in root.iterdir() if "import-" in path.name]


def test_the_files_of_a_killed_import_are_removed_by_the_next(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)], check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert _stages(tmp_path)
    with (
        FolderWriter(tmp_path, "object_detection"),
        FolderWriter(tmp_path, "keypoint"),
    ):
        running = [path for path in _stages(tmp_path) if path.is_dir()]
        assert len(running) == 2
    assert not _stages(tmp_path)
