"""The figures of an evaluation, with intervals: ``scores.json``, MMBench's table, and pairwise
comparisons of models.

The rotations of a question are correlated, so each interval leaves out one question in turn (95 %,
see :mod:`visualjudge.analysis.estimate`); with fewer than five questions no
interval is given.

The usual table has accuracy by MMBench's six abilities and overall, for each split and model.
Models are compared on the questions that both were scored on: McNemar 1947, exact (a sign test of
the discordant pairs), where pairs are independent; the jackknife over questions
(:mod:`visualjudge.analysis.estimate`), which holds for rotations too; Holm 1979
over all pairs of models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visualjudge.analysis.accuracy_cells import estimate_of, known
from visualjudge.analysis.bias import binomial_p
from visualjudge.analysis.estimate import gap_ends, gap_p, holm, ratio, shares
from visualjudge.apps.mmbench.evaluate import Evaluation, Slice
from visualjudge.apps.mmbench.table import Row, ScoredRow
from visualjudge.core.text_tables import Table

# MMBench's l2-categories and the names its leaderboard gives them; other categories keep their own.
ABILITIES = {
    "coarse_perception": "CP",
    "finegrained_perception (instance-level)": "FP-S",
    "finegrained_perception (cross-instance)": "FP-C",
    "logic_reasoning": "LR",
    "relation_reasoning": "RR",
    "attribute_reasoning": "AR",
}
ALL = "all"
# Index to (cluster, hit).
Hits = Mapping[int, tuple[int, bool]]

CATEGORIES: Mapping[str, Callable[[Row], str]] = {
    "by_category": lambda row: row.category,
    "by_l2_category": lambda row: row.l2_category,
}


def scores(evaluation: Evaluation) -> dict[str, Any]:
    """Return one evaluation as plain JSON; shares are in 0..1, None without cases."""
    result: dict[str, Any] = {"rules": evaluation.rules, **block(evaluation.whole)}
    result["invalid_groups"] = [group.index for group in evaluation.invalid]
    for name, key in CATEGORIES.items():
        result[name] = {value: block(part) for value, part in evaluation.whole.by(key).items()}
    result["rows"] = [
        {
            "index": line.row.index,
            "prediction": line.prediction,
            "extracted": line.extracted,
            "hit": line.hit,
            "answer": line.row.answer or None,
            "why": line.why,
        }
        for line in evaluation.rows
    ]
    result["groups"] = [
        (
            {"index": group.index, "hit": group.hit}
            | ({"missing": list(group.missing)} if group.missing else {})
        )
        for group in evaluation.groups
    ]
    result["unknown"] = list(evaluation.unknown)
    result["matched"] = evaluation.matched
    if evaluation.rules == "vlmevalkit":
        result["differs"] = [
            {
                "index": difference.row.index,
                "strict": difference.strict.letter,
                "vlmevalkit": difference.vlmevalkit.letter,
                "prediction": difference.prediction,
                "why_strict": difference.strict.why,
                "why_vlmevalkit": difference.vlmevalkit.why,
            }
            for difference in evaluation.differences
        ]
    return result


def block(part: Slice) -> dict[str, Any]:
    """Return counts, shares and intervals of some rows and their groups.

    ``n_missing`` of the ``n`` rows have no reply; they count as unread and wrong, but not in the
    shares ``of_replies``. ``vanilla_accuracy`` is that of VanillaEval: each question once, without
    its rotations.
    """
    valid = [group for group in part.groups if group.hit is not None]
    circular = [bool(group.hit) for group in valid]
    replied = [line for line in part.rows if line.prediction is not None]
    vanilla = [line for line in part.rows if not line.row.rotation]
    read = [line.extracted is not None for line in part.rows]
    return {
        "n": len(part.rows),
        "n_missing": len(part.rows) - len(replied),
        **_shares("extraction_rate", part.rows, read),
        "extraction_rate_of_replies": share([line.extracted is not None for line in replied]),
        **_shares("accuracy", part.rows, [line.hit for line in part.rows]),
        "accuracy_of_replies": share([line.hit for line in replied]),
        "n_vanilla": len(vanilla),
        **_shares("vanilla_accuracy", vanilla, [line.hit for line in vanilla]),
        "n_groups": len(valid),
        "circular_accuracy": share(circular),
        "circular_accuracy_ci95": interval(circular, [group.index for group in valid]),
    }


def _shares(name: str, rows: Sequence[ScoredRow], values: Sequence[bool]) -> dict[str, Any]:
    ends = interval(values, [line.row.group for line in rows])
    return {name: share(values), f"{name}_ci95": ends}


def share(values: Sequence[bool]) -> float | None:
    """Return the share of true values, or None without values."""
    return sum(values) / len(values) if values else None


def interval(values: Sequence[bool], clusters: Sequence[int]) -> tuple[float, float] | None:
    """Return the 95 % interval of the share of true values by leaving out each cluster; None with
    fewer than five clusters.
    """
    if not values:
        return None
    return shares(*cluster_sums(np.asarray(values, dtype=float), clusters)).interval(0)


def cluster_sums(values: NDArray[np.float64], clusters: Sequence[int]) -> tuple[Any, Any]:
    """Return the sum and the number of ``values`` in each cluster."""
    _, at = np.unique(np.asarray(clusters), return_inverse=True)
    return np.bincount(at, weights=values), np.bincount(at).astype(float)


@dataclass(frozen=True)
class Model:
    """One results file and its name in the report."""

    name: str
    evaluation: Evaluation


@dataclass(frozen=True)
class Line:
    """One line of the table: shares in 0..1 by column, None without cases."""

    model: str
    split: str
    measure: str
    label: str
    cells: dict[str, dict[str, Any]]


def percent(value: float | None) -> str:
    """Format a share as a percentage."""
    return "–" if value is None else f"{100 * value:.1f} %"


def column_names(models: Sequence[Model]) -> list[str]:
    """Return the table's columns: the six abilities in MMBench's order, then others by name."""
    seen = {line.row.l2_category for model in models for line in model.evaluation.rows} - {""}
    usual = [short for long, short in ABILITIES.items() if long in seen]
    return ["Overall", *usual, *sorted(seen - set(ABILITIES))]


def splits(evaluation: Evaluation) -> dict[str, Slice]:
    """Return rows and groups of each split, and of all splits together if there are several."""
    found = evaluation.whole.by(lambda row: row.split or ALL)
    return found if len(found) == 1 else {**found, ALL: evaluation.whole}


def measures(models: Sequence[Model]) -> dict[str, str]:
    """Return the measures and their names.

    With rotations these are VanillaEval (each question once), CircularEval, and the share of all
    rows. Without rotations, the share of all rows is VanillaEval.
    """
    turned = any(line.row.rotation for model in models for line in model.evaluation.rows)
    if not turned:
        return {"accuracy": "vanilla"}
    return {
        "vanilla_accuracy": "vanilla",
        "circular_accuracy": "circular",
        "accuracy": "all rotations",
    }


def lines(models: Sequence[Model]) -> Iterator[Line]:
    """Return the table: for each model and split, one line for each of its :func:`measures`."""
    for model in models:
        for split, part in splits(model.evaluation).items():
            pieces = _pieces(part)
            for measure, label in measures([model]).items():
                cells = {name: _cell(piece, measure) for name, piece in pieces.items()}
                yield Line(model.name, split, measure, label, cells)


def _pieces(part: Slice) -> dict[str, Slice]:
    pieces = part.by(lambda row: ABILITIES.get(row.l2_category, row.l2_category))
    return {"Overall": part, **{name: piece for name, piece in pieces.items() if name}}


def _cell(piece: Slice, measure: str) -> dict[str, Any]:
    once = Slice([line for line in piece.rows if not line.row.rotation], [])
    numbers = block(once if measure == "vanilla_accuracy" else piece)
    return {
        "value": numbers[measure],
        "ci95": numbers[f"{measure}_ci95"],
        "n": numbers["n_groups" if measure == "circular_accuracy" else "n"],
        "n_missing": numbers["n_missing"],
        "extraction_rate": numbers["extraction_rate"],
    }


def as_json(models: Sequence[Model], compared: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the report as plain JSON."""
    table = [{name: getattr(line, name) for name in LINE} for line in lines(models)]
    own = [{"name": model.name, **scores(model.evaluation)} for model in models]
    return {"table": table, "comparisons": list(compared), "models": own}


