"""Everything that adopting a copy of each benchmark and log writes, recorded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import visualjudge as vj
from apps.adopt import copies, logs_of_tools
from recording import check, contents
from stored_figures import stored
from visualjudge.analysis import analyse
from visualjudge.apps.adopt.benchmarks import adopt_benchmark

BENCHMARKS: dict[str, tuple[Callable[[Path], Path], tuple[str, ...]]] = {
    "mllm-as-a-judge": (copies.mllm_judge, ("gpt-4o",)),
    "editreward-bench": (
        lambda folder: copies.editreward(folder, images=True),
        ("pvc",),
    ),
    "editscore-bench": (
        lambda folder: copies.editscore(folder, rows=True),
        ("pvc",),
    ),
    "imagenhub": (copies.imagenhub, ("gpt4o",)),
    "imagereward": (copies.imagereward, ("mine",)),
    "mmrb2": (copies.mmrb2, ("sample",)),
    "genai-bench": (copies.genai_hub, ()),
}
LOGS = (
    "inspect",
    "inspect_grades",
    "lmms_eval",
    "vlmevalkit",
)


# one study of each kind of file that is read in a process of its own
pytestmark = pytest.mark.usefixtures("reading_apart")


def _result(home: Path, runs: list[Path]) -> dict[str, object]:
    out = dict(contents(home / "out"))
    if runs:
        judges = stored(analyse(runs))
        out["metrics"] = [
            [
                judge["by_task"],
                judge["unread"],
            ]
            for judge in judges
        ]
    return out


def test_benchmarks(tmp_path: Path) -> None:
    made = {}
    for name, (copy, replies) in BENCHMARKS.items():
        home = tmp_path / name
        done = adopt_benchmark(
            name, copy(home / "copy"), home / "out", replies=replies
        )
        made[name] = _result(home, [run for run, *_ in done.runs])
    check("adopted_benchmarks", made, depth=2)


def test_logs_of_other_tools(tmp_path: Path) -> None:
    made = {}
    for name in LOGS:
        home = tmp_path / name
        home.mkdir()
        log = getattr(logs_of_tools, name)(home)
        done = vj.adopt(log, home / "out")
        made[name] = _result(home, list(done.runs))
    check("adopted_logs", made, depth=2)
