"""Figures of accuracy: by task, encoding and error type, and against the margin."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.decisions.card import Card, usual_card
from visualjudge.analysis.encoding_choice import NO_DIFFERENCE, TOO_FEW
from visualjudge.analysis.figure_text import (
    SETS,
    counted,
    grouped,
    listed,
    lower_first,
    many,
    names_of,
    number,
    plain_name,
    span,
)
from visualjudge.analysis.figures import Cell, EncodingChoice, JudgeResult
from visualjudge.analysis.plots.canvas import percent_tick
from visualjudge.analysis.plots.figure import Figure, LeftOut
from visualjudge.analysis.plots.forest import ForestRow, Scale, forest
from visualjudge.analysis.plots.panels import heat_map
from visualjudge.analysis.plots.points import Curve, curves
from visualjudge.analysis.report.readings import points_tick, rough_points, rough_share
from visualjudge.analysis.value_and_interval import NO_TRUTH, Estimate
from visualjudge.judges.registry import LOCAL
from visualjudge.vision.encodings import encoding_title

MOST_SERIES = 6
MOST_DRAWN = 20
"""Number of judges in figures and tables of a page; metrics.json has all."""
"""Number of judges that a forest plot can distinguish; with more, accuracy is a heat map."""
SHARES = Scale(0.0, 1.0, percent_tick, rough_share, "Right answers")
ESTIMATE = ("value", "low", "high", "n", "images")
SHADES = (
    "Numbers are in per cent. Blue cells are above the accuracy of guessing, brown cells below it; "
    "darker cells are further from it."
)
ICONS_OF_TASKS = (
    "Icons show for each judge whether models of the task may be ranked: ✓ yes, ✗ no, ? can’t "
    "tell yet, – not measured."
)


def intervals() -> str:
    """Return the note below figures with intervals."""
    return (
        "Lines are 95 % intervals with images as the unit; hollow markers stand for fewer than 5 "
        "images."
    )


def unadjusted() -> str:
    """Return the note below figures with intervals of several comparisons."""
    return f"{intervals()} They are not adjusted for the number of comparisons."


Row = tuple[str | float | int | None, ...]


def order(analysis: Analysis) -> list[int]:
    """Return the numbers of the judges that figures draw; if there are too many, the most accurate
    ones.
    """
    return ranked(analysis)[:MOST_DRAWN]


def ranked(analysis: Analysis) -> list[int]:
    """Return the numbers of the judges in a report; if figures cannot distinguish them all, most
    accurate first.
    """
    numbers = list(analysis.results.shown)
    if len(numbers) <= MOST_SERIES:
        return numbers
    right = [judge.pairwise.accuracy.shown.value for judge in analysis.results.judges]
    known = [-1.0 if value is None else value for value in right]
    return sorted(numbers, key=lambda i: known[i], reverse=True)


def shown(analysis: Analysis) -> list[JudgeResult]:
    """Return the judges that figures draw, in order."""
    return [analysis.results.judges[i] for i in order(analysis)]


def colours_of(analysis: Analysis, judges: Iterable[JudgeResult]) -> list[int]:
    """Return the colour number of each judge, the same in all figures: its position in
    the report.
    """
    names = [judge.name for judge in shown(analysis)]
    return [names.index(judge.name) for judge in judges]


def figures_of(estimate: Estimate | None) -> Row:
    """Return the columns of ESTIMATE."""
    if estimate is None:
        return (None, None, None, 0, 0)
    low, high = estimate.interval or (None, None)
    return (estimate.value, low, high, estimate.n, estimate.images)


def by_task(analysis: Analysis) -> Figure | LeftOut:
    """Draw a row for each task: accuracy of each judge, chance, the local baseline, and the card's
    answer.
    """
    judges = [judge for judge in shown(analysis) if judge.pairwise.accuracy.share.n]
    if not judges:
        return LeftOut("tasks", "no pairwise question was asked")
    if all(judge.pairwise.accuracy.without_truth for judge in judges):
        return LeftOut("tasks", NO_TRUTH)
    every = _cells(judges, lambda judge: judge.by_task)
    cells = {
        name: found
        for name, found in every.items()
        if any(e is not None and e.value is not None for e in found)
    }
    silent = [plain_name(name) for name in every if name not in cells]
    states = _answers(usual_card(analysis))
    baseline, notes = _baseline(judges), photograph_notes(judges)
    chance = judges[0].pairwise.chance
    judged = any(judge.info.get("backend") == LOCAL for judge in judges)
    rows = [
        ForestRow(
            plain_name(name),
            estimates,
            chance,
            None if judged else baseline.get(name),
            tuple(
                states[judge.name][name] for judge in judges if name in states.get(judge.name, {})
            ),
            notes.get(name, ""),
        )
        for name, estimates in cells.items()
    ]
    data = [
        (judge.name, name, *figures_of(estimate), chance, baseline.get(name))
        for name, estimates in cells.items()
        for judge, estimate in zip(judges, estimates, strict=True)
    ]
    marks = SHADES
    if len(judges) <= MOST_SERIES:
        beside = (
            ", the triangle the local baseline on the same pairs" if baseline and not judged else ""
        )
        marks = f"The dashed line marks guessing{beside}. {intervals()} {ICONS_OF_TASKS}"
    reading = "A reply without an answer counts as wrong. " + marks
    if silent:
        reading += f" Tasks without any answer: {listed(silent)}."
    apart = f" {SETS}" if len({judge.asked_like for judge in judges}) > 1 else ""
    return Figure(
        "tasks",
        _task_finding(judges, cells, chance),
        f"Share of pairs in which the judge gives the right answer, by task.{apart}",
        ("judge", "task", *ESTIMATE, "chance", "baseline"),
        tuple(data),
        _accuracy_drawing(rows, names_of(judges), colours_of(analysis, judges)),
        reading,
    )


def _accuracy_drawing(
    rows: Sequence[ForestRow], names: Sequence[str], colours: Sequence[int]
) -> Callable[[float], Any]:
    if len(names) <= MOST_SERIES:
        return lambda width: forest(rows, names, SHARES, width, colours=colours)
    order = sorted(range(len(names)), key=lambda k: -_mean(row.estimates[k] for row in rows))
    estimates = [[row.estimates[k] for row in rows] for k in order]
    values = [[None if e is None else e.value for e in own] for own in estimates]
    middle = next((row.chance for row in rows if row.chance is not None), 0.5)
    return lambda width: heat_map(
        [names[k] for k in order], [row.label for row in rows], values, width, middle
    )


def _mean(estimates: Iterable[Estimate | None]) -> float:
    """Return the mean of the known values, or -1 if there is none."""
    values = [e.value for e in estimates if e is not None and e.value is not None]
    return sum(values) / len(values) if values else -1.0


def _cells(
    judges: Sequence[JudgeResult], get: Callable[[JudgeResult], Iterable[Cell]]
) -> dict[str, tuple[Estimate | None, ...]]:
    """Return the accuracy of each cell, one estimate for each judge, most accurate cells first."""
    found = [
        {cell.name: cell.accuracy.shown for cell in get(judge) if cell.accuracy.share.n}
        for judge in judges
    ]
    names = list(dict.fromkeys(name for cells in found for name in cells))
    rows = {name: tuple(cells.get(name) for cells in found) for name in names}
    return dict(sorted(rows.items(), key=lambda row: (-_mean(row[1]), row[0])))


def _answers(card: Card) -> Mapping[str, Mapping[str, str]]:
    return {found.judge: {task.task: task.state for task in found.tasks} for found in card.judges}


def _baseline(judges: Sequence[JudgeResult]) -> dict[str, float]:
    """Return the accuracy of the local baseline by task."""
    rows = (row for judge in judges for row in judge.above_baseline if row.scope == "task")
    return {row.value: row.baseline_right for row in rows if row.baseline_right is not None}


def photograph_notes(judges: Iterable[JudgeResult]) -> dict[str, str]:
    """Return by task which judges need the photograph, or that it adds little; undecided tasks are
    left out.
    """
    states: dict[str, dict[str, list[str]]] = {}
    every = list(judges)
    for judge in every:
        for row in judge.photograph.by_task if judge.photograph else ():
            states.setdefault(row.task, {}).setdefault(row.state, []).append(judge.name)
    out = {}
    for task, found in states.items():
        needed = found.get("needed", [])
        if needed:
            who = "" if len(needed) == len(every) else f" by {listed(needed, 2)}"
            out[task] = f"photograph needed{who}"
        elif list(found) == ["not_needed"]:
            out[task] = "photograph adds little"
    return out


def _task_finding(judges: Sequence[JudgeResult], cells: Cells, chance: float) -> str:
    names = list(cells)
    if not names:
        return "No question was answered"
    above = []
    for k, judge in enumerate(judges):
        known = [name for name in names if cells[name][k] is not None]
        above.append(
            (judge.name, sum(_above(cells[name][k], chance) for name in known), len(known))
        )
    name, count, total = above[0]
    if len(names) == 1:
        states = ("above chance", "not significantly above chance")
        return grouped((states[not high], judge) for judge, high, _ in above)
    said = f"{name}: above chance in {count} of {many(total, 'task')}"
    if len(judges) > 1:
        said = counted("Tasks above chance", above)
    weakest, _ = _extremes(judges, cells)
    return f"{said}. Weakest: {weakest}" if weakest else f"{said}. {NO_WEAKEST}"


Cells = Mapping[str, tuple[Estimate | None, ...]]


NO_WEAKEST = "No task is significantly weaker than another"


def _extremes(judges: Sequence[JudgeResult], cells: Cells) -> tuple[str, str]:
    """Return the rows in which judges are least and most often right, with the judges.

    Empty if no judge is significantly worse in one row than in another (the intervals overlap).
    """
    lowest: dict[str, list[str]] = {}
    highest: dict[str, list[str]] = {}
    for k, judge in enumerate(judges):
        known = sorted(
            (estimate.value, estimate.interval, plain_name(name))
            for name, row in cells.items()
            if (estimate := row[k]) is not None and estimate.value is not None and estimate.interval
        )
        if len(known) < 2:
            continue
        (_, (_, top), least), (_, (bottom, _), most) = known[0], known[-1]
        if top is not None and bottom is not None and top < bottom:
            lowest.setdefault(least, []).append(judge.name)
            highest.setdefault(most, []).append(judge.name)
    return _named(lowest, len(judges)), _named(highest, len(judges))


def _named(rows: Mapping[str, Sequence[str]], judges: int) -> str:
    """List rows with their judges: "pose (a and b), depth (c)"."""
    if judges == 1:
        return "".join(rows)
    return listed([f"{row} ({listed(names)})" for row, names in rows.items()])


def _above(estimate: Estimate | None, chance: float) -> bool:
    low = None if estimate is None or estimate.interval is None else estimate.interval[0]
    return low is not None and low > chance


def by_error_type(analysis: Analysis) -> Figure | LeftOut:
    """Draw a row for each error type."""
    judges = shown(analysis)
    cells = _cells(judges, lambda judge: judge.by_error_type)
    if len(cells) < 2:
        return LeftOut("errors", "the questions have a single error type")
    names = list(cells)
    rows = [ForestRow(plain_name(name), cells[name], judges[0].pairwise.chance) for name in names]
    data = [
        (judge.name, name, *figures_of(estimate))
        for name in names
        for judge, estimate in zip(judges, cells[name], strict=True)
    ]
    hardest, easiest = _extremes(judges, cells)
    finding = (
        f"Hardest to see: {hardest}; easiest: {easiest}"
        if hardest
        else "No error type is significantly harder to see than another"
    )
    return Figure(
        "errors",
        finding,
        "Share of pairs in which the judge gives the right answer, by the type of error in the "
        "worse option.",
        ("judge", "error_type", *ESTIMATE),
        tuple(data),
        _accuracy_drawing(rows, names_of(judges), colours_of(analysis, judges)),
        intervals() if len(judges) <= MOST_SERIES else SHADES,
    )


def encodings(analysis: Analysis, images: Mapping[str, str] | None = None) -> list[Figure]:
    """Return a figure for each task with several encodings: each one's difference from the best, on
    the same pairs.

    ``images``: data URIs of small images, by ``task/stem``.
    """
    judges = shown(analysis)[:MOST_SERIES]
    tasks = dict.fromkeys(
        choice.task for judge in judges for choice in judge.encodings if len(choice.encodings) > 1
    )
    return [
        _encoding_figure(
            analysis,
            [j for j in judges if any(c.task == task for c in j.encodings)],
            task,
            images or {},
        )
        for task in tasks
    ]


def encoding_name(task: str) -> str:
    """Return the name of a task's figure and files: letters, digits, ``_`` and ``-``."""
    return "encoding-" + re.sub(r"[^\w-]+", "-", task)