LINE = ("model", "split", "measure", "cells")


def as_text(models: Sequence[Model], compared: Sequence[dict[str, Any]]) -> str:
    """Return the report for a terminal: the table, then one line for each pair of models."""
    names, called = column_names(models), measures(models)
    rows = []
    for line in lines(models):
        read = percent(line.cells["Overall"]["extraction_rate"])
        values = [
            percent(line.cells[name]["value"]) if name in line.cells else "–" for name in names
        ]
        rows.append((line.model, line.split, line.label, read, *values))
    columns = ("model", "split", "measure", "read", *names)
    notes = [_comparison_line(row, called[row["measure"]]) for row in compared]
    return Table(columns, tuple(rows), (*without_reply(models), *notes), keys=3).text()


def without_reply(models: Sequence[Model]) -> Iterator[str]:
    """Yield a sentence for each model that lacks replies."""
    for model in models:
        sentence = missing_sentence(block(model.evaluation.whole))
        if sentence:
            yield f"{model.name}: {sentence}"


def missing_sentence(numbers: Mapping[str, Any]) -> str | None:
    """Return how rows without a reply affect the figures, and the figures without them; None if all
    rows have one.
    """
    missing, rows = numbers["n_missing"], numbers["n"]
    if not missing:
        return None
    read = percent(numbers["extraction_rate_of_replies"])
    right = percent(numbers["accuracy_of_replies"])
    told = f"of {rows - missing} replies {read} were read, {right} are right"
    return f"without a reply: {missing} of {rows} rows, counted as wrong; {told}"


