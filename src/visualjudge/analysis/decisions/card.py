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
from visualjudge.analysis.bias import preference, with_swap
from visualjudge.analysis.decisions.against_people import omega
from visualjudge.analysis.decisions.card_by_benchmark import BenchmarkRow, rows_of
from visualjudge.analysis.decisions.checks import (
    LABELS,
    MEASURED_BY,
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
    needs,
    read_thresholds,
)
from visualjudge.analysis.decisions.may_rank_models import System, system, systems
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

    @property
    def state(self) -> State:
        """``fail`` if any check fails; ``pass`` if the order of sources and every measured check
        pass.
        """
        states = {line.name: line.state for line in self.checks}
        if "fail" in states.values():
            return "fail"
        if states["order_of_sources"] == "not_measured":
            return "not_measured"
        asked = [line.state for line in self.checks if line.asked]
        return "pass" if set(asked) == {"pass"} else "undecided"

    @property
    def verdict(self) -> Verdict:
        """The state as one word."""
        return {"pass": "yes", "fail": "no"}.get(self.state, "unclear")  # type: ignore[return-value]

    @property
    def needs_images(self) -> int | None:
        """How many more images would probably settle the answer: the smallest number for a "no" if
        a figure misses its threshold, else the largest that any check needs. None if settled, or if
        a check needs something other than images.
        """
        if self.state == "not_measured":
            return next(
                line.needs_images for line in self.checks if line.name == "order_of_sources"
            )
        if self.state != "undecided":
            return None
        undecided = [line for line in self.checks if line.state == "undecided"]
        known = {line.name: line.needs_images for line in undecided}
        missing = [
            line
            for line in undecided
            if line.value is not None and not line.threshold.met_by(line.value)
        ]
        towards_no = [n for line in missing if (n := known[line.name]) is not None]
        if towards_no:
            return min(towards_no)
        found = [n for n in known.values() if n is not None]
        return max(found) if len(found) == len(known) and found else None

    @property
    def answer(self) -> str:
        """The answer in one sentence."""
        return answer(self)


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
    )
    names = [cell.name for cell in result.by_task]
    tasks = (
        (TaskCard(whole.judge, whole.checks, whole.system, *names),)
        if len(names) == 1
        else tuple(_task(study, run, result, name, rules) for name in names)
    )
    return JudgeCard(
        whole.judge,
        whole.checks,
        whole.system,
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
    place = preference((in_both_orders(pairs) if unknown else pairs).filter("parsed"), "position")
    shown = Shown(
        pairwise,
        with_swap(place, pairwise).estimate,
        None if cell.ranking is None else cell.ranking.tau,
        None if cell.scoring is None else cell.scoring.within,
    )
    found = answer_of(own, 0, shown, rules, NO_PEOPLE)
    return TaskCard(found.judge, found.checks, found.system, task)


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
) -> Answer:
    """Return the answer from ``shown`` and the order of the sources (``ordered``, if it is known);
    ``people`` is the evidence from people's ratings.
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
    return Answer(study.runs[run].name, checks, ordered)


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
    image, failed = clusters_of(table), (~table["parsed"]).cast(pl.Float64).to_numpy()
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
    tau = main.found.tau_b
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
        interval = found.order.tau_b(times, POWER).interval
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
        return Evidence(None, None, 0, found.why or f"each source is on {too_few()}")
    value, ends, said = main.moved()
    return Evidence(value, (float(ends[0]), float(ends[1])), main.found.images, note=said)


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
    scored = study.kind(run, "scoring", ("parsed", "number", "truth", "cluster")).filter(
        pl.col("parsed") & pl.col("truth").is_not_null()
    )
    if scored.is_empty():
        return None
    residuals = np.asarray((scored["number"] - scored["truth"]).to_numpy(), dtype=float)
    return conformal_radius(residuals, RADIUS_ALPHA, scored["cluster"].to_numpy())


def answer(found: Answer) -> str:
    """Return whether the sources may be ranked with this judge, in the report's first sentence:
    yes, no or undecided.

    It also names the other checks that decide the state, and how many more images would probably
    settle it.
    """
    line = next(item for item in found.checks if item.name == "order_of_sources")
    said = _order_said(found, line)
    if found.state == "pass":
        return f"{found.judge}: yes, {said}."
    due = [
        _named(item)
        for item in found.checks
        if item is not line and item.state == found.state and item.asked
    ]
    if found.state == "fail":
        failed = [f"it fails {', '.join(due)}"] if due else []
        parts = [said, *failed] if line.state == "fail" else [*failed, said]
        return f"{found.judge}: no, do not rank models with it: {'; '.join(parts)}."
    needed = f"; it {needs(found.needs_images)}{_for_which(found)}" if found.needs_images else ""
    needed = MEASURED_BY if line.why == NO_TRUTH else needed
    models = "whether models may be ranked with it"
    if found.state == "not_measured":
        return f"{found.judge}: {models} is not measured: {said}{needed}."
    others = f"; undecided: {', '.join(due)}" if due and line.state == "pass" else ""
    return f"{found.judge}: can’t tell yet {models}: {said}{others}{needed}."


def _for_which(found: Answer) -> str:
    """Name the check that needs the stated number of images, if several are undecided."""
    undecided = [line for line in found.checks if line.state == "undecided"]
    needing = [line for line in undecided if line.needs_images == found.needs_images]
    if len(undecided) < 2 or not needing:
        return ""
    return f" to decide “{LABELS[needing[0].name]}”"


def _named(line: Check) -> str:
    """Name a check that decides the state, with the note on its figure."""
    # the constant answer, shown beside an accuracy, is not why it fails
    told = line.state == "fail" and line.why and line.name != "macro_accuracy"
    said = f" ({line.why})" if told else ""
    return f"“{LABELS[line.name]}”{said}"


def _order_said(found: Answer, line: Check) -> str:
    """Say whether the judge orders the sources as the truth does, with the figures, or why that is
    undecided.
    """
    main = found.system.main
    if main is None or line.value is None:
        return str(line.why)
    ends = "" if line.interval is None else f", 95 % {figure_text.span(line.interval)}"
    images = figure_text.many(line.images, "image")
    facts = f"τ-b {figure_text.number(line.value)}{ends}; {main.extent}, {images}"
    if line.state == "pass":
        return f"it puts the sources in the order of the truth ({facts})"
    if line.state == "fail":
        return f"it does not order the sources as the truth does ({facts})"
    return f"the order of the sources is undecided ({facts}): {line.why}"


def short_answer(found: Answer) -> str:
    """Return the answer in plain words: "Can’t tell yet: about 60 more images would settle it"."""
    if found.state == "pass":
        return "Yes"
    if found.state == "fail":
        return "No"
    word = "Can’t tell yet" if found.state == "undecided" else "Not measured"
    if not found.needs_images:
        return word
    return f"{word}: {figure_text.about_images(found.needs_images)} would settle it"
