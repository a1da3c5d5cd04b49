"""The criteria of a rubric: their agreement with the truth and with the verdict,
contradictions, and how well they predict the truth by themselves. Criteria that name
the error or its place are in ``reasons.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
import polars as pl

from visualjudge.analysis.figures.figure_parts import (
    Estimate,
    JudgeFigure,
    JudgeResult,
    Layout,
    Section,
    counts,
    figure,
    image_sums,
    named,
    number,
    percent,
    with_ends,
)
from visualjudge.analysis.fits import fit
from visualjudge.analysis.stated_reasons import rubric_in, true_criteria
from visualjudge.core.records import FAILED, FloatArray

EVERY = "all criteria"
FOLDS = 5
SIGNS = {"A": 1.0, "B": -1.0}


@dataclass(frozen=True)
class CriterionFigures:
    """One criterion, or all that compare the options.

    ``failed`` counts values that could not be read. ``truth`` is the agreement with the
    option that is better by the criterion's kinds of faults; of all criteria, the
    accuracy of their prediction of the right answer (logistic, fitted on four fifths of
    the images: a fit to more images predicts better, and the interval leaves out how
    fits differ, so that it holds what is stated in 88 to 96 % with 20 images).
    ``verdict`` is the agreement with the judge's answer. ``contradicted``: of pairs in
    which all criteria that prefer an option prefer the same, the share in which the
    answer is the other one.
    """

    criterion: str
    failed: int
    truth: Estimate
    verdict: Estimate
    contradicted: Estimate


def _rows(judge: JudgeResult) -> tuple[CriterionFigures, ...]:
    rubric = rubric_in(judge.run.info)
    stated = judge.joined.filter(pl.col("criteria").is_not_null())
    if rubric is None or stated.is_empty():
        return ()
    answers = [orjson.loads(text) for text in stated["criteria"]]
    true = true_criteria(judge, rubric)
    table = stated.select("id", "cluster", "kind", "answer", "chosen")
    options = [
        criterion.id
        for criterion in rubric.criteria
        if criterion.answer == "option"
    ]
    rows = []
    for criterion in rubric.criteria:
        values = [values.get(criterion.id) for values in answers]
        texts = [None if value is None else str(value) for value in values]
        best = [true[criterion.id].get(name) for name in table["id"]]
        asked = table.with_columns(
            value=pl.Series(texts, dtype=pl.String),
            truth=pl.Series(best, dtype=pl.String),
        ).drop_nulls("value")
        if asked.height:
            compares = pl.lit(criterion.id in options)
            rows.append(criterion_figures(criterion.id, asked, compares))
    signs = np.array(
        [
            [SIGNS.get(str(values.get(name)), 0.0) for name in options]
            for values in answers
        ]
    ).reshape(len(answers), len(options))
    pairs = (table["kind"] == "pairwise").to_numpy()
    if options and pairs.any():
        rows.append(
            criteria_together(table.filter(pl.Series(pairs)), signs[pairs])
        )
    return tuple(
        row for row in rows if row.failed or row.truth.n or row.verdict.n
    )


def criterion_figures(
    name: str, table: pl.DataFrame, compares: pl.Expr
) -> CriterionFigures:
    """Return the figures of a criterion from a table with the columns ``cluster,
    chosen, value, truth``; ``compares``: it has an option as its value.
    """
    value = pl.col("value")
    chosen = pl.col("chosen").cast(pl.String)
    prefers = compares & value.is_in(list(SIGNS)) & chosen.is_not_null()
    sums = image_sums(
        table,
        [],
        {
            "known": pl.col("truth").is_not_null(),
            "right": (value == pl.col("truth")).fill_null(False),
            "prefers": prefers,
            "same": prefers & (value == chosen),
            "other": prefers & (value != chosen),
        },
    )
    failed = table.filter(value == FAILED).height
    shares = (
        sums.shares(top, bottom)[0]
        for top, bottom in (
            ("right", "known"),
            ("same", "prefers"),
            ("other", "prefers"),
        )
    )
    return CriterionFigures(name, failed, *shares)


def criteria_together(
    table: pl.DataFrame, signs: FloatArray
) -> CriterionFigures:
    """Return the figures of all criteria together from a table with the columns
    ``cluster, answer, chosen`` and the ``signs`` of each pair's criteria, pairs ×
    criteria: 1 for A, −1 for B, else 0.
    """
    total = np.sign(signs).sum(axis=1)
    alike = (np.abs(total) == np.abs(signs).sum(axis=1)) & (total != 0)
    predicted = _predicted(table, signs)
    rows = table.with_columns(
        preferred=pl.Series(np.where(total > 0, "A", "B")),
        alike=pl.Series(alike),
        predicted=pl.Series(predicted, dtype=pl.String),
        chosen=pl.col("chosen").cast(pl.String),
        answer=pl.col("answer").cast(pl.String),
    )
    counted = pl.col("alike") & pl.col("chosen").is_not_null()
    agrees = counted & (pl.col("chosen") == pl.col("preferred"))
    sums = image_sums(
        rows,
        [],
        {
            "known": pl.col("predicted").is_not_null(),
            "right": (pl.col("predicted") == pl.col("answer")).fill_null(False),
            "n": counted,
            "same": agrees,
            "other": counted & ~agrees,
        },
    )
    return CriterionFigures(
        EVERY,
        0,
        sums.shares("right", "known")[0],
        sums.shares("same", "n")[0],
        sums.shares("other", "n")[0],
    )


def _predicted(table: pl.DataFrame, signs: FloatArray) -> list[str | None]:
    """Return the answer that the criteria predict for each pair with a right answer, by
    a penalised logistic fit to the images of the other folds.
    """
    known = table["answer"].cast(pl.String).is_in(list(SIGNS)).to_numpy()
    first = (table["answer"].cast(pl.String) == "A").to_numpy().astype(float)
    image = table["cluster"].to_numpy().astype(np.int64)
    result: list[Any] = [None] * table.height
    fold = image % FOLDS
    for k in np.unique(fold[known]):
        train = known & (fold != k)
        test = np.flatnonzero(known & (fold == k))
        if np.unique(image[train]).size < FOLDS:
            continue
        made = fit(signs[train], first[train], image[train], penalised=True)
        eta = signs[test] @ made.coefficients
        for place, value in zip(test, eta, strict=True):
            if value == 0:
                result[place] = "tie"
            else:
                result[place] = "A" if value > 0 else "B"
    return result


COLUMNS = Layout[CriterionFigures](
    named("criterion", "Criterion", text=True, show=str),
    *counts("verdict"),
    named("failed", "Not read", number),
    *figure("truth", "truth", "Agrees with the truth"),
    *figure("verdict", "verdict", "Agrees with the verdict"),
    *figure("contradicted", "contradicted", "Contradicts it"),
)


def _sentences(rows: Sequence[CriterionFigures]) -> list[str]:
    return [
        "Where all criteria prefer the same option, the verdict is the other one in "
        f"{with_ends(row.contradicted)}; the criteria alone predict "
        f"{percent(row.truth.value)} of the right answers."
        for row in rows
        if row.criterion == EVERY and row.contradicted.interval is not None
    ]


CRITERIA = JudgeFigure(
    "criteria",
    _rows,
    COLUMNS,
    place=95,
    sentences=_sentences,
    section=Section(
        "criteria",
        "Do the criteria agree with the truth and with the verdict?",
        "The truth of a criterion that compares the options is the one with less "
        "weight of its kinds of faults. The last row: what a logistic fit to four fifths "
        "of these images makes of all of them on the others (a fit to more images "
        "predicts better), and pairs in which all that prefer an option prefer the "
        "same.",
    ),
    link=lambda judge, _: judge.address(),
)
