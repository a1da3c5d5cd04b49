"""Labels from a people's run that answer questions of several kinds: one kind is
chosen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import visualjudge as vj
from decided import World, choices_of, scores_of
from judged_records import said, write_dataset, write_run
from visualjudge.core.errors import DataError


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    world = World.of(30, 3, gap=1.0)
    pairs, scored = world.pair_questions(), world.scoring_questions()
    dataset = write_dataset(tmp_path / "ds", [*pairs, *scored])
    judge = write_run(
        tmp_path / "judge",
        dataset,
        [*choices_of(pairs, 0.8, 0), *scores_of(scored, 1.0)],
    )
    asked = [*pairs[::2], *scored[::2]]
    people = write_run(
        tmp_path / "people",
        dataset,
        [said(q, q.answer) for q in asked],
        backend="people",
    )
    journal = people / "verdicts.jsonl"
    lines = [
        {**json.loads(line), "purpose": "question", "rater": "anna"}
        for line in journal.read_text().splitlines()
    ]
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return judge, people


def test_several_kinds_are_named_with_the_option_that_chooses(
    runs: tuple[Path, Path],
) -> None:
    judge, people = runs
    for unfit in (None, "ranking"):
        with pytest.raises(
            DataError, match="got pairwise, scoring; choose one with `kind`"
        ):
            vj.correct(judge, people, kind=unfit)
    for kind, measure in (("pairwise", "win rate"), ("scoring", "mean score")):
        board = vj.correct(judge, people, kind=kind)
        assert (board.measure, board.labels, board.problems) == (
            measure,
            45,
            (),
        )
