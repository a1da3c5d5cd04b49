"""The atlas: what each judge gets, beside a constant answer and the score of the benchmark's
authors.
"""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path

import orjson
import pytest

from apps.adopt.copies import write
from visualjudge.core.errors import DataError, UsageError

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))
from atlas import atlas, write_atlas

VOTES = ["leftvote"] * 6 + ["rightvote"] * 3 + ["bothbad_vote"] * 11
MARKS = {"leftvote": "[[A>B]]", "rightvote": "[[B>A]]", "bothbad_vote": "[[A=B=Bad]]"}


def copy(folder: Path) -> Path:
    said = {"first": ["leftvote"] * 20, "right": VOTES}
    for model, votes in said.items():
        rows = [
            {
                "idx": k,
                "prompt": f"a cat, {k}",
                "human_vote": truth,
                "model_vote": MARKS[vote],
                "response": MARKS[vote],
                "correct": vote == truth,
            }
            for k, (vote, truth) in enumerate(zip(votes, VOTES, strict=True))
        ]
        write(folder / "image_generation" / model / "pairwise.json", rows)
    return folder


def test_each_judge_has_a_row_beside_the_best_constant_answer(tmp_path: Path) -> None:
    rows = atlas([copy(tmp_path / "clone")], progress=lambda line: None)
    assert [
        (row.benchmark, row.judge, row.accuracy.value, row.authors) for row in rows
    ] == [
        ("genai-bench", "right", 1.0, "100.00"),
        ("genai-bench", "first", 0.3, "30.00"),
    ]
    right, first = rows
    assert right.constant == first.constant == pytest.approx(11 / 20)
    assert (right.above_constant, first.above_constant) == ("pass", "fail")
    assert (right.lean, first.lean) == pytest.approx((0.0, 0.5))
    assert right.ties_said == right.ties_true == pytest.approx(0.55)
    assert (first.ties_said, first.unread) == (0.0, 0.0)


def test_in_both_orders_the_constant_answer_is_of_the_places_shown(
    tmp_path: Path,
) -> None:
    rows = [
        {"pair_id": str(k), "label": "A>B", "decisions": ["A>B", "B>A"]}
        for k in range(8)
    ]
    write(tmp_path / "clone/j_decisions.jsonl", rows)
    (row,) = atlas([f"judgebench={tmp_path / 'clone'}"], progress=lambda line: None)
    assert row.accuracy.value == 1.0
    assert row.constant == 0.5


def test_the_site_has_the_figures_once_more(tmp_path: Path) -> None:
    rows = atlas([copy(tmp_path / "clone")], progress=lambda line: None)
    write_atlas(rows, tmp_path / "site", date(2026, 11, 23))
    found = orjson.loads((tmp_path / "site/atlas.json").read_bytes())
    assert found["date"] == "2026-11-23"
    assert [row["accuracy"]["value"] for row in found["rows"]] == [1.0, 0.3]
    page = (tmp_path / "site/index.html").read_text("utf-8")
    assert (
        "<svg" in page
        and "2026-11-23" in page
        and "http" not in page.replace("http://www.w3.org/2000/svg", "")
    )


def test_a_folder_of_no_benchmark_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="empty is a copy of no benchmark"):
        atlas([tmp_path / "empty"], progress=lambda line: None)
    with pytest.raises(UsageError, match="must be a folder, or NAME=FOLDER"):
        atlas([tmp_path / "nothing"], progress=lambda line: None)


def test_a_copy_without_replies_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "clone/data.jsonl", [{"pair_id": "1", "label": "A>B"}])
    with pytest.raises(DataError, match="no copy has"):
        atlas([f"judgebench={tmp_path / 'clone'}"], progress=lambda line: None)
