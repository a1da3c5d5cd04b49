"""The usual table: accuracy by MMBench's six abilities and overall, for each split and model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from visualjudge.apps.mmbench.evaluate import Evaluation, Slice
from visualjudge.apps.mmbench.scores import block, scores
from visualjudge.core.tables import Table

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
    label: str
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
    found = evaluation.whole.by(lambda row: row.split or ALL)
    return found if len(found) == 1 else {**found, ALL: evaluation.whole}


def measures(models: Sequence[Model]) -> dict[str, str]:
    """The measures and what they are called.

    Where questions were asked in rotations these are VanillaEval (each question once), CircularEval, and the share of
    all rows. Without rotations, the share of all rows is VanillaEval.
    """
    turned = any(line.row.rotation for model in models for line in model.evaluation.rows)
    if not turned:
        return {"accuracy": "vanilla"}
    return {"vanilla_accuracy": "vanilla", "circular_accuracy": "circular", "accuracy": "all rotations"}


def lines(models: Sequence[Model]) -> Iterator[Line]:
    """The usual table: for each model and split a line for each of its :func:`measures`."""
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
    """The report as plain JSON."""
    table = [{"model": x.model, "split": x.split, "measure": x.measure, "cells": x.cells} for x in lines(models)]
    return {
        "table": table,
        "comparisons": list(compared),
        "models": [{"name": model.name, **scores(model.evaluation)} for model in models],
    }


def as_text(models: Sequence[Model], compared: Sequence[dict[str, Any]]) -> str:
    """The report for a terminal: the table, then a line for each two models."""
    names, called = column_names(models), measures(models)
    rows = []
    for line in lines(models):
        read = percent(line.cells["Overall"]["extraction_rate"])
        values = [percent(line.cells[name]["value"]) if name in line.cells else "–" for name in names]
        rows.append((line.model, line.split, line.label, read, *values))
    columns = ("model", "split", "measure", "read", *names)
    notes = [_comparison_line(row, called[row["measure"]]) for row in compared]
    return Table(columns, tuple(rows), (*without_reply(models), *notes), keys=3).text()


def without_reply(models: Sequence[Model]) -> Iterator[str]:
    """A sentence for each model of which rows have no reply, because they were not asked or the call failed."""
    for model in models:
        sentence = missing_sentence(block(model.evaluation.whole))
        if sentence:
            yield f"{model.name}: {sentence}"


def missing_sentence(numbers: Mapping[str, Any]) -> str | None:
    """What the rows without a reply do to the figures, and the figures without them; None where all have one."""
    missing = numbers["n_missing"]
    if not missing:
        return None
    read, right = percent(numbers["extraction_rate_of_replies"]), percent(numbers["accuracy_of_replies"])
    rows = numbers["n"]
    shares = f"of {rows - missing} replies {read} were read, {right} are right"
    return f"without a reply: {missing} of {rows} rows, counted as wrong; {shares}"


def _comparison_line(row: dict[str, Any], called: str) -> str:
    if row["difference"] is None:
        return f"{row['a']} − {row['b']}, {called}: no question in common"
    span = "" if row["ci95"] is None else " [{:+.1f}, {:+.1f}]".format(*(100 * edge for edge in row["ci95"]))
    p = "" if row["p"] is None else f", p = {row['p']:.3g}"
    return f"{row['a']} − {row['b']}, {called}: {100 * row['difference']:+.1f} points{span} on {row['n']}{p}"
