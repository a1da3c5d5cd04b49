"""Detect whether a judge has changed, from a small set of questions that is asked again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from visualjudge.analysis import figure_text
from visualjudge.analysis.accuracy_cells import estimate_of, image_sums
from visualjudge.analysis.load import load_study
from visualjudge.analysis.statistics.eprocess import e_process, power
from visualjudge.analysis.statistics.share_intervals import gap_ends
from visualjudge.analysis.study_table import Run, remarks_on
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.apps.probes.sampling import in_turn
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.object_stores import located
from visualjudge.core.records import Question
from visualjudge.core.seeding import seed_for
from visualjudge.dataset.folder import MEDIA, load_dataset
from visualjudge.dataset.predictions_file import PREDICTIONS
from visualjudge.dataset.question_filter import margin
from visualjudge.dataset.staging import check_target, staged
from visualjudge.dataset.write_dataset import write_dataset
from visualjudge.runs.asks import changes

LEVEL = 0.05
"""Probability of a false alarm, over all looks together."""
DROP, LATER = 0.05, 3
"""The change for which power is stated, and the number of further runs."""
JUDGE, QUESTIONS = ("backend", "model"), {"questions.json", "media"}
"""Fields that show that two runs are of different judges or datasets."""
QUANTILE = 1 / 3
"""Quantile of the task's margins near which pairs are chosen: smaller margins are noise, and larger
ones easy for any judge.
"""


@dataclass(frozen=True, slots=True)
class Power:
    """Probability of an alarm within 1, 2 … further runs, if accuracy falls by ``drop``."""

    drop: float
    runs: tuple[float, ...]

    def __str__(self) -> str:
        shares = ", ".join(figure_text.percent(share, 0) for share in self.runs)
        return (
            f"a drop of {100 * self.drop:g} points would be noticed within 1 to {len(self.runs)} "
            f"runs with {shares}"
        )


@dataclass(frozen=True, slots=True)
class Drift:
    """Result for runs on the same questions; ``change`` is the last run's accuracy less the
    first's.

    ``e_value`` is the evidence after the last look, and ``looks`` after each one; ``drift`` means
    at least 1/0.05 = 20.
    """

    state: Literal["drift", "not_shown"]
    e_value: float
    change: Estimate
    looks: tuple[float, ...]
    power: Power
    warnings: tuple[str, ...] = ()
    """Runs that are unfinished, or have other settings than the first."""

    def to_json(self) -> dict[str, Any]:
        """Return the result for JSON."""
        return {
            "state": self.state,
            "e_value": self.e_value,
            "alarm_from": 1 / LEVEL,
            "change": self.change.value,
            "ci95": self.change.interval,
            "n": self.change.n,
            "images": self.change.images,
            "looks": list(self.looks),
            "power": {"drop": self.power.drop, "next_runs": list(self.power.runs)},
            "warnings": list(self.warnings),
        }


def build_canary(
    dataset: str | Path, out: str | Path, *, number: int = 60, seed: int = 42, force: bool = False
) -> int:
    """Write the pairs of a dataset that are most sensitive to a change as a dataset at ``out``;
    return their number.

    Raises
    ------
    UsageError
        If ``dataset`` is not a dataset, ``number`` is below 1, or ``out`` exists.
    DataError
        If the dataset has no pairwise question.
    """
    if number < 1:
        raise UsageError(f"--n must be at least 1, got {number}")
    whole = load_dataset(dataset)
    target = located(out)
    check_target(target, force)
    chosen = _canary(
        [q for q in whole.questions if q.question_type == "pairwise" and q.probe is None],
        number,
        seed,
    )
    if not chosen:
        raise DataError(f"{dataset}: must hold pairwise questions")
    with staged(target) as stage:
        (stage / MEDIA).mkdir()
        shown = [PREDICTIONS] if (whole.root / PREDICTIONS).exists() else []
        for path in {*shown, *(path for question in chosen for path in question.images)}:
            (stage / path).parent.mkdir(parents=True, exist_ok=True)
            (stage / path).write_bytes(whole.image(path).read_bytes())
        kept = {name: whole.meta[name] for name in ("prompts", "own_prompts") if name in whole.meta}
        write_dataset(stage, chosen, {"seed": seed, "options": {"canary": number}, **kept})
    return len(chosen)


def _canary(questions: Sequence[Question], number: int, seed: int) -> list[Question]:
    """Choose questions, alternating between tasks; within a task, unused images come first, then
    margins close to the quantile.
    """
    tasks: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        tasks[question.task].append(question)
    ordered = [
        question for _, found in sorted(tasks.items()) for question in _noticing(found, seed)
    ]
    return in_turn(ordered, lambda question: question.task)[:number]


def _noticing(questions: Sequence[Question], seed: int) -> list[Question]:
    margins = {q.id: margin(q) or 0.0 for q in questions}
    goal = float(np.quantile(list(margins.values()), QUANTILE))
    near = sorted(
        questions, key=lambda q: (abs(margins[q.id] - goal), seed_for(seed, "canary", q.id))
    )
    return in_turn(near, lambda question: question.image_id)


def canary_power(questions: int) -> Power:
    """Return the power of ``questions`` asked in both orders, twice before the change, for a judge
    that repeats its replies.
    """
    return Power(DROP, tuple(power(np.ones((2 * questions, 2)), DROP, LATER, LEVEL)))


def check_drift(
    before: str | Path, now: Sequence[str | Path], *, dataset: str | Path | None = None
) -> Drift:
    """Test whether the judge changed at one of the runs of ``now``, which are in chronological
    order.

    Name all runs since ``before`` at each look: the probability of a false alarm holds for all of
    them together. Questions without a reply (``api_error``) in a run are ignored for this run.

    Raises
    ------
    UsageError
        If ``now`` names no run or names one twice, if the runs are of two judges or two datasets,
        or if the dataset has changed since.
    DataError
        If a run cannot be read, has no reply in common with ``before``, or answered questions
        without known answers.
    """
    if not now:
        raise UsageError("drift check needs RUN_BEFORE and at least one RUN_NOW")
    study = load_study([before, *now], dataset=dataset)
    warnings = _comparable(study.runs)
    study.require_truth("a change is measured")
    asked = _side_by_side([_scored(table) for table in study.answered])
    scores = asked.drop("id", "order", "cluster").to_numpy().astype(float)
    for column, path in enumerate(now, 1):
        if not np.isfinite(scores[:, [0, column]]).all(axis=1).any():
            raise DataError(f"{path}: has no reply in common with {before}")
    evidence = tuple(e_process(scores))
    state: Literal["drift", "not_shown"] = "drift" if evidence[-1] >= 1 / LEVEL else "not_shown"
    changes = asked.select(
        "cluster", x=pl.Series(scores[:, -1] - scores[:, 0], nan_to_null=True)
    ).drop_nulls("x")
    later = Power(DROP, tuple(power(scores, DROP, LATER, LEVEL)))
    return Drift(state, evidence[-1], _mean(changes), evidence, later, warnings)


def _comparable(runs: Sequence[Run]) -> tuple[str, ...]:
    """Check that all runs are of one judge with the same questions, and return what is unfinished
    or differs.
    """
    remarks, first = remarks_on(runs), runs[0]
    if remarks.problems:
        raise UsageError(f"{remarks.problems[0]}: no change of the judge can be detected")
    warnings = list(remarks.warnings)
    for run in runs[1:]:
        found = {
            change.name: change
            for change in changes(first.info, run.info)
            if change.was is not None
        }
        for name in found.keys() & QUESTIONS:
            raise UsageError(
                f"{run.folder}: must be on the same dataset as {first.folder}, got another {name}"
            )
        judge = [str(found[name]) for name in JUDGE if name in found]
        if judge:
            raise UsageError(
                f"{run.folder}: must have the same judge as {first.folder}: {'; '.join(judge)}; "
                "visualjudge report compares judges"
            )
        if found:
            warnings.append(
                f"{run.folder}: other settings than {first.folder}: "
                f"{'; '.join(map(str, found.values()))}"
            )
    return tuple(warnings)


def _side_by_side(runs: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return one row per question and order, and one column per run."""
    keys = ["id", "order", "cluster"]
    named = [table.rename({"score": f"run{k}"}) for k, table in enumerate(runs)]
    return reduce(lambda a, b: a.join(b, on=keys, how="full", coalesce=True), named).sort(
        "id", "order"
    )


def _scored(table: pl.DataFrame) -> pl.DataFrame:
    """Return the correctness of each question in each order, 0..1, averaged over repeats; an unread
    reply is 0.
    """
    distance = 1 - (pl.col("number") - pl.col("truth")).abs() / 10
    same = (pl.col("text") == pl.col("answer")).cast(pl.Float64)
    right = pl.when(pl.col("kind") == "scoring").then(distance).otherwise(same)
    score = pl.when(pl.col("parsed")).then(right).otherwise(0.0)
    replied = table.filter(pl.col("status") != "api_error")
    return replied.group_by("id", "order", "cluster").agg(score=score.mean())


def _mean(changes: pl.DataFrame) -> Estimate:
    sums = image_sums(
        changes, [], {"x": pl.col("x"), "n": pl.col("x").is_not_null(), "apart": pl.col("x") != 0}
    )
    value, found = sums.ratio("x", "n")
    return estimate_of(
        value, found, gap_ends(value, found, sums.total("apart"), sums.total("n")), changes.height
    )
