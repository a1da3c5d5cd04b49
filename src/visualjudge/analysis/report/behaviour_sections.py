"""Sections on what sways a judge: order, properties of the options, probes, and the photograph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from visualjudge.analysis import columns, figure_text as words, repeated_rows as scopes
from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.comparison_columns import LEAK
from visualjudge.analysis.decisions.checks import Threshold
from visualjudge.analysis.figure_text import lower_first, plain_name
from visualjudge.analysis.figures import JudgeResult, Results
from visualjudge.analysis.plots.figure import Figure, LeftOut
from visualjudge.analysis.report.accuracy_plots import MOST_SERIES
from visualjudge.analysis.report.examples import probe_examples
from visualjudge.analysis.report.section import Section, each, grid, those_drawn, titled, why_none
from visualjudge.analysis.rule_text import as_right
from visualjudge.core.text_tables import Table


def sways(
    results: Results,
    judges: Sequence[JudgeResult],
    drawn: Mapping[str, Figure | LeftOut],
    allowed: Threshold,
) -> list[Section]:
    """Return the sections on biases, scores and rules; ``allowed`` is the position bias that the
    card allows.
    """
    flagged = [
        as_right(row)
        for row in scopes.leaks(results.leaks)
        if row.flagged or (row.scope == "all" and row.share.n)
    ]
    return [
        Section(
            "bias",
            "Does the judge prefer the first option?",
            _preference(judges, allowed),
            each(judges, _leanings),
            figures=those_drawn(drawn["leanings"], drawn["swap"]),
            missing=why_none(drawn["leanings"], drawn["swap"]),
        ),
        Section(
            "scores",
            "How do the judge’s scores relate to the truth?",
            "",
            figures=those_drawn(drawn["scores"], drawn["reliability"]),
            missing=why_none(drawn["scores"], drawn["reliability"]),
        ),
        Section(
            "leaks",
            "Can the questions be gamed?",
            "A rule chooses by one property of the options, such as the size of the file. Its "
            "accuracy is a property of the questions, not of the judges.",
            [
                replace(
                    grid(LEAK, flagged, hit=lambda row: row.flagged), keys=2, notes=(BOLD_RULES,)
                )
            ],
            figures=those_drawn(drawn["rules"]),
            missing=why_none(drawn["rules"]),
        ),
    ]


def _preference(judges: Sequence[JudgeResult], allowed: Threshold) -> str:
    """Explain a preference for a place that is certain while its check is undecided; "" if no judge
    has one.
    """
    names = [
        judge.name
        for judge in judges
        for row in judge.bias
        if row.feature == "position" and row.flagged and row.estimate.interval is not None
        for low, high in [row.estimate.interval]
        if low is not None and high is not None and allowed.state((low, high)) == "undecided"
    ]
    if not names:
        return ""
    return (
        f"{words.listed(names)}: the preference is significant, because its interval excludes 0, "
        "but its check is undecided, because the interval lies neither entirely within nor "
        f"entirely outside the ±{100 * allowed.value:g} points that are allowed."
    )


BOLD_RULES = (
    "Rules in bold differ significantly from 50 %: p is below 5 % and the interval excludes 50 %."
)


def _leanings(judge: JudgeResult) -> Table:
    rows = [row for row in judge.bias if row.estimate.n]
    found = grid(columns.PREFERENCE, rows, hit=lambda row: row.flagged)
    notes = ("Rows with p below 5 % are bold.",) if any(row.flagged for row in rows) else ()
    return replace(found, notes=notes)


def probes(
    analysis: Analysis, shown: Sequence[int], drawn: Mapping[str, Figure | LeftOut]
) -> Section:
    judges = [judge for judge in (analysis.results.judges[i] for i in shown) if judge.probes]
    first = next((i for i in shown if analysis.results.judges[i].probes), None)
    return Section(
        "probes",
        "Do irrelevant changes affect the answers?",
        "A judge that ignores the change has an effect of 0. A probe passes where its 90 % "
        "interval is within the margin (two one-sided tests at 5 %), fails where its 95 % interval "
        "excludes 0 and the effect is at least the margin, and is undecided otherwise. A staircase "
        "of severity passes where its 95 % interval is below 0.",
        [
            *each(
                judges,
                lambda j: grid(
                    columns.PROBE,
                    [row for row in j.probes if row.effect.value is not None],
                    hit=lambda row: row.state == "fail",
                ),
            ),
            *each(judges, lambda j: grid(columns.TRUST, j.tool_trust)),
        ],
        notes=_without_effect(judges),
        figures=those_drawn(drawn["probes"], drawn["tools"]),
        examples=[("An example of each probe", probe_examples(analysis.study, first))]
        if first is not None
        else [],
        open=not those_drawn(drawn["probes"], drawn["tools"]),
    )


def _without_effect(judges: Sequence[JudgeResult]) -> list[str]:
    """Return the probes that were asked but have too few questions for an effect."""
    said = []
    for judge in judges:
        names = [plain_name(row.name) for row in judge.probes if row.effect.value is None]
        if names:
            count = words.many(len(names), "probe")
            said.append((f"too few questions for {count}: {words.listed(names, 20)}", judge.name))
    return [f"{words.grouped(said)}."] if said else []


def photograph(judges: Sequence[JudgeResult], drawn: Mapping[str, Figure | LeftOut]) -> Section:
    asked = [(judge, judge.photograph) for judge in judges if judge.photograph is not None]
    return Section(
        "photograph",
        "Does the judge need the photograph?",
        "The judge was asked the same pairs again with uniform grey, and with another photograph, "
        "in place of the photograph, also below overlays. Right answers then come from the "
        "predictions alone. The figure and the sentences give the smaller of the two gains.",
        [
            titled(judge.name, grid(columns.PHOTOGRAPH, [need.all, *need.by_task]))
            for judge, need in asked
        ],
        notes=[
            f"{judge.name}: {lower_first(words.photograph(judge) or '')}"
            for judge, _ in asked
            if len(asked) <= MOST_SERIES
        ],
        figures=those_drawn(drawn["photograph"]),
    )
