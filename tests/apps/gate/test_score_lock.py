"""A lock of scoring questions holds for the same scores, and finds a judge that became
worse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from commanding import command
from judged_records import pair, said, scoring, write_dataset, write_run
from visualjudge.apps.gate.score_lock import compared_scores, read_lock
from visualjudge.core.errors import DataError
from visualjudge.core.records import Question
from visualjudge.core.seeding import rng_for


def asked(images: int = 40) -> list[Question]:
    rng = rng_for(0, "scores")
    truth = rng.uniform(0, 10, 2 * images).round(2).tolist()
    return [scoring(k, t, image_id=f"i{k // 2}") for k, t in enumerate(truth)]


def run_of(root: Path, name: str, noise: float) -> Path:
    questions, rng = asked(), rng_for(1, name)
    dataset = root / "ds"
    if not dataset.exists():
        write_dataset(dataset, questions)
    scores = [
        np.clip(float(q.answer) + rng.normal(0, noise), 0, 10)
        for q in questions
    ]
    told = [
        said(q, round(float(s), 1))
        for q, s in zip(questions, scores, strict=True)
    ]
    return write_run(root / name, dataset, told, judge="gpt")


def test_scores_are_locked_and_a_worse_judge_breaks_the_gate(
    tmp_path: Path,
) -> None:
    before = run_of(tmp_path, "before", 0.5)
    lock = tmp_path / "judge.lock"
    written = command("gate", "write", before, "--out", lock)
    assert written.returncode == 0 and "80 scores" in written.stdout
    summary = tmp_path / "gate.md"
    same = command(
        "gate", "check", before, "--lock", lock, "--summary", summary
    )
    assert (
        same.returncode == 0 and "no question has another score" in same.stdout
    )
    assert "80 scores" in summary.read_text()
    again = run_of(tmp_path, "again", 0.5)
    assert command("gate", "check", again, "--lock", lock).returncode == 0
    worse = command(
        "gate", "check", run_of(tmp_path, "worse", 4.0), "--lock", lock
    )
    assert worse.returncode == 1 and "rank correlation" in worse.stdout
    pairs = [pair(k, (8.0, 2.0)) for k in range(12)]
    write_dataset(tmp_path / "pairs", pairs)
    of_pairs = write_run(
        tmp_path / "of_pairs",
        tmp_path / "pairs",
        [said(question, "A") for question in pairs],
        judge="gpt",
    )
    other = command("gate", "check", of_pairs, "--lock", lock)
    assert other.returncode == 4 and "had 80 questions, has 0" in other.stdout
    fewer = lock.read_text().replace("number: 80", "number: 79")
    lock.write_text(fewer)
    with pytest.raises(DataError, match="edited or merged since"):
        read_lock(lock)


@pytest.mark.parametrize("noise", [0.7, 2.0])
def test_an_unchanged_judge_rarely_breaks_and_a_worse_one_mostly(
    noise: float,
) -> None:
    rng = rng_for(2, "unchanged")

    def state(loss: float) -> str:
        images = np.repeat(np.arange(60), 2)
        truth = rng.uniform(0, 10, 120)
        hard = rng.gamma(4, 0.25, 60)[images]
        before = np.clip(truth + hard * rng.normal(0, noise, 120), 0, 10)
        now = np.clip(truth + hard * rng.normal(0, noise + loss, 120), 0, 10)
        rows = {"image": [f"i{k}" for k in images], "truth": truth}
        return compared_scores(
            pl.DataFrame({**rows, "before": before, "score": now}), 0.1
        ).state

    assert sum(state(0.0) == "broken" for _ in range(100)) <= 4
    assert sum(state(3.0) == "broken" for _ in range(40)) >= 36


def test_scores_that_are_all_alike_have_no_correlation_and_every_image_counts() -> (
    None
):
    truth = np.arange(500) % 11.0
    table = pl.DataFrame(
        {
            "image": [f"i{k // 2}" for k in range(500)],
            "truth": truth,
            "before": truth,
            "score": np.full(500, 5.0),
        }
    )
    check = compared_scores(table, 0.1)
    assert check.state == "broken" and "nan" not in " ".join(check.reasons)
    assert "on 500 questions" in check.reasons[0]
