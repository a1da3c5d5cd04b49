"""``metrics.json``: every column of every table."""

from __future__ import annotations

from visualjudge.analysis.columns import AGREEMENT, COMPARISON, FACET, JUDGE
from visualjudge.analysis.dataset_columns import DATASET, LEAK
from visualjudge.analysis.decisions.card import Card
from visualjudge.analysis.decisions.decision_json import probabilities_json, tasks_json
from visualjudge.analysis.figures import Results
from visualjudge.analysis.table_layout import Json


def document(results: Results, card: Card) -> Json:
    """The results as an object of JSON, with the card's answer by task; ``bootstrap`` is of the 75
    % points alone.
    """
    judges = zip(results.judges, card.judges, strict=True)
    return {
        "judges": [
            {**JUDGE.json(row), "tasks": tasks_json(own), "probabilities": probabilities_json(own)}
            for row, own in judges
        ],
        "warnings": list(results.warnings),
        "comparisons": [COMPARISON.json(row) for row in results.comparisons],
        "judge_agreement": [AGREEMENT.json(row) for row in results.agreement],
        "facets": [FACET.json(row) for row in results.facets],
        "leak_audit": [LEAK.json(row) for row in results.leaks],
        "dataset": DATASET.json(results.dataset),
        "bootstrap": {"clusters": results.clusters, "draws": results.draws, "seed": results.seed},
    }
