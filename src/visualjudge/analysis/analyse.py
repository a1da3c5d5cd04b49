"""Everything that a report says, computed once: plain rows for JSON, and the same rows as polars tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from visualjudge.analysis.bias import binomial_p, preferences, swap_figures
from visualjudge.analysis.bootstrap import Resampling
from visualjudge.analysis.cells import margin_bin, pairwise_cells
from visualjudge.analysis.comparisons import comparisons, judge_agreement, strangers
from visualjudge.analysis.encoding_choice import recommend, why_none
from visualjudge.analysis.join import Run, Study
from visualjudge.analysis.leaderboard import leaderboard
from visualjudge.analysis.leaks import leak_audit
from visualjudge.analysis.load import load_study
from visualjudge.analysis.psychometric import sensitivity
from visualjudge.analysis.scores import ranking_block, scoring_block
from visualjudge.analysis.variance import variance_row

Rows = list[dict[str, Any]]
Progress = Callable[[str], None]
_EMPTY_PAIRWISE = {
    "n": 0,
    "images": 0,
    "accuracy": None,
    "ci95": None,
    "failed": 0,
    "accuracy_bounds": None,
    "accuracy_parsed": None,
    "answered_a": None,
}
BY = {"by_task": ["task"], "by_encoding": ["task", "encoding"], "by_error_type": ["error_type"]}


@dataclass(frozen=True, eq=False)
class Analysis:
    """The whole result: ``metrics`` is what metrics.json holds, :attr:`tables` the same figures as polars tables."""

    study: Study
    metrics: Mapping[str, Any]

    @cached_property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Long tables by name: headline, by_task, by_encoding, …, comparisons, leak_audit. One row a judge and cell."""
        from visualjudge.analysis.tables import tables_of

        return tables_of(self.metrics)


def analyse(
    runs: Sequence[str | Path], *, dataset: str | Path | None = None, seed: int = 0, progress: Progress | None = None
) -> Analysis:
    """Analyse run folders.

    ``dataset`` overrides the dataset path that the runs remember; ``seed`` seeds the bootstrap.

    Raises
    ------
    DataError
        If a run or its dataset cannot be read.
    """
    say = progress or (lambda _: None)
    say("reading verdicts")
    return analyse_study(load_study(runs, dataset=dataset, seed=seed), progress=progress)


def analyse_study(study: Study, *, progress: Progress | None = None) -> Analysis:
    """Analyse questions and verdicts that are in memory already (see :func:`visualjudge.analysis.join.study_of`)."""
    say = progress or (lambda _: None)
    resampling = Resampling(study.clusters, study.seed)
    judges = []
    for i, run in enumerate(study.runs):
        say(f"judge {run.name}")
        judges.append(judge_entry(study, i, resampling))
    say("comparing judges")
    metrics = {
        "judges": judges,
        "warnings": strangers(study),
        "comparisons": comparisons(study, resampling),
        "judge_agreement": judge_agreement(study),
        "leak_audit": leak_audit(study.questions, resampling),
        "dataset": _dataset_entry(study),
        "bootstrap": {"clusters": resampling.clusters, "draws": resampling.draws, "seed": resampling.seed},
    }
    return Analysis(study, plain(metrics))


