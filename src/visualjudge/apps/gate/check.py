"""Check a judge against a lock: is it the same, and is it as accurate? Gates of scores
are compared in ``score_lock.py``.

The accuracy is compared question by question, with images as the unit: the gate is
broken if the judge is worse beyond chance (one-sided, 1.5 %) by more than half of the
tolerance, and holds if a loss of the tolerance is excluded (one-sided, 95 %): by Korn
and Graubard's bounds of the shares of lost and of gained answers (Newcombe 1998, Zou &
Donner 2008), or if no answer to any question is lost. Canaries of more questions hold
only if they exclude it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import polars as pl

from visualjudge import __version__
from visualjudge.analysis.estimate import (
    difference_ends,
    gap_ends,
    ratio,
    shares,
)
from visualjudge.analysis.results import Analysis
from visualjudge.apps.gate.lock import (
    Asked,
    Lock,
    Locked,
    counted,
    identity_of,
    questions_of,
)
from visualjudge.core.errors import DataError
from visualjudge.core.jsons import Fields
from visualjudge.dataset.folder import Dataset
from visualjudge.runs.folder import RunFolder
from visualjudge.runs.settings_changes import differences

State = Literal["holds", "broken", "can't tell", "stale"]
STATUS: dict[State, int] = {
    "holds": 0,
    "broken": 1,
    "can't tell": 3,
    "stale": 4,
}
WORSE = 0.015
EXCLUDED = 0.05
LEAST_IMAGES = 10
"""Images from which on the gate holds."""
QUESTIONS = {
    "prompts": "the wording of the prompts",
    "encodings": "the encodings",
    "labels": "the right answers",
    "content": "the questions' images and options",
}


@dataclass(frozen=True)
class Check:
    """The outcome: ``reasons`` in sentences, and the change of the share of right
    answers with its one-sided ends, if it was measured.
    """

    state: State
    reasons: tuple[str, ...]
    change: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def status(self) -> int:
        """The exit status."""
        return STATUS[self.state]


def changes(
    lock: Locked, judge: Fields, questions: Asked | None = None
) -> Iterator[str]:
    """Yield what differs from the lock, in sentences; ``questions`` None: not looked
    at."""
    if lock.tool != __version__:
        yield f"the tool was visualjudge {lock.tool}, is {__version__}"
    yield from map(str, differences(lock.judge, judge))
    if questions is None:
        return
    if lock.questions.number != questions.number:
        yield (
            f"the dataset had {lock.questions.number} questions, has "
            f"{questions.number}"
        )
        return
    for name, text in QUESTIONS.items():
        if getattr(lock.questions, name) != getattr(questions, name):
            yield f"{text} changed"


def not_comparable(
    lock: Locked,
    asks: int,
    analysis: Analysis,
    dataset: Dataset,
    table: pl.DataFrame,
) -> Check | None:
    """Return why the first run of an analysis cannot be compared with a lock of
    ``asks`` replies a question; None if it can. ``table`` has its questions' ``id`` and
    number of replies ``asks``.
    """
    run = analysis.study.runs[0]
    if run.folder is None:
        raise DataError("the run must have a folder")
    questions = None if run.unfinished else questions_of(dataset, table["id"])
    if stale := tuple(
        changes(lock, identity_of(RunFolder(run.folder)), questions)
    ):
        return Check("stale", stale)
    others = table.filter(pl.col("asks") != asks).height
    if not others and not run.unfinished:
        return None
    return Check(
        "can't tell",
        (
            run.unfinished
            or f"{run.folder}: {others} questions do not have {asks} verdicts "
            "each",
        ),
    )


def check_run(
    lock: Lock, analysis: Analysis, dataset: Dataset, tolerance: float
) -> Check:
    """Check a finished run of all questions of the lock."""
    from visualjudge.analysis.report.card import card_of

    table = counted(analysis)
    if cause := not_comparable(lock, lock.asks, analysis, dataset, table):
        return cause
    check = compared(
        table.with_columns(
            pl.Series("before", [int(digit) for digit in lock.right])
        ),
        lock.asks,
        tolerance,
    )
    # locks of 1.1 have the word in small letters
    if (
        lock.answer.lower() == "yes"
        and card_of(analysis).judges[0].models.state == "no"
    ):
        check = replace(
            check,
            state="broken",
            reasons=(
                "the answer was yes, and is no: models may not be ranked with it",
                *check.reasons,
            ),
        )
    return unless_calls_failed(analysis, check)


def check_canaries(lock: Lock, analysis: Analysis, tolerance: float) -> Check:
    """Check a run of the canaries alone."""
    run = analysis.study.runs[0]
    table = counted(analysis)
    if run.folder is not None and (
        stale := tuple(changes(lock, identity_of(RunFolder(run.folder))))
    ):
        return Check("stale", stale)
    before = {row.id: row.answers.count(row.right) for row in lock.canaries}
    return unless_calls_failed(
        analysis,
        compared(
            table.with_columns(
                pl.Series("before", [before[name] for name in table["id"]])
            ),
            lock.asks,
            tolerance,
            lock.questions.number,
        ),
    )


def unless_calls_failed(analysis: Analysis, check: Check) -> Check:
    """Return the check; if it is broken and calls of the first run failed, that one
    cannot tell: what the judge would have answered is not known."""
    failed = analysis.study.runs[0].answered["status"].eq("api_error").sum()
    if check.state != "broken" or not failed:
        return check
    return replace(
        check,
        state="can't tell",
        reasons=(f"{failed} calls failed and count as wrong", *check.reasons),
    )


def compared(
    table: pl.DataFrame, asks: int, tolerance: float, of: int | None = None
) -> Check:
    """Compare right answers ``before`` and now (``right``), question by question, by
    image. If they are canaries, ``of`` is the number of all questions."""
    noun = "questions" if of is None else f"canaries of {of} questions"
    gain = (pl.col("right") - pl.col("before")) / asks
    sums = (
        table.group_by("image")
        .agg(
            gained=gain.clip(0).sum(),
            lost=(-gain).clip(0).sum(),
            apart=(gain**2).sum(),
            n=pl.len(),
        )
        .sort("image")
    )
    gained, lost, apart, cases = sums.drop("image").to_numpy().T
    value, spread = ratio(gained - lost, cases)
    change = float(value[0])
    n = cases.sum(keepdims=True)
    best = gap_ends(value, spread, apart.sum(keepdims=True), n, WORSE)[1][0]
    more_right, fewer_right = (
        shares(part, cases, graded=asks > 1, tail=EXCLUDED)
        for part in (gained, lost)
    )
    worst = difference_ends(
        more_right,
        fewer_right,
        ratio(gained, cases)[1].variance,
        ratio(lost, cases)[1].variance,
        spread.variance,
    )[0][0]
    about = f"right answers changed by {100 * change:+.1f} points on {table.height} {noun}"
    loss = f"a loss of {100 * tolerance:g} points"
    figures = (change, float(worst), float(best))
    if best < 0 and change < -tolerance / 2:
        return Check("broken", (f"{about}, beyond chance",), *figures)
    excluded = worst > -tolerance
    certain = of in (None, table.height) and not lost.any()
    if sums.height >= LEAST_IMAGES and (excluded or certain):
        why = (
            f"{loss} is excluded"
            if excluded
            else "no question has fewer, but so few images exclude only a loss of more "
            f"than {-100 * worst:.0f} points"
        )
        reasons = [f"{about}; {why}"]
        if worst > 0 and change > tolerance:
            reasons.append(
                "so large a gain is improbable of the same judge: see whether the lock "
                "is of it"
            )
        return Check("holds", tuple(reasons), *figures)
    why = f"{loss} cannot be excluded"
    if change > -tolerance:
        # the width shrinks with the root of the images
        times = ((change - worst) / (change + tolerance)) ** 2
        why += f"; about {sums.height * times:,.0f} images may exclude it"
    return Check("can't tell", (f"{about}; {why}",), *figures)