def _encoding_figure(
    analysis: Analysis, judges: Sequence[JudgeResult], task: str, images: Mapping[str, str]
) -> Figure:
    choices = [next((c for c in judge.encodings if c.task == task), None) for judge in judges]
    first = next(choice for choice in choices if choice is not None)
    best = next(
        (row.name for row in first.encodings if row.standing == "best"), first.encodings[0].name
    )
    rows, data = [], []
    for row in first.encodings:
        estimates = tuple(
            None if choice is None else _less(choice, row.name, best) for choice in choices
        )
        title = encoding_title(task, row.name)
        label = f"{title} (reference)" if row.name == best else title
        rows.append(ForestRow(label, estimates, image=images.get(f"{task}/{row.name}")))
        data += [
            (judge.name, task, row.name, best, *figures_of(estimate))
            for judge, estimate in zip(judges, estimates, strict=True)
        ]
    end = reach([e for row in rows for e in row.estimates])
    scale = Scale(-end, end, points_tick, rough_points, "Points above the reference", 0.0)
    names, colours = [judge.name for judge in judges], colours_of(analysis, judges)
    return Figure(
        encoding_name(task),
        f"{plain_name(task).capitalize()}: {_advice(judges, choices)}",
        "Accuracy with each encoding minus accuracy with the reference, on the same pairs.",
        ("judge", "task", "encoding", "reference", *ESTIMATE),
        tuple(data),
        lambda width: forest(rows, names, scale, width, colours=colours),
        intervals(),
    )


