"""A new figure is one file: metrics.json, the tables, the report and the terminal have
it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from judged_records import pair, said, write_dataset, write_run
from page_text import page
from visualjudge.analysis import analyse, figures
from visualjudge.analysis.report.terminal import text

FILE = '''"""The share of replies that call two options equal, by encoding."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from visualjudge.analysis.figures.figure_parts import (
    Estimate,
    estimates_of_judges,
    JudgeFigure,
    JudgeResult,
    Layout,
    Section,
    counts,
    figure,
    image_sums,
    named,
)


@dataclass(frozen=True)
class Ties:
    encoding: str
    share: Estimate


def rows(judge: JudgeResult) -> tuple[Ties, ...]:
    read = judge.pairs.filter("usable")
    values = {"tie": pl.col("tie"), "n": pl.col("usable")}
    sums = image_sums(read, ["encoding"], values)
    shares = sums.shares("tie", "n")
    return tuple(Ties(str(name), shares[k]) for k, name in enumerate(sums.keys["encoding"]))


COLUMNS = Layout[Ties](
    named("encoding", "Encoding"), *counts("share"), *figure("ties", "share", "Ties")
)
TIES = JudgeFigure(
    "ties_by_encoding",
    rows,
    COLUMNS,
    needs={"truth"},
    sentences=lambda found: [f"It calls {found[0].share.value:.0%} equal."] if found else [],
    section=lambda shown: Section("ties", "Where does it answer tie?", asked=shown.grids(TIES)),
    plots=(
        estimates_of_judges(
            "ties",
            "Ties by encoding",
            "Share of ties.",
            lambda judge: {row.encoding: row.share for row in judge[TIES]},
            "no pair was asked",
        ),
    ),
)
'''


def _run(root: Path, answer: str) -> Path:
    stems = ("text_xyxy", "pixel_s0_m0")
    pairs = [
        pair(k, (8.0, 4.0), encoding=stems[k % 2], answer=answer)
        for k in range(40)
    ]
    dataset = write_dataset(root / "ds", pairs)
    verdicts = [
        said(q, "tie" if k % 8 == 0 else "A") for k, q in enumerate(pairs)
    ]
    return write_run(root / "run", dataset, verdicts)


@pytest.fixture
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "ties.py").write_text(FILE, "utf-8")
    places = [*figures.__path__, str(tmp_path / "more")]
    monkeypatch.setattr(figures, "__path__", places)
    monkeypatch.delitem(sys.modules, f"{figures.__name__}.ties", raising=False)


@pytest.mark.usefixtures("_folder")
def test_a_figure_is_added_by_one_file(tmp_path: Path) -> None:
    found = analyse([_run(tmp_path, "A")])
    stored = found.metrics["judges"][0]["ties_by_encoding"]
    assert {row["encoding"]: row["ties"] for row in stored} == {
        "pixel_s0_m0": 0.0,
        "text_xyxy": 0.25,
    }
    assert found.tables["ties_by_encoding"]["n"].to_list() == [20, 20]
    whole = page(found)
    assert "Where does it answer tie?" in whole and 'id="figure-ties"' in whole
    assert "it calls 0% equal." in text(found, [])


@pytest.mark.usefixtures("_folder")
def test_a_figure_that_needs_the_truth_is_empty_without_it(
    tmp_path: Path,
) -> None:
    found = analyse([_run(tmp_path, "unknown")])
    assert found.metrics["judges"][0]["ties_by_encoding"] == []
    assert "Where does it answer tie?" not in page(found)
