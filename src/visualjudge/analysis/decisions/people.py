"""Runs against people's ratings: the alternative annotator test on a run's scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from visualjudge.analysis.decisions.checks import Evidence
from visualjudge.analysis.join import Study
from visualjudge.analysis.ratings import ratings_of_run, read_ratings
from visualjudge.analysis.statistics import AltTest, alt_test
from visualjudge.errors import UsageError

Item = tuple[str, str, str]


def against_people(study: Study, run: int, people: Sequence[str | Path], epsilon: float) -> AltTest:
    """Could the run's scores take a person's place? Ratings of one item, source and dimension are compared.

    Raises
    ------
    UsageError
        If no person has enough items in common with the run.
    """
    human: dict[str, dict[Item, float]] = {}
    for path in people:
        table, _ = read_ratings(path)
        for item, source, rater, dimension, score in table.select(
            "item", "source", "rater", "dimension", "score"
        ).iter_rows():
            human.setdefault(rater, {})[item, source, dimension] = score
    own = ratings_of_run(study.joined[run], study.runs[run].name)
    judge = {
        (item, source, dimension): score
        for item, source, dimension, score in own.select("item", "source", "dimension", "score").iter_rows()
    }
    return alt_test(human, judge, epsilon=epsilon, metric="neg_rmse")  # type: ignore[arg-type]


def omega(study: Study, run: int, people: Sequence[str | Path], epsilon: float) -> Evidence:
    """ω as evidence. It is the result of tests, not an estimate: its interval is the figure itself where it passes.

    Below one half, the judge was not shown to be as good as most people; that it is worse is shown by ρ < ½.
    """
    try:
        found = against_people(study, run, people, epsilon)
    except UsageError as error:
        return Evidence(None, None, 0, str(error))
    images = int(study.kind(run, "scoring")["cluster"].n_unique())
    decided = found.passed or found.advantage < 0.5
    ends = (found.value, found.value) if decided else None
    return Evidence(found.value, ends, images, None if decided else "not shown for half of the people")
