"""Preferences of a judge that do not depend on the truth: for an option's position, and
for features that a shallow reader could use. Favour for one model is in
``statistics/favour.py``; effects of planted changes, in ``probes.py``.

A *preference* is half the difference between the judge's accuracy on questions where
the option with more of the feature is better and its accuracy where that option is
worse. It is 0 for a judge that ignores the feature and +½ for one that looks at nothing
else, whichever answer is more common; a tie is half right. The two accuracies are
compared **at equal difficulty**: by a regression that also holds the task, the margin
between the scores, the answers on the image's other pairs and, but for the position
itself, the position of the better option, with errors clustered by image
(:mod:`visualjudge.analysis.fits`). If the order shown is not known, only the features
are compared, at any position.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from scipy import special

from visualjudge.analysis.estimate import (
    LEAST_IMAGES,
    LEVEL,
    TAIL,
    holm,
    renumbered,
    too_few,
)
from visualjudge.analysis.figures.figure_parts import (
    HOLM,
    NOTHING,
    UNADJUSTED,
    Estimate,
    JudgeFigure,
    JudgeResult,
    Layout,
    Section,
    as_named,
    counts,
    estimates_of_judges,
    figure,
    image_sums,
    listed,
    named,
    number,
    points,
)
from visualjudge.analysis.figures.leaks import RULES
from visualjudge.analysis.fits import (
    effective,
    fit,
    interval,
    of_others,
    p_value,
)
from visualjudge.analysis.pairwise_verdicts import Preference, Swap, withheld
from visualjudge.analysis.study_table import more, ordered
from visualjudge.core.records import BoolArray, FloatArray

FLAT = 1e-18
PREFERRED = {"position": "the option shown first", **RULES}


def binomial_p(hits: int, n: int) -> float | None:
    """Return the exact two-sided p-value of ``hits`` of ``n`` against ½."""
    return (
        min(1.0, 2 * float(special.bdtr(min(hits, n - hits), n, 0.5)))
        if n
        else None
    )


NOT_DETERMINED = 1e-6
STRATA = 5


def _more(feature: str) -> str:
    return "first_right" if feature == "position" else more(feature)


def preference(table: pl.DataFrame, feature: str) -> Preference:
    """Return a judge's preference for one feature, from the usable replies to pairwise
    questions whose options differ in it.
    """
    sides = table.select(
        "cluster",
        "pair",
        "task",
        "margin",
        "right",
        "tie",
        "first_right",
        more=_more(feature),
    ).drop_nulls("more")
    images = sides["cluster"].n_unique()
    if sides.is_empty() or sides["more"].n_unique() < 2:
        nothing = Estimate(None, None, sides.height, images)
        return Preference(feature, PREFERRED[feature], nothing, None)
    right, ahead, tie = (
        sides[name].to_numpy() for name in ("right", "more", "tie")
    )
    points = np.where(tie, 0.5, right)
    apart = feature != "position" and sides["first_right"].null_count() == 0
    value, ends, p = _leaning(sides, points, ahead, apart=apart)
    figure = Estimate(
        value, ends, sides.height, images, None if ends else too_few()
    )
    return Preference(feature, PREFERRED[feature], figure, p)


def _leaning(
    sides: pl.DataFrame, points: FloatArray, ahead: BoolArray, *, apart: bool
) -> tuple[float | None, tuple[float, float] | None, float | None]:
    """Regress the points on whether the better option has more of the feature (±½):
    half of the slope, its interval and its p. Task, margin, the points on the image's
    other pairs and, with ``apart``, the position of the better option are held equal.
    """
    s = np.where(ahead, 0.5, -0.5)
    image = renumbered(sides["cluster"].to_numpy())[1]
    margin = sides["margin"].to_numpy().astype(float)
    task = ordered(sides["task"])[1]
    dummies = [task == k for k in range(int(task.max()) + 1)]
    edges = np.unique(np.quantile(margin, np.linspace(0, 1, STRATA + 1)[1:-1]))
    columns = [
        dummy * on for dummy in dummies for on in (np.ones(s.size), margin)
    ]
    columns += [np.maximum(margin - edge, 0.0) for edge in edges]
    columns += (
        [np.where(sides["first_right"].to_numpy(), 0.5, -0.5)] if apart else []
    )
    base = np.column_stack([s, *columns])
    rest = points - base @ np.linalg.lstsq(base, points, rcond=1e-9)[0]
    others = of_others(rest, image, sides["pair"].to_numpy())
    fitted = fit(
        np.column_stack([base, others]), points, image, link="identity"
    )
    if fitted.determined[0] < 1 - NOT_DETERMINED:
        return None, None, None
    value = float(fitted.coefficients[0]) / 2
    variance = float(fitted.covariance[0, 0]) / 4
    possible = max(-0.5, min(0.5, value))
    rest = s - base[:, 1:] @ np.linalg.lstsq(base[:, 1:], s, rcond=1e-9)[0]
    images = effective(rest, image)
    if fitted.images < LEAST_IMAGES or images < 2:
        return possible, None, None
    if variance > FLAT:
        low, high = interval(value, variance, images - 1)
        p = p_value(value, variance, images - 1)
    else:  # no image differs: one that was not asked may
        edge = (1 - TAIL ** (1 / images)) / 2
        low = value - edge
        high = value + edge
        p = 1.0 if value**2 < FLAT else 2 * 0.5**images
    if abs(value) > 0.5 and min(abs(low), abs(high)) > 0.5 + NOT_DETERMINED:
        # beyond every possible answer: all are held, or none: a bad fit
        return None, None, None
    return possible, (max(-0.5, min(0.5, low)), min(0.5, max(-0.5, high))), p


def preferences(table: pl.DataFrame) -> tuple[Preference, ...]:
    """Return every preference of a judge, with p adjusted by Holm over the features;
    ``flagged`` below 5 %.
    """
    known = map(_more, PREFERRED)
    usable = (
        table.lazy()
        .filter("usable")
        .select("pair", "cluster", "task", "margin", "right", "tie", *known)
        .collect()
    )
    rows = [preference(usable, feature) for feature in PREFERRED]
    adjusted = holm([row.p for row in rows])
    return tuple(
        replace(row, p_holm=p, flagged=p is not None and p < LEVEL)
        for row, p in zip(rows, adjusted, strict=True)
    )


def both_orders(table: pl.DataFrame) -> pl.DataFrame:
    """Return one row per question (and repeat) asked in both orders, with the answer in
    each order and whether it was right.
    """
    keep = ["question", "repeat", "cluster", "task", "usable", "text", "right"]
    rows = table.select(*keep, "order", withheld=withheld())
    ab, ba = (
        rows.filter(pl.col("order") == order).drop("order")
        for order in ("AB", "BA")
    )
    joined = ab.join(
        ba.drop("cluster", "task"),
        on=["question", "repeat"],
        suffix="_ba",
        maintain_order="left",
    )
    both = pl.col("usable") & pl.col("usable_ba")
    return joined.with_columns(
        usable=both,
        withheld=pl.col("withheld") & pl.col("withheld_ba"),
        consistent=both & (pl.col("text") == pl.col("text_ba")),
        both_right=pl.col("right") & pl.col("right_ba"),
    )


def swap_figures(pairs: pl.DataFrame) -> Swap:
    """Return results of asking in both orders, from rows as returned by
    :func:`both_orders`."""
    if pairs.is_empty():
        return Swap(NOTHING, None, NOTHING)
    names = ("usable", "consistent", "both_right", "withheld")
    values = {name: pl.col(name) for name in names}
    values |= {
        "n": pl.col("both_right").is_not_null()
        | pl.col("both_right").is_null().all(),
        "told": ~pl.col("withheld"),
    }
    sums = image_sums(pairs, [], values)
    usable, same, _, held = (int(sums.total(name)[0]) for name in names)
    return Swap(
        NOTHING
        if held == pairs.height
        else sums.shares("consistent", "told")[0],
        same / usable if usable else None,
        sums.shares("both_right", "n")[0],
        held,
    )


def in_both_orders(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the verdicts on questions that were read in both orders, as if A were
    right.

    Their preference for the option shown first is the same whichever option is right:
    half the difference of how often the first and the second option shown is chosen.
    """
    read = pairs.filter("usable")
    both = read.filter(
        pl.col("order").n_unique().over("question", "repeat") == 2
    )
    return both.with_columns(
        right=pl.col("text") == "A",
        first_right=pl.col("order") == "AB",
        margin=pl.lit(0.0),
    )


