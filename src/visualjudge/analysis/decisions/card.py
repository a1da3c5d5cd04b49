"""The card of a judge: may I rank my models with it, overall and by task, and what has it shown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from visualjudge.analysis import figure_text
from visualjudge.analysis.accuracy_cells import guessed, pairwise_asked
from visualjudge.analysis.analysing import PAIRED, Analysis, pairwise_figures
from visualjudge.analysis.answer import AnswerState
from visualjudge.analysis.bias import preference, with_swap
from visualjudge.analysis.decisions.against_people import omega
from visualjudge.analysis.decisions.card_by_benchmark import BenchmarkRow, rows_of
from visualjudge.analysis.decisions.check_figures import shown_value
from visualjudge.analysis.decisions.checks import (
    MOST_TIMES,
    NO_ORDER,
    NO_PEOPLE,
    NOT_ASKED,
    POWER,
    WITHOUT_TRUTH,
    Check,
    Evidence,
    State,
    Threshold,
    Thresholds,
    check,
    read_thresholds,
)
from visualjudge.analysis.decisions.may_rank_models import System, system, systems
from visualjudge.analysis.decisions.model_answer import (
    Facts,
    ModelAnswer,
    accuracy_words,
    model_answer,
)
from visualjudge.analysis.estimate import LEAST_IMAGES, TAIL, shares, too_few
from visualjudge.analysis.figures import JudgeResult, OwnScore, PhotographNeed
from visualjudge.analysis.pairwise_figures import Pairwise
from visualjudge.analysis.statistics import (
    Calibration,
    ConformalRadius,
    calibration,
    conformal_radius,
)
from visualjudge.analysis.statistics.systems import SystemAgreement
from visualjudge.analysis.study_table import NO_REMARKS, Remarks, Study, clusters_of
from visualjudge.analysis.value_and_interval import NO_TRUTH, UNANSWERED, Ends, Estimate
from visualjudge.analysis.without_truth import in_both_orders

STATE_OF: Mapping[AnswerState, State] = {
    "yes": "pass",
    "in_part": "undecided",
    "no": "fail",
    "too_few": "undecided",
}
UNTOLD = "favour cannot be told from skill: too few images, or the truth always prefers the same"
BISECTIONS = 7
"""Halvings of the range of a number of images, which leave it within 4 %."""


Interval = tuple[float, float]
Verdict = Literal["yes", "no", "unclear"]

RADIUS_ALPHA = 0.1


@dataclass(frozen=True, eq=False)
class Answer:
    """Whether a judge may rank the sources, by ``checks`` of all its questions or of one
    task.
    """

    judge: str
    checks: tuple[Check, ...]
    system: System
    models: ModelAnswer

    @property
    def state(self) -> State:
        """The answer as the state of a check, as in 1.0."""
        if self.models.state == "too_few" and not self.models.pairs:
            return "not_measured"
        return STATE_OF[self.models.state]

    @property
    def verdict(self) -> Verdict:
        """The state as one word, as in 1.0."""
        return {"pass": "yes", "fail": "no"}.get(self.state, "unclear")  # type: ignore[return-value]

    @property
    def needs_images(self) -> int | None:
        """The largest number of further images that would probably settle the answer."""
        needed = self.models.needs_images
        return None if needed is None else needed[1]

    @property
    def answer(self) -> str:
        """The answer in one sentence, with the judge's name."""
        return f"{self.judge}: {self.models.sentence}"


@dataclass(frozen=True, eq=False)
class TaskCard(Answer):
    """The answer for one task."""

    task: str = ""


@dataclass(frozen=True, eq=False)
class JudgeCard(Answer):
    """One judge: its checks, its system card, and how reliable its probabilities and scores are."""

    simulated: bool = False
    probabilities: Calibration | None = None
    score_radius: ConformalRadius | None = None
    own_scores: tuple[OwnScore, ...] = ()
    expected: int | None = None
    missing: int | None = None
    """Number of verdicts in the finished run, and of those that are missing; None if unknown."""
    remarks: Remarks = NO_REMARKS
    tasks: tuple[TaskCard, ...] = ()
    """The answer for each task of the questions."""
    photograph: PhotographNeed | None = None
    """Accuracy gained by seeing the photograph; None if the judge was never asked without it."""


