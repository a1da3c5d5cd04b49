"""Every statistic against the library that people know it from."""

from __future__ import annotations

from collections.abc import Sequence

import krippendorff
import numpy as np
import polars as pl
import pytest
from scipy import stats

from visualjudge.analysis.estimate import holm, shares
from visualjudge.analysis.figures.variance_components import variance_row
from visualjudge.analysis.pairwise_verdicts import macro
from visualjudge.analysis.statistics import correlation
from visualjudge.analysis.statistics.rater_agreement import alpha, kappa
from visualjudge.core.records import FloatArray
from visualjudge.core.seeding import rng_for


@pytest.mark.parametrize("seed", range(5))
def test_correlations_equal_scipy_with_and_without_ties(seed: int) -> None:
    rng = rng_for(seed, "correlations")
    x, y = rng.integers(0, 6, 40).astype(float), rng.normal(size=40).round(1)
    assert correlation.spearman(x, y) == pytest.approx(
        stats.spearmanr(x, y)[0], abs=1e-12
    )
    assert correlation.pearson(x, y) == pytest.approx(
        stats.pearsonr(x, y)[0], abs=1e-12
    )


def test_weighted_correlations_equal_those_of_the_repeated_sample() -> None:
    rng = rng_for(0, "weights")
    x, y = rng.integers(0, 5, 30).astype(float), rng.normal(size=30)
    weights = rng.integers(0, 4, (3, 30))
    for w, rho, r, tau in zip(
        weights,
        correlation.weighted_spearman(x, y, weights),
        correlation.weighted_pearson(x, y, weights),
        correlation.weighted_kendall(x, y, weights),
        strict=True,
    ):
        a, b = np.repeat(x, w), np.repeat(y, w)
        assert rho == pytest.approx(stats.spearmanr(a, b)[0])
        assert r == pytest.approx(stats.pearsonr(a, b)[0])
        assert tau == pytest.approx(stats.kendalltau(a, b)[0])


