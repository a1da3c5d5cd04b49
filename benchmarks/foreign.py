"""Tables of verdicts that others simulated, measured by benchmarks/coverage.py --from FOLDER.

FOLDER holds one folder a design; a design is ``truth.json`` and any number of ``*.parquet`` or
``*.csv`` files, each one simulation with one verdict a row. Columns (those with a default may be
left out; others are ignored):

    id        question, text                          (required) image     the question's image,
    text or number    (required; the unit of every interval) answer    the right letter in terms of
    order AB: A or B          (required) said      the judge's letter, turned back to order AB: A or
    B; anything else is a failed reply (required) judge     name; the first two by name are compared
    (default: one judge) pair      the pair of predictions that the question is about
    (default: id) task, encoding                                                          (default:
    "task", "e0") order     AB, or BA where the options were shown swapped                (default:
    AB) score_a, score_b     true scores; their difference is the margin        (default: 1 and 0)
    source_a, source_b   names of the sources, for strengths                (default: none)
    text_chars_a, text_chars_b, count_a, …, area_a, …, png_bytes_a, …       features, all optional

``truth.json`` is one object of true values by figure, each optional: ``accuracy``,
``accuracy_parsed``, ``swap_consistency``, ``right_in_both``, ``mmrb2``, ``vl_rewardbench_micro``,
``vl_rewardbench_macro``, ``multimodal_rewardbench``, ``judgebench``, ``macro``, ``lean FEATURE``
(half the difference of accuracies, of the first judge), ``strength SOURCE`` (log odds, mean 0),
``alpha`` and ``difference`` (the first judge less the second). A figure without a truth is left
out. ``"flags": ["count", …]`` names the features that the first judge leans to (``position`` among
them); all other flags count as false.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from measured import Tally, flagged, pairwise, together, told_apart
from simulated import FEATURES

from visualjudge.analysis.accuracy_cells import margin_bin
from visualjudge.analysis.study_table import lead, more_of
from visualjudge.core.errors import DataError

REQUIRED = ("id", "image", "answer", "said")
DEFAULTS = {
    "judge": "judge",
    "encoding": "e0",
    "order": "AB",
    "task": "task",
    "score_a": 1.0,
    "score_b": 0.0,
}


def read_table(path: Path) -> dict[str, pl.DataFrame]:
    """One simulation's verdicts by judge, as the analysis joins them."""
    raw = pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path)
    missing = [name for name in REQUIRED if name not in raw.columns]
    if missing:
        raise DataError(
            f"{path}: column {missing[0]} is missing; it must have {', '.join(REQUIRED)}"
        )
    raw = raw.with_columns(
        pl.lit(value).alias(name) for name, value in DEFAULTS.items() if name not in raw.columns
    )
    if "pair" not in raw.columns:
        raw = raw.with_columns(pair=pl.col("id"))
    for side in "ab":
        if f"source_{side}" not in raw.columns:
            raw = raw.with_columns(pl.lit(None, dtype=pl.String).alias(f"source_{side}"))
    codes = pl.Series(
        "cluster", np.unique(raw["image"].cast(pl.String).to_numpy(), return_inverse=True)[1]
    )
    told = [name for name in FEATURES if f"{name}_a" in raw.columns]
    return {
        str(name[0]): part
        for name, part in sorted(raw.with_columns(codes).pipe(_as_joined, told).group_by("judge"))
    }


def _as_joined(raw: pl.DataFrame, told: list[str]) -> pl.DataFrame:
    turned, parsed = pl.col("order") == "BA", pl.col("said").is_in(["A", "B"])
    leads = {
        lead(name): (
            pl.col(f"{name}_a") - pl.col(f"{name}_b") if name in told else pl.lit(None)
        ).cast(pl.Float64)
        for name in FEATURES
    }
    text = pl.col("pair").cast(pl.String)
    raw = raw.with_columns(pl.col("id").cast(pl.String), text.alias("pair"))
    return raw.with_columns(
        parsed=parsed,
        text=pl.col("said"),
        item=text,
        pair=text.rank("dense").cast(pl.Int64),
        question=pl.col("id").rank("dense").cast(pl.Int64),
        repeat=pl.lit(0),
        right=parsed & (pl.col("said") == pl.col("answer")),
        said_first=pl.when(parsed).then((pl.col("said") == "A") ^ turned),
        first_right=(pl.col("answer") == "A") ^ turned,
        cause=pl.when(~parsed).then(pl.lit("unparseable")),
        status=pl.when(parsed).then(pl.lit("ok")).otherwise(pl.lit("unparseable")),
        kind=pl.lit("pairwise"),
        margin=(pl.col("score_a") - pl.col("score_b")).abs(),
        scores=pl.concat_list(
            pl.col("score_a").cast(pl.Float64), pl.col("score_b").cast(pl.Float64)
        ),
        sources=pl.concat_list("source_a", "source_b"),
        annotations=pl.concat_list(pl.format("{}-a", text), pl.format("{}-b", text)),
        tokens_in=pl.lit(None, dtype=pl.Int64),
        **leads,
    ).with_columns(*map(more_of, FEATURES), margin_bin=margin_bin())


def _truth(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text())
    if not isinstance(found, dict):
        raise DataError(f"{path}: must hold an object of true values by figure")
    return found


def measure(design: Path) -> tuple[Tally, dict[str, float], str]:
    """Coverage of every figure of one design, its truth, and a line on flags and tests."""
    truth = _truth(design / "truth.json")
    leaning, tally = set(truth.pop("flags", [])), Tally()
    false = hits = rejected = count = 0
    for judges in _tables(design):
        count += 1
        first, *others = judges.values()
        found = pairwise(first) | (together(first, others[0]) if others else {})
        for name, figure in found.items():
            if truth.get(name) is not None:
                tally.add(name, figure, truth[name])
        seen = flagged(first)
        false, hits = false + bool(seen - leaning), hits + (bool(leaning) and leaning <= seen)
        rejected += bool(others) and told_apart(first, others[0])
    if not count:
        raise DataError(f"{design}: holds no *.parquet or *.csv")
    said = f"{design.name}: {count} simulations; false flags {100 * false / count:.1f} %"
    said += f", all leanings found {100 * hits / count:.1f} %" if leaning else ""
    return tally, truth, f"{said}, judges told apart {100 * rejected / count:.1f} %"


def from_folder(folder: Path) -> None:
    """Print coverage, flags and tests of every design in ``folder``."""
    designs = sorted(path.parent for path in folder.glob("*/truth.json"))
    if not designs:
        raise DataError(
            f"{folder}: holds no design; a design is a folder with truth.json and tables"
        )
    for design in designs:
        tally, truth, said = measure(design)
        print(said)
        tally.show(truth)


def _tables(design: Path) -> Iterator[dict[str, pl.DataFrame]]:
    for path in sorted([*design.glob("*.parquet"), *design.glob("*.csv")]):
        yield read_table(path)
