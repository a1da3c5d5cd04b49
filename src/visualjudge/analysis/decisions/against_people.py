"""Whether a judge's scores could replace those of a person: ω as evidence for the card."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from visualjudge.analysis.decisions.checks import Evidence
from visualjudge.analysis.rating_table import apart, ratings_of_run, read_ratings
from visualjudge.analysis.statistics import AltTest, alt_test
from visualjudge.analysis.study_table import Study
from visualjudge.core.errors import UsageError

Item = tuple[str, str, str]
KEYS = ("item", "source", "dimension")
PASSED = 0.5
LEAST_PEOPLE = 3
"""Minimum number of people for a decision (Calderon et al. 2025)."""


def against_people(study: Study, run: int, people: Sequence[str | Path], epsilon: float) -> AltTest:
    """Test whether the run's scores could replace a person's. Ratings of the same item, source and
    dimension are compared.

    Raises
    ------
    UsageError
        If no person has enough items in common with the run.
    """
    ratings = pl.concat([read_ratings(path)[0] for path in people], how="diagonal")
    own = ratings_of_run(study.joined[run], study.runs[run].name)
    reason = apart(own, ratings)
    if reason is not None:
        raise UsageError(reason)
    human = {
        str(rater): _scores(part)
        for (rater,), part in ratings.group_by(["rater"], maintain_order=True)
    }
    image = dict(own.select("item", "image").iter_rows())
    return alt_test(
        human,  # type: ignore[arg-type]
        _scores(own),  # type: ignore[arg-type]
        epsilon=epsilon,
        metric="neg_rmse",
        images=lambda key: image[key[0]],
    )


def _scores(ratings: pl.DataFrame) -> dict[Item, float]:
    """Return one rater's scores."""
    return {
        (item, source, what): score
        for item, source, what, score in ratings.select(*KEYS, "score").iter_rows()
    }


def omega(study: Study, run: int, people: Sequence[str | Path], epsilon: float) -> Evidence:
    """Return ω, clustered by image, as evidence. It is the result of tests, so it has no interval,
    and needs at least 3 people.

    Below one half, it is undecided whether the judge is as good as most people; ρ < ½ shows that it
    is worse.
    """
    try:
        found = against_people(study, run, people, epsilon)
    except UsageError as error:
        return Evidence(None, None, 0, str(error))
    images = int(study.kind(run, "scoring")["cluster"].n_unique())
    raters, value = len(found.people), found.value if found.by_image is None else found.by_image
    if raters < LEAST_PEOPLE:
        few = f"people with enough ratings: {raters}; at least {LEAST_PEOPLE} are needed"
        return Evidence(value, None, images, few)
    decided = value >= PASSED or found.advantage < 0.5
    why = (
        None
        if decided
        else "undecided for half of the people (as published, ratings independent: "
        f"{found.value:.2f})"
    )
    return Evidence(value, None, images, why, tested=decided)