def _less(choice: EncodingChoice, name: str, best: str) -> Estimate | None:
    """Return the accuracy of an encoding minus that of ``best``."""
    for duel in choice.duels:
        if (duel.first, duel.second) == (name, best):
            return duel.gap
        if (duel.first, duel.second) == (best, name):
            return minus(duel.gap)
    return None


def minus(gap: Estimate) -> Estimate:
    """Negate a difference."""
    ends = gap.interval
    turned = (
        None if ends is None else tuple(None if end is None else -end for end in reversed(ends))
    )
    value = None if gap.value is None else -gap.value
    return Estimate(value, turned, gap.n, gap.images, gap.why)  # type: ignore[arg-type]


def _advice(judges: Sequence[JudgeResult], choices: Sequence[EncodingChoice | None]) -> str:
    """Return "use any encoding", or the recommended ones, by judge if they differ."""
    said = [
        (_advised(choice), judge.name)
        for judge, choice in zip(judges, choices, strict=True)
        if choice is not None
    ]
    return said[0][0] if len({advice for advice, _ in said}) == 1 else grouped(said)


def _advised(choice: EncodingChoice) -> str:
    if choice.recommended:
        return f"use {encoding_title(choice.task, choice.recommended)}"
    if choice.cheapest:
        return f"use any encoding; {encoding_title(choice.task, choice.cheapest)} is the cheapest"
    reason = str(choice.reason)
    if reason == TOO_FEW:
        return "can’t tell yet (too few pairs)"
    return (
        "use any encoding; no difference was found"
        if reason == NO_DIFFERENCE
        else f"can’t tell yet ({reason})"
    )


