"""The sections of the report: one question each, answered with plots, tables and examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.columns import (
    COMPARISON,
    LEAK,
    PHOTOGRAPH,
    PREFERENCE,
    PROBE,
    SOURCE,
    VARIANCE,
    probes_sentence,
)
from visualjudge.analysis.comparisons import not_compared
from visualjudge.analysis.decisions.card import Card, tasks_table
from visualjudge.analysis.decisions.checks import checks_table
from visualjudge.analysis.estimate import LEVEL
from visualjudge.analysis.figure_text import (
    NONE,
    group_name,
    many,
    number,
    percent,
    plain_name,
    with_ends,
)
from visualjudge.analysis.figures import ALL, EncodingChoice, JudgeResult, Sensitivity
from visualjudge.analysis.identity import efforts
from visualjudge.analysis.leaks import as_right
from visualjudge.analysis.plots.figure import Figure, LeftOut
from visualjudge.analysis.report.examples import examples
from visualjudge.analysis.report.plots import encodings
from visualjudge.analysis.report.section import Section, across, by_rows, headline
from visualjudge.analysis.table_layout import grid
from visualjudge.core.text_tables import Table
from visualjudge.vision.encodings import encoding_title

Drawn = Mapping[str, Figure | LeftOut]
Judges = Sequence[JudgeResult]
FIVE = (
    "Verdicts on pairs",
    "Images",
    "Accuracy (95 %)",
    "Same when swapped",
    "Without an answer",
)
# Number of judges with examples, which are most of the page.
MOST_WITH_EXAMPLES = 2
APART = (
    "The judges were not all asked the same questions: only the comparisons of two judges are on "
    "the same questions."
)


def summary_sections(analysis: Analysis, shown: Sequence[int]) -> list[Section]:
    """Return what a page to pass on has below the answer: five numbers and three examples."""
    judges = [analysis.results.judges[i] for i in shown]
    rows = examples(analysis.study, shown[0], 3)
    return [
        Section("numbers", "Five numbers", asked=[headline(judges, FIVE)]),
        Section("questions", "Examples of errors", examples=[(judges[0].name, rows)]),
    ]


def sections(
    analysis: Analysis, shown: Sequence[int], card: Card, drawn: Drawn
) -> list[Section]:
    """Return the sections with content, in page order.

    ``shown``: the judges that it is about, by number; the headline has all.
    """
    every = analysis.results.judges
    judges = [every[i] for i in shown]
    names = {judge.name for judge in judges}
    by_task = tasks_table([own for own in card.judges if own.judge in names])
    found = [
        Section(
            "answers",
            "May I rank models of a single task?",
            asked=[replace(by_task, title="")],
            plots=[drawn["tasks"]] if isinstance(drawn["pairs"], Figure) else (),
        ),
        Section(
            "compared",
            "Which judge is better?",
            "Judges are compared on the questions that both were asked; a missing answer counts as "
            "wrong, but questions that the local judge declined are left out. "
            "p is clustered by image and adjusted by Holm’s method over all comparisons; rows with "
            "p below 5 % are bold. Intervals are not adjusted.",
            [
                grid(
                    COMPARISON,
                    [
                        row
                        for row in analysis.results.comparisons
                        if {row.a, row.b} <= names
                    ],
                    title="Pairs of judges",
                    notes=[note] if (note := not_compared(len(every))) else (),
                    keys=2,
                    hit=lambda row: row.p_holm is not None and row.p_holm < LEVEL,
                ),
                efforts(judges),
            ],
            plots=[drawn["judges"]],
        ),
        Section(
            "encodings",
            "Which encoding should I use?",
            "Encodings are compared on the same pairs. An encoding is recommended only if a "
            "difference is significant.",
            _encodings(judges),
            plots=encodings(analysis),
        ),
        Section(
            "errors",
            "Which errors does the judge see?",
            asked=[
                across(
                    "Error type", judges, lambda judge: judge.by_error_type, plain_name
                )
            ],
            plots=[drawn["errors"]],
        ),
        Section(
            "sensitivity",
            "How small a difference does the judge see?",
            "The table gives the difference at which a judge is right in 75 % of pairs; lower is "
            "better. It is given where accuracy rises significantly with the difference and the "
            "curve fits.",
            [_sensitivity(judges)],
            plots=[drawn["margin"], drawn["severity"]],
        ),
        Section(
            "bias",
            "Does the judge prefer the first option?",
            "Rows with p below 5 % after Holm’s adjustment are bold.",
            [
                grid(
                    PREFERENCE,
                    [row for row in judge.bias if row.estimate.n],
                    title=judge.name,
                    hit=lambda row: row.flagged,
                )
                for judge in judges
            ],
            plots=[drawn["leanings"]],
        ),
        Section(
            "scores",
            "How do the judge’s scores relate to the truth?",
            plots=[drawn["scores"], drawn["reliability"]],
        ),
        Section(
            "leaks",
            "Can the questions be gamed?",
            "A rule chooses by one property of the options, such as the size of the file. Its "
            "accuracy is a property of the questions, not of the judges. Rules in bold differ "
            "significantly from 50 %.",
            [
                grid(
                    LEAK,
                    [
                        as_right(row)
                        for row in analysis.results.leaks
                        if row.flagged or (row.scope == ALL and row.share.n)
                    ],
                    keys=2,
                    hit=lambda row: row.flagged,
                )
            ],
        ),
        Section(
            "photograph",
            "Does the judge need the photograph?",
            "The judge was asked the same pairs again with uniform grey, and with another "
            "photograph, in place of the photograph, also below overlays. Right answers then come "
            "from the predictions alone.",
            [grid(PHOTOGRAPH, judge.photograph, title=judge.name) for judge in judges],
            [f"{j.name}: {row.sentence}" for j in judges for row in j.photograph[:1]],
            [drawn["photograph"]],
        ),
        Section(
            "probes",
            "Do irrelevant changes affect the answers?",
            "A judge that ignores the change has an effect of 0. A probe passes where its 90 % "
            "interval is within the margin (two one-sided tests at 5 %), fails where its 95 % "
            "interval excludes 0 and the effect is at least the margin, or where replies without "
            "an answer become more frequent by 15 points. It is undecided otherwise, and not "
            "measured with answers to fewer than 40 questions. A staircase of severity passes "
            "where its 95 % interval is below 0.",
            [
                grid(
                    PROBE,
                    judge.probes,
                    title=judge.name,
                    hit=lambda row: row.state == "fail",
                )
                for judge in judges
            ],
            [
                f"{judge.name}: {probes_sentence(judge)}"
                for judge in judges
                if judge.probes
            ],
            [drawn["probes"]],
        ),
        Section(
            "questions",
            "Examples of errors",
            "Answers that were wrong by a wide margin, and replies that could not be read. The "
            "letters are those that the judge saw.",
            examples=[
                (every[i].name, examples(analysis.study, i))
                for i in shown[:MOST_WITH_EXAMPLES]
            ],
        ),
        Section(
            "headline",
            "Headline figures",
            APART if len({judge.asked_like for judge in every}) > 1 else "",
            [headline(every)],
            detail=True,
        ),
        Section(
            "checks",
            "Checks",
            asked=[checks_table({own.judge: own.checks for own in card.judges})],
            detail=True,
        ),
        Section(
            "tasks",
            "Tables by task",
            "Cells give the accuracy on pairs, its 95 % interval, and the number of verdicts and "
            "images.",
            [
                across("Task", judges, lambda judge: judge.by_task, plain_name),
                _graded(judges),
            ],
            detail=True,
        ),
        Section(
            "sources",
            "How the judge ranks the sources",
            "A source is a model whose predictions are judged, or a controlled error with its "
            "severity (duplicate 0.50). Its strength shows how often the judge prefers it: that of "
            "a Bradley–Terry model with ties (log odds, mean 0) and Firth’s penalty; a question "
            "answered differently when swapped is a tie. The interval of a source that never lost, "
            "or never won, is open on one side. Ranks, 95 %: the ranks that each source may have "
            "by itself.",
            [
                grid(SOURCE, rows, title=f"{judge.name}: {group_name(name, 4)}")
                for judge in judges
                for name, rows in judge.leaderboard.groups
            ],
            detail=True,
        ),
        Section(
            "variance",
            "Components of variance",
            "The share of the variance of right and wrong answers that comes from the pair of "
            "options, its encoding, the order shown and chance.",
            [
                grid(
                    VARIANCE,
                    [row for row in judge.variance if row.total],
                    title=judge.name,
                )
                for judge in judges
            ],
            detail=True,
        ),
        Section(
            "published",
            "Scores as in published benchmarks",
            "Scores as the benchmark’s authors compute and round them; their published replies are "
            "read with their rules. Scores cover the questions in this copy of the benchmark. If a "
            "run answered only a part of these, the part is stated, and the score may differ from "
            "the published one.",
            [_published(judges)],
            detail=True,
        ),
        Section(
            "unread",
            "What could not be read",
            "A reply that could not be read counts as wrong, as does a question that a judge "
            "declined or that a person could not answer.",
            [_unread(judges)],
            detail=True,
        ),
    ]
    return [section for section in found if section.filled]


def _encodings(judges: Judges) -> list[Table]:
    choices = {
        (plain_name(choice.task), judge.name): _recommended(choice)
        for judge in judges
        for choice in judge.encodings
        if len(choice.encodings) > 1
    }
    if not choices:
        return []
    return [
        by_rows("Task", judges, choices),
        across(
            "Encoding, on different pairs", judges, lambda j: j.by_encoding, _encoding
        ),
    ]


def _recommended(choice: EncodingChoice) -> str:
    if choice.recommended is None:
        return f"none: {choice.reason}"
    return f"{encoding_title(choice.task, choice.recommended)} ({choice.recommended})"


def _encoding(name: str) -> str:
    """Return ``task/stem`` as the task with the encoding's human name and its stem."""
    task, _, stem = name.rpartition("/")
    return f"{plain_name(task)}: {encoding_title(task, stem)} ({stem})"


