"""Figures of a judge's behaviour: biases, exchanged options, scores, probabilities, probes and
tools.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.decisions.card import usual_card
from visualjudge.analysis.figure_text import grouped, listed, many, number, plain_name, span
from visualjudge.analysis.figures import MARGIN, JudgeResult, Photograph, ToolTrust
from visualjudge.analysis.plots.canvas import percent_tick
from visualjudge.analysis.plots.figure import Figure, LeftOut
from visualjudge.analysis.plots.forest import ForestRow, Scale, forest
from visualjudge.analysis.plots.panels import Swapped, swap_flow
from visualjudge.analysis.plots.points import Scatter, scatters
from visualjudge.analysis.report.accuracy_plots import (
    ESTIMATE,
    MOST_SERIES,
    colours_of,
    figures_of,
    intervals,
    order,
    reach,
    shown,
)
from visualjudge.analysis.report.readings import points_tick, rough_points, rough_share
from visualjudge.analysis.value_and_interval import ORDER_UNKNOWN, Estimate

MOST_POINTS = 400
"""Number of scores per judge in a scatter plot; the calibration uses all."""
JITTER = 0.3
GOLDEN = 0.618033988749895
BINS = 10


def leanings(analysis: Analysis) -> Figure | LeftOut:
    """Draw a bar for each feature: how far a judge leans towards the option with more of it;
    position comes first.
    """
    judges = [judge for judge in shown(analysis) if judge.pairwise.accuracy.share.n][:MOST_SERIES]
    features = list(
        dict.fromkeys(
            row.feature for j in judges for row in j.bias if row.estimate.value is not None
        )
    )
    if not features:
        if not all(judge.order_shown for judge in judges):
            return LeftOut("leanings", f"position bias is not measured: {ORDER_UNKNOWN}")
        return LeftOut("leanings", "the pairwise questions asked cannot show a bias")
    by_judge = [{row.feature: row for row in judge.bias} for judge in judges]
    titles = {row.feature: row.leans_to for judge in judges for row in judge.bias}
    rows = [
        ForestRow(
            titles[name],
            tuple(found[name].estimate if name in found else None for found in by_judge),
        )
        for name in features
    ]
    end = reach(e for row in rows for e in row.estimates)
    scale = Scale(
        -end, end, points_tick, rough_points, "Preference in points, at equal difficulty", 0.0
    )
    data = [
        (judge.name, name, *figures_of(found[name].estimate), found[name].p_holm)
        for judge, found in zip(judges, by_judge, strict=True)
        for name in features
        if name in found
    ]
    names, colours = [judge.name for judge in judges], colours_of(analysis, judges)
    told = [part for judge in judges for part in _leaning(judge, values=len(judges) < 3)]
    told.sort(key=lambda part: part[0] == NO_PREFERENCE)
    return Figure(
        "leanings",
        grouped(told, names_last=True),
        "Preference of the judge for one kind of option, at equal difficulty: an unbiased judge "
        "has 0 points, a judge that uses nothing else 50.",
        ("judge", "feature", *ESTIMATE, "p_holm"),
        tuple(data),
        lambda width: forest(rows, names, scale, width, colours=colours, bars=True),
        "The preference is half the difference in accuracy between pairs in which this option is "
        f"right and pairs in which it is wrong. {intervals()}",
    )


NO_PREFERENCE = "no significant preference for the first option"


def _leaning(judge: JudgeResult, *, values: bool) -> list[tuple[str, str]]:
    """Say whether the judge prefers the option shown first, and its other biases, as statements
    with its name and numbers; ``values`` gives the number of a preference that is not significant.
    """
    place = next((row for row in judge.bias if row.feature == "position"), None)
    found = None if place is None else place.estimate
    if place is None or found is None or found.value is None:
        why = "" if judge.order_shown else f": {ORDER_UNKNOWN}"
        said = (f"preference for the first option not measured{why}", judge.name)
    elif place.flagged:
        which = "first" if found.value > 0 else "second"
        said = (
            f"preference for the {which} option",
            f"{judge.name} {rough_points(found).lstrip('+')} points",
        )
    else:
        number = f" {rough_points(found)} points" if values else ""
        said = NO_PREFERENCE, judge.name + number
    others = [
        f"preference {'for' if row.estimate.value > 0 else 'against'} {row.leans_to}"
        for row in judge.bias
        if row.flagged and row.feature != "position" and row.estimate.value
    ]
    return [said, *((other, judge.name) for other in others)]


def swapped(analysis: Analysis) -> Figure | LeftOut:
    """Draw the effect of exchanging the options on the answers."""
    judges = shown(analysis)[:MOST_SERIES]
    charts = []
    for k, judge in enumerate(judges):
        swap = judge.pairwise.swap
        if swap.consistency.n:
            n = swap.consistency.n
            same = round((swap.consistency.value or 0.0) * n)
            right = round((swap.right_in_both.value or 0.0) * n)
            first, second = swap.always_first, swap.always_second
            charts.append(
                Swapped(
                    judge.name, k, right, same - right, first, second, n - same - first - second
                )
            )
    if not charts:
        if not all(judge.order_shown for judge in judges):
            return LeftOut("swap", f"swaps are not measured: {ORDER_UNKNOWN}")
        return LeftOut("swap", "no question was asked in both orders (judge --swap)")
    shares = sorted(charts, key=lambda chart: -_same(chart))
    said = "The same answer in both orders: " + ", ".join(
        f"{c.title} {100 * _same(c):.0f} %" for c in shares
    )
    data = [(c.title, c.right, c.wrong, c.first, c.second, c.rest) for c in charts]
    columns = ("judge", "same_right", "same_wrong", "first_both_times", "second_both_times", "rest")
    caption = (
        "Answers to questions that were asked in both orders; the area of a square is proportional "
        "to its share."
    )
    return Figure(
        "swap", said, caption, columns, tuple(data), lambda width: swap_flow(charts, width)
    )


def _same(chart: Swapped) -> float:
    """Return the share of questions with the same answer in both orders."""
    total = chart.right + chart.wrong + chart.first + chart.second + chart.rest
    return (chart.right + chart.wrong) / total if total else 0.0


def scores(analysis: Analysis) -> Figure | LeftOut:
    """Plot the judge's scores against the true ones."""
    charts, said, data = [], [], []
    for k, i in enumerate(order(analysis)[:MOST_SERIES]):
        judge = analysis.results.judges[i]
        table = (
            analysis.study.kind(i, "scoring", ("usable", "number", "truth"))
            .filter(pl.col("usable"))
            .drop_nulls()
        )
        if table.is_empty():
            continue
        truth, given = (
            np.asarray(table[name].to_numpy(), dtype=float) for name in ("truth", "number")
        )
        means = _means(truth, given)
        charts.append(Scatter(judge.name, k, _sample(truth, given), means))
        said.append((_follows(judge, means), judge.name))
        data += [(judge.name, x, y, n) for x, y, n in means]
    if not charts:
        asked = any("scoring" in run.answered["kind"] for run in analysis.study.runs)
        why = "no reply to a scoring question could be read" if asked else NO_SCORING
        return LeftOut("scores", why)
    columns = ("judge", "true_score", "mean_score", "n")
    return Figure(
        "scores",
        grouped(said) if len(said) < 3 else _orders(shown(analysis)),
        "Scores of the judge against the true scores.",
        columns,
        tuple(data),
        lambda width: scatters(charts, (0.0, 10.0), ("True score", "Judge’s score"), width),
        f"Each dot is a reply (at most {MOST_POINTS} of each judge), with jitter, so that equal "
        "replies do not overlap. The solid line joins the judge’s mean scores; on the dashed line, "
        "score and truth are equal.",
    )


