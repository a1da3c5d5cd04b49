"""The local baseline on the questions of other runs, for reports that hold a judge against it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from visualjudge.dataset.folder import load_dataset
from visualjudge.dataset.stored import View, columns
from visualjudge.judges.local.judge import local_judge
from visualjudge.judges.registry import LOCAL
from visualjudge.runs.folder import RunFolder
from visualjudge.runs.judging import RunSettings, run_judge


def run_baselines(runs: Sequence[str | Path], scratch: Path, *, dataset: str | Path | None = None) -> list[Path]:
    """Put the pairwise questions that ``runs`` answered to the local judge, a run folder in ``scratch`` a dataset.

    None where one of the runs is the local judge's already.
    """
    folders = [RunFolder(run) for run in runs]
    if any(folder.manifest().get("backend") == LOCAL for folder in folders):
        return []
    asked: defaultdict[str, set[str]] = defaultdict(set)
    for folder in folders:
        root = dataset or folder.dataset_path()
        asked[str(root)] |= {verdict.id for verdict in folder.verdicts().values()}
    return [_run(root, ids, scratch / str(k)) for k, (root, ids) in enumerate(asked.items())]


def _run(root: str, ids: set[str], out: Path) -> Path:
    data = load_dataset(root)
    rows = columns(data.questions, "id", "question_type")
    places = [k for k, (name, kind) in enumerate(rows) if kind == "pairwise" and name in ids]
    data = replace(data, questions=View(data.questions, lambda _: places))
    asyncio.run(run_judge(data, local_judge("default", data.root), out, RunSettings()))
    folder = RunFolder(out)
    folder.write_manifest({**folder.manifest(), "kept": False})
    return out
