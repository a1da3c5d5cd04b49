"""Run the local baseline on the questions of other runs, for reports that compare a judge with
it.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.dataset.question_storage import View, columns
from visualjudge.judges.local.judge import local_judge
from visualjudge.judges.registry import LOCAL
from visualjudge.runs.asks import RunSettings
from visualjudge.runs.folder import RunFolder, check_questions
from visualjudge.runs.judge_dataset import run_judge


def run_baselines(
    runs: Sequence[str | Path], scratch: Path, *, dataset: str | Path | None = None
) -> list[Path]:
    """Ask the local judge the pairwise questions answered in ``runs``, with one run folder per
    dataset in ``scratch``.

    Return None if one of the runs is already by the local judge.
    """
    folders = [RunFolder(run) for run in runs]
    if any(folder.manifest().get("backend") == LOCAL for folder in folders):
        return []
    asked: defaultdict[Path, set[str]] = defaultdict(set)
    loaded = dict[Path, Dataset]()
    for folder in folders:
        root = folder.dataset_path(dataset)
        loaded[root] = loaded.get(root) or load_dataset(root)
        check_questions(
            folder.path, folder.manifest(), loaded[root].digest, named=dataset is not None
        )
        asked[root] |= {verdict.id for verdict in folder.verdicts().values()}
    return [
        _run(loaded[root], ids, scratch / str(k)) for k, (root, ids) in enumerate(asked.items())
    ]


def _run(data: Dataset, ids: set[str], out: Path) -> Path:
    rows = columns(data.questions, "id", "question_type")
    places = [k for k, (name, kind) in enumerate(rows) if kind == "pairwise" and name in ids]
    data = replace(data, questions=View(data.questions, lambda _: places))
    asyncio.run(run_judge(data, local_judge("default", data.root), out, RunSettings()))
    folder = RunFolder(out)
    folder.write_manifest({**folder.manifest(), "kept": False})
    return out
