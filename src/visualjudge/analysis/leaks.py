"""How far a judge gets that looks at nothing but length, count, size or place: a benchmark that can be gamed is seen.

Each rule "take the option with more of it" is scored on the dataset itself, no judge involved. ``combined`` is a small
ridge logistic regression on all of them, scored on images it was not fitted on (five folds of images).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from visualjudge.analysis.bootstrap import Resampling, holm, share_interval, standard_error, t_test
from visualjudge.analysis.cells import cell_sums
from visualjudge.records import FloatArray
from visualjudge.seeding import rng_for

RULES = ("position", "text_chars", "count", "area", "png_bytes")
LEVEL = 0.05
FOLDS = 5
LEAST_IMAGES = 10
RIDGE = 1.0


def differences(pairs: pl.DataFrame) -> FloatArray:
    """Option A less option B of every rule's feature, pairs × rules; 0 where it is not known. Position is 1 for A."""
    columns = [np.ones(pairs.height)]
    for feature in RULES[1:]:
        a, b = (pl.col(feature).list.get(side, null_on_oob=True) for side in (0, 1))
        columns.append(pairs.select((a - b).fill_null(0.0)).to_series().to_numpy().astype(float))
    return np.column_stack(columns)


def _distinct(questions: pl.DataFrame) -> pl.DataFrame:
    return questions.filter((pl.col("kind") == "pairwise") & pl.col("answer").is_in(["A", "B"]))


def _rule_rows(pairs: pl.DataFrame, gaps: FloatArray, resampling: Resampling) -> list[dict[str, Any]]:
    truth = (pairs["answer"] == "A").to_numpy()
    rows = []
    for r, rule in enumerate(RULES):
        told = gaps[:, r] != 0
        hits = (gaps[told, r] > 0) == truth[told]
        rows.append({"rule": rule, **_share(pairs.filter(pl.Series(told)), hits, resampling)})
    return rows


def _share(pairs: pl.DataFrame, hits: Any, resampling: Resampling) -> dict[str, Any]:
    """A rule's share right: of the questions that it tells anything about, with interval and p against ½."""
    if pairs.is_empty():
        return {"n": 0, "images": 0, "accuracy": None, "ci95": None, "p": None}
    frame = pairs.select("cluster").with_columns(hit=pl.Series(hits))
    cells = cell_sums(frame, [], {"n": pl.col("hit").is_not_null(), "hit": pl.col("hit")}, resampling.clusters)
    draws = resampling.ratios(cells.columns["hit"], cells.columns["n"])[:, 0]
    share, images = float(np.mean(hits)), int(cells.images[0])
    return {
        "n": pairs.height,
        "images": images,
        "accuracy": share,
        "ci95": share_interval(draws, share, images),
        "p": t_test(share - 0.5, standard_error(draws), images),
    }


def _logistic(x: FloatArray, y: FloatArray) -> FloatArray:
    """Coefficients of ridge logistic regression, by Newton's method."""
    beta = np.zeros(x.shape[1])
    for _ in range(25):
        p = 1 / (1 + np.exp(-np.clip(x @ beta, -30, 30)))
        hessian = (x * (p * (1 - p))[:, None]).T @ x + RIDGE * np.eye(beta.size)
        step = np.linalg.solve(hessian, x.T @ (y - p) - RIDGE * beta)
        beta = beta + step
        if np.abs(step).max() < 1e-8:
            break
    return beta


def _combined(pairs: pl.DataFrame, gaps: FloatArray, resampling: Resampling) -> dict[str, Any] | None:
    clusters, truth = pairs["cluster"].to_numpy(), (pairs["answer"] == "A").to_numpy().astype(float)
    images = np.unique(clusters)
    if images.size < LEAST_IMAGES:
        return None
    fold_of = np.empty(clusters.max() + 1, dtype=int)
    fold_of[rng_for(0, "folds", int(images.size)).permutation(images)] = np.arange(images.size) % FOLDS
    fold, hits = fold_of[clusters], np.zeros(truth.size, dtype=bool)
    scaled = np.sign(gaps) * np.log1p(np.abs(gaps))
    spread = np.sqrt((scaled**2).mean(0))
    x = scaled / np.where(spread > 0, spread, 1)
    for f in range(FOLDS):
        held = fold == f
        beta = _logistic(x[~held], truth[~held])
        hits[held] = (x[held] @ beta > 0) == (truth[held] > 0.5)
    return {"rule": "combined", **_share(pairs, hits, resampling)}


def leak_audit(questions: pl.DataFrame, resampling: Resampling) -> list[dict[str, Any]]:
    """One row a rule and scope ("all", or a task); ``flagged`` where p by Holm over all rows is below 5 %."""
    pairs = _distinct(questions)
    rows: list[dict[str, Any]] = []
    for scope, part in [("all", pairs), *((str(key[0]), p) for key, p in sorted(pairs.group_by("task")))]:
        if part.is_empty():
            continue
        gaps = differences(part)
        found = _rule_rows(part, gaps, resampling)
        combined = _combined(part, gaps, resampling)
        rows += [{"scope": scope, **row} for row in [*found, *([combined] if combined else [])]]
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = p
        row["flagged"] = p is not None and p < LEVEL
    return rows
