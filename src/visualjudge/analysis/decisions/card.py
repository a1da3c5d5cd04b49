"""The card of a judge: may I rank my models with it, overall and by task, and what has it shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import polars as pl

from visualjudge.analysis.accuracy_cells import guessed, pairwise_asked
from visualjudge.analysis.analysing import PAIRED, Analysis, pairwise_figures
from visualjudge.analysis.answer import AnswerState
from visualjudge.analysis.bias import preference
from visualjudge.analysis.decisions.card_by_benchmark import BenchmarkRow, rows_of
from visualjudge.analysis.decisions.checks import LEAST_IMAGES, THRESHOLDS, Check, State, check
from visualjudge.analysis.decisions.may_rank_models import System, system
from visualjudge.analysis.decisions.model_answer import (
    Facts,
    ModelAnswer,
    model_answer,
)
from visualjudge.analysis.estimate import TAIL, shares, too_few
from visualjudge.analysis.figure_text import listed, many, percent, percents, with_ends
from visualjudge.analysis.figures import JudgeResult
from visualjudge.analysis.leaks import best_rule
from visualjudge.analysis.pairwise_figures import Pairwise
from visualjudge.analysis.statistics import (
    Calibration,
    ConformalRadius,
    calibration,
    conformal_radius,
)
from visualjudge.analysis.study_table import Remarks, Study, clusters_of
from visualjudge.analysis.value_and_interval import (
    NO_TRUTH,
    NOTHING,
    ORDER_UNKNOWN,
    UNANSWERED,
    Ends,
    Estimate,
)
from visualjudge.analysis.without_truth import in_both_orders

STATE_OF: Mapping[AnswerState, State] = {
    "yes": "pass",
    "in_part": "undecided",
    "no": "fail",
    "too_few": "undecided",
}
UNTOLD = "favour cannot be told from skill: too few images, or the truth always prefers the same"
RADIUS_ALPHA = 0.1


@dataclass(frozen=True, eq=False)
class Answer:
    """Whether a judge may rank the sources, by all its questions or those of one task."""

    judge: str
    models: ModelAnswer
    checks: tuple[Check, ...]
    system: System
    task: str = ""

    @property
    def state(self) -> State:
        """The answer as the state of a check, for colours and icons."""
        if self.models.state == "too_few" and not self.models.pairs:
            return "not_measured"
        return STATE_OF[self.models.state]

    @property
    def answer(self) -> str:
        """The answer in one sentence, with the judge's name."""
        return f"{self.judge}: {self.models.sentence}"

    def of(self, name: str) -> Check:
        """Return the check of this name."""
        return next(line for line in self.checks if line.name == name)


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgeCard(Answer):
    """One judge: its answer, also by task, its results, and how reliable its probabilities and
    scores are (None where it gives none).
    """

    tasks: tuple[Answer, ...]
    result: JudgeResult
    probabilities: Calibration | None
    score_radius: ConformalRadius | None

    @property
    def remarks(self) -> Remarks:
        """What is wrong with the run."""
        return Remarks(self.result.warnings, self.result.problems)


@dataclass(frozen=True, eq=False)
class Card:
    """The cards of all judges."""

    judges: tuple[JudgeCard, ...]
    benchmarks: tuple[BenchmarkRow, ...] = ()
    """One row per judge, benchmark and type of question, if the runs are on several datasets."""

    def _repr_html_(self) -> str:
        from visualjudge.analysis.decisions.card_page import html

        return html(self)

    def __str__(self) -> str:
        from visualjudge.analysis.decisions.card_page import text

        return text(self)


@lru_cache(maxsize=1)
def card_of(analysis: Analysis) -> Card:
    """Return the card of an existing analysis."""
    study, results = analysis.study, analysis.results.judges
    cards = tuple(_judge(study, run, result) for run, result in enumerate(results))
    return Card(cards, rows_of(study, range(len(results))))


