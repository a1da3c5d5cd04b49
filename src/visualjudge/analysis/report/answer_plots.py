"""What a report opens with, as figures: the checks beside their thresholds, and the sources by
judge and by truth.
"""

from __future__ import annotations

from collections.abc import Sequence

from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.decisions.card import usual_card
from visualjudge.analysis.decisions.check_figures import checks_of
from visualjudge.analysis.figure_text import grouped, listed, opposite, rule
from visualjudge.analysis.figures import JudgeResult, SourceRow
from visualjudge.analysis.plots.figure import Figure, LeftOut
from visualjudge.analysis.plots.forest import ForestRow, forest
from visualjudge.analysis.plots.panels import Slope, SlopeRow, slopes
from visualjudge.analysis.report.accuracy_plots import (
    ESTIMATE,
    INTERVALS,
    SHARES,
    colours_of,
    figures_of,
    order,
    shown,
)
from visualjudge.analysis.report.readings import plain_name, rough_share
from visualjudge.analysis.value_and_interval import Share

MOST_PANELS = 4
"""Judges beside each other in a slope chart."""
MOST_SOURCES, FEW_SOURCES = 14, 7
"""Sources of a slope chart, of up to two judges and of more."""
GUESS = 0.5
"""Right answers of a rule that tells nothing."""


def checks(analysis: Analysis) -> Figure | LeftOut:
    """The checks of the card: each figure, its interval, its threshold and its state."""
    card = usual_card(analysis)
    return checks_of([card.judges[i] for i in order(analysis)])


def groups_of(analysis: Analysis) -> list[str]:
    """The groups of sources that are compared with each other, those with most sources first."""
    sizes: dict[str, int] = {}
    for judge in shown(analysis):
        for name, rows in judge.leaderboard.groups:
            sizes[name] = max(sizes.get(name, 0), len(rows))
    return sorted(
        (name for name, size in sizes.items() if size > 1), key=lambda name: (-sizes[name], name)
    )


def sources(analysis: Analysis, group: str | None = None) -> Figure | LeftOut:
    """The sources of one group (default: the largest) by rank: by each judge beside by the
    truth.
    """
    groups = groups_of(analysis)
    if not groups:
        return LeftOut("sources", "no question compares two named sources of one task")
    group = groups[0] if group is None else group
    judges = [judge for judge in shown(analysis) if _rows(judge, group)]
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
    caption = (
        "Sources by rank, those of one rank level; a number after an error type is its severity. "
        + (
            "The bars left of the markers, one for each source in the order of the rows, span the "
            "ranks that it may have (95 %, of this source alone); a source without one may have "
            "any rank. "
            if any(_narrowed(_rows(judge, group)) for judge in judges)
            else "Each source may have any rank (95 %). "
        )
        + "Lines that cross are sources that judge and truth put in a different order."
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
    told = grouped((_first(_rows(judge, group)), judge.name) for judge in judges)
    if len(judges) == 1:
        told = _first(_rows(judges[0], group))
    if len(judges) > 2:
        alike = sum(_agreed(_rows(judge, group)) for judge in judges)
        told = f"{alike} of {len(judges)} judges put first a source that the truth puts first"
    finding = f"{group_name(group).capitalize()}: {told}"
    name = "sources" if group == groups[0] else f"sources-{groups.index(group) + 1}"
    return Figure(name, finding, caption, columns, tuple(data), lambda width: slopes(charts, width))


def group_name(group: str) -> str:
    """The tasks of a group of sources, in words."""
    return listed([plain_name(task) for task in group.split(" + ")])


def _rows(judge: JudgeResult, group: str) -> Sequence[SourceRow]:
    return next(
        (rows for name, rows in judge.leaderboard.groups if name == group and len(rows) > 1), ()
    )


def _narrowed(rows: Sequence[SourceRow]) -> bool:
    """Whether some source may not have every rank."""
    return any(row.rank_set and row.rank_set[1] - row.rank_set[0] + 1 < len(rows) for row in rows)


def _slope(judge: JudgeResult, series: int, rows: Sequence[SourceRow], most: int) -> Slope:
    kept = sorted(rows, key=lambda row: row.rank)[:most]
    drawn = tuple(SlopeRow(row.source, row.rank, row.rank_set, row.true_rank) for row in kept)
    return Slope(judge.name, series, drawn, len(rows))


def _agreed(rows: Sequence[SourceRow]) -> bool:
    """Whether the judge's first source is one of those that the truth puts first."""
    return min(rows, key=lambda row: row.rank).true_rank == 1


def _first(rows: Sequence[SourceRow]) -> str:
    """Whether judge and truth agree on the best source."""
    if len({row.true_rank for row in rows}) == 1:
        return f"not measured, the truth puts all {len(rows)} sources level"
    ahead = min(rows, key=lambda row: row.rank)
    true = [row.source for row in rows if row.true_rank == 1]
    if ahead.source in true:
        return f"“{ahead.source}” is first, by the judge and by the truth"
    if len(true) < 3:
        return f"first is “{ahead.source}”, by the truth {listed([f'“{name}”' for name in true])}"
    return f"first is “{ahead.source}”; by the truth {len(true)} sources share the first place"


def rules(analysis: Analysis) -> Figure | LeftOut:
    """A row for each shallow rule: how often it is right on these questions, whatever the judge."""
    found = [row for row in analysis.results.leaks if row.scope == "all" and row.share.n]
    if not found:
        return LeftOut("rules", "no pair differs in length, count, size or place")
    found.sort(key=lambda row: -(row.share.value or 0.0))
    rows = [ForestRow(rule(row), (row.share,), GUESS) for row in found]
    flagged = [row for row in found if row.flagged]
    best = max(flagged or found, key=lambda row: abs((row.share.value or GUESS) - GUESS))
    taken, share = rule(best), best.share
    if (share.value or GUESS) < GUESS:
        low, high = share.interval or (None, None)
        ends = None if low is None or high is None else (1 - high, 1 - low)
        value = 1 - (share.value or 0.0)
        taken, share = opposite(best), Share(value, ends, share.n, share.images, share.why)
    said = f"“{taken}” is right in {rough_share(share)}"
    finding = (
        f"They can be gamed: {said}" if flagged else f"No rule is certain to beat guessing; {said}"
    )
    data = [(row.rule, *figures_of(row.share), row.p_holm, row.flagged) for row in found]
    caption = (
        "How often a rule is right that looks at one property of the options and never at the "
        f"image. {INTERVALS} The dashed line is guessing."
    )
    return Figure(
        "rules",
        finding,
        caption,
        ("rule", *ESTIMATE, "p_holm", "flagged"),
        tuple(data),
        lambda width: forest(rows, [""], SHARES, width, chance="guessing"),
    )
