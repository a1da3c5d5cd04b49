"""What a judge's stated confidence is worth: is it as often right as it says, what
abstaining gains, and how much narrower the ranges of its surer scores are. Whether
stated probabilities come true is in ``calibration.py``.

A score is right if it is off by less than half a step; its loss is the absolute error,
that of a choice 0 or 1. The confidence of a choice is the stated one, or the
probability of the chosen option.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
import polars as pl

from visualjudge.analysis.answers import has_truth
from visualjudge.analysis.estimate import exact
from visualjudge.analysis.figures.calibration import RELIABILITY
from visualjudge.analysis.figures.figure_parts import (
    RANGE,
    Column,
    JudgeFigure,
    JudgeResult,
    Layout,
    Section,
    Shown,
    Table,
    as_named,
    blocks,
    figure,
    number,
    percent,
    with_ends,
)
from visualjudge.analysis.score_scale import scale_of
from visualjudge.analysis.statistics.calibration import (
    Abstaining,
    Calibration,
    abstaining,
    calibration,
)
from visualjudge.analysis.statistics.score_agreement import image_groups
from visualjudge.analysis.statistics.score_ranges import (
    NO_RANGES,
    ScoreRanges,
    score_ranges,
)

LEAST_ITEMS = 20


@dataclass(frozen=True)
class Confidence:
    """Stated confidence in scores or choices; ``surer`` and ``unsurer`` are the ranges
    of true scores behind the scores of the surer half and of the others.
    """

    kind: Literal["scores", "choices"]
    stated: float
    right: float
    calibration: Calibration
    abstaining: tuple[Abstaining, ...]
    surer: ScoreRanges = NO_RANGES
    unsurer: ScoreRanges = NO_RANGES


def _rows(judge: JudgeResult) -> tuple[Confidence, ...]:
    read = judge.joined.filter("usable", has_truth())
    right = pl.col("probability_a")
    chosen = pl.when(pl.col("chosen") == "A").then(right).otherwise(1 - right)
    stated = pl.coalesce("confidence", chosen)
    collected = [
        _of_scores(judge, read.filter(pl.col("kind") == "scoring")),
        _of_choices(
            judge,
            read.filter(pl.col("kind") == "pairwise").with_columns(
                confidence=stated
            ),
        ),
    ]
    return tuple(row for row in collected if row is not None)


def _of_scores(judge: JudgeResult, table: pl.DataFrame) -> Confidence | None:
    known = table.drop_nulls(["confidence", "truth"])
    error = (known["number"] - known["truth"]).abs().to_numpy()
    if known.height < LEAST_ITEMS:
        return None
    sure = known["confidence"].to_numpy()
    surer = sure >= np.median(sure)
    columns = [
        known[name].to_numpy() for name in ("number", "truth", "cluster")
    ]
    halves = [
        score_ranges(*(column[half] for column in columns))
        if half.any()
        else NO_RANGES
        for half in (surer, ~surer)
    ]
    return _confidence(
        judge,
        known,
        exact(error, scale_of(judge.study).step),
        error,
        "scores",
        halves,
    )


def _of_choices(judge: JudgeResult, table: pl.DataFrame) -> Confidence | None:
    known = table.drop_nulls("confidence")
    if known.height < LEAST_ITEMS:
        return None
    right = known["right"].to_numpy().astype(bool)
    return _confidence(judge, known, right, 1.0 - right, "choices")


def _confidence(
    judge: JudgeResult,
    known: pl.DataFrame,
    right: np.ndarray,
    loss: np.ndarray,
    kind: Literal["scores", "choices"],
    halves: Sequence[ScoreRanges] = (),
) -> Confidence:
    sure = known["confidence"].to_numpy()
    images = known["cluster"].to_numpy().astype(np.int64)
    outcome = right.astype(float)
    result = calibration(sure, outcome, images, seed=judge.study.seed)
    return Confidence(
        kind,
        float(sure.mean()),
        float(outcome.mean()),
        result,
        abstaining(
            sure,
            loss,
            image_groups(images),
            images,
            choices=kind == "choices",
        ),
        *halves,
    )


def _displayed(judge: JudgeResult) -> Table:
    """Return what answering only the surest items gains."""
    scale = scale_of(judge.study)
    rows: list[tuple[str, ...]] = []
    for row in judge[CONFIDENCE]:
        show = scale.sized if row.kind == "scores" else with_ends
        stated = (
            f"states {percent(row.stated, 0)}, right in {percent(row.right, 0)}"
        )
        rows.append(
            (
                row.kind,
                stated,
                "calibration error",
                with_ends(row.calibration.ece_corrected, number),
            )
        )
        rows += [
            (
                row.kind,
                f"surest {percent(part.answered, 0)}, from {number(part.least)}",
                f"loss {show(part.loss)}",
                f"less by {show(part.gain)}",
            )
            for part in row.abstaining
        ]
        if row.unsurer.ranges:
            widths = [
                number(scale.size(part.width))
                for part in (row.surer, row.unsurer)
            ]
            rows.append(
                (
                    row.kind,
                    "ranges of true scores",
                    f"surer half {widths[0]} wide",
                    f"others {widths[1]}",
                )
            )
    return Table(
        ("Of", "Answered", "Loss", "Against all"), tuple(rows), (), judge.name
    )


def _section(view: Shown) -> Section:
    return Section(
        "confidence",
        "Is its confidence worth anything?",
        "How often it is right beside how sure it says it is, and the loss of the "
        "items that it is surest of: the mean error of scores, the share of wrong "
        "choices.",
        asked=[_displayed(judge) for judge in view.judges],
    )


ABSTAINING = Layout[Abstaining](
    *as_named("least", "answered"),
    *figure("loss", "loss"),
    *figure("gain", "gain"),
)
COLUMNS = Layout[Confidence](
    *as_named("kind", "stated", "right"),
    *figure("ece", "calibration.ece"),
    Column("ece_corrected", "calibration.ece_corrected.value"),
    *figure("brier", "calibration.brier"),
    Column("bins", lambda row: [asdict(bin) for bin in row.calibration.bins]),
    Column("n", "calibration.n"),
    blocks("abstaining", ABSTAINING),
    blocks("range_surer", RANGE, "surer.ranges"),
    blocks("range_others", RANGE, "unsurer.ranges"),
)
CONFIDENCE = JudgeFigure(
    "confidence",
    _rows,
    COLUMNS,
    needs={"truth"},
    place=77,
    tables=lambda _: {},
    section=_section,
    plots=(RELIABILITY,),
)