@dataclass(frozen=True, eq=False)
class Card:
    """The cards of all judges, and the thresholds applied."""

    judges: tuple[JudgeCard, ...]
    thresholds: Thresholds
    benchmarks: tuple[BenchmarkRow, ...] = ()
    """One row per judge, benchmark and type of question, if the runs are on several datasets."""

    def _repr_html_(self) -> str:
        from visualjudge.analysis.decisions.card_page import body

        return body(self)

    def __str__(self) -> str:
        from visualjudge.analysis.decisions.card_page import text

        return text(self)


def card_of(
    analysis: Analysis,
    rules: Thresholds | None = None,
    *,
    people: Sequence[str | Path] = (),
    epsilon: float = 0.2,
) -> Card:
    """Return the card of an existing analysis."""
    held = rules or read_thresholds()
    study, results = analysis.study, analysis.results.judges
    ordered = systems(study, range(len(results)), held.families)
    cards = tuple(
        _judge(study, i, result, held, people, epsilon, ordered[i])
        for i, result in enumerate(results)
    )
    return Card(cards, held, rows_of(study, range(len(results))))


@lru_cache(maxsize=1)
def usual_card(analysis: Analysis) -> Card:
    """Return the card with the package's thresholds, as in the report and metrics.json."""
    return card_of(analysis)


def _judge(
    study: Study,
    run: int,
    result: JudgeResult,
    rules: Thresholds,
    people: Sequence[str | Path],
    epsilon: float,
    ordered: System,
) -> JudgeCard:
    whole = answer_of(
        study,
        run,
        shown_of(result),
        rules,
        omega(study, run, people, epsilon) if people else NO_PEOPLE,
        ordered,
        proven(result),
    )
    names = [cell.name for cell in result.by_task]
    tasks = (
        (TaskCard(whole.judge, whole.checks, whole.system, whole.models, *names),)
        if len(names) == 1
        else tuple(_task(study, run, result, name, rules) for name in names)
    )
    return JudgeCard(
        whole.judge,
        whole.checks,
        whole.system,
        whole.models,
        result.simulated,
        _probabilities(study, run),
        _radius(study, run),
        result.own_scores,
        result.expected,
        result.missing,
        Remarks(result.warnings, result.problems),
        tasks,
        result.photograph,
    )


def _task(study: Study, run: int, result: JudgeResult, task: str, rules: Thresholds) -> TaskCard:
    """Return the answer from the questions of one task."""
    table = study.joined[run].filter(pl.col("task") == task)
    own = replace(study, runs=(replace(study.runs[run], answered=table),))
    pairs = own.kind(0, "pairwise", PAIRED)
    cell = next(cell for cell in result.by_task if cell.name == task)
    unknown = study.lacks_truth(run)
    pairwise = pairwise_figures(
        pairs,
        guessed(pairwise_asked(own, 0)),
        order_shown=study.runs[run].order_shown,
        truth=not unknown,
    )
    place = preference((in_both_orders(pairs) if unknown else pairs).filter("usable"), "position")
    shown = Shown(
        pairwise,
        with_swap(place, pairwise).estimate,
        None if cell.ranking is None else cell.ranking.tau,
        None if cell.scoring is None else cell.scoring.within,
    )
    found = answer_of(own, 0, shown, rules, NO_PEOPLE)
    return TaskCard(found.judge, found.checks, found.system, found.models, task)


@dataclass(frozen=True)
class Shown:
    """Results of the questions of a run or of one of its tasks; ``place`` is the position bias.

    ``short`` is the number of images that its tasks still need for an interval each.
    """

    pairwise: Pairwise
    place: Estimate | None
    ranking: Estimate | None
    scoring: Estimate | None
    short: int = 0


def shown_of(result: JudgeResult) -> Shown:
    """Return the results of all questions of a run."""
    place = next((row.estimate for row in result.bias if row.feature == "position"), None)
    images = (cell.accuracy.share.images for cell in result.by_task if cell.accuracy.share.n)
    short = sum(max(0, LEAST_IMAGES - n) for n in images)
    return Shown(result.pairwise, place, result.ranking.tau, result.scoring.within, short)


