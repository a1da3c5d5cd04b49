"""Models compared on the questions that all of two were scored on: paired, never by overlapping intervals.

Sources: McNemar 1947, exact (a sign test of the discordant pairs), where pairs are independent; the jackknife over
questions (:mod:`visualjudge.analysis.statistics.paired`), which holds for rotations too; Holm 1979 over all pairs of
models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from visualjudge.analysis.bias import binomial_p
from visualjudge.analysis.cells import estimate_of, test_of
from visualjudge.analysis.statistics.jackknife import holm, spread
from visualjudge.analysis.statistics.paired import gap_ends
from visualjudge.analysis.statistics.shares import ratio_influence
from visualjudge.apps.mmbench.scores import cluster_sums
from visualjudge.apps.mmbench.summary import Model, measures

Hits = Mapping[int, tuple[int, bool]]
"""Index to (cluster, hit)."""


def comparisons(models: Sequence[Model]) -> list[dict[str, Any]]:
    """Every two models, by each of their measures (:func:`~visualjudge.apps.mmbench.summary.measures`).

    ``p`` is the paired jackknife's over questions, ``p_holm`` the same adjusted for the number of pairs;
    ``mcnemar_p`` is exact and left None where a question's rotations are counted one by one.
    """
    rows = []
    for measure in measures(models):
        part = [compare(a, b, measure) for a, b in combinations(models, 2)]
        for row, p in zip(part, holm([row["p"] for row in part]), strict=True):
            row["p_holm"] = p
        rows += part
    return rows


def compare(a: Model, b: Model, measure: str) -> dict[str, Any]:
    """One pair of models; numbers are ``a`` minus ``b``, None where no question is common."""
    first, second = _hits(a, measure), _hits(b, measure)
    common = sorted(first.keys() & second.keys())
    row: dict[str, Any] = {"a": a.name, "b": b.name, "measure": measure, "n": len(common)}
    if not common:
        names = "accuracy_a accuracy_b difference ci95 p only_a_right only_b_right mcnemar_p questions"
        return row | dict.fromkeys(names.split())
    right = np.array([[first[i][1], second[i][1]] for i in common])
    return row | _paired(right, [first[i][0] for i in common])


def _paired(right: Any, clusters: Sequence[int]) -> dict[str, Any]:
    only_a = int(np.sum(right[:, 0] & ~right[:, 1]))
    only_b = int(np.sum(right[:, 1] & ~right[:, 0]))
    gaps, sizes = cluster_sums(right[:, 0].astype(float) - right[:, 1], clusters)
    questions = len(sizes)
    nowhere = np.zeros(questions, dtype=np.int64)
    value, influence = ratio_influence(gaps, sizes, nowhere, 1)
    found = spread(influence, sizes, nowhere, 1)
    ends = gap_ends(value, found, np.array([float(only_a + only_b)]), np.array([float(len(right))]))
    gap = estimate_of(value, found, ends, len(right))
    independent = questions == len(right)
    exact = (binomial_p(only_a, only_a + only_b) if only_a + only_b else 1.0) if independent else None
    return {
        "accuracy_a": float(right[:, 0].mean()),
        "accuracy_b": float(right[:, 1].mean()),
        "difference": gap.value,
        "ci95": gap.interval,
        "p": test_of(value, found),
        "only_a_right": only_a,
        "only_b_right": only_b,
        "mcnemar_p": exact,
        "questions": questions,
    }


def _hits(model: Model, measure: str) -> Hits:
    if measure == "circular_accuracy":
        return {group.index: (group.index, group.hit) for group in model.evaluation.groups if group.hit is not None}
    once = measure == "vanilla_accuracy"
    rows = (line for line in model.evaluation.rows if not (once and line.row.rotation))
    return {line.row.index: (line.row.group, line.hit) for line in rows}
