"""Figures that compare judges with thresholds, the truth, each other, the local baseline and their
cost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from visualjudge.analysis import repeated_rows
from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.decisions.card import usual_card
from visualjudge.analysis.decisions.pairs_figure import pairs_figure
from visualjudge.analysis.figure_text import (
    about_images,
    counted,
    grouped,
    listed,
    many,
    plain_name,
)
from visualjudge.analysis.figures import Comparison, JudgeResult
from visualjudge.analysis.plots.figure import Figure, LeftOut
from visualjudge.analysis.plots.forest import ForestRow, Scale, forest
from visualjudge.analysis.plots.panels import Slope, SlopeRow, slopes
from visualjudge.analysis.plots.points import Priced, cost_plot, front
from visualjudge.analysis.report.accuracy_plots import (
    ESTIMATE,
    MOST_SERIES,
    SHARES,
    colours_of,
    figures_of,
    intervals,
    minus,
    order,
    reach,
    shown,
    unadjusted,
)
from visualjudge.analysis.report.readings import points_tick, rough_points, rough_share
from visualjudge.analysis.rule_text import as_right, best_rule
from visualjudge.analysis.source_figures import SourceRow
from visualjudge.analysis.value_and_interval import NO_TRUTH, Estimate
from visualjudge.judges.registry import LOCAL

LEVEL = 0.05


def _first(analysis: Analysis, judges: Sequence[JudgeResult]) -> str:
    """Return the reference judge: the first of two, or of more the one significantly better than
    most others, then the most accurate.
    """
    if len(judges) == 2:
        return judges[0].name
    wins = Counter(
        row.a if (row.gap.value or 0.0) > 0 else row.b
        for row in analysis.results.comparisons
        if row.p_holm is not None and row.p_holm < LEVEL
    )
    known = [(wins[j.name], j.pairwise.accuracy.shown.value or 0.0, j.name) for j in judges]
    return max(known)[2]


def _from(first: str, row: Comparison) -> tuple[str, Callable[[Estimate], Estimate]]:
    """Return the other judge, and a function that converts the row's difference to ``first`` minus
    that judge.
    """
    return (row.b, lambda gap: gap) if row.a == first else (row.a, minus)


def compared(analysis: Analysis) -> Figure | LeftOut:
    """Draw a row for each other judge: how much better the best judge is on the questions both were
    asked.
    """
    judges = shown(analysis)
    first, names = _first(analysis, judges), {judge.name for judge in judges}
    pairs = [
        row
        for row in analysis.results.comparisons
        if {row.a, row.b} <= names and row.gap.value is not None
    ]
    if not pairs:
        alone = "only one judge was asked" if len(names) == 1 else "no two judges share a question"
        unknown = any(row.gap.why == NO_TRUTH for row in analysis.results.comparisons)
        return LeftOut("judges", NO_TRUTH if unknown else alone)
    mine = sorted(
        (row for row in pairs if first in (row.a, row.b)), key=lambda row: -abs(row.gap.value or 0)
    )
    turned = [(name, turn(row.gap), row) for row in mine for name, turn in [_from(first, row)]]
    few = len(judges) <= MOST_SERIES
    number = {judge.name: k for k, judge in enumerate(judges)} if few else {}
    rows = [ForestRow(name, (gap,), colour=number.get(name)) for name, gap, _ in turned]
    end = reach((gap for _, gap, _ in turned), 0.05)
    label = f"Points in favour of {first}"
    scale = Scale(-end, end, points_tick, rough_points, label, 0.0)
    left = " The other differences are in the table." if len(pairs) > len(rows) else ""
    data = [(row.a, row.b, *figures_of(row.gap), row.p_holm) for row in pairs]
    return Figure(
        "judges",
        _better(first, turned),
        f"Accuracy of {first} minus that of each other judge, on the questions that both were "
        "asked.",
        ("first", "second", *ESTIMATE, "p_holm"),
        tuple(data),
        lambda width: forest(rows, [""], scale, width),
        f"{unadjusted()}{left}",
    )


def _better(first: str, beside: Sequence[tuple[str, Estimate, Comparison]]) -> str:
    """Say which judges the first one is significantly better or worse than."""
    certain = {n: gap for n, gap, row in beside if row.p_holm is not None and row.p_holm < LEVEL}
    level = [name for name, _, _ in beside if name not in certain]
    if not certain:
        row = beside[0][2]
        more = (
            f"; {about_images(row.more_images)} would show a difference of "
            f"{100 * row.asked_gap:g} points"
            if row.more_images
            else ""
        )
        return (
            f"Over all questions, no difference between {first} and {listed(level)} is "
            f"significant{more}"
        )
    alone = len(beside) == 1
    gap = beside[0][1]
    size = rough_points(gap if (gap.value or 0.0) > 0 else minus(gap)).lstrip("+")
    by = f" by {size} points" if alone else ""
    ways = (
        ("better", [name for name, gap in certain.items() if (gap.value or 0.0) > 0]),
        ("worse", [name for name, gap in certain.items() if (gap.value or 0.0) < 0]),
    )
    said = [f"{word} than {listed(names, 6)}{by}" for word, names in ways if names]
    rest = f"; can’t tell yet for {listed(level, 6)}" if level else ""
    return f"{first}: {', '.join(said)}{rest}"


def compared_by_task(analysis: Analysis) -> Figure | LeftOut:
    """Draw a row for each task: the difference between two judges, or between the best judge and
    each other one.
    """
    judges = shown(analysis)
    first, names = _first(analysis, judges), {judge.name for judge in judges}
    pairs = [r for r in analysis.results.comparisons if {r.a, r.b} <= names and len(r.by_task) > 1]
    if not pairs or len(judges) > MOST_SERIES:
        reason = (
            f"drawn for up to {MOST_SERIES} judges" if pairs else "no two judges share two tasks"
        )
        return LeftOut("judges_by_task", reason)
    beside = {
        name: {row.task: (turn(row.gap), row.p_holm) for row in r.by_task}
        for r in pairs
        if first in (r.a, r.b)
        for name, turn in [_from(first, r)]
    }
    others = [judge for judge in judges if judge.name in beside]
    titles = [judge.name for judge in others]
    tasks = list(dict.fromkeys(task for found in beside.values() for task in found))
    rows = [
        ForestRow(plain_name(task), tuple(beside[n].get(task, (None,))[0] for n in titles))
        for task in tasks
    ]
    end = reach((e for row in rows for e in row.estimates), 0.05)
    other = titles[0] if len(beside) == 1 else "the other judge"
    label = f"← in favour of {other} · points · {first} →"
    scale = Scale(-end, end, points_tick, rough_points, label, 0.0)
    series, colours = ([""], [0]) if len(others) == 1 else (titles, colours_of(analysis, others))
    data = [
        (r.a, r.b, row.task, *figures_of(row.gap), row.p_holm) for r in pairs for row in r.by_task
    ]
    minuend = other if len(beside) == 1 else "each other judge"
    return Figure(
        "judges_by_task",
        f"{first} compared "
        + grouped((_where_better(beside[name]), f"with {name}") for name in titles),
        f"Accuracy of {first} minus that of {minuend} by task, on the questions that both were "
        "asked.",
        ("first", "second", "task", *ESTIMATE, "p_holm"),
        tuple(data),
        lambda width: forest(rows, series, scale, width, colours=colours),
        f"{unadjusted()} The title names the differences that are significant after Holm’s "
        "adjustment over all tasks and judges.",
    )


def _where_better(found: Mapping[str, tuple[Estimate, float | None]]) -> str:
    """Return text such as "better at object detection, worse at instance segmentation"."""
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
    return ", ".join(said) or f"no significant difference in any of {many(len(found), 'task')}"


def baseline(analysis: Analysis) -> Figure | LeftOut:
    """Draw a row for each task: how far each judge is above the local baseline."""
    judges = [judge for judge in shown(analysis) if judge.above_baseline][:MOST_SERIES]
    if not judges:
        alone = any(judge.info.get("backend") == LOCAL for judge in shown(analysis))
        return LeftOut(
            "baseline",
            "the local baseline is the only judge"
            if alone
            else "the local baseline was not run: `judge --backend local`, then report both runs",
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
    finding = f"{name}: better than the local baseline in {better} of {many(total, 'task')}"
    if len(counts) > 1:
        finding = counted("Tasks in which a judge is better than the local baseline", counts)
    columns = ("judge", "task", *ESTIMATE, "standing")
    titles, colours = [judge.name for judge in judges], colours_of(analysis, judges)
    return Figure(
        "baseline",
        finding,
        "Accuracy of the judge minus that of the local baseline, on the questions that the "
        "baseline answered.",
        columns,
        tuple(data),
        lambda width: forest(rows, titles, scale, width, colours=colours),
        unadjusted(),
    )


def cost(analysis: Analysis) -> Figure | LeftOut:
    """Plot accuracy against tokens per verdict."""
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
    data = [(row.title, row.cost, *figures_of(row.share)) for row in rows]
    return Figure(
        "cost",
        finding,
        "Accuracy against the number of tokens in the prompt and the reply, per verdict.",
        ("judge", "tokens_per_verdict", *ESTIMATE),
        tuple(data),
        lambda width: cost_plot(rows, "Tokens per verdict", width),
        "The dashed line joins the Pareto front: the judges that no other judge beats in both cost "
        f"and accuracy. {intervals()}",
    )


MOST_PANELS = 4
"""Number of judges shown side by side in a slope chart."""
MOST_SOURCES, FEW_SOURCES = 14, 7
"""Number of sources in a slope chart, for up to two judges and for more."""
GUESS = 0.5
"""Accuracy of an uninformative rule."""


def pairs(analysis: Analysis) -> Figure | LeftOut:
    """Draw each pair of models by truth and by judge."""
    card = usual_card(analysis)
    return pairs_figure([card.judges[i] for i in order(analysis)])


def groups_of(analysis: Analysis) -> list[str]:
    """Return the groups of sources that are compared with each other, largest group first."""
    sizes: dict[str, int] = {}
    for judge in shown(analysis):
        for name, rows in judge.leaderboard.groups:
            sizes[name] = max(sizes.get(name, 0), len(rows))
    return sorted(
        (name for name, size in sizes.items() if size > 1), key=lambda name: (-sizes[name], name)
    )


def sources(analysis: Analysis, group: str | None = None) -> Figure | LeftOut:
    """Rank the sources of one group (default: the largest) by each judge and by the truth."""
    groups = groups_of(analysis)
    if not groups:
        return LeftOut("sources", "no question compares two named sources of one task")
    group = groups[0] if group is None else group
    judges = [judge for judge in shown(analysis) if _truth_known(_rows(judge, group))]
    if not judges:
        return LeftOut("sources", NO_TRUTH)
    places = zip(judges[:MOST_PANELS], colours_of(analysis, judges), strict=False)
    most = MOST_SOURCES if len(judges) < 3 else FEW_SOURCES
    charts = [_slope(judge, k, _rows(judge, group), most) for judge, k in places]
    data = [
        (
            judge.name,
            group,
            row.source,
            row.rank,
            *(row.rank_set or (None, None)),
            row.true_rank,
            row.strength.value,
            *(row.strength.interval or (None, None)),
            row.true_strength,
            row.strength.images,
        )
        for judge in judges
        for row in _rows(judge, group)
    ]
    count = max(len(_rows(judge, group)) for judge in judges)
    reading = (
        (
            "The bars left of the markers, one for each source in the order of the rows, span the "
            "ranks that the source may have (95 %, each source by itself); a source without a bar "
            "may have any rank. "
            if any(_narrowed(_rows(judge, group)) for judge in judges)
            else "Each source may have any rank (95 %). "
        )
        + "Lines cross where judge and truth rank two sources differently. A number after "
        "an error type is its severity."
        + (f" The first {most} of {count} sources are drawn." if count > most else "")
        + (
            f" The first {MOST_PANELS} of {len(judges)} judges are drawn."
            if len(judges) > MOST_PANELS
            else ""
        )
    )
    columns = (
        "judge",
        "group",
        "source",
        "rank",
        "best_rank",
        "worst_rank",
        "true_rank",
        "strength",
        "low",
        "high",
        "true_strength",
        "images",
    )
    told = grouped((_first_source(_rows(judge, group)), judge.name) for judge in judges)
    if len(judges) == 1:
        told = _first_source(_rows(judges[0], group))
    if len(judges) > 2:
        alike = sum(_agreed(_rows(judge, group)) for judge in judges)
        told = f"{alike} of {len(judges)} judges agree with the truth on the best source"
    said = told if len(judges) == 2 else told[:1].upper() + told[1:]  # two begin with a name
    finding = f"{said}, in {group_name(group)}"
    name = "sources" if group == groups[0] else f"sources-{groups.index(group) + 1}"
    return Figure(
        name,
        finding,
        "Ranks of the sources by the judge and by the truth.",
        columns,
        tuple(data),
        lambda width: slopes(charts, width),
        reading,
    )


def group_name(group: str) -> str:
    """Name the tasks of a group of sources."""
    return listed([plain_name(task) for task in group.split(" + ")])


def _rows(judge: JudgeResult, group: str) -> Sequence[SourceRow]:
    return next(
        (rows for name, rows in judge.leaderboard.groups if name == group and len(rows) > 1), ()
    )


def _truth_known(rows: Sequence[SourceRow]) -> bool:
    """Return whether there are sources that the truth ranks."""
    return any(row.true_rank for row in rows)


def _narrowed(rows: Sequence[SourceRow]) -> bool:
    """Return whether any source has a restricted set of possible ranks."""
    return any(row.rank_set and row.rank_set[1] - row.rank_set[0] + 1 < len(rows) for row in rows)


def _slope(judge: JudgeResult, series: int, rows: Sequence[SourceRow], most: int) -> Slope:
    kept = sorted(rows, key=lambda row: row.rank)[:most]
    drawn = tuple(SlopeRow(row.source, row.rank, row.rank_set, row.true_rank) for row in kept)
    return Slope(judge.name, series, drawn, len(rows))


def _agreed(rows: Sequence[SourceRow]) -> bool:
    """Return whether the judge's first source is one of the true best sources."""
    return min(rows, key=lambda row: row.rank).true_rank == 1


