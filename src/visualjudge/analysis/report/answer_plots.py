"""What a report opens with, as figures: the checks beside their thresholds, and the sources by judge and by truth."""

from __future__ import annotations

from collections.abc import Sequence

from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.decisions.card import JudgeCard, usual_card
from visualjudge.analysis.decisions.card_page import asked_for, shown_value
from visualjudge.analysis.decisions.checks import LABELS, STATES, Check, Threshold
from visualjudge.analysis.figures import JudgeResult, SourceRow
from visualjudge.analysis.plots.figure import Figure, LeftOut
from visualjudge.analysis.plots.slope import Slope, SlopeRow, slopes
from visualjudge.analysis.plots.thresholds import CheckRow, Held, thresholds
from visualjudge.analysis.report.accuracy_plots import shown
from visualjudge.analysis.report.readings import listed, plain_name
from visualjudge.analysis.words import many

MOST_PANELS = 4
"""Judges beside each other in a slope chart."""
MOST_JUDGES = 6
"""Judges whose checks are drawn."""
MOST_SOURCES = 14
ENDS = {
    "macro_accuracy": (0.0, 1.0),
    "right_in_both_orders": (0.0, 1.0),
    "lean": (-0.3, 0.3),
    "failed": (0.0, 0.2),
    "order_of_sources": (-1.0, 1.0),
    "favour": (0.0, 5.0),
    "omega": (0.0, 1.0),
}
"""The axis of each check, which grows where an interval is longer."""


def checks(analysis: Analysis) -> Figure:
    """The checks of the card: each figure, its interval, its threshold and its state."""
    card = usual_card(analysis)
    judges = [card.judges[i] for i in analysis.results.shown]
    return checks_of(judges)


def checks_of(judges: Sequence[JudgeCard]) -> Figure:
    """The checks of some judges' cards."""
    drawn = judges[:MOST_JUDGES]
    by_name = {line.name: [_line(judge, line.name) for judge in drawn] for line in drawn[0].checks}
    measured = {name: lines for name, lines in by_name.items() if any(line.value is not None for line in lines)}
    rows = [_row(name, lines) for name, lines in measured.items()]
    missing = [LABELS[name].lower() for name in by_name if name not in measured]
    data = [
        (judge.judge, line.name, line.value, *(line.interval or (None, None)), line.images, line.threshold.direction,
         line.threshold.value, line.state, line.needs_images)
        for judge in judges
        for line in judge.checks
    ]  # fmt: skip
    caption = (
        "Each check on its own axis: the shaded part passes, the line is the threshold. A check passes where its whole "
        "95 % interval lies in that part, fails where it lies outside, and is undecided else."
        + (f" Not measured: {listed(missing, 7)}." if missing else "")
        + (f" The first {MOST_JUDGES} of {len(judges)} judges are drawn." if len(judges) > MOST_JUDGES else "")
    )
    columns = (
        "judge", "check", "value", "low", "high", "images", "direction", "threshold", "state", "needs_images"
    )  # fmt: skip
    names = [judge.judge for judge in drawn]
    return Figure(
        "checks", "; ".join(map(_counted, drawn)), caption, columns, tuple(data),
        lambda width: thresholds(rows, names, width),
    )  # fmt: skip


def _line(judge: JudgeCard, name: str) -> Check:
    return next(line for line in judge.checks if line.name == name)


def _row(name: str, lines: Sequence[Check]) -> CheckRow:
    held = tuple(Held(line.value, line.interval, line.images, line.state, _said(line)) for line in lines)
    low, high = ENDS[name]
    reached = [end for line in lines for end in (line.value, *(line.interval or ())) if end is not None]
    ends = (min(low, *reached), max(high, *reached)) if reached else (low, high)
    return CheckRow(LABELS[name], asked_for(lines[0]), ends, _passing(lines[0].threshold, ends), held)


def _passing(threshold: Threshold, ends: tuple[float, float]) -> tuple[float, float]:
    limit = threshold.value
    return {"at_least": (limit, ends[1]), "at_most": (ends[0], limit), "within": (-limit, limit)}[threshold.direction]


