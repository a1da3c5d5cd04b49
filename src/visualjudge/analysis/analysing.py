"""The analysis as a whole: typed results, and metrics.json and the tables derived from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from visualjudge.analysis.accuracy_cells import (
    NO_ACCURACY,
    accuracy,
    accuracy_cells,
    guessed,
    guessed_among_allowed,
    pairwise_asked,
)
from visualjudge.analysis.benchmark_scores import benchmark_scores, benchmarks_of
from visualjudge.analysis.bias import binomial_p, both_orders, preferences, swap_figures
from visualjudge.analysis.comparisons import (
    asked_like,
    comparisons,
    nothing_in_common,
)
from visualjudge.analysis.decisions.may_rank_models import rank_sets
from visualjudge.analysis.encoding_choice import recommend
from visualjudge.analysis.figures import (
    Cell,
    DatasetFacts,
    EncodingChoice,
    JudgeResult,
    Results,
    Variance,
)
from visualjudge.analysis.figures_of_pairs import kappa_with_truth, macro
from visualjudge.analysis.identity import moved, served_by
from visualjudge.analysis.leaderboard import PLAYED, leaderboard
from visualjudge.analysis.leaks import NEEDED, leak_audit
from visualjudge.analysis.load import load_study
from visualjudge.analysis.pairwise_figures import OF_TWO, Pairwise, constant_answer
from visualjudge.analysis.probes import photograph_need, probe_results
from visualjudge.analysis.psychometric import curves
from visualjudge.analysis.scores import (
    NO_RANKING,
    NO_SCORING,
    RANKED,
    SCORED,
    ranking_cells,
    scoring_cells,
)
from visualjudge.analysis.study_table import FEATURES, Study, more, unchanged
from visualjudge.analysis.unread_replies import unread
from visualjudge.analysis.variance import variance_row
from visualjudge.analysis.without_truth import (
    in_both_orders,
    pairwise_without_truth,
    result_without_truth,
)
from visualjudge.options import MeasureOptions, keywords

Progress = Callable[[str], None]
PAIRED = (
    "question",
    "repeat",
    "order",
    "pair",
    "cluster",
    "task",
    "encoding",
    "error_type",
    "margin",
    "severity_gap",
    "usable",
    "status",
    "cause",
    "answer",
    "text",
    "right",
    "tie",
    "chosen",
    "said_first",
    "first_right",
    "tokens_in",
    *map(more, FEATURES),
)
"""Columns of pairwise verdicts that figures other than the leaderboard need."""


@dataclass(frozen=True, eq=False)
class Analysis:
    """The whole result: ``results`` is typed, ``metrics`` is the content of metrics.json, and
    ``tables`` are polars tables.
    """

    study: Study
    results: Results

    @cached_property
    def metrics(self) -> Mapping[str, Any]:
        """The content of metrics.json."""
        from visualjudge.analysis.decisions.card import card_of
        from visualjudge.analysis.metrics_json import document

        return document(self.results, card_of(self))

    @cached_property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Long tables by name: headline, by_task, by_encoding, …, comparisons, leak_audit. Each has
        one row per judge and cell.
        """
        from visualjudge.analysis.metrics_json import tables_of

        return tables_of(self.metrics)


@keywords(MeasureOptions)
def analyse(
    runs: Sequence[str | Path],
    *,
    options: MeasureOptions,
    progress: Progress | None = None,
) -> Analysis:
    """Analyse run folders.

    Parameters
    ----------
    runs
        Folders written by ``visualjudge judge``.
    dataset
        Dataset to use instead of the one recorded in the runs.
    seed
        Seed of the bootstrap over images for the interval of the calibration error.
    tasks, encodings, types, where
        Use only these questions; each of ``where`` is ``FIELD=VALUE``, such as ``margin>2``.

    Raises
    ------
    DataError
        If a run or its dataset cannot be read.
    UsageError
        If no question is selected.
    """
    say = progress or (lambda _: None)
    say("reading verdicts")
    return analyse_study(load_study(runs, options=options), progress=progress)


def analyse_study(study: Study, *, progress: Progress | None = None) -> Analysis:
    """Analyse questions and verdicts that are already in memory (see
    :func:`visualjudge.analysis.study_table.study_of`).
    """
    say = progress or (lambda _: None)
    alike = asked_like(study)
    judges = []
    for i, run in enumerate(study.runs):
        say(f"judge {run.name}")
        judges.append(judge_result(study, i, alike[i]))
    say("comparing judges")
    return Analysis(
        study,
        Results(
            judges=tuple(judges),
            warnings=nothing_in_common(study),
            comparisons=comparisons(study),
            leaks=leak_audit(
                study.questions.lazy().filter(unchanged()).select(NEEDED).collect()
            ),
            dataset=_dataset_facts(study),
            clusters=study.clusters,
            seed=study.seed,
        ),
    )


def _dataset_facts(study: Study) -> DatasetFacts:
    questions, meta = study.questions, study.meta
    numbers = pl.Series(np.concatenate([[], *study.asked])).cast(pl.Int32)
    asked = questions.filter(pl.col("question").is_in(numbers.implode()))
    return DatasetFacts(
        path=str(study.root) if study.root is not None else None,
        questions_sha256=meta.get("questions_sha256"),
        version=meta.get("version"),
        seed=meta.get("seed"),
        questions=questions.height,
        images=study.clusters,
        by_question_type={
            str(k): n for k, n in sorted(questions.group_by("kind").len().iter_rows())
        },
        asked=asked.height,
        probed=asked.filter(~unchanged()).height,
        images_asked=asked["cluster"].n_unique(),
        where=study.where,
    )


