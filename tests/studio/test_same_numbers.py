"""Counts, slices, filters and comparisons are the report's, at every moment of
reading."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from fastapi.testclient import TestClient

from judged_records import (
    pair,
    ranking,
    said,
    scoring,
    write_dataset,
    write_run,
)
from stored_figures import stored
from visualjudge.analysis import analyse
from visualjudge.analysis.figures.accuracy import PAIRWISE
from visualjudge.analysis.figures.reasons import RIGHT_REASON
from visualjudge.analysis.figures.scoring import RANKINGS, SCORES
from visualjudge.analysis.load import load_study
from visualjudge.core.records import Fault, Probe, Question, Verdict
from visualjudge.prompts.rubric import rubric_of
from visualjudge.studio import dataset_index
from visualjudge.studio.app import MOST_REPLIES, create_app
from visualjudge.studio.places import find_places
from visualjudge.studio.selection import Shelf, State
from visualjudge.studio.slices import matrix, slices
from visualjudge.studio.studio_data import Site

KINDS = ("missed", "extra", "localization")
STATUSES = (
    "ok",
    "ok",
    "ok",
    "ok",
    "refusal",
    "cannot_tell",
    "ok_extracted",
    "truncated",
)


def _questions(rng: np.random.Generator) -> list[Question]:
    pairs = []
    for i in range(120):
        scores = tuple(float(score) for score in rng.permutation(11)[:2])
        faults = tuple(
            (
                Fault(
                    KINDS[int(rng.integers(3))],
                    (0.0, 0.0, 9.0, 9.0),
                    10.0 - score,
                ),
            )
            for score in scores
        )
        more: dict[str, Any] = {"faults": faults}
        if i % 5 == 0:
            more["task"] = "keypoint"
        if i % 10 == 9:
            more |= {
                "answer": "tie",
                "final_scores": (5.0, 5.0),
                "ties": ("tie",),
            }
        pairs.append(pair(i, scores, **more))
    rankings = [ranking(i, (1.0, 5.0, 9.0)) for i in range(12)]
    scored = [scoring(i, 2.5 * (i % 5)) for i in range(20)]
    probe = Probe("same_option", "same", "g", "both", "any")
    copies = [pair(200 + i, (5.0, 1.0), probe=probe) for i in range(15)]
    return [*pairs, *rankings, *scored, *copies]


def _verdicts(
    rng: np.random.Generator, questions: list[Question]
) -> Iterator[Verdict]:
    for question in questions:
        letters = "AB" if question.question_type == "pairwise" else "ABC"
        for order in ("AB", "BA") if len(letters) == 2 else ("AB",):
            value: Any = "".join(rng.permutation(list(letters))[: len(letters)])
            if len(letters) == 2:
                value = ("A", "B", "tie")[int(rng.integers(3))]
            if question.question_type == "scoring":
                value = float(rng.integers(0, 12))  # 11 is not on the scale
            status = STATUSES[int(rng.integers(len(STATUSES)))]
            criteria = {
                "error": KINDS[int(rng.integers(3))],
                "place": [0, 0, 9, 9],
            }
            yield said(question, value, order, status, criteria=criteria)


@pytest.fixture(params=[1, 2])
def home(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Two runs on questions of all types, with ties, failures, probes, and scores from
    1 to 5."""
    rng = np.random.default_rng(request.param)
    questions = _questions(rng)
    root = write_dataset(tmp_path / "ds", questions)
    meta = json.loads((root / "dataset.json").read_text())
    meta["options"] = {"score_range": [1, 5]}
    (root / "dataset.json").write_text(json.dumps(meta))
    rubric = rubric_of("reason").json()
    for name in ("one", "two"):
        places = rng.permutation(len(questions))[: int(0.8 * len(questions))]
        asked = [questions[place] for place in places.tolist()]
        write_run(
            tmp_path / "runs" / name,
            root,
            list(_verdicts(rng, asked)),
            parameters={"rubric": rubric},
        )
    return tmp_path


