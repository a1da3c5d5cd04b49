"""Every statistic against the library that people know it from."""

from __future__ import annotations

from collections.abc import Sequence

import choix
import krippendorff
import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings, strategies as st
from scipy import stats

from visualjudge.analysis.accuracy_cells import accuracy_cells, counted, macro
from visualjudge.analysis.statistics import correlation
from visualjudge.analysis.statistics.alpha import alpha, alpha_interval
from visualjudge.analysis.statistics.bradley_terry import davidson
from visualjudge.analysis.statistics.jackknife import holm
from visualjudge.analysis.statistics.kappa import kappa, kappa_interval
from visualjudge.analysis.statistics.share_intervals import cases_needed, one_share, shares
from visualjudge.analysis.variance import variance_components, variance_row
from visualjudge.core.seeding import rng_for


@pytest.mark.parametrize("seed", range(5))
def test_correlations_equal_scipy_with_and_without_ties(seed: int) -> None:
    rng = rng_for(seed, "correlations")
    x, y = rng.integers(0, 6, 40).astype(float), rng.normal(size=40).round(1)
    assert correlation.spearman(x, y) == pytest.approx(stats.spearmanr(x, y)[0], abs=1e-12)
    assert correlation.pearson(x, y) == pytest.approx(stats.pearsonr(x, y)[0], abs=1e-12)
    assert correlation.kendall(x, y) == pytest.approx(stats.kendalltau(x, y)[0], abs=1e-12)


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
    x, y = rng.integers(0, 5, 60).astype(float), rng.integers(0, 4, 60).astype(float)
    groups = np.append(np.arange(7), rng.integers(0, 7, 53))
    cases = correlation.cases(x, y)
    assert cases.x.size < x.size
    rest = [(x[groups != g], y[groups != g]) for g in range(7)]
    assert cases.left_out(groups, correlation.weighted_spearman) == pytest.approx(
        [stats.spearmanr(a, b)[0] for a, b in rest], abs=1e-12
    )
    assert cases.left_out(groups, correlation.weighted_pearson) == pytest.approx(
        [stats.pearsonr(a, b)[0] for a, b in rest], abs=1e-12
    )


def test_constants_have_no_correlation() -> None:
    assert correlation.spearman([5, 5, 5], [1, 2, 3]) is None
    assert correlation.pearson([0.1, 0.1, 0.1], [1, 2, 3]) is None
    assert correlation.kendall([1.0], [2.0]) is None


def test_kendall_by_row_equals_scipy() -> None:
    rng = rng_for(1, "rows")
    a, b = rng.integers(0, 3, (20, 5)).astype(float), rng.normal(size=(20, 5))
    want = [stats.kendalltau(p, q)[0] for p, q in zip(a, b, strict=True)]
    assert correlation.kendall_rows(a, b) == pytest.approx(np.array(want), nan_ok=True)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("seed", range(4))
def test_alpha_equals_krippendorff_with_gaps(level: str, seed: int) -> None:
    rng = rng_for(seed, "alpha")
    truth = rng.integers(0, 4, 25)
    ratings = np.clip(truth + rng.integers(-1, 2, (4, 25)), 0, 4).astype(float)
    ratings[rng.random(ratings.shape) < 0.3] = np.nan
    want = krippendorff.alpha(reliability_data=ratings, level_of_measurement=level)
    assert alpha(ratings, level) == pytest.approx(want, abs=1e-9)  # type: ignore[arg-type]


def test_alpha_is_none_where_chance_cannot_be_told() -> None:
    assert alpha(np.ones((3, 5))) is None
    assert alpha(np.array([[1.0, np.nan], [np.nan, 2.0]])) is None


def test_alpha_interval_holds_the_estimate() -> None:
    rng = rng_for(3, "alpha interval")
    ratings = (rng.integers(0, 3, 200) + rng.integers(0, 2, (3, 200))).astype(float)
    low, high = alpha_interval(ratings, "interval") or (1.0, 0.0)
    assert low < (alpha(ratings, "interval") or 0) < high