def _judge(study: Study, run: int, result: JudgeResult) -> JudgeCard:
    place = next((row.estimate for row in result.bias if row.feature == "position"), NOTHING)
    whole = answer_of(study, run, result.pairwise, place, proven(result))
    names = [cell.name for cell in result.by_task]
    alone = (replace(whole, task=names[0]),) if len(names) == 1 else None
    return JudgeCard(
        whole.judge,
        whole.models,
        whole.checks,
        whole.system,
        tasks=alone or tuple(_task(study, run, name) for name in names),
        result=result,
        probabilities=_probabilities(study, run),
        score_radius=_radius(study, run),
    )


def _task(study: Study, run: int, task: str) -> Answer:
    """Return the answer from the questions of one task."""
    table = study.joined[run].filter(pl.col("task") == task)
    own = replace(study, runs=(replace(study.runs[run], answered=table),))
    pairs, unknown = own.kind(0, "pairwise", PAIRED), study.lacks_truth(run)
    pairwise = pairwise_figures(
        pairs,
        guessed(pairwise_asked(own, 0)),
        order_shown=study.runs[run].order_shown,
        truth=not unknown,
    )
    place = preference((in_both_orders(pairs) if unknown else pairs).filter("usable"), "position")
    return replace(answer_of(own, 0, pairwise, place.estimate), task=task)


def answer_of(
    study: Study,
    run: int,
    pairwise: Pairwise,
    place: Estimate,
    qualifiers: Sequence[str] = (),
) -> Answer:
    """Return the answer from the figures of pairs, the position bias ``place`` and the order of
    the sources; ``qualifiers`` are what else is proven.
    """
    ordered, order_shown = system(study, run), study.runs[run].order_shown
    constant = None
    if pairwise.constant is not None:
        constant = f"a constant answer is right in {percent(pairwise.constant)}"
    estimates = (
        ("macro_accuracy", pairwise.figures["macro"]),
        ("right_in_both_orders", pairwise.swap.right_in_both),
        ("lean", place),
    )
    lines = []
    for name, found in estimates:
        measured = _measured(found, pairwise, order_shown or name == "macro_accuracy")
        note = constant if name == "macro_accuracy" and measured.value is not None else None
        lines.append(check(name, measured, note or ""))
    checks = (*lines, _failed(study, run), _favour(ordered))
    facts = Facts(
        max(lines[0].images, ordered.images),
        LEAST_IMAGES,
        _accuracy(pairwise),
        ordered.why,
        _unskilled(pairwise),
    )
    models = model_answer(ordered.models, facts, (*_failing(checks), *qualifiers))
    return Answer(study.runs[run].name, models, checks, ordered)


def _measured(found: Estimate, pairwise: Pairwise, order_shown: bool) -> Estimate:
    """Return a figure of pairs, or why it was not measured."""
    if not pairwise.questions:
        return NOT_ASKED
    if not order_shown:
        return replace(NOT_ASKED, why=ORDER_UNKNOWN)
    if pairwise.accuracy.none:
        return Estimate(None, None, 0, pairwise.accuracy.share.images, UNANSWERED)
    if found.value is None or not found.n:
        return replace(NOT_ASKED, why=NO_TRUTH) if found.why == NO_TRUTH else NOT_ASKED
    return found


NOT_ASKED = Estimate(None, None, 0, 0, "was not asked")


def _accuracy(pairwise: Pairwise) -> str | None:
    share = pairwise.accuracy.shown
    if share.value is None or not share.n:
        return None
    interval = f" ({percents(share.interval)})" if share.interval else ""
    return f"{percent(share.value)}{interval} of {many(share.n, 'pair')}"


def _closed(ends: Ends | None) -> tuple[float, float] | None:
    """Return an interval that has two ends, or None."""
    if ends is None or ends[0] is None or ends[1] is None:
        return None
    return ends[0], ends[1]


def _unskilled(pairwise: Pairwise) -> str | None:
    """Say that the judge is proven to be no better than chance; or than a constant answer, where
    one would pass the check of accuracy. A reply that was not read is no wrong choice.
    """
    accuracy, ends = _accuracy(pairwise), _closed(pairwise.accuracy.parsed.interval)
    if accuracy is None or ends is None:
        return None
    least, than, constant = pairwise.chance, "chance", pairwise.constant
    required = THRESHOLDS["macro_accuracy"]
    if constant is not None and required.state((constant, constant)) == "pass":
        least, than = constant, f"a constant answer ({percent(constant)})"
    return (
        f"it is right in {accuracy}, which is no better than {than}" if ends[1] <= least else None
    )


