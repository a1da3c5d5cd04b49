"""Agreement of judges with people, and among people. The latter is the ceiling: no
judge can be expected to exceed it. The ratings are read in ``rating_table.py`` and
shown in ``report/agreement_page.py``; people inside of a study are in
``figures/people.py``.

For each dimension, over items: Spearman's ρ and Kendall's τ-b per source (averaged over
sources), the share of pairs of sources on an item that are put in the same order, and
Krippendorff's α. A judge is compared with the mean of all people. A person is compared
with the mean of the others, on the outputs that a judge rated too (all of them if there
is no judge). This mean is noisier than that of all, so a judge is said to agree more or
less than a person by its mean agreement with the same others, on the outputs that each
person rated. α is of all that people rated. Intervals leave out each item in turn, with
its sources, and with the other items of its image if the image is known. The
alternative annotator test is given as published and clustered by image.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from visualjudge.analysis import estimate
from visualjudge.analysis.image_sums import known
from visualjudge.analysis.rating_table import COLUMNS
from visualjudge.analysis.statistics import correlation
from visualjudge.analysis.statistics.alternative_annotator import alt_test
from visualjudge.analysis.statistics.doubtful_scores import (
    SUMMARY,
    stands_for_none,
)
from visualjudge.analysis.statistics.rater_agreement import Level, alpha
from visualjudge.analysis.statistics.score_agreement import Figure, image_groups
from visualjudge.analysis.value_and_interval import NOTHING, Estimate
from visualjudge.core.errors import UsageError, one_of
from visualjudge.core.records import FloatArray, IntArray

LEAST_ITEMS = 3
LEAST_UNITS = 5
# Ratings from which those of two are not equal by chance, and how many times as high
# those on another scale are.
MANY, OTHER_SCALE = 20, 2.0
SPLIT = 0.7
"""Raters of whom fewer items have one score do not agree on 0 alone by chance."""
OTHERS = "the other people"
CELL = ("rater", "item", "source")
Interval = tuple[float | None, float | None]
Kind = Literal["judge", "person", "ceiling"]
Weighted = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Panel:
    """One dimension: ``scores`` (raters × items × sources, NaN = not rated) and the
    raters."""

    dimension: str
    raters: list[str]
    sources: list[str]
    scores: FloatArray
    is_judge: Any
    images: IntArray
    """Index of the image of each item; an item whose image is not known has its own
    index."""

    @property
    def people(self) -> FloatArray:
        """The people's scores, people × items × sources."""
        return np.asarray(self.scores[~self.is_judge])

    @property
    def persons(self) -> list[str]:
        """The names of the people."""
        return [
            name
            for name, judge in zip(self.raters, self.is_judge, strict=True)
            if not judge
        ]


@dataclass(frozen=True)
class RaterRow:
    """Agreement of one rater with others in one dimension; ``by_source`` holds ρ in the
    order of the sources, and ``same``, where two options were chosen from, the share of
    the others' answers that are equal. ``as_person`` is a judge's ρ, or share, measured
    as people's.
    """

    dimension: str
    rater: str
    against: str
    kind: Kind
    items: int
    spearman: float | None
    spearman_ci95: Interval | None
    kendall_tau: float | None
    kendall_ci95: Interval | None
    pairwise_accuracy: float | None
    pairwise_ci95: Interval | None
    pairs: int
    by_source: tuple[float | None, ...] = ()
    same: float | None = None
    same_ci95: Interval | None = None
    as_person: float | None = None


@dataclass(frozen=True)
class AlphaRow:
    """Krippendorff's α among the people of one dimension, over ``units`` that at least
    two of them rated; ``same`` is the share of pairs of their ratings of a unit that
    are equal.
    """

    dimension: str
    people: int
    level: Level
    units: int
    alpha: float | None
    ci95: Interval | None
    same: float | None = None


@dataclass(frozen=True)
class AltRow:
    """The alternative annotator test of one judge in one dimension; ``why`` gives the
    reason if it has no result.

    ``omega`` is as published, with items treated as independent; ``omega_by_image`` is
    clustered by image.
    """

    dimension: str
    judge: str
    epsilon: float
    people: int
    images: int
    omega: float | None = None
    omega_by_image: float | None = None
    advantage: float | None = None
    why: str | None = None


