"""Agreement tables as published, beside the right ones."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

from visualjudge.analysis.decisions.published_agreement import as_published
from visualjudge.core.errors import UsageError


@pytest.fixture(scope="module")
def ratings() -> pl.DataFrame:
    """Two sources, 40 items, three people (0, ½, 1) and a judge (0..10)."""
    rng = np.random.default_rng(0)
    rows = []
    for source in ("one", "two"):
        for i in range(40):
            quality = rng.random(2)
            parts: dict[str, list[tuple[str, float, str]]] = {
                "SC": [],
                "PQ": [],
            }
            for part, true in zip(parts, quality, strict=True):
                for person in range(3):
                    value = float(
                        np.clip(
                            round(2 * (true + rng.normal(0, 0.2))) / 2, 0, 1
                        )
                    )
                    parts[part].append((f"p{person}", value, "person"))
                parts[part].append(
                    (
                        "judge",
                        float(
                            np.clip(
                                round(10 * (true + rng.normal(0, 0.2))), 0, 10
                            )
                        ),
                        "judge",
                    )
                )
            for (rater, sc, kind), (_, pq, _) in zip(
                parts["SC"], parts["PQ"], strict=True
            ):
                for name, score in (
                    ("SC", sc),
                    ("PQ", pq),
                    ("O", math.sqrt(sc * pq)),
                ):
                    rows.append(
                        (f"i{i}", source, rater, f"T/{name}", score, kind)
                    )
    names = ["item", "source", "rater", "dimension", "score", "kind"]
    return pl.DataFrame(rows, schema=names, orient="row")


def _rho(table: pl.DataFrame, source: str, dimension: str) -> float:
    part = table.filter(
        (pl.col("source") == source) & (pl.col("dimension") == dimension)
    )
    judge = part.filter(pl.col("kind") == "judge").sort("item")["score"]
    people = (
        part.filter(pl.col("kind") == "person")
        .group_by("item")
        .agg(pl.col("score").mean())
        .sort("item")["score"]
    )
    return float(stats.spearmanr(judge, people)[0])


def test_a_cell_is_the_tangent_of_the_mean_and_the_mean_stands_beside(
    ratings: pl.DataFrame,
) -> None:
    cells = {
        (cell.rater, cell.dimension): cell for cell in as_published(ratings)
    }
    for dimension in ("T/SC", "T/PQ", "T/O"):
        rho = [_rho(ratings, source, dimension) for source in ("one", "two")]
        cell = cells["judge", dimension]
        assert cell.published == pytest.approx(math.tanh(np.mean(rho)))
        assert cell.mean == pytest.approx(np.mean(rho))
        assert cell.published < cell.mean
        assert cells["people", dimension].published is not None


def test_a_constant_judge_has_no_cell(ratings: pl.DataFrame) -> None:
    flat = ratings.with_columns(
        score=pl.when(pl.col("kind") == "judge")
        .then(5.0)
        .otherwise(pl.col("score"))
    )
    assert all(
        cell.published is None
        for cell in as_published(flat)
        if cell.kind == "judge"
    )


def test_items_that_lack_a_part_do_not_count(ratings: pl.DataFrame) -> None:
    lost = (
        (pl.col("rater") == "judge")
        & (pl.col("item") == "i0")
        & (pl.col("dimension") == "T/PQ")
    )
    cells = [
        cell
        for cell in as_published(ratings.filter(~lost))
        if cell.kind == "judge"
    ]
    assert {cell.items for cell in cells} == {39} and len(cells) == 3
    both = ratings.filter(
        ~((pl.col("rater") == "judge") & (pl.col("item") == "i0"))
    )
    kept = {
        cell.dimension: cell.published
        for cell in as_published(both)
        if cell.kind == "judge"
    }
    lost_source = ratings.filter(~(lost & (pl.col("source") == "one")))
    found = {
        cell.dimension: cell.by_source
        for cell in as_published(lost_source)
        if cell.kind == "judge"
    }
    expected = {
        cell.dimension: cell.by_source
        for cell in as_published(both)
        if cell.kind == "judge"
    }
    assert found["T/SC"]["one"] == expected["T/SC"]["one"] and kept


def test_ratings_without_a_judge_are_refused(ratings: pl.DataFrame) -> None:
    with pytest.raises(UsageError, match="needs a judge"):
        as_published(ratings.filter(pl.col("kind") == "person"))
