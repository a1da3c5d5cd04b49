"""Rows that were shifted and answers that were reversed are told with both figures, and
right tables are not accused, whatever the judge is worth."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from visualjudge.apps.adopt.adopt import adopt
from visualjudge.core.seeding import rng_for

Row = dict[str, Any]
TURNED = {"A": "B", "B": "A"}


def votes(right: float, rows: int = 120, seed: int = 0) -> list[Row]:
    """Pairs of models of unlike worth, by a judge that favours one of them."""
    rng = rng_for(seed, "votes", right, rows)
    table = []
    for k in range(rows):
        a, b = rng.choice(4, 2, replace=False)
        truth = "A" if rng.random() < 0.5 + 0.15 * (a - b) / 3 else "B"
        other = "A" if rng.random() < 0.5 + 0.4 * (b - a) / 3 else "B"
        said = truth if rng.random() < 2 * right - 1 else other
        names = {"model_a": f"m{a}", "model_b": f"m{b}", "order": "AB"}
        table.append(
            {"item": f"q{k}", **names, "verdict": said, "truth": truth}
        )
    return table


def scores(noise: float, rows: int = 120, seed: int = 0) -> list[Row]:
    """Frames of a video, whose scores resemble those of their neighbours."""
    rng = rng_for(seed, "scores", noise, rows)
    truth = 5 + np.convolve(
        rng.normal(0, 2, rows + 4), np.ones(5) / 5**0.5, "valid"
    )
    said = truth + rng.normal(0, noise, rows)
    return [
        {"item": f"q{k}", "model": f"m{k % 3}", "verdict": v, "truth": t}
        for k, (v, t) in enumerate(
            zip(np.clip(said, 0, 10), np.clip(truth, 0, 10), strict=True)
        )
    ]


def told(table: list[Row], folder: Path) -> str:
    return "; ".join(adopt(table, folder / "study", force=True).notes)


def shifted(table: list[Row]) -> list[Row]:
    below = [*table[1:], table[0]]
    return [
        {**row, "truth": other["truth"]}
        for row, other in zip(table, below, strict=True)
    ]


def reversed_votes(table: list[Row]) -> list[Row]:
    return [{**row, "verdict": TURNED[row["verdict"]]} for row in table]


def ranks(table: list[Row]) -> list[Row]:
    order = sorted(row["verdict"] for row in table)
    return [
        {**row, "verdict": 10 - 10 * order.index(row["verdict"]) // len(table)}
        for row in table
    ]


INDEPENDENT = [
    {**row, "truth": round(t, 2), "verdict": round(min(10, max(0, t + e)), 2)}
    for row, t, e in zip(
        scores(1),
        rng_for(1, "truths").uniform(0, 10, 120),
        rng_for(1, "errors").normal(0, 1, 120),
        strict=True,
    )
]
MISTAKES: dict[str, tuple[list[Row], str]] = {
    "votes shifted": (
        shifted(votes(0.9)),
        r"equal in [45]\d %, with the truth of the row 1 above equal in [89]\d %",
    ),
    "scores shifted": (
        shifted(INDEPENDENT),
        r"correlation -?0\.[01]\d, .* row 1 above correlation 0\.9",
    ),
    "votes reversed": (
        reversed_votes(votes(0.9)),
        r"equal in 1\d %, with the truth reversed equal in [89]\d %",
    ),
    "ranks": (
        ranks(INDEPENDENT),
        r"correlation -0\.9.* reversed correlation 0\.9",
    ),
    "one letter": (
        [{**row, "verdict": "B"} for row in votes(0.8)],
        "B in all 120",
    ),
    "one truth": (
        [{**row, "truth": "A"} for row in votes(0.8)],
        "A in all 120",
    ),
    "zeros for none": (
        [
            {**row, "truth": 0 if k % 8 == 0 else 5 + row["truth"] % 5}
            for k, row in enumerate(INDEPENDENT)
        ],
        r"0 in \d+ of \d+ rows, and [5-6].* in the others",
    ),
    "ten for none, beside few steps": (
        [
            {**row, "truth": 10 if k % 8 == 0 else 1 + k % 4 / 10}
            for k, row in enumerate(INDEPENDENT)
        ],
        r"10 in \d+ of \d+ rows, and 1 to 1.3 in the others",
    ),
    "rows of means": (
        [
            *INDEPENDENT,
            *({**INDEPENDENT[k], "item": "Mean"} for k in range(2)),
        ],
        "2 rows of 'Mean'; remove",
    ),
    "case": (
        [{**row, "model_a": row["model_a"].upper()} for row in votes(0.8)],
        r"(?i)m(\d), m\1: models whose names differ",
    ),
    "zeros": (
        [{**row, "item": row["item"].replace("q", "q0")} for row in INDEPENDENT]
        + INDEPENDENT,
        "items whose names differ",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_of_a_table_is_told_with_its_figures(
    mistake: str, tmp_path: Path
) -> None:
    table, sentence = MISTAKES[mistake]
    assert re.search(sentence, told(table, tmp_path))


@pytest.mark.parametrize("right", [0.5, 0.6, 0.9])
@pytest.mark.parametrize("rows", [20, 40, 300])
def test_right_tables_are_not_accused(
    right: float, rows: int, tmp_path: Path
) -> None:
    for seed in range(3):
        for table in (
            votes(right, rows, seed),
            scores(30 * (1 - right), rows, seed),
        ):
            assert not re.search(
                "shifted|reversed|differ", told(table, tmp_path)
            )


def test_votes_that_split_are_told_as_the_ties_they_count_as(
    tmp_path: Path,
) -> None:
    rows = [
        {"item": f"q{k}", "verdict": "AB"[k % 2], "rater.a": "A", "rater.b": b}
        for k, b in enumerate("AABABBAB" * 5)
    ]
    told = [
        note for note in adopt(rows, tmp_path / "two").notes if "split" in note
    ]
    assert len(told) == 1 and "20 rows" in told[0]
    odd = [row | {"rater.c": "A"} for row in rows]
    assert "split" not in " ".join(adopt(odd, tmp_path / "three").notes)