def answer_of(
    study: Study,
    run: int,
    shown: Shown,
    rules: Thresholds,
    people: Evidence,
    ordered: System | None = None,
    qualifiers: Sequence[str] = (),
) -> Answer:
    """Return the answer from ``shown`` and the order of the sources (``ordered``, if it is known);
    ``people`` is the evidence from people's ratings, ``qualifiers`` are what else is proven.
    """
    ordered = ordered or system(study, run, rules.families)
    skill = skill_of(shown, rules.checks["macro_accuracy"])
    evidence = {
        **_evidence(shown),
        "failed": _failed(study, run),
        "order_of_sources": _order(ordered, rules.least_images),
        "favour": _favour(ordered),
        "omega": people,
    }
    if not study.runs[run].order_shown and shown.pairwise.questions:
        evidence |= {"right_in_both_orders": NO_ORDER, "lean": NO_ORDER}
    checks = tuple(check(name, evidence[name], rules, skill=skill) for name in rules.checks)
    accuracy = evidence["macro_accuracy"]
    facts = Facts(
        max(accuracy.images, ordered.images),
        rules.least_images,
        _accuracy(shown),
        ordered.why,
        _unskilled(shown, skill),
    )
    models = model_answer(ordered.models, facts, (*_failing(checks), *qualifiers))
    return Answer(study.runs[run].name, checks, ordered, models)


def _accuracy(shown: Shown) -> str | None:
    share = shown.pairwise.accuracy.share
    if share.value is None or not share.n:
        return None
    return accuracy_words(share.value, _closed(share.interval), figure_text.many(share.n, "pair"))


def _unskilled(shown: Shown, skill: Evidence) -> str | None:
    """Say that the judge is proven to be no better than chance, or than a constant answer."""
    accuracy = _accuracy(shown)
    if accuracy is None or skill.interval is None or skill.interval[1] > 0:
        return None
    return f"it is right in {accuracy}, which is no better than {skill.note or 'chance'}"


FAILING = {
    "right_in_both_orders": "it is right in both orders in only {}",
    "lean": "its answers depend on the order of the options ({})",
    "failed": "{} of its replies cannot be used",
    "macro_accuracy": "its accuracy over tasks is only {}",
    "favour": "{why}",
    "omega": "it could replace fewer people than required (ω {})",
}
"""What a check that fails adds to the answer."""


def _failing(checks: Sequence[Check]) -> list[str]:
    return [
        FAILING[line.name].format(shown_value(line), why=line.why)
        for line in checks
        if line.state == "fail" and line.name in FAILING
    ]


def _measured(found: Estimate) -> Evidence:
    if found.value is None or not found.n:
        return WITHOUT_TRUTH if found.why == NO_TRUTH else NOT_ASKED
    return Evidence(found.value, _closed(found.interval), found.images, found.why)


def _evidence(shown: Shown) -> Mapping[str, Evidence]:
    pairwise = shown.pairwise
    if pairwise.accuracy.none:
        nothing = Evidence(None, None, pairwise.accuracy.share.images, UNANSWERED)
        return {"macro_accuracy": nothing, "right_in_both_orders": nothing, "lean": nothing}
    return {
        "macro_accuracy": replace(
            _measured(pairwise.macro), short=shown.short or None, note=_constant(pairwise)
        )
        if pairwise.questions
        else NOT_ASKED,
        "right_in_both_orders": _measured(pairwise.swap.right_in_both),
        "lean": NOT_ASKED
        if shown.place is None or not pairwise.questions
        else _measured(shown.place),
    }


def _constant(pairwise: Pairwise) -> str | None:
    """Return the accuracy of a judge that ignores the content, for comparison."""
    if pairwise.constant is None:
        return None
    return f"a constant answer is right in {figure_text.percent(pairwise.constant)}"


def _closed(ends: Ends | None) -> Interval | None:
    """Return an interval that has two ends, or None."""
    if ends is None or ends[0] is None or ends[1] is None:
        return None
    return ends[0], ends[1]


