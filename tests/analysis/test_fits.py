"""The one fit: coefficients of statsmodels, finite where answers are separated, wider
on few images."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from visualjudge.analysis import fits
from visualjudge.analysis.figures.strengths import leaderboard
from visualjudge.analysis.fits import fit
from visualjudge.core.records import FloatArray, IntArray
from visualjudge.core.seeding import rng_for

APART = np.array(
    [[-1.0, 1, 0, 0, 0], [-1, 0, 1, 0, 0], [-1, 0, 0, 1, 0], [0, 0, 0, 0, 1]]
)


def games(
    images: int, each: int = 10
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Games of four sources, with ties and a covariate."""
    rng, n = rng_for(0, "games", images), images * each
    a = rng.integers(0, 4, n)
    b = (a + rng.integers(1, 4, n)) % 4
    x = np.zeros((n, 5))
    x[np.arange(n), a], x[np.arange(n), b], x[:, 4] = (
        1.0,
        -1.0,
        rng.normal(size=n),
    )
    odds = x @ [0.8, 0.2, -0.3, -0.7, 0.3]
    outcome = (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(float)
    outcome[rng.random(n) < 0.1] = 0.5
    return x, outcome, np.repeat(np.arange(images), each)


@pytest.mark.parametrize(("images", "each"), [(60, 10), (300, 2), (600, 1)])
@pytest.mark.parametrize("link", ["logit", "identity"])
def test_strengths_equal_statsmodels_and_errors_are_a_little_wider(
    link: str, images: int, each: int
) -> None:
    """Also where an image has fewer answers than there are coefficients."""
    import statsmodels.api as sm  # slow, and every worker of a run collects this file

    x, y, image = games(images, each)
    found = fit(x, y, image, link=link)  # type: ignore[arg-type]
    family = (
        sm.families.Binomial() if link == "logit" else sm.families.Gaussian()
    )
    told = sm.GLM(y, x[:, 1:], family=family)
    told = told.fit(cov_type="cluster", cov_kwds={"groups": image})
    assert APART @ found.coefficients == pytest.approx(told.params, abs=1e-8)
    wider = np.sqrt(found.variance(APART)) / told.bse
    assert (wider > 1).all() and (wider < 1.02).all(), "CR3 and the sandwich"
    assert found.coefficients[:4].sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("half", [False, True])
def test_errors_are_those_of_leaving_each_image_out(half: bool) -> None:
    x, y, image = games(12)
    image = np.where(np.arange(image.size) < 60, 0, image) if half else image
    images = np.unique(image)
    found = fit(x, y, image, link="identity")
    without = [
        np.linalg.lstsq(x[image != k], y[image != k], rcond=None)[0]
        for k in images
    ]
    moved = (found.coefficients - np.array(without)) @ APART.T
    shrunk = (images.size - 1) / images.size
    assert found.variance(APART) == pytest.approx(
        (moved**2).sum(0) * shrunk, rel=1e-6
    )
    assert (found.kish < 4) is half


@pytest.mark.parametrize("each", [2, 3, 10])
def test_errors_of_log_odds_are_those_of_leaving_each_image_out(
    each: int,
) -> None:
    x, y, image = games(120, each)
    found = fit(x, y, image)
    without = [
        fit(x[image != k], y[image != k], image[image != k]).coefficients
        for k in np.unique(image)
    ]
    moved = (found.coefficients - np.array(without)) @ APART.T
    exact = (moved**2).sum(0) * 119 / 120
    assert found.variance(APART) == pytest.approx(exact, rel=0.02), (
        "one step of Newton"
    )


def test_a_source_that_never_lost_has_a_finite_strength_and_an_honest_error() -> (
    None
):
    x, y, image = games(30)
    y = np.where(x[:, 0] > 0, 1.0, np.where(x[:, 0] < 0, 0.0, y))
    found = fit(x, y, image, penalised=True)
    lead, error = (
        APART[0] @ found.coefficients,
        float(found.variance(APART[:1])[0]) ** 0.5,
    )
    assert -10 < lead < -2 and error > 0.8


def test_a_column_that_the_others_give_is_not_determined() -> None:
    x, y, image = games(20)
    doubled = np.column_stack([x[:, 4], 2 * x[:, 4], x[:, :4]])
    assert fit(doubled, y, image, link="identity").determined[0] < 0.5


@pytest.mark.parametrize("seed", range(4))
def test_a_penalised_fit_of_few_games_of_many_sources_is_the_maximum(
    seed: int,
) -> None:
    """Whole steps overshoot for ever where most sources play once or twice."""
    rng, n = rng_for(seed, "few games"), 16
    x = np.zeros((n, 30))
    first = rng.integers(0, 12, n)
    (
        x[np.arange(n), first],
        x[np.arange(n), (first + rng.integers(1, 12, n)) % 12],
    ) = (
        1.0,
        -1.0,
    )
    y = rng.choice([0.0, 0.5, 1.0], n)
    found = fit(x, y, np.arange(n), penalised=True).coefficients
    assert np.linalg.pinv(x) @ x @ found == pytest.approx(found), (
        "mean 0 in each connected part"
    )
    mean = 1 / (1 + np.exp(-x @ found))
    weight = mean * (1 - mean)
    inverse = np.linalg.pinv((x.T * weight) @ x, rcond=1e-10, hermitian=True)
    lever = weight * ((x @ inverse) * x).sum(1)
    assert np.abs(x.T @ (y - mean + lever * (0.5 - mean))).max() < 1e-6


def test_a_large_slope_is_whole() -> None:
    x = np.arange(12.0)[:, None]
    assert fit(
        x, 7 * x[:, 0], np.arange(12), link="identity"
    ).coefficients == pytest.approx([7.0])


def test_a_source_preferred_for_its_length_is_no_stronger_at_equal_length() -> (
    None
):
    rng, n = rng_for(0, "length"), 400
    longer = rng.normal(1.0, 1.0, n)
    chose = rng.random(n) < 1 / (1 + np.exp(-longer))
    questions = pl.DataFrame(
        {"question": np.arange(n), "lead_text_chars": longer}
    )
    table = questions.with_columns(
        pl.lit(0).alias("repeat"),
        order=pl.Series(rng.choice(["AB", "BA"], n)),
        cluster=pl.Series(np.arange(n) // 5),
        task=pl.lit("t"),
        usable=pl.lit(True),
        text=pl.Series(np.where(chose, "A", "B")),
        sources=pl.Series([["long", "short"]] * n),
    )
    first = leaderboard(table, questions, {}).rows[0]
    assert first.source == "long" and first.strength.interval is not None
    assert first.strength.interval[0] > 0.2
    assert first.controlled.interval is not None
    assert first.controlled.interval[0] < 0 < first.controlled.interval[1]


def test_images_that_do_not_fit_into_memory_at_once_have_the_same_errors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, y, image = games(12)
    whole = fit(x, y, image).variance(APART)
    monkeypatch.setattr(fits, "MOST_CELLS", 3 * 10 * 5)
    assert fit(x, y, image).variance(APART) == pytest.approx(whole, rel=1e-6)
