"""The figures of an evaluation, with intervals: ``scores.json`` and MMBench's table.

The rotations of a question are correlated, so each interval leaves out one question in
turn (95 %, see :mod:`visualjudge.analysis.estimate`); with fewer than five questions no
interval is given.

The usual table has accuracy by MMBench's six abilities and overall, for each split and
model.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visualjudge.analysis.estimate import shares
from visualjudge.apps.mmbench.evaluate import Evaluation, Slice
from visualjudge.apps.mmbench.table import Row, ScoredRow
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.text_tables import Table

# MMBench's l2-categories and the names its leaderboard gives them; other categories
# keep their own.
ABILITIES = {
    "coarse_perception": "CP",
    "finegrained_perception (instance-level)": "FP-S",
    "finegrained_perception (cross-instance)": "FP-C",
    "logic_reasoning": "LR",
    "relation_reasoning": "RR",
    "attribute_reasoning": "AR",
}
ALL = "all"


CATEGORIES: Mapping[str, Callable[[Row], str]] = {
    "by_category": lambda row: row.category,
    "by_l2_category": lambda row: row.l2_category,
}


def scores(evaluation: Evaluation) -> Json:
    """Return one evaluation as plain JSON; shares are in 0..1, None without cases."""
    result: Json = {
        "rules": evaluation.rules,
        **block(evaluation.whole),
        "invalid_groups": [group.index for group in evaluation.invalid],
        **{
            name: {
                value: block(part)
                for value, part in evaluation.whole.by(key).items()
            }
            for name, key in CATEGORIES.items()
        },
        "rows": [
            {
                "index": line.row.index,
                "prediction": line.prediction,
                "extracted": line.extracted,
                "hit": line.hit,
                "answer": line.row.answer or None,
                "why": line.why,
            }
            for line in evaluation.rows
        ],
        "groups": [
            {"index": group.index, "hit": group.hit}
            | ({"missing": list(group.missing)} if group.missing else {})
            for group in evaluation.groups
        ],
        "unknown": list(evaluation.unknown),
        "matched": evaluation.matched,
    }
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


def block(part: Slice) -> Json:
    """Return counts, shares and intervals of some rows and their groups.

    ``n_missing`` of the ``n`` rows have no reply; they count as unread and wrong, but
    not in the shares ``of_replies``. ``vanilla_accuracy`` is that of VanillaEval: each
    question once, without its rotations.
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
        "extraction_rate_of_replies": share(
            [line.extracted is not None for line in replied]
        ),
        **_shares("accuracy", part.rows, [line.hit for line in part.rows]),
        "accuracy_of_replies": share([line.hit for line in replied]),
        "n_vanilla": len(vanilla),
        **_shares("vanilla_accuracy", vanilla, [line.hit for line in vanilla]),
        "n_groups": len(valid),
        "circular_accuracy": share(circular),
        "circular_accuracy_ci95": interval(
            circular, [group.index for group in valid]
        ),
    }


def _shares(
    name: str, rows: Sequence[ScoredRow], values: Sequence[bool]
) -> Json:
    ends = interval(values, [line.row.group for line in rows])
    return {name: share(values), f"{name}_ci95": ends}


def share(values: Sequence[bool]) -> float | None:
    """Return the share of true values, or None without values."""
    return sum(values) / len(values) if values else None


def interval(
    values: Sequence[bool], clusters: Sequence[int]
) -> tuple[float | None, float | None] | None:
    """Return the 95 % interval of the share of true values by leaving out each cluster;
    None with fewer than five clusters.
    """
    if not values:
        return None
    return shares(*cluster_sums(np.asarray(values, dtype=float), clusters))[
        0
    ].interval


def cluster_sums(
    values: NDArray[np.float64], clusters: Sequence[int]
) -> tuple[Any, Any]:
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
    cells: dict[str, Json]


def percent(value: float | None) -> str:
    """Format a share as a percentage."""
    return "–" if value is None else f"{100 * value:.1f} %"