def reach(estimates: Iterable[Estimate | None], least: float = 0.1, most: float = 0.5) -> float:
    """Return the end of a symmetric axis that covers the estimates, and their intervals up to
    ``most``.
    """
    known = [e for e in estimates if e is not None and e.value is not None]
    ends = [abs(end) for e in known for end in e.interval or () if end is not None]
    return max(
        least,
        1.08 * max((abs(e.value or 0.0) for e in known), default=0.0),
        min(most, 1.08 * max(ends, default=0)),
    )


AT_POINT = 0.75
"""Accuracy at which the curve is read."""
LEAST_DISTANCES = 3
"""Differences between options at which points without a curve are drawn."""


def margin(analysis: Analysis, against: str = "margin") -> Figure | LeftOut:
    """Plot accuracy against the difference between the options (or in severity)."""
    judges = shown(analysis)[:MOST_SERIES]
    rows = [
        next((r for r in j.sensitivity if (r.scope, r.against) == ("all", against)), None)
        for j in judges
    ]
    charts = [
        Curve(judge.name, k, row)
        for k, (judge, row) in enumerate(zip(judges, rows, strict=True))
        if row is not None and row.points
    ]
    if not charts:
        return LeftOut(against, f"no pair has a known difference in {against}")
    distances = max(len({point.x for point in chart.row.points}) for chart in charts)
    if distances < LEAST_DISTANCES and all(chart.row.jnd.value is None for chart in charts):
        few = "the same difference" if distances == 1 else f"one of {distances} differences"
        return LeftOut(against, f"all pairs that differ have {few} in {against}")
    label = {
        "margin": "Difference between the options’ scores (out of 10)",
        "severity": "Difference in severity",
    }[against]
    data = [
        (chart.title, point.x, point.share, int(point.n))
        for chart in charts
        for point in chart.row.points
    ]
    reading = "Each marker stands for a range of differences; larger markers have more verdicts."
    if any(chart.row.jnd.value is not None for chart in charts):
        reading += (
            " The curve is fitted; the vertical line is at its 75 % point, and the band shows the "
            "curve with this point at either end of its 95 % interval."
        )
    columns = ("judge", against, "accuracy", "n")
    finding = grouped((_smallest(chart), chart.title) for chart in charts)
    if len(charts) > 2:
        what = "difference" if against == "margin" else "difference in severity"
        finding = f"Smallest {what} seen in 75 % of pairs: {_all_smallest(charts)}"
    return Figure(
        against,
        finding,
        f"Share of right answers against the {lower_first(label)}.",
        columns,
        tuple(data),
        lambda width: curves(charts, label, width),
        reading,
    )


