"""How often the probabilities that a judge states come true. What it computes is in
``statistics/calibration.py``; what a stated confidence is worth, in ``confidence.py``.
"""

from dataclasses import asdict

import polars as pl

from visualjudge.analysis.figures.figure_parts import (
    Column,
    JudgeFigure,
    JudgeResult,
    Layout,
    Trace,
    as_named,
    lines_of_judges,
    number3,
    span3,
)
from visualjudge.analysis.statistics.calibration import (
    Calibration,
    calibration,
)

COLUMNS = Layout[Calibration](
    Column("brier", "brier.value"),
    Column("brier_ci95", "brier.interval"),
    Column("ece", "ece.value"),
    Column("ece_ci95", "ece.interval"),
    Column("ece_corrected", "ece_corrected.value"),
    *as_named("n", "images"),
    Column("bins", lambda match: [asdict(row) for row in match.bins]),
)


def _probabilities(judge: JudgeResult) -> Calibration | None:
    """Return how well stated probabilities match the share of right answers."""
    columns = ("probability_a", "answer", "cluster")
    stated = judge.study.kind(judge.index, "pairwise", columns).filter(
        pl.col("probability_a").is_between(0, 1)
        & pl.col("answer").is_in(["A", "B"])
    )
    if stated.is_empty():
        return None
    happened = (stated["answer"] == "A").cast(pl.Float64).to_numpy()
    return calibration(
        stated["probability_a"].to_numpy(),
        happened,
        stated["cluster"].to_numpy(),
        seed=judge.study.seed,
    )


def _bins(judge: JudgeResult) -> Trace:
    stated = judge[PROBABILITIES]
    bins = () if stated is None else stated.bins
    return Trace(
        tuple((row.stated, row.observed, row.n) for row in bins if row.n)
    )


def _came_true(stated: Calibration | None) -> list[str]:
    if stated is None:
        return []
    brier = stated.brier
    ece = stated.ece_corrected
    return [
        f"Its probabilities: Brier score {number3(brier.value)} "
        f"({span3(brier.interval)}), expected calibration error, corrected for few "
        f"answers, {number3(ece.value)} ({span3(ece.interval)}), {stated.n} answers."
    ]


PROBABILITIES = JudgeFigure(
    "probabilities",
    _probabilities,
    json=lambda value: None if value is None else COLUMNS.json(value),
    place=75,
    sentences=_came_true,
)
"""None without probabilities."""
RELIABILITY = lines_of_judges(
    "reliability",
    "Stated probabilities and how often they came true",
    "How often A was right, by the probability that the judge stated for A.",
    ("stated", "came_true"),
    _bins,
    ("Stated probability of A", "A was right"),
    "On the dashed line, both are equal; larger markers stand for more answers.",
    "no reply states a probability",
    lambda _: (0.0, 1.0),
)