def _failed(study: Study, run: int) -> Evidence:
    """Return the share of unusable replies, over all kinds of questions. The unit is the call, or
    fewer if failures are seen to cluster in images. Without failures, a note says how many images
    may fail as a whole: few images cannot distinguish a judge without failures from one that fails
    on all questions of some image.
    """
    table = study.joined[run]
    if table.is_empty():
        return NOT_ASKED
    image, failed = clusters_of(table), (~table["usable"]).cast(pl.Float64).to_numpy()
    top = np.bincount(image, weights=np.asarray(failed, dtype=float)).astype(float)
    found = shares(top, np.bincount(image).astype(float))
    images = int(found.images[0])
    may = figure_text.percent(1 - TAIL ** (1 / images))
    note = (
        None
        if failed.any()
        else f"no reply failed here, but all replies may fail on up to {may} of images"
    )
    return Evidence(float(failed.mean()), found.interval(0), images, found.why(0), note=note)


def _order(found: System, least: int) -> Evidence:
    main = found.main
    if main is None:
        few = 0 < found.images < LEAST_IMAGES
        return Evidence(
            None, None, found.images, found.why, short=least - found.images if few else None
        )
    tau = main.found.tau_b()
    if tau.value is not None and math.isnan(tau.value):
        return Evidence(
            None,
            None,
            main.found.images,
            "all sources are equally good by the judge or by the truth",
        )
    return Evidence(
        tau.value,
        tau.interval,
        main.found.images,
        None if tau.interval else too_few(),
        project=partial(_more_images, main.found),
    )


def _more_images(found: SystemAgreement, threshold: Threshold) -> int | None:
    """Return how many more images would decide ``threshold`` for τ-b with a power of 80 %, by
    bisection; None if 100 times as many would not. The interval of τ-b has no width that shrinks
    with the number of images: it jumps when a pair of sources becomes certain.
    """

    def decided(times: float) -> bool:
        interval = found.tau_b(times / POWER**2).interval
        return interval is not None and threshold.state(interval) != "undecided"

    low, high = 0.0, math.log(MOST_TIMES)
    if not decided(MOST_TIMES):
        return None
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if decided(math.exp(middle)) else (middle, high)
    return max(1, math.ceil(found.images * (math.exp(high) - 1)))


def _favour(found: System) -> Evidence:
    """Return by how many ranks favouritism moves a source, if the favour is significant."""
    main = found.main
    if main is None or all(favour.p is None for favour in main.found.favours):
        unknown = f"each source is on {too_few()}" if main is None else UNTOLD
        return Evidence(None, None, 0, found.why or unknown)
    value, ends, said = main.moved()
    between = float(ends[0]), float(ends[1])
    return Evidence(value, between, main.found.images, tested=True, note=said)


def skill_of(shown: Shown, accurate: Threshold | None = None) -> Evidence:
    """Return the skill shown by the first kind of question that was asked (pairwise, ranking,
    scoring), less chance. If the best constant answer is ``accurate`` too, the skill is less that
    answer's accuracy, and ``note`` says so.

    Skill is over all pairs, as in the report. It is not a mean over tasks, in which four verdicts
    of a second task would outweigh hundreds of the first.
    """
    pairwise = shown.pairwise
    chance, note = pairwise.chance if pairwise.questions else 0.0, None
    if accurate and pairwise.constant is not None and accurate.met_by(pairwise.constant):
        chance, note = pairwise.constant, f"{_constant(pairwise)} and may do as well"
    ranked = shown.ranking is not None and shown.ranking.value is not None
    found = (
        pairwise.accuracy.shown
        if pairwise.questions
        else shown.ranking
        if ranked
        else shown.scoring
    )
    if found is None or found.value is None:
        return WITHOUT_TRUTH if found is not None and found.why == NO_TRUTH else NOT_ASKED
    ends = _closed(found.interval)
    return Evidence(
        found.value - chance,
        None if ends is None else (ends[0] - chance, ends[1] - chance),
        found.images,
        note=note,
    )


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
    said = []
    if result.photograph is not None and result.photograph.all.state == "not_needed":
        said.append("it does not need the photograph")
    failed = [row.name for row in result.probes if row.state == "fail"]
    if failed:
        said.append(f"it fails {figure_text.listed([f'the probe “{name}”' for name in failed], 2)}")
    return said