def _first_source(rows: Sequence[SourceRow]) -> str:
    """Say whether judge and truth agree on the best source."""
    if len({row.true_rank for row in rows}) == 1:
        return f"not measured, because all {len(rows)} sources are equally good by the truth"
    ahead = min(rows, key=lambda row: row.rank)
    true = [row.source for row in rows if row.true_rank == 1]
    if ahead.source in true:
        return f"judge and truth rank “{ahead.source}” first"
    if len(true) < 3:
        return (
            f"the judge ranks “{ahead.source}” first, the truth "
            f"{listed([f'“{name}”' for name in true])}"
        )
    return (
        f"the judge ranks “{ahead.source}” first; by the truth, {len(true)} sources share the "
        "first place"
    )


def rules(analysis: Analysis) -> Figure | LeftOut:
    """Draw a row for each shallow rule: how often it is right on these questions, independent of
    any judge.
    """
    found = [row for row in analysis.results.leaks if row.scope == "all" and row.share.n]
    if not found:
        return LeftOut(
            "rules",
            "no pair differs in length, count or size, and none was asked in one order only",
        )
    turned = sorted(
        ((as_right(row), row.rule) for row in found), key=lambda one: -(one[0].share.value or 0.0)
    )
    rows = [ForestRow(row.rule, (row.share,), GUESS) for row, _ in turned]
    flagged = [row for row in found if row.flagged]
    best = best_rule(flagged or found)
    assert best is not None, "at least one rule was found"
    share = best.share
    said = (
        f"“{best.rule}” is right in {rough_share(share)} of the {share.n:,} questions that it can "
        "decide"
    )
    finding = (
        f"The questions can be gamed: {said}"
        if flagged
        else f"No rule is significantly better than guessing; {said}"
    )
    data = [
        (rule, row.rule, *figures_of(row.share), row.p_holm, row.flagged) for row, rule in turned
    ]
    return Figure(
        "rules",
        finding,
        "Accuracy of rules that never look at the image.",
        ("rule", "drawn", *ESTIMATE, "p_holm", "flagged"),
        tuple(data),
        lambda width: forest(rows, [""], SHARES, width, chance="guessing"),
        "A rule chooses by one property of the options; questions whose options have the same "
        "value are left out. Of a rule and its opposite, the more accurate one is drawn. "
        f"{intervals()} The dashed line marks guessing.",
    )