def _means(truth: np.ndarray, given: np.ndarray) -> tuple[tuple[float, float, int], ...]:
    """Return the mean true and given score in each of ten bins of the truth."""
    bins = np.minimum((truth / 10 * BINS).astype(int), BINS - 1)
    found = [(bins == b, b) for b in range(BINS)]
    return tuple(
        (float(truth[kept].mean()), float(given[kept].mean()), int(kept.sum()))
        for kept, _ in found
        if kept.any()
    )


def _sample(truth: np.ndarray, given: np.ndarray) -> tuple[tuple[float, float], ...]:
    """Return an even sample of the points, jittered by up to JITTER / 2."""
    chosen = np.linspace(0, truth.size - 1, min(truth.size, MOST_POINTS)).astype(int)
    shift = [((k * GOLDEN) % 1 - 0.5) * JITTER for k in range(1, chosen.size + 1)]
    return tuple(
        (float(truth[i]) + a, float(given[i]) + b)
        for i, a, b in zip(chosen.tolist(), shift, reversed(shift), strict=True)
    )


def _follows(judge: JudgeResult, means: Sequence[tuple[float, float, int]]) -> str:
    """Say how the judge's mean score relates to the true one, and whether it orders the predictions
    of an image.
    """
    (low, first, _), (high, last, _) = means[0], means[-1]
    said = f"mean score {number(first, 1)} at a true score of {number(low, 1)}"
    if len(means) > 1:
        said += f", {number(last, 1)} at {number(high, 1)}"
    within = judge.scoring.within
    if within.value is None:
        return said
    inside = "τ-b within an image"
    return f"{said}; {inside} {number(within.value)} ({span(within.interval)})"