def _comparison_line(row: dict[str, Any], called: str) -> str:
    pair = f"{row['a']} − {row['b']}, {called}"
    if row["difference"] is None:
        return f"{pair}: no question in common"
    ends = [] if row["ci95"] is None else [f"{100 * edge:+.1f}" for edge in row["ci95"]]
    span = f" [{', '.join(ends)}]" if ends else ""
    p = "" if row["p"] is None else f", p = {row['p']:.3g}"
    return f"{pair}: {100 * row['difference']:+.1f} points{span} on {row['n']}{p}"


def comparisons(models: Sequence[Model]) -> list[dict[str, Any]]:
    """Compare every pair of models by each of their measures
    (:func:`~visualjudge.apps.mmbench.scores.measures`).

    ``p`` is from the paired jackknife over questions, and ``p_holm`` adjusts it for the number of
    pairs; ``mcnemar_p`` is exact, and None if rotations of a question are counted individually.
    """
    rows = []
    for measure in measures(models):
        part = [compare(a, b, measure) for a, b in combinations(models, 2)]
        for row, p in zip(part, holm([row["p"] for row in part]), strict=True):
            row["p_holm"] = p
        rows += part
    return rows


def compare(a: Model, b: Model, measure: str) -> dict[str, Any]:
    """Compare one pair of models; numbers are ``a`` minus ``b``, None without common questions."""
    first, second = _hits(a, measure), _hits(b, measure)
    common = sorted(first.keys() & second.keys())
    row: dict[str, Any] = {"a": a.name, "b": b.name, "measure": measure, "n": len(common)}
    if not common:
        return row | dict.fromkeys(COMPARED)
    right = np.array([[first[i][1], second[i][1]] for i in common])
    only_a, only_b = (int(np.sum(right[:, k] & ~right[:, 1 - k])) for k in (0, 1))
    discordant = only_a + only_b
    gaps, sizes = cluster_sums(
        right[:, 0].astype(float) - right[:, 1], [first[i][0] for i in common]
    )
    value, influence = ratio(gaps, sizes)
    counts = np.array([float(discordant)]), np.array([float(len(right))])
    ends, (p,) = gap_ends(value, influence, *counts), gap_p(value, influence, *counts)
    gap = estimate_of(value, influence, ends, len(right))
    exact = binomial_p(only_a, discordant) if discordant else 1.0
    numbers = (*map(float, right.mean(axis=0)), gap.value, gap.interval, known(p), only_a, only_b)
    independent = exact if len(sizes) == len(right) else None
    return row | dict(zip(COMPARED, (*numbers, independent, len(sizes)), strict=True))


COMPARED = (
    *("accuracy_a", "accuracy_b", "difference", "ci95", "p", "only_a_right", "only_b_right"),
    *("mcnemar_p", "questions"),
)


def _hits(model: Model, measure: str) -> Hits:
    if measure == "circular_accuracy":
        return {
            group.index: (group.index, group.hit)
            for group in model.evaluation.groups
            if group.hit is not None
        }
    once = measure == "vanilla_accuracy"
    rows = (line for line in model.evaluation.rows if not (once and line.row.rotation))
    return {line.row.index: (line.row.group, line.hit) for line in rows}