def _sensitivity(judges: Judges) -> Table:
    def text(row: Sensitivity) -> str:
        return str(row.jnd.why) if row.jnd.value is None else with_ends(row.jnd, number)

    cells = {
        (f"{plain_name(row.value)} · {row.against}", judge.name): text(row)
        for judge in judges
        for row in judge.sensitivity
        if row.jnd.value is not None or row.scope == ALL
    }
    return by_rows("Questions · distance", judges, cells, NONE)


def _graded(judges: Judges) -> Table:
    cells = {
        (f"{plain_name(cell.name)} · {name}", judge.name): (
            f"{with_ends(figure, number)}, {many(figure.images, 'image')}"
        )
        for judge in judges
        for cell in judge.by_task
        for name, figure in cell.graded.items()
        if figure.value is not None
    }
    return by_rows("Rankings and scores, by task", judges, cells, NONE)


def _published(judges: Judges) -> Table:
    cells = {
        (score.name, judge.name): score.shown
        for judge in judges
        for score in judge.own_scores
        if score.value is not None
    }
    return by_rows("The benchmark’s own score", judges, cells)


def _unread(judges: Judges) -> Table:
    cells = {
        (f"Cause: {cause}", judge.name): f"{number(n)} ({percent(n / judge.unread.n)})"
        for judge in judges
        for cause, n in judge.unread.causes.items()
    }
    return by_rows("All question types", judges, cells, "0")
