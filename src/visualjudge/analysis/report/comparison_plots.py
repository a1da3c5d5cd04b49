"""Figures that put judges beside each other, beside the local baseline, and beside their cost."""

from __future__ import annotations

from collections.abc import Sequence

from visualjudge.analysis import repeated_rows
from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.figure_text import counted, listed, many
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
        f"; about {many(row.more_images, 'more image')} would show {100 * row.asked_gap:g} points"
        if row.more_images
        else ""
    )
    among = (
        f"between {row.a} and {row.b}"
        if len(pairs) == 1
        else f"among {listed(sorted({n for p in pairs for n in (p.a, p.b)}))}"
    )
    return f"No difference {among} is certain{more}"


def baseline(analysis: Analysis) -> Figure | LeftOut:
    """A row for each task: how far each judge is above the local baseline."""
    judges = [judge for judge in shown(analysis) if judge.above_baseline][:MOST_SERIES]
    if not judges:
        return LeftOut(
            "baseline", "no run of the local baseline is beside these judges (--baseline adds one)"
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
