"""Looks at a run: wrong in at most 5 % however many, and calls saved where the truth is clear."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import visualjudge as vj
from frontdoor_example import write_data
from judged_records import pair, said
from visualjudge.analysis.statistics.eprocess import log_wealth, signs
from visualjudge.apps.planning.stop_when_decided import Watch, decide, in_random_order
from visualjudge.core.errors import UsageError
from visualjudge.core.records import Verdict
from visualjudge.core.seeding import rng_for
from visualjudge.dataset.folder import Dataset
from visualjudge.judges.base import Ask, Judged, OfflineJudge
from visualjudge.runs.job_runner import run_until_stopped

LOOKS = np.linspace(8, 300, 50).astype(int)


def first_decision(
    values: np.ndarray, reach: tuple[float, float], alpha: float = 0.05
) -> int | None:
    """The first of 50 looks at which all means have a sign."""
    return next((int(n) for n in LOOKS if signs(values[:n], reach, alpha).all()), None)


def test_a_share_at_the_threshold_is_seldom_decided_in_50_looks() -> None:
    rng = rng_for(0, "null")
    wrong = 0
    for _ in range(400):
        chance = np.where(
            rng.random(300) < 0.25, 0.45, 0.85
        )  # images that fail together; .75 on average
        right = rng.binomial(6, chance)
        wrong += first_decision((right - 4.5)[:, None], (-4.5, 1.5)) is not None
    assert wrong / 400 <= 0.05


def test_equal_sources_are_seldom_ranked_in_50_looks() -> None:
    rng = rng_for(1, "null")
    wrong = 0
    for _ in range(400):
        gap = rng.integers(-2, 3, (300, 1)) / 2
        wrong += first_decision(gap, (-1.0, 1.0)) is not None
    assert wrong / 400 <= 0.05


def test_a_clear_truth_saves_calls() -> None:
    rng = rng_for(2, "clear")
    found = [
        first_decision((rng.binomial(6, 0.85, 300) - 4.5)[:, None], (-4.5, 1.5)) for _ in range(50)
    ]
    saved = [0.0 if n is None else 1 - n / 300 for n in found]
    assert np.mean(saved) >= 0.3


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=40))
def test_wealth_never_falls_and_follows_its_definition(values: list[float]) -> None:
    z = np.array(values)[:, None]
    found = log_wealth(z, -1.0)
    assert (np.diff(found, axis=0) >= 0).all() and (found >= 0).all()
    wealth, best = 0.0, 0.0
    for t in range(z.size):
        before = z[:t, 0]
        mean = before.sum() / (t + 1)
        spread = (0.25 + max(0.0, (before**2).sum() - t * mean**2)) / (t + 1)
        wealth += np.log1p(np.clip(mean / (spread + mean**2), 0, 0.75) * z[t, 0])
        best = max(best, wealth)
        assert found[t, 0] == pytest.approx(best, abs=1e-9)


def test_a_value_below_the_least_is_refused() -> None:
    with pytest.raises(ValueError, match="lowest"):
        log_wealth(np.array([[-2.0]]), -1.0)


def questions(images: int) -> list[Any]:
    """Three sources on each image: a is best, c worst."""
    out = []
    for g in range(images):
        for k, (one, other) in enumerate((("a", "b"), ("a", "c"), ("b", "c"))):
            out.append(pair(10 * g + k, (9.0, 1.0), image_id=f"image{g}", sources=(one, other)))
    return out


def test_a_judge_that_is_always_right_is_decided_and_the_order_is_told() -> None:
    asked = questions(60)
    verdicts = {(q.id, "AB", 0): said(q, "A") for q in asked}
    rank = decide(asked, verdicts, "rank decided", swap=False, repeats=1)
    right = decide(asked, verdicts, "right decided", swap=False, repeats=1)
    assert rank is not None and rank.said == "rank decided: a > b > c"
    assert right is not None and "above 0.75" in right.said
    assert decide(asked, {}, "rank decided", swap=False, repeats=1) is None


def test_a_look_takes_complete_images_up_to_the_first_that_is_not() -> None:
    asked = questions(60)
    verdicts = {(q.id, "AB", 0): said(q, "A") for q in asked}
    del verdicts[asked[7].id, "AB", 0]  # of the third image
    assert decide(asked, verdicts, "right decided", swap=False, repeats=1) is None


@dataclass
class Slow(OfflineJudge):
    """Right always, and not at once."""

    simulated: bool = True

    async def __call__(self, ask: Ask) -> Judged:
        await asyncio.sleep(0.004)
        value = ask.question.answer
        return Judged(
            Verdict(ask.question.id, ask.order, value, "ok", str(value), repeat=ask.repeat)
        )

    def describe(self) -> Mapping[str, Any]:
        return {"backend": "own", "base_url": None, "model": "slow", "parameters": {}}


def test_a_run_stops_when_it_is_decided(tmp_path: Path) -> None:
    write_data(tmp_path / "data")
    built = vj.build(tmp_path / "data", tmp_path / "dataset", subsets=["judge_analysis"])
    many = [pair(k, (9.0, 1.0), image_id=f"image{k}", images=built[0].images) for k in range(600)]
    ordered = in_random_order(Dataset(built.root, tuple(many), built.meta, built.digest))
    assert [q.id for q in ordered] != [q.id for q in many]
    watch = Watch(ordered, tmp_path / "run", "right decided", 20, False, 1)

    async def calls(**beside: Any) -> vj.Run:
        return await vj.judge_async(ordered, Slow(), tmp_path / "run", concurrency=4, **beside)

    run = run_until_stopped(lambda stop: watch.around(calls)(on_event=lambda _: None, stop=stop))
    assert watch.decision is not None and "above 0.75" in watch.decision.said
    assert run.report is not None and run.report.progress.stopped == watch.decision.said
    assert 0 < len(run) < 420, "30 % of the calls are saved"


def test_questions_of_several_tasks_and_unknown_goals_are_refused(tmp_path: Path) -> None:
    two = (pair(0, (9.0, 1.0)), pair(1, (9.0, 1.0), task="keypoint"))
    with pytest.raises(UsageError, match="of one task"):
        in_random_order(Dataset(tmp_path, two, {}))
    with pytest.raises(UsageError, match="--until must be one of"):
        Watch(Dataset(tmp_path, two[:1], {}), tmp_path, "fame decided", 1, False, 1)  # type: ignore[arg-type]