def judge_result(
    study: Study,
    index: int,
    alike: int = 0,
) -> JudgeResult:
    """Everything about one judge."""
    run, answered = study.runs[index], study.answered[index]
    pairs = study.kind(index, "pairwise", PAIRED)
    rankings, scorings = (
        study.kind(index, "ranking", RANKED),
        study.kind(index, "scoring", SCORED),
    )
    asked, unknown = pairwise_asked(study, index), study.lacks_truth(index)
    pairwise = pairwise_figures(pairs, guessed(asked), order_shown=run.order_shown)
    tokens = pl.col(
        "tokens_in", "tokens_out"
    )  # their sum is null, not 0, if none is known
    totals = answered.select(
        pl.when(tokens.is_not_null().any()).then(tokens.sum()),
        pl.col("latency_s").median(),
    )
    tokens_in, tokens_out, latency = totals.row(0)
    identity = served_by(study.joined[index])
    result = JudgeResult(
        name=run.name,
        simulated=run.simulated,
        run=None if run.folder is None else str(run.folder),
        verdicts=answered.height,
        expected=run.expected,
        missing=run.missing,
        questions=answered["id"].n_unique(),
        asked_like=alike,
        status={
            str(k): int(n)
            for k, n in sorted(answered.group_by("status").len().iter_rows())
        },
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        latency_s=latency,
        problems=run.problems,
        warnings=(*run.warnings, *moved(identity)),
        info={
            k: v
            for k, v in run.info.items()
            if isinstance(v, (str, int, float, bool, dict, list))
        },
        pairwise=pairwise,
        ranking=ranking_cells(rankings, ()).get("", NO_RANKING),
        scoring=scoring_cells(scorings, ()).get("", NO_SCORING),
        by_task=_cells(pairs, rankings, scorings, ("task",)),
        by_encoding=_cells(pairs, rankings, scorings, ("task", "encoding")),
        by_error_type=_cells(pairs, rankings, scorings, ("error_type",)),
        bias=preferences(in_both_orders(pairs) if unknown else pairs),
        sensitivity=curves(
            pairs, guessed_among_allowed(asked), scored=study.has_scores
        ),
        encodings=_encodings(pairs, asked),
        variance=_variance(pairs, study.questions),
        leaderboard=leaderboard(
            study.kind(index, "pairwise", PLAYED),
            study.questions,
            rank_sets(study, index),
        ),
        unread=unread(study.joined[index]),
        own_scores=benchmark_scores(
            study.joined[index], study.questions, benchmarks_of(study.meta)
        ),
        probes=probe_results(answered),
        photograph=photograph_need(answered),
        identity=identity,
    )
    return result_without_truth(result) if unknown else result


def _cells(
    pairs: pl.DataFrame,
    rankings: pl.DataFrame,
    scorings: pl.DataFrame,
    by: Sequence[str],
) -> tuple[Cell, ...]:
    found = {cell.name: cell for cell in accuracy_cells(pairs, by)}
    ranked, scored = ranking_cells(rankings, by), scoring_cells(scorings, by)
    out = []
    for name in sorted({*found, *ranked, *scored}):
        keys = tuple(zip(by, name.split("/", len(by) - 1), strict=True))
        cell = found.get(name) or Cell(keys, NO_ACCURACY)
        out.append(replace(cell, ranking=ranked.get(name), scoring=scored.get(name)))
    return tuple(out)


def pairwise_figures(
    pairs: pl.DataFrame,
    chance: float = OF_TWO,
    *,
    order_shown: bool = True,
    truth: bool = True,
) -> Pairwise:
    """The headline of the pairwise questions; ``truth``: whether the right answers are known.
    ``position_p`` is the exact binomial test of A against ½.
    """
    told = int(pairs["said_first"].count())
    once = pairs["question"].n_unique() == pairs.height
    ties = int(pairs["tie"].sum() or 0)
    found = Pairwise(
        accuracy=accuracy(pairs),
        questions=pairs["question"].n_unique(),
        chance=chance,
        constant=constant_answer(pairs) if order_shown or once else None,
        position_p=binomial_p(int(pairs["said_first"].sum() or 0), told),
        swap=swap_figures(both_orders(pairs)),
        ties=ties / int(pairs["usable"].sum()) if ties else None,
        macro=macro(pairs),
        kappa=kappa_with_truth(pairs),
    )
    return found if truth else pairwise_without_truth(found)


def _parts(table: pl.DataFrame, *keys: str) -> list[tuple[str, pl.DataFrame]]:
    found = table.partition_by(list(keys), as_dict=True, include_key=True)
    return sorted(("/".join(map(str, key)), part) for key, part in found.items())


def _variance(pairs: pl.DataFrame, questions: pl.DataFrame) -> tuple[Variance, ...]:
    two = (
        pl.col("sources")
        .list.eval(pl.element().cast(pl.String))
        .list.sort()
        .list.join("|")
    )
    named = pairs.join(
        questions.select("question", two), on="question", maintain_order="left"
    )
    needed = named.select(
        "task", "cluster", "pair", "encoding", "order", "right", "sources"
    )
    return tuple(variance_row(part, task) for task, part in _parts(needed, "task"))


def _encodings(pairs: pl.DataFrame, asked: pl.DataFrame) -> tuple[EncodingChoice, ...]:
    needed = pairs.select("task", "pair", "encoding", "cluster", "right", "tokens_in")
    return tuple(
        recommend(part, task, guessed(asked.filter(pl.col("task") == task)))
        for task, part in _parts(needed, "task")
    )
