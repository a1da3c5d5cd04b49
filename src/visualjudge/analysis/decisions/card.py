"""The card of a judge on one page: may I rank my models with it, and what it has shown of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from visualjudge.analysis import words
from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.decisions.benchmarks import BenchmarkRow, rows_of
from visualjudge.analysis.decisions.checks import (
    LABELS,
    NOT_ASKED,
    Check,
    Evidence,
    State,
    Thresholds,
    check,
    read_thresholds,
)
from visualjudge.analysis.decisions.people import omega
from visualjudge.analysis.decisions.system import System, system
from visualjudge.analysis.figures import UNANSWERED, Ends, Estimate, JudgeResult, OwnScore
from visualjudge.analysis.join import Study, clusters_of
from visualjudge.analysis.remarks import NO_REMARKS, Remarks
from visualjudge.analysis.statistics import Calibration, ConformalRadius, calibration, conformal_radius
from visualjudge.analysis.statistics.jackknife import FEW
from visualjudge.analysis.statistics.shares import one_share

Interval = tuple[float, float]

RADIUS_ALPHA = 0.1


@dataclass(frozen=True, eq=False)
class JudgeCard:
    """One judge: its checks, its system card, and how far its probabilities and scores can be taken at their word."""

    judge: str
    simulated: bool
    checks: tuple[Check, ...]
    system: System
    probabilities: Calibration | None
    score_radius: ConformalRadius | None
    own_scores: tuple[OwnScore, ...] = ()
    expected: int | None = None
    missing: int | None = None
    """Verdicts that a finished run has, and those of them that are not there; None where that is not known."""
    remarks: Remarks = NO_REMARKS

    @property
    def answer(self) -> str:
        """May the sources be ranked with this judge? One sentence."""
        return answer(self)

    @property
    def state(self) -> State:
        """fail if any check fails; pass if the order of sources and every check that was asked pass."""
        states = {line.name: line.state for line in self.checks}
        if "fail" in states.values():
            return "fail"
        asked = [line.state for line in self.checks if line.asked]
        return "pass" if states["order_of_sources"] == "pass" and set(asked) == {"pass"} else "not_shown"


@dataclass(frozen=True, eq=False)
class Card:
    """The cards of all judges, and the thresholds that they were held to."""

    judges: tuple[JudgeCard, ...]
    thresholds: Thresholds
    benchmarks: tuple[BenchmarkRow, ...] = ()
    """A row a judge, benchmark and type of question, where the runs are on several datasets."""

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
    judges: Sequence[int] | None = None,
) -> Card:
    """The card from an analysis that is there already, of all judges or of those numbered ``judges``."""
    held = rules or read_thresholds()
    study = analysis.study
    results = analysis.results.judges
    chosen = range(len(results)) if judges is None else judges
    cards = tuple(_judge(study, i, results[i], held, people, epsilon) for i in chosen)
    return Card(cards, held, rows_of(study, chosen))


def _judge(
    study: Study, run: int, result: JudgeResult, rules: Thresholds, people: Sequence[str | Path], epsilon: float
) -> JudgeCard:
    ordered = system(study, run, rules.families)
    skilled = better_than_chance(result)
    evidence = {
        **_evidence(result),
        "failed": _failed(study, run),
        "order_of_sources": _order(ordered),
        "omega": omega(study, run, people, epsilon) if people else NOT_ASKED,
    }
    return JudgeCard(
        result.name,
        result.simulated,
        tuple(check(name, evidence[name], rules, skilled=skilled) for name in rules.checks),
        ordered,
        _probabilities(study, run),
        _radius(study, run),
        result.own_scores,
        result.expected,
        result.missing,
        Remarks(result.warnings, result.problems),
    )


# ---------------------------------------------------------------- what a run shows


def _measured(found: Estimate) -> Evidence:
    if found.value is None or not found.n:
        return NOT_ASKED
    return Evidence(found.value, _closed(found.interval), found.images, found.why)


def _evidence(result: JudgeResult) -> Mapping[str, Evidence]:
    place = next((row.estimate for row in result.bias if row.feature == "position"), None)
    pairwise = result.pairwise
    if pairwise.accuracy.none:
        nothing = Evidence(None, None, pairwise.accuracy.share.images, UNANSWERED)
        return {"macro_accuracy": nothing, "right_in_both_orders": nothing, "lean": nothing}
    return {
        "macro_accuracy": _measured(pairwise.macro) if pairwise.questions else NOT_ASKED,
        "right_in_both_orders": _measured(pairwise.swap.right_in_both),
        "lean": NOT_ASKED if place is None or not pairwise.questions else _measured(place),
    }


def _closed(ends: Ends | None) -> Interval | None:
    """An interval with two ends, or none."""
    if ends is None or ends[0] is None or ends[1] is None:
        return None
    return ends[0], ends[1]


def _failed(study: Study, run: int) -> Evidence:
    """The share of replies that could not be used, of all kinds of questions."""
    table = study.joined[run]
    if table.is_empty():
        return NOT_ASKED
    image, failed = clusters_of(table), (~table["parsed"]).cast(pl.Float64).to_numpy()
    top = np.bincount(image, weights=np.asarray(failed, dtype=float)).astype(float)
    found = one_share(top, np.bincount(image).astype(float))
    return Evidence(float(failed.mean()), found.interval(0), int(found.images[0]), found.why(0))


def _order(found: System) -> Evidence:
    main = found.main
    if main is None:
        return Evidence(None, None, 0, found.why)
    tau = main.found.tau_b
    return Evidence(tau.value, tau.interval, main.found.images, None if tau.interval else FEW)


def better_than_chance(result: JudgeResult) -> bool:
    """Whether the first kind that was asked (pairwise, ranking, scoring) shows skill: of pairs, as the report says it.

    A mean over tasks takes no part: four verdicts of a second task would decide over hundreds of the first.
    """
    if result.pairwise.questions:
        return result.pairwise.better_than_chance
    tau = result.ranking.tau if result.ranking.tau.value is not None else result.scoring.within
    ends = _closed(tau.interval)
    return ends is not None and ends[0] > 0


def _probabilities(study: Study, run: int) -> Calibration | None:
    """Of the answers given with a probability: does the option's probability come true?"""
    told = study.kind(run, "pairwise", ("probability_a", "answer", "cluster")).filter(
        pl.col("probability_a").is_between(0, 1) & pl.col("answer").is_in(["A", "B"])
    )
    if told.is_empty():
        return None
    happened = (told["answer"] == "A").cast(pl.Float64).to_numpy()
    return calibration(told["probability_a"].to_numpy(), happened, told["cluster"].to_numpy(), seed=study.seed)


