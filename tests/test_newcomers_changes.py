"""A newcomer's change touches at most two files of the package, those that
CONTRIBUTING names: each is made in a copy and then used."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import pytest

from package_sources import ROOT

Edit = tuple[str, str, str]
"""A file, a text in it, and what stands in its place; a new file has no such text."""

BACKEND = '''"""A backend that prefers the second option."""

from visualjudge.clients.base import Diagnostics, Identity, Reply, Request


class SecondClient:
    def __init__(self, model_name: str) -> None:
        self.model = model_name
        self.identity = Identity("second", None, model_name)
        self.diagnostics = Diagnostics()

    async def ask(self, request: Request, *, attempt: int = 0) -> Reply:
        return Reply("B")

    async def aclose(self) -> None:
        pass
'''
MEASURE = '''

def same_size(prediction: DepthMap, truth: DepthMap) -> float:
    """Return 1 if both maps have one size, else 0."""
    return float(prediction.values.shape == truth.values.shape)
'''


@dataclass(frozen=True)
class Change:
    """``row`` is the change in CONTRIBUTING's table, ``use`` a program that needs it."""

    row: str
    edits: tuple[Edit, ...]
    use: str


TYPE = "vision/depth/type.py"
CHANGES = (
    Change(
        "a metric",
        (
            ("vision/depth/score.py", "", MEASURE),
            (
                TYPE,
                "    metrics=(\n",
                "    metrics=(\n"
                '        Metric("depth", "same_size", score.same_size),\n',
            ),
        ),
        "import numpy as np, visualjudge as vj; d = {'depth': np.ones((4, 4))}; "
        "print(vj.score('depth_estimation', d, d, metric='same_size'))",
    ),
    Change(
        "an encoding style",
        (
            (
                TYPE,
                '        ("gray",',
                '        ("grey", "Depth in grey", draw.DepthStyle("gray")),\n'
                '        ("gray",',
            ),
            (
                "prompts/assets/questions/format/depth/v1.yaml",
                "  gray: >-",
                "  grey: the predicted depth map in grey.\n  gray: >-",
            ),
        ),
        "import visualjudge as vj; "
        "print([row.stem for row in vj.encodings('depth_estimation')].index('grey'))",
    ),
    Change(
        "a backend",
        (
            ("clients/second.py", "", BACKEND),
            (
                "clients/registry.py",
                '        "google": "visualjudge.clients.google',
                '        "second": "visualjudge.clients.second:SecondClient",\n'
                '        "google": "visualjudge.clients.google',
            ),
        ),
        "import visualjudge as vj; print(vj.client('second', model='m').model)",
    ),
    Change(
        "a criterion of a built-in rubric",
        (
            (
                "prompts/rubrics/quality/v2.yaml",
                "",
                "rubric: quality\nversion: v2\ncriteria:\n  - id: liked\n"
                "    ask: Which option do you like?\n    answer: option\n",
            ),
        ),
        "from visualjudge.prompts.rubric import rubric_of; "
        "assert rubric_of('quality').criteria[0].id == 'liked'",
    ),
)


def _named(row: str) -> list[str]:
    """The files that CONTRIBUTING names for a change, as patterns."""
    text = (ROOT.parents[1] / "CONTRIBUTING.md").read_text("utf-8")
    line = next(x for x in text.splitlines() if x.startswith(f"| {row} |"))
    paths = re.findall(r"`([^`]+/[^`]+\.(?:py|yaml))`", line)
    return [re.sub(r"<[a-z]+>|N(?=\.yaml)", "*", path) for path in paths]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.row)
def test_a_change_touches_the_files_that_contributing_names(
    change: Change, tmp_path: Path
) -> None:
    package = tmp_path / "visualjudge"
    shutil.copytree(ROOT, package)
    touched = {file for file, _, _ in change.edits}
    allowed = _named(change.row)
    assert len(touched) <= 2
    assert [
        file for file in touched if not any(fnmatch(file, p) for p in allowed)
    ] == []
    for file, before, after in change.edits:
        path = package / file
        text = path.read_text("utf-8") if path.exists() else ""
        assert not before or text.count(before) == 1
        path.write_text(
            text.replace(before, after) if before else text + after, "utf-8"
        )
    env = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", change.use],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