def _orders(judges: Sequence[JudgeResult]) -> str:
    """Say how well each of many judges orders the predictions of an image."""
    known = [(judge.scoring.within.value, judge.name) for judge in judges]
    told = sorted(((tau, name) for tau, name in known if tau is not None), reverse=True)
    return "Order within an image (τ-b): " + ", ".join(f"{n} {number(tau)}" for tau, n in told[:6])


def reliability(analysis: Analysis) -> Figure | LeftOut:
    """Plot stated probabilities against observed frequencies."""
    card, names = usual_card(analysis), [judge.name for judge in shown(analysis)]
    charts, said, data = [], [], []
    for k, name in enumerate(names[:MOST_SERIES]):
        found = next(judge.probabilities for judge in card.judges if judge.judge == name)
        if found is not None:
            bins = tuple((b.stated, b.observed, b.n) for b in found.bins)
            charts.append(Scatter(name, k, (), bins))
            error = number(found.ece_corrected.value)
            said.append((f"calibration error, corrected, {error}", name))
            data += [(name, *row) for row in bins]
    if not charts:
        return LeftOut("reliability", "no reply states a probability")
    columns = ("judge", "stated", "came_true", "n")
    return Figure(
        "reliability",
        grouped(said),
        "How often A was right, against the probability that the judge stated for A.",
        columns,
        tuple(data),
        lambda width: scatters(
            charts, (0.0, 1.0), ("Stated probability of A", "A was right"), width
        ),
        "On the dashed line, probability and frequency are equal; larger dots stand for more "
        "answers.",
    )


def probes(analysis: Analysis) -> Figure | LeftOut:
    """Draw a row for each probe: the effect on accuracy of a change that must not matter."""
    judges = [judge for judge in shown(analysis) if judge.probes][:MOST_SERIES]
    if not judges:
        other = any(judge.photograph is not None for judge in shown(analysis))
        why = "only the photograph was replaced" if other else "no probes were asked"
        return LeftOut("probes", why)
    by_judge = [{row.name: row for row in judge.probes} for judge in judges]
    asked = list(dict.fromkeys(name for found in by_judge for name in found))
    names = [
        n
        for n in asked
        if any(n in found and found[n].effect.value is not None for found in by_judge)
    ]
    if not names:
        return LeftOut("probes", "no probe has enough questions to measure an effect")
    unknown = [plain_name(name) for name in asked if name not in names]
    rows = [
        ForestRow(
            plain_name(name),
            tuple(found[name].effect if name in found else None for found in by_judge),
            states=tuple(
                STATES_OF_PROBES[found[name].state] for found in by_judge if name in found
            ),
        )
        for name in names
    ]
    scale = Scale(-0.5, 0.5, points_tick, rough_points, "Effect, points", 0.0)
    data = [
        (judge.name, row.name, *figures_of(row.effect), row.margin, row.state)
        for judge, found in zip(judges, by_judge, strict=True)
        for row in found.values()
    ]
    reading = (
        f"✓ passes: its 90 % interval lies within the margin; ✗ fails; ? undecided. {intervals()}"
        + (f" Too few questions: {listed(unknown, 20)}." if unknown else "")
    )
    titles, colours = [judge.name for judge in judges], colours_of(analysis, judges)
    return Figure(
        "probes",
        grouped((_probed(judge), judge.name) for judge in judges),
        "Effect of each probe on the accuracy; a probe changes one thing that must not affect the "
        "answer.",
        ("judge", "probe", *ESTIMATE, "margin", "state"),
        tuple(data),
        lambda width: forest(rows, titles, scale, width, colours=colours),
        reading,
    )