def column_names(models: Sequence[Model]) -> list[str]:
    """Return the table's columns: the six abilities in MMBench's order, then others by
    name."""
    seen = {
        line.row.l2_category
        for model in models
        for line in model.evaluation.rows
    } - {""}
    usual = [short for long, short in ABILITIES.items() if long in seen]
    return ["Overall", *usual, *sorted(seen - set(ABILITIES))]


def splits(evaluation: Evaluation) -> dict[str, Slice]:
    """Return rows and groups of each split, and of all splits together if there are
    several."""
    result = evaluation.whole.by(lambda row: row.split or ALL)
    return result if len(result) == 1 else {**result, ALL: evaluation.whole}


def measures(models: Sequence[Model]) -> dict[str, str]:
    """Return the measures and their names.

    With rotations these are VanillaEval (each question once), CircularEval, and the
    share of all rows. Without rotations, the share of all rows is VanillaEval.
    """
    turned = any(
        line.row.rotation for model in models for line in model.evaluation.rows
    )
    if not turned:
        return {"accuracy": "vanilla"}
    return {
        "vanilla_accuracy": "vanilla",
        "circular_accuracy": "circular",
        "accuracy": "all rotations",
    }


def lines(models: Sequence[Model]) -> Iterator[Line]:
    """Return the table: for each model and split, one line for each of its
    :func:`measures`."""
    for model in models:
        for split, part in splits(model.evaluation).items():
            by_ability = part.by(
                lambda row: ABILITIES.get(row.l2_category, row.l2_category)
            )
            pieces = {
                "Overall": part,
                **{name: own for name, own in by_ability.items() if name},
            }
            for measure, label in measures([model]).items():
                cells = {
                    name: _cell(piece, measure)
                    for name, piece in pieces.items()
                }
                yield Line(model.name, split, measure, label, cells)


def _cell(piece: Slice, measure: str) -> Json:
    once = Slice([line for line in piece.rows if not line.row.rotation], [])
    numbers = block(once if measure == "vanilla_accuracy" else piece)
    return {
        "value": numbers[measure],
        "ci95": numbers[f"{measure}_ci95"],
        "n": numbers["n_groups" if measure == "circular_accuracy" else "n"],
        "n_missing": numbers["n_missing"],
        "extraction_rate": numbers["extraction_rate"],
    }


def as_json(models: Sequence[Model]) -> Json:
    """Return the report as plain JSON."""
    table = [
        {name: getattr(line, name) for name in LINE} for line in lines(models)
    ]
    own = [{"name": model.name, **scores(model.evaluation)} for model in models]
    return {"table": table, "models": own}


LINE = ("model", "split", "measure", "cells")


def as_text(models: Sequence[Model]) -> str:
    """Return the table for a terminal."""
    names = column_names(models)
    rows = []
    for line in lines(models):
        read = percent(line.cells["Overall"]["extraction_rate"])
        values = [
            percent(line.cells[name]["value"]) if name in line.cells else "–"
            for name in names
        ]
        rows.append((line.model, line.split, line.label, read, *values))
    columns = ("model", "split", "measure", "read", *names)
    return Table(
        columns, tuple(rows), tuple(without_reply(models)), keys=3
    ).text()


def without_reply(models: Sequence[Model]) -> Iterator[str]:
    """Yield a sentence for each model that lacks replies."""
    for model in models:
        sentence = missing_sentence(block(model.evaluation.whole))
        if sentence:
            yield f"{model.name}: {sentence}"


def missing_sentence(numbers: Fields) -> str | None:
    """Return how rows without a reply affect the figures, and the figures without them;
    None if all rows have one.
    """
    missing = numbers["n_missing"]
    rows = numbers["n"]
    if not missing:
        return None
    read = percent(numbers["extraction_rate_of_replies"])
    right = percent(numbers["accuracy_of_replies"])
    message = f"of {rows - missing} replies {read} were read, {right} are right"
    return f"without a reply: {missing} of {rows} rows, counted as wrong; {message}"
