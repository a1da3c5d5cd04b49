"""When to ask the better judge: the confidence at which a cheap judge stays within a risk, and the
savings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from visualjudge.analysis.figure_text import many, percent
from visualjudge.analysis.load import load_study
from visualjudge.analysis.statistics import RiskThreshold, risk_threshold
from visualjudge.analysis.statistics.jackknife import renumbered, sums
from visualjudge.analysis.statistics.share_intervals import gap_ends, one_share, ratio
from visualjudge.analysis.study_table import NO_REMARKS, Remarks, Study, fully_asked, remarks_on
from visualjudge.core.case_noun import current_noun, in_cases, in_cases_of
from visualjudge.core.errors import DataError
from visualjudge.core.records import BoolArray, FloatArray, IntArray
from visualjudge.judges.cascade import By, CascadeRule, decide

Interval = tuple[float, float]


@dataclass(frozen=True)
class Accuracy:
    """Share of the common questions answered correctly, with its 95 % interval."""

    value: float
    interval: Interval | None


@dataclass(frozen=True)
class Cascade:
    """The rule, its guarantee, and its results on the questions that both judges answered.

    ``ahead`` is the cheap judge's accuracy less the expensive one's, −1 … 1, with its 95 %
    interval. ``saved`` is the share of the questions that the expensive judge need not answer.
    ``tokens_saved`` is the share of its tokens that are saved, less those of the cheap judge; None
    if tokens are unknown.
    """

    cheap: str
    expensive: str
    rule: CascadeRule
    threshold: RiskThreshold
    cheap_accuracy: Accuracy
    expensive_accuracy: Accuracy
    accuracy: Accuracy
    ahead: Accuracy
    saved: float
    tokens_saved: float | None
    questions: int
    images: int
    remarks: Remarks = NO_REMARKS
    case_noun: str = field(default_factory=current_noun)

    @property
    @in_cases_of
    def answer(self) -> str:
        """The recommendation in one sentence."""
        if self.cheap_is_better:
            return (
                f"Do not use this cascade: {self.cheap} alone is more accurate than "
                f"{self.expensive} "
                f"({percent(self.cheap_accuracy.value, 0)} against "
                f"{percent(self.expensive_accuracy.value, 0)})."
            )
        if not self.saved:
            return (
                f"No threshold keeps the risk of {self.cheap} within {self.threshold.alpha:g} "
                f"({many(self.questions, 'question')} on {many(self.images, 'image')}): ask "
                f"{self.expensive}."
            )
        return (
            f"Let {self.cheap} answer where its confidence ({self.rule.by}) is at least "
            f"{self.rule.threshold:.3f}. This accepts its answers to {percent(self.saved, 0)} of "
            f"the questions, of which at most {percent(self.threshold.alpha, 0)} are wrong; ask "
            f"{self.expensive} the others.{self._doubt}"
        )

    @property
    def cheap_is_better(self) -> bool:
        """Whether the cheap judge is significantly more accurate than the expensive one."""
        return self.ahead.interval is not None and self.ahead.interval[0] > 0

    @property
    def _doubt(self) -> str:
        if self.ahead.value <= 0:
            return ""
        return (
            f" {self.expensive} was not more accurate than {self.cheap} here: compare them on "
            f"{in_cases('more images')} first."
        )

    def __str__(self) -> str:
        from visualjudge.analysis.decisions.decision_tables import cascade_table

        return cascade_table(self).text()

    def _repr_html_(self) -> str:
        from visualjudge.analysis.decisions.decision_tables import cascade_table

        return cascade_table(self).html()


def cascade(
    cheap: str | Path,
    expensive: str | Path,
    *,
    risk: float = 0.1,
    delta: float = 0.1,
    dataset: str | Path | None = None,
) -> Cascade:
    """Return the cascade of two runs over one dataset with true answers.

    Parameters
    ----------
    risk
        Maximum share of errors among the cheap judge's accepted answers.
    delta
        The risk holds with probability 1 − ``delta`` over the questions on which the threshold is
        chosen.

    Raises
    ------
    DataError
        If a run cannot be read, the two have no pairwise question in common, or its right answers
        are not known.
    """
    return cascade_study(load_study([cheap, expensive], dataset=dataset), risk=risk, delta=delta)


@in_cases_of
def cascade_study(study: Study, *, risk: float = 0.1, delta: float = 0.1) -> Cascade:
    """Return :func:`cascade` of the first two runs of ``study``. Of an unfinished cheap run, only
    questions asked in the same orders and repeats are used.
    """
    own = fully_asked(study.kind(0, "pairwise"))
    tables = [_questions(pairs) for pairs in (own, study.kind(1, "pairwise"))]
    both = (
        tables[0]
        .join(tables[1].select("id", later="texts", later_tokens="tokens"), on="id")
        .sort("id")
    )
    if both.is_empty():
        raise DataError("the two runs have no pairwise question in common")
    study.require_truth("a cascade is chosen")
    by: By = "probability" if both["stated"].any() and not both["silent"].any() else "agreement"
    first = [
        decide(v, p, by)
        for v, p in zip(both["texts"].to_list(), both["probabilities"].to_list(), strict=True)
    ]
    alone = [answer if answer and by == "probability" else _majority(v)
             for (answer, _), v in zip(first, both["texts"].to_list(), strict=True)]  # fmt: skip
    right, cheap_right, later = (
        np.array(
            [answer == true for answer, true in zip(said, both["answer"].to_list(), strict=True)]
        )
        for said in (
            [answer for answer, _ in first],
            alone,
            map(_majority, both["later"].to_list()),
        )
    )
    image = np.asarray(both["cluster"].to_numpy(), dtype=np.int64)
    sure = np.array([confidence if answer else 0.0 for answer, confidence in first])
    found = risk_threshold(sure, (~right).astype(float), risk, delta=delta, clusters=image)
    kept = (sure >= found.value) & (sure > 0)
    asked = own.select(pl.col("order").cast(pl.String).replace("unknown", "AB"), "repeat")
    asks = tuple(sorted(asked.unique().rows()))
    return Cascade(
        study.runs[0].name,
        study.runs[1].name,
        CascadeRule(min(found.value, 2.0), by, asks),
        found,
        accuracy_of(cheap_right, image),
        accuracy_of(later, image),
        accuracy_of(np.where(kept, right, later), image),
        _ahead(cheap_right, later, image),
        float(kept.mean()),
        _tokens_saved(both, kept),
        both.height,
        int(np.unique(image).size),
        remarks_on(study.runs[:2]),
    )


def _questions(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return one row per question: all usable answers (else None), all probabilities of A, and the
    tokens.
    """
    return pairs.group_by("id", maintain_order=True).agg(
        pl.col("answer", "cluster").first(),
        texts=pl.when(pl.col("parsed")).then(pl.col("text")),
        probabilities=pl.when(pl.col("parsed")).then(pl.col("probability_a")),
        silent=(pl.col("probability_a").is_null() & pl.col("parsed")).any(),
        stated=pl.col("probability_a").is_not_null().any(),
        tokens=(pl.col("tokens_in") + pl.col("tokens_out")).sum(),
    )