FAILING = {
    "right_in_both_orders": "it is right in both orders in only {}",
    "lean": "its answers depend on the order of the options ({})",
    "failed": "{} of its replies cannot be used",
    "macro_accuracy": "its accuracy over tasks is only {}",
    "favour": "{why}",
}
"""What a check that fails adds to the answer."""


def _failing(checks: Sequence[Check]) -> list[str]:
    return [
        FAILING[line.name].format(line.shown, why=line.why)
        for line in checks
        if line.state == "fail"
    ]


def _failed(study: Study, run: int) -> Check:
    """Check the share of unusable replies, over all kinds of questions. Without failures, a note
    says how many images may fail as a whole.
    """
    table = study.joined[run]
    if table.is_empty():
        return check("failed", NOT_ASKED)
    image, failed = clusters_of(table), (~table["usable"]).cast(pl.Float64).to_numpy()
    top = np.bincount(image, weights=np.asarray(failed, dtype=float)).astype(float)
    found = shares(top, np.bincount(image).astype(float))
    images = int(found.images[0])
    may = percent(1 - TAIL ** (1 / images))
    note = f"no reply failed here, but all replies may fail on up to {may} of images"
    value = float(failed.mean())
    share = Estimate(value, found.interval(0), failed.size, images, found.why(0))
    return check("failed", share, "" if value else note)


def _favour(ordered: System) -> Check:
    """Check by how many ranks favouritism moves a source, if the favour is significant."""
    main = ordered.main
    if main is None or all(favour.p is None for favour in main.found.favours):
        unknown = f"each source is on {too_few()}" if main is None else UNTOLD
        return check("favour", replace(NOT_ASKED, why=ordered.why or unknown))
    value, ends, told = main.moved()
    ranks = Estimate(value, ends, main.found.pairs, main.found.images)
    note = told.removeprefix("none shown").lstrip("; ")
    return check("favour", ranks, note, tested=True)


def _probabilities(study: Study, run: int) -> Calibration | None:
    """Return how well stated probabilities match the share of right answers."""
    told = study.kind(run, "pairwise", ("probability_a", "answer", "cluster")).filter(
        pl.col("probability_a").is_between(0, 1) & pl.col("answer").is_in(["A", "B"])
    )
    if told.is_empty():
        return None
    happened = (told["answer"] == "A").cast(pl.Float64).to_numpy()
    return calibration(
        told["probability_a"].to_numpy(), happened, told["cluster"].to_numpy(), seed=study.seed
    )


def _radius(study: Study, run: int) -> ConformalRadius | None:
    """Return the largest distance of a new image's score from the truth, in nine of ten cases."""
    scored = study.kind(run, "scoring", ("usable", "number", "truth", "cluster")).filter(
        pl.col("usable") & pl.col("truth").is_not_null()
    )
    if scored.is_empty():
        return None
    residuals = np.asarray((scored["number"] - scored["truth"]).to_numpy(), dtype=float)
    return conformal_radius(residuals, RADIUS_ALPHA, scored["cluster"].to_numpy())


def proven(result: JudgeResult) -> list[str]:
    """Return what probes prove about a judge, as qualifications of its answer."""
    told = []
    if result.photograph and result.photograph[0].state == "not_needed":
        told.append("it does not need the photograph")
    failed = [row.name for row in result.probes if row.state == "fail"]
    if failed:
        told.append(f"it fails {listed([f'the probe “{name}”' for name in failed], 2)}")
    return told


def gamed(analysis: Analysis) -> str:
    """That a rule which never looks at the image reaches the accuracy that a judge must show; empty
    where none does.
    """
    best = best_rule(row for row in analysis.results.leaks if row.scope == "all" and row.flagged)
    if best is None or (best.share.value or 0.0) < THRESHOLDS["macro_accuracy"].value:
        return ""
    return (
        f"These questions can be gamed: “{best.rule}” is right in "
        f"{with_ends(best.share)} of the {best.share.n:,} questions that it can "
        f"decide, without using the image. A similar accuracy of a judge does not "
        f"show that the judge uses the image."
    )