def photograph(analysis: Analysis) -> Figure | LeftOut:
    """Draw a row for each task: how much more often a judge is right with the photograph than
    without.
    """
    asked = [judge for judge in shown(analysis) if judge.photograph is not None][:MOST_SERIES]
    judges = [(judge.name, judge.photograph) for judge in asked if judge.photograph is not None]
    if not judges:
        return LeftOut(
            "photograph", "no question was asked without its photograph (visualjudge probe)"
        )
    by_judge = [{row.task: row for row in (need.all, *need.by_task)} for _, need in judges]
    tasks = list(dict.fromkeys(task for found in by_judge for task in found))
    rows = [
        ForestRow(
            "all questions" if task == "all" else plain_name(task),
            tuple(found[task].least if task in found else None for found in by_judge),
        )
        for task in tasks
    ]
    end = reach(e for row in rows for e in row.estimates)
    scale = Scale(-end, end, points_tick, rough_points, "Points gained from the photograph", 0.0)
    titles, colours = [name for name, _ in judges], colours_of(analysis, asked)
    data = [
        (name, task, *figures_of(found[task].least), found[task].state)
        for name, found in zip(titles, by_judge, strict=True)
        for task in found
    ]
    return Figure(
        "photograph",
        grouped((_needs(need.all, name) for name, need in judges), names_last=True),
        "Accuracy with the photograph minus accuracy without it, on the same pairs.",
        ("judge", "task", *ESTIMATE, "state"),
        tuple(data),
        lambda width: forest(rows, titles, scale, width, colours=colours),
        "“Without” means with uniform grey or with another photograph, whichever makes the "
        "difference smaller. A judge does not need the photograph if the difference is "
        f"significantly below {100 * MARGIN:g} points. {intervals()}",
    )


def _needs(row: Photograph, name: str) -> tuple[str, str]:
    """Say whether a judge needs the photograph; return this with its name and gain."""
    said = {
        "needed": "needs the photograph",
        "not_needed": "does not need the photograph",
        "not_shown": "can’t tell yet whether it needs the photograph",
    }[row.state]
    return said, f"{name} {rough_points(row.least)}".strip()


NO_SCORING = "no scoring question was asked"
STATES_OF_PROBES = {"pass": "pass", "fail": "fail", "not_shown": "undecided"}
"""Maps the states of probes in metrics.json to the states of checks."""


def _probed(judge: JudgeResult) -> str:
    failed = [plain_name(row.name) for row in judge.probes if row.state == "fail"]
    passed = sum(row.state == "pass" for row in judge.probes)
    named = f" ({', '.join(failed)})" if failed else ""
    rest = len(judge.probes) - passed - len(failed)
    asked = many(len(judge.probes), "probe")
    return f"passes {passed} of {asked}, fails {len(failed)}{named}, {rest} undecided"


def tools(analysis: Analysis) -> Figure | LeftOut:
    """Plot how often a judge follows a wrong tool, by the confidence that the tool claims."""
    judges = [judge for judge in shown(analysis) if judge.tool_trust][:MOST_SERIES]
    if not judges:
        return LeftOut("tools", "no question includes the result of a tool")
    by_judge = [{row.confidence: row.wrong_tool for row in judge.tool_trust} for judge in judges]
    levels = sorted({level for found in by_judge for level in found})
    rows = [
        ForestRow(f"claims {number(level)}", tuple(found.get(level) for found in by_judge))
        for level in levels
    ]
    scale = Scale(0.0, 1.0, percent_tick, rough_share, "Follows a wrong tool")
    data = [
        (j.name, level, *figures_of(f.get(level)))
        for j, f in zip(judges, by_judge, strict=True)
        for level in levels
    ]
    said = grouped((_trusts(judge.tool_trust), judge.name) for judge in judges)
    titles, colours = [judge.name for judge in judges], colours_of(analysis, judges)
    return Figure(
        "tools",
        said,
        "Share of answers that follow a wrong tool, by the confidence that it claims.",
        ("judge", "confidence", *ESTIMATE),
        tuple(data),
        lambda width: forest(rows, titles, scale, width, colours=colours),
        intervals(),
    )


def _trusts(rows: Sequence[ToolTrust]) -> str:
    values: list[Estimate] = [row.wrong_tool for row in rows if row.wrong_tool.value is not None]
    if not values:
        return "no answer when a tool is wrong"
    most = max(values, key=lambda e: e.value or 0.0)
    if not most.value:
        return "never follows a wrong tool"
    return f"follows a wrong tool in up to {rough_share(most)} of pairs"