def _majority(texts: Sequence[str | None]) -> str | None:
    """Return the answer (including ties) that most usable replies give; None if the two most
    frequent are equally so.
    """
    (first, most), (_, second) = (
        *Counter(t for t in texts if t).most_common(2),
        (None, 0),
        (None, 0),
    )[:2]
    return first if most > second else None


def accuracy_of(right: BoolArray, image: IntArray) -> Accuracy:
    found = one_share(
        np.bincount(image, weights=right.astype(float)).astype(float),
        np.bincount(image).astype(float),
    )
    return Accuracy(float(right.mean()), found.interval(0))


def _ahead(first: BoolArray, second: BoolArray, image: IntArray) -> Accuracy:
    """Return the accuracy of ``first`` less that of ``second`` on the same questions."""
    where = renumbered(image)[1]
    gap, n = first.astype(float) - second, np.bincount(where).astype(float)
    value, found = ratio(sums(where, gap, n.size), n)
    low, high = gap_ends(value, found, np.array([np.abs(gap).sum()]), np.array([n.sum()]))
    told = bool(np.isfinite(low[0]) and np.isfinite(high[0]))
    return Accuracy(float(value[0]), (float(low[0]), float(high[0])) if told else None)


def _tokens_saved(both: pl.DataFrame, kept: BoolArray) -> float | None:
    first: FloatArray = both["tokens"].cast(pl.Float64).to_numpy()
    second: FloatArray = both["later_tokens"].cast(pl.Float64).to_numpy()
    if not second.sum() > 0 or not first.sum() > 0:
        return None
    return float((second[kept].sum() - first.sum()) / second.sum())