@dataclass(frozen=True)
class PeopleAgreement:
    """Judges and people by dimension; ``sources`` names the sources of each
    dimension."""

    rows: tuple[RaterRow, ...]
    alpha: tuple[AlphaRow, ...]
    sources: Mapping[str, Sequence[str]]
    alt_test: tuple[AltRow, ...] = ()


def panels(table: pl.DataFrame, judges: Sequence[str] = ()) -> list[Panel]:
    """Return one panel per dimension. Raters named in ``judges``, or of ``kind``
    "judge", are judges; all others are people.

    Raises
    ------
    UsageError
        If a named judge has no ratings.
    """
    raters = table["rater"].unique().sort().to_list()
    for name in judges:
        if name not in raters:
            raise UsageError(
                f"`judge` {name}: no such rater; must be {one_of(name, raters)}"
            )
    kinds = (
        table.filter(pl.col("kind") == "judge")
        if "kind" in table.columns
        else table.clear()
    )
    named = {*judges, *kinds["rater"]}
    out = []
    for (dimension,), part in sorted(table.group_by(["dimension"])):
        raters, items, sources = (
            part[name].unique().sort().to_list() for name in CELL
        )
        is_judge = np.array([name in named for name in raters])
        scores = _scores(part, (len(raters), len(items), len(sources)))
        out.append(
            Panel(
                str(dimension), raters, sources, scores, is_judge, _images(part)
            )
        )
    return out


def _scores(part: pl.DataFrame, shape: tuple[int, int, int]) -> FloatArray:
    """Return raters × items × sources; NaN = not rated. Several ratings of the same
    output by one rater are averaged.
    """
    mean = part.group_by(CELL).agg(pl.col("score").mean())
    out = np.full(shape, np.nan)
    out[tuple(mean[name].rank("dense").to_numpy() - 1 for name in CELL)] = mean[
        "score"
    ].to_numpy()
    return out


def _images(part: pl.DataFrame) -> IntArray:
    """Return the index of the image of each item, items sorted."""
    image = (
        pl.col("image").drop_nulls().first()
        if "image" in part.columns
        else pl.lit(None, pl.String)
    )
    named = part.group_by("item").agg(image=image).sort("item")
    return np.unique(
        named.select(pl.coalesce("image", "item")).to_series().to_numpy(),
        return_inverse=True,
    )[1]


def _mean(scores: FloatArray) -> FloatArray:
    """Return the mean over the raters who gave a score; NaN where none did."""
    mean = estimate.divided(
        np.nansum(scores, 0), np.isfinite(scores).sum(0), np.nan
    )
    # 0.1 + 0.2 and 0.3 must tie: rounding errors must not decide the order
    return np.round(mean, 9)


def _per_source(
    a: FloatArray, b: FloatArray, weights: FloatArray, weighted: Weighted
) -> FloatArray:
    """Return a weighted correlation for each source (draws × sources) of two items ×
    sources tables.
    """
    out = np.full((weights.shape[0], a.shape[1]), np.nan)
    for s in range(a.shape[1]):
        both = np.isfinite(a[:, s]) & np.isfinite(b[:, s])
        if both.sum() >= LEAST_ITEMS:
            out[:, s] = weighted(a[both, s], b[both, s], weights[:, both])
    return out