PREFERENCE = Layout[Preference](
    *as_named("feature"),
    named("leans_to", "Preference for"),
    *counts("estimate"),
    *figure("preference", "estimate", "Points", points, ends="ci95"),
    HOLM,
    *as_named("p", "flagged"),
)


def _rows(judge: JudgeResult) -> tuple[Preference, ...]:
    pairs = judge.pairs
    return preferences(pairs if "truth" in judge.has else in_both_orders(pairs))


def _preferred(rows: Sequence[Preference]) -> list[str]:
    """Say which preferences are proven, if any was tested."""
    proven = [
        f"{'prefers' if (row.estimate.value or 0) > 0 else 'avoids'} {row.leans_to} "
        f"by {number(100 * abs(row.estimate.value or 0), 1)} percentage points"
        for row in rows
        if row.flagged
    ]
    tested = [row.leans_to for row in rows if row.p_holm is not None]
    words = (
        f"It {listed(proven)}"
        if proven
        else f"No preference is proven (Holm) for {listed(tested)}"
    )
    return [f"{words}."] if tested else []


BIAS: JudgeFigure[tuple[Preference, ...]] = JudgeFigure(
    "bias",
    _rows,
    PREFERENCE,
    place=60,
    sentences=_preferred,
    section=Section(
        "bias",
        "Does the judge prefer one kind of option?",
        "Rows with p below 5 % after Holm’s adjustment over the rows of a judge are bold. "
        "The marked area of an option is the part of the image that its boxes, masks or "
        "points cover.",
    ),
    tabled=lambda rows: [row for row in rows if row.estimate.n],
    marked=lambda row: row.flagged,
    plots=(
        estimates_of_judges(
            "leanings",
            "Preference for one kind of option",
            "How much more often, in percentage points, the judge chooses this kind of option "
            "than it would without the preference (at most 50).",
            lambda judge: {
                row.leans_to: row.estimate
                for row in judge[BIAS]
                if row.estimate.value is not None
            },
            "the questions asked cannot show a bias, or the order of the options is "
            "not known",
            "Preference in percentage points",
            UNADJUSTED,
        ),
    ),
)
