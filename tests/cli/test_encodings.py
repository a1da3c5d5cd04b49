"""The program writes UTF-8 whatever the system's encoding is, as on Windows without
UTF-8 mode."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from making import detection_folder

SOURCE = "modèle-日本"
NOT_UTF8 = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}


SEVERAL = """
import sys
from visualjudge.cli.main import run
for words in {words}:
    sys.argv = ["visualjudge", *words]
    stdout, stderr = sys.stdout, sys.stderr
    try:
        run()
    except SystemExit as end:
        assert not end.code, words
    sys.stdout, sys.stderr = stdout, stderr
"""


def visualjudge(home: Path, *commands: str) -> str:
    environment = {**os.environ, **NOT_UTF8}
    environment.pop("PYTHONIOENCODING", None)
    program = SEVERAL.format(words=[line.split() for line in commands])
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=home,
        env=environment,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr.decode("utf-8")
    return done.stdout.decode("utf-8")


def test_pages_tables_and_outputs_are_utf_8_on_a_system_that_is_not(
    tmp_path: Path,
) -> None:
    detection_folder(tmp_path / "data", [9.0, 3.0, 5.0, 7.0], source=SOURCE)
    printed = visualjudge(
        tmp_path,
        "build data --out ds",
        "judge ds --backend local --model default --out run",
        "card run --details",
        "report run --out r.html",
    )
    assert "≥" in printed
    assert SOURCE in (tmp_path / "ds/questions.json").read_text("utf-8")
    assert "</html>" in (tmp_path / "r.html").read_text("utf-8")