def pair_order(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return per item the number of pairs of sources that differ in ``b``, and how many
    of them ``a`` puts in the same order (a tie in ``a`` counts ½).
    """
    first, second = np.triu_indices(a.shape[1], 1)
    da = a[:, first] - a[:, second]
    db = b[:, first] - b[:, second]
    estimable = np.isfinite(da) & np.isfinite(db) & (db != 0)
    alike = np.where(da == 0, 0.5, (np.sign(da) == np.sign(db)).astype(float))
    return estimable.sum(1).astype(float), np.where(estimable, alike, 0).sum(1)


def _row(
    who: tuple[str, str, str, Kind],
    a: FloatArray,
    others: FloatArray,
    images: IntArray,
) -> RaterRow:
    """Return all figures of rater ``a``, items × sources, against the mean of
    ``others``. The items of each image are left out in turn.
    """
    b = _mean(others)
    groups = image_groups(images)
    weights = np.vstack(
        [
            np.ones(a.shape[0]),
            np.arange(int(groups.max()) + 1)[:, None] != groups,
        ]
    )
    rho = _per_source(a, b, weights, correlation.weighted_spearman)
    tau = _per_source(a, b, weights, correlation.weighted_kendall)
    rated = (np.isfinite(a) & np.isfinite(b)).sum(1)
    sizes = estimate.sums(groups, rated, int(groups.max()) + 1)
    mean_rho = _over_sources(rho)
    mean_tau = _over_sources(tau)
    measured, alike = (
        estimate.sums(images, values, int(images.max()) + 1)
        for values in pair_order(a, b)
    )
    share = estimate.shares(alike, measured, graded=True)[0]
    same = _same_choice(a, others, images)
    return RaterRow(
        *who,
        items=int((rated > 0).sum()),
        spearman=known(mean_rho[0]),
        spearman_ci95=_ends(mean_rho, sizes),
        kendall_tau=known(mean_tau[0]),
        kendall_ci95=_ends(mean_tau, sizes),
        pairwise_accuracy=share.value,
        pairwise_ci95=share.interval,
        pairs=int(measured.sum()),
        by_source=tuple(known(value) for value in rho[0]),
        same=same.value,
        same_ci95=same.interval,
    )


def _same_choice(
    own: FloatArray, others: FloatArray, images: IntArray
) -> Estimate:
    """Return the share of the others' answers that equal a rater's, where all choose
    between two options (0, ½ or 1)."""
    both = np.isfinite(own) & np.isfinite(others)
    if own.shape[1] > 1 or not np.isin(others[both], (0.0, 0.5, 1.0)).all():
        return NOTHING
    alike, answers = (
        estimate.sums(images, hits.sum((0, 2)), int(images.max()) + 1)
        for hits in (both & (own == others), both)
    )
    return estimate.shares(alike, answers)[0]


def _over_sources(values: FloatArray) -> FloatArray:
    """Return the mean of each row over the sources that have a value."""
    return np.array(
        [
            np.mean(row[np.isfinite(row)]) if np.isfinite(row).any() else np.nan
            for row in values
        ]
    )


def _ends(values: FloatArray, sizes: FloatArray) -> Interval | None:
    """Return the interval of a correlation from its ``values``: first that of all
    items, then those without each group of items.
    """
    return Figure(
        float(values[0]),
        np.nan_to_num(values[0] - values[1:]),
        sizes,
        sizes.size,
        of=estimate.correlation_ends,
    ).estimate.interval


def panel_rows(panel: Panel) -> list[RaterRow]:
    """Compare every judge with the people's mean and every person with the others'
    mean, and add the mean over people.
    """
    name = panel.dimension
    judged = np.isfinite(panel.scores[panel.is_judge]).any(0)
    everyone = panel.people
    # people are compared on the outputs that a judge rated; on all if there is none
    people = np.where(judged | (not judged.any()), everyone, np.nan)
    others = [
        np.where(np.isfinite(own), np.delete(people, i, 0), np.nan)
        for i, own in enumerate(people)
    ]
    rows = [
        replace(
            _row(
                (name, panel.raters[i], "the people's mean", "judge"),
                scores,
                everyone,
                panel.images,
            ),
            as_person=_as_person(scores, others),
        )
        for i, scores in enumerate(panel.scores)
        if panel.is_judge[i] and everyone.shape[0]
    ]
    if everyone.shape[0] < 2:
        return rows
    own = [
        _row(
            (name, rater, OTHERS, "person"),
            people[i],
            others[i],
            panel.images,
        )
        for i, rater in enumerate(panel.persons)
    ]
    return [*rows, _ceiling(own), *own]


def _as_person(
    scores: FloatArray, people: Sequence[FloatArray]
) -> float | None:
    """Return how far a judge agrees with the others than each person, as the mean over
    people."""
    beside = _ceiling(
        [
            _row(
                ("", "", OTHERS, "judge"),
                scores,
                others,
                np.zeros(len(scores), dtype=np.int64),
            )
            for others in people
        ]
    )
    return beside.spearman if beside.same is None else beside.same


def _ceiling(people: Sequence[RaterRow]) -> RaterRow:
    """Return the mean over people of their agreement with the others."""
    names = ("spearman", "kendall_tau", "pairwise_accuracy", "same")
    figures = np.array(
        [[getattr(row, name) for row in people] for name in names], dtype=float
    )
    rho, tau, share, same = (known(value) for value in _over_sources(figures))
    return RaterRow(
        people[0].dimension,
        "people, mean",
        OTHERS,
        "ceiling",
        items=max(row.items for row in people),
        spearman=rho,
        spearman_ci95=None,
        kendall_tau=tau,
        kendall_ci95=None,
        pairwise_accuracy=share,
        pairwise_ci95=None,
        pairs=sum(row.pairs for row in people),
        same=same,
    )


def level_of(panel: Panel, of_tasks: bool = False) -> Level:
    """Return the level of a dimension's scores: nominal for choices between two
    options, interval for the scores of a study (``of_tasks``), ordinal for ratings on a
    scale that nobody stated.
    """
    if panel.dimension.endswith("/pairwise"):
        return "nominal"
    return "interval" if of_tasks else "ordinal"


def alpha_row(panel: Panel, level: Level = "ordinal") -> AlphaRow:
    """Return Krippendorff's α among the people of one dimension; a unit is one source's
    output for one item. The interval leaves out each image in turn with its items and
    all their sources.
    """
    people = panel.people.reshape(len(panel.persons), -1)
    units = int((np.isfinite(people).sum(0) > 1).sum())
    value, ends = (
        alpha(people, level, np.repeat(panel.images, len(panel.sources)))
        if units >= LEAST_UNITS
        else (None, None)
    )
    return AlphaRow(
        panel.dimension,
        len(people),
        level,
        units,
        value,
        ends,
        _same(people),
    )


def _same(ratings: FloatArray) -> float | None:
    """Return the share of pairs of ratings (people × units) of one unit that are
    equal."""
    first, second = np.triu_indices(len(ratings), 1)
    both = np.isfinite(ratings[first]) & np.isfinite(ratings[second])
    equal = (ratings[first] == ratings[second])[both]
    return float(equal.mean()) if both.any() else None


def alt_rows(
    panel: Panel, epsilon: float, level: Level = "ordinal"
) -> list[AltRow]:
    """Run the alternative annotator test for every judge, by distance of scores, or by
    equality if ``level`` is nominal.
    """
    human = dict(zip(panel.persons, map(_answers, panel.people), strict=True))
    rows = []
    for i in np.flatnonzero(panel.is_judge):
        rated = np.isfinite(panel.scores[i]).any(1)
        row = AltRow(
            panel.dimension,
            panel.raters[i],
            epsilon,
            people=len(human),
            images=np.unique(panel.images[rated]).size,
        )
        try:
            result = alt_test(
                human,
                _answers(panel.scores[i]),
                lambda cell: panel.images[cell[0]],
                epsilon=epsilon,
                nominal=level == "nominal",
            )
            _same_scale(panel.scores[i], panel.people)
            rows.append(
                replace(
                    row,
                    people=result.people,
                    omega=result.omega,
                    omega_by_image=result.by_image,
                    advantage=result.advantage,
                )
            )
        except UsageError as error:
            rows.append(replace(row, why=str(error)))
    return rows


def _answers(scores: FloatArray) -> dict[tuple[int, int], float]:
    """Return one rater's scores by item and source."""
    return {
        (int(i), int(s)): float(scores[i, s])
        for i, s in np.argwhere(np.isfinite(scores))
    }


def _same_scale(judge: FloatArray, people: FloatArray) -> None:
    """Raise an error if judge and people use different scales, such as 0 to 10 and 0 to
    1, since distances would be meaningless.
    """
    low, high = np.nanmin(people), np.nanmax(people)
    least, most = np.nanmin(judge), np.nanmax(judge)
    if most > high + (high - low) or least < low - (high - low):
        raise UsageError(
            f"scores must be on one scale, got {least:g} to {most:g} from the judge "
            f"and {low:g} to {high:g} from people"
        )


def agreement(
    table: pl.DataFrame,
    judges: Sequence[str] = (),
    *,
    level: Level | None = None,
    epsilon: float | None = None,
    of_tasks: bool = False,
) -> PeopleAgreement:
    """Return all figures by dimension: ``rows`` (judges and people), ``alpha`` (if
    people rated), ``sources``.

    ``level`` is that of α; None = that of each dimension (:func:`level_of`).
    ``epsilon`` is the extra cost of a person's answer compared with a judge's
    (:func:`alt_test`); with None that test is skipped. ``of_tasks`` states that the
    dimensions are tasks of a study.
    """
    if again := table.height - table.select(COLUMNS[:-1]).n_unique():
        warnings.warn(
            f"{again} ratings repeat an item that the rater has rated before; their "
            "mean counts",
            stacklevel=2,
        )
    for doubt in doubts(table):
        warnings.warn(doubt, stacklevel=2)
    collected = [
        (panel, level or level_of(panel, of_tasks))
        for panel in panels(table, judges)
    ]
    return PeopleAgreement(
        tuple(row for panel, _ in collected for row in panel_rows(panel)),
        tuple(
            alpha_row(panel, kind) for panel, kind in collected if panel.persons
        ),
        {panel.dimension: panel.sources for panel, _ in collected},
        tuple(
            row
            for panel, kind in collected
            if epsilon is not None
            for row in alt_rows(panel, epsilon, kind)
        ),
    )


def doubts(table: pl.DataFrame) -> Iterator[str]:
    """Yield what tells that ratings are copied, misnamed or on another scale, stand for
    none, or sum up others. Votes on easy pairs are equal more often."""
    yield from (
        f"{name}: counts as {'a rater' if role == 'rater' else 'an item'}; remove rows "
        "and columns of means or totals"
        for role in ("item", "rater")
        for name in table[role].unique().sort()
        if SUMMARY.fullmatch(name)
    )
    yield from (
        f"{name}: {number}"
        for (name, _), own in table.group_by(
            "rater", "dimension", maintain_order=True
        )
        for number in stands_for_none(own["score"].to_list())
    )
    cells = table.group_by("item", "source", "dimension").agg(
        pl.len(),
        zeros=(pl.col("score") == 0).sum(),
        alike=pl.col("score").n_unique() == 1,
    )
    zero = cells.filter(pl.col("zeros") > 0)
    if (
        cells.height / 4 > zero.height > 2
        and zero.filter(pl.col("zeros") < pl.col("len")).is_empty()
        and zero.filter(len=1).is_empty()
        and cells.filter(zeros=0)["alike"].sum()
        < SPLIT * (cells.height - zero.height)
        and table.filter(pl.col("score") > 1).height  # no votes
    ):
        yield (
            f"0 from all raters of {zero.height} items, and from none of the others, on "
            "which they differ; if it stands for no score, empty these cells"
        )
    rated = pl.concat_str(
        "item", "source", "dimension", "score", separator="\0"
    )
    raters = table.group_by("rater").agg(
        pl.len(),
        pl.col("score").min().alias("low"),
        pl.col("score").max().alias("high"),
        (pl.col("score") == 0).sum().alias("zeros"),
        rated.sort().str.join("\0"),
    )
    rows = raters.sort("rater").rows()
    for name, n, low, high, zeros, ratings in rows:
        same = [
            other
            for other, *_, theirs in rows
            if other > name
            and (
                other.lower() == name.lower()
                or (theirs == ratings and (high > 1 or n >= 5 * MANY))
            )
        ]
        most = max((row[3] for row in rows if row[0] != name), default=0)
        least = min((row[2] for row in rows if row[0] != name), default=0)
        facts = {
            f"{name}: {low:g} in all {n} ratings": low == high,
            f"{', '.join([name, *same])}: equal in all {n} ratings, or names that "
            "differ in case alone; are they one rater?": same,
            f"{name}: 0 in {zeros} of {n} ratings, all others from {least:g} on; have all "
            "one scale, or does 0 stand for no score?": zeros > 2
            and least >= 1 < high,
            f"{name}: up to {high:g}, all others up to {most:g}; have all one scale, "
            "and are all ratings?": high >= OTHER_SCALE * most > 0,
        }
        yield from filter(facts.get, facts if n >= MANY else ())