def _said(line: Check) -> str:
    """79 %: undecided, needs about 40 more images."""
    return f"{shown_value(line, digits=2)}: {line.said}" if line.value is not None else line.said


def _counted(judge: JudgeCard) -> str:
    """local passes 3 of 6 checks, fails 1 (Right in both orders); 2 undecided."""
    lines = [line for line in judge.checks if line.state != "not_measured"]
    failed = [LABELS[line.name].lower() for line in lines if line.state == "fail"]
    counts = {state: sum(line.state == state for line in lines) for state in STATES}
    named = f", fails {len(failed)} ({listed(failed)})" if failed else ""
    open_ = f"; {counts['undecided']} undecided" if counts["undecided"] else ""
    return f"{judge.judge} passes {counts['pass']} of {many(len(lines), 'check')}{named}{open_}"


def groups_of(analysis: Analysis) -> list[str]:
    """The groups of sources that are compared with each other, those with most sources first."""
    sizes: dict[str, int] = {}
    for judge in shown(analysis):
        for name, rows in judge.leaderboard.groups:
            sizes[name] = max(sizes.get(name, 0), len(rows))
    return sorted((name for name, size in sizes.items() if size > 1), key=lambda name: (-sizes[name], name))


def sources(analysis: Analysis, group: str | None = None) -> Figure | LeftOut:
    """The sources of one group (default: the largest) by rank: by each judge beside by the truth."""
    groups = groups_of(analysis)
    if not groups:
        return LeftOut("sources", "the questions compare no two named sources of one task")
    group = groups[0] if group is None else group
    judges = [judge for judge in shown(analysis) if _rows(judge, group)]
    charts = [_slope(judge, k, _rows(judge, group)) for k, judge in enumerate(judges[:MOST_PANELS])]
    data = [
        (judge.name, group, row.source, row.rank, *(row.rank_set or (None, None)), row.true_rank, row.strength.value,
         *(row.strength.interval or (None, None)), row.true_strength, row.strength.images)
        for judge in judges
        for row in _rows(judge, group)
    ]  # fmt: skip
    count = max(len(_rows(judge, group)) for judge in judges)
    caption = (
        f"Sources of {_group_name(group)}, by rank. The bar beside a source holds the ranks that it may have (95 %, of "
        "this source alone); lines that cross are sources that judge and truth put in a different order."
        + (f" The first {MOST_SOURCES} of {count} sources are drawn." if count > MOST_SOURCES else "")
    )
    columns = ("judge", "group", "source", "rank", "best_rank", "worst_rank", "true_rank", "strength", "low", "high",
               "true_strength", "images")  # fmt: skip
    finding = "; ".join(_first(judge, _rows(judge, group)) for judge in judges[:MOST_PANELS])
    name = "sources" if group == groups[0] else f"sources-{groups.index(group) + 1}"
    return Figure(name, finding, caption, columns, tuple(data), lambda width: slopes(charts, width))


def _group_name(group: str) -> str:
    return listed([plain_name(task) for task in group.split(" + ")])


def _rows(judge: JudgeResult, group: str) -> Sequence[SourceRow]:
    return next((rows for name, rows in judge.leaderboard.groups if name == group and len(rows) > 1), ())


def _slope(judge: JudgeResult, series: int, rows: Sequence[SourceRow]) -> Slope:
    kept = sorted(rows, key=lambda row: row.rank)[:MOST_SOURCES]
    return Slope(judge.name, series, tuple(SlopeRow(row.source, row.rank, row.rank_set, row.true_rank) for row in kept))


def _first(judge: JudgeResult, rows: Sequence[SourceRow]) -> str:
    """Whether judge and truth agree on the best source."""
    ahead = min(rows, key=lambda row: row.rank)
    true = [row.source for row in rows if row.true_rank == 1]
    if ahead.source in true:
        return f"{judge.name} and the truth agree on the best source, {ahead.source}"
    return f"{judge.name} puts {ahead.source} first, the truth {listed(true, 2)}"
