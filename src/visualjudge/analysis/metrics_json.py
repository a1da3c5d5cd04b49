"""``metrics.json``, with every column of every table, and the same content as long tables.

Every list or keyed block becomes one table with one row per judge and entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from visualjudge.analysis.columns import COMPARISON, DATASET, JUDGE, LEAK
from visualjudge.analysis.decisions.card import IN_METRICS, Card
from visualjudge.analysis.figures import Results
from visualjudge.analysis.statistics.reliability import DRAWS
from visualjudge.core.jsons import Json


def document(results: Results, card: Card) -> Json:
    """Return the results as a JSON object, with the card's answer by task. ``bootstrap`` describes
    only the intervals of calibration errors.
    """
    judges = zip(results.judges, card.judges, strict=True)
    return {
        "judges": [{**JUDGE.json(row), **IN_METRICS.json(own)} for row, own in judges],
        "warnings": list(results.warnings),
        "comparisons": [COMPARISON.json(row) for row in results.comparisons],
        "leak_audit": [LEAK.json(row) for row in results.leaks],
        "dataset": DATASET.json(results.dataset),
        "bootstrap": {
            "clusters": results.clusters,
            "draws": DRAWS,
            "seed": results.seed,
        },
    }


def _flat(row: Mapping[str, Any], prefix: str = "") -> Json:
    """Flatten nested objects into dotted columns and an interval into _low and _high; omit other
    lists.
    """
    out: Json = {}
    for key, value in row.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            out |= _flat(value, f"{name}.")
        elif isinstance(value, tuple) and len(value) == 2:
            out |= {f"{name}_low": value[0], f"{name}_high": value[1]}
        elif not isinstance(value, (list, tuple)):
            out[name] = value
    return out


HEADLINE = (
    *(
        "judge",
        "simulated",
        "verdicts",
        "questions",
        "status",
        "tokens",
        "latency_median_s",
    ),
    *("pairwise", "ranking", "scoring"),
)
CELLS = ("by_task", "by_encoding", "by_error_type")
LISTS = ("bias", "sensitivity", "variance")


def tables_of(metrics: Mapping[str, Any]) -> dict[str, pl.DataFrame]:
    """Return all tables of ``metrics`` by name."""
    rows: dict[str, list[Json]] = {}
    for judge in metrics["judges"]:
        found = {
            "headline": [{name: judge[name] for name in HEADLINE}],
            **{
                name: [{"cell": k, **row} for k, row in judge[name].items()]
                for name in CELLS
            },
            **{name: judge[name] for name in LISTS},
            "leaderboard": judge["leaderboard"]["rows"],
            "pairs": [
                {
                    "judge_prefers_a" if key == "judge" else key: end
                    for key, end in pair.items()
                }
                for pair in judge["answer"]["pairs"]
            ],
            "encoding_comparisons": [
                {"task": task["task"], **row}
                for task in judge["encodings"]
                for row in task["comparisons"]
            ],
        }
        for name, own in found.items():
            rows.setdefault(name, []).extend(
                {"judge": judge["judge"], **row} for row in own
            )
    rows |= {name: list(metrics[name]) for name in ("comparisons", "leak_audit")}
    return {
        name: pl.from_dicts(list(map(_flat, found)), infer_schema_length=None)
        for name, found in rows.items()
        if found
    }