@pytest.mark.parametrize("cells", [1, 60, 10**6])
def test_correlations_without_each_group_equal_those_of_the_rest(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(correlation, "WEIGHT_CELLS", cells)
    rng = rng_for(0, "left out")
    x, y = (
        rng.integers(0, 5, 60).astype(float),
        rng.integers(0, 4, 60).astype(float),
    )
    groups = np.append(np.arange(7), rng.integers(0, 7, 53))
    rest = [(x[groups != g], y[groups != g]) for g in range(7)]
    for weighted, want in (
        (correlation.weighted_spearman, stats.spearmanr),
        (correlation.weighted_pearson, stats.pearsonr),
    ):
        whole, without = correlation.left_out(x, y, groups, weighted)
        assert whole == pytest.approx(want(x, y)[0], abs=1e-12)
        assert without == pytest.approx(
            [want(a, b)[0] for a, b in rest], abs=1e-12
        )


def test_constants_have_no_correlation() -> None:
    assert correlation.spearman([5, 5, 5], [1, 2, 3]) is None
    assert correlation.pearson([0.1, 0.1, 0.1], [1, 2, 3]) is None
    assert correlation.pearson([1.0], [2.0]) is None


def test_kendall_by_row_equals_scipy() -> None:
    rng = rng_for(1, "rows")
    a, b = rng.integers(0, 3, (20, 5)).astype(float), rng.normal(size=(20, 5))
    want = [stats.kendalltau(p, q)[0] for p, q in zip(a, b, strict=True)]
    assert correlation.kendall_rows(a, b) == pytest.approx(
        np.array(want), nan_ok=True
    )


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("seed", range(4))
def test_alpha_equals_krippendorff_with_gaps(level: str, seed: int) -> None:
    rng = rng_for(seed, "alpha")
    truth = rng.integers(0, 4, 25)
    ratings = np.clip(truth + rng.integers(-1, 2, (4, 25)), 0, 4).astype(float)
    ratings[rng.random(ratings.shape) < 0.3] = np.nan
    want = krippendorff.alpha(
        reliability_data=ratings, level_of_measurement=level
    )
    assert alpha(ratings, level)[0] == pytest.approx(want, abs=1e-9)  # type: ignore[arg-type]


def test_alpha_is_none_where_chance_cannot_be_told() -> None:
    assert alpha(np.ones((3, 5))) == (None, None)
    assert alpha(np.array([[1.0, np.nan], [np.nan, 2.0]])) == (None, None)


def test_alpha_interval_holds_the_estimate() -> None:
    rng = rng_for(3, "alpha interval")
    ratings = (rng.integers(0, 3, 200) + rng.integers(0, 2, (3, 200))).astype(
        float
    )
    value, ends = alpha(ratings, "interval")
    low, high = ends or (1.0, 0.0)
    assert low < (value or 0) < high


def test_kappa_is_that_of_the_textbook_over_the_shared_units() -> None:
    said = (
        [("yes", "yes")] * 20
        + [("yes", "no")] * 5
        + [("no", "yes")] * 10
        + [("no", "no")] * 15
    )
    ratings = np.array(
        [[float(answer == "yes") for answer in both] for both in said]
    ).T
    assert kappa(ratings, np.arange(50))[0] == pytest.approx(0.4)
    alone = np.hstack([ratings, [[1.0, np.nan], [np.nan, 0.0]]])
    value, ends = kappa(alone, np.arange(52))
    low, high = ends or (1.0, 0.0)
    assert value == pytest.approx(0.4)
    assert low < 0.4 < high
    assert kappa(np.ones((2, 5)), np.arange(5)) == (None, None)
    apart = np.array([[1.0, np.nan], [np.nan, 2.0]])
    assert kappa(apart, np.arange(2)) == (None, None)


@pytest.mark.parametrize("wrong", [119, 120])
def test_kappa_of_a_judge_that_is_nearly_always_wrong_has_no_end_below_minus_1(
    wrong: int,
) -> None:
    truth = np.arange(120) % 2
    said = np.where(np.arange(120) < wrong, 1 - truth, truth)
    ratings = np.array([truth, said], float)
    value, ends = kappa(ratings, np.arange(120) // 6)
    low, high = ends or (0.0, 0.0)
    assert value is not None
    assert -1 <= low <= value < high < 0


def test_kappa_of_two_constant_answers_is_not_known_exactly() -> None:
    ratings = np.array([np.zeros(80), np.ones(80)])
    low, high = kappa(ratings, np.arange(80) // 4)[1] or (1.0, 0.0)
    assert (low, high) == (0.0, pytest.approx(1 - 0.025 ** (1 / 20)))


def test_kappa_interval_is_wider_where_whole_images_agree() -> None:
    rng = rng_for(4, "kappa interval")
    right = np.repeat(rng.random(40) < 0.8, 5)
    truth = rng.integers(0, 2, 200)
    ratings = np.array([np.where(right, truth, 1 - truth), truth], float)
    images, cases = (
        kappa(ratings, groups)[1] or (0.0, 0.0)
        for groups in (np.repeat(np.arange(40), 5), np.arange(200))
    )
    assert images[1] - images[0] > 1.5 * (cases[1] - cases[0])
    perfect = kappa(np.array([truth, truth], float), np.arange(200))[1] or (
        0.0,
        0.0,
    )
    assert 0.95 < perfect[0] < 1.0 == perfect[1]


def test_holm_divides_the_level_by_weight() -> None:
    """By hand: p over weight 0.015, 0.08, 1.2, times the weights left (1, 0.5,
    0.25)."""
    found = holm([0.3, 0.0075, None, 0.02], [0.25, 0.5, 7.0, 0.25])
    assert found == [
        pytest.approx(0.3),
        pytest.approx(0.015),
        None,
        pytest.approx(0.04),
    ]
    equal = [0.01, None, 0.04, 0.03]
    assert holm(equal, [2.0] * 4) == pytest.approx(holm(equal))


def _ends(
    right: Sequence[float], asked: Sequence[float]
) -> tuple[float, float]:
    ends = shares(np.array(right, dtype=float), np.array(asked, dtype=float))[
        0
    ].interval
    assert ends is not None
    return ends


@pytest.mark.parametrize(("images", "told"), [(4, False), (5, True)])
def test_the_mean_over_tasks_has_an_interval_where_each_task_has_five_images(
    images: int, told: bool
) -> None:
    counts = {"wide": 50, "narrow": images}
    rows = [
        (task, f"{task}{k}", k % 3 > 0)
        for task, count in counts.items()
        for k in range(count)
    ]
    table = pl.DataFrame(rows, schema=["task", "image", "right"], orient="row")
    found = macro(
        table.with_columns(cluster=pl.col("image").rank("dense").cast(pl.Int64))
    )
    assert (found.interval is not None) is told
    assert found.why == (
        None if told else "a task with fewer than 5 images: narrow"
    )


def verdicts(rows: list[tuple[str, str, str, int, float]]) -> pl.DataFrame:
    """Each pair is of an image of its own."""
    schema = ["pair", "encoding", "order", "repeat", "right"]
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(
        cluster="pair"
    )


def test_variance_components_are_recovered() -> None:
    rng = rng_for(0, "variance")
    items, encodings, repeats = 400, 6, 2
    a, b = rng.normal(0, 1.0, items), rng.normal(0, 0.5, encodings)
    rows = []
    for i in range(items):
        for e in range(encodings):
            both = rng.normal(0, 0.7)
            for order in ("AB", "BA"):
                o = rng.normal(0, 0.4)
                for r in range(repeats):
                    rows.append(
                        (
                            f"i{i}",
                            f"e{e}",
                            order,
                            r,
                            a[i] + b[e] + both + o + rng.normal(0, 0.3),
                        )
                    )
    found = variance_row(verdicts(rows), "t")
    want = {
        "item": a.var(),
        "encoding": b.var(ddof=1),
        "item_x_encoding": 0.49,
        "order": 0.16,
        "repeat": 0.09,
    }
    for name, value in want.items():
        assert found.parts[name] == pytest.approx(value, rel=0.12), name


def test_the_image_holds_a_part_of_the_pairs_variance_and_intervals_cover_it() -> (
    None
):
    rng = rng_for(5, "variance of images")
    shape, covered = (60, 4, 2, 2), []
    g, i, e, o = np.indices(shape).reshape(4, -1)
    for _ in range(40):
        image, item = (
            rng.normal(0, 0.6, (60, 1, 1, 1)),
            rng.normal(0, 0.5, (60, 4, 1, 1)),
        )
        y = (
            image
            + item
            + rng.normal(0, 0.4, shape[:3])[..., None]
            + rng.normal(0, 0.5, shape)
        )
        columns = {
            "cluster": g,
            "pair": g * 4 + i,
            "encoding": e,
            "order": o,
            "right": y.ravel(),
        }
        row = variance_row(pl.DataFrame(columns), "t")
        ends = row.ends["image"]
        assert "image" in row.parts and ends is not None
        covered.append(ends[0] <= 0.36 <= ends[1])
    assert np.mean(covered) >= 0.85


def test_variance_without_swap_or_repeat_stays_in_the_coarser_part() -> None:
    rng = rng_for(1, "variance")
    rows = [
        (f"i{i}", f"e{e}", "AB", 0, bool(rng.random() < 0.7))
        for i in range(50)
        for e in range(3)
    ]
    found = variance_row(verdicts(rows), "t")
    assert not {"order", "repeat"} & found.parts.keys()
    assert found.parts["item_x_encoding"] == pytest.approx(0.21, abs=0.05)


@pytest.mark.parametrize("consistent", [True, False])
def test_variance_of_one_encoding_is_divided_into_the_pair_and_the_order(
    consistent: bool,
) -> None:
    rng = rng_for(2, "variance")
    rows = []
    for i in range(600):
        chance = rng.choice([0.5, 0.9])
        first, second = (bool(rng.random() < chance) for _ in range(2))
        rows += [
            (f"i{i}", "e", "AB", 0, first),
            (f"i{i}", "e", "BA", 0, first if consistent else second),
        ]
    row = variance_row(verdicts(rows), "t")
    item, order = (
        (0.21, 0.0) if consistent else (0.04, 0.17)
    )  # pairs: the variance of their chances, 0.2²
    assert row.parts["item"] == pytest.approx(item, abs=0.025)
    assert row.parts["order"] == pytest.approx(order, abs=0.025)
    assert row.total == pytest.approx(0.21, abs=0.02)
    assert not {"encoding", "item_x_encoding"} & row.parts.keys()


def test_variance_that_nothing_divides_has_no_shares() -> None:
    rows = [(f"i{i}", "e", "AB", 0, i % 3 > 0) for i in range(60)]
    row = variance_row(verdicts(rows), "t")
    assert (row.total, row.parts) == (0, {})


def test_alpha_interval_is_that_of_leaving_out_images() -> None:
    """By the package, on the scale -log(1 - α), with images of 1 and 2 units."""
    rng = rng_for(4, "alpha by images")
    ratings = rng.integers(0, 3, 24) + rng.integers(0, 2, (3, 24)) * 1.0
    images = np.arange(24) // 2
    images[-1] = 12

    def value(ratings: FloatArray) -> float:
        return float(
            krippendorff.alpha(
                reliability_data=ratings, level_of_measurement="interval"
            )
        )

    whole = value(ratings)
    without = [value(ratings[:, images != image]) for image in range(13)]
    error = np.sqrt(12 / 13 * np.sum((np.array(without) - whole) ** 2))
    _, ends = alpha(ratings, "interval", images)
    low, high = ends or (1.0, 0.0)
    ratio = (1 - low) / (1 - high)
    counts = np.bincount(images)
    effective = counts.sum() ** 2 / (counts**2).sum()
    reach = stats.t.isf(0.025, effective - 1) * error / (1 - whole)
    assert np.log(ratio) / 2 == pytest.approx(reach, rel=1e-6)
    assert (1 - low) * (1 - high) == pytest.approx((1 - whole) ** 2)