def test_kappa_is_that_of_the_textbook_over_the_shared_units() -> None:
    said = [("yes", "yes")] * 20 + [("yes", "no")] * 5 + [("no", "yes")] * 10 + [("no", "no")] * 15
    ratings = np.array([[float(answer == "yes") for answer in both] for both in said]).T
    assert kappa(ratings) == pytest.approx(0.4)
    alone = np.hstack([ratings, [[1.0, np.nan], [np.nan, 0.0]]])
    assert kappa(alone) == pytest.approx(0.4)
    low, high = kappa_interval(alone, np.arange(52)) or (1.0, 0.0)
    assert low < 0.4 < high
    assert kappa(np.ones((2, 5))) is None
    assert kappa(np.array([[1.0, np.nan], [np.nan, 2.0]])) is None


@pytest.mark.parametrize("wrong", [119, 120])
def test_kappa_of_a_judge_that_is_nearly_always_wrong_has_no_end_below_minus_1(wrong: int) -> None:
    truth = np.arange(120) % 2
    said = np.where(np.arange(120) < wrong, 1 - truth, truth)
    ratings = np.array([truth, said], float)
    low, high = kappa_interval(ratings, np.arange(120) // 6) or (0.0, 0.0)
    value = kappa(ratings)
    assert value is not None
    assert -1 <= low <= value < high < 0


def test_kappa_of_two_constant_answers_is_not_known_exactly() -> None:
    ratings = np.array([np.zeros(80), np.ones(80)])
    low, high = kappa_interval(ratings, np.arange(80) // 4) or (1.0, 0.0)
    assert (low, high) == (0.0, pytest.approx(1 - 0.025 ** (1 / 20)))


def test_kappa_interval_is_wider_where_whole_images_agree() -> None:
    rng = rng_for(4, "kappa interval")
    right = np.repeat(rng.random(40) < 0.8, 5)
    truth = rng.integers(0, 2, 200)
    ratings = np.array([np.where(right, truth, 1 - truth), truth], float)
    images, cases = (
        kappa_interval(ratings, groups) or (0.0, 0.0)
        for groups in (np.repeat(np.arange(40), 5), np.arange(200))
    )
    assert images[1] - images[0] > 1.5 * (cases[1] - cases[0])
    perfect = kappa_interval(np.array([truth, truth], float), np.arange(200)) or (0.0, 0.0)
    assert 0.95 < perfect[0] < 1.0 == perfect[1]


@pytest.mark.parametrize("seed", range(4))
def test_bradley_terry_equals_choix_without_ties(seed: int) -> None:
    rng = rng_for(seed, "choix")
    strength = rng.normal(size=6)
    wins, data = np.zeros((6, 6)), []
    for _ in range(400):
        i, j = rng.choice(6, 2, replace=False)
        w, loser = (i, j) if rng.random() < 1 / (1 + np.exp(strength[j] - strength[i])) else (j, i)
        wins[w, loser] += 1
        data.append((w, loser))
    want = choix.opt_pairwise(6, data, alpha=0, tol=1e-12)
    found = davidson(wins)
    assert not found.regularised
    assert found.log_strength == pytest.approx(want - want.mean(), abs=1e-6)


def test_davidson_maximises_its_likelihood() -> None:
    wins, ties = (
        np.array([[0, 6, 4], [3, 0, 5], [2, 4, 0]]),
        np.array([[0, 2, 3], [2, 0, 1], [3, 1, 0]]),
    )
    found = davidson(wins, ties)

    def likelihood(theta: np.ndarray, eta: float) -> float:
        total = 0.0
        for i in range(3):
            for j in range(i + 1, 3):
                a, b = np.exp(theta[i]), np.exp(theta[j])
                both = np.exp(eta) * np.sqrt(a * b)
                whole = a + b + both
                total += (
                    wins[i, j] * np.log(a / whole)
                    + wins[j, i] * np.log(b / whole)
                    + ties[i, j] * np.log(both / whole)
                )
        return float(total)

    assert found.log_tie is not None
    best = likelihood(found.log_strength, found.log_tie)
    for step in np.eye(3) * 1e-3:
        assert likelihood(found.log_strength + step, found.log_tie) < best
        assert likelihood(found.log_strength - step, found.log_tie) < best
    assert likelihood(found.log_strength, found.log_tie + 1e-3) < best


def test_unbeaten_source_is_finite_and_said_to_be_regularised() -> None:
    found = davidson(np.array([[0, 5], [0, 0]]))
    assert found.regularised
    assert np.isfinite(found.log_strength).all()
    assert found.log_strength[0] > found.log_strength[1]


def test_sources_never_compared_fall_into_components() -> None:
    wins = np.zeros((4, 4))
    wins[0, 1] = wins[1, 0] = wins[2, 3] = wins[3, 2] = 2
    assert sorted(davidson(wins).component.tolist()) == [0, 0, 1, 1]


def test_holm_steps_down_and_keeps_gaps() -> None:
    assert holm([0.01, None, 0.04, 0.03]) == [
        pytest.approx(0.03),
        None,
        pytest.approx(0.06),
        pytest.approx(0.06),
    ]


def test_holm_divides_the_level_by_weight() -> None:
    """By hand: p over weight 0.015, 0.08, 1.2, times the weights left (1, 0.5, 0.25)."""
    found = holm([0.3, 0.0075, None, 0.02], [0.25, 0.5, 7.0, 0.25])
    assert found == [pytest.approx(0.3), pytest.approx(0.015), None, pytest.approx(0.04)]
    equal = [0.01, None, 0.04, 0.03]
    assert holm(equal, [2.0] * 4) == pytest.approx(holm(equal))


def test_interval_is_as_wide_as_the_images_make_it_not_the_verdicts() -> None:
    images = np.repeat(np.arange(20), 10)
    table = pl.DataFrame(
        {"cluster": images, "right": images % 2 == 0, "parsed": True, "said_first": True}
    )
    table = table.with_columns(cause=pl.lit(None, dtype=pl.String))
    (clustered,) = accuracy_cells(counted(table, ()), [])
    (single,) = accuracy_cells(counted(table.with_columns(cluster=pl.int_range(200)), ()), [])
    ends = [row.accuracy.share.interval or (0.0, 0.0) for row in (clustered, single)]
    width = [(high or 0) - (low or 0) for low, high in ends]
    assert width[0] > 2.5 * width[1]


def test_all_right_is_not_certainty() -> None:
    low, high = one_share(np.full(20, 7.0), np.full(20, 7.0)).interval(0) or (0, 0)
    assert high == 1
    assert stats.beta.ppf(0.025, 20, 1) < low < stats.beta.ppf(0.025, 140, 1)


def _ends(right: Sequence[float], asked: Sequence[float]) -> tuple[float, float]:
    ends = one_share(np.array(right, dtype=float), np.array(asked, dtype=float)).interval(0)
    assert ends is not None
    return ends


@pytest.mark.parametrize(
    ("right", "asked"), [(19, 20), (1, 20), (12, 20), (999, 1000), (998, 1000)]
)
def test_with_one_case_an_image_three_quarters_of_the_count_seen_is_beyond_the_interval(
    right: int, asked: int
) -> None:
    low, high = _ends([1] * right + [0] * (asked - right), [1] * asked)
    below = stats.binom.cdf(right - 1, asked, high) + 0.75 * stats.binom.pmf(right, asked, high)
    above = stats.binom.sf(right, asked, low) + 0.75 * stats.binom.pmf(right, asked, low)
    assert (below, above) == pytest.approx((0.025, 0.025), abs=1e-6)


def test_images_whose_verdicts_go_together_widen_the_interval() -> None:
    together, apart = _ends([6] * 10 + [0] * 2, [6] * 12), _ends([5] * 12, [6] * 12)
    exact = stats.binomtest(10, 12).proportion_ci(method="exact")
    assert together[1] - together[0] > 1.6 * (apart[1] - apart[0])
    assert together[1] - together[0] > 0.8 * (exact.high - exact.low)


def test_errors_on_one_image_do_not_make_the_interval_explode() -> None:
    """72 verdicts on 12 images: the lower ends of judges with 0 to 6 errors lie close together."""
    by_errors = {
        "none": [6] * 12,
        "one": [5] + [6] * 11,
        "two on one image": [4] + [6] * 11,
        "two on two images": [5] * 2 + [6] * 10,
        "six on six images": [5] * 6 + [6] * 6,
    }
    lows = {name: _ends(right, [6] * 12)[0] for name, right in by_errors.items()}
    assert min(lows.values()) > 0.72
    assert max(lows.values()) - min(lows.values()) < 0.1


@given(
    asked=st.lists(st.integers(4, 8), min_size=8, max_size=40),
    share=st.floats(0.5, 0.99),
    alike=st.floats(0.2, 50),
    seed=st.integers(0, 2**16),
)
@settings(deadline=None)
def test_one_more_right_answer_does_not_lower_the_interval(
    asked: list[int], share: float, alike: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    n = np.array(asked)
    right = rng.binomial(n, rng.beta(share * alike, (1 - share) * alike, n.size))
    wrong = np.flatnonzero(right < n)
    assume((n - right).sum() >= 2)
    better = right.copy()
    better[rng.choice(wrong)] += 1
    assert _ends(better, n)[0] > _ends(right, n)[0] - 1e-7
    assert _ends(better, n)[1] > _ends(right, n)[1] - 1e-7


def test_interval_holds_the_truth_where_few_images_carry_all_errors() -> None:
    """Half of the verdicts are wrong on a tenth of the images, none on the others."""
    rng = rng_for(0, "few images")
    simulations, images = 2000, 20
    n = np.full(simulations * images, 8.0)
    right = np.where(rng.random(n.size) < 0.1, rng.binomial(8, 0.5, n.size), 8).astype(float)
    found = shares(right, n, np.repeat(np.arange(simulations), images), simulations)
    assert np.mean((found.low <= 0.95) & (found.high >= 0.95)) > 0.94


@pytest.mark.parametrize(("images", "told"), [(4, False), (5, True)])
def test_the_mean_over_tasks_has_an_interval_where_each_task_has_five_images(
    images: int, told: bool
) -> None:
    counts = {"wide": 50, "narrow": images}
    rows = [(task, f"{task}{k}", k % 3 > 0) for task, count in counts.items() for k in range(count)]
    table = pl.DataFrame(rows, schema=["task", "image", "right"], orient="row")
    found = macro(table.with_columns(cluster=pl.col("image").rank("dense").cast(pl.Int64)), "task")
    assert (found.interval is not None) is told
    assert found.why == (None if told else "a task with fewer than 5 images: narrow")


def test_one_image_has_no_interval() -> None:
    assert one_share(np.array([3.0]), np.array([6.0])).interval(0) is None


def test_needed_verdicts_equal_connors_formula() -> None:
    p10, p01 = 0.15, 0.05
    root = 1.959964 * np.sqrt(0.2) + 0.841621 * np.sqrt(0.2 - 0.01)
    assert cases_needed(p10, p01) == int(np.ceil((root / 0.1) ** 2))
    assert cases_needed(0.1, 0.1) is None


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
                        (f"i{i}", f"e{e}", order, r, a[i] + b[e] + both + o + rng.normal(0, 0.3))
                    )
    table = pl.DataFrame(
        rows, schema=["pair", "encoding", "order", "repeat", "right"], orient="row"
    )
    found = variance_components(table)
    want = {
        "item": a.var(),
        "encoding": b.var(ddof=1),
        "item_x_encoding": 0.49,
        "order": 0.16,
        "repeat": 0.09,
    }
    for name, value in want.items():
        assert found[name] == pytest.approx(value, rel=0.12), name


def test_the_image_holds_a_part_of_the_pairs_variance_and_intervals_cover_it() -> None:
    rng = rng_for(5, "variance of images")
    shape, covered, worth = (60, 4, 2, 2), [], []
    g, i, e, o = np.indices(shape).reshape(4, -1)
    for _ in range(40):
        image, item = rng.normal(0, 0.6, (60, 1, 1, 1)), rng.normal(0, 0.5, (60, 4, 1, 1))
        y = image + item + rng.normal(0, 0.4, shape[:3])[..., None] + rng.normal(0, 0.5, shape)
        columns = {"cluster": g, "pair": g * 4 + i, "encoding": e, "order": o, "right": y.ravel()}
        row = variance_row(pl.DataFrame(columns), "t")
        ends = row.ends["image"]
        assert row.image is not None and ends is not None
        covered.append(ends[0] <= 0.36 <= ends[1])
        worth.append({gain.name: gain.value for gain in row.gains})
    assert np.mean(covered) >= 0.85
    before = 0.36 + 0.25 / 4 + 0.16 / 8 + 0.25 / 16
    assert np.mean([gain["item"] for gain in worth]) == pytest.approx(
        before / (0.36 + 0.25 / 8 + 0.16 / 16 + 0.25 / 32) - 1, abs=0.02
    )
    assert np.mean([gain["order"] for gain in worth]) == pytest.approx(
        before / (before - 0.25 / 32) - 1, abs=0.005
    )


def test_variance_without_swap_or_repeat_stays_in_the_coarser_part() -> None:
    rng = rng_for(1, "variance")
    rows = [
        (f"i{i}", f"e{e}", "AB", 0, bool(rng.random() < 0.7)) for i in range(50) for e in range(3)
    ]
    found = variance_components(
        pl.DataFrame(rows, schema=["pair", "encoding", "order", "repeat", "right"], orient="row")
    )
    assert found["order"] is None
    assert found["repeat"] is None
    assert found["item_x_encoding"] == pytest.approx(0.21, abs=0.05)


@pytest.mark.parametrize("consistent", [True, False])
def test_variance_of_one_encoding_is_divided_into_the_pair_and_the_order(consistent: bool) -> None:
    rng = rng_for(2, "variance")
    rows = []
    for i in range(600):
        chance = rng.choice([0.5, 0.9])
        first, second = (bool(rng.random() < chance) for _ in range(2))
        rows += [
            (f"i{i}", "e", "AB", 0, first),
            (f"i{i}", "e", "BA", 0, first if consistent else second),
        ]
    row = variance_row(
        pl.DataFrame(rows, schema=["pair", "encoding", "order", "repeat", "right"], orient="row"),
        "t",
    )
    item, order = (
        (0.21, 0.0) if consistent else (0.04, 0.17)
    )  # pairs: the variance of their chances, 0.2²
    assert row.item == pytest.approx(item, abs=0.025)
    assert row.order == pytest.approx(order, abs=0.025)
    assert row.total == pytest.approx(0.21, abs=0.02)
    assert row.encoding is row.item_x_encoding is None
    assert sum(share for share in row.shares.values() if share is not None) == pytest.approx(1)


def test_variance_that_nothing_divides_has_no_shares() -> None:
    rows = [(f"i{i}", "e", "AB", 0, i % 3 > 0) for i in range(60)]
    row = variance_row(
        pl.DataFrame(rows, schema=["pair", "encoding", "order", "repeat", "right"], orient="row"),
        "t",
    )
    assert row.total == 0
    assert set(row.shares.values()) == {None}