def _radius(study: Study, run: int) -> ConformalRadius | None:
    """How far a score of a new image lies from the truth, in nine of ten."""
    scored = study.kind(run, "scoring", ("parsed", "number", "truth", "cluster")).filter(pl.col("parsed"))
    if scored.is_empty():
        return None
    residuals = np.asarray((scored["number"] - scored["truth"]).to_numpy(), dtype=float)
    return conformal_radius(residuals, RADIUS_ALPHA, scored["cluster"].to_numpy())


# ---------------------------------------------------------------- the answer


def answer(found: JudgeCard) -> str:
    """May the sources be ranked with this judge? One sentence, the report's first: yes, no or not shown, as its state.

    Beside the order of the sources it names the other checks that the state is due to.
    """
    line = next(item for item in found.checks if item.name == "order_of_sources")
    said = _order_said(found, line)
    if found.state == "pass":
        return f"{found.judge}: yes, {said}."
    due = [LABELS[item.name] for item in found.checks if item is not line and item.state == found.state and item.asked]
    if found.state == "fail":
        failed = [f"it fails “{'”, “'.join(due)}”"] if due else []
        parts = [said, *failed] if line.state == "fail" else [*failed, said]
        return f"{found.judge}: no, do not rank models with it: {'; '.join(parts)}."
    others = f"; not shown: “{'”, “'.join(due)}”" if due and line.state == "pass" else ""
    return f"{found.judge}: not shown whether models may be ranked with it: {said}{others}."


def _order_said(found: JudgeCard, line: Check) -> str:
    """Whether it orders the sources as the truth does, with the figures, or why that is not shown."""
    main = found.system.main
    if main is None or line.value is None:
        return str(line.why)
    ends = "" if line.interval is None else f", 95 % {words.span(line.interval)}"
    facts = f"τ-b {words.number(line.value)}{ends}; {main.extent}, {words.many(line.images, 'image')}"
    if line.state == "pass":
        return f"it puts the sources in the order of the truth ({facts})"
    if line.state == "fail":
        return f"it does not order the sources as the truth does ({facts})"
    return f"the order of the sources is not shown ({facts}), {line.why}"