def plain(value: Any) -> Any:
    """``value`` with Python's own numbers in place of NumPy's, and None in place of NaN and infinity."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(plain(item) for item in value)
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _dataset_entry(study: Study) -> dict[str, Any]:
    questions = study.questions
    return {
        "path": str(study.root) if study.root is not None else None,
        "questions_sha256": study.meta.get("questions_sha256"),
        "version": study.meta.get("version"),
        "seed": study.meta.get("seed"),
        "questions": questions.height,
        "images": study.clusters,
        "by_question_type": {str(k): n for k, n in sorted(questions.group_by("kind").len().iter_rows())},
    }


def judge_entry(study: Study, index: int, resampling: Resampling) -> dict[str, Any]:
    """One element of ``judges`` in metrics.json."""
    run, table = study.runs[index], study.joined[index]
    pairs = study.kind(index, "pairwise").with_columns(margin_bin=margin_bin())
    kinds = {kind: table.filter(pl.col("kind") == kind) for kind in ("ranking", "scoring")}
    bias = preferences(pairs, resampling)
    return {
        **_identity(run, table),
        "pairwise": _pairwise_block(pairs, bias, resampling),
        "ranking": ranking_block(kinds["ranking"], resampling),
        "scoring": scoring_block(kinds["scoring"], resampling),
        **{name: _by(pairs, kinds, keys, resampling) for name, keys in BY.items()},
        "by_margin": _keyed(pairwise_cells(pairs, ["margin_bin"], resampling), ["margin_bin"]),
        "by_task_error_type": _keyed(pairwise_cells(pairs, ["task", "error_type"], resampling), ["task", "error_type"]),
        "cells": pairwise_cells(pairs, ["task", "encoding", "error_type", "margin_bin"], resampling),
        "bias": bias,
        "sensitivity": _sensitivity(pairs, resampling),
        "encodings": _encodings(pairs, resampling),
        "variance": [{"task": task, **variance_row(part)} for task, part in _parts(pairs, "task")],
        "leaderboard": leaderboard(pairs, resampling),
    }


def _identity(run: Run, table: pl.DataFrame) -> dict[str, Any]:
    known = pl.col("tokens_in", "tokens_out")
    told = pl.when(known.is_not_null().any()).then(known.sum())  # a sum of nothing is not 0 tokens
    tokens = table.select(told, latency=pl.col("latency_s").median()).row(0, named=True)
    statuses = dict(sorted(table.group_by("status").len().iter_rows()))
    return {
        "judge": run.name,
        "simulated": run.simulated,
        "run": str(run.folder) if run.folder is not None else None,
        "verdicts": table.height,
        "expected": run.expected,
        "missing": run.missing,
        "questions": table["id"].n_unique(),
        "status": {str(k): int(n) for k, n in statuses.items()},
        "tokens": {"prompt": tokens["tokens_in"], "reply": tokens["tokens_out"]},
        "latency_median_s": tokens["latency"],
        "problems": list(run.problems),
        "warnings": list(run.warnings),
        "info": {k: v for k, v in run.info.items() if isinstance(v, (str, int, float, bool, dict, list))},
    }


def _pairwise_block(pairs: pl.DataFrame, bias: Rows, resampling: Resampling) -> dict[str, Any]:
    """The headline of the pairwise questions; ``position_p`` is the exact binomial test of A against ½."""
    cells = pairwise_cells(pairs, [], resampling)
    swap = swap_figures(pairs, resampling)
    parsed = pairs.filter(pl.col("parsed"))
    first = int(parsed["said_first"].sum() or 0)
    return {
        **(cells[0] if cells else _EMPTY_PAIRWISE),
        "questions": pairs["id"].n_unique(),
        "position_p": binomial_p(first, parsed.height),
        "position_preference": next(row for row in bias if row["feature"] == "position"),
        "swap_consistency": swap["consistency"],
        "swap": swap,
    }


def _name(row: Mapping[str, Any], keys: Sequence[str]) -> str:
    return "/".join(str(row[key]) for key in keys)


def _keyed(rows: Rows, keys: Sequence[str]) -> dict[str, Any]:
    return {_name(row, keys): row for row in rows}


def _parts(table: pl.DataFrame, *keys: str) -> list[tuple[str, pl.DataFrame]]:
    found = table.partition_by(list(keys), as_dict=True, include_key=True)
    return sorted(("/".join(map(str, key)), part) for key, part in found.items())


def _by(
    pairs: pl.DataFrame, kinds: Mapping[str, pl.DataFrame], keys: list[str], resampling: Resampling
) -> dict[str, Any]:
    """{cell: {"pairwise", "ranking", "scoring"}} for every cell that any question falls into."""
    blocks: dict[str, dict[str, Any]] = {
        name: {"pairwise": row} for name, row in _keyed(pairwise_cells(pairs, keys, resampling), keys).items()
    }
    makers = {"ranking": ranking_block, "scoring": scoring_block}
    for kind, maker in makers.items():
        for name, part in _parts(kinds[kind], *keys):
            blocks.setdefault(name, {"pairwise": dict(_EMPTY_PAIRWISE)})[kind] = maker(part, resampling)
    return {name: blocks[name] for name in sorted(blocks)}


def _sensitivity(pairs: pl.DataFrame, resampling: Resampling) -> Rows:
    """Curves against margin for all, each task and each error type; against the gap in severity where it is known."""
    rows = [{"scope": "all", "value": "all", "against": "margin", **sensitivity(pairs, "margin", resampling)}]
    for key in ("task", "error_type"):
        for value, part in _parts(pairs, key):
            rows.append({"scope": key, "value": value, "against": "margin", **sensitivity(part, "margin", resampling)})
    gap = (pl.col("severity").list.max() - pl.col("severity").list.min()).alias("severity_gap")
    told = pairs.filter(pl.col("severity").list.drop_nulls().list.len() == 2).with_columns(gap)
    for value, part in [("all", told), *_parts(told, "error_type")]:
        if part.height:
            scope = "all" if value == "all" else "error_type"
            rows.append(
                {"scope": scope, "value": value, "against": "severity", **sensitivity(part, "severity_gap", resampling)}
            )
    return rows


def _encodings(pairs: pl.DataFrame, resampling: Resampling) -> Rows:
    """Per task: encodings best first with tokens, the recommended one, and every paired comparison."""
    out = []
    for task, part in _parts(pairs, "task"):
        rows, duels = recommend(part, resampling)
        chosen = next((row["encoding"] for row in rows if row["recommended"]), None)
        reason = None if chosen else why_none(rows)
        out.append({"task": task, "recommended": chosen, "reason": reason, "encodings": rows, "comparisons": duels})
    return out
