"""Runs and datasets from disk, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from visualjudge.analysis.join import Run, Study
from visualjudge.analysis.questions import find, merged
from visualjudge.analysis.verdicts import read_verdicts
from visualjudge.errors import DataError, UsageError
from visualjudge.runs.folder import RUN, RunFolder, stated_dataset


def read_reply(run: Run, offset: int | None) -> Mapping[str, Any]:
    """The whole verdict at ``offset`` of a run, for the few that the report shows."""
    if run.folder is None or offset is None:
        return {}
    return RunFolder(run.folder).record_at(offset)


def _info(folder: Path) -> dict[str, Any]:
    run = RunFolder(folder)
    if not run.manifest_path.is_file():
        raise DataError(f"{run.manifest_path}: no such file; name a folder that `visualjudge judge --out` wrote")
    return run.manifest()


def load_run(folder: str | Path) -> Run:
    """One run folder.

    Raises
    ------
    DataError
        If the folder, its ``run.json`` or its file of verdicts is not there.
    """
    home = Path(folder)
    info = _info(home)
    table, problems, warnings = read_verdicts(home)
    name = str(info.get("judge") or info.get("model") or home.name)
    return Run(name, home, info, table, tuple(problems), tuple(warnings))


def dataset_path(info: Mapping[str, Any]) -> Path | None:
    """Where a run says that its dataset lies."""
    found = stated_dataset(info)
    return None if found is None else Path(found)


def dataset_checksum(info: Mapping[str, Any]) -> str | None:
    """The checksum of questions.json that a run was asked from."""
    found = info.get("dataset")
    nested = found.get("checksum") if isinstance(found, Mapping) else None
    value = nested or info.get("dataset_checksum")
    return str(value) if value else None


def _distinct_names(runs: Sequence[Run]) -> list[Run]:
    """Runs of one judge are told apart by the ends of their folders' paths, as long as it takes."""
    names = [run.name for run in runs]
    out: list[Run] = []
    for run in runs:
        name = run.name
        if names.count(name) > 1 and run.folder is not None:
            name = f"{name} ({_ending(run.folder, [other.folder for other in runs if other.name == run.name])})"
        while name in {r.name for r in out}:
            name += "′"
        out.append(replace(run, name=name))
    return out


def _ending(folder: Path, others: Sequence[Path | None]) -> str:
    """The last parts of the path of ``folder``: so many that no two of ``others`` end alike."""
    paths = {home.resolve().parts for home in others if home is not None}
    longest = max(map(len, paths))
    depth = next((n for n in range(1, longest) if len({parts[-n:] for parts in paths}) == len(paths)), longest)
    return "/".join(folder.resolve().parts[-depth:])


def _refuse_twice(folders: Sequence[str | Path]) -> None:
    seen = set[Path]()
    for folder in folders:
        home = Path(folder).resolve()
        if home in seen:
            raise UsageError(f"{folder}: is given twice; name each run once")
        seen.add(home)


def expected_verdicts(info: Mapping[str, Any], kinds: pl.Series | None) -> int | None:
    """How many verdicts a run is to have: as ``run.json`` states it, else counted from its options.

    ``kinds``: the question type of every question of the run's dataset, in order; None where that is not known.
    """
    asked, limit = info.get("asked"), info.get("limit")
    if isinstance(asked, int):
        return asked
    if kinds is None or not {"swap", "repeats", "limit"} <= info.keys():
        return None
    chosen = kinds.head(limit) if isinstance(limit, int) else kinds
    turned = int((chosen == "pairwise").sum()) if info["swap"] else 0
    return (chosen.len() + turned) * int(info["repeats"] or 1)


def _checked(run: Run, questions: pl.DataFrame, checksum: str | None, alone: bool) -> Run:
    """The run with what does not fit the dataset, or is not there, noted; ``alone``: no other dataset is read."""
    known = questions["id"]
    foreign = run.verdicts.filter(~pl.col("id").is_in(known.implode())).height
    run = replace(run, expected=expected_verdicts(run.info, questions["kind"] if alone else None))
    notes, problems = list(run.warnings), list(run.problems)
    if run.unfinished:
        notes.insert(0, f"{run.folder}: {run.unfinished}")
    if foreign and foreign == run.verdicts.height:
        raise DataError(
            f"{run.folder}: none of its verdicts answers a question of the dataset; name the right one with --dataset"
        )
    if foreign:
        problems.append(f"{run.folder}: {foreign} verdicts are on questions that the dataset does not hold, left out")
    own = dataset_checksum(run.info)
    if own and checksum and own != checksum:
        problems.append(f"{run.folder}: the dataset's questions.json has changed since the run")
    return replace(run, warnings=tuple(notes), problems=tuple(problems))


def _roots(runs: Sequence[Run], dataset: str | Path | None) -> list[Path]:
    if dataset is not None:
        return [Path(dataset)]
    roots: list[Path] = []
    for run in runs:
        root = dataset_path(run.info)
        if root is None:
            raise DataError(f"{run.folder}/run.json: dataset: is missing; name the dataset with --dataset")
        if root not in roots:
            roots.append(root)
    return roots


def input_files(folders: Sequence[str | Path], dataset: str | Path | None = None) -> list[Path]:
    """The files that a study of these runs is read from, there or not.

    Raises
    ------
    DataError
        If a ``run.json`` cannot be read.
    """
    homes = [Path(folder) for folder in folders]
    roots = [Path(dataset)] if dataset is not None else [dataset_path(_info(home)) for home in homes]
    files = [path for home in homes for path in (RunFolder(home).verdicts_path, home / RUN)]
    return files + [root / name for root in roots if root for name in ("questions.json", "dataset.json")]


def load_study(folders: Sequence[str | Path], *, dataset: str | Path | None = None, seed: int = 0) -> Study:
    """Runs with the questions they were asked. ``dataset`` overrides the path that the runs remember.

    Raises
    ------
    UsageError
        If a run is given twice.
    DataError
        If a run or its dataset cannot be read, none of a run's verdicts is on a question of the dataset, or two
        datasets hold different questions under one id.
    """
    _refuse_twice(folders)
    runs = _distinct_names([load_run(folder) for folder in folders])
    roots = _roots(runs, dataset)
    try:
        table, meta = merged(roots)
    except UsageError as error:
        hint = "" if dataset is not None else "; a dataset that was moved is named with --dataset (dataset in Python)"
        raise UsageError(f"{error}{hint}") from None
    checksum = str(meta.get("questions_sha256") or "") if len(roots) == 1 else None
    checked = tuple(_checked(run, table, checksum, len(roots) == 1) for run in runs)
    return Study(table, checked, meta, roots[0], seed, lambda ids: find(roots, ids))
