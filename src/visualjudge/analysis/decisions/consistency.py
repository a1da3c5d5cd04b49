"""Is it consistent, and do judges agree? What verdicts without a truth show. The
answers with a truth are in ``model_answer.py``, ``pair_answer.py`` and
``score_answer.py``.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl

from visualjudge.analysis.answers import points
from visualjudge.analysis.figure_text import listed, number, percent, with_ends
from visualjudge.analysis.pairwise_verdicts import Pairwise
from visualjudge.analysis.score_scale import scale_of
from visualjudge.analysis.statistics.correlation import spearman
from visualjudge.analysis.study_table import Study

KEYS = ("question", "order")
BESIDE = 3
"""Number of other judges that a sentence names."""
ADVICE = (
    "But without ground truth nobody knows whether it is right: `visualjudge label` "
    "draws questions for people, and `visualjudge adopt` reads a "
    "column of truth."
)


def consistency(study: Study, run: int, pairwise: Pairwise) -> str:
    """Return the sentence on a judge whose answers have no truth."""
    parts = [*_of_itself(study, run, pairwise), *_with_others(study, run)]
    known = "; ".join(parts) or (
        "each question was asked once, in one order, to one judge, so not even "
        "consistency shows"
    )
    return f"Not known: {known}. {ADVICE}"


def _of_itself(study: Study, run: int, pairwise: Pairwise) -> Iterator[str]:
    swapped = pairwise.swap.consistency
    if swapped.value is not None and swapped.n:
        yield (
            f"it keeps its choice in {with_ends(swapped)} of pairs shown in both "
            "orders"
        )
    table = study.joined[run].filter("usable")
    again = table.group_by(*KEYS).agg(
        n=pl.len(),
        same=pl.col("text").n_unique(),
        spread=pl.col("number").std(),
    )
    again = again.filter(pl.col("n") > 1)
    if again.is_empty():
        return
    spread = again["spread"].drop_nulls()
    if spread.len():
        scale = scale_of(study)
        mean = scale.size(float(np.sqrt(np.mean(spread.to_numpy() ** 2))))
        yield (
            "asked again, its scores differ by a standard deviation of "
            f"{number(mean)}, on the scale {scale}"
        )
    else:
        share = float(np.mean(again["same"].to_numpy() == 1))
        yield f"asked again, it gives the same answer in {percent(share)} of questions"


def _with_others(study: Study, run: int) -> Iterator[str]:
    own = _answers(study, run)
    agreed = []
    for other, judge in enumerate(study.runs):
        both = own.join(_answers(study, other), on="question", suffix="_b")
        if other == run or both.height < 2:
            continue
        agreed.append(f"{judge.name} ({_agreement(both)})")
    if agreed:
        yield f"it agrees with {listed(agreed, BESIDE)}"


def _agreement(both: pl.DataFrame) -> str:
    a, b = (both[name].to_numpy().astype(float) for name in ("said", "said_b"))
    if (both["kind"] == "scoring").all():
        rho = spearman(a, b)
        return "all scores alike" if rho is None else f"ρ {number(rho)}"
    return f"the same choice in {percent(float(np.mean(a == b)))}"


def _answers(study: Study, run: int) -> pl.DataFrame:
    """Return the mean answer to each question as a number: a score, or 1 for A, 0 for
    B, ½."""
    answers = (
        pl.when(pl.col("kind") == "scoring")
        .then(pl.col("number"))
        .otherwise(points("chosen"))
    )
    read = study.joined[run].filter("usable", pl.col("kind") != "ranking")
    return read.group_by("question", maintain_order=True).agg(
        said=answers.mean(), kind=pl.col("kind").cast(pl.String).first()
    )
