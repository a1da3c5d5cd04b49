"""Figures that put judges beside each other, beside the local baseline, and beside their cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from visualjudge.analysis import repeated_rows
from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.figure_text import about_images, counted, grouped, listed, many
from visualjudge.analysis.figures import Comparison
from visualjudge.analysis.plots.cost import Priced, cost_plot, front
from visualjudge.analysis.plots.figure import Figure, LeftOut
from visualjudge.analysis.plots.forest import ForestRow, Scale, forest
from visualjudge.analysis.report.accuracy_plots import (
    ESTIMATE,
    INTERVALS,
    MOST_SERIES,
    colours_of,
    figures_of,
    minus,
    reach,
    shown,
)
from visualjudge.analysis.report.readings import plain_name, points_tick, rough_points
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.judges.registry import LOCAL


def compared(analysis: Analysis) -> Figure | LeftOut:
    """A row for every two judges: the difference in accuracy on the questions that both were
    asked.
    """
    names = {judge.name for judge in shown(analysis)}
    pairs = [
        row
        for row in analysis.results.comparisons
        if {row.a, row.b} <= names and row.gap.value is not None
    ]
    if not pairs:
        return LeftOut(
            "judges",
            "a single judge was asked" if len(names) == 1 else "no two judges share a question",
        )
    pairs.sort(key=lambda row: -abs(row.gap.value or 0.0))
    best = shown(analysis)[0].name if len(names) > MOST_SERIES else None
    beside = [_from(best, row) for row in pairs if best in (row.a, row.b)] if best else []
    rows = [ForestRow(f"{row.a} − {row.b}", (row.gap,)) for row in pairs]
    label, whose = "Difference in accuracy, points", "First judge less second"
    if best:
        rows = [ForestRow(name, (gap,)) for name, gap, _ in beside]
        label, whose = f"Points by which {best} is better", f"{best} less each other judge,"
    end = reach((row.estimates[0] for row in rows), 0.05)
    scale = Scale(-end, end, points_tick, rough_points, label, 0.0)
    left = " The other differences are in the table." if len(pairs) > len(rows) else ""
    caption = (
        f"{whose} on the questions that both were asked. {INTERVALS} They are unadjusted.{left}"
    )
    data = [(row.a, row.b, *figures_of(row.gap), row.p_holm) for row in pairs]
    columns = ("first", "second", *ESTIMATE, "p_holm")
    return Figure(
        "judges",
        _better(pairs) if best is None else _ahead(best, beside),
        caption,
        columns,
        tuple(data),
        lambda width: forest(rows, [""], scale, width),
    )


LEVEL = 0.05


def _from(name: str, row: Comparison) -> tuple[str, Estimate, bool]:
    """The other judge, by how much the named one is better, and whether that is certain."""
    other, gap = (row.b, row.gap) if row.a == name else (row.a, minus(row.gap))
    return other, gap, row.p_holm is not None and row.p_holm < LEVEL and (gap.value or 0) > 0


def _ahead(best: str, beside: Sequence[tuple[str, Estimate, bool]]) -> str:
    level = [name for name, _, certain in beside if not certain]
    said = f"{best} is better than {len(beside) - len(level)} of {len(beside)} other judges"
    return f"{said}; undecided beside {listed(level, 6)}" if level else said


def _better(pairs: Sequence[Comparison]) -> str:
    known = [row for row in pairs if row.p_holm is not None and row.p_holm < LEVEL]
    row = (known or pairs)[0]
    ahead = (row.gap.value or 0) > 0
    if known and len(pairs) == 1:
        up, down, gap = (row.a, row.b, row.gap) if ahead else (row.b, row.a, minus(row.gap))
        return f"{up} is better than {down} by {rough_points(gap).lstrip('+')} points"
    if known:
        names = sorted({name for row in pairs for name in (row.a, row.b)})
        beaten = {row.b if (row.gap.value or 0) > 0 else row.a for row in known}
        first = [name for name in names if name not in beaten]
        if len(first) == 1 and sum(first[0] in (row.a, row.b) for row in known) == len(beaten):
            return f"{first[0]} is better than {listed(sorted(beaten), 6)}"
        ahead_of = f"No judge is certain to be better than {listed(first, 6)}; s" if first else "S"
        return f"{ahead_of}ome other judge is better than {listed(sorted(beaten), 6)}"
    more = (
        f"; {about_images(row.more_images)} would show {100 * row.asked_gap:g} points"
        if row.more_images
        else ""
    )
    among = (
        f"between {row.a} and {row.b}"
        if len(pairs) == 1
        else f"among {listed(sorted({n for p in pairs for n in (p.a, p.b)}))}"
    )
    return f"Over all questions together, no difference {among} is certain{more}"


def compared_by_task(analysis: Analysis) -> Figure | LeftOut:
    """A row for each task: the difference between two judges, or between the most accurate one and
    each other.
    """
    judges = shown(analysis)
    names = {judge.name for judge in judges}
    pairs = [r for r in analysis.results.comparisons if {r.a, r.b} <= names and len(r.by_task) > 1]
    if not pairs or len(judges) > MOST_SERIES:
        reason = (
            f"drawn for up to {MOST_SERIES} judges" if pairs else "no two judges share two tasks"
        )
        return LeftOut("judges_by_task", reason)
    accurate = sorted(judges, key=lambda j: -(j.pairwise.accuracy.shown.value or 0.0))
    first = judges[0].name if len(judges) == 2 else accurate[0].name
    beside = {
        r.b if r.a == first else r.a: {
            row.task: (row.gap if r.a == first else minus(row.gap), row.p_holm) for row in r.by_task
        }
        for r in pairs
        if first in (r.a, r.b)
    }
    others = [judge for judge in judges if judge.name in beside]
    titles = [judge.name for judge in others]
    ordered = [beside[name] for name in titles]
    tasks = list(dict.fromkeys(task for found in ordered for task in found))
    rows = [
        ForestRow(
            plain_name(task),
            tuple(found[task][0] if task in found else None for found in ordered),
        )
        for task in tasks
    ]
    end = reach((e for row in rows for e in row.estimates), 0.05)
    other = next(iter(beside)) if len(beside) == 1 else "the other judge"
    label = f"← {other} is better, points · {first} is better →"
    scale = Scale(-end, end, points_tick, rough_points, label, 0.0)
    series, colours = ([""], [0]) if len(others) == 1 else (titles, colours_of(analysis, others))
    data = [
        (r.a, r.b, row.task, *figures_of(row.gap), row.p_holm) for r in pairs for row in r.by_task
    ]
    caption = (
        f"Right answers of {first} less those of "
        f"{other if len(beside) == 1 else 'each other judge'}, task by task, on the questions that "
        f"both were asked. {INTERVALS} They are unadjusted; the title counts differences that are "
        "certain after Holm over all tasks and judges."
    )
    return Figure(
        "judges_by_task",
        f"{first} compared with " + grouped((_where_better(beside[name]), name) for name in titles),
        caption,
        ("first", "second", "task", *ESTIMATE, "p_holm"),
        tuple(data),
        lambda width: forest(rows, series, scale, width, colours=colours),
    )


def _where_better(found: Mapping[str, tuple[Estimate, float | None]]) -> str:
    """ "better at object detection, worse at instance segmentation"."""
    certain = [
        (plain_name(task), gap.value or 0.0)
        for task, (gap, p) in found.items()
        if p is not None and p < LEVEL and gap.interval is not None
    ]
    ways = (
        ("better", [task for task, gap in certain if gap > 0]),
        ("worse", [task for task, gap in certain if gap < 0]),
    )
    said = [f"{word} at {listed(names, 3)}" for word, names in ways if names]
    return ", ".join(said) or f"no difference in any of {many(len(found), 'task')} is certain"


def baseline(analysis: Analysis) -> Figure | LeftOut:
    """A row for each task: how far each judge is above the local baseline."""
    judges = [judge for judge in shown(analysis) if judge.above_baseline][:MOST_SERIES]
    if not judges:
        alone = any(judge.info.get("backend") == LOCAL for judge in shown(analysis))
        return LeftOut(
            "baseline",
            "the local baseline is the only judge"
            if alone
            else "no run of the local baseline is beside these judges (--baseline adds one)",
        )
    found = [
        {
            r.value: r
            for r in repeated_rows.above(judge.above_baseline)
            if r.scope in ("all", "task")
        }
        for judge in judges
    ]
    names = list(
        dict.fromkeys(
            name for rows in found for name, row in rows.items() if row.gap.value is not None
        )
    )
    if not names:
        return LeftOut("baseline", "the local baseline answered none of these questions")
    rows = [
        ForestRow(
            "all questions" if name == "all" else plain_name(name),
            tuple(rows[name].gap if name in rows else None for rows in found),
        )
        for name in names
    ]
    end = reach(e for row in rows for e in row.estimates)
    scale = Scale(-end, end, points_tick, rough_points, "Points above the baseline", 0.0)
    data = [
        (judge.name, name, *figures_of(rows[name].gap), rows[name].standing)
        for judge, rows in zip(judges, found, strict=True)
        for name in rows
    ]
    counts = []
    for judge, cells in zip(judges, found, strict=True):
        tasks = [row for row in cells.values() if row.scope == "task"] or list(cells.values())
        counts.append((judge.name, sum(row.standing == "better" for row in tasks), len(tasks)))
    name, better, total = counts[0]
    finding = f"{name} is better than the local baseline in {better} of {many(total, 'task')}"
    if len(counts) > 1:
        finding = counted("Tasks in which a judge is better than the local baseline", counts)
    caption = (
        "Judge less the local baseline, on the questions that the baseline answered. "
        f"{INTERVALS} They are unadjusted."
    )
    columns = ("judge", "task", *ESTIMATE, "standing")
    titles, colours = [judge.name for judge in judges], colours_of(analysis, judges)
    return Figure(
        "baseline",
        finding,
        caption,
        columns,
        tuple(data),
        lambda width: forest(rows, titles, scale, width, colours=colours),
    )


def cost(analysis: Analysis) -> Figure | LeftOut:
    """Accuracy against tokens per verdict."""
    rows = [
        Priced(
            judge.name,
            k,
            ((judge.tokens_in or 0) + (judge.tokens_out or 0)) / judge.verdicts,
            judge.pairwise.accuracy.shown,
        )
        for k, judge in enumerate(shown(analysis))
        if judge.verdicts
        and judge.tokens_in is not None
        and judge.pairwise.accuracy.shown.value is not None
    ]
    if len(rows) < 2:
        return LeftOut("cost", "fewer than two judges have token counts")
    best = [row.title for row in front(rows)]
    finding = f"No judge is both cheaper and better than {listed(best)}"
    caption = (
        "Accuracy against prompt and reply tokens per verdict. The dashed line joins the Pareto "
        f"front. {INTERVALS}"
    )
    data = [(row.title, row.cost, *figures_of(row.share)) for row in rows]
    return Figure(
        "cost",
        finding,
        caption,
        ("judge", "tokens_per_verdict", *ESTIMATE),
        tuple(data),
        lambda width: cost_plot(rows, "Tokens per verdict", width),
    )