def _all_smallest(charts: Sequence[Curve]) -> str:
    """Summarise the smallest differences of many judges."""
    known = [f"{c.title} {number(c.row.jnd.value)}" for c in charts if c.row.jnd.value]
    others = [chart for chart in charts if not chart.row.jnd.value]
    above = [chart.title for chart in others if _least(chart) >= AT_POINT]
    below = [chart.title for chart in others if _least(chart) < AT_POINT]
    said = [", ".join(known)] if known else []
    if above:
        said.append(f"at least 75 % right at every difference asked: {listed(above)}")
    if below:
        said.append(f"can’t tell yet for {listed(below) if said else 'these judges'}")
    return "; ".join(said)


def _least(chart: Curve) -> float:
    """Return the lowest accuracy of the curve's points."""
    return min(point.share for point in chart.row.points)


def _smallest(chart: Curve) -> str:
    jnd = chart.row.jnd
    if jnd.value is None:
        least = _least(chart)
        if least < AT_POINT:
            return f"can’t tell yet ({chart.row.reason})"
        smallest = number(min(point.x for point in chart.row.points), 1)
        return (
            f"right in at least {100 * least:.0f} % at every difference asked, down to {smallest}; "
            f"can’t tell yet where accuracy falls to {100 * AT_POINT:.0f} %"
        )
    what = "out of 10 points" if chart.row.against == "margin" else "in severity"
    return f"sees a difference of {number(jnd.value)} ({span(jnd.interval)}) {what} in 3 of 4 pairs"
