"""The atlas on made clones: what it measures, and what stays where a clone is
missing."""

from __future__ import annotations

import sys
from pathlib import Path

import orjson
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import atlas  # noqa: E402


def arena(clones: Path) -> None:
    """A clone of pairs: people choose A, B and tie in turn; one judge agrees, one says
    A."""
    folder = clones / "OpenING/Interleaved_Arena"
    folder.mkdir(parents=True)
    files = {
        "judge_modelAB_results.json": ["A", "B", "Tie(A)"],
        "gpt-judge_modelAB_results.json": ["A", "A", "A"],
        "intjudge_rag-judge_modelAB_results.json": ["A", "B", "Tie(B)"],
        "intjudge_rag-judge_modelAB_results_new.json": ["A", "B", "A"],
    }
    for name, winners in files.items():
        rows = [
            {
                "data_id": str(k),
                "model_A": {"name": "left"},
                "model_B": {"name": "right"},
                "winner": winners[k % 3],
            }
            for k in range(60)
        ]
        (folder / name).write_bytes(orjson.dumps(rows))


def test_judges_are_measured_and_missing_clones_named(tmp_path: Path) -> None:
    arena(tmp_path / "clones")
    rows, analyses, missing = atlas.measure(
        tmp_path / "clones", tmp_path / "out"
    )
    found = {row.judge: row for row in rows}
    assert set(analyses) == {"opening"}
    assert found["gpt-4o"].value == pytest.approx(1 / 3)
    assert found["gpt-4o"].bias == pytest.approx(50)
    assert found["intjudge"].value == 1
    assert found["intjudge, 2025"].value == pytest.approx(2 / 3)
    assert "Q-Bench" in missing and "OpenING" not in missing


def test_figures_of_a_missing_clone_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {"set": "q-bench", "judge": "old", "value": 0.5}
    stale = {"set": "opening", "judge": "gpt-4o", "value": 0.1}
    file = tmp_path / "findings.json"
    file.write_bytes(orjson.dumps({"rows": [stale, kept]}))
    monkeypatch.setattr(atlas, "FIGURES", file)
    arena(tmp_path / "clones")
    rows, analyses, _ = atlas.measure(tmp_path / "clones", tmp_path / "out")
    merged = atlas.merged("rows", rows, "set", set(analyses))
    assert kept in merged and stale not in merged
    assert sum(row["set"] == "opening" for row in merged) == 3