def _same(shelf: Shelf) -> None:
    """Compare all that the studio says of its runs with the report on the same
    journals."""
    analysis = analyse([place.root for place, _ in shelf.runs])
    study = load_study([place.root for place, _ in shelf.runs])
    outcomes = []
    task = next(one for one in shelf.facets() if one.name == "task")
    for k, (place, run) in enumerate(shelf.runs):
        judge = analysis.judges[k]
        totals = run.totals()
        unread = stored(analysis)[k]["unread"]
        assert (totals.verdicts, totals.failed) == (
            unread["n"],
            unread["failed"],
        )
        accuracy = judge[PAIRWISE].accuracy.share
        exact = judge[RANKINGS].exact
        near = judge[SCORES].within_one
        for kind, estimate in (
            ("pairwise", accuracy),
            ("ranking", exact),
            ("scoring", near),
        ):
            cells = [row.cells[k] for row in slices(shelf, task, kind).rows]
            number = sum(cell.verdicts for cell in cells)
            share = sum(cell.right for cell in cells) / number
            assert (share, number) == pytest.approx(
                (estimate.value, estimate.n), abs=1e-12
            ), kind
        outcomes.append(_outcomes(study.joined[k]))
        _, counts = shelf.counts(State((("type", ("pairwise",)),)))
        known = counts[f"outcome.{place.slug}"]
        del known["not asked"]
        assert known == Counter(outcomes[-1].values())
        (row, *_) = judge[RIGHT_REASON][-1:]
        _reasons_agree(shelf, place.slug, row)
    a, b = outcomes
    counts = matrix(
        shelf, *(place for place, _ in shelf.runs), [("type", "pairwise")]
    )
    assert counts.counts == Counter(
        (a[name], b[name]) for name in a.keys() & b.keys()
    )
    for row in slices(shelf, task, "pairwise").rows:
        for k, cell in enumerate(row.cells):
            pairs = study.joined[k].filter(
                kind="pairwise", task=dict(row.pairs)["task"]
            )
            assert (cell.right, cell.verdicts) == (
                pairs["right"].sum(),
                pairs.height,
            )


def _outcomes(table: pl.DataFrame) -> dict[str, str]:
    """The outcome of each pair, from the one table alone."""
    found = {}
    for (name,), rows in table.filter(kind="pairwise").group_by("id"):
        failed = rows.filter(
            ~pl.col("usable"), pl.col("status") != "cannot_tell"
        )
        read = rows.filter("usable")
        if failed.height:
            found[str(name)] = "failed"
        elif read.is_empty():
            found[str(name)] = "cannot tell"
        elif read["right"].all():
            found[str(name)] = "right"
        else:
            found[str(name)] = "mixed" if read["right"].any() else "wrong"
    return found


def _reasons_agree(shelf: Shelf, slug: str, row: Any) -> None:
    number = next(run.number for place, run in shelf.runs if place.slug == slug)
    ((both, n),) = shelf.study.all(
        "SELECT sum(right AND reason), count(*) FROM verdict JOIN question USING (row) "
        "WHERE run = ? AND reason IS NOT NULL AND NOT changed",
        number,
    )
    assert (both / n, n) == pytest.approx(
        (row.both.value, row.both.n), abs=1e-12
    )
    lucky = State(((f"reason.{slug}", ("right, wrong reason",)),))
    chosen = {
        row
        for (row,) in shelf.study.all(
            "SELECT row FROM verdict JOIN question USING (row) WHERE run = ? AND right "
            "AND NOT reason AND NOT changed",
            number,
        )
    }
    assert chosen and set(shelf.select(lucky)) == chosen


def test_the_studio_counts_what_the_report_counts(home: Path) -> None:
    site = Site(find_places([home]), home / "cache")
    _same(site.shelf(site.places.datasets[0].slug))


def test_the_studio_counts_what_the_report_counts_of_what_is_read(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset_index, "VERDICTS", 37)
    whole = {
        path: path.read_bytes() for path in home.glob("runs/*/verdicts.jsonl")
    }
    for path, content in whole.items():
        lines = content.splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:150]))
    site = Site(find_places([home]), home / "cache")
    _same(site.shelf(site.places.datasets[0].slug))
    for path, content in whole.items():
        path.write_bytes(content)
    _same(site.shelf(site.places.datasets[0].slug))


def test_failed_replies_are_listed_by_the_causes_that_the_report_counts(
    home: Path,
) -> None:
    site = Site(find_places([home]), home / "cache")
    client = TestClient(create_app(site), base_url="http://127.0.0.1:1")
    place, run = site.shelf(site.places.datasets[0].slug).runs[0]
    table = load_study([place.root]).joined[0]
    causes = Counter(
        table.filter(~pl.col("usable"))["cause"].cast(pl.String).to_list()
    )
    assert dict(run.totals().causes) == dict(causes)
    for cause, count in causes.items():
        page = client.get(f"/r/{place.slug}", params={"failed": cause}).text
        assert page.count('<article class="reply">') == min(count, MOST_REPLIES)
        rest = list(run.newest(cause, MOST_REPLIES, 1000))
        assert len(rest) == max(0, count - MOST_REPLIES)
