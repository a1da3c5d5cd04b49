"""The usual table: accuracy by MMBench's six abilities and overall, for each split and model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from visualjudge.mmbench.evaluate import Evaluation, Slice
from visualjudge.mmbench.scores import block, scores
from visualjudge.tables import Table

ABILITIES = {
    "coarse_perception": "CP",
    "finegrained_perception (instance-level)": "FP-S",
    "finegrained_perception (cross-instance)": "FP-C",
    "logic_reasoning": "LR",
    "relation_reasoning": "RR",
    "attribute_reasoning": "AR",
}
"""MMBench's l2-categories and the names its leaderboard gives them; other categories keep their own."""
ALL = "all"


@dataclass(frozen=True)
class Model:
    """One results file under the name it has in the report."""

    name: str
    evaluation: Evaluation


@dataclass(frozen=True)
class Line:
    """One line of the usual table: shares in 0..1 by column, None where there is nothing to share."""

    model: str
    split: str
    measure: str
    cells: dict[str, dict[str, Any]]


def percent(value: float | None) -> str:
    """A share as people read it."""
    return "–" if value is None else f"{100 * value:.1f} %"


def column_names(models: Sequence[Model]) -> list[str]:
    """The table's columns: the six abilities in their usual order, then others by name."""
    seen = {line.row.l2_category for model in models for line in model.evaluation.rows} - {""}
    usual = [short for long, short in ABILITIES.items() if long in seen]
    return ["Overall", *usual, *sorted(seen - set(ABILITIES))]


def splits(evaluation: Evaluation) -> dict[str, Slice]:
    """Rows and groups of each split, and of all of them where there are several."""
    names = sorted({line.row.split for line in evaluation.rows})
    found = {
        name or ALL: Slice(
            [line for line in evaluation.rows if line.row.split == name],
            [group for group in evaluation.groups if group.row.split == name],
        )
        for name in names
    }
    if len(names) != 1:
        found[ALL] = Slice(list(evaluation.rows), list(evaluation.groups))
    return found


def has_rotations(evaluation: Evaluation) -> bool:
    """Whether any question was asked in more than one rotation: else circular accuracy says nothing of its own."""
    return any(line.row.rotation for line in evaluation.rows)


def lines(models: Sequence[Model]) -> Iterator[Line]:
    """The usual table, vanilla accuracy first, circular accuracy where the data has rotations."""
    for model in models:
        for split, part in splits(model.evaluation).items():
            blocks = {name: block(piece) for name, piece in _pieces(part).items()}
            for measure in ("accuracy", "circular_accuracy") if has_rotations(model.evaluation) else ("accuracy",):
                cells = {name: _cell(numbers, measure) for name, numbers in blocks.items()}
                yield Line(model.name, split, measure, cells)


def _pieces(part: Slice) -> dict[str, Slice]:
    pieces = {"Overall": part}
    for line in part.rows:
        if line.row.l2_category:
            pieces.setdefault(_short(line.row.l2_category), Slice([], [])).rows.append(line)
    for group in part.groups:
        if group.row.l2_category:
            pieces.setdefault(_short(group.row.l2_category), Slice([], [])).groups.append(group)
    return pieces


def _short(category: str) -> str:
    return ABILITIES.get(category, category)


def _cell(numbers: dict[str, Any], measure: str) -> dict[str, Any]:
    return {
        "value": numbers[measure],
        "ci95": numbers[f"{measure}_ci95"],
        "n": numbers["n_groups" if measure == "circular_accuracy" else "n"],
        "extraction_rate": numbers["extraction_rate"],
    }


def as_json(models: Sequence[Model], compared: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The report as plain JSON."""
    table = [{"model": x.model, "split": x.split, "measure": x.measure, "cells": x.cells} for x in lines(models)]
    return {
        "table": table,
        "comparisons": list(compared),
        "models": [{"name": model.name, **scores(model.evaluation)} for model in models],
    }


def as_text(models: Sequence[Model], compared: Sequence[dict[str, Any]]) -> str:
    """The report for a terminal: the table, then a line for each two models."""
    names = column_names(models)
    rows = []
    for line in lines(models):
        measure = {"accuracy": "vanilla", "circular_accuracy": "circular"}[line.measure]
        read = percent(line.cells["Overall"]["extraction_rate"])
        values = [percent(line.cells[name]["value"]) if name in line.cells else "–" for name in names]
        rows.append((line.model, line.split, measure, read, *values))
    columns = ("model", "split", "measure", "read", *names)
    return Table(columns, tuple(rows), tuple(map(_comparison_line, compared)), keys=3).text()


def _comparison_line(row: dict[str, Any]) -> str:
    if row["difference"] is None:
        return f"{row['a']} − {row['b']}, {row['measure']}: no question in common"
    span = "" if row["ci95"] is None else " [{:+.1f}, {:+.1f}]".format(*(100 * edge for edge in row["ci95"]))
    p = "" if row["p"] is None else f", p = {row['p']:.3g}"
    return f"{row['a']} − {row['b']}, {row['measure']}: {100 * row['difference']:+.1f} points{span} on {row['n']}{p}"
